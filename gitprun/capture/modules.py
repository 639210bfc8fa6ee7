"""Submodule settings that git refuses to take over from others, found before they are part of a commit."""

from __future__ import annotations

import re

from gitprun.git.command import Git
from gitprun.model.errors import GitFailed

# Thousands of submodules; git reads the file whole, and so do we.
MAX_SIZE = 1_000_000
# Git runs the program ``git-remote-<word>`` for it.
_REMOTE_PROGRAM = re.compile(rb"[A-Za-z0-9][A-Za-z0-9+.-]*::")
_TOLD = ("path", "url", "update")


def refused_setting(git: Git, content: bytes) -> str | None:
    """Return the first setting of a ``.gitmodules`` that can harm whoever clones it; None if there is none.

    What git's own fsck refuses (update=!command, values that look like options, names with ..), and what fsck of
    older versions lets pass: a line end in a value (CVE-2025-48384), a URL that names a program.
    """
    rows = _rows(git, content)
    if rows is None:
        return "no settings git can read"
    for name, setting, value in rows:
        harmful = (
            # The name of a submodule is a folder below .git/modules.
            b".." in name.replace(b"\\", b"/").split(b"/")
            or (setting == b"update" and value.startswith(b"!"))
            or (setting in (b"path", b"url") and (value.startswith(b"-") or b"\n" in value or b"\r" in value))
            or (setting == b"url" and _REMOTE_PROGRAM.match(value) is not None)
        )
        if harmful:
            return b".".join((b"submodule", name, setting)).decode("utf-8", "backslashreplace")
    return None


def changed_settings(git: Git, before: bytes, after: bytes) -> list[str]:
    """List which submodules come, go, or are found elsewhere, one line each."""
    old, new = _by_name(git, before), _by_name(git, after)
    said = []
    for name in sorted({*old, *new}):
        if name not in new:
            said.append(f"submodule {name} is no longer set up")
        elif name not in old:
            what = ", ".join(f"{key} {new[name][key]}" for key in _TOLD if key in new[name])
            said.append(f"submodule {name} is new" + (f" ({what})" if what else ""))
        else:
            for key in _TOLD:
                was, now = old[name].get(key, "unset"), new[name].get(key, "unset")
                if was != now:
                    said.append(f"submodule {name}: {key} was {was}, is {now}")
    return said


def followed_settings(git: Git, before: bytes, after: bytes) -> list[str]:
    """Return which settings of submodules are new or changed that say where git fetches from, or how it updates."""
    old, new = _by_name(git, before), _by_name(git, after)
    return [
        f"{key} of submodule {name}"
        for name in sorted(new)
        for key in ("url", "update")
        if new[name].get(key) is not None and new[name].get(key) != old.get(name, {}).get(key)
    ]


def _by_name(git: Git, content: bytes) -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, setting, value in _rows(git, content) or ():
        # As in git, the last one counts.
        found.setdefault(_text(name), {})[_text(setting)] = _text(value)
    return found


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "backslashreplace")


def _rows(git: Git, content: bytes) -> list[tuple[bytes, bytes, bytes]] | None:
    """Read name, setting and value of each submodule; None when git cannot read it."""
    try:
        rows = git.run("config", "--file", "-", "--no-includes", "--list", "-z", stdin=content).fields
    except GitFailed:
        return None
    found = []
    for row in rows:
        key, _, value = row.partition(b"\n")
        section, _, rest = key.partition(b".")
        name, _, setting = rest.rpartition(b".")
        if section == b"submodule":
            found.append((name, setting, value))
    return found

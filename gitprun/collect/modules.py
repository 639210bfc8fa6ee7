"""Submodule settings that git refuses to take over from others, found before they are part of a commit."""

from __future__ import annotations

from gitprun.errors import GitFailed
from gitprun.git.command import Git

MAX_SIZE = 1_000_000


def refused_setting(git: Git, content: bytes) -> str | None:
    """Name the first setting of a ``.gitmodules`` that can harm whoever clones it; None if there is none.

    What git's own fsck refuses (update=!command, values that look like options, names with ..), and a line end in
    a value, which fsck of older versions lets pass (CVE-2025-48384).
    """
    try:
        rows = git.run("config", "--file", "-", "--no-includes", "--list", "-z", stdin=content).fields
    except GitFailed:
        return "no settings git can read"
    for row in rows:
        key, _, value = row.partition(b"\n")
        section, _, rest = key.partition(b".")
        name, _, setting = rest.rpartition(b".")
        harmful = (
            b".." in name.replace(b"\\", b"/").split(b"/")
            or (setting == b"update" and value.startswith(b"!"))
            or (setting in (b"path", b"url") and (value.startswith(b"-") or b"\n" in value or b"\r" in value))
        )
        if section == b"submodule" and harmful:
            return key.decode("utf-8", "backslashreplace")
    return None

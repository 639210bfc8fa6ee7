"""What a person should know of a workspace beside its work: programs its settings name, ways to what was left out."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

from gitprun.capture.context import CaptureContext
from gitprun.capture.screen import LeftOut
from gitprun.git.repo import read_config
from gitprun.model.lists import listed
from gitprun.system.files import folder_identity, read_plain

# A git configuration is a few kilobytes; this one lies where a worker can write.
MOST_SETTINGS = 1_000_000
# Some 20,000 moves of HEAD in one attempt.
MOST_LOG = 4_000_000
# One line of a note.
SHOWN = 5

_SECTION = re.compile(r'\s*\[\s*([A-Za-z0-9.-]+)\s*(?:"((?:[^"\\]|\\.)*)")?\s*\]\s*(.*)')
_KEY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*(?:=\s*(.*))?")
# Settings that name a program, or lead to other settings.
_PROGRAMS = re.compile(
    r"core\.(fsmonitor|hookspath|sshcommand|pager|editor|askpass|gitproxy|alternaterefscommand|worktree)"
    r"|diff\.(external|.*\.(command|textconv))|filter\..*\.(clean|smudge|process)|merge\..*\.driver|gpg\.(.*\.)?program"
    r"|include(if\..*)?\.path|credential\.(.*\.)?helper|remote\..*\.(uploadpack|receivepack|proxy|vcs)"
    r"|url\..*\.(pushinsteadof|insteadof)|sequence\.editor|uploadpack\.packobjectshook|trailer\..*\.(command|cmd)"
)


def advise(site: CaptureContext, left_out: tuple[LeftOut, ...]) -> list[str]:
    """Return notes on a capture."""
    return [*_planted(site), *_nested(site, left_out), *_links(site, left_out)]


def programs_named(text: str) -> dict[str, str]:
    """Read the settings that name a program out of the text of a configuration file of git's."""
    section, found = "", dict[str, str]()
    for line in text.splitlines():
        head = _SECTION.match(line)
        if head:
            # Sections and keys count in any case of letters, subsections as they are written.
            section = head[1].lower() + (f".{head[2]}" if head[2] is not None else "")
            line = head[3]
        key = _KEY.match(line)
        if not key or not section:
            continue
        name = f"{section}.{key[1].lower()}"
        value = (key[2] or "").strip().strip('"').replace('\\"', '"').replace("\\\\", "\\")
        if _PROGRAMS.fullmatch(name) or (section == "alias" and value.startswith("!")):
            found[name] = value
    return found


def _planted(site: CaptureContext) -> Iterator[str]:
    """List which programs a clone's own settings name that are not the user's."""
    git = site.workspace.path / ".git"
    if site.workspace.kind != "clone" or folder_identity(git) is None:
        return
    raw = read_plain(git / "config", MOST_SETTINGS) or b""
    found = programs_named(raw.decode("utf-8", "surrogateescape"))
    if not found:
        return
    users = read_config(site.repository.git)
    # What the user has set alike was there when the clone was made.
    names = [name for name, value in found.items() if users.get(name) != value]
    if names:
        yield f"the settings of its .git name programs now ({listed(names, SHOWN)}); none was started"


def _nested(site: CaptureContext, left_out: tuple[LeftOut, ...]) -> Iterator[str]:
    for row in left_out:
        if not row.reason.startswith("a repository inside the workspace") or not row.path.endswith("/"):
            continue
        git = site.workspace.path / row.path / ".git"
        if folder_identity(git) is None:
            yield f"{row.path} is a worktree of its own; what is committed there lies where it belongs to"
            continue
        commits = _commits(git)
        said = f"{commits} commit{'' if commits == 1 else 's'} by its log" if commits else "no commit by its log"
        yield f"{row.path} has {said}; git prun collect --include '{row.path}**' brings its files"


def _commits(git: Path) -> int:
    if folder_identity(git / "logs") is None:
        return 0
    rows = (read_plain(git / "logs" / "HEAD", MOST_LOG) or b"").split(b"\n")
    # The log of HEAD says ``commit`` for one, and other words for resets and checkouts.
    return sum(b"\tcommit" in row for row in rows)


def _links(site: CaptureContext, left_out: tuple[LeftOut, ...]) -> Iterator[str]:
    """Return a note that an ignore rule with a slash at its end is about folders only.

    It let a link through.
    """
    # Only that file: rules elsewhere are about paths below them.
    rules = {line.strip() for line in (site.base_blob(".gitignore") or b"").split(b"\n")}
    for row in left_out:
        name = os.path.basename(row.path)
        if row.reason.startswith("a link that leaves") and {os.fsencode(f"{name}/"), os.fsencode(f"/{name}/")} & rules:
            yield f"the rule {name}/ in .gitignore is about folders only; {name}, without the slash, hides the link too"

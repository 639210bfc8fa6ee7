"""Bring sorted paths into the private index: plain ones by git alone, the others kind by kind with their filter.

Last come the modes of new files where git is told not to look at them (core.fileMode=false).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from gitprun.capture.context import CaptureContext
from gitprun.capture.filters import Filters
from gitprun.capture.lint import shown
from gitprun.capture.screen import LeftOut
from gitprun.git.command import Git
from gitprun.model.errors import GitFailed, GitTimeout
from gitprun.model.lists import listed
from gitprun.workspaces.base import OUTBOX

# In seconds: git hashes up to max_total (1 GB by default) of new files, through filters of the user's.
TIMEOUT = 300.0
# So long the filter of one kind may take over all files of a unit.
FILTER_TIMEOUT = 120.0
# The two modes git knows for a file.
PLAIN, PROGRAM = b"100644", b"100755"
# So many paths git may refuse one by one; more of them mean that something else is wrong.
MOST_REFUSED = 16


def drop_entries(site: CaptureContext, names: Sequence[bytes]) -> None:
    """Take paths out of the index."""
    if names:
        site.git.run("update-index", "--force-remove", "-z", "--stdin", stdin=_listing(names), timeout=TIMEOUT)


def stage_paths(site: CaptureContext, filters: Filters, groups: Mapping[str, Sequence[bytes]]) -> list[LeftOut]:
    """Stage paths, sorted by their filter (none: an empty name); returns those that could not be."""
    refused: list[LeftOut] = []
    for name, names in groups.items():
        # No filter: git may do all of them in one go, which is most of the time everything.
        if not name:
            _add(site.git, list(names), refused)
            continue
        here: list[LeftOut] = []
        try:
            _add_filtered(filters.git(site.git), list(names), here, filters, name)
            refused += here
        except GitTimeout:
            # The git that was killed cannot take its lock away any more.
            _unlock(site)
            program = filters.program(name)
            reason = f"its filter {name} ({program}) did not end within {FILTER_TIMEOUT:g} s"
            refused += [LeftOut(os.fsdecode(path), reason) for path in names]
    return refused


def _unlock(site: CaptureContext) -> None:
    """Take away the lock of a git that was killed; we hold the lock of this capture."""
    index = site.workspace.index
    if index is not None:
        index.with_name(f"{index.name}.lock").unlink(missing_ok=True)


def _add(git: Git, names: list[bytes], refused: list[LeftOut]) -> None:
    """Stage paths; git refuses all for one it cannot take, which is searched by halves and left out."""
    if not names:
        return
    try:
        _stage(git, names, TIMEOUT)
    except GitFailed as problem:
        # Each refused path costs some ten programs to find.
        if len(refused) >= MOST_REFUSED:
            raise
        if len(names) > 1:
            _add(git, names[: len(names) // 2], refused)
            _add(git, names[len(names) // 2 :], refused)
            return
        refused.append(LeftOut(os.fsdecode(names[0]), f"git could not stage it: {_first_line(problem)}"))


def _add_filtered(git: Git, names: list[bytes], refused: list[LeftOut], filters: Filters, filter_name: str) -> None:
    """Stage paths through a filter; where it fails for too many, all that are left are left out, none goes in raw."""
    if not names:
        return
    try:
        if len(refused) < MOST_REFUSED:
            _stage(git, names, FILTER_TIMEOUT)
            return
        said = refused[-1].reason.partition("failed: ")[2]
    except GitFailed as problem:
        if len(names) > 1:
            half = len(names) // 2
            _add_filtered(git, names[:half], refused, filters, filter_name)
            _add_filtered(git, names[half:], refused, filters, filter_name)
            return
        said = _first_line(problem)
    reason = f"its filter {filter_name} ({filters.program(filter_name)}) failed: {said}"
    refused += [LeftOut(os.fsdecode(name), reason) for name in names]


def _stage(git: Git, names: Sequence[bytes], timeout: float) -> None:
    words = ("update-index", "--add", "--remove", "--replace", "-z", "--stdin")
    git.run(*words, stdin=_listing(names), timeout=timeout)


def _listing(names: Sequence[bytes]) -> bytes:
    return b"".join(name + b"\0" for name in names)


def _first_line(problem: GitFailed) -> str:
    said = problem.stderr.strip().splitlines() or [problem.message]
    return said[0].removeprefix("error: ").removeprefix("fatal: ")


def stage_modes(site: CaptureContext) -> tuple[str, ...]:
    """Stage the mode that files the base does not have have on disk; return notes.

    The setting speaks of a disk that keeps no modes. Where this one keeps them, which a file of our own shows, a
    script somebody made executable is one.
    """
    if site.git.run("config", "--type=bool", "--get", "core.fileMode", ok=(0, 1)).text != "false":
        return ()
    words = ("diff-index", "--cached", "-z", "--no-renames", "--diff-filter=A", site.base, "--")
    fields = site.git.run(*words).fields
    wrong = []
    for about, path in zip(fields[::2], fields[1::2], strict=True):
        _, mode, _, oid, _ = about.removeprefix(b":").split(b" ")
        found = _mode_on_disk(Path(os.fsdecode(os.path.join(os.fsencode(site.workspace.path), path))))
        if mode in (PLAIN, PROGRAM) and found not in (None, mode):
            wrong.append((path, found, oid))
    if not wrong:
        return ()
    # A disk that shows our own plain file as a program keeps no modes: then nothing is known.
    if _mode_on_disk(site.workspace.path / OUTBOX / ".gitignore") != PLAIN:
        names = listed(wrong, 1, show=lambda one: shown(one[0]))
        return (f"{names}: whether it is executable was not looked at (core.fileMode=false)",)
    rows = b"".join(b"%s %s\t%s\0" % (mode, oid, path) for path, mode, oid in wrong)
    site.git.run("update-index", "-z", "--index-info", stdin=rows)
    return ()


def _mode_on_disk(place: Path) -> bytes | None:
    try:
        found = os.lstat(place).st_mode
    except OSError:
        return None
    return (PROGRAM if found & stat.S_IXUSR else PLAIN) if stat.S_ISREG(found) else None

"""Bring sorted paths into the private index: plain ones by git alone, the others kind by kind with their filter."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from gitprun.capture.context import CaptureContext
from gitprun.capture.filters import Filters
from gitprun.capture.screen import LeftOut
from gitprun.git.command import Git
from gitprun.model.errors import GitFailed, GitTimeout

# In seconds: git hashes up to max_total (1 GB by default) of new files, through filters of the user's.
TIMEOUT = 300.0
# So long the filter of one kind may take over all files of a unit.
FILTER_TIMEOUT = 120.0
# So many paths git may refuse one by one; more of them mean that something else is wrong.
MOST_REFUSED = 16


def drop_entries(site: CaptureContext, names: Sequence[bytes]) -> None:
    """Take paths out of the index."""
    if names:
        site.git.run("update-index", "--force-remove", "-z", "--stdin", stdin=_listing(names), timeout=TIMEOUT)


def stage_paths(site: CaptureContext, filters: Filters, groups: Mapping[str, Sequence[bytes]]) -> list[LeftOut]:
    """Stage paths, sorted by their filter (none: an empty name); gives those that could not be."""
    refused: list[LeftOut] = []
    for name, names in groups.items():
        if not name:
            _add(site.git, list(names), refused)
            continue
        here: list[LeftOut] = []
        try:
            _add_filtered(filters.git(site.git), list(names), here, filters, name)
            refused += here
        except GitTimeout:
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

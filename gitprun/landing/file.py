"""One file merged from three: git's own merge where it is clean and sound, else a proved text, else git's conflict."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path

from gitprun.git.command import Git
from gitprun.judging.doubts import NOT_SETTLED, Doubts, find_doubts, guarded
from gitprun.model.errors import PrunError
from gitprun.resolvers.base import FileConflict, Refused, quote
from gitprun.resolvers.cascade import CascadeResult, prepare, run_cascade
from gitprun.system.files import write_whole

CANNOT = 128
# Git asks these where it looks for its configuration; inside a merge they are set by the git that calls us.
_ASKED = ("GIT_DIR", "GIT_WORK_TREE", "GIT_CONFIG_PARAMETERS")


@dataclass(frozen=True, slots=True, kw_only=True)
class FileMerge:
    """Three files as ``git merge-file`` takes them; ``path`` tells of what kind they are, ``options`` are git's own.

    ``favored`` says that the options name the side that wins in a conflict.
    """

    main: str
    base: str
    unit: str
    path: str
    options: tuple[str, ...] = ()
    favored: bool = False


@dataclass(frozen=True, slots=True)
class FileAnswer:
    """Git's exit code (0 clean, to 127 conflicts left, from 128 on an error), the text, and what to tell."""

    code: int
    text: bytes
    said: tuple[str, ...] = ()


def merge_file(wanted: FileMerge, cwd: Path) -> FileAnswer:
    """Merge three files; what git merges cleanly and no fault is found in is git's, byte for byte."""
    env = {name: os.environ[name] for name in _ASKED if name in os.environ}
    git = Git(cwd=cwd, env=env, neutral=True)
    words = ("merge-file", "-p", *wanted.options, "--", wanted.main, wanted.base, wanted.unit)
    said = git.run(*words, ok=tuple(range(256)))
    if said.code >= CANNOT:
        return FileAnswer(said.code, b"", tuple(said.err.splitlines()))
    if wanted.favored:
        return FileAnswer(said.code, said.out)
    shown = f"git prun: {quote(os.fsencode(wanted.path))}"
    by_git = FileAnswer(said.code, said.out)
    try:
        conflict = _read(wanted, cwd)
    except OSError as problem:
        # Git read them a moment ago.
        return FileAnswer(CANNOT, b"", (f"{problem.filename}: {problem.strerror}",))
    doubts = Doubts() if by_git.code else find_doubts(conflict, by_git.text, None)
    if by_git.code == 0 and not doubts.faults:
        return replace(by_git, said=(f"{shown}: not checked: {doubts.unjudged}",) if doubts.unjudged else ())
    return _climb(conflict, by_git, doubts, shown)


def _climb(conflict: FileConflict, by_git: FileAnswer, doubts: Doubts, shown: str) -> FileAnswer:
    """Ask the resolvers for a text; else it is git's, whose faults are told."""
    doing, before = f"resolving {conflict.path!r}", lambda: prepare(conflict.path)
    tried: CascadeResult | Refused = Refused(NOT_SETTLED)
    if not doubts.late:
        tried = guarded(lambda: run_cascade(conflict), None, doing, NOT_SETTLED, before)
    if isinstance(tried, CascadeResult) and tried.texts:
        found = tried.texts[0]
        return FileAnswer(0, found.text, (f"{shown}: settled ({found.resolver})",))
    if doubts.faults:
        # An exit code without markers: git leaves the path in conflict with this very text.
        return FileAnswer(1, by_git.text, (f"{shown}: git merged it, but look at it: {'; '.join(doubts.faults)}",))
    left = f"{by_git.code} conflict{'' if by_git.code == 1 else 's'} left"
    return replace(by_git, said=(f"{shown}: {left}: {tried.reason}",))


def _read(wanted: FileMerge, cwd: Path) -> FileConflict:
    base, main, unit = ((cwd / name).read_bytes() for name in (wanted.base, wanted.main, wanted.unit))
    # To a merge driver git gives an empty file where there is no base.
    return FileConflict(wanted.path, base or None, main, unit)


def replace_file(path: Path, text: bytes) -> None:
    """Give a file new content in one step, keeping its mode; a link's target is replaced, not the link."""
    target = Path(os.path.realpath(path))
    mode = stat.S_IMODE(target.stat().st_mode)
    try:
        write_whole(target, text, mode=mode, exact=True)
    except OSError as problem:
        raise PrunError(f"{path} cannot be written: {problem.strerror}") from None

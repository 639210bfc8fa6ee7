"""One file merged from three: git's own merge where it is clean and sound, else a proved text, else git's conflict."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from gitprun.errors import PrunError
from gitprun.git.command import Git
from gitprun.merge.resolvers.base import SIZE_LIMIT, TIME_LIMIT, FileConflict, quote
from gitprun.merge.resolvers.ladder import climb, prepare
from gitprun.merge.resolvers.outline import find_doubts
from gitprun.system.bugs import write_bug_report
from gitprun.system.files import write_whole
from gitprun.system.limit import TimeLimit, limited

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
    left = (
        f"{shown}: {said.code} conflict{'' if said.code == 1 else 's'} left" if said.code else f"{shown}: not checked"
    )
    try:
        conflict = _read(wanted, cwd)
        prepare(conflict.path)
        with limited(TIME_LIMIT):
            return _settle(conflict, FileAnswer(said.code, said.out), shown, left)
    except TimeLimit as problem:
        return FileAnswer(said.code, said.out, (f"{left}: {problem}",))
    except Exception as problem:
        reason = f"git prun has a bug: {problem!r}; {write_bug_report(problem)}"
        return FileAnswer(said.code, said.out, (f"{left}: {reason}",))


def _settle(conflict: FileConflict, by_git: FileAnswer, shown: str, left: str) -> FileAnswer:
    suspect: tuple[str, ...] = ()
    if by_git.code == 0:
        if len(by_git.text) > SIZE_LIMIT:
            return by_git
        suspect = find_doubts(conflict, by_git.text)
        if not suspect:
            return by_git
    answer = climb(conflict)
    if answer.texts:
        found = answer.texts[0]
        return FileAnswer(0, found.text, (f"{shown}: settled ({found.resolver})",))
    if suspect:
        # An exit code without markers: git leaves the path in conflict with this very text.
        return FileAnswer(1, by_git.text, (f"{shown}: git merged it, but look at it: {'; '.join(suspect)}",))
    return FileAnswer(by_git.code, by_git.text, (f"{left}: {answer.reason}",))


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

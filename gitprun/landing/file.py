"""One file merged from three: git's own merge where it is clean and sound, else a proved text, else git's conflict."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass, replace
from pathlib import Path

from gitprun.git.command import Git
from gitprun.judging.judged import RESOLVERS_ONLY, Means
from gitprun.judging.text import JudgedText, judge_text, show_dropped
from gitprun.model.errors import PrunError
from gitprun.model.findings import MergeState
from gitprun.resolvers.base import FileConflict, quote
from gitprun.system.files import write_whole

# As git has it: from here on an exit code is no number of conflicts.
CANNOT = 128
# Git tells its children so what it merges: GITHEAD_<commit>=<its name>.
_MERGING = "GITHEAD_"
# Git asks these where it looks for its configuration; inside a merge they are set by the git that calls prun.
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
    # Only these three: what else git sets inside of a merge is about that merge, not about three files.
    env = {name: os.environ[name] for name in _ASKED if name in os.environ}
    git = Git(cwd=cwd, env=env, neutral=True)
    words = ("merge-file", "-p", *wanted.options, "--", wanted.main, wanted.base, wanted.unit)
    said = git.run(*words, ok=tuple(range(256)))
    if said.code >= CANNOT:
        return FileAnswer(said.code, b"", tuple(said.err.splitlines()))
    # --ours, --theirs and --union are the user's own answer to every conflict; there is nothing left to settle.
    if wanted.favored:
        return FileAnswer(said.code, said.out)
    shown = f"git prun: {quote(os.fsencode(wanted.path))}"
    try:
        conflict = _read(wanted, cwd)
    except OSError as problem:
        # Git read them a moment ago.
        return FileAnswer(CANNOT, b"", (f"{problem.filename}: {problem.strerror}",))
    # The repository is read only where the resolvers settle nothing: the driver runs once for each file of a merge.
    means = replace(RESOLVERS_ONLY, further=lambda: _read_means(cwd))
    judged = judge_text(conflict, said.out if said.code == 0 else None, means, lambda: _is_crossed(git))
    return _render(judged, FileAnswer(said.code, said.out), shown)


def _render(judged: JudgedText, by_git: FileAnswer, shown: str) -> FileAnswer:
    """Write the answer as git would: whatever is not settled keeps git's own text and exit code."""
    faults = "; ".join(judged.doubts.faults)
    if judged.state is MergeState.CLEAN:
        unjudged = judged.doubts.unjudged
        return replace(by_git, said=(f"{shown}: not checked: {unjudged}",) if unjudged else ())
    if judged.state is MergeState.UNITED and judged.answer is not None:
        dropped = tuple(f"{shown}: dropped by policy: {line}" for line in show_dropped(judged.answer))
        return FileAnswer(0, judged.text, (f"{shown}: settled ({judged.answer.resolver})", *dropped))
    if by_git.code == 0:
        # An exit code without markers: git leaves the path in conflict with this very text.
        return FileAnswer(1, by_git.text, (f"{shown}: git merged it, but look at it: {faults}",))
    left = f"{by_git.code} conflict{'' if by_git.code == 1 else 's'} left"
    if judged.answer is not None:
        # A landing could let it pass by name (--allow-suspect); who merges one file looks at it in the conflict.
        return replace(by_git, said=(f"{shown}: {left}: {judged.answer.resolver}: {faults}",))
    return replace(by_git, said=(f"{shown}: {left}: {judged.reason}",))


def _read_means(cwd: Path) -> Means:
    """Read what a landing would settle it by beside the resolvers, where the files belong to a repository."""
    from gitprun.git.repo import find_repository
    from gitprun.judging.hotspots import parse_hotspots
    from gitprun.judging.rerere import read_rerere
    from gitprun.system.config import read_settings

    try:
        repository = find_repository(cwd)
        rerere = read_rerere(repository.git, repository.common)
    except PrunError:
        return RESOLVERS_ONLY
    try:
        settings = read_settings(repository.top)
        hotspots = parse_hotspots(list(settings.hotspots), settings.hotspot_source or "prun.toml")
    except PrunError:
        # What is wrong with prun.toml a landing says; a merge that git makes must not fail for it.
        hotspots = ()
    return Means(hotspots=hotspots, state=repository.state, rerere=rerere)


def _is_crossed(git: Git) -> bool:
    """Check whether a ``git merge`` that calls us as its driver merges histories with several merge bases.

    The base it gives us is a merge of these then, perhaps with conflicts, and tells of no side what it changed.
    """
    # Called by hand there are none, and the one base that was given is the base.
    heads = [key.removeprefix(_MERGING) for key in os.environ if key.startswith(_MERGING)]
    answers = (git.run("merge-base", "--all", "HEAD", head, ok=(0, 1, 128)) for head in heads)
    return any(len(answer.text.split()) > 1 for answer in answers)


def _read(wanted: FileMerge, cwd: Path) -> FileConflict:
    base, main, unit = ((cwd / name).read_bytes() for name in (wanted.base, wanted.main, wanted.unit))
    # To a merge driver git gives an empty file where there is no base.
    return FileConflict(wanted.path, base or None, main, unit)


def replace_file(path: Path, text: bytes) -> None:
    """Give a file new content in one step, keeping its mode; a link's target is replaced, not the link."""
    # Written beside the target, so that the rename stays on its file system.
    target = Path(os.path.realpath(path))
    mode = stat.S_IMODE(target.stat().st_mode)
    try:
        write_whole(target, text, mode=mode, exact=True)
    except OSError as problem:
        raise PrunError(f"{path} cannot be written: {problem.strerror}") from None

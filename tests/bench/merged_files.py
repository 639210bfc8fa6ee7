"""The files of a merge that both sides changed: what the judge makes of each, against what people committed."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import PurePosixPath

from gitprun.git.command import Git
from gitprun.git.trees import REGULAR, merge_trees, read_bases, read_blob, show_path, tree_of
from gitprun.git.walk import Trees
from gitprun.judging.conflicts import read_conflicts
from gitprun.judging.judged import RESOLVERS_ONLY
from gitprun.judging.text import judge_text
from gitprun.model.findings import MergeState
from gitprun.model.names import Oid
from gitprun.resolvers.base import FileConflict
from gitprun.resolvers.kinds import kinds_for

# A column of two, for a page of 120.
WIDTH = 57
COLUMNS = ("right", "order", "other", "held", "clean", "called", "kept")


@dataclass(frozen=True, slots=True, kw_only=True)
class MergedFile:
    """One file that both sides changed.

    ``outcome`` is of a conflict: right (as people have it, white space aside), order (the same words in another one),
    other, or held; of git's clean text: clean, called (a doubt), or kept (a doubt about what people committed as it
    is). ``said`` are the words of a doubt or a refusal, ``ours`` is the judged text, ``theirs`` the people's;
    ``seconds`` are those of the processor.
    """

    merge: Oid
    path: str
    outcome: str
    said: str = ""
    ours: bytes = b""
    theirs: bytes = b""
    seconds: float = 0.0

    @property
    def kind(self) -> str:
        """Name the kind of file, and the end of its name."""
        kinds = kinds_for(self.path)
        return f"{kinds[0].name if kinds else 'lines'} {PurePosixPath(self.path).suffix}".strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class MadeMerge:
    """A merge that people made: the first parent, the second, and the commit."""

    target: Oid
    branch: Oid
    commit: Oid


def judge_files(git: Git, trees: Trees, made: MadeMerge) -> Iterator[MergedFile]:
    """Judge each file that both sides changed; a merge of several bases, or of none, is no measure of resolvers."""
    bases = read_bases(git, trees.repo, made.target, made.branch)
    if len(bases) != 1:
        return
    commits = (bases[0], made.target, made.branch, made.commit)
    base, main, unit, people = (tree_of(trees.repo, commit) for commit in commits)
    shared = {one.path for one in trees.compare(base, main)} & {one.path for one in trees.compare(base, unit)}
    if not shared:
        return
    merge = merge_trees(git, made.target, made.branch)
    conflicts = {one.path: one for one in read_conflicts(merge)}
    for path in sorted(shared):
        versions = [_read(trees, tree, path) for tree in (base, main, unit, merge.tree, people)]
        before, ours, theirs, merged, committed = versions
        left = conflicts.get(path)
        # Deleted on a side, a link, renamed as well: no text answers that.
        if ours is None or theirs is None or merged is None or (left is not None and not left.textual):
            continue
        if left is None and merged in (ours, theirs):
            continue
        conflict = FileConflict(path.decode("utf-8", "surrogateescape"), before, ours, theirs)
        yield _judge(made.commit, conflict, merged if left is None else None, committed or b"")


def _judge(commit: Oid, conflict: FileConflict, merged: bytes | None, people: bytes) -> MergedFile:
    began = time.process_time()
    judged = judge_text(conflict, merged, RESOLVERS_ONLY)
    seconds = time.process_time() - began
    said = "; ".join(judged.doubts.faults) or judged.reason
    if merged is not None:
        # Where a resolver has a better text the doubt was raised as well; its words are gone by then.
        said = said or (f"{judged.answer.resolver} made another text" if judged.answer else "")
        outcome = "clean" if judged.state is MergeState.CLEAN else "kept" if merged == people else "called"
    elif judged.state is not MergeState.UNITED:
        outcome = "held"
    else:
        outcome = _compare(judged.text.split(), people.split())
    return MergedFile(
        merge=commit,
        path=show_path(conflict.path.encode("utf-8", "surrogateescape")),
        outcome=outcome,
        said=said,
        ours=judged.text,
        theirs=people,
        seconds=seconds,
    )


def _compare(ours: list[bytes], theirs: list[bytes]) -> str:
    if b"".join(ours) == b"".join(theirs):
        return "right"
    return "order" if sorted(ours) == sorted(theirs) else "other"


def _read(trees: Trees, tree: Oid, path: bytes) -> bytes | None:
    found = trees.find(tree, path)
    return read_blob(trees.repo, found[1]) if found is not None and found[0] in REGULAR else None


def tabulate_files(files: Sequence[MergedFile]) -> Iterator[str]:
    """Write a line a kind, the total, and every doubt about a text of git's that was clean."""
    if not files:
        return
    rows: dict[str, list[MergedFile]] = defaultdict(list)
    for one in files:
        rows[one.kind].append(one)
    yield f"{'file':<24}" + "".join(f"{name:>8}" for name in COLUMNS) + f"{'CPU a file':>14}"
    for kind, some in (*sorted(rows.items()), ("all", files)):
        counts = Counter(one.outcome for one in some)
        spent = 1000 * sum(one.seconds for one in some) / len(some)
        yield f"{kind:<24}" + "".join(f"{counts[name]:>8}" for name in COLUMNS) + f"{spent:>11.1f} ms"
    called = [one for one in files if one.outcome in ("called", "kept")]
    clean = len(called) + sum(one.outcome == "clean" for one in files)
    kept = sum(one.outcome == "kept" for one in called)
    yield f"{clean} files clean for git: {len(called)} called, {kept} of them about what people kept"
    for one in called:
        yield f"  {one.merge[:10]} {one.path} ({one.outcome}): {one.said}"


def show_beside(one: MergedFile) -> Iterator[str]:
    """Write where a judged text and the people's differ, ours on the left."""
    yield f"{one.merge[:10]} {one.path}: {one.said or one.outcome}"
    ours, theirs = (text.decode("utf-8", "replace").expandtabs(4).splitlines() for text in (one.ours, one.theirs))
    matched = SequenceMatcher(None, ours, theirs, autojunk=False)
    for tag, start, end, other, last in matched.get_opcodes():
        if tag != "equal":
            yield f"  line {start + 1}"
            for row in zip_longest(ours[start:end], theirs[other:last], fillvalue=""):
                yield "  " + " | ".join(f"{side[:WIDTH]:<{WIDTH}}" for side in row).rstrip()

"""Work that the target has by another name: squashed, rebased or picked there, after which it may have gone on.

A branch is in a commit of the target if merging it there would bring nothing. That holds for a squash, for a rebase
and for work copied by hand, and it stays true of that commit whatever the target did to the same lines since.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gitprun.git.batch import merge_many
from gitprun.git.command import Git
from gitprun.git.trees import TreeChange, TreeMerge, parents_of, tree_of
from gitprun.git.walk import Trees
from gitprun.model.names import Oid, short

# Of a branch that changes more paths the first are enough to tell where it can have come in.
MOST_PATHS = 200
# So many commits of the target are looked at, the newest first: somebody who squashes lands often.
MOST_COMMITS = 300
# So many of the first, and of the last, commits at which every path of the branch is changed: each costs a merge.
MOST_MERGES = 8
# So far back a branch is searched for the commit up to which it is in the target.
# Each of them costs a search like that for the whole branch.
MOST_OWN = 20

_Entry = tuple[str, Oid] | None


@dataclass(frozen=True, slots=True)
class Holder:
    """The commit of a target that has all a branch brings; ``back`` is the one that took it out again, if one did."""

    commit: Oid
    back: Oid | None = None

    def told(self, branch: str) -> str:
        """Return since when the branch of that name has it all."""
        return f"its changes are already in {branch}, since {short(self.commit)} (squashed or rebased)"


@dataclass(frozen=True, slots=True)
class Fork:
    """A branch at ``tip`` that forked at ``base`` from what is at ``target`` now."""

    base: Oid
    target: Oid
    tip: Oid


def find_holder(
    git: Git, merging: Callable[[], Git], trees: Trees, fork: Fork, changes: Sequence[TreeChange]
) -> Holder | None:
    """Return where the target has a branch that forked from it; ``changes`` are what the branch changed since.

    ``merging`` gives the git that merges as a landing does, for the few commits that may be it.
    """
    base, target, tip = fork.base, fork.target, fork.tip
    if base == target or not changes:
        return None
    commits = _touching(git, base, target, changes)
    entries = {commit: _entries(trees, commit, changes) for commit in commits}
    # Where one of its paths is as it was at the base, merging the branch would bring that one at least.
    possible = [commit for commit in commits if _may_hold(entries[commit], changes)]
    if len(possible) > 2 * MOST_MERGES:
        # A squash is among the first, and whether it is still in is told by the last.
        possible = [*possible[:MOST_MERGES], *possible[-MOST_MERGES:]]
    merges = merge_many(merging(), [(commit, tip) for commit in possible]) if possible else []
    holding = [
        commit
        for commit, merge in zip(possible, merges, strict=True)
        if isinstance(merge, TreeMerge) and merge.clean and merge.tree == tree_of(trees.repo, commit)
    ]
    if not holding or holding[0] == commits[0]:
        # Where the target has not gone on, merging it says as much.
        return None
    # Newest first: the last one in the list is the one that brought it.
    last, first = holding[0], holding[-1]
    above = parents_of(trees.repo, first)
    before = _entries(trees, above[0] if above else base, changes)
    # Back as it was before: whoever did that took the work out, whatever the message says.
    later = reversed(_touching(git, last, target, changes, "--ancestry-path"))
    return Holder(first, next((commit for commit in later if entries.get(commit) == before), None))


def find_held_part(
    git: Git, merging: Callable[[], Git], trees: Trees, *, base: Oid, target: Oid, tip: Oid
) -> tuple[Oid, Oid] | None:
    """Return the last commit of a branch up to which the target has it, and where; None if there is none."""
    words = ("rev-list", "--first-parent", f"--max-count={MOST_OWN}", f"{base}..{tip}")
    # The tip itself was asked already, by whoever comes here.
    for own in map(Oid, git.run(*words).text.splitlines()[1:]):
        changes = trees.compare(tree_of(trees.repo, base), tree_of(trees.repo, own))
        found = find_holder(git, merging, trees, Fork(base, target, own), changes)
        if found is not None:
            return None if found.back else (own, found.commit)
    return None


def _touching(git: Git, base: Oid, target: Oid, changes: Sequence[TreeChange], *more: str) -> list[Oid]:
    """List the target's commits since the base that changed any of the paths, the newest first.

    Those of branches it merged count: what was squashed into one of them came along.
    """
    # Literal: a name with a star or a bracket in it would be a pattern to git.
    paths = [b":(literal,top)" + change.path for change in changes[:MOST_PATHS]]
    words = ("rev-list", "--topo-order", f"--max-count={MOST_COMMITS}", *more, f"{base}..{target}", "--")
    return [Oid(row) for row in git.run(*words, *paths).text.splitlines()]


def _entries(trees: Trees, commit: Oid, changes: Sequence[TreeChange]) -> Mapping[bytes, _Entry]:
    tree = tree_of(trees.repo, commit)
    return {change.path: trees.find(tree, change.path) for change in changes[:MOST_PATHS]}


def _may_hold(entries: Mapping[bytes, _Entry], changes: Sequence[TreeChange]) -> bool:
    for change in changes[:MOST_PATHS]:
        entry = entries[change.path]
        if change.removed != (entry is None) or entry == (change.old_mode, change.old):
            return False
    return True

"""Merges inside a branch that threw one side away, or left conflict markers: git finds nothing wrong with either."""

from __future__ import annotations

from collections.abc import Sequence

import pygit2

from gitprun.git.batch import merge_many
from gitprun.git.command import Git
from gitprun.git.trees import GITLINK, Objects, read_blob, show_path, tree_of
from gitprun.git.walk import Trees
from gitprun.merge.plan import Suspect
from gitprun.names import Oid, short

MOST = 500


def find_lost_sides(
    git: Git, trees: Trees, *, bases: Sequence[Oid], tip: Oid, last: Oid | None = None
) -> tuple[Suspect, ...]:
    """Make every merge of a branch again; name the paths at which it took one side whole, against the other's change,
    or committed what git had written there for somebody to resolve.

    A path counts while the branch's tip (or the tree ``last``) still holds what that merge left there. What is in the
    history of ``bases`` is not looked at.
    """
    repo = trees.repo
    merges = _merges(repo, tip, bases)[:MOST]
    again = merge_many(git, [(one[1], one[2]) for one in merges])
    found: dict[str, Suspect] = {}
    last = last or tree_of(repo, tip)
    for (commit, *parents), merge in zip(merges, again, strict=True):
        if isinstance(merge, str):
            continue
        made = tree_of(repo, commit)
        sides = [tree_of(repo, parent) for parent in parents]
        base = repo.merge_base(*(pygit2.Oid(hex=parent) for parent in parents))
        before = tree_of(repo, str(base)) if base is not None else None
        for place in {stage.path for stage in merge.stages}:
            left = trees.find(made, place)
            if left is not None and left == trees.find(last, place) and _is_unresolved(trees, left, place, sides):
                path = show_path(place)
                found[path] = Suspect(path=path, reason=f"the merge {short(commit)} in the branch left markers in it")
        for change in trees.compare(merge.tree, made):
            left = trees.find(made, change.path)
            one, other = (trees.find(side, change.path) for side in sides)
            if left != trees.find(last, change.path) or one == other or left not in (one, other):
                continue
            lost = other if left == one else one
            if before is None or lost != trees.find(before, change.path):
                path = show_path(change.path)
                parent = parents[1] if left == one else parents[0]
                found[path] = Suspect(
                    path=path,
                    reason=f"the merge {short(commit)} in the branch threw away what {short(parent)} had changed here",
                )
    return tuple(found[path] for path in sorted(found))


def _is_unresolved(trees: Trees, left: tuple[str, Oid], path: bytes, sides: Sequence[Oid]) -> bool:
    """Tell whether a file has lines that begin and end a conflict, which neither side has."""
    if left[0] == GITLINK:
        return False
    texts = [read_blob(trees.repo, left[1])]
    rows = [found for side in sides if (found := trees.find(side, path)) is not None and found[0] != GITLINK]
    texts += [read_blob(trees.repo, oid) for _, oid in rows]
    marked = [sum(line.startswith((b"<<<<<<< ", b">>>>>>> ")) for line in text.split(b"\n")) for text in texts]
    return marked[0] > max(marked[1:], default=0)


def _merges(repo: Objects, tip: Oid, known: Sequence[Oid]) -> list[tuple[Oid, Oid, Oid]]:
    walk = repo.walk(pygit2.Oid(hex=tip), pygit2.enums.SortMode.NONE)
    for oid in known:
        walk.hide(pygit2.Oid(hex=oid))
    return [
        (Oid(str(commit.id)), *(Oid(str(parent)) for parent in commit.parent_ids))  # type: ignore[misc]
        for commit in walk
        if len(commit.parent_ids) == 2
    ]

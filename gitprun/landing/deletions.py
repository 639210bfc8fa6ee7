"""How much of the target one branch deletes: renamed and rewritten files do not count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from gitprun.git.trees import TreeChange, show_path
from gitprun.git.walk import Trees
from gitprun.model.names import Oid

# What --accept takes for it, beside paths.
DELETIONS = "deletions"
# A branch that deletes no more files than this is never held for it: small projects are rewritten.
FEW = 20
_EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"


def find_deleted(step: Sequence[TreeChange]) -> list[bytes]:
    """List the files a step deletes or empties, without those that came up elsewhere.

    A file came up elsewhere where one with its content was added, or else one of its name, whatever the ending.
    """
    gone = [
        change
        for change in step
        if change.removed or (change.new == _EMPTY and not change.added and change.old != _EMPTY)
    ]
    added = [change for change in step if change.added]
    contents, names = Counter(change.new for change in added), Counter(_stem(change.path) for change in added)
    left: list[TreeChange] = []
    for change in gone:
        if change.removed and contents[change.old]:
            contents[change.old] -= 1
            names[_stem(change.path)] -= 1
        else:
            left.append(change)
    found: list[bytes] = []
    for change in left:
        stem = _stem(change.path)
        if change.removed and names[stem] > 0:
            names[stem] -= 1
        else:
            found.append(change.path)
    return found


def _stem(path: bytes) -> bytes:
    return path.rpartition(b"/")[2].partition(b".")[0]


def describe_deletions(trees: Trees, before: Oid, step: Sequence[TreeChange], most: float) -> str:
    """Say how much of a tree a step deletes, where that is more than a few files and more than this share of all."""
    if len(step) <= FEW or most >= 1:
        return ""
    found = find_deleted(step)
    if len(found) <= FEW:
        return ""
    whole = len(trees.paths(before, b""))
    if len(found) <= most * whole:
        return ""
    return f"deletes {len(found)} of {whole} files, such as {show_path(found[0])}"

"""What a branch deletes: much of the target, or a file a policy protects; renamed and rewritten files do not count."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from gitprun.git.trees import REGULAR, TreeChange, read_blob, show_path
from gitprun.git.walk import Trees
from gitprun.judging.hotspots import BUILTIN, Hotspot, hotspot_for
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
        # An emptied file is as gone as a deleted one, and git shows it as a modification.
        if change.removed or (change.new == _EMPTY and not change.added and change.old != _EMPTY)
    ]
    added = [change for change in step if change.added]
    # Content first, names second: a file that moved unchanged must not use up the name of one that was rewritten.
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
        # Rewritten in another language or format: app.js goes and app.ts comes.
        if change.removed and names[stem] > 0:
            names[stem] -= 1
        else:
            found.append(change.path)
    return found


def _stem(path: bytes) -> bytes:
    return path.rpartition(b"/")[2].partition(b".")[0]


def describe_deletions(trees: Trees, before: Oid, step: Sequence[TreeChange], most: float) -> str:
    """Return how much of a tree a step deletes, where that is more than a few files and more than this share of all."""
    if len(step) <= FEW or most >= 1:
        return ""
    found = find_deleted(step)
    if len(found) <= FEW:
        return ""
    # Last, for it reads the whole tree; few branches come so far.
    whole = len(trees.paths(before, b""))
    if len(found) <= most * whole:
        return ""
    return f"deletes {len(found)} of {whole} files, such as {show_path(found[0])}"


# The policies by which no side loses a line, or only the unit's. Both are asked in conflicts alone, so that what git
# merges without one would go by unseen.
KEEPING = ("ours", "union")
# Lists by convention get shorter as things are done; nobody has said of them that they are to be kept.
FEW_LINES = 20


def find_cuts(
    trees: Trees, step: Sequence[TreeChange], hotspots: Sequence[Hotspot], drivers: Mapping[bytes, str]
) -> list[tuple[bytes, str]]:
    """List the paths a step deletes, empties or halves against their policy, with words for it.

    ``drivers`` are what attributes say of paths that ``hotspots`` do not name.
    """
    gone, found = {*find_deleted(step)}, []
    for change in step:
        if change.added or change.old_mode not in REGULAR:
            continue
        row = hotspot_for(change.path.decode("utf-8", "surrogateescape"), hotspots)
        policy = (row.policy if row is not None else None) or drivers.get(change.path)
        if policy not in KEEPING:
            continue
        said = _describe(trees, change, gone, FEW_LINES if row in BUILTIN else 0)
        if said:
            found.append((change.path, f"{said} {show_path(change.path)}, whose policy is {policy}"))
    return found


def _describe(trees: Trees, change: TreeChange, gone: set[bytes], few: int) -> str:
    """Return what a change takes away of a file; empty where it is not much (``few`` lines, or less than half)."""
    if change.removed:
        return "deletes" if change.path in gone else ""
    # A link or a folder in its place: not one of its lines is left there.
    if change.new_mode not in REGULAR:
        return "replaces"
    before, after = (read_blob(trees.repo, oid).count(b"\n") for oid in (change.old, change.new))
    if change.path in gone or (before - after > few and after * 2 <= before):
        return f"leaves {after} of {before} lines of"
    return ""

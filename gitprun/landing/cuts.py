"""Files that a policy keeps on the main side, or whole: a branch that deletes one or cuts it down is held."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gitprun.git.trees import REGULAR, TreeChange, read_blob, show_path
from gitprun.git.walk import Trees
from gitprun.judging.hotspots import BUILTIN, Hotspot, hotspot_for
from gitprun.landing.deletions import find_deleted

# The policies by which no side loses a line, or only the unit's. Both are asked in conflicts alone, so that what git
# merges without one would go by unseen.
KEEPING = ("ours", "union")
# Lists by convention get shorter as things are done; nobody has said of them that they are to be kept.
FEW = 20


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
        said = _describe(trees, change, gone, FEW if row in BUILTIN else 0)
        if said:
            found.append((change.path, f"{said} {show_path(change.path)}, whose policy is {policy}"))
    return found


def _describe(trees: Trees, change: TreeChange, gone: set[bytes], few: int) -> str:
    """Say what a change takes away of a file; empty where it is not much (``few`` lines, or less than half)."""
    if change.removed:
        return "deletes" if change.path in gone else ""
    if change.new_mode not in REGULAR:
        return "replaces"
    before, after = (read_blob(trees.repo, oid).count(b"\n") for oid in (change.old, change.new))
    if change.path in gone or (before - after > few and after * 2 <= before):
        return f"leaves {after} of {before} lines of"
    return ""

"""Two sides that changed different things: merged by putting one side's changes into the other side's tree."""

from __future__ import annotations

from collections.abc import Sequence

from gitprun.git.trees import TreeChange
from gitprun.git.walk import Trees
from gitprun.model.names import Oid


class Since:
    """What a main side changed since one base, kept up while a train grows; ``base`` and ``tree`` are trees."""

    def __init__(self, trees: Trees, base: Oid, tree: Oid) -> None:
        self.trees, self.base, self.tree = trees, base, tree
        self.changes: dict[bytes, TreeChange] = {}
        self.added = self.removed = 0
        self._count(trees.compare(base, tree))

    @property
    def moves(self) -> bool:
        """Check whether something may have been renamed: a path was added and another removed."""
        return bool(self.added and self.removed)

    def _count(self, changes: Sequence[TreeChange]) -> None:
        for change in changes:
            self.changes[change.path] = change
            self.added += change.added
            self.removed += change.removed

    def advance(self, tree: Oid, step: Sequence[TreeChange]) -> None:
        """Take in the changes that lead from its tree to the next one."""
        after = self.after(step)
        for change in step:
            gone = self.changes.pop(change.path, None)
            if gone is not None:
                self.added -= gone.added
                self.removed -= gone.removed
        self._count(after)
        self.tree = tree

    def after(self, step: Sequence[TreeChange]) -> list[TreeChange]:
        """Return how the paths of further changes then differ from the base; those that do not are left out."""
        found = []
        for change in step:
            # A path changed twice counts from the base; changed back, it does not count at all.
            before = self.changes.get(change.path, change)
            if (before.old_mode, before.old) != (change.new_mode, change.new):
                found.append(TreeChange(change.path, before.old_mode, change.new_mode, before.old, change.new))
        return found


def may_move(changes: Sequence[TreeChange]) -> bool:
    """Check whether one of the changes may be half of a rename."""
    # Git looks for renames by content; here it is enough that there might be one.
    return any(change.added for change in changes) and any(change.removed for change in changes)


def merge_apart(trees: Trees, main: Since, unit: Sequence[TreeChange]) -> Oid | None:
    """Merge changes with a main side that changed other paths; None where only git can tell.

    Git gives the same tree: it reads contents only where both sides changed a path, and folders that were renamed on
    one side only matter where the other side added something. A file where the other side has a folder is git's.
    """
    if any(change.path in main.changes for change in unit):
        return None
    # Where a folder may have been renamed git moves what the other side added to it: only git can tell.
    added = any(change.added for change in unit)
    if (added and main.moves) or (main.added and may_move(unit)):
        return None
    return trees.apply(main.tree, unit)

"""After a landing: is what each branch brought really there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gitprun.git.trees import Objects, parents_of, show_path, tree_of
from gitprun.git.walk import Trees
from gitprun.landing.build import Built
from gitprun.model.names import Oid


@dataclass(frozen=True, slots=True)
class Containment:
    """How many paths of a branch are in the target as the branch has them, which were united with changes of others,
    and which are not there for no reason that is known."""

    whole: int
    united: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Give it as plain values."""
        return {"whole": self.whole, "united": list(self.united), "missing": list(self.missing)}


def find_presence(trees: Trees, taken: Sequence[Built], tree: Oid, others: frozenset[bytes]) -> list[Containment]:
    """Look for what each merge brought in the tree they led to; ``others`` are paths that something else changed."""
    later = set(others)
    found: list[Containment] = []
    for built in reversed(taken):
        placed = {(change.new_mode, change.new) for change in built.step if not change.removed}
        asked = {change.path for change in built.step}
        whole, united, missing = 0, [], []
        for change in built.brought:
            now = trees.find(tree, change.path)
            if now == (None if change.removed else (change.new_mode, change.new)):
                whole += 1
            elif change.path in built.united or change.path in later:
                united.append(show_path(change.path))
            elif (change.new_mode, change.new) in placed:
                # Its folder was renamed on the other side, and git moved it there.
                whole += 1
            else:
                missing.append(show_path(change.path))
        found.append(Containment(whole, tuple(united), tuple(missing)))
        later |= asked
    return found[::-1]


def misplaced(repo: Objects, taken: Sequence[Built], start: Oid) -> list[Built]:
    """List the merges that are not what was built: parents main and branch in this order, and the tree."""
    wrong, before = [], start
    for built in taken:
        found = parents_of(repo, built.commit), tree_of(repo, built.commit)
        if found != ((before, built.item.candidate.tip), built.tree):
            wrong.append(built)
        before = built.commit
    return wrong

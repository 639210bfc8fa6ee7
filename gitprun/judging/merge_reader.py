"""The texts of one merge, as far as they are asked for: of the files its sides changed, and of the merged tree."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Final
from weakref import WeakKeyDictionary

from gitprun.git.trees import REGULAR, TreeChange, read_blob
from gitprun.git.walk import Trees
from gitprun.model.budget import unbroken
from gitprun.model.names import Oid
from gitprun.resolvers.base import SIZE_LIMIT
from gitprun.resolvers.dangling import ChangedText, added_words, ended_names, redeclared_names
from gitprun.resolvers.naming import Names, wording_of

# Changes between two looks at the clock: some tenths of a second.
_AT_ONCE = 64


@dataclass(frozen=True, slots=True)
class ChangeFacts:
    """What a change ended, what it declares in another way, and the words it added."""

    ended: Names = frozenset()
    redeclared: Names = frozenset()
    added: Names = frozenset()


_NOTHING: Final = ChangeFacts()
# What is known of a change stays known while a train is built: each merge of it has the same main side, and more.
_KNOWN: WeakKeyDictionary[Trees, dict[TreeChange, ChangeFacts]] = WeakKeyDictionary()


@dataclass(slots=True)
class MergeReader:
    """Reads for one merge, of which ``tree`` is the merged one; a text over SIZE_LIMIT is read as empty."""

    trees: Trees
    tree: Oid
    _paths: list[tuple[bytes, ...]] = field(default_factory=list)

    def facts_of(self, changes: Sequence[TreeChange]) -> list[tuple[TreeChange, ChangeFacts]]:
        """Return each change with what is known of it."""
        found = []
        # As one block: to look at the clock takes longer than to read a small file.
        with unbroken() as budget:
            for number, change in enumerate(changes):
                if not number % _AT_ONCE and budget.is_over():
                    break
                found.append((change, self.facts(change)))
        return found

    def facts(self, change: TreeChange) -> ChangeFacts:
        """Return what is known of a change; nothing of a language that is not known here."""
        if wording_of(os.fsdecode(change.path)) is None:
            return _NOTHING
        known = _KNOWN.setdefault(self.trees, {})
        if change not in known:
            text = self.changed(change)
            known[change] = ChangeFacts(ended_names(text), redeclared_names(text), added_words(text))
        return known[change]

    def changed(self, change: TreeChange) -> ChangedText:
        """Return the two texts of a change."""
        before, after = (
            self._content(oid) if mode in REGULAR else b""
            for mode, oid in ((change.old_mode, change.old), (change.new_mode, change.new))
        )
        return ChangedText(os.fsdecode(change.path), before, after)

    def has(self, path: bytes) -> bool:
        """Check whether the merged tree has a path."""
        return self.trees.find(self.tree, path) is not None

    def merged(self, path: bytes) -> bytes:
        """Return the text of a path in the merged tree; empty where it has none."""
        found = self.trees.find(self.tree, path)
        return self._content(found[1]) if found is not None and found[0] in REGULAR else b""

    def paths(self) -> tuple[bytes, ...]:
        """List all paths of the merged tree."""
        if not self._paths:
            with unbroken():
                self._paths.append(tuple(self.trees.paths(self.tree, b"")))
        return self._paths[0]

    def _content(self, oid: Oid) -> bytes:
        # Whoever breaks off in the middle of an answer of git takes its rest for the next one.
        with unbroken():
            text = read_blob(self.trees.repo, oid)
        return text if len(text) <= SIZE_LIMIT else b""


def pair_moves(changes: Iterable[TreeChange]) -> list[TreeChange]:
    """Return changes, a file that moved under its own name as one of the new path; what only moved is none."""
    removed: dict[bytes, list[TreeChange]] = {}
    kept = []
    for change in changes:
        if change.removed:
            removed.setdefault(change.path.rpartition(b"/")[2], []).append(change)
        else:
            kept.append(change)
    for number, change in enumerate(kept):
        # Of several by one name nobody can tell which went where without git's own search for renames.
        found = removed.get(change.path.rpartition(b"/")[2], []) if change.added else []
        if len(found) == 1:
            kept[number] = replace(change, old_mode=found[0].old_mode, old=found[0].old)
    return [change for change in kept if change.old != change.new] + [one for each in removed.values() for one in each]


def ending_of(path: bytes) -> str:
    """Return the ending of a path in small letters; of a name without one, the name."""
    return os.fsdecode(path.rpartition(b"/")[2].rpartition(b".")[2]).lower()

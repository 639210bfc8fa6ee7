"""Interleave the entries of two sides with those of the base: which stand in the merge, and in which order."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gitprun.resolvers.syntax.align import OPERANDS, Pairs
from gitprun.resolvers.syntax.entries import ChildEntry
from gitprun.resolvers.syntax.keys import Key
from gitprun.resolvers.syntax.rows import Group, Scope
from gitprun.resolvers.syntax.tree import Removed, RivalAddition, TreeClash, show, squash

_TOKEN = re.compile(rb"\w+|[^\w\s]+")
TIDY_FROM = 3  # entries that must be in order before order is taken for a rule


@dataclass(frozen=True, slots=True)
class Slot:
    """One entry of the merge, as the versions that have it know it."""

    base: ChildEntry | None
    main: ChildEntry | None
    unit: ChildEntry | None

    @property
    def any(self) -> ChildEntry:
        """Return the entry of a version that has it, main's first."""
        found = self.main or self.unit or self.base
        assert found is not None
        return found

    def of(self, side: str) -> ChildEntry | None:
        """Return the entry as one version has it."""
        return self.main if side == "main" else self.unit if side == "unit" else self.base


class _Side:
    """One side seen from the base: what it inserted in which gap, and what it removed or moved."""

    def __init__(self, base: Sequence[ChildEntry], side: Sequence[ChildEntry], pairs: Pairs) -> None:
        self.entries, self.pairs = side, pairs
        self.inserted: list[list[ChildEntry]] = [[] for _ in range(len(base) + 1)]
        self.origin: dict[int, int] = {}  # of a moved entry: its place in the base
        back = {j: i for i, j in enumerate(pairs.partner) if j is not None}
        gap = 0
        for j, entry in enumerate(side):
            i = back.get(j)
            if i is not None and i not in pairs.moved:
                gap = i + 1
                continue
            self.inserted[gap].append(entry)
            if i is not None:
                self.origin[j] = i

    def has(self, i: int) -> bool:
        """Check whether the side kept a base entry."""
        return self.pairs.partner[i] is not None

    def at(self, i: int) -> ChildEntry | None:
        """Return a base entry as the side has it."""
        j = self.pairs.partner[i]
        return None if j is None else self.entries[j]

    def placed(self, texts: set[bytes]) -> dict[tuple[int, bytes], ChildEntry]:
        """Find where the side inserted, among what has a fixed place, one of some texts."""
        return {
            (gap, text): entry
            for gap, run in enumerate(self.inserted)
            for entry in run
            if entry.group is None and (text := squash(entry.core.text)) in texts
        }

    def is_new(self, entry: ChildEntry) -> bool:
        """Check whether the side added an entry, rather than moved it."""
        return entry.index not in self.origin


class Weaver:
    """Weaves three lists of entries; ``joins`` tells whether two additions may be made one."""

    def __init__(
        self,
        versions: tuple[Sequence[ChildEntry], Sequence[ChildEntry], Sequence[ChildEntry]],
        pairs: tuple[Pairs, Pairs],
        scope: Scope | None,
        joins: Callable[[ChildEntry, ChildEntry], bool],
    ) -> None:
        self.base = versions[0]
        self.main = _Side(versions[0], versions[1], pairs[0])
        self.unit = _Side(versions[0], versions[2], pairs[1])
        self.groups: tuple[Group, ...] = scope.groups if scope else ()
        self.joins = joins
        self.twins, self.dropped = self._find_twins()
        self.tidy = self._tidy_groups()

    def weave(self) -> list[Slot]:
        """Return the entries of the merge in order."""
        # Before anything is placed: what touches where order counts cannot be told from the merged list any more.
        self._require_room()
        self._require_one_move()
        self._require_one_original()
        slots: list[Slot] = []
        for gap in range(len(self.base) + 1):
            slots += self._unite(gap)
            if gap < len(self.base) and gap not in self.main.pairs.moved | self.unit.pairs.moved:
                slots += self._keep(gap)
        return slots

    def _keep(self, i: int) -> list[Slot]:
        """Return a base entry as it stays; nothing when a side removed it."""
        entry, main, unit = self.base[i], self.main.at(i), self.unit.at(i)
        if main is None or unit is None:
            left = main or unit
            if left is not None and not left.equals(entry):
                raise Removed(entry.core, left.core)
            return []
        return [Slot(entry, main, unit)]

    def _moved(self, entry: ChildEntry, side: _Side) -> list[Slot]:
        """Return an entry that a side moved, unless the other side moved it too and has the word."""
        i = side.origin[entry.index]
        # Both moved it: main's place holds, and it must not stand twice.
        if side is self.unit and i in self.main.pairs.moved:
            return []
        return self._keep(i)

    def _slots(self, entry: ChildEntry, side: _Side) -> list[Slot]:
        if not side.is_new(entry):
            return self._moved(entry, side)
        other = self.twins.get((side is self.main, entry.index))
        if (side is self.main, entry.index) in self.dropped:
            return []
        return [Slot(None, entry, other)] if side is self.main else [Slot(None, other, entry)]

    def _unite(self, gap: int) -> list[Slot]:
        main, unit = self.main.inserted[gap], self.unit.inserted[gap]
        # The very same run on both sides is one.
        if main and unit and len(main) == len(unit) and all(m.equals(u) for m, u in zip(main, unit, strict=True)):
            return [
                slot
                for m, u in zip(main, unit, strict=True)
                for slot in (
                    [Slot(None, m, u)] if self.main.is_new(m) and self.unit.is_new(u) else self._slots(m, self.main)
                )
            ]
        # Imports of one module, say: two additions that are made one.
        if main and unit and len(main) == len(unit) == 1 and self.joins(main[0], unit[0]):
            return [Slot(None, main[0], unit[0])]
        found = [(entry, slot) for entry in main for slot in self._slots(entry, self.main)]
        more = [(entry, slot) for entry in unit for slot in self._slots(entry, self.unit)]
        if found and more:
            return self._join_runs(gap, found, more)
        return [slot for _, slot in (*found, *more)]

    def _join_runs(
        self, gap: int, main: list[tuple[ChildEntry, Slot]], unit: list[tuple[ChildEntry, Slot]]
    ) -> list[Slot]:
        """Put what both sides inserted at one place behind one another, if their order cannot matter."""
        # What both removed and put something else for is most likely one thing changed in two ways.
        both_replaced = gap < len(self.base) and not self.main.has(gap) and not self.unit.has(gap)
        # What both added alike is no way of its own.
        own = [[slot for _, slot in run if slot.main is None or slot.unit is None] for run in (main, unit)]
        if both_replaced and all(own) and all(slot.base is None for _, slot in (*main, *unit)):
            raise TreeClash(f"both sides replaced {show(self.base[gap].core)}")
        ranks = [entry.group for entry, _ in (*main, *unit)]
        first, second = ranks[: len(main)], ranks[len(main) :]
        if all(rank is not None for rank in ranks):
            fits = self._fits(gap, [entry for entry, _ in (*main, *unit)])
            if fits and first == sorted(first, key=self._order) and second == sorted(second, key=self._order):
                joined = sorted((*main, *unit), key=lambda pair: self._order(pair[0].group))
                return self._tidied(gap, [slot for _, slot in joined])
        elif self._heads(first, gap):
            # Imports stand before what has a fixed place, whichever side added them.
            return [slot for _, slot in (*main, *unit)]
        elif self._heads(second, gap):
            return [slot for _, slot in (*unit, *main)]
        raise TreeClash(f"both sides inserted at one place: {show(main[0][0].core)} and {show(unit[0][0].core)}")

    def _fits(self, gap: int, entries: Sequence[ChildEntry]) -> bool:
        """Check whether the conditions of their groups let entries stand in any order at a place."""
        for entry in entries:
            group = self.groups[entry.group or 0]
            above = self.base[gap - 1] if gap else None
            # Behind a case that falls through a new one would be run with it.
            if group.guarded and above is not None and above.core.named and above.group != entry.group:
                return False
            if group.counted and b"=" not in entry.core.text and self._keeps_numbers(entry.group):
                return False
            # Calls on one object register; those on two may depend on each other, unless the list has both already.
            if group.alike:
                known = {_family(each) for each in self.base if each.group == entry.group}
                inserted = {_family(each) for each in entries if each.group == entry.group}
                if len(inserted) > 1 and not inserted <= known:
                    return False
        return True

    def _keeps_numbers(self, rank: int | None) -> bool:
        """Check whether both sides added counted members behind all others, so that those kept their numbers."""
        last = max((i for i, entry in enumerate(self.base) if entry.group == rank), default=-1)
        return not any(
            entry.group == rank for side in (self.main, self.unit) for run in side.inserted[: last + 1] for entry in run
        )

    def _order(self, rank: int | None) -> int:
        return rank if rank is not None and self.groups[rank].head else len(self.groups)

    def _heads(self, ranks: Sequence[int | None], gap: int) -> bool:
        """Check whether a run of insertions belongs to a group that stands before what has a fixed place."""
        if any(rank is None or not self.groups[rank].head for rank in ranks):
            return False
        above = self.base[gap - 1].group if gap else None
        return above is not None and self.groups[above].head

    def _require_room(self) -> None:
        """Refuse changes of both sides that touch where the order counts."""
        for mine, other in ((self.main, self.unit), (self.unit, self.main)):
            for gap in range(len(self.base) + 1):
                fixed = [e for e in mine.inserted[gap] if e.group is None and not self._twin_of(mine, e)]
                if not fixed:
                    continue
                # Beside a removed statement the insertion may have been made for it, or against it.
                for i in (gap - 1, gap):
                    if 0 <= i < len(self.base) and not other.has(i) and self.base[i].group is None:
                        raise TreeClash(f"one side removed what stands beside an insertion: {show(self.base[i].core)}")
                    # What was put in the place of an operand is another one, and it may do what the inserted one does.
                    if 0 <= i < len(self.base) and self._is_replaced(i, other):
                        raise TreeClash(f"one side replaced what stands beside an insertion: {show(self.base[i].core)}")
        for i in range(len(self.base) - 1):
            # Each removed one of two neighbours: together nothing of what either kept would be left as it was meant.
            if self.base[i].group is None and self.base[i + 1].group is None:
                gone = [(self.main.has(k), self.unit.has(k)) for k in (i, i + 1)]
                if gone in ([(True, False), (False, True)], [(False, True), (True, False)]):
                    raise TreeClash(f"the sides removed neighbours: {show(self.base[i].core)}")

    def _is_replaced(self, i: int, side: _Side) -> bool:
        """Check whether a side put another thing in the place of an argument or an operand."""
        old, new = self.base[i], side.at(i)
        if new is None or old.group is not None or old.core.parent is None or not old.core.named:
            return False
        if OPERANDS.search(old.core.parent.kind) is None or squash(old.core.text) == squash(new.core.text):
            return False
        # What has more to it now is the same one, and a number or a text that is another one is still what it was for.
        before, after = ({*_TOKEN.findall(each.core.text)} for each in (old, new))
        if before <= after:
            return False
        # Texts behind each other are one text, of which each side wrote another.
        if "concatenated" in old.core.parent.kind:
            return True
        # A parameter with a type is known by its name.
        if "parameter" in old.core.parent.kind and _parameter(old) != _parameter(new):
            return True
        return old.core.kind != new.core.kind or (not old.core.children and "identifier" in old.core.kind)

    def _require_one_move(self) -> None:
        """Refuse what one side moved and the other removed or moved elsewhere, where the order counts."""
        gone = {
            squash(entry.core.text)
            for i, entry in enumerate(self.base)
            if entry.group is None and entry.core.named and not self.main.has(i) and not self.unit.has(i)
        }
        if not gone:
            return
        places = [side.placed(gone) for side in (self.main, self.unit)]
        for mine, other in (places, places[::-1]):
            for place, entry in mine.items():
                # A move where order counts reads as removed and inserted: the text that both removed shows it.
                if place not in other:
                    raise TreeClash(f"one side moved what the other removed or moved elsewhere: {show(entry.core)}")

    def _require_one_original(self) -> None:
        """Refuse an edit of what the other side doubled: which of the two it is meant for, nobody can tell."""
        for mine, other in ((self.main, self.unit), (self.unit, self.main)):
            added = {squash(entry.core.text) for run in mine.inserted for entry in run if mine.is_new(entry)}
            # At most levels of a file a side adds nothing, and no text of the base has to be squeezed.
            texts = [squash(entry.core.text) for entry in self.base] if added else []
            before = Counter(texts)
            for i, text in enumerate(texts):
                entry, edited = self.base[i], other.at(i)
                if text not in added or before[text] > 1 or not entry.core.children:
                    continue
                if edited is not None and squash(edited.core.text) != text:
                    raise TreeClash(f"one side changed what the other doubled: {show(entry.core)}")

    def _twin_of(self, side: _Side, entry: ChildEntry) -> bool:
        gap = next(g for g, run in enumerate(side.inserted) if entry in run)
        other = self.unit if side is self.main else self.main
        return any(entry.equals(each) for each in other.inserted[gap])

    def _find_twins(self) -> tuple[dict[tuple[bool, int], ChildEntry], set[tuple[bool, int]]]:
        """Find what both sides added, at whatever place: (is main's, index) to the other side's entry.

        It stands once, at main's place; at the unit's when only that is the very start of the list.
        """
        twins: dict[tuple[bool, int], ChildEntry] = {}
        dropped: set[tuple[bool, int]] = set()
        added: dict[Key, list[tuple[int, ChildEntry]]] = {}
        for gap, run in enumerate(self.unit.inserted):
            for entry in run:
                if entry.group is not None and self.unit.is_new(entry):
                    added.setdefault(_identity(entry), []).append((gap, entry))
        for gap, run in enumerate(self.main.inserted):
            for entry in run:
                if entry.group is None or not self.main.is_new(entry):
                    continue
                found = added.get(_identity(entry), [])
                # Two entries of one name on a side: which of them the other side added is open.
                if len(found) != 1:
                    continue
                place, other = found[0]
                if not entry.equals(other) and not self.joins(entry, other):
                    # Imports of one module may stand twice, each with other names.
                    if entry.twice:
                        continue
                    raise RivalAddition(f"both sides added {show(entry.core)}, each in another way")
                twins[True, entry.index], twins[False, other.index] = other, entry
                dropped.add((True, entry.index) if self._starts(place, gap) else (False, other.index))
        return twins, dropped

    def _starts(self, place: int, other: int) -> bool:
        """Check whether a gap is before the first unordered base entry, and the other gap is not."""
        first = next((i for i, entry in enumerate(self.base) if entry.group is not None), len(self.base))
        return place <= first < other

    def _tidy_groups(self) -> set[int]:
        """Find the groups that are sorted in all versions."""
        tidy: set[int] = set()
        for rank, group in enumerate(self.groups):
            lists = [
                [_words(entry) for entry in entries if entry.group == rank]
                for entries in (self.base, self.main.entries, self.unit.entries)
            ]
            if group.tidy and len(lists[0]) >= TIDY_FROM and all(words == sorted(words) for words in lists):
                tidy.add(rank)
        return tidy

    def _tidied(self, gap: int, slots: list[Slot]) -> list[Slot]:
        """Sort what both sides inserted at one place into a list that was sorted."""
        ranks = {slot.any.group for slot in slots}
        if len(ranks) == 1 and ranks <= self.tidy:
            return sorted(slots, key=lambda slot: _words(slot.any))
        return slots


def _parameter(entry: ChildEntry) -> bytes | None:
    """Return the name of a parameter; None where it has none of its own."""
    raw = entry.core.raw
    found = next((node for name in ("name", "pattern", "declarator") if (node := raw.child_by_field_name(name))), None)
    return None if found is None else found.text


def _family(entry: ChildEntry) -> str:
    """Name the object that a registration calls, or its bare function."""
    callee = entry.key[1].split(" ")[0] if entry.key is not None and len(entry.key) > 1 else ""
    return callee.rpartition(".")[0] or callee


def _identity(entry: ChildEntry) -> Key:
    if entry.key is not None:
        return entry.key
    return ("", squash(entry.core.text).decode("utf-8", "replace"))


def _words(entry: ChildEntry) -> str:
    return " ".join(entry.key[1:]) if entry.key is not None else entry.core.text.decode("utf-8", "replace")

"""The order of a merged list: base's, main's additions before the unit's; and what makes two changes at one place a
clash."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from gitprun.resolvers.base import quote
from gitprun.resolvers.blocks.tree import BlockEntry, Key, Rule, is_comment
from gitprun.resolvers.entries import EntryClash, added_after, common_order

Numbered = tuple[Key, int]
Table = dict[Numbered, BlockEntry]

_BLANK_LINES = re.compile(r"(?:[ \t\r]*\n)+")


@dataclass(slots=True)
class _Place:
    """What either side did between two entries that stay; ``split`` when one added between entries that the other
    removed."""

    main: list[Numbered] = field(default_factory=list)
    unit: list[Numbered] = field(default_factory=list)
    gone_main: list[Numbered] = field(default_factory=list)
    gone_unit: list[Numbered] = field(default_factory=list)
    inside: set[str] = field(default_factory=set)
    split: bool = False

    def remove(self, key: Numbered, main: list[Numbered] | None, unit: list[Numbered] | None) -> None:
        """Note a removed entry: what either side has new below it, None where that side removed it."""
        # Where the other side wrote between two entries that this one removed, no neighbour is left to place it by.
        if main is None:
            self.split |= "unit" in self.inside
            self.gone_main.append(key)
            self.inside |= {"unit"} if unit else set()
        if unit is None:
            self.split |= "main" in self.inside
            self.gone_unit.append(key)
            self.inside |= {"main"} if main else set()


@dataclass(frozen=True, slots=True)
class Lists:
    """Three versions of a list, by key, and the order of their merge."""

    base: Table
    main: Table
    unit: Table

    def order(self, rule: Rule) -> list[Numbered] | EntryClash:
        """Order the keys of the merge."""
        stays = [key for key in self.base if key in self.main and key in self.unit]
        kept = set(stays)
        by_main, by_unit = ([key for key in side if key in kept] for side in (self.main, self.unit))
        skeleton: Sequence[Numbered] = list(self.base)
        # Order that only one side changed holds; both sides' additions go behind what they stood behind.
        if by_main != stays or by_unit != stays:
            moved = self._moved(stays, by_main, by_unit, rule)
            if isinstance(moved, EntryClash):
                return moved
            skeleton = moved
        anchors = set(skeleton)
        adds_main = added_after(self.main, self.base, anchors)
        adds_unit = added_after(self.unit, self.base, anchors)
        contest = self._contest(skeleton, kept, adds_main, adds_unit, rule)
        # Where order counts, one thing that both added at two places has no place that is right for both.
        if not contest and rule.joint:
            contest = self._scattered(adds_main, adds_unit)
        if contest:
            return EntryClash(contest)
        placed = set(kept) | {key for keys in adds_main.values() for key in keys}
        sort = self._sorter(rule) if rule.sorts else None
        order: list[Numbered] = []
        for anchor, below in zip((None, *skeleton), (*skeleton, None), strict=True):
            if anchor in kept:
                order.append(anchor)
            by_main, by_unit = adds_main.get(anchor, []), adds_unit.get(anchor, [])
            if self._goes_before(by_unit, by_main, below):
                joined = by_unit + by_main
            else:
                joined = _join(by_main, by_unit, placed)
            order += sort(joined) if sort else joined
        # Last, over the whole list: each place may be in order and yet an entry have come before one it followed.
        if rule.joint and skeleton == list(self.base) and not self._keeps_order(order):
            return EntryClash("both sides add the same entries in another order")
        return order

    def _goes_before(self, unit: list[Numbered], main: list[Numbered], below: Numbered | None) -> bool:
        """Check whether the unit's additions stand nearer to the entry above than main's: where main's replace the
        entry below, or the unit's start with a comment on what is above."""
        if not main or not unit or set(main) & set(self.unit) or set(unit) & set(self.main):
            return False
        if below is not None and below not in self.main and below in self.unit:
            return True
        first = self.unit[unit[0]]
        return is_comment(first) and not blank_lines(first.lead) and bool(blank_lines(self.main[main[0]].lead))

    def _scattered(
        self,
        adds_main: Mapping[Numbered | None, list[Numbered]],
        adds_unit: Mapping[Numbered | None, list[Numbered]],
    ) -> str | None:
        """Find what both sides added, but not at the same place."""
        at_main = {key: anchor for anchor, keys in adds_main.items() for key in keys}
        for anchor, keys in adds_unit.items():
            for key in keys:
                if key in at_main and at_main[key] != anchor:
                    return f"both sides add {show(self.main[key])}, each at another place"
        return None

    def _keeps_order(self, order: Sequence[Numbered]) -> bool:
        known = set(order)
        return all(
            [key for key in order if key in side] == [key for key in side if key in known]
            for side in (self.main, self.unit)
        )

    def _moved(
        self, stays: list[Numbered], main: list[Numbered], unit: list[Numbered], rule: Rule
    ) -> list[Numbered] | EntryClash:
        if main != stays and unit != stays and main != unit:
            return EntryClash("both sides reorder the same entries, differently")
        lost = [key for key in self.base if key not in self.main and key not in self.unit]
        new = [key for side in (self.main, self.unit) for key in side if key not in self.base]
        if lost and new:
            return EntryClash(f"{show(self.base[lost[0]])} is removed on both sides where one of them reorders entries")
        moved = unit if main == stays else main
        if rule.joint and main != unit:
            other = self.main if main == stays else self.unit
            if list(other) != list(self.base):
                return EntryClash(f"one side reorders what the other changes, around {show(self.base[moved[0]])}")
        return moved

    def _contest(
        self,
        skeleton: Sequence[Numbered],
        kept: set[Numbered],
        adds_main: Mapping[Numbered | None, list[Numbered]],
        adds_unit: Mapping[Numbered | None, list[Numbered]],
        rule: Rule,
    ) -> str | None:
        """Return in words what both sides did at one place that cannot hold together."""
        place = _Place()
        for anchor in (None, *skeleton):
            if anchor in kept:
                reason = self._quarrel(place, rule)
                if reason:
                    return reason
                place = _Place()
            elif anchor is not None:
                below = (
                    adds.get(anchor, []) if anchor in side else None
                    for adds, side in ((adds_main, self.main), (adds_unit, self.unit))
                )
                place.remove(anchor, *below)
            place.main.extend(adds_main.get(anchor, ()))
            place.unit.extend(adds_unit.get(anchor, ()))
        return self._quarrel(place, rule)

    def _quarrel(self, place: _Place, rule: Rule) -> str | None:
        own_main = [key for key in place.main if key not in self.unit]
        own_unit = [key for key in place.unit if key not in self.main]
        gone_both = [key for key in place.gone_main if key in place.gone_unit]
        # Removed on both sides, with something new in its place: most likely renamed, and in two ways.
        if gone_both and (own_main or own_unit):
            gone = show(self.base[gone_both[0]])
            if own_main and own_unit:
                return f"{gone} is replaced on both sides, differently"
            one = show(self.main[own_main[0]] if own_main else self.unit[own_unit[0]])
            return f"{gone} is removed on both sides, but one of them puts {one} in its place"
        new = [*(self.main[key] for key in own_main), *(self.unit[key] for key in own_unit)]
        # A comment has no name: amid entries that the other side rewrote nothing tells what it is about.
        if place.split and own_main and own_unit and (rule.joint or any(map(is_comment, new))):
            return f"one side adds {show(new[0])} amid entries that the other rewrites"
        if not rule.joint:
            return None
        by_main = [self.main[key] for key in own_main] + [self.base[key] for key in place.gone_main]
        by_unit = [self.unit[key] for key in own_unit] + [self.base[key] for key in place.gone_unit]
        if not by_main or not by_unit or not (own_main or own_unit):
            return None
        return rule.joint(by_main, by_unit)

    def _sorter(self, rule: Rule) -> Callable[[list[Numbered]], list[Numbered]]:
        def sort(keys: list[Numbered]) -> list[Numbered]:
            kinds = {key[0][0] for key in keys}
            # Kinds that stand mixed have no common order; one entry needs none.
            if len(keys) < 2 or len(kinds) > 1 or not kinds <= set(rule.sorts):
                return keys
            versions = [
                [key[0][1:] for key in side if key[0][0] in kinds] for side in (self.base, self.main, self.unit)
            ]
            found = common_order(*versions)
            return sorted(keys, key=lambda key: found(key[0][1:])) if found else keys

        return sort


def _join(main: list[Numbered], unit: list[Numbered], placed: set[Numbered]) -> list[Numbered]:
    """Join what both sides added at one place; what main has too stands where main has it, what the unit put right
    before it goes before it."""
    joined = list(main)
    pending: list[Numbered] = []
    for key in unit:
        if key not in placed:
            pending.append(key)
        elif key in joined:
            at = joined.index(key)
            joined[at:at] = pending
            pending = []
    return joined + pending


def show(entry: BlockEntry) -> str:
    """Name an entry in a message."""
    return quote(entry.named.encode("utf-8", "surrogateescape"))


def blank_lines(lead: str) -> str:
    """Return the blank lines at the start of a lead."""
    found = _BLANK_LINES.match(lead)
    return found.group() if found else ""

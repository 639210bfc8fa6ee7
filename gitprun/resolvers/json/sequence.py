"""Two sides of one list: which items the merge has, and where each stands in the three versions."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from gitprun.resolvers.changes import LineChange, diff_lines, pair_lines
from gitprun.resolvers.entries import EntryClash, merge_keys

# Where an item stands in base, main and unit; None where it does not.
Row = tuple[int | None, int | None, int | None]
Keys = Sequence[Hashable]


def align_by_key(base: Keys, main: Keys, unit: Keys, *, listed: bool = False) -> list[Row] | EntryClash:
    """Merge lists of distinct keys: base's order, additions after what they followed, sorted if all are."""
    order = merge_keys(base, main, unit, listed=listed)
    if isinstance(order, EntryClash):
        return order
    places = [{key: at for at, key in enumerate(keys)} for keys in (base, main, unit)]
    return [(places[0].get(key), places[1].get(key), places[2].get(key)) for key in order]


def align_items(base: Keys, main: Keys, unit: Keys, *, ordered: bool = False) -> list[Row] | EntryClash:
    """Merge lists of items that have no key of their own.

    Distinct items that either side only added or removed are a set. Else, and with ``ordered``, the changes of the
    two sides must not touch.
    """
    # Of repeated items nobody can tell which one a side removed, so they are never taken as a set.
    distinct = all(len(set(keys)) == len(keys) for keys in (base, main, unit))
    if distinct and not ordered and _only_adds_or_removes(base, main) and _only_adds_or_removes(base, unit):
        return align_by_key(base, main, unit, listed=True)
    late = _align_ordered(base, main, unit, early=False)
    if isinstance(late, EntryClash) or distinct:
        return late
    # Repeated items leave a choice which of them changed: a merge that depends on it is a guess.
    early = _align_ordered(base, main, unit, early=True)
    if isinstance(early, EntryClash) or _read(late, base, main, unit) != _read(early, base, main, unit):
        return EntryClash("has repeated items near what both sides changed")
    return late


def _only_adds_or_removes(base: Keys, side: Keys) -> bool:
    pairs = pair_lines(base, side)
    if pairs is None:
        return False
    i = j = 0
    for x, y in [*pairs, (len(base), len(side))]:
        # Items gone and others come at one place: one was rewritten, and that is an edit, not an addition.
        if x > i and y > j:
            return False
        i, j = x + 1, y + 1
    return True


def _align_ordered(base: Keys, main: Keys, unit: Keys, *, early: bool) -> list[Row] | EntryClash:
    # diff_lines wants bytes; equal numbers stand for equal items, whatever they hold.
    numbers: dict[Hashable, bytes] = {}
    lists = [[numbers.setdefault(key, b"%d" % len(numbers)) for key in keys] for keys in (base, main, unit)]
    by_main, by_unit = (diff_lines(lists[0], side, early=early) for side in lists[1:])
    if by_main is None or by_unit is None:
        return EntryClash("differs too much between the versions")
    # Side by side counts as meeting: which of two additions at one place comes first is a guess.
    if any(mine.touches(other) and not mine.equals(other) for mine in by_main for other in by_unit):
        return EntryClash("is changed at one place on both sides, differently")
    rows: list[Row] = []
    at = main_at = unit_at = 0
    for start, mine, other in _in_order(by_main, by_unit):
        rows += ((at + k, main_at + k, unit_at + k) for k in range(start - at))
        main_at, unit_at, at = main_at + start - at, unit_at + start - at, start
        added = (mine or other or _NOTHING).lines
        rows += ((None, main_at + k if mine else None, unit_at + k if other else None) for k in range(len(added)))
        stop = (mine or other or _NOTHING).stop
        main_at = mine.last if mine else main_at + stop - start
        unit_at = other.last if other else unit_at + stop - start
        at = stop
    return rows + [(at + k, main_at + k, unit_at + k) for k in range(len(base) - at)]


_NOTHING = LineChange(0, 0, 0, 0, ())


def _in_order(
    main: Sequence[LineChange], unit: Sequence[LineChange]
) -> list[tuple[int, LineChange | None, LineChange | None]]:
    """Join changes that do not touch, by where they start; those that both sides made are one."""
    joined: dict[int, tuple[LineChange | None, LineChange | None]] = {change.start: (change, None) for change in main}
    for change in unit:
        joined[change.start] = (joined.get(change.start, (None, None))[0], change)
    return [(start, *joined[start]) for start in sorted(joined)]


def _read(rows: Sequence[Row], base: Keys, main: Keys, unit: Keys) -> list[Hashable]:
    merged: list[Hashable] = []
    for b, m, u in rows:
        merged.append(base[b] if b is not None else main[m] if m is not None else unit[u or 0])
    return merged

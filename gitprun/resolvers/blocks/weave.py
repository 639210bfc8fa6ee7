"""The three-way merge of trees of entries: by key, deletions hold, a contradiction is a clash."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from gitprun.resolvers.blocks.order import Lists, Numbered, Table, blank_lines, show
from gitprun.resolvers.blocks.tree import BlockEntry, Rule, number, same, separate, squeeze, substance
from gitprun.resolvers.entries import ABSENT, EntryClash, settle_value


def merge_entry(base: BlockEntry | None, main: BlockEntry, unit: BlockEntry) -> BlockEntry | EntryClash:
    """Merge two versions of one entry; without a base they must say the same."""
    # Whole entries first, before white space is left out: what one side left alone is the other's, byte for byte.
    if main in (base, unit):
        return unit
    if unit == base:
        return main
    due = settle_value(substance(base) if base else ABSENT, substance(main), substance(unit))
    if isinstance(due, EntryClash):
        return EntryClash(f"{show(main)} {due.reason}")
    if base is None:
        if same(main, unit):
            return main
        if not main.rule.united:
            return EntryClash(f"{show(main)} is added on both sides, differently")
        # A set that both sides made: each of its items is one that a side added.
        base = replace(main, inner=())
    inner = merge_lists(base.inner, main.inner, unit.inner, main.rule if main.inner else unit.rule)
    if isinstance(inner, EntryClash):
        return inner
    return replace(
        main,
        text=_settle(base.text, main.text, unit.text),
        lead=_settle(base.lead, main.lead, unit.lead),
        sep=_settle(base.sep, main.sep, unit.sep),
        tail=_settle(base.tail, main.tail, unit.tail),
        foot=_settle(base.foot, main.foot, unit.foot),
        inner=inner,
    )


def merge_lists(
    base: Sequence[BlockEntry], main: Sequence[BlockEntry], unit: Sequence[BlockEntry], rule: Rule
) -> tuple[BlockEntry, ...] | EntryClash:
    """Merge three versions of a list of entries: base's order, main's additions before the unit's."""
    # Numbered by their place, repeated entries would be paired with one another where one was added or removed.
    repeated = _uneven(base, main, unit)
    if repeated:
        return EntryClash(f"{repeated} is repeated, which leaves open which one is meant")
    tables = [dict(zip(number(entries), entries, strict=True)) for entries in (base, main, unit)]
    merged = _merge_tables(*tables)
    if isinstance(merged, EntryClash):
        return merged
    lists = Lists(*tables)
    order = lists.order(rule)
    if isinstance(order, EntryClash):
        return order
    # A list without any item is another thing, or none at all: RUN apt-get install with no package.
    for kind in rule.needs:
        main_has, unit_has, left = (any(key[0][0] == kind for key in keys) for keys in (*tables[1:], order))
        if main_has and unit_has and not left:
            return EntryClash(f"no {kind} would be left, for each side removes what the other keeps")
    # Separators last: which entry is the last one is known only now.
    placed = _respace([merged[key] for key in order], order, tables)
    return separate(placed, rule.separator)


def _settle(base: str, main: str, unit: str) -> str:
    """Merge one text that both sides did not change, except for white space; main's white space goes first."""
    old, by_main, by_unit = squeeze(base), squeeze(main), squeeze(unit)
    if by_main == by_unit:
        return unit if main == base else main
    return main if by_unit == old else unit


def _uneven(base: Sequence[BlockEntry], main: Sequence[BlockEntry], unit: Sequence[BlockEntry]) -> str | None:
    """Find an entry that stands more than once somewhere and not equally often everywhere."""
    counts = [Counter(entry.key for entry in entries) for entries in (base, main, unit)]
    for entry in (*base, *main, *unit):
        found = {count[entry.key] for count in counts}
        if max(found) > 1 and len(found) > 1:
            return show(entry)
    return None


def _merge_tables(base: Table, main: Table, unit: Table) -> Table | EntryClash:
    merged: Table = {}
    for key in dict.fromkeys((*base, *main, *unit)):
        old, by_main, by_unit = base.get(key), main.get(key), unit.get(key)
        if by_main and by_unit:
            entry = merge_entry(old, by_main, by_unit)
            if isinstance(entry, EntryClash):
                return entry
            merged[key] = entry
        elif old is None:
            merged[key] = main[key] if by_main else unit[key]
        # Removed by both, or by one where the other left it as it was: it is in no table, so it is gone.
        elif by_main and not same(old, by_main):
            return EntryClash(f"{show(old)} is removed by the unit and changed on main")
        elif by_unit and not same(old, by_unit):
            return EntryClash(f"{show(old)} is removed on main and changed by the unit")
    return merged


def _respace(entries: list[BlockEntry], order: list[Numbered], tables: Sequence[Table]) -> list[BlockEntry]:
    """Keep blank lines between entries that were first in their version and are not any more, and the other way."""
    firsts = [next(iter(table), None) for table in tables]
    spaced = []
    for at, (entry, key) in enumerate(zip(entries, order, strict=True)):
        if at and key in firsts and not blank_lines(entry.lead):
            versions = [table for table, first in zip(tables, firsts, strict=True) if first == key and len(table) > 1]
            below = [list(table.values())[1] for table in versions]
            if below and all(blank_lines(other.lead) for other in below) and _is_first_everywhere(key, tables):
                entry = replace(entry, lead=blank_lines(below[0].lead) + entry.lead)
        elif not at and key not in firsts and blank_lines(entry.lead) and _starts_tight(tables):
            entry = replace(entry, lead=entry.lead[len(blank_lines(entry.lead)) :])
        spaced.append(entry)
    return spaced


def _is_first_everywhere(key: Numbered, tables: Sequence[Table]) -> bool:
    return all(next(iter(table)) == key for table in tables if key in table)


def _starts_tight(tables: Sequence[Table]) -> bool:
    return all(not blank_lines(next(iter(table.values())).lead) for table in tables if table)

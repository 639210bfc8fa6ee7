"""Which entries of three versions belong together, and the order of their merge."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import TypeAlias

from gitprun.resolvers.changes import LineChange, diff_lines
from gitprun.resolvers.entries import EntryClash, common_order, merge_keys, show_key
from gitprun.resolvers.tree.nodes import EntryGroup, KeyedEntry, Leaf, Value, fingerprint, render, squash
from gitprun.resolvers.tree.rules import Path, RowKey, ValueRules

# One entry of the merge as base, main and the unit have it.
Row: TypeAlias = tuple[KeyedEntry | None, KeyedEntry | None, KeyedEntry | None]
Rows: TypeAlias = list[tuple[KeyedEntry, ...]]

# The first part of a key that stands for the whole text of its entry: an edit is a removal and an addition.
WHOLE = ("#", "=")


class Contradiction(Exception):
    """The sides contradict each other, or it is not certain what they say."""


class RivalEntry(Contradiction):
    """Both sides added one entry, each in another way."""


def align(rules: ValueRules, path: Path, base: EntryGroup, main: EntryGroup, unit: EntryGroup) -> list[Row]:
    """Bring the entries of three versions together, in the order of the merge."""
    versions = [group.entries for group in (base, main, unit)]
    # Rows of a list have no key of their own; keys and rows may stand in one group (TOML's tables).
    if any(entry.key is None for entries in versions for entry in entries):
        named = _name_rows(rules, path, versions)
        if named is None:
            rows = next((entry.row for entries in versions for entry in entries if entry.row), "")
            return _align_ordered((*path, *rows.split("\0")) if rows else path, *versions)
        keys = named
    else:
        keys = [[entry.key for entry in entries] for entries in versions]
    listed = any(entry.key is None for entries in versions for entry in entries)
    return _align_keyed(path, versions, keys, listed=listed)


def fields_of(rules: ValueRules, value: Value) -> Mapping[str, str]:
    """Return the values directly below a map, by key, as texts that compare."""
    fields: dict[str, str] = {}
    if isinstance(value, EntryGroup) and value.kind == "map":
        for entry in value.entries:
            if not entry.name and isinstance(entry.value, EntryGroup):
                # TOML keeps the keys of a table in a group without a name.
                fields |= fields_of(rules, entry.value)
            elif len(entry.name) == 1:
                text = render(entry.value)
                fields[entry.name[0]] = str(rules.canon(text)) if isinstance(entry.value, Leaf) else squash(text)
    return fields


def _align_keyed(
    path: Path, versions: list[tuple[KeyedEntry, ...]], keys: list[list[Hashable]], *, listed: bool
) -> list[Row]:
    for entries, names in zip(versions, keys, strict=True):
        # Of two entries with one key nobody can tell which the other side changed.
        double = next((key for key, count in Counter(names).items() if count > 1), None)
        if double is not None:
            raise Contradiction(f"{_show(path, entries[names.index(double)], double)} is there twice")
    order = merge_keys(*keys, listed=listed)
    if isinstance(order, EntryClash):
        raise Contradiction(f"{show_key(path) if path else 'the file'} {order.reason}")
    base, main, unit = (dict(zip(names, entries, strict=True)) for names, entries in zip(keys, versions, strict=True))
    for key, entry in base.items():
        for kept, other, words in (
            (main, unit, "is removed by the unit and changed on main"),
            (unit, main, "is removed on main and changed by the unit"),
        ):
            # merge_keys drops what a side removed, changed or not: an edit would go with it.
            if key in kept and key not in other and fingerprint(kept[key]) != fingerprint(entry):
                raise Contradiction(f"{_show(path, entry, key)} {words}")
    _forbid_double_edits(path, *(set(names) for names in keys))
    return [(base.get(key), main.get(key), unit.get(key)) for key in _sort_rows(order, keys)]


def _sort_rows(order: list[Hashable], versions: list[list[Hashable]]) -> list[Hashable]:
    """Sort the rows of each list that is sorted in all versions, wherever it stands among other entries."""
    for label in dict.fromkeys(key[1] for key in _rows_of(order)):
        rows = [[key for key in _rows_of(keys) if key[1] == label] for keys in versions]
        sorter = common_order(*rows)
        if sorter is not None:
            here = [key for key in _rows_of(order) if key[1] == label]
            known = set(here)
            # Sorted among the places the rows have, so that comments between them stay where they are.
            places = [at for at, key in enumerate(order) if key in known]
            for at, key in zip(places, sorted(here, key=sorter), strict=True):
                order[at] = key
    return order


def _rows_of(keys: Sequence[Hashable]) -> list[tuple[Hashable, ...]]:
    """Pick the keys of named rows: a tag, the list's label, and what names the row in it."""
    return [key for key in keys if isinstance(key, tuple) and key[0] == "n" and len(key) == 3]


def _forbid_double_edits(path: Path, base: set[Hashable], main: set[Hashable], unit: set[Hashable]) -> None:
    """Refuse where both sides removed what is known by its text and one added such: it may be an edit of it."""
    for tag in WHOLE:
        gone = [key for key in base - main - unit if isinstance(key, tuple) and key[0] == tag]
        added = [key for key in (main | unit) - base if isinstance(key, tuple) and key[0] == tag]
        # An edited comment looks like one removed and another added; united, one side's edit would be undone.
        if gone and added:
            what = "a comment" if tag == "#" else "an item"
            raise Contradiction(f"{what} of {show_key(path) if path else 'the file'} may be changed on both sides")


def _show(path: Path, entry: KeyedEntry, key: Hashable) -> str:
    below = (*path, *entry.name) if entry.name != path[-1:] else path
    if entry.key is None and isinstance(key, tuple):
        named = key[-1] if isinstance(key[-1], tuple) else (key[-1],)
        below = (*below, *(str(part) for part in named))
    return show_key(below)


def _name_rows(rules: ValueRules, path: Path, versions: list[tuple[KeyedEntry, ...]]) -> list[list[Hashable]] | None:
    """Name all rows, list by list; None when the group is one list that only its order holds together."""
    named: dict[int, Hashable] = {}
    lists = dict.fromkeys(entry.row for entries in versions for entry in entries if entry.key is None)
    for name in lists:
        rows: Rows = [tuple(e for e in entries if e.key is None and e.row == name) for entries in versions]
        below = (*path, *name.split("\0")) if name else path
        keys = _name_list(rules, below, rows)
        if keys is None:
            # A group of one list may still be merged by order; among other entries rows have none to go by.
            if len(lists) == 1 and all(e.key is None or _is_comment(e) for entries in versions for e in entries):
                return None
            keys = [[("=", name, fingerprint(entry)) for entry in entries] for entries in rows]
            # By text, an edit is a removal and an addition: with edits on both sides that is a guess.
            if keys[1] not in (keys[0], keys[2]) and keys[2] != keys[0]:
                raise Contradiction(f"{show_key(below)} is changed on both sides, and nothing names its rows")
        for entries, found in zip(rows, keys, strict=True):
            named |= {id(entry): key for entry, key in zip(entries, found, strict=True)}
    return [[e.key if e.key is not None else named[id(e)] for e in entries] for entries in versions]


def _name_list(rules: ValueRules, path: Path, rows: Rows) -> list[list[Hashable]] | None:
    values = [entry.value for entries in rows for entry in entries]
    if all(isinstance(value, Leaf) for value in values):
        # Without a rule the order of a list counts: arguments, stages, search paths.
        if not rules.is_set(path):
            return None
        by_name = [[rules.item_name(path, render(entry.value)) for entry in entries] for entries in rows]
        if all(name is not None for names in by_name for name in names) and _unique(by_name):
            return [[("n", name) for name in names] for names in by_name]
        means = [[rules.canon(render(entry.value)) for entry in entries] for entries in rows]
        return [[("=", mean) for mean in each] for each in means] if _unique(means) else None
    if not all(isinstance(value, EntryGroup) and value.kind == "map" for value in values):
        return None
    # The first way that names all rows of all versions; a way that names only some would pair by chance.
    return next((keys for way in rules.row_keys(path) if (keys := _name_by(rules, way, path, rows))), None)


def _name_by(rules: ValueRules, way: RowKey, path: Path, rows: Rows) -> list[list[Hashable]] | None:
    keys = [[way(fields_of(rules, entry.value)) for entry in entries] for entries in rows]
    if any(key is None for each in keys for key in each) or not _unique(keys):
        return None
    label = ".".join(path)
    return [[("n", label, key) for key in each] for each in keys]


def _is_comment(entry: KeyedEntry) -> bool:
    return isinstance(entry.key, tuple) and entry.key[0] == "#"


def _unique(keys: Sequence[Sequence[Hashable]]) -> bool:
    return all(count == 1 for each in keys for count in Counter(each).values())


def _align_ordered(
    path: Path, base: tuple[KeyedEntry, ...], main: tuple[KeyedEntry, ...], unit: tuple[KeyedEntry, ...]
) -> list[Row]:
    """Merge lists whose order counts: only changes apart from each other, and only where repeats leave no choice."""
    late = _merge_ordered(path, base, main, unit, early=False)
    early = _merge_ordered(path, base, main, unit, early=True)
    counts = [Counter(map(fingerprint, each)) for each in (main, unit)]
    prints = [[fingerprint(next(e for e in row if e is not None)) for row in rows] for rows in (late, early)]
    # The merge has an item more often than either side: each put it somewhere else.
    if Counter(prints[0]) - (counts[0] | counts[1]):
        raise Contradiction(f"both sides put the same item into {show_key(path)}, at different places")
    # Equal neighbours leave open which of them changed; the two extremes give two texts then.
    if prints[0] != prints[1]:
        raise Contradiction(f"repeated items leave open where a change of {show_key(path)} belongs")
    return late


def _merge_ordered(
    path: Path, base: tuple[KeyedEntry, ...], main: tuple[KeyedEntry, ...], unit: tuple[KeyedEntry, ...], *, early: bool
) -> list[Row]:
    # By fingerprint, so that a re-indented item is no change.
    texts = [[repr(fingerprint(entry)).encode("utf-8", "replace") for entry in each] for each in (base, main, unit)]
    by_main, by_unit = diff_lines(texts[0], texts[1], early=early), diff_lines(texts[0], texts[2], early=early)
    if by_main is None or by_unit is None:
        raise Contradiction(f"{show_key(path)} is rewritten on both sides")
    if any(ours.touches(theirs) and not ours.equals(theirs) for ours in by_main for theirs in by_unit):
        raise Contradiction(f"{show_key(path)} is changed at one place on both sides, and its order counts")
    merged: list[Row] = []
    mains, units = _walk(by_main, len(base)), _walk(by_unit, len(base))
    for (new_main, at_main), (new_unit, at_unit), old in zip(mains, units, (*base, None), strict=True):
        if new_main and new_unit:
            pairs = zip(new_main, new_unit, strict=True)
            merged += ((None, main[i], unit[j]) for i, j in pairs)
        else:
            merged += ((None, main[i], None) for i in new_main)
            merged += ((None, None, unit[j]) for j in new_unit)
        if old is not None and at_main is not None and at_unit is not None:
            merged.append((old, main[at_main], unit[at_unit]))
    return merged


def _walk(changes: Sequence[LineChange], size: int) -> Iterator[tuple[range, int | None]]:
    """Yield for each base item, and for the end, what a side put before it and where the side has it."""
    starts = {change.start: change for change in changes}
    gone = {i for change in changes for i in range(change.start, change.stop)}
    at = 0
    for i in range(size + 1):
        change = starts.get(i)
        new = range(change.first, change.last) if change else range(0)
        at += len(new)
        kept = i < size and i not in gone
        yield new, at if kept else None
        at += kept

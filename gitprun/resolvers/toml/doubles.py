"""Which key of a TOML text stands twice: what a strict reader complains of without saying the name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal

from gitprun.resolvers.toml.reader import read_toml
from gitprun.resolvers.tree import EntryGroup, KeyedEntry, TextUnreadable, Value


@dataclass(slots=True)
class _Name:
    """What a name stands for so far: ``way`` is how it came to be; of rows ``below`` is what the last one holds.

    A name is ``implied`` by the header of a table further in, and ``dotted`` by a key such as ``name.x = 1``.
    """

    way: Literal["implied", "dotted", "header", "rows", "value"] = "implied"
    below: dict[str, _Name] = field(default_factory=dict)


def find_double_key(text: str) -> str | None:
    """Return the first part of a key that stands where it no longer may; None if none does, or the text is no TOML."""
    lines = text.replace("\r\n", "\n")
    try:
        tree = read_toml(lines if lines.endswith("\n") else f"{lines}\n")
    # What prun's reader cannot read has another fault than a key that is there twice.
    except TextUnreadable:
        return None
    file = _Name()
    return next(_in_table(tree, file, file), None)


def _in_table(table: EntryGroup, here: _Name, owner: _Name) -> Iterator[str]:
    """Yield what stands twice in a table as the reader gives it: its keys, then the tables that follow.

    Headers name tables from the ``owner`` on: the row of a list that they belong to, or the file.
    """
    keys, tables = (entry.value for entry in table.entries)
    if isinstance(keys, EntryGroup):
        yield from _in_pairs(keys.entries, here)
    for entry in tables.entries if isinstance(tables, EntryGroup) else ():
        opened = owner
        # A header may pass through tables and rows that are there, never through a value.
        for part in entry.name[:-1]:
            opened = opened.below.setdefault(part, _Name())
            if opened.way == "value":
                yield part
        last = opened.below.setdefault(entry.name[-1], _Name("implied" if entry.row is None else "rows"))
        if last.way != ("implied" if entry.row is None else "rows"):
            yield entry.name[-1]
        if entry.row is None:
            last.way = "header"
        else:
            # [[x]] may stand as often as it likes, and each begins anew.
            last.below = {}
        if isinstance(entry.value, EntryGroup):
            yield from _in_table(entry.value, last, owner if entry.row is None else last)


def _in_pairs(pairs: Iterable[KeyedEntry], here: _Name) -> Iterator[str]:
    """Yield what stands twice among keys and their values; a comment that belongs to no key has no name."""
    for entry in (pair for pair in pairs if pair.name):
        opened = here
        for part in entry.name[:-1]:
            opened = opened.below.setdefault(part, _Name())
            # TOML forbids a dotted key to reach into a table that a header has opened.
            if opened.way not in ("implied", "dotted"):
                yield part
            opened.way = "dotted"
        if entry.name[-1] in opened.below:
            yield entry.name[-1]
        opened.below[entry.name[-1]] = _Name("value")
        yield from _in_value(entry.value)


def _in_value(value: Value) -> Iterator[str]:
    if isinstance(value, EntryGroup) and value.kind == "map":
        yield from _in_pairs(value.entries, _Name())
    elif isinstance(value, EntryGroup):
        for entry in value.entries:
            yield from _in_value(entry.value)

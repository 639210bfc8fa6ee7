"""A dependency that both sides added: ``x = "1"`` says ``x = { version = "1" }``, and features are a set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import pairwise

from gitprun.resolvers.toml.rules import canon
from gitprun.resolvers.tree import EntryGroup, KeyedEntry, Leaf, Value, render

Path = tuple[str, ...]

_TABLES = ("dependencies", "dev-dependencies", "build-dependencies")
# What one side may say alone, because it only adds. All else (where a package comes from, whether it is optional,
# that it comes without its usual features) would take something from what the other side has.
_SETS = ("features", "extras")


def join_dependencies(name: str, base: EntryGroup, main: EntryGroup, unit: EntryGroup) -> tuple[EntryGroup, EntryGroup]:
    """Return both sides one way to write each dependency that both added with the same version.

    ``name`` is that of the file: Cargo.toml, or pyproject.toml for the tables of poetry.
    """
    if name not in ("Cargo.toml", "pyproject.toml"):
        return main, unit
    old, by_main, by_unit = (_dependencies(name, (), tree) for tree in (base, main, unit))
    joined: dict[Path, Value] = {}
    # New on both sides only: of one that the base had, the three-way rule knows who changed what.
    for path in by_main.keys() & by_unit.keys() - old.keys():
        value = _join(by_main[path], by_unit[path])
        if value is not None:
            joined[path] = value
    return _replaced((), main, joined), _replaced((), unit, joined)


def _dependencies(name: str, path: Path, group: EntryGroup) -> dict[Path, Value]:
    """Find the dependencies that are written on one line, by their path."""
    found: dict[Path, Value] = {}
    for entry in group.entries:
        below = (*path, *entry.name)
        is_table = isinstance(entry.value, EntryGroup) and not entry.value.inline
        if is_table and isinstance(entry.value, EntryGroup) and entry.row is None:
            found |= _dependencies(name, below, entry.value)
        elif entry.name and _is_dependency(name, below):
            found[below] = entry.value
    return found


def _is_dependency(name: str, path: Path) -> bool:
    return len(path) > 1 and path[-2] in _TABLES and (name == "Cargo.toml" or path[:2] == ("tool", "poetry"))


def _replaced(path: Path, group: EntryGroup, values: Mapping[Path, Value]) -> EntryGroup:
    if not values:
        return group
    entries: list[KeyedEntry] = []
    for entry in group.entries:
        below = (*path, *entry.name)
        if entry.name and below in values:
            entry = replace(entry, value=values[below])
        elif isinstance(entry.value, EntryGroup) and not entry.value.inline and entry.row is None:
            entry = replace(entry, value=_replaced(below, entry.value, values))
        entries.append(entry)
    return replace(group, entries=tuple(entries))


def _join(main: Value, unit: Value) -> Value | None:
    """Join two ways to write one dependency; None where it is not certain that nothing is lost."""
    one, two = _fields(main), _fields(unit)
    if one is None or two is None:
        return None
    shared = one.keys() & two.keys()
    # Without a version on both sides (a git or path dependency) the two may come from different places.
    if "version" not in shared or not (one.keys() ^ two.keys()) <= set(_SETS):
        return None
    if any(_means(one[key]) != _means(two[key]) for key in shared if key not in _SETS):
        return None
    # One is the bare version: the table says that and more.
    if not isinstance(main, EntryGroup) or not isinstance(unit, EntryGroup):
        return main if isinstance(main, EntryGroup) else unit
    entries: list[KeyedEntry] = []
    for entry in main.entries:
        key = entry.name[0]
        value = _unite(entry.value, two[key]) if key in shared and key in _SETS else entry.value
        if value is None:
            return None
        entries.append(replace(entry, value=value))
    entries += (replace(entry, gap=" ") for entry in unit.entries if entry.name[0] not in one)
    return replace(main, entries=tuple(entries))


def _fields(value: Value) -> dict[str, Value] | None:
    """Return what a dependency says, by key; None when it is not plain, or goes on over lines."""
    if "\n" in render(value):
        return None
    if isinstance(value, Leaf):
        return {"version": value} if value.text[:1] in ("'", '"') else None
    # A dotted key or a comment inside is more than features and a version: joined, it could get lost.
    if any(len(entry.name) != 1 or entry.lead or entry.tail for entry in value.entries):
        return None
    return {entry.name[0]: entry.value for entry in value.entries}


def _unite(main: Value, unit: Value) -> Value | None:
    """Unite two lists of texts; sorted ones stay sorted."""
    if not isinstance(main, EntryGroup) or not isinstance(unit, EntryGroup):
        return None
    if any(isinstance(entry.value, EntryGroup) for entry in (*main.entries, *unit.entries)):
        return None
    known = {_means(entry.value) for entry in main.entries}
    new = [replace(entry, gap=" ") for entry in unit.entries if _means(entry.value) not in known]
    # An empty list has no layout to write items in.
    if not main.entries:
        return unit
    entries = [*main.entries, *new]
    if all(_is_sorted(group) for group in (main, unit)):
        entries.sort(key=lambda entry: str(_means(entry.value)))
    return replace(main, entries=tuple(entries))


def _is_sorted(group: EntryGroup) -> bool:
    return all(str(_means(one.value)) <= str(_means(two.value)) for one, two in pairwise(group.entries))


def _means(value: Value) -> str | None:
    return canon(value.text) if isinstance(value, Leaf) else render(value)

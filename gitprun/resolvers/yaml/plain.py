"""Plain values of a YAML tree, its doubled keys, and its anchors."""

from __future__ import annotations

from typing import TypeAlias

from gitprun.resolvers.tree import EntryGroup, KeyedEntry, TextUnreadable, Value
from gitprun.resolvers.tree.nodes import dedent
from gitprun.resolvers.tree.rules import Path
from gitprun.resolvers.yaml.scalars import ANCHOR, canon

# What YAML holds once its writing is taken away: scalars as texts, so that 1 and "1" may be told apart by their text.
Plain: TypeAlias = "str | list[Plain] | dict[str, Plain]"


def plain_value(value: Value) -> Plain:
    """Return the maps, lists and scalars of a tree.

    Raises:
        TextUnreadable: a map has a key twice.
    """
    if not isinstance(value, EntryGroup):
        # What canon cannot reduce (escapes, folded lines) is compared as it is written: at worst a merge is refused.
        text = canon(value.text)
        return dedent(value.text, value.col) if text is None else text
    entries = [entry for entry in value.entries if not is_comment(entry)]
    if value.kind == "list":
        return [plain_value(entry.value) for entry in entries]
    pairs: dict[str, Plain] = {}
    for entry in entries:
        key = entry.name[0] if entry.name else str(entry.key)
        if key in pairs:
            raise TextUnreadable(f"the key {entry.name[0]} is there twice")
        pairs[key] = plain_value(entry.value)
    return pairs


def plain_documents(tree: Value) -> list[Plain]:
    """Return the plain value of each document of a whole file; raises TextUnreadable where a map has a key twice."""
    value = plain_value(tree)
    return value if isinstance(value, list) else [value]


def double_keys(value: Value, path: Path = ()) -> list[Path]:
    """List the paths of keys that stand twice in a map."""
    if not isinstance(value, EntryGroup):
        return []
    found: list[Path] = []
    known = set()
    for entry in value.entries:
        if is_comment(entry):
            continue
        below = (*path, *entry.name)
        if value.kind == "map":
            # Merge keys may be repeated; any other key that is there twice hides one of its values.
            if entry.name in known and entry.name != ("<<",):
                found.append(below)
            known.add(entry.name)
        found += double_keys(entry.value, below)
    return list(dict.fromkeys(found))


def is_comment(entry: KeyedEntry) -> bool:
    """Check whether an entry is a comment that belongs to no key."""
    return isinstance(entry.key, tuple) and entry.key[0] == "#"


def anchors(text: str) -> list[str]:
    """List the names that a text gives to nodes, in order."""
    return [found.group(2) for found in ANCHOR.finditer(text) if found.group(1) == "&"]


def uses_anchor(line: str, names: set[str]) -> bool:
    """Check whether a line names or calls up a named node."""
    return any(found.group(2) in names for found in ANCHOR.finditer(line))

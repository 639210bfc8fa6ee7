"""What makes an item of an object or array the same one in every version."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Literal

from gitprun.resolvers.json.reader import JsonNode, item_keys, meaning

# In this order: an id is made to be unique, a name only often is.
ID_FIELDS = ("id", "key", "name")
# First words of positional lists: the severity of a lint rule. Lists of program arguments are positional too.
_SEVERITIES = {"off", "warn", "error"}


@dataclass(frozen=True, slots=True)
class ItemIdentity:
    """How items are told apart: by ``key`` of the object, by a ``field`` of theirs, or by ``value``.

    ``ordered`` values are not a set: their place is part of what they mean.
    """

    by: Literal["key", "field", "value"]
    field: str = ""
    ordered: bool = False

    def of(self, node: JsonNode) -> list[Hashable]:
        """Return what identifies each item of a container."""
        if self.by == "key":
            return list(item_keys(node))
        if self.by == "field":
            return [field_value(item.value, self.field) for item in node.items]
        return [meaning(item.value) for item in node.items]


def identify(versions: Sequence[JsonNode]) -> ItemIdentity:
    """Choose what tells the items of a container apart in all its versions."""
    # In all versions: an object that became a list has nothing in common to be paired by.
    if all(node.kind == "{" for node in versions):
        return ItemIdentity("key")
    values = [item.value for node in versions for item in node.items]
    # A field tells items apart only where every item has it, once; else two items would be taken for one.
    if values and all(value.kind == "{" for value in values):
        for field in ID_FIELDS:
            if all(_is_unique(node, field) for node in versions):
                return ItemIdentity("field", field)
    return ItemIdentity("value", ordered=not _is_set(values))


def label(identity: Hashable) -> str:
    """Name an item by what identifies it: a key, or the value of a field."""
    while isinstance(identity, tuple) and identity:
        identity = identity[0] if isinstance(identity[-1], int) else identity[-1]
    return str(identity)


def field_value(node: JsonNode, field: str) -> Hashable:
    """Return the scalar a field of an object holds; None when there is none, or two."""
    found = [item.value for item in node.items if item.key == field]
    if node.kind != "{" or len(found) != 1 or found[0].kind in ("{", "[") or found[0].text == "null":
        return None
    return meaning(found[0])


def _is_unique(node: JsonNode, field: str) -> bool:
    found = [field_value(item.value, field) for item in node.items]
    return None not in found and len(set(found)) == len(found)


def _is_set(values: Sequence[JsonNode]) -> bool:
    """Check whether values make a set: scalars of one kind, neither arguments of a program nor led by a severity."""
    # Mixed kinds are a tuple written as a list (name, number, flag), where a place has a meaning.
    if len({value.kind for value in values}) > 1 or any(value.kind in ("{", "[") for value in values):
        return False
    # "-x" or "--flag" is followed by its value; a rule's options follow its severity. Sets have neither.
    words = [value.text[1:-1] for value in values if value.kind]
    return not any(word.startswith("-") or word in _SEVERITIES for word in words)

"""Enumerations whose values are written out: the number of each member, and where it stands."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from gitprun.resolvers.syntax.grammars import load_language, parse
from gitprun.resolvers.syntax.languages import GRAMMARS
from gitprun.resolvers.syntax.rows import Grammar

if TYPE_CHECKING:
    from tree_sitter import Node

# The kinds of nodes that are members, by the kind of the list that they stand in.
_MEMBERS: Final[dict[str, str]] = {
    "enumerator_list": "enumerator",
    "enum_variant_list": "enum_variant",
    "enum_body": "enum_assignment",
    "enum_member_declaration_list": "enum_member_declaration",
    "enum_declaration_list": "enum_case",
}
_LANGUAGES: Final = ("c", "c++", "rust", "typescript", "tsx", "c#", "php")
_NUMBER = re.compile(rb"-?(?:0|[1-9]\d{0,17})")
# Beside members a list may hold these; what else is in it has a value that is not written out.
_ASIDE = ("comment", "line_comment", "block_comment", "attribute_item", "method_declaration", "const_declaration")

ENUM_ROWS: Final[tuple[Grammar, ...]] = tuple(row for row in GRAMMARS if row.name in _LANGUAGES)

Key = tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class Enumeration:
    """One enumeration: the number of each member, and where it stands; ``plain`` tells that there are no others."""

    numbers: Mapping[bytes, int]
    places: Mapping[bytes, tuple[int, int]]
    plain: bool


def read_enumerations(row: Grammar, text: bytes) -> dict[Key, Enumeration]:
    """Read the enumerations of a text that have a name of their own, without its byte order mark."""
    language = load_language(row)
    root = parse(language, text).root_node if language else None
    # In a text that is not understood members may be missing, and their numbers would look free.
    if root is None or root.has_error:
        return {}
    found = [(_name(node), node) for node in _lists(root)]
    counts = Counter(key for key, _ in found)
    # Two of one name (those without a name, most often) cannot be told apart in the other versions.
    return {key: _read_members(node) for key, node in found if counts[key] == 1}


def _lists(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.type in _MEMBERS:
            yield node
        else:
            waiting += node.named_children


def _name(node: Node) -> Key:
    """Name a list by all that is named around it."""
    names: list[bytes] = []
    above = node.parent
    while above is not None:
        named = above.child_by_field_name("name") or above.child_by_field_name("declarator")
        names.append(named.text or b"" if named else b"")
        above = above.parent
    return tuple(reversed(names))


def _read_members(node: Node) -> Enumeration:
    numbers: dict[bytes, int] = {}
    places: dict[bytes, tuple[int, int]] = {}
    plain = True
    for member in node.named_children:
        name, value = member.child_by_field_name("name"), member.child_by_field_name("value")
        if member.type in _ASIDE:
            continue
        if (
            member.type != _MEMBERS[node.type]
            or name is None
            or value is None
            or not _NUMBER.fullmatch(value.text or b"")
        ):
            plain = False
            continue
        key = name.text or b""
        plain = plain and key not in numbers
        numbers[key] = int(value.text or b"0")
        places[key] = value.start_byte, value.end_byte
    return Enumeration(numbers, places, plain and len(set(numbers.values())) == len(numbers))

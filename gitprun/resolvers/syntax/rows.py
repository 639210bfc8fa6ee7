"""What a row says about a language: its grammar, what may change places, and how a thing is known by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

# A path from a node to the words it is known by: steps joined by "/", each a field name, "#kind" (children of a
# kind), "*" (every named child) or "." (the node itself); alternatives are joined by "|", the first found counts.
Path = str


@dataclass(frozen=True, slots=True)
class Group:
    """Kinds of children that may stand in any order among themselves.

    A member is a kind, or ``field:kind``. ``only`` names a condition of ``conditions.py`` that each must meet. With
    ``head`` they stand before whatever has a fixed place; with ``tidy`` a list that was sorted stays sorted. With
    ``guarded`` they are free only behind one another (a case that falls through takes the next one with it); with
    ``alike`` only calls on one object, or on objects that the list already has, may be united. ``counted`` members
    have the number of their place where none is written: two sides cannot both have the next one.
    """

    members: tuple[str, ...]
    only: str = ""
    head: bool = False
    tidy: bool = False
    guarded: bool = False
    alike: bool = False
    counted: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """Kinds of nodes whose children are, in part, unordered; groups in the order in which they may stand.

    ``separator`` stands between the members when no version shows one; ``only`` names a condition of the node.
    """

    parents: tuple[str, ...]
    groups: tuple[Group, ...]
    separator: bytes = b""
    only: str = ""


@dataclass(frozen=True, slots=True)
class Named:
    """Kinds of nodes that are known by a key: the words at ``key``, told apart by ``space``.

    ``twice`` says that a key may stand twice in one place (imports of one module).
    """

    kinds: tuple[str, ...]
    key: tuple[Path, ...] = (".",)
    space: str = ""
    twice: bool = False


@dataclass(frozen=True, slots=True)
class Unique:
    """What may stand only once in a node of a kind: nodes at ``members``, by ``key`` or else by what names them."""

    scopes: tuple[str, ...]
    members: tuple[Path, ...]
    what: str
    key: tuple[Path, ...] = ()
    only: str = ""


# Compared by identity: rows are made once, and what is found out about one is remembered under it.
@dataclass(frozen=True, slots=True, eq=False)
class Grammar:
    """One language: the wheel of its grammar and what is known about its nodes."""

    name: str
    files: tuple[str, ...]
    wheel: str
    maker: str = "language"
    scopes: tuple[Scope, ...] = ()
    names: tuple[Named, ...] = ()
    unique: tuple[Unique, ...] = ()
    # A wrapper is known as what it wraps: export statements, decorated definitions.
    via: Mapping[str, Path] = field(default_factory=dict)
    # Kinds nested to the left only because the grammar has two operands: a | b | c is one list.
    flat: frozenset[str] = frozenset()
    # Kinds that two sides may have added each and that are then one: imports of one module, modifiers.
    joins: frozenset[str] = frozenset()
    # Kinds that belong to the node after them, as comments do: attributes.
    leads: frozenset[str] = frozenset()
    # Kinds never looked into, besides strings and comments.
    atomic: frozenset[str] = frozenset()
    separators: Mapping[str, bytes] = field(default_factory=dict)
    # Kinds that the grammar gives the separator behind them: arms of a match.
    tails: Mapping[str, str] = field(default_factory=dict)
    # Kinds that the row of a related language brought along and this grammar does not have.
    absent: frozenset[str] = frozenset()
    # Whether nothing else tells that a text is sound; of XML the standard library does.
    needed: bool = True

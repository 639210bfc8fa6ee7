"""The nodes of a tree that keeps every character of the text it was read from."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

# Readers and merges go a level at a time by recursion, up to ten frames each, and Python stops at 1,000.
DEPTH_LIMIT = 60

# Blank lines get no indentation: it would be white space at the end of a line.
_LINE = re.compile(r"\n(?=[^\n])")


class TextUnreadable(Exception):
    """The text is not understood well enough to be taken apart."""


@dataclass(frozen=True, slots=True)
class Leaf:
    """A value that is taken whole; ``col`` is the column that its further lines are indented against."""

    text: str
    col: int = 0


@dataclass(frozen=True, slots=True)
class KeyedEntry:
    """One entry with all text that is its own, in the order in which it stands.

    ``gap`` is blank space before it, ``lead`` the comments above it, ``head`` its key and what sets it off, ``note``
    what follows the head on its line when the value is below, ``tail`` a comment behind the value (and, in a block,
    the line end). The separator of inline entries is nobody's: it is written anew. ``name`` holds the parts of its
    path below the group; ``key`` is None for a row of the list called ``row``.
    """

    key: Hashable
    value: Value
    name: tuple[str, ...] = ()
    row: str | None = None
    gap: str = ""
    lead: str = ""
    head: str = ""
    note: str = ""
    tail: str = ""


@dataclass(frozen=True, slots=True)
class EntryGroup:
    """Entries side by side: a block of lines at column ``col``, or inline between ``open`` and ``close``.

    ``pad`` is the blank space before the first inline entry, ``comma`` tells of a separator after the last one.
    In a ``compact`` block the first entry stands on the line of its owner.
    """

    kind: Literal["map", "list"]
    entries: tuple[KeyedEntry, ...] = ()
    inline: bool = False
    open: str = ""
    close: str = ""
    pad: str = ""
    comma: bool = False
    col: int = 0
    compact: bool = False


Value: TypeAlias = Leaf | EntryGroup


def render(value: Value) -> str:
    """Return the text of a value."""
    if isinstance(value, Leaf):
        return value.text
    if value.inline:
        return render_inline(value, [(entry, render_entry(entry)) for entry in value.entries])
    texts = [entry.gap + entry.lead + " " * value.col + render_entry(entry) for entry in value.entries]
    return value.open + join_block(value, texts) + value.close


def render_entry(entry: KeyedEntry) -> str:
    """Return the text of an entry without its gap and lead, and without the tail of an inline one."""
    text = entry.head + entry.note + render(entry.value)
    return text if _is_inline(entry) else text + entry.tail


def join_block(group: EntryGroup, texts: list[str]) -> str:
    """Join the texts of block entries, each with its indentation."""
    if group.compact and texts:
        # "- name: x": the first key stands behind the dash, the others below it.
        texts = [texts[0][group.col :], *texts[1:]]
    return "".join(texts)


def render_inline(group: EntryGroup, entries: list[tuple[KeyedEntry, str]]) -> str:
    """Join inline entries and their separators."""
    parts = [group.open]
    for at, (entry, text) in enumerate(entries):
        separator = "," if group.comma or at < len(entries) - 1 else ""
        parts += (entry.gap if at else group.pad, entry.lead, text, separator, entry.tail)
    return "".join((*parts, group.close))


def _is_inline(entry: KeyedEntry) -> bool:
    return not entry.tail.endswith("\n")


def fingerprint(value: Value | KeyedEntry) -> Hashable:
    """Reduce a value or an entry to what counts: its words and comments, not its layout."""
    if isinstance(value, Leaf):
        # The further lines of a value move with its block; what is indented inside of it counts.
        return dedent(value.text, value.col) if "\n" in value.text else value.text
    if isinstance(value, KeyedEntry):
        return (
            value.key if value.key is not None else value.row,
            squash(value.lead),
            squash(value.note),
            fingerprint(value.value),
            squash(value.tail),
        )
    # Comments before the closing bracket are in ``close``, the bracket itself is nobody's edit.
    return (value.kind, tuple(fingerprint(entry) for entry in value.entries), squash(value.close).rstrip("]} "))


def squash(text: str) -> str:
    """Reduce blank space to single spaces."""
    return " ".join(text.split())


def dedent(text: str, col: int) -> str:
    """Take up to ``col`` spaces off each line but the first."""
    return re.sub(rf"\n {{0,{col}}}", "\n", text) if col else text


def move(group: EntryGroup, col: int) -> EntryGroup:
    """Shift a block to another column."""
    by = col - group.col
    if not by or group.inline:
        return group
    return replace(group, col=col, entries=tuple(_shift_entry(entry, by) for entry in group.entries))


def _shift_entry(entry: KeyedEntry, by: int) -> KeyedEntry:
    value: Value
    if isinstance(entry.value, Leaf):
        # A value that starts a line of its own (a comment) is shifted by the indentation before it.
        value = Leaf(_shift(entry.value.text, by), max(entry.value.col + by, 0))
    elif entry.value.inline:
        value = entry.value
    else:
        value = move(entry.value, entry.value.col + by)
    return replace(entry, lead=_shift_lines(entry.lead, by), value=value)


def _shift(text: str, by: int) -> str:
    """Shift each line but the first."""
    if "\n" not in text:
        return text
    return _LINE.sub("\n" + " " * by, text) if by > 0 else re.sub(rf"\n {{0,{-by}}}", "\n", text)


def _shift_lines(text: str, by: int) -> str:
    return _shift("\n" + text, by)[1:] if text else text

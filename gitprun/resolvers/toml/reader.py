"""TOML as a tree that keeps all text: keys of a table in one group, the tables of a file in another."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from gitprun.resolvers.toml.values import read_key, read_value
from gitprun.resolvers.tree import EntryGroup, KeyedEntry, Leaf, TextUnreadable
from gitprun.resolvers.tree.nodes import DEPTH_LIMIT

_TRIVIA_LINE = re.compile(r"[ \t]*(#[^\n]*)?\n")
_INDENT = re.compile(r"[ \t]*")
_EQUALS = re.compile(r"=[ \t]*")


@dataclass(slots=True)
class _Table:
    """A table under way: its entry without value, the keys and, for an element of a list, the tables below it."""

    entry: KeyedEntry
    path: tuple[str, ...]
    is_row: bool
    keys: list[KeyedEntry] = field(default_factory=list)
    tables: list[_Table] = field(default_factory=list)


def read_toml(text: str) -> EntryGroup:
    """Read a text whose last line is ended. The caller has checked that it is TOML.

    Raises:
        TextUnreadable: it holds something that is not understood.
    """
    root = _Table(KeyedEntry(None, Leaf("")), (), False)
    stack = [root]
    gap = lead = ""
    at = 0
    while at < len(text):
        trivia = _TRIVIA_LINE.match(text, at)
        if trivia:
            at = trivia.end()
            if trivia.group(1) is not None:
                lead += trivia.group()
            elif lead:
                # A comment with a blank line below it belongs to no key.
                stack[-1].keys.append(_comment(stack[-1], gap, lead))
                gap, lead = trivia.group(), ""
            else:
                gap += trivia.group()
            continue
        indent = _INDENT.match(text, at)
        start = at + len(indent.group() if indent else "")
        if text.startswith("[", start):
            at = _read_header(text, at, start, gap, lead, stack)
        else:
            entry, at = _read_pair(text, at, gap, lead)
            stack[-1].keys.append(entry)
        gap = lead = ""
    if lead:
        stack[-1].keys.append(_comment(stack[-1], gap, lead))
        gap = ""
    return replace(_group(root), close=gap)


def _read_pair(text: str, at: int, gap: str, lead: str) -> tuple[KeyedEntry, int]:
    start = at
    name, at = read_key(text, at)
    equals = _EQUALS.match(text, at)
    if not equals:
        raise TextUnreadable(f"no value at {at}")
    value, end = read_value(text, equals.end())
    tail = _rest_of_line(text, end)
    head = text[start : equals.end()]
    return KeyedEntry(("k", *name), value, name, gap=gap, lead=lead, head=head, tail=tail), end + len(tail)


def _read_header(text: str, at: int, start: int, gap: str, lead: str, stack: list[_Table]) -> int:
    """Read the header of a table and open it in the innermost list element that it belongs to."""
    width = 2 if text.startswith("[[", start) else 1
    path, end = read_key(text, start + width)
    if not text.startswith("]" * width, end):
        raise TextUnreadable(f"no table at {start}")
    end += width
    note = _rest_of_line(text, end)
    # [servers.tls] below [[servers]] is a table of that very row; only rows hold tables, so all else is closed.
    while len(stack) > 1 and not (stack[-1].is_row and path[: len(stack[-1].path)] == stack[-1].path != path):
        stack.pop()
    # Rows inside rows are walked by recursion later on.
    if len(stack) > DEPTH_LIMIT:
        raise TextUnreadable("nested too deep")
    owner = stack[-1]
    name = path[len(owner.path) :]
    key = None if width == 2 else ("k", *name)
    # No key can hold a NUL, so the parts come apart again without doubt.
    row = "\0".join(name) if width == 2 else None
    entry = KeyedEntry(key, Leaf(""), name, row=row, gap=gap, lead=lead, head=text[at:end], note=note)
    table = _Table(entry, path, width == 2)
    owner.tables.append(table)
    stack.append(table)
    return end + len(note)


def _rest_of_line(text: str, at: int) -> str:
    rest = _TRIVIA_LINE.match(text, at)
    if not rest:
        # What is not taken in here would be lost when the text is written again.
        raise TextUnreadable(f"something stands behind the value at {at}")
    return rest.group()


def _comment(table: _Table, gap: str, lead: str) -> KeyedEntry:
    words = " ".join(lead.split())
    # The same words may stand above two keys; counted, each comment keeps a key of its own.
    times = sum(isinstance(e.key, tuple) and e.key[:2] == ("#", words) for e in table.keys)
    # White space is no part of a comment's key: a comment that was only wrapped anew stays the same one.
    return KeyedEntry(("#", words, times), Leaf(lead[:-1]), gap=gap, tail="\n")


def _group(table: _Table) -> EntryGroup:
    tables = [replace(below.entry, value=_group(below)) for below in table.tables]
    keys = KeyedEntry("keys", EntryGroup("map", tuple(table.keys)), tail="")
    return EntryGroup("map", (keys, KeyedEntry("tables", EntryGroup("map", tuple(tables)), tail="")))

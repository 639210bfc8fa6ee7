"""Flow collections of YAML."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from gitprun.resolvers.tree import EntryGroup, KeyedEntry, Leaf, TextUnreadable, Value
from gitprun.resolvers.tree.nodes import DEPTH_LIMIT
from gitprun.resolvers.yaml.scalars import ALIAS, QUOTED, canon, quoted_end

_BLANK = re.compile(r"[ \t\n]*")
# In flow, a plain scalar ends at brackets and commas; ":" and "-" may begin one only before another character.
_PLAIN = re.compile(
    r"(?:[^\s,\[\]{}#:&*!|>'\"%@`?-]|[?:-](?=[^\s,\[\]{}]))"
    r"(?:[^\s,\[\]{}:]|:(?=[^\s,\[\]{}])|[ \t]+(?=[^\s,\[\]{}:#]))*"
)
# Without white space before it "#" is a character like any other.
_COMMENT = re.compile(r"[ \t]+#[^\n]*")
_COMMENTS = re.compile(r"(?:#[^\n]*\n[ \t\n]*)*")
_KEY = re.compile(r"[ \t]*:[ \t]+|[ \t]*:(?=[,}\[{])")


def flow_end(text: str, at: int) -> int:
    """Find the end of a flow collection, past quotes and comments."""
    opened = 0
    before = " "
    while at < len(text):
        mark = text[at]
        # A quote opens a string only where a value may begin: the one in don't is a letter.
        if mark in "\"'" and before in " \t\n,[{:":
            at = quoted_end(text, at)
            before = mark
            continue
        if mark == "#" and before in " \t\n":
            at = text.find("\n", at)
            if at < 0:
                break
        elif mark in "[{":
            opened += 1
        elif mark in "]}":
            opened -= 1
            if not opened:
                return at + 1
        before = text[at]
        at += 1
    raise TextUnreadable("a bracket is not closed")


def read_flow(text: str, depth: int = 0) -> EntryGroup:
    """Take a flow collection apart.

    Raises:
        TextUnreadable: something in it is not plain.
    """
    group, end = _read(text, 0, depth)
    # The caller cut the text at its closing bracket; an earlier end means that the two read it differently.
    if end != len(text):
        raise TextUnreadable("something stands behind a bracket")
    return group


def _read(text: str, at: int, depth: int) -> tuple[EntryGroup, int]:
    if depth > DEPTH_LIMIT:
        raise TextUnreadable("nested too deep")
    kind: Literal["map", "list"] = "map" if text[at] == "{" else "list"
    opened, close = text[at], "}" if kind == "map" else "]"
    at += 1
    entries: list[KeyedEntry] = []
    pad, comma = "", False
    while True:
        gap, lead, at = _before(text, at)
        if text.startswith(close, at):
            return EntryGroup(kind, tuple(entries), True, opened, gap + lead + close, pad, comma), at + 1
        if entries and not comma:
            raise TextUnreadable("no separator")
        entry, at = _read_item(text, at, gap if entries or "\n" in gap else " ", kind == "map", depth)
        comma = text.startswith(",", at)
        at += comma
        comment = _COMMENT.match(text, at)
        tail = comment.group() if comment else ""
        at += len(tail)
        pad = pad if entries else gap
        entries.append(replace(entry, lead=lead, tail=tail))


def _before(text: str, at: int) -> tuple[str, str, int]:
    """Return the blank space and the comments (with the space behind them) before an item."""
    blank = _BLANK.match(text, at)
    gap = blank.group() if blank else ""
    at += len(gap)
    comments = _COMMENTS.match(text, at) if gap else None
    lead = comments.group() if comments else ""
    return gap, lead, at + len(lead)


def _read_item(text: str, at: int, gap: str, is_map: bool, depth: int) -> tuple[KeyedEntry, int]:
    if not is_map:
        value, at = _read_value(text, at, depth)
        # [a: 1] is a list with a map in it, which few writers mean and this reader does not build.
        if _KEY.match(text, at):
            raise TextUnreadable("a pair in a list")
        return KeyedEntry(None, value, gap=gap), at
    key, end = _scalar(text, at)
    colon = _KEY.match(text, end)
    if not colon:
        raise TextUnreadable("no value")
    head = text[at : colon.end()]
    value, at = _read_value(text, colon.end(), depth)
    name = key[1:-1] if key[0] in "'\"" else key
    return KeyedEntry(("k", canon(key) or key), value, (name,), gap=gap, head=head), at


def _read_value(text: str, at: int, depth: int) -> tuple[Value, int]:
    if text.startswith(("[", "{"), at):
        return _read(text, at, depth + 1)
    alias = ALIAS.match(text, at)
    if alias:
        return Leaf(alias.group()), alias.end()
    found, end = _scalar(text, at)
    return Leaf(found), end


def _scalar(text: str, at: int) -> tuple[str, int]:
    found = QUOTED.match(text, at) or _PLAIN.match(text, at)
    # A scalar over several lines is folded by rules of its own.
    if not found or "\n" in found.group():
        raise TextUnreadable("no plain scalar")
    return found.group(), found.end()

"""Values of TOML with all their text: arrays and inline tables taken apart, all else left whole."""

from __future__ import annotations

import re

from gitprun.resolvers.tree import EntryGroup, KeyedEntry, Leaf, TextUnreadable, Value
from gitprun.resolvers.tree.nodes import DEPTH_LIMIT

# Long quotes first, for "" would match as an empty string; up to two quotes may stand before the closing three.
_STRING = re.compile(
    r'"""(?:[^\\"]|\\.|"(?!""))*"{3,5}'
    r"|'''(?:[^']|'(?!''))*'{3,5}"
    r'|"(?:[^\\"\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
# Numbers, dates and words; TOML lets one space stand between a date and its time.
_BARE_VALUE = re.compile(r"[^\s,\[\]{}#\"'=]+(?: [0-9][^\s,\[\]{}#\"'=]*)?")
_KEY_PART = re.compile(r'[ \t]*([A-Za-z0-9_-]+|"(?:[^\\"\n]|\\.)*"|\'[^\'\n]*\')[ \t]*')
_EQUALS = re.compile(r"=[ \t]*")
_BLANK = re.compile(r"[ \t\n]*")
_TRIVIA = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_COMMENT = re.compile(r"[ \t]*#[^\n]*")


def read_key(text: str, at: int) -> tuple[tuple[str, ...], int]:
    """Read a dotted key; returns its parts and where it ends."""
    parts = []
    while True:
        found = _KEY_PART.match(text, at)
        if not found:
            raise TextUnreadable(f"no key at {at}")
        parts.append(_plain_part(found.group(1)))
        at = found.end()
        # A dot in a quoted part is no separator; those were taken whole above.
        if not text.startswith(".", at):
            return tuple(parts), at
        at += 1


def read_value(text: str, at: int, depth: int = 0) -> tuple[Value, int]:
    """Read one value; returns it and where it ends."""
    if depth > DEPTH_LIMIT:
        raise TextUnreadable("nested too deep")
    if text.startswith("[", at) or text.startswith("{", at):
        end = _find_close(text, at)
        reader = _read_array if text[at] == "[" else _read_table
        try:
            group, last = reader(text, at, depth)
        # The end is known, so what the reader does not understand can stay one value: an edit in it is taken whole.
        except TextUnreadable:
            return Leaf(text[at:end]), end
        return (group, end) if last == end else (Leaf(text[at:end]), end)
    found = _STRING.match(text, at) or _BARE_VALUE.match(text, at)
    if not found:
        raise TextUnreadable(f"no value at {at}")
    return Leaf(found.group()), found.end()


def _find_close(text: str, at: int) -> int:
    """Find the end of a bracketed value, past strings and comments."""
    opened = 0
    while at < len(text):
        mark = text[at]
        # Brackets in strings and comments close nothing.
        if mark in "\"'":
            found = _STRING.match(text, at)
            if not found:
                break
            at = found.end()
            continue
        if mark == "#":
            at = text.find("\n", at)
            if at < 0:
                break
        elif mark in "[{":
            opened += 1
        elif mark in "]}":
            opened -= 1
            if not opened:
                return at + 1
        at += 1
    raise TextUnreadable("a bracket is not closed")


def _read_array(text: str, at: int, depth: int) -> tuple[EntryGroup, int]:
    at += 1
    entries: list[KeyedEntry] = []
    pad, comma = "", False
    while True:
        gap, lead, at = _before(text, at)
        if text.startswith("]", at):
            return EntryGroup("list", tuple(entries), True, "[", gap + lead + "]", pad, comma), at + 1
        if entries and not comma:
            raise TextUnreadable("no separator")
        value, at = read_value(text, at, depth + 1)
        comma = text.startswith(",", at)
        at += comma
        comment = _COMMENT.match(text, at)
        tail = comment.group() if comment else ""
        at += len(tail)
        if not entries:
            # What stands before the first item is the list's; the item itself gets the space it needs elsewhere.
            pad, gap = gap, gap if "\n" in gap else " "
        entries.append(KeyedEntry(None, value, gap=gap, lead=lead, tail=tail))


def _read_table(text: str, at: int, depth: int) -> tuple[EntryGroup, int]:
    at += 1
    entries: list[KeyedEntry] = []
    pad, comma = "", False
    while True:
        gap, lead, at = _before(text, at)
        if text.startswith("}", at):
            return EntryGroup("map", tuple(entries), True, "{", gap + lead + "}", pad, comma), at + 1
        # TOML 1.0 allows no comment in an inline table; one there means that this reader misread the text.
        if lead or (entries and not comma):
            raise TextUnreadable("no separator")
        start = at
        name, at = read_key(text, at)
        equals = _EQUALS.match(text, at)
        if not equals:
            raise TextUnreadable("no value")
        head = text[start : equals.end()]
        value, at = read_value(text, equals.end(), depth + 1)
        comma = text.startswith(",", at)
        at += comma
        if not entries:
            pad, gap = gap, gap if "\n" in gap else " "
        entries.append(KeyedEntry(("k", *name), value, name, gap=gap, head=head))


def _before(text: str, at: int) -> tuple[str, str, int]:
    """Return the blank space and the comments (with the space behind them) before an item."""
    trivia, blank = _TRIVIA.match(text, at), _BLANK.match(text, at)
    assert trivia
    assert blank
    return blank.group(), text[blank.end() : trivia.end()], trivia.end()


def _plain_part(part: str) -> str:
    # An escaped key stays as written: two spellings of one name are then two keys, which the proof finds.
    if part[0] == "'" or (part[0] == '"' and "\\" not in part):
        return part[1:-1]
    return part

"""JSON read without loss: values, and all the text between them, comments and trailing commas included."""

from __future__ import annotations

import re
from collections.abc import Hashable
from dataclasses import dataclass
from json import loads
from typing import Literal

# Read by recursion, two or three frames a level, far from Python's 1,000; configuration is nested ten deep at most.
DEPTH_LIMIT = 64

_TRIVIA = re.compile(r"(?:[ \t\r\n]+|//[^\n]*|/\*.*?\*/)*", re.DOTALL)
_PIECE = re.compile(r"(?P<space>[ \t\r\n]+)|(?P<line>//[^\n]*)|(?P<block>/\*.*?\*/)", re.DOTALL)
# Unrolled, without alternatives that overlap: a string that is never closed is given up in one pass.
_STRING = re.compile(r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*"')
# Not before a "/": a comment around the colon takes the slower way in _item.
_KEY = re.compile(rf"({_STRING.pattern})[ \t\r\n]*:[ \t\r\n]*(?!/)")
# What follows must not go on as a word: "truely" and "1.2.3" are no JSON, and 01 is none either.
_PLAIN = re.compile(r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?(?![\w.])|(?:true|false|null)(?!\w)")
_TOKEN = re.compile(rf"{_STRING.pattern}|(?P<comment>//[^\n]*|/\*.*?\*/)|[ \t\r\n]+|,(?=\s*[}}\]])", re.DOTALL)
_STARTS = frozenset(" \t\r\n/")
_CLOSE = {"{": "}", "[": "]"}


@dataclass(frozen=True, slots=True)
class JsonNode:
    """A value as it is written; an object or array is ``kind + head + items + tail`` and its closing bracket.

    ``head`` is a comment on the line of the opening bracket, ``tail`` all that stands before the closing one;
    ``comma`` tells whether a comma follows the last item.
    """

    kind: Literal["{", "[", '"', ""]
    text: str
    head: str = ""
    items: tuple[JsonItem, ...] = ()
    tail: str = ""
    comma: bool = False


@dataclass(frozen=True, slots=True)
class JsonItem:
    """One entry of an object or array: ``lead + name + value + gap + comma + trail``.

    ``name`` is the key with its colon, "" in arrays; ``lead`` holds the comments above, ``trail`` the one behind.
    """

    key: str
    lead: str
    name: str
    value: JsonNode
    gap: str = ""
    trail: str = ""


@dataclass(frozen=True, slots=True)
class Document:
    """A whole text: one value, and what stands before and after it."""

    lead: str
    root: JsonNode
    tail: str
    comments: bool
    trailing: bool


@dataclass(frozen=True, slots=True)
class JsonUnreadable:
    """Why a text could not be read; ``judged`` is False when it may be valid all the same."""

    reason: str
    judged: bool = True


NOT_JSON = JsonUnreadable("the file is no JSON")
TOO_DEEP = JsonUnreadable(f"the file is nested deeper than {DEPTH_LIMIT} levels", judged=False)


def read(text: str) -> Document | JsonUnreadable:
    """Read a text that holds one JSON value; comments and trailing commas are let through and reported."""
    reader = _JsonReader(text)
    lead = reader.trivia(0)
    found = reader.value(lead, 0)
    if isinstance(found, JsonUnreadable):
        return found
    # More than white space after the value is two values, or what is left of a conflict.
    root, at = found
    if reader.trivia(at) != len(text):
        return NOT_JSON
    return Document(text[:lead], root, text[at:], reader.comments, reader.trailing)


def meaning(node: JsonNode) -> Hashable:
    """Return what a value means, comparable: strings unescaped, numbers as written, objects without their order."""
    if node.kind == "{":
        return "{", tuple(sorted(zip(item_keys(node), (meaning(i.value) for i in node.items), strict=True)))
    if node.kind == "[":
        return "[", tuple(meaning(item.value) for item in node.items)
    # Numbers stay as written: 1.0 and 1 are one float and two versions of something.
    return node.kind, unescape(node.text) if node.kind else node.text


def unescape(text: str) -> str:
    """Return the text that a JSON string stands for."""
    return str(loads(text)) if "\\" in text else text[1:-1]


def item_keys(node: JsonNode) -> list[tuple[str, int]]:
    """Return the keys of an object, each with how often it stood there before: 0 unless it is repeated."""
    seen: dict[str, int] = {}
    keys = []
    for item in node.items:
        seen[item.key] = seen.get(item.key, -1) + 1
        keys.append((item.key, seen[item.key]))
    return keys


def squeeze(text: str) -> str:
    """Drop white space and trailing commas outside strings and comments: what is left are edits, not layout."""
    return _TOKEN.sub(lambda token: token[0] if token[0][0] in '"/' else "", text)


def comments(text: str) -> list[str]:
    """List the comments of a text, each without the white space at the ends of its lines."""
    # Most files have no comment, and need no search token by token.
    if "/" not in text:
        return []
    found = (token["comment"] for token in _TOKEN.finditer(text))
    return ["\n".join(line.strip() for line in comment.split("\n")) for comment in found if comment]


class _JsonReader:
    """One pass over a text; positions are offsets into it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.comments = False
        self.trailing = False

    def trivia(self, at: int) -> int:
        """Skip white space and comments."""
        # Called between any two tokens: most of them have nothing between, and need no regex.
        if self.text[at : at + 1] not in _STARTS:
            return at
        match = _TRIVIA.match(self.text, at)
        end = match.end() if match else at
        if not self.comments and self.text.find("/", at, end) >= 0:
            self.comments = True
        return end

    def value(self, at: int, depth: int) -> tuple[JsonNode, int] | JsonUnreadable:
        """Read a value; returns it and where it ends."""
        first = self.text[at : at + 1]
        if first == "{":
            return self._container("{", at, depth)
        if first == "[":
            return self._container("[", at, depth)
        if first == '"':
            match = _STRING.match(self.text, at)
            return (JsonNode('"', match[0]), match.end()) if match else NOT_JSON
        match = _PLAIN.match(self.text, at)
        return (JsonNode("", match[0]), match.end()) if match else NOT_JSON

    def _container(self, kind: Literal["{", "["], start: int, depth: int) -> tuple[JsonNode, int] | JsonUnreadable:
        if depth >= DEPTH_LIMIT:
            return TOO_DEEP
        text, close = self.text, _CLOSE[kind]
        items: list[JsonItem] = []
        head_end, at = self._line_part(start + 1, close)
        head, lead, comma = text[start + 1 : head_end], text[head_end:at], False
        while text[at : at + 1] != close:
            # Two values side by side: a line merge that lost a comma.
            if items and not comma:
                return NOT_JSON
            found = self._item(kind, at, depth)
            if isinstance(found, JsonUnreadable):
                return found
            key, name, value, at = found
            after = self.trivia(at)
            comma = text[after : after + 1] == ","
            gap, rest = (text[at:after], after + 1) if comma else ("", at)
            trail_end, at = self._line_part(rest, close)
            items.append(JsonItem(key, lead, name, value, gap, text[rest:trail_end]))
            lead = text[trail_end:at]
        # Reported, not refused: whether the file's reader allows it is for its kind to say.
        self.trailing |= comma
        return JsonNode(kind, text[start : at + 1], head, tuple(items), lead, comma), at + 1

    def _item(self, kind: str, at: int, depth: int) -> tuple[str, str, JsonNode, int] | JsonUnreadable:
        """Read a value with its key; returns key, text of the key, value and where they end."""
        key, start = "", at
        if kind == "{":
            match = _KEY.match(self.text, at) or _STRING.match(self.text, at)
            if not match:
                return NOT_JSON
            key, at = unescape(match[0] if match.re is _STRING else match[1]), match.end()
            if match.re is _STRING:  # a comment stands around the colon
                at = self.trivia(at)
                if self.text[at : at + 1] != ":":
                    return NOT_JSON
                at = self.trivia(at + 1)
        name = self.text[start:at]
        found = self.value(at, depth + 1)
        return found if isinstance(found, JsonUnreadable) else (key, name, *found)

    def _line_part(self, start: int, close: str) -> tuple[int, int]:
        """Skip trivia; tell where the comments end that belong to what stands before them, and where all ends."""
        end = self.trivia(start)
        if self.text.find("/", start, end) < 0:
            return start, end
        at = start
        for piece in _PIECE.finditer(self.text, start, end):
            if "\n" in piece[0]:
                return at, end
            at = at if piece["space"] else piece.end()
        # No line end follows: the comment belongs to the next item, unless there is none.
        return (at if self.text[end : end + 1] == close else start), end

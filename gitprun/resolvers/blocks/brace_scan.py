"""A scanner for texts of statements that end with ``;`` or hold a block in braces, with C comments."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from gitprun.resolvers.blocks.tree import BlocksUnreadable

# Comments and closed quotes come first; a quote that is left as a token of its own is one that never closes.
_TOKEN = re.compile(
    r"""//[^\n]*|/\*.*?\*/"""
    r"""|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'|[;{}()\[\]]|\s+|[^;{}()\[\]\s"'/]+|/|["']""",
    re.DOTALL,
)
_COMMENTS = re.compile(r"""//[^\n]*|/\*.*?\*/|("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')""", re.DOTALL)
_PAIRS = {")": "(", "]": "[", "}": "{"}
# A comment over lines behind a statement is not its tail: it is about what follows.
_REST = re.compile(r"[ \t]*(?://[^\n]*|(?:/\*[^\n]*?\*/[ \t]*)*)\n")


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement: the text between the last one and it, itself, the rest of its line; ``opens`` before a block,
    ``closes`` at the end of one."""

    above: str
    text: str
    tail: str
    opens: bool = False
    closes: bool = False


def scan_parts(text: str, is_block: re.Pattern[str]) -> list[Statement] | BlocksUnreadable:
    """Split a text into statements; the braces of those that ``is_block`` matches are parts of their own."""
    parts: list[Statement] = []
    start = at = 0  # the end of the last part; the start of the statement, its indentation included
    open_marks: list[str] = []
    begun = False
    for position, token in _tokens(text):
        if token.isspace() or token.startswith(("//", "/*")):
            continue
        if token in ("/", '"', "'") and token != "/":
            return BlocksUnreadable("a quote is not closed")
        if not begun:
            begun, at = True, _indented(text, start, position)
        end = position + len(token)
        closing = token == "}" and not open_marks
        # What ends without a semicolon before the brace would be merged as part of the block's end.
        if closing and text[at:position].strip():
            return BlocksUnreadable("a statement is not ended")
        # Braces of anything else (the value of an option, the body of a call) are part of their statement.
        if token in "([{" and not (token == "{" and not open_marks and is_block.match(text[at:position].strip())):
            open_marks.append(token)
            continue
        if token in ")]}" and not closing:
            if not open_marks or open_marks.pop() != _PAIRS[token]:
                return BlocksUnreadable("brackets do not pair up")
            # A block that is read as one piece needs no semicolon.
            if token != "}" or open_marks or _goes_on(text, end):
                continue
        elif open_marks or token not in ";{}":
            continue
        rest = _REST.match(text, end)
        stop = rest.end() if rest else end
        parts.append(Statement(text[start:at], text[at:end], text[end:stop], token == "{", closing))
        start, begun = stop, False
    if begun or open_marks:
        return BlocksUnreadable("a statement is not ended")
    parts.append(Statement(text[start:], "", ""))
    return parts


def without_comments(text: str) -> str:
    """Leave out comments of both sorts."""
    return _COMMENTS.sub(lambda found: found.group(1) or " ", text)


def _indented(text: str, start: int, position: int) -> int:
    """Find where a statement starts with its indentation; not before a comment on its line."""
    at = text.rfind("\n", start, position) + 1 or start
    return position if text[at:position].strip() else at


def _goes_on(text: str, at: int) -> bool:
    # Asked at each closing brace, so no more than this is copied; nobody goes on behind so much white space.
    return re.match(r"\s*[;,\]\[(]", text[at : at + 200]) is not None


def _tokens(text: str) -> Iterator[tuple[int, str]]:
    for found in _TOKEN.finditer(text):
        yield found.start(), found.group()

"""A lossless splitter of SQL: statements, and lists in brackets, past strings, comments and dollar quotes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gitprun.resolvers.blocks.tree import BlocksUnreadable

UNBALANCED = "brackets do not pair up"

_PLAIN = r"[^\s'\"`$;()\[\],/\\-]+"
# A quote within quotes is doubled; a text from $tag$ on ends at the same tag only. Words are taken several at once,
# which is quicker.
_TOKEN = re.compile(
    r"""--[^\n]*|/\*.*?\*/|'(?:''|[^'])*'|"(?:""|[^"])*"|`[^`]*`|(\$(?:[A-Za-z_]\w*)?\$).*?\1|\s+"""
    rf"|{_PLAIN}(?: +{_PLAIN})*|[^\w\s]",
    re.DOTALL,
)
_COMMENT = re.compile(
    r"""--[^\n]*|/\*.*?\*/|('(?:''|[^'])*'|"(?:""|[^"])*"|`[^`]*`|(\$(?:[A-Za-z_]\w*)?\$).*?\2)""", re.DOTALL
)
# A comment over lines behind a statement is not its tail: it is about what follows.
_REST = re.compile(r"[ \t]*(?:--[^\n]*|(?:/\*[^\n]*?\*/[ \t]*)*)\n")
# Words of programs (psql, mysql, sqlcmd) and of procedures, where a semicolon does not end the statement.
_OTHER_WORLD = re.compile(r"^(?:\\\.|DELIMITER\b|GO\s*$)|\bFROM\s+stdin\b", re.IGNORECASE | re.MULTILINE)
_PROCEDURE = re.compile(r"\s*CREATE\b[^(;]*\b(?:TRIGGER|PROCEDURE|FUNCTION|EVENT|PACKAGE)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class SqlItem:
    """A statement or a list item: what stands above it, itself with its indentation, what ends it (white space and
    the comma or semicolon), and the rest of its line."""

    above: str
    text: str
    end: str
    tail: str


def split_statements(text: str) -> list[SqlItem] | BlocksUnreadable:
    """Split a script at its semicolons; the last piece is what follows them."""
    if _OTHER_WORLD.search(text):
        return BlocksUnreadable("it holds commands of a client program")
    pieces = split_at(text, ";")
    if isinstance(pieces, BlocksUnreadable):
        return pieces
    # BEGIN in quotes or in a comment opens nothing.
    if any(
        _PROCEDURE.match(plain) and re.search(r"\bBEGIN\b", _without_quotes(plain), re.IGNORECASE)
        for plain in (without_comments(piece.text) for piece in pieces)
    ):
        return BlocksUnreadable("it holds a procedure")
    return pieces


def split_at(text: str, mark: str) -> list[SqlItem] | BlocksUnreadable:
    """Split a text at a mark outside of brackets, strings and comments; the last piece is not ended."""
    pieces: list[SqlItem] = []
    start, begun, last, depth = 0, -1, 0, 0
    for found in _TOKEN.finditer(text):
        token = found.group()
        # White space and comments stand between statements; what is before ``start`` was taken with its line.
        if token.isspace() or token.startswith(("--", "/*")) or found.start() < start:
            continue
        # Only a quote that never closes comes as a token of its own.
        if token in ("'", '"', "`"):
            return BlocksUnreadable("a quote is not closed")
        if token == mark and not depth:
            begun = found.start() if begun < 0 else begun
            stop = line_stop(text, found.end())
            last = max(last, begun)
            pieces.append(
                SqlItem(text[start:begun], text[begun:last], text[last : found.end()], text[found.end() : stop])
            )
            start, begun = stop, -1
            continue
        if token == "\\" and begun < 0 and text[found.start() - 1 : found.start()] in ("\n", ""):
            stop = text.find("\n", found.start()) + 1 or len(text)
            pieces.append(SqlItem(text[start : found.start()], text[found.start() : stop].rstrip("\n"), "", "\n"))
            start = stop  # a command of psql, which ends with its line
            continue
        if begun < 0:
            # Indentation belongs to the statement, but not a comment in front of it on its line.
            begun = text.rfind("\n", start, found.start()) + 1 or start
            if text[begun : found.start()].strip():
                begun = found.start()
        last = found.end()
        depth += (token in "([") - (token in ")]") if token in "()[]" else 0
        if depth < 0:
            return BlocksUnreadable(UNBALANCED)
        # A semicolon ends the statement whatever is still open.
        if token == ";":
            return BlocksUnreadable(UNBALANCED)
    if depth:
        return BlocksUnreadable(UNBALANCED)
    if begun >= 0:
        stop = line_stop(text, last)
        pieces.append(SqlItem(text[start:begun], text[begun:last], "", text[last:stop]))
        start = stop
    pieces.append(SqlItem(text[start:], "", "", ""))
    return pieces


def split_brackets(text: str) -> tuple[str, str, str] | None:
    """Split a text around its first pair of round brackets: up to and with the opening one, inside, from the closing
    one on."""
    depth = opened = 0
    for found in _TOKEN.finditer(text):
        token = found.group()
        if token == "(":
            opened = opened if depth else found.end()
            depth += 1
        elif token == ")":
            depth -= 1
            if not depth:
                return text[:opened], text[opened : found.start()], text[found.start() :]
    return None


def without_comments(text: str) -> str:
    """Leave out comments."""
    return _COMMENT.sub(lambda found: found.group(1) or " ", text)


def _without_quotes(text: str) -> str:
    return _COMMENT.sub(" ", text)


def line_stop(text: str, at: int) -> int:
    """Find where the line ends when nothing but a comment follows; else the place itself."""
    rest = _REST.match(text, at)
    return rest.end() if rest else at

"""Syntax trees that lose nothing: light nodes over a parse, made only where somebody looks."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from gitprun.resolvers.base import quote
from gitprun.resolvers.syntax.rows import Grammar

if TYPE_CHECKING:
    import tree_sitter

_BRACKETS = frozenset({b"(", b")", b"[", b"]", b"{", b"}", b"<", b">"})
_BLANK = b" \t\r\n\f\v"
# Taken as one piece: white space in them counts. Not strings that stand side by side as one: they are a list.
_WHOLE = re.compile(r"(?<!concatenated_)string|comment|regex|heredoc|char_literal|character_literal")


class TreeClash(Exception):
    """Both sides changed one thing; the message says which."""


class RivalAddition(TreeClash):
    """Both sides added one thing, each in another way."""


class TreeLimit(TreeClash):
    """The versions are too large or too different to be judged; the message says in what."""


class Removed(TreeClash):
    """One side removed a node that the other changed."""

    def __init__(self, old: Node, changed: Node) -> None:
        super().__init__(f"one side removed what the other changed: {show(old)}")
        self.old, self.changed = old, changed


def squash(text: bytes) -> bytes:
    """Drop all white space."""
    return b"".join(text.split())


class Source:
    """One version of a file and the row of its language."""

    __slots__ = ("row", "side", "text")

    def __init__(self, text: bytes, row: Grammar, side: str) -> None:
        self.text, self.row, self.side = text, row, side


class Node:
    """A node of one version: its kind, the field of its parent it fills, and its span without outer white space."""

    __slots__ = (
        "_children",
        "_tokens",
        "end",
        "field",
        "is_comment",
        "kind",
        "named",
        "parent",
        "raw",
        "source",
        "start",
    )

    def __init__(
        self, raw: tree_sitter.Node, source: Source, field: str | None = None, parent: Node | None = None
    ) -> None:
        text = source.text
        start, end = raw.start_byte, raw.end_byte
        # Some grammars take the line end, or blanks, into the node.
        while end > start and text[end - 1] in _BLANK:
            end -= 1
        while start < end and text[start] in _BLANK:
            start += 1
        self.raw, self.source, self.field, self.parent = raw, source, field, parent
        self.start, self.end = start, end
        self.kind = raw.type
        # Some grammars name their brackets.
        self.named = raw.is_named and text[start:end] not in _BRACKETS
        self.is_comment = self.named and "comment" in self.kind
        self._children: tuple[Node, ...] | None = None
        self._tokens: tuple[bytes, ...] | None = None

    @property
    def text(self) -> bytes:
        """Return the bytes of the node."""
        return self.source.text[self.start : self.end]

    @property
    def children(self) -> tuple[Node, ...]:
        """Return the children that have text; none when the node is a leaf or is not to be looked into."""
        if self._children is None:
            self._children = self._look()
        return self._children

    @property
    def tokens(self) -> tuple[bytes, ...]:
        """Return the words of the node in order, white space aside."""
        if self._tokens is None:
            self._tokens = tuple(_leaves(self))
        return self._tokens

    def _look(self) -> tuple[Node, ...]:
        if is_whole(self.kind, self.source.row) or not self.raw.child_count:
            return ()
        found: list[Node] = []
        cursor = self.raw.walk()
        cursor.goto_first_child()
        while True:
            child = cursor.node
            # A word that the parser supplied has no text.
            if child is not None and child.end_byte > child.start_byte:
                node = Node(child, self.source, cursor.field_name, self)
                if self.start <= node.start < node.end <= self.end:
                    found += node.parted()
            if not cursor.goto_next_sibling():
                break
        # "a | b | c" nests to the left: its first operand is all of the list but the last.
        if self.kind in self.source.row.flat and found and found[0].kind == self.kind:
            found[:1] = found[0].children
        # A grammar may swallow words without a node; such a node is taken as a whole, so that none is lost.
        return tuple(found) if self._covered(found) else ()

    def parted(self) -> tuple[Node, ...]:
        """Return the node, and the separator behind it as a node of its own where the grammar keeps them together."""
        mark = self.source.row.tails.get(self.kind)
        last = self.raw.children[-1] if mark is not None and self.raw.child_count > 1 else None
        if last is None or last.type != mark or last.end_byte != self.end:
            return (self,)
        tail = Node(last, self.source, None, self.parent)
        self.end = last.start_byte
        while self.source.text[self.end - 1] in _BLANK:
            self.end -= 1
        return (self, tail)

    def _covered(self, children: list[Node]) -> bool:
        """Check whether all text between the children is white space: else the node is a leaf."""
        text, at = self.source.text, self.start
        for child in children:
            if child.start < at or text[at : child.start].strip():
                return False
            at = child.end
        return not text[at : self.end].strip()


def show(node: Node) -> str:
    """Show a node in a message: its first line, quoted."""
    return quote(node.text.split(b"\n")[0])


def is_whole(kind: str, row: Grammar) -> bool:
    """Check whether nodes of a kind are taken as one piece."""
    return kind == "ERROR" or kind in row.atomic or _WHOLE.search(kind) is not None


def same(left: Node, right: Node) -> bool:
    """Check whether two nodes differ in white space at most."""
    if left.kind != right.kind:
        return False
    first, second = left.text, right.text
    # Text without white space first, which is quick; the words then tell "a b" from "ab".
    return first == second or (squash(first) == squash(second) and left.tokens == right.tokens)


def _leaves(top: Node) -> list[bytes]:
    text, row = top.source.text, top.source.row
    found: list[bytes] = []
    # By a cursor, not by recursion: a chain of 3,000 operators is as many levels.
    cursor = top.raw.walk()
    while True:
        node = cursor.node
        if node is None:
            return found
        kind = node.type
        if not is_whole(kind, row) and cursor.goto_first_child():
            continue
        word = text[node.start_byte : node.end_byte].strip()
        if word:
            found.append(b" ".join(word.split()) if "comment" in kind else word)
        while not cursor.goto_next_sibling():
            if not cursor.goto_parent():
                return found

"""A listed file as a tree: sections and entries known by a key, and the lines around them known by their text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

Lines = tuple[bytes, ...]
Key = Hashable
Path = tuple[Key, ...]
# An entry is known by its key, an item by its text; a note is a comment or prose, a blank a line without anything.
Sort = Literal["entry", "item", "note", "blank"]
Identity = tuple[Sort, Key]

# Trees are walked by recursion, some frames a level; lists that people read are nested five deep.
DEPTH_LIMIT = 30


@dataclass(frozen=True, slots=True)
class LineNode:
    """Whole lines of a file: ``head`` and ``foot`` around the nodes inside (``body``; None for one that has no inside).

    ``fields`` are the parts that merge each for itself; without them the head is one part. What stands in an ``open``
    section is known by its key alone, whichever section it stands in.
    """

    sort: Sort
    key: Key
    head: Lines
    body: tuple[LineNode, ...] | None = None
    foot: Lines = ()
    fields: tuple[tuple[str, Hashable], ...] = ()
    open: bool = False

    @property
    def identity(self) -> Identity:
        """Return what the node is known by among its siblings."""
        return (self.sort, self.key)

    @property
    def named(self) -> bool:
        """Check whether the node is an entry or an item, not a line around them."""
        return self.sort in ("entry", "item")

    @property
    def section(self) -> bool:
        """Check whether the node is an entry that holds others."""
        return self.sort == "entry" and self.body is not None


Body = tuple[LineNode, ...]


@dataclass(frozen=True, slots=True)
class UnreadLines:
    """A text is not of the kind; ``reason`` says why, without quoting values."""

    reason: str


Reader = Callable[[Sequence[bytes]], "Body | UnreadLines"]


@dataclass(slots=True)
class Draft:
    """A node while its lines are still read."""

    sort: Sort
    key: Key
    head: list[bytes]
    depth: int = 0
    body: list[LineNode] = field(default_factory=list)
    foot: list[bytes] = field(default_factory=list)
    open: bool = False
    fields: tuple[tuple[str, Hashable], ...] = ()

    def close(self, *, comments: bool) -> list[LineNode]:
        """Return the node, and after it the blank lines that end its body: they part it from what follows.

        With ``comments`` the notes among them go along, for they are about what follows.
        """
        cut = len(self.body)
        while cut and (self.body[cut - 1].sort == "blank" or (comments and self.body[cut - 1].sort == "note")):
            cut -= 1
        # A comment right below the last entry, without a blank line between, is still about that one.
        first = next((i for i in range(cut, len(self.body)) if self.body[i].sort == "blank"), cut)
        # Where a line closes the section all that is above it is inside.
        if self.foot:
            first = len(self.body)
        node = LineNode(
            self.sort, self.key, tuple(self.head), tuple(self.body[:first]), tuple(self.foot), self.fields, self.open
        )
        return [node, *self.body[first:]]


def blank(line: bytes) -> LineNode:
    """Make the node of a blank line."""
    return LineNode("blank", b"", (line,))


def note(line: bytes) -> LineNode:
    """Make the node of a comment or a line of prose."""
    return LineNode("note", line, (line,))


def write_lines(body: Iterable[LineNode]) -> Iterator[bytes]:
    """Write nodes as the lines they were read from."""
    for node in body:
        yield from node.head
        yield from write_lines(node.body or ())
        yield from node.foot


def walk(body: Sequence[LineNode], path: Path = ()) -> Iterator[tuple[Path, LineNode]]:
    """Yield all nodes with their full names."""
    for node in body:
        own = path if node.open else (*path, node.key)
        yield own, node
        yield from walk(node.body or (), own)


def count_twice(body: Sequence[LineNode]) -> Counter[Identity]:
    """Count the entries of a body that have a namesake there."""
    counts = Counter(node.identity for node in body if node.sort == "entry")
    return Counter({identity: count for identity, count in counts.items() if count > 1})

"""Children as entries: each with the comments and attributes that belong to it and the separator after it."""

from __future__ import annotations

from dataclasses import dataclass

from gitprun.resolvers.syntax.keys import Key, Names
from gitprun.resolvers.syntax.rows import Scope
from gitprun.resolvers.syntax.tree import Node, same, squash

SEPARATORS = (",", ";")


@dataclass(slots=True, eq=False)
class ChildEntry:
    """A child with its surroundings, in one version.

    ``before`` is the white space in front; after the core come ``tail`` (comments on the same line, and what white
    space goes with them or with the separator), ``separator``, and ``after`` (comments behind the separator).
    """

    lead: tuple[Node, ...]
    core: Node
    before: bytes = b""
    tail: bytes = b""
    separator: bytes = b""
    after: bytes = b""
    key: Key | None = None
    group: int | None = None
    twice: bool = False
    kind: str = ""
    index: int = 0
    last: bool = False

    @property
    def start(self) -> int:
        """Return the place where the entry begins, its comments included."""
        return self.lead[0].start if self.lead else self.core.start

    @property
    def head(self) -> bytes:
        """Return the comments in front, with the white space up to the core."""
        return self.core.source.text[self.start : self.core.start]

    @property
    def text(self) -> bytes:
        """Return the entry without what comes after its core."""
        return self.core.source.text[self.start : self.core.end]

    @property
    def side(self) -> str:
        """Name the version that the entry is from."""
        return self.core.source.side

    @property
    def remark(self) -> bytes:
        """Return the comments behind the core, squeezed."""
        return b" ".join((self.tail + b" " + self.after).split())

    def equals(self, other: ChildEntry) -> bool:
        """Check whether two entries differ in white space at most."""
        return same(self.core, other.core) and squash(self.head) == squash(other.head) and self.remark == other.remark


@dataclass(slots=True)
class ChildListing:
    """The children of one node as entries, and the white space before its end."""

    node: Node
    entries: list[ChildEntry]
    end: bytes = b""
    scope: Scope | None = None


def list_entries(node: Node, names: Names) -> ChildListing:
    """Read the children of a node as entries."""
    reader = _ChildReader(node, names)
    for child in node.children:
        reader.take(child)
    return reader.finish()


class _ChildReader:
    def __init__(self, node: Node, names: Names) -> None:
        self.node, self.names = node, names
        self.text = node.source.text
        self.waiting: list[Node] = []
        self.entries: list[ChildEntry] = []
        self.at = node.start  # where the last entry, with all that goes with it, ends
        self.core_end = node.start
        self.split = names.row.separators.get(node.kind)

    def take(self, child: Node) -> None:
        """Read one child."""
        if child.is_comment:
            self._take_comment(child)
        elif child.named and child.kind in self.names.row.leads:
            self.waiting.append(child)
        elif self._separates(child):
            self._take_separator(child)
        else:
            self._open(child)

    def finish(self) -> ChildListing:
        """Return what was read."""
        self._flush(len(self.waiting))
        listing = ChildListing(self.node, self.entries, self.text[self.at : self.node.end])
        listing.scope = self.names.scope(self.node.raw)
        for index, entry in enumerate(self.entries):
            entry.index = index
            entry.last = index + 1 == len(self.entries) or not self.entries[index + 1].core.named
            raw = entry.core.raw
            entry.kind, entry.key = self.names.identify(raw)
            entry.twice = self.names.twice(entry.kind)
            if listing.scope is not None:
                entry.group = self.names.group(listing.scope, raw, entry.core.field)
        return listing

    def _take_comment(self, child: Node) -> None:
        gap = self.text[self.at : child.start]
        # Only the rest of the line decides, and no line has so many blanks before something else.
        follows = self.text[child.end : child.end + 200].lstrip(b" \t")
        # A comment with code behind it on its line is about that: f(/* a */ b).
        alone = not follows or follows[:1] in b"\r\n" or follows[:1] in b",;)]}"
        if self.entries and not self.waiting and b"\n" not in gap and alone:
            last = self.entries[-1]
            piece = gap + child.text
            if last.separator:
                last.after += piece
            else:
                last.tail += piece
            self.at = child.end
        else:
            self.waiting.append(child)

    def _separates(self, child: Node) -> bool:
        marks = SEPARATORS if self.split is None else (self.split.decode(),)
        return (
            not child.named
            and child.kind in marks
            and not self.waiting
            and bool(self.entries)
            and not self.entries[-1].separator
            and self.entries[-1].core.named
        )

    def _take_separator(self, child: Node) -> None:
        last = self.entries[-1]
        last.tail += self.text[self.at : child.start]
        last.separator = child.text
        self.at = child.end

    def _open(self, child: Node) -> None:
        attached = len(self.waiting)
        start = child.start
        while attached and child.named:
            comment = self.waiting[attached - 1]
            gap = self.text[comment.end : start]
            # An attribute belongs to what is below it, a comment only when no blank line parts them.
            if gap.count(b"\n") > 1 and comment.is_comment:
                break
            start = comment.start
            attached -= 1
        # Comments before a closing bracket or a keyword are about neither.
        if not child.named:
            attached = len(self.waiting)
        self._flush(attached)
        self._add(ChildEntry(tuple(self.waiting), child))
        self.waiting = []

    def _flush(self, count: int) -> None:
        """Add the first waiting comments as entries of their own."""
        for comment in self.waiting[:count]:
            self._add(ChildEntry((), comment))
        del self.waiting[:count]

    def _add(self, entry: ChildEntry) -> None:
        entry.before = self.text[self.at : entry.start]
        self.entries.append(entry)
        self.at = entry.core.end

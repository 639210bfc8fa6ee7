"""Merge three syntax trees from the top down; what one side left alone is the other side's, byte for byte."""

from __future__ import annotations

from gitprun.resolvers.syntax.align import Pairs, align
from gitprun.resolvers.syntax.blends import refuse_blend
from gitprun.resolvers.syntax.entries import ChildEntry, ChildListing, list_entries
from gitprun.resolvers.syntax.keys import Names
from gitprun.resolvers.syntax.layout import MergedEntry, MergedNode, lay_out, whole
from gitprun.resolvers.syntax.rows import Group, Scope
from gitprun.resolvers.syntax.tree import Node, RivalAddition, TreeClash, TreeLimit, same, show, squash
from gitprun.resolvers.syntax.weave import Slot, Weaver

# Merging takes several frames a level, and Python stops at 1,000.
DEPTH_LIMIT = 80
# As many as lines of a file: entries of one scope are paired as lines are, at the same cost.
ENTRY_LIMIT = 20_000
_HEAD = Scope((), (Group(()),))


class Merger:
    """Merges nodes of one language."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def merge(self, base: Node, main: Node, unit: Node, depth: int = 0) -> MergedNode:
        """Return the text of the merged node; raise TreeClash where both sides changed one thing."""
        old, left, right = base.text, main.text, unit.text
        # By bytes first: whatever one side left alone is the other's, white space and all.
        if left == old:
            return whole(unit)
        if right in (old, left) or same(main, unit):
            return whole(main)
        if depth > DEPTH_LIMIT:
            raise TreeLimit("the file is nested too deeply")
        try:
            if not base.kind == main.kind == unit.kind or not all(_is_open(node) for node in (base, main, unit)):
                raise TreeClash(f"both sides changed {show(base)}")
            return self._merge_children(base, main, unit, depth)
        # They clash in white space at most where one side changed nothing else: then the other side's text holds.
        except TreeClash:
            if same(main, base):
                return whole(unit)
            if same(unit, base):
                return whole(main)
            raise

    def join(self, main: Node, unit: Node, depth: int = 0) -> MergedNode:
        """Make one node of two that the sides added each; raise TreeClash when they say different things."""
        if same(main, unit):
            return whole(main)
        if main.kind != unit.kind or main.kind not in self.names.row.joins or depth > DEPTH_LIMIT:
            raise RivalAddition(f"both sides added {show(main)}, each in another way")
        first, second = list_entries(main, self.names), list_entries(unit, self.names)
        pairs = align(first.entries, second.entries)
        shared = [i for i, j in enumerate(pairs.partner) if j is not None]
        moved = frozenset(k for k, i in enumerate(shared) if i in pairs.moved)
        weaver = Weaver(
            ([first.entries[i] for i in shared], first.entries, second.entries),
            (Pairs(tuple(shared), frozenset()), Pairs(tuple(pairs.partner[i] for i in shared), moved)),
            first.scope,
            self._joins,
        )
        pieces = []
        for slot in weaver.weave():
            # What only one side says must be free of order, else its place among the other's is a guess.
            if (slot.main is None or slot.unit is None) and slot.any.group is None:
                raise TreeClash(f"only one side says {show(slot.any.core)}")
            bare = Slot(None, slot.main, slot.unit)
            pieces.append(self._piece(bare, depth))
        return MergedNode(lay_out(pieces, (None, first, second)), main.kind, _parts(pieces))

    def _joins(self, main: ChildEntry, unit: ChildEntry) -> bool:
        kinds = self.names.row.joins
        return main.core.kind == unit.core.kind and main.core.kind in kinds and main.key == unit.key

    def _merge_children(self, base: Node, main: Node, unit: Node, depth: int) -> MergedNode:
        listings = tuple(list_entries(node, self.names) for node in (base, main, unit))
        old, left, right = listings
        if max(len(listing.entries) for listing in listings) > ENTRY_LIMIT:
            raise TreeLimit("the file is too long")
        weaver = Weaver(
            (old.entries, left.entries, right.entries),
            (align(old.entries, left.entries), align(old.entries, right.entries)),
            _scope(listings),
            self._joins,
        )
        slots = weaver.weave()
        refuse_blend(base, slots)
        pieces = [self._piece(slot, depth) for slot in slots]
        return MergedNode(lay_out(pieces, (old, left, right)), base.kind, _parts(pieces))

    def _piece(self, slot: Slot, depth: int) -> MergedEntry:
        base, main, unit = slot.base, slot.main, slot.unit
        if main is None or unit is None:
            return MergedEntry(slot, slot.any.head, whole(slot.any.core))
        head = self._head(base, main, unit)
        if base is None:
            return MergedEntry(slot, head, self.join(main.core, unit.core, depth + 1))
        return MergedEntry(slot, head, self.merge(base.core, main.core, unit.core, depth + 1))

    def _head(self, base: ChildEntry | None, main: ChildEntry, unit: ChildEntry) -> bytes:
        """Merge the comments in front of an entry."""
        if not main.lead and not unit.lead and (base is None or not base.lead):
            return b""
        left, right = squash(main.head), squash(unit.head)
        if left == right:
            return unit.head if base is not None and main.head == base.head else main.head
        old = squash(base.head) if base is not None else b""
        if left == old:
            return unit.head
        if right == old:
            return main.head
        return self._merge_heads(base, main, unit)

    def _merge_heads(self, base: ChildEntry | None, main: ChildEntry, unit: ChildEntry) -> bytes:
        """Merge comments and attributes that both sides changed; attributes may stand in any order."""
        refused = TreeClash(f"both sides changed the comments of {show(main.core)}")
        if base is None:
            raise refused
        # As comments, but for the order: attributes may change places, comments may not.
        old, left, right = (self._head_listing(entry) for entry in (base, main, unit))
        try:
            pairs = (align(old.entries, left.entries), align(old.entries, right.entries))
            slots = Weaver((old.entries, left.entries, right.entries), pairs, _HEAD, self._joins).weave()
            return lay_out([self._piece(slot, 0) for slot in slots], (old, left, right))
        # The clash within is told as one of the comments, by the name of what they stand in front of.
        except TreeClash:
            raise refused from None

    def _head_listing(self, entry: ChildEntry) -> ChildListing:
        """Read what stands in front of an entry as a list of its own."""
        text, at = entry.core.source.text, entry.start
        entries: list[ChildEntry] = []
        for index, node in enumerate(entry.lead):
            group = 0 if node.kind in self.names.row.leads else None
            entries.append(ChildEntry((), node, text[at : node.start], kind=node.kind, index=index, group=group))
            at = node.end
        return ChildListing(entry.core, entries, text[at : entry.core.start], _HEAD)


def _is_open(node: Node) -> bool:
    """Check whether a node consists of children; an empty file has none and is still open."""
    return bool(node.children) or (node.parent is None and not node.text.strip())


def _parts(pieces: list[MergedEntry]) -> tuple[MergedNode, ...]:
    return tuple(piece.core for piece in pieces if not piece.slot.any.core.is_comment)


def _scope(listings: tuple[ChildListing, ...]) -> Scope | None:
    """Return what is unordered, if all versions agree."""
    # Where the versions are not of one kind (a block that became one of registrations) nothing is free to move.
    scopes = {id(listing.scope): listing.scope for listing in listings}
    if len(scopes) == 1:
        return listings[0].scope
    for listing in listings:
        for entry in listing.entries:
            entry.group = None
    return None

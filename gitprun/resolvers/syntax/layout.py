"""Print merged entries: separators, white space between them, and indentation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gitprun.resolvers.syntax.entries import ChildEntry, ChildListing
from gitprun.resolvers.syntax.tree import Node, TreeClash
from gitprun.resolvers.syntax.weave import Slot

_WORD = re.compile(rb"[\w\x80-\xff$]")
SIDES = ("base", "main", "unit")
Listings = tuple[ChildListing | None, ChildListing, ChildListing]


@dataclass(frozen=True, slots=True)
class MergedNode:
    """The text of one node of the merge, and of which parts it is made; none when it is one version's as a whole."""

    text: bytes
    kind: str
    parts: tuple[MergedNode, ...] | None = None


@dataclass(frozen=True, slots=True)
class MergedEntry:
    """One entry of the merge: the comments in front of it and its merged node."""

    slot: Slot
    head: bytes
    core: MergedNode

    @property
    def text(self) -> bytes:
        """Return the text with the comments in front."""
        return self.head + self.core.text


def whole(node: Node) -> MergedNode:
    """Take a node of one version as it is."""
    return MergedNode(node.text, node.kind)


def lay_out(pieces: Sequence[MergedEntry], listings: Listings) -> bytes:
    """Print the entries of one node."""
    page = _LayoutPage(listings)
    out: list[bytes] = []
    previous: Slot | None = None
    last = next((piece.slot for piece in reversed(pieces) if _is_item(piece.slot)), None)
    for piece, following in zip(pieces, _next_items(pieces), strict=True):
        text = page.indented(piece)
        if previous is not None:
            out.append(page.ending(previous, following, closes=previous is last))
        separated = bool(out) and b"," in out[-1]
        gap = _apart(out, page.gap(previous, piece.slot, separated=separated), text)
        # What follows on the line would become part of a line comment.
        if previous is not None and b"\n" not in gap and page.comments(previous):
            raise TreeClash("a comment would swallow what follows it")
        out += (gap, text)
        previous = piece.slot
    if previous is not None:
        out.append(page.ending(previous, None, closes=previous is last))
    out.append(_apart(out, page.gap(previous, None), b""))
    return b"".join(out)


def _is_item(slot: Slot) -> bool:
    return slot.any.core.named and not slot.any.core.is_comment


def _next_items(pieces: Sequence[MergedEntry]) -> list[Slot | None]:
    """Return for each piece the first one from there on that is no comment."""
    found: list[Slot | None] = []
    following: Slot | None = None
    for piece in reversed(pieces):
        following = following if piece.slot.any.core.is_comment else piece.slot
        found.append(following)
    return found[::-1]


def _apart(out: Sequence[bytes], gap: bytes, text: bytes) -> bytes:
    """Keep words apart, and whatever follows a comment out of it."""
    ending = next((part for part in reversed(out) if part), b"")
    # Two words side by side would be one.
    if gap or not ending or not text or not (_WORD.match(ending[-1:]) and _WORD.match(text[:1])):
        return gap
    return b" "


class _LayoutPage:
    """What the three versions show about the layout of one node."""

    def __init__(self, listings: Listings) -> None:
        self.listings = dict(zip(SIDES, listings, strict=True))
        self.scope = listings[1].scope or listings[2].scope
        self.shifts = list(self._find_shifts(_indent))
        self.gaps = list(self._find_shifts(_even_gap))

    def gap(self, previous: Slot | None, following: Slot | None, *, separated: bool = False) -> bytes:
        """Return the white space between two entries; None stands for the start and the end of the node."""
        shown = {side: text for side in SIDES if (text := self._shown_gap(side, previous, following)) is not None}
        # Only one version has the two side by side: its gap holds, moved to where the list stands now.
        if len(shown) == 1:
            side, gap = shown.popitem()
            return self._shifted_gap(gap, side)
        if shown:
            return _settle(shown)
        if following is None:
            return _settle({side: listing.end for side, listing in self.listings.items() if listing is not None})
        entry = following.any
        opens = previous is None or not previous.any.core.named
        if following.base is not None or not entry.core.named:
            known = {side: each for side in SIDES if (each := following.of(side)) is not None}
            # What opens a list is set apart from something else than what stands in the midst of it.
            alike = {side: each.before for side, each in known.items() if self._opens(each) == opens}
            return _settle(alike or {side: each.before for side, each in known.items()})
        gap = entry.before
        # What stood first had the gap behind a bracket, which is no gap between two entries.
        if self._opens(entry) != opens:
            gap = self._usual_gap(entry) or gap
        if not gap and not opens:
            gap = b" " if separated else self._outer_gap(entry)
        return self._shifted_gap(gap, entry.side)

    def ending(self, slot: Slot, following: Slot | None, *, closes: bool) -> bytes:
        """Return what comes right behind an entry: separator and comments of its line."""
        entry = self._remarked(slot)
        mark = b"" if entry.core.is_comment else self._separator(slot, following, closes=closes)
        if entry.separator or not mark:
            if mark:
                return entry.tail + mark + entry.after
            tail = entry.tail + entry.after
            return tail if tail.strip() else b""
        return mark + entry.tail

    def comments(self, slot: Slot) -> bool:
        """Check whether what is printed of an entry ends with a comment that only a line end closes."""
        entry = self._remarked(slot)
        last = entry.remark or (entry.text if entry.core.is_comment else b"")
        return bool(last) and not last.endswith(b"*/")

    def indented(self, piece: MergedEntry) -> bytes:
        """Return the text of an entry, moved to the indentation of its new surroundings."""
        slot = piece.slot
        # An entry of base, or of both sides, was merged where it stands; only what one side added may have to be moved.
        if slot.base is not None or (slot.main is not None and slot.unit is not None) or b"\n" not in piece.text:
            return piece.text
        entry = slot.any
        shift = next(((old, new) for side, old, new in self.shifts if side == entry.side), None)
        return piece.text if shift is None else _reindent(entry, *shift)

    def _shown_gap(self, side: str, previous: Slot | None, following: Slot | None) -> bytes | None:
        listing = self.listings[side]
        if listing is None:
            return None
        before = None if previous is None else previous.of(side)
        behind = None if following is None else following.of(side)
        if (previous is not None and before is None) or (following is not None and behind is None):
            return None
        at = -1 if before is None else before.index
        to = len(listing.entries) if behind is None else behind.index
        if to != at + 1:
            return None
        return listing.end if behind is None else behind.before

    def _opens(self, entry: ChildEntry) -> bool:
        listing = self.listings[entry.side]
        return listing is not None and (entry.index == 0 or not listing.entries[entry.index - 1].core.named)

    def _usual_gap(self, entry: ChildEntry) -> bytes | None:
        """Find how entries like one are set apart elsewhere in the list."""
        for kind in (entry.kind, None):
            for side in (entry.side, *SIDES):
                listing = self.listings[side]
                for each in listing.entries if listing is not None else ():
                    if each.core.named and not self._opens(each) and kind in (each.kind, None):
                        return each.before
        return None

    def _outer_gap(self, entry: ChildEntry) -> bytes:
        """Return the white space behind a list without brackets, such as modifiers: that sets its items apart too."""
        listing = self.listings[entry.side]
        if listing is None or entry.index or not (entry.core.named or entry.core.text.isalpha()):
            return b""
        # No more than this is copied for each entry: a blank stands there, or a line end with its indentation.
        text, at = entry.core.source.text, listing.node.end
        return text[at : at + len(text[at : at + 200]) - len(text[at : at + 200].lstrip())]

    def _remarked(self, slot: Slot) -> ChildEntry:
        """Choose the version whose comments behind the entry count."""
        base, main, unit = slot.base, slot.main, slot.unit
        if main is None or unit is None:
            return slot.any
        # Alike but for white space: whoever changed that has the word.
        if main.remark == unit.remark:
            return unit if base is not None and (main.tail, main.after) == (base.tail, base.after) else main
        if base is not None and main.remark == base.remark:
            return unit
        if base is not None and unit.remark != base.remark:
            raise TreeClash("both sides changed the comment behind an entry")
        return main if base is not None or main.remark else unit

    def _separator(self, slot: Slot, following: Slot | None, *, closes: bool) -> bytes:
        entry = slot.any
        if not entry.core.named:
            return b""
        closing = {side: mark for side in SIDES if (mark := self._closing_mark(side)) is not None} if closes else {}
        if b"," in closing.values() and b";" not in closing.values():
            # Whether the last item has a comma is a property of the list.
            return _settle(closing)
        shown = {side: mark for side in SIDES if (mark := self._shown_mark(side, slot, following)) is not None}
        if shown:
            return _settle(shown)
        if following is None or not following.any.core.named:
            return entry.separator if entry.separator == b";" else _settle(closing or {"": b""})
        inner = next((each.separator for side in SIDES if (each := slot.of(side)) is not None and not each.last), None)
        return entry.separator or (self._usual_mark(entry, following.any) if inner is None else inner)

    def _shown_mark(self, side: str, slot: Slot, following: Slot | None) -> bytes | None:
        listing, entry = self.listings[side], slot.of(side)
        behind = None if following is None else following.of(side)
        if listing is None or entry is None or (following is not None and behind is None):
            return None
        at = entry.index + 1
        while at < len(listing.entries) and listing.entries[at].core.is_comment:
            at += 1
        found = listing.entries[at] if at < len(listing.entries) else None
        return entry.separator if found is behind else None

    def _closing_mark(self, side: str) -> bytes | None:
        """Return how a version ends its list; None when it has none."""
        listing = self.listings[side]
        if listing is None:
            return None
        named = [entry for entry in listing.entries if entry.core.named and not entry.core.is_comment]
        # A list of one entry does not show whether its last one has a comma.
        return named[-1].separator if named and named[-1].last and len(listing.entries) > 1 else None

    def _usual_mark(self, entry: ChildEntry, following: ChildEntry) -> bytes:
        marks: Counter[bytes] = Counter()
        alike: Counter[bytes] = Counter()
        for side in SIDES:
            listing = self.listings[side]
            for each in listing.entries if listing is not None else ():
                if each.core.named and not each.core.is_comment and not each.last:
                    marks[each.separator] += 1
                    if each.kind == entry.kind:
                        alike[each.separator] += 1
        if alike:
            return alike.most_common(1)[0][0]
        # A semicolon ends a statement, and statements on lines of their own may go without.
        if marks and (marks.most_common(1)[0][0] != b";" or b"\n" not in following.before):
            return marks.most_common(1)[0][0]
        return self.scope.separator if self.scope is not None and entry.group is not None else b""

    def _find_shifts(self, measure: Callable[[ChildListing], bytes | None]) -> Iterator[tuple[str, bytes, bytes]]:
        """Find how each side's additions must be laid out anew, from entries that the other side laid out anew."""
        base = self.listings["base"]
        if base is None:
            return
        for side, other in (("main", "unit"), ("unit", "main")):
            mine, theirs = self.listings[side], self.listings[other]
            if mine is None or theirs is None:
                continue
            old, kept, new = (measure(listing) for listing in (base, mine, theirs))
            # Only where this side kept the base's layout: what it laid out by itself is as it wants it.
            if old is not None and new is not None and kept == old != new:
                yield side, old, new

    def _shifted_gap(self, gap: bytes, side: str) -> bytes:
        head, line, indent = gap.rpartition(b"\n")
        for each, old, new in self.gaps:
            if each == side and gap == old:
                return new
        for each, old, new in self.shifts:
            if each == side and line and indent.startswith(old):
                return head + line + new + indent[len(old) :]
        return gap


def _settle(shown: dict[str, bytes]) -> bytes:
    """Merge one property of the layout three ways."""
    if "base" in shown and "unit" in shown and shown.get("main", shown["base"]) == shown["base"]:
        return shown["unit"]
    return next(shown[side] for side in ("main", "unit", "base", "") if side in shown)


def _even_gap(listing: ChildListing) -> bytes | None:
    """Return the white space between the members of a list, if it is the same everywhere."""
    items = [entry for entry in listing.entries if entry.core.named]
    found = {entry.before for entry, above in zip(items[1:], items, strict=False) if above.index + 1 == entry.index}
    return found.pop() if len(found) == 1 else None


def _indent(listing: ChildListing) -> bytes | None:
    """Return how the named entries of a list are indented, if all alike."""
    found = {
        entry.before.rpartition(b"\n")[2]
        for entry in listing.entries
        if entry.core.named and b"\n" in entry.before and not entry.core.is_comment
    }
    return found.pop() if len(found) == 1 else None


def _reindent(entry: ChildEntry, old: bytes, new: bytes) -> bytes:
    text = entry.core.source.text
    fixed = list(_whole_lines(entry.core))
    lines = entry.text.split(b"\n")
    at = entry.start
    out: list[bytes] = []
    for number, line in enumerate(lines):
        # White space within a string is part of its value.
        inside = any(start < at <= end for start, end in fixed)
        out.append(new + line[len(old) :] if number and not inside and line.startswith(old) and line.strip() else line)
        at += len(line) + 1
    assert text
    return b"\n".join(out)


def _whole_lines(node: Node) -> Iterator[tuple[int, int]]:
    """Yield the spans of strings over several lines: white space in them is not ours."""
    # A stack, not recursion: expressions nest deeper than Python has frames.
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if b"\n" not in each.text or each.is_comment:
            continue
        if each.children:
            waiting += each.children
        else:
            yield each.start, each.end

"""The three-way merge of trees: entry by entry, each taken whole from a version or merged part by part."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from gitprun.resolvers.base import quote
from gitprun.resolvers.entries import show_key
from gitprun.resolvers.tree.align import Contradiction, RivalEntry, Row, align
from gitprun.resolvers.tree.nodes import (
    DEPTH_LIMIT,
    EntryGroup,
    KeyedEntry,
    Leaf,
    Value,
    fingerprint,
    join_block,
    move,
    render,
    render_entry,
    render_inline,
    squash,
)
from gitprun.resolvers.tree.rules import Path, ValueRules

__all__ = ("Contradiction", "RivalEntry", "merge_trees")

T = TypeVar("T", bound=Hashable)


@dataclass(frozen=True, slots=True)
class _Part:
    """A merged entry: its texts, and the entry with the layout it is to have."""

    entry: KeyedEntry
    text: str


def merge_trees(rules: ValueRules, base: EntryGroup, main: EntryGroup, unit: EntryGroup) -> str:
    """Merge three versions of a tree into a text.

    Raises:
        Contradiction: the sides contradict each other, or what belongs together is not certain.
    """
    return _merge_value(rules, (), base, main, unit)


def _merge_value(rules: ValueRules, path: Path, base: Value | None, main: Value, unit: Value) -> str:
    if main == unit or unit == base:
        return render(main)
    if main == base:
        return render(unit)
    if isinstance(main, EntryGroup) and isinstance(unit, EntryGroup) and not rules.is_atomic(path):
        group = _base_group(base, main, unit)
        # What both sides added alike, layout aside, needs no merge: main's text is taken below.
        if group is not None and not (base is None and fingerprint(main) == fingerprint(unit)):
            return _merge_groups(rules, path, group, main, unit)
    # Layout is not worth a conflict: a side that only wrapped its value anew has changed nothing.
    prints = [fingerprint(value) if value is not None else None for value in (base, main, unit)]
    if prints[1] == prints[2] or prints[2] == prints[0]:
        return render(main)
    if prints[1] == prints[0]:
        return render(unit)
    if isinstance(main, Leaf) and isinstance(unit, Leaf):
        # Nor is a spelling: 'x' and "x" are one value.
        means = [rules.canon(value.text) if isinstance(value, Leaf) else None for value in (base, main, unit)]
        if None not in means[1:] and (means[1] == means[2] or means[2] == means[0]):
            return render(main)
        if means[1] is not None and means[1] == means[0]:
            return render(unit)
    said = f" ({_quote(main)} and {_quote(unit)})" if isinstance(main, Leaf) and isinstance(unit, Leaf) else ""
    if base is None:
        raise RivalEntry(f"{show_key(path)} is added on both sides, differently{said}")
    raise Contradiction(f"{show_key(path)} is changed on both sides, differently{said}")


def _quote(leaf: Leaf) -> str:
    return quote(leaf.text.split("\n")[0].strip("\"'").encode())


def _base_group(base: Value | None, main: EntryGroup, unit: EntryGroup) -> EntryGroup | None:
    """Find what two groups can be merged against; None when they can only be taken whole."""
    # A list on one side and a map on the other, or a block that became inline: no entries to pair.
    if (main.kind, main.inline) != (unit.kind, unit.inline):
        return None
    if base is None:
        # A block that both sides started may be joined; a list or an inline value is one thing that was said twice.
        return EntryGroup(main.kind, col=main.col) if main.kind == "map" and not main.inline else None
    if isinstance(base, EntryGroup) and (base.kind, base.inline) == (main.kind, main.inline):
        return base
    # Where the base held nothing, everything was added by the sides.
    empty = not base.entries if isinstance(base, EntryGroup) else not base.text.strip()
    return replace(main, entries=()) if empty else None


def _merge_groups(rules: ValueRules, path: Path, base: EntryGroup, main: EntryGroup, unit: EntryGroup) -> str:
    # The readers have their own limit; TOML's dotted keys nest without them.
    if len(path) > DEPTH_LIMIT:
        raise Contradiction("the file is nested too deep")
    # All three at one column, so that only true differences are left between lines.
    col = main.col if not base.entries else _pick(base.col, main.col, unit.col)
    base, main, unit = (move(group, col) for group in (base, main, unit))
    rows = align(rules, path, base, main, unit)
    parts = [_merge_row(rules, path, row) for row in rows]
    close = _settle_text(path, base.close, main.close, unit.close)
    frame = replace(main, col=col, compact=_pick(base.compact, main.compact, unit.compact), close=close)
    if not main.inline:
        parts = _space_out(parts, rows, (main, unit, base))
        return frame.open + _join_parts(path, frame, parts) + close
    frame = replace(
        frame,
        open=_pick(base.open, main.open, unit.open),
        pad=_pick_pad(base, main, unit),
        comma=_pick(base.comma, main.comma, unit.comma) if base.entries else (main.comma or unit.comma),
    )
    versions = (base, main, unit)
    return _join_inline(path, frame, parts, (_wraps(versions, lines=False), _wraps(versions, lines=True)))


def _space_out(parts: list[_Part], rows: Sequence[Row], versions: Sequence[EntryGroup]) -> list[_Part]:
    """Set the blank lines before the first entry as before, and before one that is the first no more."""
    first = {id(group.entries[0]) for group in versions if group.entries}
    at_start = next((group.entries[0].gap for group in versions if group.entries), "")
    between = next((group.entries[1].gap for group in versions if len(group.entries) > 1), "")
    spaced = []
    for at, (part, row) in enumerate(zip(parts, rows, strict=True)):
        led = all(id(entry) in first for entry in row if entry is not None)
        # An entry that led its group has the space of a group's start; in the middle it needs what others have there.
        if led == (at > 0):
            part = replace(part, entry=replace(part.entry, gap=(part.entry.gap or between) if led else at_start))
        spaced.append(part)
    return spaced


def _pick_pad(base: EntryGroup, main: EntryGroup, unit: EntryGroup) -> str:
    """Settle what stands before the first item; a list without items does not tell."""
    if main.entries and unit.entries and base.entries:
        return _pick(base.pad, main.pad, unit.pad)
    return main.pad if main.entries else unit.pad


def _join_parts(path: Path, frame: EntryGroup, parts: Sequence[_Part]) -> str:
    if frame.compact and (not parts or parts[0].entry.lead or parts[0].entry.gap):
        raise Contradiction(f"{show_key(path)} would not start on its own line any more")
    return join_block(frame, [p.entry.gap + p.entry.lead + " " * frame.col + p.text for p in parts])


def _join_inline(path: Path, frame: EntryGroup, parts: Sequence[_Part], wrapped: tuple[bool, bool]) -> str:
    """Join inline entries in the style of the frame; ``wrapped`` as ``_wraps`` tells it."""
    lines = "\n" in frame.pad
    entries = []
    for part in parts:
        entry = part.entry
        if not wrapped[lines] and ("\n" in entry.gap) != lines:
            entry = replace(entry, gap=frame.pad if lines else " ")
        entries.append((entry, part.text))
    below = [*(entry.gap for entry, _ in entries[1:]), frame.close]
    for (entry, _), after in zip(entries, below, strict=False):  # without entries only the end is below
        # A comment runs to the end of its line, closing bracket and all.
        if entry.tail and not after.lstrip(" \t").startswith("\n"):
            raise Contradiction(f"a comment in {show_key(path)} would swallow what follows")
    return render_inline(frame, entries)


def _wraps(groups: Sequence[EntryGroup], *, lines: bool) -> bool:
    """Check whether lists that start on the next line (or not) also hold items that do not go with that."""
    alike = [group for group in groups if group.entries and ("\n" in group.pad) == lines]
    return any(("\n" in entry.gap) != lines for group in alike for entry in group.entries[1:])


def _merge_row(rules: ValueRules, path: Path, row: Row) -> _Part:
    base, main, unit = row
    if main is None or unit is None:
        only = main or unit
        assert only is not None
        return _Part(only, render_entry(only))
    if main == unit or unit == base:
        return _Part(main, render_entry(main))
    if main == base:
        return _Part(unit, render_entry(unit))
    below = (*path, *main.name)
    old = base or KeyedEntry(None, Leaf(""))
    fresh = base is None
    part = replace(
        main,
        gap=main.gap if fresh else _pick(old.gap, main.gap, unit.gap),
        lead=_settle_text(below, None if fresh else old.lead, main.lead, unit.lead),
        head=main.head if fresh else _pick(old.head, main.head, unit.head),
        note=_settle_text(below, None if fresh else old.note, main.note, unit.note),
        tail=_settle_text(below, None if fresh else old.tail, main.tail, unit.tail),
    )
    value = _merge_value(rules, below, base.value if base else None, main.value, unit.value)
    return _Part(part, render_entry(replace(part, value=Leaf(value))))


def _pick(base: T, main: T, unit: T) -> T:
    """Settle what is only layout: what a side changed, main first."""
    return unit if main == base else main


def _settle_text(path: Path, base: str | None, main: str, unit: str) -> str:
    """Merge a comment three ways; blank space alone is layout."""
    if main == unit or unit == base:
        return main
    if main == base:
        return unit
    # A comment that a side only wrapped anew does not stand against one the other side rewrote.
    words = [squash(text) if text is not None else None for text in (base, main, unit)]
    if words[1] == words[2] or words[2] == words[0]:
        return main
    if words[1] == words[0]:
        return unit
    if base is None and not (words[1] and words[2]):
        return main if words[1] else unit
    raise Contradiction(f"the comment at {show_key(path)} is changed on both sides, differently")

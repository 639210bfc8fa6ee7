"""Ordered set of lines: what both sides added to a list is kept, once each; anything else is refused."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from gitprun.model.lists import listed
from gitprun.resolvers.base import (
    TOO_DIFFERENT,
    FileConflict,
    Refused,
    Resolved,
    brought_lines,
    open_lines,
    prove_union,
    quote,
)
from gitprun.resolvers.changes import LineChange, diff_lines, split_items
from gitprun.resolvers.places import join_added
from gitprun.resolvers.text import Triple

NAME = "lines"

# All brackets of the file, in strings too: that is why a version that is unbalanced by itself is not asked.
_BRACKET = re.compile(rb"[()\[\]{}]")
_OPENED_BY = {b")": b"(", b"]": b"[", b"}": b"{"}


def union(conflict: FileConflict) -> Resolved | Refused:
    """Merge both sides' edits, and where they meet keep the lines that either side added.

    Order: the base's, then at one place main's additions, then the unit's. A line changed in place (a ticked item)
    is merged with what the other side added or changed beside it. Refused: lines removed or rewritten where the
    other side changed something too, a line changed on both sides differently, a place that repeated lines leave
    open, brackets that do not pair up any more, binary files, and every result that ``prove_union`` does not prove.
    """
    triple = open_lines(conflict, NAME)
    if not isinstance(triple, Triple):
        return triple
    merged = _merge_added_file(triple) if conflict.base is None else _merge(triple)
    if isinstance(merged, Refused):
        return merged
    text = triple.render(merged)
    versions = (conflict.base or b"", conflict.main, conflict.unit)
    # A list inside brackets: joined additions can leave the closing one of a side out, or bring it twice.
    if all(_is_balanced(version) for version in versions) and not _is_balanced(text):
        return Refused("the union does not keep brackets balanced")
    fault = prove_union(conflict, text)
    return Refused(fault) if fault else Resolved(text, NAME, brought_lines(triple, merged))


def _merge_added_file(triple: Triple) -> tuple[bytes, ...] | Refused:
    """Merge a file that both sides made: only when one of the two has all lines of the other, in order."""
    for longer, shorter in ((triple.main, triple.unit), (triple.unit, triple.main)):
        # Without a base two different lists cannot be joined: what one side lacks it may have left out on purpose.
        rest = iter(longer)
        if all(line in rest for line in shorter):
            return longer
    return Refused("both sides added the file and neither has all lines of the other")


def _merge(triple: Triple) -> tuple[bytes, ...] | Refused:
    """Merge with changes as late and as early as repeated lines allow: only one answer is an answer."""
    late = _merge_paired(triple, early=False)
    # A list that both sides only wrote on at its end has one answer, and is the commonest case.
    size = len(triple.base)
    if isinstance(late, Refused) or triple.main[:size] == triple.unit[:size] == triple.base:
        return late  # refused, or both sides wrote on at the end: that leaves nothing open
    early = _merge_paired(triple, early=True)
    if late == early:
        return late
    if isinstance(early, Refused):
        return early
    return Refused("repeated lines leave open where a change belongs")


def _merge_paired(triple: Triple, *, early: bool) -> tuple[bytes, ...] | Refused:
    main = diff_lines(triple.base, triple.main, early=early)
    unit = diff_lines(triple.base, triple.unit, early=early)
    if main is None or unit is None:
        return Refused(TOO_DIFFERENT)
    # A ticked box and a new item below it are one changed hunk for the diff, and two edits for people.
    main, unit = split_items(main, triple.base), split_items(unit, triple.base)
    contest = next(_contests(triple.base, main, unit), None)
    if contest is not None:
        return Refused(contest)
    fate: dict[int, bytes | None] = {}
    for change in (*main, *unit):
        for k in range(change.start, change.stop):
            fate[k] = change.lines[k - change.start] if change.in_place else None
    main_adds, unit_adds = _additions(main), _additions(unit)
    merged: list[bytes] = []
    for gap in range(len(triple.base) + 1):
        added = _join_at(merged, main_adds.get(gap, ()), unit_adds.get(gap, ()))
        if isinstance(added, Refused):
            return added
        merged += added
        line = fate.get(gap, triple.base[gap]) if gap < len(triple.base) else None
        if line is not None:
            merged.append(line)
    return tuple(merged)


def _additions(changes: Sequence[LineChange]) -> dict[int, tuple[bytes, ...]]:
    return {change.start: change.lines for change in changes if not change.in_place}


def _join_at(merged: list[bytes], main: Sequence[bytes], unit: Sequence[bytes]) -> Sequence[bytes] | Refused:
    if not main or not unit or main == unit:
        return main or unit
    # From the last line that is not blank: whether blank lines stand before it decides where a section begins.
    filled = next((i for i in range(len(merged) - 1, -1, -1) if merged[i].strip()), 0)
    joined = join_added(merged[filled:], main, unit)
    if joined is None:
        shared = next(line for line in main if line.strip() and line in unit)
        return Refused(f"both sides added the same lines in another order (such as {quote(shared)})")
    return joined


def _contests(base: Sequence[bytes], main: Sequence[LineChange], unit: Sequence[LineChange]) -> Iterator[str]:
    """Yield for each pair of changes that cannot both hold what they are."""
    passed = 0
    for change in main:
        # Both lists are in order, so changes that lie behind are never looked at again: linear, not each with each.
        while passed < len(unit) and unit[passed].stop < change.start:
            passed += 1
        # One change may touch several of the other side.
        at = passed
        while at < len(unit) and unit[at].start <= change.stop:
            if not _agree(change, unit[at]):
                place = min(change.start, unit[at].start) + 1
                yield f"near base line {place} main {_tell(base, change)} and the unit {_tell(base, unit[at])}"
            at += 1


def _agree(main: LineChange, unit: LineChange) -> bool:
    """Check whether two changes that touch can both hold, whole."""
    if main.equals(unit) or (main.adds and unit.adds):
        return True
    # Rewritten lines overlap in part where one side rewrote more of them; only the shared ones can contradict.
    if main.in_place and unit.in_place:
        shared = range(max(main.start, unit.start), min(main.stop, unit.stop))
        return all(main.lines[k - main.start] == unit.lines[k - unit.start] for k in shared)
    added, edited = (main, unit) if main.adds else (unit, main)
    # Lines added in the midst of lines that were all rewritten have lost the place they belonged to.
    return added.adds and edited.in_place and not edited.start < added.start < edited.stop


def _tell(base: Sequence[bytes], change: LineChange) -> str:
    old, new = _name(base[change.start : change.stop]), _name(change.lines)
    if change.adds:
        return f"adds {new}"
    return f"changes {old} to {new}" if new else f"removes {old}"


def _name(lines: Sequence[bytes]) -> str:
    # Three lines show which place is meant, in a message of one line.
    return listed(lines, show=quote)


def _is_balanced(text: bytes) -> bool:
    opened: list[bytes] = []
    for found in _BRACKET.finditer(text):
        mark = found.group()
        if mark not in _OPENED_BY:
            opened.append(mark)
        elif not opened or opened.pop() != _OPENED_BY[mark]:
            return False
    return not opened

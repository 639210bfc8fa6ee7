"""Lines again, only closer: changes of neighbouring lines, of white space only, and of a block the other side moved."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from gitprun.resolvers.base import (
    TOO_DIFFERENT,
    FileConflict,
    Refused,
    Resolved,
    brought_lines,
    open_lines,
    quote,
)
from gitprun.resolvers.changes import LineChange, diff_lines, pair_lines
from gitprun.resolvers.moves import follow_move
from gitprun.resolvers.sides import Region, group_regions, region_text
from gitprun.resolvers.text import Triple

NAME = "near"

Lines = tuple[bytes, ...]


def merge_near(conflict: FileConflict) -> Resolved | Refused:
    """Merge changes that git takes for conflicting only because they stand side by side.

    Merged are: rewritten or added lines next to rewritten lines of the other side, lines that one side only indented
    anew, and a block that one side moved whole and the other changed. Refused: two changes of one line, lines that
    both sides added at one place, changes next to removed lines, a place that repeated lines leave open.
    """
    triple = open_lines(conflict, NAME)
    if not isinstance(triple, Triple):
        return triple
    # Without a base there are no changes to stand side by side, only two texts.
    if conflict.base is None:
        return Refused("both sides added the file")
    versions = follow_move(triple.base, triple.main, triple.unit) or (triple.base, triple.main, triple.unit)
    # Repeated lines leave open where a change belongs: where both extreme choices give one text, none of them
    # matters.
    late, early = (_merge(*versions, early=early) for early in (False, True))
    if isinstance(late, Refused):
        return late
    if late != early:
        return early if isinstance(early, Refused) else Refused("repeated lines leave open where a change belongs")
    return Resolved(triple.render(late), NAME, brought_lines(triple, late))


def _merge(base: Lines, main: Lines, unit: Lines, *, early: bool) -> Lines | Refused:
    by_main, by_unit = diff_lines(base, main, early=early), diff_lines(base, unit, early=early)
    if by_main is None or by_unit is None:
        return Refused(TOO_DIFFERENT)
    merged: list[bytes] = []
    at = 0
    for region in group_regions(by_main, by_unit):
        settled = _settle(region, base)
        if isinstance(settled, Refused):
            return settled
        merged += base[at : region.start]
        merged += settled
        at = region.stop
    return (*merged, *base[at:])


def _settle(region: Region, base: Lines) -> Sequence[bytes] | Refused:
    old, main, unit = (region_text(region, base, changes) for changes in ([], region.main, region.unit))
    # One side only, or both alike: git would have merged this part without asking.
    if not region.main or not region.unit or main == unit:
        return main if region.main else unit
    # White space first: a side that only indented anew has changed every line, and nothing of what they say.
    for spaced, other in ((main, unit), (unit, main)):
        respaced = _respace(old, spaced, other)
        if respaced is not None:
            return respaced
    by_main, by_unit = ([line for c in changes for line in _by_line(c)] for changes in (region.main, region.unit))
    for one, two in product(by_main, by_unit):
        if not _stand_apart(one, two) and not one.equals(two):
            line = base[max(one.start, two.start)] if one.stop > one.start and two.stop > two.start else None
            return Refused("both sides changed the same lines" + (f", such as {quote(line)}" if line else ""))
    return _weave(region, base, (*by_main, *by_unit))


def _by_line(change: LineChange) -> list[LineChange]:
    """Split a change in which each line has its one successor."""
    if not change.in_place:
        return [change]
    return [
        LineChange(change.start + k, change.start + k + 1, change.first + k, change.first + k + 1, (line,))
        for k, line in enumerate(change.lines)
    ]


def _stand_apart(one: LineChange, two: LineChange) -> bool:
    """Check whether two changes are of different lines, and neither takes away what the other leans on."""
    if one.stop < two.start or two.stop < one.start:
        return True
    # What is added beside rewritten lines has its place by these; between two removed ones it would have none.
    if one.adds or two.adds:
        added, other = (one, two) if one.adds else (two, one)
        # The added line may be the rewritten one, put elsewhere: it would be there twice.
        twins = any(line in other.lines for line in added.lines if line.strip())
        return other.in_place and not other.start < added.start < other.stop and not twins
    return bool(one.lines and two.lines) and (one.stop == two.start or two.stop == one.start)


def _weave(region: Region, base: Lines, both: Sequence[LineChange]) -> list[bytes]:
    # What both sides did alike is done once.
    changes = sorted({(change.start, change.stop, change.lines) for change in both})
    merged: list[bytes] = []
    at = region.start
    for start, stop, lines in changes:
        merged += [*base[at:start], *lines]
        at = stop
    return [*merged, *base[at : region.stop]]


def _respace(old: Sequence[bytes], spaced: Sequence[bytes], other: Sequence[bytes]) -> list[bytes] | None:
    """Return the other side's lines with the new indentation of a side that changed white space only; None if it did
    not, or if the two cannot be told apart."""
    # White space is all that may differ, line by line: a joined or split line is an edit of the text.
    if len(old) != len(spaced) or any(_squeeze(a) != _squeeze(b) for a, b in zip(old, spaced, strict=True)):
        return None
    pairs = pair_lines(old, other)
    if pairs is None:
        return None
    merged: list[bytes] = []
    i = j = 0
    for x, y in [*pairs, (len(old), len(other))]:
        shifts = {_shift(a, b) for a, b in zip(old[i:x], spaced[i:x], strict=True) if a.strip()}
        if y > j:
            if not shifts:
                # Where the other side only added lines, their neighbours show how far the block was moved.
                near = [k for k in (i - 1, x) if 0 <= k < len(old) and old[k].strip()]
                shifts = {_shift(old[k], spaced[k]) for k in near}
            moved = _reindent(other[j:y], shifts)
            if moved is None:
                return None
            merged += moved
        # The other side removed lines whose inner white space changed: that edit would be lost without a word.
        elif None in shifts:
            return None
        if x < len(old):
            merged.append(spaced[x])
        i, j = x + 1, y + 1
    return merged


def _shift(old: bytes, new: bytes) -> tuple[bytes, bytes] | None:
    """Return the indentation before and after; None when white space inside the line changed: it may mean something."""
    if old.strip() != new.strip():
        return None
    return old[: len(old) - len(old.lstrip())], new[: len(new) - len(new.lstrip())]


def _reindent(lines: Sequence[bytes], shifts: set[tuple[bytes, bytes] | None]) -> list[bytes] | None:
    if not shifts:
        return list(lines)
    if None in shifts:
        return None
    moves = {(before, after) for before, after in filter(None, shifts)}
    # One step for all lines of the place; two different ones mean that the block was reshaped, not moved.
    added = {after[len(before) :] for before, after in moves if after.startswith(before)}
    taken = {before[len(after) :] for before, after in moves if before.startswith(after)}
    if len(added) == 1 and all(after.startswith(before) for before, after in moves):
        more = added.pop()
        return [_after(line, more) for line in lines]
    less = taken.pop() if len(taken) == 1 and all(before.startswith(after) for before, after in moves) else None
    if less is None or not all(line.startswith(less) or not line.strip() for line in lines):
        return None
    # Blank lines carry no indentation worth keeping.
    return [line[len(less) :] if line.strip() else line for line in lines]


def _after(line: bytes, more: bytes) -> bytes:
    """Indent a line further, with what is added standing where the other side added it: after what there was."""
    if not line.strip():
        return line
    indent = len(line) - len(line.lstrip())
    return line[:indent] + more + line[indent:]


def _squeeze(line: bytes) -> bytes:
    return b"".join(line.split())

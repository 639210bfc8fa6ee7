"""Blocks of lines that one side moved whole while the other changed them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gitprun.resolvers.changes import LineChange, diff_lines

# Fewer lines of substance may be alike by chance.
LEAST_LINES = 3

Lines = tuple[bytes, ...]
Versions = tuple[Lines, Lines, Lines]


def follow_move(base: Lines, main: Lines, unit: Lines) -> Versions | None:
    """Return versions in which base and the other side have a block where one side moved it to; None if nobody did.

    Followed is one block that stands once in the base and whole at its new place, that the other side changed inside,
    and whose old and new surroundings the other side left alone.
    """
    by_main, by_unit = diff_lines(base, main), diff_lines(base, unit)
    if by_main is None or by_unit is None:
        return None
    for changes, other, others in ((by_main, unit, by_unit), (by_unit, main, by_main)):
        for move in _moves(base, changes):
            moved = _move_in_other(other, others, move)
            if moved is not None:
                here = _relocate(base, move.start, move.stop, move.place, move.added)
                return (here, main, moved) if other is unit else (here, moved, unit)
    return None


@dataclass(frozen=True, slots=True)
class _Move:
    """Base lines [start, stop) went to stand before base line ``place``, as ``added``.

    Both hold the same block, ``size`` lines long, ``skip`` lines after their start; what is around it is blank.
    """

    start: int
    stop: int
    place: int
    added: Lines
    size: int
    skip: int
    skip_added: int


def _moves(base: Lines, changes: Sequence[LineChange]) -> Iterator[_Move]:
    for gone in changes:
        skip, block = _core(base[gone.start : gone.stop])
        # A block that stood twice leaves open which one moved.
        if gone.lines or sum(bool(line.strip()) for line in block) < LEAST_LINES or _count(base, block) != 1:
            continue
        again = [change for change in changes if change.adds and _core(change.lines)[1] == block]
        # Found at two new places it was copied, and which copy should get the other side's edit is a guess.
        if len(again) == 1:
            skipped = _core(again[0].lines)[0]
            yield _Move(gone.start, gone.stop, again[0].start, again[0].lines, len(block), skip, skipped)


def _core(lines: Lines) -> tuple[int, Lines]:
    """Take off blank lines at both ends; returns how many stood before, and the rest."""
    filled = [i for i, line in enumerate(lines) if line.strip()]
    return (filled[0], lines[filled[0] : filled[-1] + 1]) if filled else (0, ())


def _count(lines: Lines, block: Lines) -> int:
    starts = (at for at in range(len(lines) - len(block) + 1) if lines[at] == block[0])
    return sum(lines[at : at + len(block)] == block for at in starts)


def _move_in_other(other: Lines, changes: Sequence[LineChange], move: _Move) -> Lines | None:
    """Move the block in the other side's version, changed as it is there; None if that is not clear."""
    start, stop = move.start + move.skip, move.start + move.skip + move.size
    # What was added at the block's very edge may belong to what is around it: that is not inside.
    inside = [c for c in changes if start <= c.start and c.stop <= stop and not (c.adds and c.start in (start, stop))]
    beside = [c for c in changes if c not in inside and c.start <= move.stop and move.start <= c.stop]
    at_place = [c for c in changes if c.start <= move.place <= c.stop]
    # What the other side changed around the block, or where it went, may be about its old or its new place.
    if not inside or beside or at_place:
        return None
    first, last = _position(changes, move.start), _position(changes, move.stop)
    block = other[first + move.skip : last - (move.stop - stop)]
    before, after = move.added[: move.skip_added], move.added[move.skip_added + move.size :]
    return _relocate(other, first, last, _position(changes, move.place), (*before, *block, *after))


def _position(changes: Sequence[LineChange], line: int) -> int:
    """Return where a base line that a side did not touch stands in its version."""
    return line + sum((c.last - c.first) - (c.stop - c.start) for c in changes if c.stop <= line)


def _relocate(lines: Lines, start: int, stop: int, place: int, block: Lines) -> Lines:
    if place >= stop:
        return (*lines[:start], *lines[stop:place], *block, *lines[place:])
    return (*lines[:place], *block, *lines[place:start], *lines[stop:])

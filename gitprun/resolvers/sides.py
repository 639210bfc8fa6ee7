"""Settle what conflicts in favour of one side, and list every line the other side loses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gitprun.resolvers.base import (
    TOO_DIFFERENT,
    Dropped,
    FileConflict,
    Refused,
    Resolved,
    Side,
    brought_lines,
    open_lines,
)
from gitprun.resolvers.changes import LineChange, diff_lines, pair_lines
from gitprun.resolvers.text import Triple


@dataclass(slots=True)
class Region:
    """Base lines [start, stop) with the changes of either side that touch one another there."""

    start: int
    stop: int
    main: list[LineChange] = field(default_factory=list)
    unit: list[LineChange] = field(default_factory=list)


def prefer_main(conflict: FileConflict) -> Resolved | Refused:
    """Merge, and settle conflicting hunks to the main side."""
    return _prefer(conflict, "main")


def prefer_unit(conflict: FileConflict) -> Resolved | Refused:
    """Merge, and settle conflicting hunks to the unit side."""
    return _prefer(conflict, "unit")


def merge_apart(conflict: FileConflict) -> bytes | Refused:
    """Return the merge of sides that changed different lines, as git makes it; refuse where they meet.

    Git takes one of the places that repeated lines leave open, and a second look finds out whether that was right;
    without git there is no text to look at, so what depends on that choice is refused.
    """
    triple = open_lines(conflict, "apart")
    if not isinstance(triple, Triple):
        return triple.text if isinstance(triple, Resolved) else triple
    late, early = (_merge_regions(triple, early=early) for early in (False, True))
    if isinstance(late, Refused):
        return late
    if late != early:
        return early if isinstance(early, Refused) else Refused("repeated lines leave open where a change belongs")
    return triple.render(late)


def _merge_regions(triple: Triple, *, early: bool) -> tuple[bytes, ...] | Refused:
    main, unit = (diff_lines(triple.base, side, early=early) for side in (triple.main, triple.unit))
    if main is None or unit is None:
        return Refused(TOO_DIFFERENT)
    merged: list[bytes] = []
    at = 0
    for region in group_regions(main, unit):
        by_main, by_unit = (region_text(region, triple.base, changes) for changes in (region.main, region.unit))
        # Compared as text: the same edit made in another order of changes is no contradiction.
        if region.main and region.unit and by_main != by_unit:
            return Refused("both sides changed the same lines")
        merged += [*triple.base[at : region.start], *(by_main if region.main else by_unit)]
        at = region.stop
    return (*merged, *triple.base[at:])


def _prefer(conflict: FileConflict, side: Side) -> Resolved | Refused:
    """Merge as git does and give each conflicting hunk to ``side``; a file that both added is one hunk."""
    name = f"{side}-side"
    triple = open_lines(conflict, name)
    if not isinstance(triple, Triple):
        return triple
    main, unit = diff_lines(triple.base, triple.main), diff_lines(triple.base, triple.unit)
    if main is None or unit is None:
        return Refused(TOO_DIFFERENT)
    merged: list[bytes] = []
    dropped: list[Dropped] = []
    final, at = triple.final, 0
    winner = conflict.main if side == "main" else conflict.unit
    for region in group_regions(main, unit):
        merged += triple.base[at : region.start]
        at = region.stop
        by_main, by_unit = (region_text(region, triple.base, changes) for changes in (region.main, region.unit))
        chosen = by_main if region.main and (side == "main" or not region.unit) else by_unit
        merged += chosen
        # Nobody loses anything here.
        if not region.main or not region.unit or by_main == by_unit:
            continue
        dropped += _lost(triple, region, side, chosen)
        if region.stop == len(triple.base):
            # The last line is part of the hunk, and so is whether it ends.
            final = winner.endswith(b"\n")
    merged += triple.base[at:]
    # Both added the file: it is one hunk, and the winner's bytes stay as they are, line ends included.
    text = winner if conflict.base is None else triple.render(tuple(merged), final=final)
    return Resolved(text, name, brought_lines(triple, merged), tuple(dropped))


def group_regions(main: Sequence[LineChange], unit: Sequence[LineChange]) -> list[Region]:
    """Group the changes of both sides that touch, directly or through another, as git makes its hunks."""
    regions: list[Region] = []
    for change, by_main in sorted(
        [(change, True) for change in main] + [(change, False) for change in unit],
        key=lambda pair: (pair[0].start, pair[0].stop),
    ):
        # Touching is enough: git joins hunks that have no base line between them, too.
        if not regions or change.start > regions[-1].stop:
            regions.append(Region(change.start, change.stop))
        region = regions[-1]
        region.stop = max(region.stop, change.stop)
        (region.main if by_main else region.unit).append(change)
    return regions


def region_text(region: Region, base: Sequence[bytes], changes: Sequence[LineChange]) -> list[bytes]:
    """Return the region as one side has it."""
    lines: list[bytes] = []
    at = region.start
    for change in changes:
        lines += [*base[at : change.start], *change.lines]
        at = change.stop
    return [*lines, *base[at : region.stop]]


def _lost(triple: Triple, region: Region, winner: Side, text: Sequence[bytes]) -> list[Dropped]:
    """List what the loser wrote or removed in a region and the winner's text does not have or still has."""
    loser: Side = "unit" if winner == "main" else "main"
    changes, others = (region.unit, region.main) if winner == "main" else (region.main, region.unit)
    # Texts too different to be paired: rather name a line that is kept than miss one that is lost.
    kept = {at for _, at in pair_lines(text, region_text(region, triple.base, changes)) or ()}
    # Where both sides removed a line, its removal is in the merge and was not dropped.
    removed_too = {i for other in others if not other.lines for i in range(other.start, other.stop)}
    lost: list[Dropped] = []
    offset = changes[0].first - (changes[0].start - region.start)
    for change in changes:
        for k, line in enumerate(change.lines):
            if change.first + k - offset not in kept:
                lost.append(Dropped(loser, change.first + k + 1, line))
        if not change.lines:
            still = (i for i in range(change.start, change.stop) if i not in removed_too)
            lost += (Dropped(loser, change.first + 1, triple.base[i], removal=True) for i in still)
    return lost

"""Where two versions of a file cannot both be had: the places in conflict, with the lines around them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gitprun.resolvers.base import SIZE_LIMIT, FileConflict, Refused, split_conflict
from gitprun.resolvers.changes import LineChange, diff_lines
from gitprun.resolvers.sides import Region, group_regions, region_text
from gitprun.resolvers.text import Triple

# Enough to see in which function or table a place is; the file itself lies in the workspace.
CONTEXT = 5
# Of a long side the beginning tells what it is; a line longer than a screen is no text to read.
MOST_LINES = 30
MOST_WIDTH = 160


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """The lines of one side in a place: ``line`` is the first (from 1), ``count`` how many there are.

    ``text`` is cut to what is shown.
    """

    line: int
    count: int
    text: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """One place in conflict; ``before`` and ``after`` are the lines around it, as the base (or main side) has them."""

    base: Span
    main: Span
    unit: Span
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Return how many characters it takes."""
        texts = (self.before, self.after, self.base.text, self.main.text, self.unit.text)
        return sum(len(line) + 1 for text in texts for line in text)


def find_hunks(conflict: FileConflict) -> tuple[Hunk, ...] | str:
    """Return the places both sides changed in different ways, in order; or why they cannot be told line by line."""
    # What no resolver reads is not paired for a report either.
    if max(map(len, (conflict.main, conflict.unit))) > SIZE_LIMIT:
        return "it is too large to be shown"
    triple = split_conflict(conflict)
    if isinstance(triple, Refused):
        return triple.reason
    main, unit = diff_lines(triple.base, triple.main), diff_lines(triple.base, triple.unit)
    if main is None or unit is None:
        return "the versions differ too much to be shown line by line"
    return tuple(
        _hunk(triple, region)
        for region in group_regions(main, unit)
        # Where one side changed something, or both alike, nobody has to choose.
        if region.main and region.unit and _texts_differ(triple, region)
    )


def _texts_differ(triple: Triple, region: Region) -> bool:
    return region_text(region, triple.base, region.main) != region_text(region, triple.base, region.unit)


def _hunk(triple: Triple, region: Region) -> Hunk:
    main = _span(region, triple.base, region.main)
    # Where both sides added the file there is nothing around: all of it is the place.
    return Hunk(
        base=Span(
            line=region.start + 1,
            count=region.stop - region.start,
            text=_shown(triple.base[region.start : region.stop]),
        ),
        main=main,
        unit=_span(region, triple.base, region.unit),
        before=_shown(triple.main[max(0, main.line - 1 - CONTEXT) : main.line - 1]),
        after=_shown(triple.main[main.line - 1 + main.count : main.line - 1 + main.count + CONTEXT]),
    )


def _span(region: Region, base: Sequence[bytes], changes: Sequence[LineChange]) -> Span:
    lines = region_text(region, base, changes)
    # Counted in the side's own lines, as an editor shows them, not in the base's.
    first = changes[0].first - (changes[0].start - region.start)
    return Span(line=first + 1, count=len(lines), text=_shown(lines))


def _shown(lines: Sequence[bytes]) -> tuple[str, ...]:
    """Decode lines, cut to what is shown."""
    shown = [line.decode("utf-8", "backslashreplace") for line in lines[:MOST_LINES]]
    shown = [line if len(line) <= MOST_WIDTH else f"{line[:MOST_WIDTH]}..." for line in shown]
    if len(lines) > MOST_LINES:
        shown.append(f"... and {len(lines) - MOST_LINES} lines more")
    return tuple(shown)

"""What a side changed: a line diff, deterministic and bounded in time."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

# Lines that both texts have but that found another place: beyond this the pairing costs too much to be worth it.
EDIT_LIMIT = 1000
# The box of a list item, of all three list marks of Markdown; text in brackets elsewhere, a link say, is no box.
_TICK = re.compile(rb"^(\s*(?:[-*+]|\d+[.)])\s+)\[[ xX]\](?=\s|$)")

Group = tuple[int, int, int, int]
# Runs of equal lines on a path through both texts, the last one first: (old line, new line, length, runs before).
Runs = tuple[int, int, int, "Runs | None"]
Path = tuple[int, "Runs | None"]


@dataclass(frozen=True, slots=True)
class LineChange:
    """Base lines [start, stop) became the side's lines [first, last), counted from 0."""

    start: int
    stop: int
    first: int
    last: int
    lines: tuple[bytes, ...]

    @property
    def adds(self) -> bool:
        """Check whether the change only adds lines."""
        return self.start == self.stop

    @property
    def in_place(self) -> bool:
        """Check whether each base line has its one successor."""
        return 0 < self.stop - self.start == self.last - self.first

    def touches(self, other: LineChange) -> bool:
        """Check whether the two share a base line or stand side by side, with no base line between."""
        return self.start <= other.stop and other.start <= self.stop

    def equals(self, other: LineChange) -> bool:
        """Check whether both sides made this very change."""
        return (self.start, self.stop, self.lines) == (other.start, other.stop, other.lines)


def diff_lines(base: Sequence[bytes], side: Sequence[bytes], *, early: bool = False) -> tuple[LineChange, ...] | None:
    """Diff two texts; None when they differ too much to be paired in bounded time.

    Where repeated lines leave a choice, changes stand as late in the file as they can (as git has them), or as
    early as they can on request: a merge that depends on the choice is a guess.
    """
    if not early:
        groups = _groups(base, side)
    else:
        mirrored = _groups(base[::-1], side[::-1])
        # The mirrored texts were diffed from their ends, so places are counted back and the groups turned round.
        n, m = len(base), len(side)
        groups = mirrored and [(n - b, n - a, m - d, m - c) for a, b, c, d in reversed(mirrored)]
    if groups is None:
        return None
    return tuple(LineChange(a, b, c, d, tuple(side[c:d])) for a, b, c, d in groups)


def split_items(changes: Sequence[LineChange], base: Sequence[bytes]) -> tuple[LineChange, ...]:
    """Split rewritten lines at list items that were merely ticked, so that what is new beside them stands alone."""
    return tuple(part for change in changes for part in _split_change(change, base))


def pair_lines(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]] | None:
    """Pair equal lines, in order and as many as possible; None when that takes too many edits."""
    # Most of two versions is alike at both ends: cutting that off makes the search short.
    shorter = min(len(old), len(new))
    head = 0
    while head < shorter and old[head] == new[head]:
        head += 1
    tail = 0
    while tail < shorter - head and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    middle_old, middle_new = old[head : len(old) - tail], new[head : len(new) - tail]
    # Lines that only one text has can never be paired; without them the search is short.
    in_old, in_new = set(middle_old), set(middle_new)
    # Places are kept beside the lines, for the pairs are told in the whole texts' numbers.
    kept_old = [i for i, line in enumerate(middle_old) if line in in_new]
    kept_new = [j for j, line in enumerate(middle_new) if line in in_old]
    found = _longest_common([middle_old[i] for i in kept_old], [middle_new[j] for j in kept_new])
    if found is None:
        return None
    pairs = [(k, k) for k in range(head)]
    pairs += [(head + kept_old[i], head + kept_new[j]) for i, j in found]
    pairs += [(len(old) - k, len(new) - k) for k in range(tail, 0, -1)]
    return pairs


def _longest_common(old: Sequence[Hashable], new: Sequence[Hashable]) -> list[tuple[int, int]] | None:
    """Find a longest common subsequence by Myers' greedy search (An O(ND) Difference Algorithm, 1986)."""
    n, m = len(old), len(new)
    paths: dict[int, Path] = {}
    for edits in range(min(n + m, EDIT_LIMIT) + 1):
        # Diagonals beyond the two texts' ends are left out; the parity of a diagonal is that of the edits.
        for diagonal in range(2 * max(0, edits - m) - edits, edits - 2 * max(0, edits - n) + 1, 2):
            origin = _furthest(paths, diagonal, n, m) if edits else (0, None)
            if origin is None:
                continue
            start, runs = origin
            x = start
            while x < n and x - diagonal < m and old[x] == new[x - diagonal]:
                x += 1
            if x > start:
                # Runs share their tails as linked cells: a list copied for each diagonal would cost edits times lines.
                runs = (start, start - diagonal, x - start, runs)
            paths[diagonal] = (x, runs)
        if paths.get(n - m, (-1, None))[0] == n:
            return _pairs(paths[n - m][1])
    return None


def _furthest(paths: dict[int, Path], diagonal: int, n: int, m: int) -> Path | None:
    """Extend a neighbouring path by one edit, an added line (from above) or a removed one (from the left).

    None when the neighbours already stand at the texts' edges: what lies beyond leads nowhere.
    """
    above, left = paths.get(diagonal + 1), paths.get(diagonal - 1)
    # That neighbour would step below the last line of the new text.
    if above is not None and above[0] - diagonal > m:
        above = None
    if left is not None and left[0] < n and (above is None or above[0] <= left[0]):
        return (left[0] + 1, left[1])
    return above


def _pairs(runs: Runs | None) -> list[tuple[int, int]]:
    pairs: list[tuple[int, int]] = []
    while runs is not None:
        x, y, length, runs = runs
        pairs += [(x + k, y + k) for k in range(length - 1, -1, -1)]
    return pairs[::-1]


def _groups(base: Sequence[bytes], side: Sequence[bytes]) -> list[Group] | None:
    pairs = pair_lines(base, side)
    if pairs is None:
        return None
    groups: list[Group] = []
    i = j = 0
    # The ends count as one more pair, so that what is changed at the very end of the file becomes a group too.
    for x, y in [*pairs, (len(base), len(side))]:
        if x > i or y > j:
            groups.append((i, x, j, y))
        i, j = x + 1, y + 1
    return _settle_late(groups, base, side)


def _settle_late(groups: list[Group], base: Sequence[bytes], side: Sequence[bytes]) -> list[Group]:
    """Move added and removed lines down past lines equal to them, until they meet the next change."""
    settled: list[Group] = []
    # From the end on: each change slides against one that has found its place already.
    for a, b, c, d in reversed(groups):
        while True:
            if settled and (b, d) == (settled[-1][0], settled[-1][2]):
                # Two changes that meet are one; kept apart, "side by side" would be read as two edits.
                _, b, _, d = settled.pop()
            elif b < len(base) and d < len(side) and _slides(a, b, c, d, base, side):
                a, b, c, d = a + 1, b + 1, c + 1, d + 1
            else:
                break
        settled.append((a, b, c, d))
    return settled[::-1]


def _slides(a: int, b: int, c: int, d: int, base: Sequence[bytes], side: Sequence[bytes]) -> bool:
    return side[c] == side[d] if a == b else c == d and base[a] == base[b]


def _split_change(change: LineChange, base: Sequence[bytes]) -> Iterator[LineChange]:
    old = [_TICK.sub(rb"\1[ ]", line) for line in base[change.start : change.stop]]
    new = [_TICK.sub(rb"\1[ ]", line) for line in change.lines]
    i = j = 0
    for x, y in [*(pair_lines(old, new) or []), (len(old), len(new))]:
        for a, b, c, d in ((i, x, j, y), (x, min(x + 1, len(old)), y, min(y + 1, len(new)))):
            if b > a or d > c:
                yield LineChange(
                    change.start + a, change.start + b, change.first + c, change.first + d, change.lines[c:d]
                )
        i, j = x + 1, y + 1

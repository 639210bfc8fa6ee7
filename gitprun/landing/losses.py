"""What one side changed, with nothing of the other against it, and a text made of both has no more; pure."""

from __future__ import annotations

from collections.abc import Sequence

from gitprun.resolvers.base import SIZE_LIMIT
from gitprun.resolvers.changes import LineChange, diff_lines


def is_text(*contents: bytes) -> bool:
    """Check whether contents are texts, and small enough to be compared by lines."""
    return not any(b"\0" in text or len(text) > SIZE_LIMIT for text in contents)


def lost_lines(base: bytes, one: bytes, other: bytes, made: bytes, now: bytes) -> int | None:
    """Tell of which side (0 or 1) a text that was made of two has the base's lines wherever that side alone had changed
    them, and still has some of them ``now``.

    Where both sides changed something side by side, whoever merged them had to choose. Who left a side's other changes
    out one and all did not look at it; who left out some of them did.
    """
    lines = base.splitlines(keepends=True)
    diffs = [diff_lines(lines, text.splitlines(keepends=True)) for text in (one, other, made, now)]
    if any(found is None for found in diffs):
        # Too different to be paired: only what is plain.
        return lost_alone((base, one, other, made, now))
    by_one, by_other, by_made, by_now = (found or () for found in diffs)
    for side, (changes, against) in enumerate(((by_one, by_other), (by_other, by_one))):
        quiet = [change for change in changes if not _touched(change, against)]
        if not any(_touched(change, by_made) for change in quiet) and not all(_touched(one, by_now) for one in quiet):
            return side
    return None


def _touched(change: LineChange, others: Sequence[LineChange]) -> bool:
    return any(change.touches(other) for other in others)


def lost_alone(values: Sequence[object]) -> int | None:
    """Tell which side's (0 or 1) new value, against nothing of the other's, is the base's again in every later one."""
    base, one, other, *later = values
    if one == other or any(value != base for value in later):
        return None
    return 0 if base == other else 1 if base == one else None

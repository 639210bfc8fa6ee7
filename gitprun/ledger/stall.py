"""When a worker counts as stalled: rules over what was seen of its output and its files, and when it was seen.

Only the clock that never jumps decides. Times of files are asked once, about what was before the first look at them,
and only while the wall clock has kept pace with the other one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gitprun.ledger.events import UnitState
from gitprun.ledger.rows import StallRow

# A clock that is kept in step over the network moves by less, one that was set or slept through by more.
STEP = 1.0
# Printed by codex while it waits for more of the prompt on a stdin that is still open.
WAITS = b"Reading additional input from stdin"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSight:
    """One look at a worker; ``at`` is a steady time in seconds, ``wall`` the same moment since 1970.

    ``output`` stands for the state of what it printed, ``files`` for that of its workspace and ``newest`` for the
    last change in there since 1970; None is what was not looked at or could not be told.
    """

    at: float
    wall: float
    output: object | None = None
    files: object | None = None
    newest: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Quiet:
    """Since when (steady time) nothing has come out of a worker, as far as it is known.

    ``files_since`` is None while its files have not been looked at since it last printed; ``skew`` is what the wall
    clock was ahead by when it did.
    """

    output_since: float
    skew: float
    output: object | None = None
    files: object | None = None
    files_since: float | None = None

    def for_seconds(self, at: float) -> float:
        """Return for how long there has provably been nothing."""
        return 0.0 if self.files_since is None else max(0.0, at - max(self.output_since, self.files_since))

    def wants_files(self, at: float, limit: float) -> bool:
        """Check whether it is time to look at the files: that costs more than a look at the output."""
        # Each look walks the whole workspace; from half the limit on there is still time to prove the other half.
        return at - self.output_since >= limit / 2


def watch_begins(at: float, wall: float) -> Quiet:
    """Begin to watch a worker."""
    return Quiet(output_since=at, skew=wall - at)


def observe(known: Quiet, sight: WorkerSight) -> Quiet:
    """Take in a look; what was not seen changes nothing."""
    if known.output is None:
        # Nothing to compare with yet.
        known = replace(known, output=sight.output)
    elif sight.output is not None and sight.output != known.output:
        return replace(watch_begins(sight.at, sight.wall), output=sight.output)
    if sight.files is None or sight.files == known.files:
        return known
    since = sight.at
    if known.files is None and abs(sight.wall - sight.at - known.skew) < STEP:
        # The first look at them: their own times say what was before it.
        since = min(sight.at, max(known.output_since, sight.at - (sight.wall - sight.newest)))
    return replace(known, files=sight.files, files_since=since)


def has_moved(before: Quiet, after: Quiet) -> bool:
    """Check whether something came of the worker between two looks."""
    touched = before.files is not None and after.files is not None and before.files != after.files
    return after.output_since != before.output_since or touched


def stall_row(known: Quiet, sight: WorkerSight, *, ends: bool, last: str, tail: bytes) -> StallRow:
    """Return a stall as it is written down: times in seconds, ``since`` on the wall clock."""
    quiet = known.for_seconds(sight.at)
    files = sight.at - known.files_since if known.files_since is not None else None
    return StallRow(
        quiet=round(quiet, 1),
        since=round(sight.wall - quiet, 3),
        output=round(sight.at - known.output_since, 1),
        files=None if files is None else round(files, 1),
        ends=ends,
        last=last,
        hint="it waits for input that never comes" if WAITS in tail else "",
    )


def stalled_for(unit: UnitState, now: float) -> float | None:
    """Return for how many seconds a unit has been stalled; None if it is not."""
    stall = unit.stalled
    if unit.state != "running" or stall is None:
        return None
    # The wall clock may have been set since.
    return max(stall.quiet, now - (stall.since or now))


def was_ended(unit: UnitState) -> bool:
    """Check whether a worker was told to end because it had stalled."""
    return unit.stalled is not None and unit.stalled.ends

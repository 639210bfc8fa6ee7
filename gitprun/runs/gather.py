"""Wait until result files have landed, and read what they say."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from gitprun.ledger.arrivals import (
    PATIENCE,
    FileSight,
    WatchedFile,
    Writer,
    breaks_off,
    first_look,
    is_certain,
    is_quiet,
    look_again,
)
from gitprun.model.contract import Result, parse_result
from gitprun.registry.state_folder import place_of
from gitprun.runs.dispatch_result import MAX_RESULT, finalize_unit
from gitprun.runs.writers import Writers
from gitprun.system.clock import Clock
from gitprun.system.files import read_plain


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How long to wait in all, how often to look, how long a file must be quiet; all in seconds."""

    timeout: float
    poll: float
    window: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """A result that has landed; ``certain`` says that its writer is known to have ended, not only that it is quiet."""

    path: str
    certain: bool
    result: Result
    folder: str = ""


@dataclass(slots=True)
class _Awaited:
    path: str
    unit: str
    watched: WatchedFile = field(default_factory=WatchedFile)
    seen: bool = False
    hopeless: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherCalls:
    """Whom a gathering asks and tells: who writes a file, what time it is, how to wait; what arrived, what to know."""

    writers: Writers
    clock: Clock
    wait: Callable[[float], object]
    arrived: Callable[[Arrival], None]
    say: Callable[[str], None]


def gather(paths: Sequence[str], pace: Pace, calls: GatherCalls, units: Sequence[str] = ()) -> int:
    """Wait for result files, tell of each as it lands, and return how many have not when the time is over.

    ``units`` are the ids that their headings must have, one for all or one for each (empty: as their writers say).
    Ends early only when none of the rest can come any more: then ``calls.say`` has heard why.
    """
    writers, clock = calls.writers, calls.clock
    began = clock.monotonic()
    ids = list(units) * len(paths) if len(units) == 1 else list(units) or [""] * len(paths)
    waiting = [_Awaited(path, unit) for path, unit in zip(paths, ids, strict=True)]
    while True:
        writers.look_again()
        left = []
        for one in waiting:
            arrival = _look(one, pace, writers, clock, calls.say)
            if arrival is None:
                left.append(one)
            else:
                calls.arrived(arrival)
        waiting = left
        remaining = pace.timeout - (clock.monotonic() - began)
        if not waiting or remaining <= 0 or all(one.hopeless for one in waiting):
            return len(waiting)
        # Not past the end of the time that was given.
        calls.wait(min(pace.poll, remaining))


def _look(one: _Awaited, pace: Pace, writers: Writers, clock: Clock, say: Callable[[str], None]) -> Arrival | None:
    """Look at one file; returns it once it has landed."""
    # The writer first: who ends after the file is looked at is found to have ended at the next look.
    writer, now = writers.writer_of(one.path), clock.monotonic()
    sight = read_sight(one.path)
    if not one.seen:
        one.watched, one.seen = first_look(sight, now=now, wall=clock.now()), True
    else:
        one.watched = look_again(one.watched, sight, now=now)
    if sight is None or sight.size == 0:
        _see_to_missing(one, writer, writers, say)
        return None
    certain = is_certain(one.watched, writer)
    if not certain and not is_quiet(one.watched, writer, now=now, window=pace.window):
        return None
    # read_plain stops at a link, and a caller may have named one on purpose.
    text = (read_plain(Path(os.path.realpath(one.path)), MAX_RESULT) or b"").decode("utf-8", "replace")
    if read_sight(one.path) != sight or not text:
        # It was written again while we read it.
        return None
    patient = is_quiet(one.watched, writer, now=now, window=pace.window * PATIENCE)
    # Half a result is quiet too, while its writer thinks.
    if not certain and not patient and breaks_off(text):
        return None
    return Arrival(
        path=place_of(one.path),
        certain=certain,
        result=read_result(text, one.unit or writer.unit),
        folder=writer.folder,
    )


def _see_to_missing(one: _Awaited, writer: Writer, writers: Writers, say: Callable[[str], None]) -> None:
    """See to a file that nobody will write: salvage for a killed dispatcher, or say that nothing will come."""
    orphan = writers.orphan_of(one.path)
    if orphan is not None:
        settled = finalize_unit(orphan.path)
        say(settled.problem or f"the dispatcher of {orphan.unit} was killed: its output was salvaged into {one.path}")
    elif writer.hopeless != one.hopeless:
        one.hopeless = writer.hopeless
        if one.hopeless:
            say(one.hopeless)


def read_sight(path: str) -> FileSight | None:
    """Look at a file through whatever links lead to it; None if there is no plain file."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return FileSight(found.st_ino, found.st_size, found.st_mtime_ns) if stat.S_ISREG(found.st_mode) else None


def read_result(text: str, unit: str) -> Result:
    """Read a result against the contract; where it is not known whose it must be, it is whose its heading says."""
    return parse_result(text, unit or parse_result(text, "").unit or "<unit-id>")

"""The ledger: one synced line an event in ``<common>/prun/ledger.jsonl``, written under a lock.

Its format is described in references/ledger.md.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Final

from gitprun.ledger.events import FORMAT, Event, History, decode, encode, fold, follows, is_newer
from gitprun.ledger.house_events import LedgerReserve, LedgerRestored, RunResumed, RunStarted
from gitprun.ledger.landing_events import LandingStarted, ResolveStarted, UndoStarted
from gitprun.ledger.unit_events import Payload, UnitPreparing, UnitQueued, WorkspaceMade
from gitprun.model.errors import PrunError
from gitprun.system.clock import Clock, SystemClock
from gitprun.system.files import locked
from gitprun.system.journal import FULL, MARK, Journal, ensure_reserve, mark_before, release_reserve

if TYPE_CHECKING:
    from gitprun.ledger.archive import Compaction

# What begins something: on a full disk nothing of the kind is written, so that there is room for the ends.
BEGINNINGS: Final = (
    RunStarted,
    RunResumed,
    UnitQueued,
    UnitPreparing,
    LandingStarted,
    UndoStarted,
    ResolveStarted,
    WorkspaceMade,
)
# What happened, and to which run and unit (empty: to none).
Row = tuple[Payload, str, str]


# Without slots: the fold over its events is kept in it.
@dataclass(frozen=True)
class Reading:
    """What a ledger says: its events, and the numbers of the lines (from 1) that could not be read.

    ``newer`` are the lines that a later version of git prun wrote: what they say is not known here.
    """

    events: tuple[Event, ...]
    unreadable: tuple[int, ...] = ()
    newer: tuple[int, ...] = ()

    @cached_property
    def history(self) -> History:
        """Return the fold over the events."""
        return fold(self.events)


class LedgerProblem(PrunError):
    """The ledger cannot be read or written."""


class Ledger:
    """The events of one repository, shared by everything that runs in it."""

    def __init__(self, state: Path, clock: Clock | None = None) -> None:
        self.path = state / "ledger.jsonl"
        self.lock = state / "locks" / "ledger.lock"
        self.reserve = state / "ledger.reserve"
        self.clock: Clock = clock or SystemClock()
        self.listeners: list[Callable[[Event], None]] = []
        self._journal = Journal(self.path, follows)
        self._reading = threading.Lock()
        self._file: tuple[int, int] | None = None
        # Where the last reading ended, and the bytes before it: an inode may be given to another file.
        self._at = self._lines = 0
        self._mark = b""
        self._events: list[Event] = []
        self._unreadable: list[int] = []
        self._newer: list[int] = []
        self._last: Reading | None = None

    def append(self, payload: Payload, *, run: str = "", unit: str = "") -> Event:
        """Write one event; when this returns it is on disk."""
        return self.append_all([(payload, run, unit)])[0]

    def append_all(self, rows: Sequence[Row]) -> tuple[Event, ...]:
        """Write events in one go; when this returns all are on disk.

        Raises LedgerProblem, and then none of them is. On a full disk the reserve is given up for the ends of what
        was begun; what begins something is refused until there is space again.
        """
        noted: list[Event] = []
        try:
            with locked(self.lock, doing="writing its ledger"):
                # The time is taken under the lock, so that the order of lines is the order of times.
                now = round(self.clock.now(), 6)
                events = tuple(Event(payload, now, run, unit) for payload, run, unit in rows)
                self._write(events, now, noted)
        except OSError as problem:
            raise self._unwritable(problem, rows) from None
        finally:
            # What was said of the reserve is on disk even where the events themselves were refused.
            self._tell(noted)
        self._tell(events)
        return events

    def _tell(self, events: Sequence[Event]) -> None:
        for event in events:
            for listener in self.listeners:
                listener(event)

    def _write(self, events: Sequence[Event], now: float, noted: list[Event]) -> None:
        """Write events, and before them what there is to say about the reserve (``noted``)."""

        begins = any(isinstance(event.payload, BEGINNINGS) for event in events)
        there = os.path.lexists(self.path)
        # An empty file in its place would look like a repository in which nothing was ever run.
        if not there and self._lines and not self._journal.is_known:
            raise LedgerProblem(f"the ledger {self.path} was deleted meanwhile", "put it back; nothing was written")
        before: list[Event] = []
        # Made again at a beginning only: at an end it may just have been given up for that end.
        if (begins or not there) and ensure_reserve(self.reserve) and there:
            before.append(Event(LedgerReserve(state="made again"), now))
        try:
            self._append([*before, *events])
        except OSError as problem:
            # Only a full disk is helped by space; where the reserve is gone already there is none to give.
            if problem.errno not in FULL or not release_reserve(self.reserve):
                raise
            kinds = tuple(sorted({event.kind for event in events}))
            error = os.strerror(problem.errno)
            before = [Event(LedgerReserve(state="released", error=error, kinds=kinds), now)]
            # Of a beginning only the note is written: the freed space is for the ends of what runs.
            self._append(before if begins else [*before, *events])
            if begins:
                noted.extend(before)
                raise
        noted.extend(before)

    def _append(self, events: Sequence[Event]) -> None:
        if self._journal.append(b"".join(map(encode, events)), last=self._require_known_format):
            self._journal.append(encode(Event(LedgerRestored(), events[0].time)), last=self._require_known_format)

    def _require_known_format(self, line: bytes) -> None:
        # A line of this format behind one of a later format would be folded by rules this version does not know.
        if is_newer(line) or self._newer:
            raise LedgerProblem(
                f"the ledger {self.path} was written by a newer git prun (its format is later than {FORMAT})",
                "use that version, or a newer one; nothing was written",
            )

    def _unwritable(self, problem: OSError, rows: Sequence[Row]) -> LedgerProblem:
        if problem.errno in FULL and any(isinstance(row[0], BEGINNINGS) for row in rows):
            return LedgerProblem(
                f"the disk is full, so nothing new is begun: {self.path} cannot be written",
                "free some space, then try again",
            )
        return LedgerProblem(
            f"the ledger {self.path} cannot be written: {problem.strerror}",
            "free some space, then try again" if problem.errno in FULL else "is it yours to write?",
        )

    def compact(self, *, days: float, dry_run: bool = False) -> Compaction:
        """Write every run that ended so many days ago and has no workspace as one line; what is read stays the same.

        What goes is kept compressed in ``<state>/archive``. A kill at any moment leaves the old ledger or the new one.
        """
        # Not needed by those who only read and write, and slow to load.
        from gitprun.ledger.archive import compact

        try:
            with locked(self.lock, doing="compacting its ledger"):
                return compact(
                    self.path, self._journal, now=self.clock.now(), days=days, dry_run=dry_run,
                    require_known=self._require_known_format,
                )  # fmt: skip
        except OSError as problem:
            raise self._unwritable(problem, ()) from None

    def stamp(self) -> tuple[int, int, int] | None:
        """Return what changes whenever the ledger does: those who follow it need not read it to know; None without one.

        A ledger that cannot be looked at is found out by reading it.
        """
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_ino, found.st_size, found.st_mtime_ns

    def read(self) -> Reading:
        """Read all events; a torn or altered line is passed over and its number reported.

        What was read before is remembered: a ledger only grows, so only its new lines are read again. Raises
        LedgerProblem where it cannot be read, or is gone although it was there.
        """
        with self._reading:
            while True:
                try:
                    with open(self.path, "rb", buffering=0) as source:
                        self._catch_up(source)
                        rest = source.read()
                    return self._take_in(rest)
                except FileNotFoundError:
                    # Never seen by this process: the first command in a repository finds none.
                    if not self._lines and not self._journal.is_known:
                        return Reading(())
                    if not self._put_back():
                        raise LedgerProblem(
                            f"the ledger {self.path} was deleted meanwhile", "a run that goes on puts it back"
                        ) from None
                except OSError as problem:
                    raise LedgerProblem(
                        f"the ledger {self.path} cannot be read: {problem.strerror}", "check its permissions"
                    ) from None

    def _put_back(self) -> bool:
        """Write a deleted ledger again, if this process still has it in reach."""
        with locked(self.lock, doing="writing its ledger"):
            # Another process may have put it back in the meantime, which is as good.
            return self._journal.restore() or os.path.lexists(self.path)

    def _catch_up(self, source: BinaryIO) -> None:
        """Stand where the last reading ended, or at the start if this is another file now, or not that far."""
        found = os.fstat(source.fileno())
        same = self._file == (found.st_dev, found.st_ino) and mark_before(source.fileno(), self._at) == self._mark
        if not same:
            self._file, self._at, self._lines = (found.st_dev, found.st_ino), 0, 0
            self._events, self._unreadable, self._newer = [], [], []
            self._mark, self._last = b"", None
        source.seek(self._at)

    def _take_in(self, rest: bytes) -> Reading:
        """Decode new lines; one without its end is reported and looked at again the next time."""
        whole, _, torn = rest.rpartition(b"\n")
        for line in whole.split(b"\n") if whole else ():
            self._lines += 1
            event = decode(line) if line else None
            if event is not None:
                self._events.append(event)
            elif line:
                (self._newer if is_newer(line) else self._unreadable).append(self._lines)
        taken = len(rest) - len(torn)
        self._at += taken
        self._mark = (self._mark + rest[max(0, taken - MARK) : taken])[-MARK:]
        unreadable = (*self._unreadable, self._lines + 1) if torn else tuple(self._unreadable)
        # Where nothing is new the last reading is still right, and has its history folded already.
        if self._last is None or taken or self._last.unreadable != unreadable:
            self._last = Reading(tuple(self._events), unreadable, tuple(self._newer))
        return self._last

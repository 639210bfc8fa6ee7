"""The ledger: one synced line an event in ``<common>/prun/ledger.jsonl``, written under a lock."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from gitprun.errors import PrunError
from gitprun.runs.events import Event, History, decode, encode, fold
from gitprun.system.clock import Clock, SystemClock
from gitprun.system.files import append_synced, locked


@dataclass(frozen=True, slots=True)
class Reading:
    """What a ledger says: its events, and the numbers of the lines (from 1) that could not be read."""

    events: tuple[Event, ...]
    unreadable: tuple[int, ...] = ()

    @property
    def history(self) -> History:
        """Fold the events."""
        return fold(self.events)


class LedgerProblem(PrunError):
    """The ledger cannot be read or written."""


class Ledger:
    """The events of one repository, shared by everything that runs in it."""

    def __init__(self, state: Path, clock: Clock | None = None) -> None:
        self.path = state / "ledger.jsonl"
        self.lock = state / "locks" / "ledger.lock"
        self.clock: Clock = clock or SystemClock()
        self.listeners: list[Callable[[Event], None]] = []
        self._reading = threading.Lock()
        self._file: tuple[int, int] | None = None
        self._at = self._lines = 0
        self._events: list[Event] = []
        self._unreadable: list[int] = []

    def append(self, kind: str, *, run: str = "", unit: str = "", facts: Mapping[str, Any] | None = None) -> Event:
        """Write one event; when this returns it is on disk."""
        return self.append_all([(kind, run, unit, facts or {})])[0]

    def append_all(self, rows: Sequence[tuple[str, str, str, Mapping[str, Any]]]) -> tuple[Event, ...]:
        """Write events (kind, run, unit, facts) in one go; when this returns all are on disk."""
        try:
            with locked(self.lock, doing="writing its ledger"):
                # The time is taken under the lock, so that the order of lines is the order of times.
                now = round(self.clock.now(), 6)
                events = tuple(Event(kind, now, run, unit, dict(facts)) for kind, run, unit, facts in rows)
                append_synced(self.path, b"".join(map(encode, events)))
        except OSError as problem:
            raise LedgerProblem(
                f"the ledger {self.path} cannot be written: {problem.strerror}",
                "is the disk full, or not yours to write?",
            ) from None
        for event in events:
            for listener in self.listeners:
                listener(event)
        return events

    def read(self) -> Reading:
        """Read all events; a torn or altered line is passed over and its number reported.

        What was read before is remembered: a ledger only grows, so only its new lines are read again.
        """
        with self._reading:
            try:
                with open(self.path, "rb") as source:
                    self._catch_up(source)
                    rest = source.read()
            except FileNotFoundError:
                return Reading(())
            except OSError as problem:
                raise LedgerProblem(
                    f"the ledger {self.path} cannot be read: {problem.strerror}", "check its permissions"
                ) from None
            return self._take_in(rest)

    def _catch_up(self, source: BinaryIO) -> None:
        """Stand where the last reading ended, or at the start if this is another file now, or a shorter one."""
        found = os.fstat(source.fileno())
        if self._file != (found.st_dev, found.st_ino) or found.st_size < self._at:
            self._file, self._at, self._lines = (found.st_dev, found.st_ino), 0, 0
            self._events, self._unreadable = [], []
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
                self._unreadable.append(self._lines)
        self._at += len(rest) - len(torn)
        unreadable = (*self._unreadable, self._lines + 1) if torn else tuple(self._unreadable)
        return Reading(tuple(self._events), unreadable)

"""The ledger: one synced line an event in ``<common>/prun/ledger.jsonl``, written under a lock."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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

    def append(self, kind: str, *, run: str = "", unit: str = "", facts: Mapping[str, Any] | None = None) -> Event:
        """Write one event; when this returns it is on disk."""
        try:
            with locked(self.lock, doing="writing its ledger"):
                # The time is taken under the lock, so that the order of lines is the order of times.
                event = Event(kind, round(self.clock.now(), 6), run, unit, dict(facts or {}))
                append_synced(self.path, encode(event))
        except OSError as problem:
            raise LedgerProblem(
                f"the ledger {self.path} cannot be written: {problem.strerror}",
                "is the disk full, or not yours to write?",
            ) from None
        for listener in self.listeners:
            listener(event)
        return event

    def read(self) -> Reading:
        """Read all events; a torn or altered line is passed over and its number reported."""
        try:
            lines = self.path.read_bytes().split(b"\n")
        except FileNotFoundError:
            return Reading(())
        except OSError as problem:
            raise LedgerProblem(
                f"the ledger {self.path} cannot be read: {problem.strerror}", "check its permissions"
            ) from None
        events, unreadable = [], []
        for number, line in enumerate(lines, 1):
            if not line:
                continue
            event = decode(line)
            if event is None:
                unreadable.append(number)
            else:
                events.append(event)
        return Reading(tuple(events), tuple(unreadable))

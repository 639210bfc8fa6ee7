"""A clock that leaps to the time it is asked to wait for, so that no test waits."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field


@dataclass(slots=True)
class LeapingClock:
    """Stands still but for leaps; ``leaps`` are the times that were waited for, ``on_leap`` hears each before."""

    wall: float = 1_800_000_000.0
    leaps: list[float] = field(default_factory=list)
    on_leap: list[threading.Event] = field(default_factory=list)

    def now(self) -> float:
        """Give the wall-clock time."""
        return self.wall

    def monotonic(self) -> float:
        """Give the same: only differences mean something."""
        return self.wall

    def sleep_until(self, until: float | None, wake: threading.Event) -> None:
        """Wait for real only where there is no time to leap to."""
        if until is None:
            wake.wait()
        elif until > self.wall:
            self.leaps.append(until)
            for event in self.on_leap:
                event.set()
            self.wall = until


class StuckClock(LeapingClock):
    """Never gets to the time: whoever waits, waits until he is woken."""

    def sleep_until(self, until: float | None, wake: threading.Event) -> None:
        """Wait for the event alone."""
        if until is not None:
            self.leaps.append(until)
            for event in self.on_leap:
                event.set()
        wake.wait()

"""The one place that asks what time it is."""

from __future__ import annotations

import threading
import time
from typing import Protocol

# A wait counts no time that the machine slept, so it is cut into such pieces; a wake-up so late does no harm.
LOOK_AGAIN = 30.0


class Clock(Protocol):
    """Wall-clock and monotonic time in seconds."""

    def now(self) -> float: ...

    def monotonic(self) -> float: ...


class Alarm(Clock, Protocol):
    """A clock that can also be waited on."""

    def sleep_until(self, until: float | None, wake: threading.Event) -> None: ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Return seconds since 1970, which may jump."""
        return time.time()

    def monotonic(self) -> float:
        """Return seconds that never go back; only differences mean something."""
        return time.monotonic()

    def sleep_until(self, until: float | None, wake: threading.Event) -> None:
        """Wait for an event, at most until a time in seconds since 1970; a machine that slept meanwhile is noticed."""
        while not wake.is_set():
            left = None if until is None else min(until - self.now(), LOOK_AGAIN)
            if left is not None and left <= 0:
                return
            wake.wait(left)


class SteadyClock(SystemClock):
    """The machine's clock as it was when this was made, and from then on at its own pace: setting it changes nothing.

    Time the machine slept through counts (Linux). For waits that are written down as times of day.
    """

    def __init__(self) -> None:
        self._ahead = time.time() - _since_boot()

    def now(self) -> float:
        """Return seconds since 1970, which never jump."""
        return self._ahead + _since_boot()


def _since_boot() -> float:
    # Goes on while the machine sleeps, which CLOCK_MONOTONIC does not.
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()

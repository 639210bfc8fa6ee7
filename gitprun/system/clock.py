"""The one place that asks what time it is."""

from __future__ import annotations

import time
from typing import Protocol


class Clock(Protocol):
    """Wall-clock and monotonic time in seconds."""

    def now(self) -> float: ...

    def monotonic(self) -> float: ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> float:
        """Give seconds since 1970, which may jump."""
        return time.time()

    def monotonic(self) -> float:
        """Give seconds that never go back; only differences mean something."""
        return time.monotonic()

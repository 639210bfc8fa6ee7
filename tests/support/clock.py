"""A clock that stands still until a test moves it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(slots=True)
class FakeClock:
    """Wall-clock and monotonic time, moved apart where a test wants the wall clock to jump."""

    wall: float = 1_800_000_000.0
    steady: float = 1_000.0

    def now(self) -> float:
        """Give the wall-clock time."""
        return self.wall

    def monotonic(self) -> float:
        """Give the time that never goes back."""
        return self.steady

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.wall += seconds
        self.steady += seconds

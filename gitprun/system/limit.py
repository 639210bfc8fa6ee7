"""A limit on the processor time our own code may take, so that a busy machine decides as a quiet one does."""

from __future__ import annotations

import signal
import threading
import time
from types import FrameType, TracebackType

from gitprun.model import budget
from gitprun.model.budget import BUDGET

# How often the clocks are read, in seconds.
TICK = 0.05
# So many times the limit may pass on the clock, for a block that waits instead of working.
PATIENCE = 10
_OWN = (__file__, budget.__file__)


class TimeLimit(BaseException):
    """The block did not end in time; no ``Exception``, so that nothing in the block takes it for its own."""


class limited:  # noqa: N801 (read as a verb: "with limited(2.0):")
    """End the block with TimeLimit after ``seconds`` of processor time, or ``PATIENCE`` times as many on the clock.

    Holds in the main thread only, where signals arrive; elsewhere the block runs unlimited. A block inside of another
    one ends by its own limit, the outer one right after it. Once the limit was raised, it is what comes out: whatever
    a library made of it (a C call turns it into SystemError, or loses it) is not believed.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        # Made beforehand: where one is on its way already, no function can be called to make another.
        self._late = TimeLimit(f"not done within {seconds:g} s of processor time")
        self._raised = False

    def __enter__(self) -> None:
        self._main = threading.current_thread() is threading.main_thread()
        if self._main:
            self._thread = threading.get_ident()
            self._began = time.thread_time(), time.monotonic()
            self._outer = BUDGET.is_over, BUDGET.end
            BUDGET.is_over, BUDGET.end = self.is_over, self.end
            self._handler = signal.signal(signal.SIGALRM, self._interrupt)
            # Again and again: one that is raised in a finalizer is lost.
            self._timer = signal.setitimer(signal.ITIMER_REAL, min(self._seconds, TICK), TICK)

    def __exit__(
        self, kind: type[BaseException] | None, problem: BaseException | None, at: TracebackType | None
    ) -> None:
        if not self._main:
            return
        signal.setitimer(signal.ITIMER_REAL, *self._timer)
        signal.signal(signal.SIGALRM, self._handler)
        BUDGET.is_over, BUDGET.end = self._outer
        if self._raised and problem is not self._late and (problem is None or isinstance(problem, Exception)):
            raise self._late from problem

    def is_over(self) -> bool:
        """Check whether the time is up; in another thread it never is."""
        if threading.get_ident() != self._thread:
            return False
        processor, clock = self._began
        used, passed = time.thread_time() - processor, time.monotonic() - clock
        return used >= self._seconds or passed >= PATIENCE * self._seconds

    def end(self) -> None:
        """Raise the limit, if the time is up and nobody forbids it."""
        if not BUDGET.held and self.is_over():
            self._raised = True
            raise self._late

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        # What enters and leaves blocks goes on to its end.
        if frame is None or frame.f_code.co_filename not in _OWN:
            self.end()

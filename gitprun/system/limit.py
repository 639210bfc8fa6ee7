"""A limit on the time our own code may take."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

AGAIN = 0.05


class TimeLimit(BaseException):
    """The block did not end in time; no ``Exception``, so that nothing in the block takes it for its own."""


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """End the block with TimeLimit after ``seconds``.

    Holds in the main thread only, where signals arrive; elsewhere the block runs unlimited. Blocks do not nest.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    within = True
    # Made beforehand: a parser may call back while the first one is still on its way, and then no function works.
    late = TimeLimit(f"not done within {seconds:g} s")

    def interrupt(number: int, frame: FrameType | None) -> None:
        if within:
            raise late

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        try:
            # Again and again: one that is raised in a finalizer is lost.
            signal.setitimer(signal.ITIMER_REAL, seconds, AGAIN)
            yield
        finally:
            within = False
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)

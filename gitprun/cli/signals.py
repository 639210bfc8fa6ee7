"""Ctrl-C and its kin while something runs: a request to stop, not an exception in the middle of a step."""

from __future__ import annotations

import contextlib
import signal
from collections.abc import Iterator

from gitprun.system.process import Stop


@contextlib.contextmanager
def signals_stop(stop: Stop) -> Iterator[list[int]]:
    """Turn Ctrl-C, TERM and a closed terminal into a request to stop; gives the signals that came."""
    caught: list[int] = []

    def on_signal(number: int, _frame: object) -> None:
        caught.append(number)
        stop.set()

    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        # Ignored means nohup: the run is meant to outlive the terminal.
        numbers.append(signal.SIGHUP)
    before = {number: signal.signal(number, on_signal) for number in numbers}
    try:
        yield caught
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)

"""Our own code gets so much time and no more."""

from __future__ import annotations

import signal
import threading

import pytest

from gitprun.system.limit import TimeLimit, limited


def test_what_does_not_end_is_ended() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with pytest.raises(TimeLimit, match=r"not done within 0\.02 s"), limited(0.02):
        _work_on()
    assert (signal.getsignal(signal.SIGALRM), signal.getitimer(signal.ITIMER_REAL)) == (before, (0.0, 0.0))


def test_what_ends_is_not() -> None:
    with limited(60):
        done = 1 + 1
    assert (done, signal.getitimer(signal.ITIMER_REAL)) == (2, (0.0, 0.0))


def test_an_error_of_the_block_comes_out() -> None:
    with pytest.raises(ValueError, match="mine"), limited(60):
        raise ValueError("mine")
    assert signal.getitimer(signal.ITIMER_REAL) == (0.0, 0.0)


def test_in_another_thread_nothing_is_limited() -> None:
    seen = []

    def work() -> None:
        with limited(0.001):
            seen.append(signal.getitimer(signal.ITIMER_REAL))

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [(0.0, 0.0)]


def _work_on() -> None:
    """Take every error for one of its own, and never end."""
    while True:
        try:
            sum(range(100))
        except Exception:
            continue

"""Ctrl-C and other signals: a request to stop, or the end of a command that has nothing to save.

A signal handler interrupts whatever runs, which may hold any lock; so the interpreter's own handler writes the number
of the signal into a pipe, and a thread of ours reads it there and does what is to be done.
"""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType

from gitprun.api.stopping import Stop, stops_everything
from gitprun.cli.console import say
from gitprun.model.errors import Interrupted, PrunError

# Git passes a terminal's Ctrl-C on to us, so each comes twice; nobody means two presses within half a second.
PRESS = 0.5
# How long a command that only has to unwind may take for it once it is asked a second time.
LAST_WORDS = 2.0
ANSWERS = ("stopping (press again to kill)", "killing")

Handler = Callable[[int, FrameType | None], None]


class CommandEnded(KeyboardInterrupt):
    """A signal ended the command; ``signal`` is its number."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.signal = number


class Presses:
    """Tells presses from the further signals of the same press."""

    def __init__(self) -> None:
        self._began: float | None = None

    def begins(self, now: float) -> bool:
        """Check whether a signal at ``now`` is a new press: it is, unless one began less than PRESS seconds ago."""
        if self._began is not None and now - self._began < PRESS:
            return False
        self._began = now
        return True


# When something last began to stop in good order: what still comes of that press must not end the command after it.
_answered = [float("-inf")]


@contextlib.contextmanager
def signals_stop(stop: Stop, *, quiet: bool = False) -> Iterator[list[int]]:
    """Turn Ctrl-C, TERM and a closed terminal into a request to stop; returns the signals that were presses.

    The first press is answered on stderr, unless ``quiet``. A PrunError that leaves the block after a press is told
    as an interruption. Signals reach the main thread only; elsewhere the block runs without them.
    """

    def pressed(number: int, caught: list[int]) -> None:
        _answered[0] = time.monotonic()
        caught.append(number)
        stop.set()
        if len(caught) <= len(ANSWERS) and not quiet:
            say(ANSWERS[len(caught) - 1])

    with _heard(stop, lambda *_: None, pressed) as caught:
        try:
            yield caught
        except PrunError as problem:
            if not caught or isinstance(problem, Interrupted):
                raise
            raise Interrupted(caught[0], problem.message, problem.hint) from problem


@contextlib.contextmanager
def signals_end() -> Iterator[list[int]]:
    """End whatever has nothing to save by the same signals: ``CommandEnded`` in the main thread, git's end elsewhere.

    A second press does not wait for that any longer than LAST_WORDS seconds.
    """
    over, stop, raised, began = threading.Event(), Stop(), [False], time.monotonic()

    def is_answered() -> bool:
        return _answered[0] >= began and time.monotonic() - _answered[0] < PRESS

    def on_signal(number: int, _frame: FrameType | None) -> None:
        # Once: what it interrupts is being cleaned up from here on.
        if not raised[0] and not is_answered():
            raised[0] = True
            raise CommandEnded(number)

    def pressed(number: int, caught: list[int]) -> None:
        if is_answered():
            return
        caught.append(number)
        stop.set()
        if len(caught) > 1 and not over.wait(LAST_WORDS):
            os._exit(128 + number)

    with _heard(stop, on_signal, pressed) as caught:
        try:
            yield caught
        finally:
            over.set()


@contextlib.contextmanager
def _heard(stop: Stop, handler: Handler, pressed: Callable[[int, list[int]], None]) -> Iterator[list[int]]:
    """Have ``pressed`` called, in a thread of its own, for each press while the block runs; returns its list."""
    caught: list[int] = []
    if threading.current_thread() is not threading.main_thread():
        with stops_everything(stop):
            yield caught
        return
    numbers = [signal.SIGINT, signal.SIGTERM]
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:
        # Ignored means nohup: the command is meant to outlive the terminal.
        numbers.append(signal.SIGHUP)
    ear, mouth = os.pipe()
    # A full pipe holds more than enough signals, and a handler must never wait.
    os.set_blocking(mouth, False)
    words = (ear, frozenset(numbers), lambda number: pressed(number, caught))
    listener = threading.Thread(target=_listen, args=words, name="prun-signals", daemon=True)
    listener.start()
    owner = os.getpid()
    _open.append((ear, mouth))
    wakeup = signal.set_wakeup_fd(mouth, warn_on_full_buffer=False)
    before = {number: signal.signal(number, handler) for number in numbers}
    try:
        with stops_everything(stop):
            yield caught
    finally:
        if os.getpid() == owner:
            for number, old in before.items():
                signal.signal(number, old)
            signal.set_wakeup_fd(wakeup, warn_on_full_buffer=False)
            _open.remove((ear, mouth))
            # With the last writer gone the listener reads what is left, and then the end.
            os.close(mouth)
            listener.join()
            os.close(ear)


def _listen(ear: int, numbers: frozenset[int], pressed: Callable[[int], None]) -> None:
    presses = Presses()
    while heard := os.read(ear, 512):
        for number in heard:
            if number in numbers and presses.begins(time.monotonic()):
                pressed(number)


_open: list[tuple[int, int]] = []


def _forget() -> None:
    """Make a forked child deaf to its parent's pipes: no thread of ours lives in there, and its signals are its own."""
    if not _open:
        return
    signal.set_wakeup_fd(-1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        if callable(signal.getsignal(number)):
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    while _open:
        for end in _open.pop():
            os.close(end)


os.register_at_fork(after_in_child=_forget)

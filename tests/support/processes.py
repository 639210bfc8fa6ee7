"""Programs that tests start and let run: with signals as a terminal would have them, and none outlives its test."""

from __future__ import annotations

import contextlib
import signal
import subprocess
from collections.abc import Sequence
from typing import Any

# What a shell ignores for what it starts with nohup or in the background; and what a program may have ignored itself.
HEARD = (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGUSR1, signal.SIGUSR2)
_started: list[subprocess.Popen[bytes]] = []


def hear_signals() -> None:
    """Let children hear every signal, whoever started the tests and whatever he ignores.

    A handler is not inherited: what this process goes on to ignore is as by default in each program it starts.
    """
    for number in HEARD:
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else _go_on)
    if signal.getsignal(signal.SIGCHLD) is signal.SIG_IGN:
        # Nobody could wait for a child.
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, HEARD)


def _go_on(number: int, frame: object) -> None:
    """Do nothing, as if it were ignored."""


def start_program(argv: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:
    """Start a program and let it run, at most until its test ends; options are those of Popen."""
    process = subprocess.Popen(argv, **options)
    _started.append(process)
    return process


def end_started() -> None:
    """End what a test left running, and close its pipes: a test that fails is the only one to fail."""
    while _started:
        process = _started.pop()
        if process.poll() is None:
            process.kill()
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        process.wait()

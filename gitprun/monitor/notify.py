"""A line on the desktop, through whatever the platform has for it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

from gitprun.supervisor.process import ProcessLimits, ProcessSpec, run, worker_environment

# A notifier that cannot reach its desktop hangs; the tick after this one must not be late.
TIMEOUT = 5.0
# The texts come as arguments: nothing in them is taken for script.
_SCRIPT = (
    "on run argv",
    "display notification (item 1 of argv) with title (item 2 of argv) subtitle (item 3 of argv)",
    "end run",
)


def find_notifier() -> Callable[[str, str, str], tuple[str, ...]] | None:
    """Find the platform's notifier on PATH; it turns body, title and subtitle into a command line."""
    if mac := shutil.which("osascript"):
        lines = tuple(word for line in _SCRIPT for word in ("-e", line))
        return lambda body, title, subtitle: (mac, *lines, body, title, subtitle)
    if free := shutil.which("notify-send"):
        return lambda body, title, subtitle: (free, "--", f"{title} {subtitle}", body)
    return None


def notify(words: tuple[str, ...]) -> None:
    """Run a notifier; that it fails is nobody's concern."""
    null = Path(os.devnull)
    program = ProcessSpec(argv=words, cwd=Path("/"), env=worker_environment({}), stdout=null)
    run(program, ProcessLimits(timeout=TIMEOUT, grace=1.0))

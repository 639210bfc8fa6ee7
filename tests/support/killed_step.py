"""Run a command that is killed right before the n-th thing it changes: ``python -m ... NUMBER FOLDER ARGS``."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.support.cli import program_environment

# What changes the disk or a ref from inside the program; git's own steps are between these.
WATCHED = ("rename", "replace", "unlink", "rmdir", "mkdir", "link")


def prun_and_die(folder: Path, number: int, *args: str) -> int:
    """Run ``git prun ARGS`` in a folder until its n-th step; gives the exit code (-9: it was killed)."""
    argv = [sys.executable, "-m", "tests.support.killed_step", str(number), str(folder), *args]
    root = Path(__file__).resolve().parents[2]
    done = subprocess.run(argv, cwd=root, env=program_environment(), check=False, timeout=120, capture_output=True)
    return done.returncode


def _watch(number: int) -> None:
    left = number

    def step() -> None:
        nonlocal left
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    def deadly(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **rest: Any) -> Any:
            step()
            return real(*args, **rest)

        return call

    for name in WATCHED:
        setattr(os, name, deadly(getattr(os, name)))
    from gitprun.git import refs
    from gitprun.ledger.ledger import Ledger

    Ledger.append_all = deadly(Ledger.append_all)  # type: ignore[method-assign]
    for name in ("move_ref", "delete_ref"):
        setattr(refs, name, deadly(getattr(refs, name)))


if __name__ == "__main__":
    _watch(int(sys.argv[1]))
    from gitprun.cli.main import run_cli

    sys.exit(run_cli(["-C", *sys.argv[2:]]))

"""Run a plan in a process of its own that kills itself at a chosen event: ``python -m ... REPO KIND before|after``.

The plan is ``plan.toml`` beside the repository; ``KIND:2`` is the second event of that kind.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from gitprun.git.repo import find_repository
from gitprun.ledger.events import Event
from gitprun.ledger.ledger import Ledger, Row
from gitprun.model.plan import Settings
from gitprun.runs.context import Coordinator
from gitprun.runs.dispatch import run_plan
from gitprun.supervisor.process import Stop
from gitprun.system.config import read_plan
from tests.support.cli import program_environment
from tests.support.repos import Repo


class DeadlyLedger(Ledger):
    """Kills its process when a certain event is to be written, or has been."""

    def __init__(self, state: Path, kind: str, when: str) -> None:
        super().__init__(state)
        self.kind, self.when = kind, when
        self.seen: Counter[str] = Counter()

    def append_all(self, rows: Sequence[Row]) -> tuple[Event, ...]:
        """Write events, if that is lived to see."""
        found = False
        for kind in (payload.kind for payload, _, _ in rows):
            self.seen[kind] += 1
            found = found or f"{kind}:{self.seen[kind]}" in (self.kind, f"{self.kind}:1")
        if found and self.when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        events = super().append_all(rows)
        if found and self.when == "after":
            os.kill(os.getpid(), signal.SIGKILL)
        return events


def run_and_die(repo: Repo, kind: str, when: str) -> int:
    """Start the run and wait for its end; gives the exit code."""
    argv = [sys.executable, "-m", "tests.support.killed_run", str(repo.path), kind, when]
    root = Path(__file__).resolve().parents[2]
    return subprocess.run(argv, cwd=root, env=program_environment(), check=False, timeout=120).returncode


def _main(path: str, kind: str, when: str) -> None:
    repository = find_repository(Path(path))
    ledger = DeadlyLedger(repository.state, kind, when)
    plan = read_plan(Path(path).parent / "plan.toml", Settings())
    run_plan(repository, plan, Coordinator(ledger=ledger, stop=Stop(), grace=0.1))


if __name__ == "__main__":
    _main(*sys.argv[1:])

"""Run as a program: put back what a worker changed, and be killed around the N-th event: repository, N, when.

``when`` is ``before`` or ``after`` the event is written.
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from gitprun.ledger.events import Event
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.unit_events import Payload
from gitprun.observe.snapshotter import find_damaged
from gitprun.recovery.undo_drift import put_back


class CountingLedger(Ledger):
    """Kills its process around one of the events it is to write."""

    def __init__(self, state: Path, number: int, when: str) -> None:
        super().__init__(state)
        self.left, self.when = number, when

    def append(self, payload: Payload, *, run: str = "", unit: str = "") -> Event:
        """Write an event, if that is lived to see."""
        self.left -= 1
        if self.left == 0 and self.when == "before":
            os.kill(os.getpid(), signal.SIGKILL)
        event = super().append(payload, run=run, unit=unit)
        if self.left == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return event


def main() -> None:
    """Put back and die."""
    folder, number, when = sys.argv[1:]
    repository = find_damaged(Path(folder))
    assert repository is not None
    put_back(repository, CountingLedger(repository.state, int(number), when), "u")


if __name__ == "__main__":
    main()

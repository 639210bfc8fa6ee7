"""One errand in a named workspace: what is asked of its worker, and what is told of it while it runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gitprun.git.refs import Signature
from gitprun.git.repo import Repository
from gitprun.ledger.events import UnitState
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.review import unit_folder
from gitprun.ledger.roster import NAMED
from gitprun.ledger.unit_events import UnitPart
from gitprun.model.plan import Settings
from gitprun.model.units import ExecutorSettings, Unit
from gitprun.runs.user_verify import PostVerify
from gitprun.supervisor.process import Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerErrand:
    """What is asked of a worker in a named workspace; ``unit`` has the slug as its id, ``log`` is appended to."""

    unit: Unit
    settings: ExecutorSettings
    level: int
    verify: PostVerify
    commit_failed: bool
    log: Path
    who: tuple[Signature, Signature]
    collect: Settings = field(default_factory=Settings)


@dataclass(slots=True)
class Session:
    """One errand while it is run."""

    repository: Repository
    ledger: Ledger
    place: UnitState
    errand: WorkerErrand
    say: Callable[[str], None]
    warn: Callable[[str], None]
    stop: Stop
    start: int = 0
    end: int = 0

    def note(self, payload: UnitPart) -> None:
        """Write one event."""
        self.ledger.append(payload, run=NAMED, unit=self.place.id)

    def tell(self, text: str) -> None:
        """Write a status line to stdout and into the log."""
        line = f"[wrapper {self.errand.unit.id}] {text}"
        with open(self.errand.log, "ab") as log:
            log.write(line.encode("utf-8", "replace") + b"\n")
        self.say(line)

    @property
    def folder(self) -> Path:
        """Name the folder that keeps what belongs to the workspace."""
        return unit_folder(self.repository.state, self.place)

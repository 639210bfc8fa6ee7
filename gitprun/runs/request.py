"""One request to a worker in a user workspace: what is asked of it, and what is said of it while it works."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gitprun.git.refs import Signature
from gitprun.git.repo import Repository
from gitprun.ledger.events import UnitState
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.retry_policy import RetryPolicy, read_retry_policy
from gitprun.ledger.review import unit_folder
from gitprun.ledger.roster import NAMED, flat
from gitprun.ledger.unit_events import UnitPart
from gitprun.model.plan import Settings
from gitprun.model.units import ExecutorSettings, Unit
from gitprun.runs.user_verify import PostVerify
from gitprun.runs.worker import limits_of
from gitprun.supervisor.process import ProcessLimits, Stop
from gitprun.system.clock import Alarm, SteadyClock


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerRequest:
    """What is asked of a worker in a user workspace.

    ``unit`` has the slug as its id, ``log`` is appended to, ``level`` is that of the commit message. ``settings`` are
    the project's, the command line over them: what a capture takes in, limits, stalls and retries.
    """

    unit: Unit
    executor: ExecutorSettings
    level: int
    verify: PostVerify
    commit_failed: bool
    log: Path
    who: tuple[Signature, Signature]
    settings: Settings = field(default_factory=Settings)

    @property
    def limits(self) -> ProcessLimits:
        """Return what bounds the worker, and its checks after it."""
        return limits_of(self.unit, self.settings)


@dataclass(slots=True)
class Session:
    """One request while it is worked on; ``code`` is the exit code it has come to so far."""

    repository: Repository
    ledger: Ledger
    place: UnitState
    request: WorkerRequest
    say: Callable[[str], None]
    warn: Callable[[str], None]
    stop: Stop
    clock: Alarm = field(default_factory=SteadyClock)
    code: int = 1

    def note(self, payload: UnitPart) -> None:
        """Write one event."""
        self.ledger.append(payload, run=NAMED, unit=self.place.id)

    def tell(self, text: str) -> None:
        """Write a status line to stdout and into the log."""
        line = f"[wrapper {self.request.unit.id}] {text}"
        with open(self.request.log, "ab") as log:
            log.write(line.encode("utf-8", "replace") + b"\n")
        self.say(line)

    @property
    def folder(self) -> Path:
        """Return the folder that keeps what belongs to the workspace."""
        return unit_folder(self.repository.state, self.place)

    @property
    def retries(self) -> RetryPolicy:
        """Return how often, and after how long, the worker is tried again."""
        return read_retry_policy(self.request.settings)


def temporary_of(session: Session, path: Path) -> Path:
    """Return the folder for temporary files of a worker here: beside all workspaces, whatever slashes its name has."""
    depth = session.place.id.count("/")
    return path.parents[depth] / ".tmp" / f"{flat(session.place.id)}-{os.getpid()}"


def close_line(log: Path) -> None:
    """End the worker's last line, so that ours begins one."""
    with open(log, "rb+") as target:
        if target.seek(0, os.SEEK_END):
            target.seek(-1, os.SEEK_END)
            if target.read(1) != b"\n":
                target.write(b"\n")

"""What the units of a run share, and what one attempt at a unit starts from."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gitprun.capture.capture import CaptureContext
from gitprun.capture.filters import read_allowed
from gitprun.executors.base import Progress
from gitprun.git.refs import Signature, open_repository
from gitprun.git.repo import Repository
from gitprun.ledger.events import UnitState
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.retry_policy import RetryPolicy
from gitprun.ledger.unit_events import UnitPart, UnitWatched
from gitprun.model.errors import GitFailed, GitTimeout, PrunError
from gitprun.model.names import Oid, RunId
from gitprun.model.plan import DEFAULT_MAX_FILES, DEFAULT_MAX_TOTAL, Settings
from gitprun.model.units import DEFAULT_OUTPUT_MAX, Unit
from gitprun.observe.drift_observer import DriftObserver, author_of
from gitprun.observe.linked import begin_look, end_look
from gitprun.runs.stall_watch import StallWatch
from gitprun.supervisor.process import DEFAULT_GRACE, Stop
from gitprun.system.clock import Alarm, SystemClock
from gitprun.workspaces.base import Workspace
from gitprun.workspaces.clone import CloneSource
from gitprun.workspaces.gitdir import ensure_own_git


@dataclass(frozen=True, slots=True, kw_only=True)
class RunContext:
    """What all units of one run share; ``revision`` is what later attempts start from, as far as it has moved."""

    repository: Repository
    ledger: Ledger
    run: RunId
    base: Oid
    revision: str
    root: Path
    settings: Settings
    source: CloneSource
    who: tuple[Signature, Signature]
    max_file: int
    verify: tuple[str, ...]
    verify_timeout: float
    stop: Stop
    heard: Callable[[str, Progress], None]
    observer: DriftObserver | None = None
    grace: float = DEFAULT_GRACE
    output_max: int = DEFAULT_OUTPUT_MAX
    stalls: StallWatch = field(default_factory=StallWatch)
    retry_policy: RetryPolicy = field(default_factory=RetryPolicy)
    clock: Alarm = field(default_factory=SystemClock)

    def note(self, unit: Unit, payload: UnitPart) -> None:
        """Write one event of a unit."""
        self.ledger.append(payload, run=self.run, unit=unit.id)

    def folder(self, unit: Unit) -> Path:
        """Return the folder that keeps prompt, output and result of a unit."""
        return self.repository.state / "runs" / self.run / unit.id

    def begin_watch(self, unit: Unit, workspace: Workspace) -> None:
        """Look at the user's repository, and at what is linked of the checkout, right before a worker starts."""
        # What is linked in is the user's own: a change of it is a change of the checkout, whoever the link belongs to.
        begin_look(self._linked(unit), workspace.path, workspace.provided)
        note = self.observer.begin(author_of(self.run, unit.id, workspace)) if self.observer else ""
        if note:
            self.note(unit, UnitWatched(drift_note=note))

    def end_watch(self, unit: Unit) -> None:
        """Look at it again once its tree of processes ended: what changed is in the ledger after that."""
        if (linked := end_look(self._linked(unit))) is not None:
            self.note(unit, linked)
        try:
            if self.observer is not None:
                self.observer.end(f"{self.run}/{unit.id}")
        # A look that fails is told, and costs no unit its work.
        except PrunError as problem:
            self.note(unit, UnitWatched(drift_note=problem.message))

    def _linked(self, unit: Unit) -> Path:
        """Return the file of the look at what is linked."""
        return self.folder(unit) / "linked.json"

    @property
    def home(self) -> str:
        """Return the folder workers hear of as the user's repository."""
        return str(self.repository.top or self.repository.common)


def hear_nothing(_unit: str, _progress: Progress) -> None:
    """Ignore what workers do."""


def announce_nothing(_context: RunContext, _jobs: int) -> None:
    """Announce nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Coordinator:
    """The process that works on a run: where it writes down, what stops it, who hears of it.

    ``announce`` is called before the first worker starts, with how many work at once. ``clock`` and ``grace`` (seconds)
    are the machine's and the settings' unless a test has others.
    """

    ledger: Ledger
    stop: Stop
    heard: Callable[[str, Progress], None] = hear_nothing
    announce: Callable[[RunContext, int], None] = announce_nothing
    clock: Alarm | None = None
    grace: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStart:
    """What a run starts from: its base, the ``revision`` later attempts follow, and the folder for its workspaces."""

    base: Oid
    revision: str
    root: Path


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkItem:
    """One unit to be worked on.

    ``known`` is what an earlier attempt left (None: there was none), ``tried`` how often this process has tried,
    ``until`` the time before which it does not begin, ``attach`` that its worker was started by a coordinator
    that is gone: it is waited for and collected, and where it was lost tried again.
    """

    unit: Unit
    known: UnitState | None = None
    tried: int = 0
    until: float = 0.0
    attach: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt at a unit: what it starts from.

    ``known`` are commits of earlier attempts, which are no work of its worker; ``thread`` the conversation that
    is gone on with in the workspace as it is.
    """

    number: int
    base: Oid
    source: CloneSource
    known: frozenset[str] = frozenset()
    thread: str | None = None


def open_unit_capture(
    context: RunContext, attempt: Attempt, workspace: Workspace, fence: tuple[str, ...] = ()
) -> CaptureContext:
    """Open the place the work of an attempt is captured from; ``fence`` are the paths its unit is about."""
    settings, index = context.settings, workspace.index
    return CaptureContext(
        repository=context.repository,
        repo=open_repository(context.repository.common),
        workspace=workspace,
        base=attempt.base,
        max_file=context.max_file,
        max_total=settings.max_total or DEFAULT_MAX_TOTAL,
        max_files=settings.max_files or DEFAULT_MAX_FILES,
        own=ensure_own_git(context.repository, index, attempt.base, workspace.kind) if index else None,
        filters=settings.filters,
        secrets=settings.secrets is not False,
        fence=fence,
        known=attempt.source.tips | {attempt.base} | attempt.known,
        alternates=attempt.source.alternates,
    )


def modified(site: CaptureContext) -> set[str]:
    """List the tracked files that are not as they were captured."""
    words = ("ls-files", "-z", "--modified")
    try:
        found = read_allowed(site).git(site.git).run(*words)
    except (GitFailed, GitTimeout):
        # A filter does not work; without any, the files it is for look changed.
        found = site.git.run(*words)
    return {os.fsdecode(name) for name in found.fields}

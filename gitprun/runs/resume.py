"""Going on with a run whose coordinator is gone, or whose units failed: only what is missing is done."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from gitprun.git.command import require_git
from gitprun.git.repo import Repository, require_seen_checkout
from gitprun.ledger.events import RunState, UnitState
from gitprun.ledger.house_events import RunResumed
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.lookup import find_run, probe_unit
from gitprun.ledger.settings import Remembered, recall, reread_executors
from gitprun.ledger.unit_events import UnitRechecked
from gitprun.model.errors import OperationRefused, PrunError
from gitprun.model.names import Oid, RunId
from gitprun.model.plan import Settings
from gitprun.model.powers import started_by
from gitprun.model.units import Unit
from gitprun.registry.find import hold_unit
from gitprun.runs.context import Coordinator, RunContext, RunStart, WorkItem
from gitprun.runs.dispatch import (
    RunReport,
    choose_jobs,
    close_run,
    make_context,
    require_programs,
)
from gitprun.runs.pool import Pool
from gitprun.runs.recheck import could_not_run, recheck
from gitprun.supervisor.exit_record import PART
from gitprun.supervisor.process import RECORD, SPEC, ProcessIdentity, find_supervisor, is_gone, probe_identity
from gitprun.system.files import locked
from gitprun.workspaces.root import open_root
from gitprun.workspaces.trust import require_trusted


class Occupied(OperationRefused):
    """Another process works on the run: ``coordinator``."""

    def __init__(self, run: RunState, coordinator: ProcessIdentity) -> None:
        super().__init__(
            f"run {run.id} is still being worked on, by process {coordinator.pid}", f"git prun status {run.id} shows it"
        )
        self.run, self.coordinator = run, coordinator


class Over(OperationRefused):
    """The run has ended meanwhile."""


# What is done stays done; its work may wait for a person, but not for another worker.
OVER = frozenset({"ready", "done", "landed", "unverified"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """A run that was taken over: the units to work on, and what became of the others; ``files`` were read again.

    ``unchecked`` are those whose checks could not run, or were stopped: only these are asked again.
    """

    run: RunState
    revision: str
    settings: Settings
    items: tuple[WorkItem, ...]
    states: dict[str, str]
    files: tuple[str, ...]
    unchecked: tuple[WorkItem, ...] = ()

    @property
    def units(self) -> tuple[Unit, ...]:
        """Return the units to work on."""
        return tuple(item.unit for item in self.items)


def take_over(
    repository: Repository,
    ledger: Ledger,
    name: str | None,
    *,
    said: Settings,
    retry_empty: bool = False,
    unless_over: bool = False,
) -> Resumed:
    """Make this process the coordinator of a run (default: the last one); ``said`` is what the command line says.

    Raises Occupied where another one is at it: of two that try at once, one wins. With ``unless_over`` a run that
    has ended is left as it is, and Over raised.
    """
    require_git(repository.top or repository.common)
    require_seen_checkout(repository)
    with locked(repository.state / "locks" / "run.lock", doing="taking over a run"):
        run = find_run(ledger.read().history, name)
        require_alone(run)
        if unless_over and run.ended is not None:
            raise Over(f"run {run.id} has ended", f"git prun status {run.id} shows it")
        kept = recall(repository.state, run)
        settings, files = reread_executors(kept, repository.top)
        settings = said.over(settings)
        items, unchecked, states = _sort_units(repository, run, kept, retry_empty=retry_empty)
        units = [item.unit for item in items]
        # As at the start of a run: nobody becomes its coordinator to find out then that nothing can be started.
        require_programs(units, dict(settings.executors), repository.top or repository.common)
        require_trusted(repository, started_by(settings.powers, {unit.executor for unit in units}))
        if items or unchecked:
            me = probe_identity(os.getpid())
            ledger.append(RunResumed(coordinator=me, again=tuple(unit.id for unit in units)), run=run.id)
    return Resumed(
        run=run,
        revision=kept.revision,
        settings=settings,
        items=items,
        states=states,
        files=files if items else (),
        unchecked=unchecked,
    )


def resume_run(repository: Repository, resumed: Resumed, coordinator: Coordinator) -> RunReport:
    """Work on what is missing in a run that was taken over, and return the final states of all its units."""
    run, base = resumed.run, Oid(resumed.run.base)
    root = open_root(repository, str(run.root or resumed.settings.root or ""))
    start = RunStart(base=base, revision=resumed.revision, root=root)
    context = make_context(repository, resumed.settings, coordinator, RunId(run.id), start)
    if not resumed.items and not resumed.unchecked:
        return RunReport(run=context.run, base=base, root=root, states=resumed.states)
    jobs = choose_jobs(resumed.settings, len(resumed.items)) if resumed.items else 1
    coordinator.announce(context, jobs)
    states = dict(resumed.states)
    for item in resumed.unchecked:
        states[item.unit.id] = _check_again(context, run, item)
    if resumed.items:
        states |= Pool(context, jobs).run(resumed.items)
    return close_run(context, {name: states[name] for name in resumed.states})


def require_alone(run: RunState) -> None:
    """Raise Occupied where a coordinator works on a run, or may."""
    if run.ended is None and run.coordinator is not None and not is_gone(run.coordinator):
        raise Occupied(run, run.coordinator)


def _check_again(context: RunContext, run: RunState, item: WorkItem) -> str:
    """Ask the checks of a unit again and return its state; where that cannot be it stays what it was."""
    known = item.known
    assert known is not None
    if context.stop.is_set():
        return known.state
    try:
        # The checks run in its workspace: nobody may move or remove it meanwhile.
        with hold_unit(context.repository, known):
            return recheck(context, run, known, item.unit).state
    except PrunError as problem:
        note = f"its checks could not be asked again: {problem.message}"
        context.note(item.unit, UnitRechecked(check_notes=(note,)))
        return known.state


def _sort_units(
    repository: Repository, run: RunState, kept: Remembered, *, retry_empty: bool
) -> tuple[tuple[WorkItem, ...], tuple[WorkItem, ...], dict[str, str]]:
    """Return what is missing: the items to work on, those with a living worker first; the unchecked; all states."""
    items: list[WorkItem] = []
    unchecked: list[WorkItem] = []
    states: dict[str, str] = {}
    for unit in kept.units:
        known = run.units.get(unit.id)
        state = probe_unit(run, known).state if known else "queued"
        states[unit.id] = state
        # Only the checks failed to run: the work is there, and needs no second worker.
        if known is not None and could_not_run(known):
            unchecked.append(WorkItem(unit=unit, known=known))
        # A worker that changed nothing may have been right; who thinks otherwise says so.
        if state in OVER or (state == "empty" and not retry_empty):
            continue
        items.append(_work_item(repository, run, unit, known))
    return tuple(sorted(items, key=lambda item: not item.attach)), tuple(unchecked), states


def _work_item(repository: Repository, run: RunState, unit: Unit, known: UnitState | None) -> WorkItem:
    if known is None or known.attempt == 0:
        return WorkItem(unit=unit, known=known)
    if known.state == "waiting":
        return WorkItem(unit=unit, known=known, until=float(known.until or 0.0))
    if known.state == "broken" and known.exit is not None and known.exit.survivors and not known.captured:
        # Its processes could not be ended then: its work is still to be captured.
        return WorkItem(unit=unit, known=known, attach=bool(known.path))
    if not known.live or not known.path:
        return WorkItem(unit=unit, known=known)
    return WorkItem(unit=unit, known=known, attach=_was_started(repository.state / "runs" / run.id / unit.id, known))


def _was_started(folder: Path, known: UnitState) -> bool:
    """Check whether a worker was ever started, although its coordinator was killed before it could say so."""
    if known.started is not None:
        return True
    try:
        # The supervisor goes on only if it was the one to take its orders away: now it never will.
        os.unlink(folder / SPEC)
    except FileNotFoundError:
        there = ((folder / RECORD).exists(), (folder / (RECORD + PART)).exists(), find_supervisor(folder) is not None)
        return any(there)
    return False

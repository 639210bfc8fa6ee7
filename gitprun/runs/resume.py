"""Going on with a run whose coordinator is gone, or whose units failed: only what is missing is done."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import asdict, dataclass

from gitprun.errors import Refused
from gitprun.executors.base import Progress
from gitprun.git.command import require_git
from gitprun.git.repo import Repository
from gitprun.names import Oid, RunId
from gitprun.plan import Settings
from gitprun.runs.context import Piece, RunContext
from gitprun.runs.dispatch import (
    RunReport,
    announce_nothing,
    choose_jobs,
    close_run,
    hear_nothing,
    make_context,
    open_root,
    require_programs,
)
from gitprun.runs.events import RunState, UnitState
from gitprun.runs.ledger import Ledger
from gitprun.runs.lookup import find_run, probe_unit
from gitprun.runs.pool import Pool
from gitprun.runs.remember import Remembered, recall, reread_executors
from gitprun.system.clock import Alarm
from gitprun.system.files import locked
from gitprun.system.process import Identity, Stop, find_warden, is_alive, probe_identity, read_exit
from gitprun.units import Unit
from gitprun.workspaces.trust import require_trusted

# What is done stays done; its work may wait for a person, but not for another worker.
OVER = frozenset({"ready", "done", "landed", "unverified"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Resumed:
    """A run that was taken over: the units to work on, and what became of the others; ``files`` were read again."""

    run: RunState
    revision: str
    settings: Settings
    pieces: tuple[Piece, ...]
    states: dict[str, str]
    files: tuple[str, ...]

    @property
    def units(self) -> tuple[Unit, ...]:
        """Give the units to work on."""
        return tuple(piece.unit for piece in self.pieces)


def take_over(
    repository: Repository, ledger: Ledger, name: str | None, *, said: Settings, retry_empty: bool = False
) -> Resumed:
    """Make this process the coordinator of a run (default: the last one); ``said`` is what the command line says.

    Raises Refused where another one is at it: of two that try at once, one wins.
    """
    require_git(repository.top or repository.common)
    with locked(repository.state / "locks" / "run.lock", doing="taking over a run"):
        run = find_run(ledger.read().history, name)
        _require_alone(run)
        kept = recall(repository.state, run)
        settings, files = reread_executors(kept, repository.top)
        settings = said.over(settings)
        pieces, states = _sort(repository, run, kept, retry_empty=retry_empty)
        units = [piece.unit for piece in pieces]
        require_programs(units, dict(settings.executors), repository.top or repository.common)
        require_trusted(repository, settings.setup or ())
        if pieces:
            me = probe_identity(os.getpid())
            facts = {"coordinator": asdict(me) if me else {}, "again": [unit.id for unit in units]}
            ledger.append("run.resumed", run=run.id, facts=facts)
    return Resumed(
        run=run, revision=kept.revision, settings=settings, pieces=pieces, states=states, files=files if pieces else ()
    )


def resume_run(
    repository: Repository,
    resumed: Resumed,
    *,
    ledger: Ledger,
    stop: Stop,
    heard: Callable[[str, Progress], None] = hear_nothing,
    announce: Callable[[RunContext, int], None] = announce_nothing,
    clock: Alarm | None = None,
    grace: float | None = None,
) -> RunReport:
    """Work on what is missing in a run that was taken over, and give the final states of all its units."""
    run, base = resumed.run, Oid(resumed.run.base)
    root = open_root(repository, str(run.facts.get("root") or resumed.settings.root or ""))
    context = make_context(
        repository,
        resumed.settings,
        ledger=ledger,
        run=RunId(run.id),
        base=base,
        revision=resumed.revision,
        root=root,
        stop=stop,
        heard=heard,
        clock=clock,
        grace=grace,
    )
    if not resumed.pieces:
        return RunReport(run=context.run, base=base, root=root, states=resumed.states)
    jobs = choose_jobs(resumed.settings, len(resumed.pieces))
    announce(context, jobs)
    states = resumed.states | Pool(context, jobs).run(resumed.pieces)
    return close_run(context, {name: states[name] for name in resumed.states})


def _require_alone(run: RunState) -> None:
    record = run.facts.get("coordinator")
    if run.ended is None and record and is_alive(Identity(**record)):
        raise Refused(
            f"run {run.id} is still being worked on, by process {record['pid']}", f"git prun status {run.id} shows it"
        )


def _sort(
    repository: Repository, run: RunState, kept: Remembered, *, retry_empty: bool
) -> tuple[tuple[Piece, ...], dict[str, str]]:
    """Tell what is missing; gives the pieces to work on, those with a living worker first, and all states."""
    pieces: list[Piece] = []
    states: dict[str, str] = {}
    for unit in kept.units:
        known = run.units.get(unit.id)
        state = probe_unit(run, known).state if known else "queued"
        states[unit.id] = state
        if state in OVER or (state == "empty" and not retry_empty):
            continue
        pieces.append(_piece(repository, run, unit, known))
    return tuple(sorted(pieces, key=lambda piece: not piece.attach)), states


def _piece(repository: Repository, run: RunState, unit: Unit, known: UnitState | None) -> Piece:
    if known is None or known.attempt == 0:
        return Piece(unit=unit, known=known)
    if known.state == "waiting":
        return Piece(unit=unit, known=known, until=float(known.facts.get("until") or 0.0))
    if not known.live or not known.facts.get("path"):
        return Piece(unit=unit, known=known)
    folder = repository.state / "runs" / run.id / unit.id
    started = known.started is not None or read_exit(folder / "exit.json") or find_warden(folder)
    return Piece(unit=unit, known=known, attach=bool(started))

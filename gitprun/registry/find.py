"""Find the workspace a name means, list all there are, and have one for oneself."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from gitprun.git.repo import Repository
from gitprun.ledger.events import History, RunState, UnitState
from gitprun.ledger.ledger import Reading
from gitprun.ledger.lookup import find_unit, probe_unit
from gitprun.ledger.probe import probe_named
from gitprun.ledger.roster import NAMED, roster
from gitprun.model.errors import OperationRefused, UsageProblem
from gitprun.registry.open_workspace import alone
from gitprun.system.files import LockBusy, locked


def find_workspace(history: History, named: RunState, name: str) -> tuple[RunState, UnitState]:
    """Find the unit, or the named workspace, that a name means; ``named/NAME`` is always the latter."""
    own = named.units.get(name.removeprefix(f"{NAMED}/"))
    if own is None:
        unit = find_unit(history, name)
        return history.runs[unit.run], unit
    # Whoever removes or stops by that name would hit one of two things.
    if name == own.id and any(name in run.units for run in history.runs.values()):
        raise UsageProblem(f"{name} is a unit of a run and a named workspace too", f"say {NAMED}/{name}, or RUN/{name}")
    return named, own


def name_of(unit: UnitState) -> str:
    """Write the name people use for a workspace: ``RUN/UNIT``, or its own."""
    return unit.id if unit.run == NAMED else f"{unit.run}/{unit.id}"


@contextmanager
def held(repository: Repository, run: RunState, unit: UnitState) -> Iterator[None]:
    """Keep everybody else from a workspace; raises OperationRefused while somebody works in it, or on it."""
    if run.id == NAMED:
        with alone(repository, unit):
            yield
        return
    name = name_of(unit)
    if probe_unit(run, unit).live:
        raise OperationRefused(f"{name} is still {unit.state}", f"git prun stop {name}, or wait")
    with hold_unit(repository, unit):
        yield


@contextmanager
def hold_unit(repository: Repository, unit: UnitState) -> Iterator[None]:
    """Hold the workspace of a unit: nobody else moves or removes it meanwhile.

    Raises OperationRefused when somebody does.
    """
    lock = repository.state / "runs" / unit.run / unit.id / "remove.lock"
    try:
        with locked(lock, timeout=0.0, doing=f"with the workspace of {name_of(unit)}"):
            yield
    except LockBusy as problem:
        raise OperationRefused(problem.message, problem.hint) from None


def require_workspace(unit: UnitState) -> None:
    """Refuse a unit that has no workspace (any more)."""
    if unit.removed or not unit.path:
        raise OperationRefused(f"{name_of(unit)} has no workspace", "git prun workspace list shows those there are")


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceRecord:
    """One workspace; ``state`` is its unit's, ``orphan`` (nobody knows it) or ``yours`` (a worktree prun never made).

    ``there`` tells whether its folder is the one prun made; ``ahead`` counts commits of its own, ``dirty`` files that
    are in no commit of prun's (None: that cannot be told), ``size`` is in bytes.
    """

    name: str
    run: str = ""
    unit: str = ""
    kind: str
    state: str
    path: str
    there: bool = True
    branch: str | None = None
    base: str | None = None
    since: float | None = None
    locked: str | None = None
    ahead: int | None = None
    dirty: int | None = None
    size: int | None = None
    note: str = ""


def workspaces_of(reading: Reading) -> list[tuple[RunState, UnitState]]:
    """List the units and named workspaces that have a workspace, with their real states."""
    rows = [(run, probe_unit(run, unit)) for run in reading.history.runs.values() for unit in run.units.values()]
    known = roster(reading.events)
    rows += [(known, probe_named(unit)) for unit in known.units.values()]
    return [(run, unit) for run, unit in rows if unit.there]

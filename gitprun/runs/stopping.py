"""Asking what is at work to stop, from another process: whole runs, one unit, a worker whose coordinator is gone."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from gitprun.ledger.events import RunState, UnitState
from gitprun.ledger.house_events import RunStopAsked
from gitprun.ledger.ledger import Ledger, Reading
from gitprun.ledger.lookup import probe_unit
from gitprun.ledger.probe import probe_named
from gitprun.ledger.roster import NAMED, roster
from gitprun.ledger.rows import StopRow
from gitprun.ledger.unit_events import UnitStopAsked
from gitprun.model.errors import OperationRefused, PrunError
from gitprun.observe.processes import live_identity
from gitprun.supervisor.process import ProcessIdentity, ask_to_end, find_supervisor, is_gone, probe_identity
from gitprun.system.stop import Stop

# Two requests nearer to each other than half a second are one press.
BETWEEN = 0.6
# Somebody waits at a terminal.
LOOK_AGAIN = 0.1


@dataclass(frozen=True, slots=True)
class AtWork:
    """A run, one unit of it, or a named workspace, that somebody works on.

    ``coordinator`` is whom to ask, None where it is provably gone; ``supervisors`` are its living workers' by unit.
    """

    run: str
    unit: str
    coordinator: ProcessIdentity | None
    supervisors: Mapping[str, ProcessIdentity]

    @property
    def name(self) -> str:
        """Return its name as ``git prun stop`` takes it."""
        return f"{self.run}/{self.unit}" if self.unit else self.run


def find_at_work(ledger: Ledger, reading: Reading) -> list[AtWork]:
    """List the runs that somebody works on, then the named workspaces."""
    found = [_of_run(ledger, run) for run in reading.history.runs.values()]
    found += [_of_user_workspace(ledger, unit) for unit in roster(reading.events).units.values()]
    return [one for one in found if one is not None]


def find_unit_at_work(ledger: Ledger, run: RunState, unit: UnitState) -> AtWork | None:
    """Return a unit (or named workspace) if somebody works on it."""
    if run.id == NAMED:
        return _of_user_workspace(ledger, unit)
    coordinator, supervisor = live_identity(run.coordinator), _living_supervisor(ledger, unit)
    if not unit.live or (supervisor is None and (coordinator is None or run.ended is not None)):
        return None
    return AtWork(run.id, unit.id, coordinator, {unit.id: supervisor} if supervisor else {})


def find_run_at_work(ledger: Ledger, run: RunState) -> AtWork | None:
    """Return a run if somebody works on it."""
    return _of_run(ledger, run)


def _of_run(ledger: Ledger, run: RunState) -> AtWork | None:
    coordinator = live_identity(run.coordinator) if run.ended is None else None
    found = {unit.id: _living_supervisor(ledger, unit) for unit in run.units.values() if unit.live}
    supervisors: dict[str, ProcessIdentity] = {
        name: supervisor for name, supervisor in found.items() if supervisor is not None
    }
    return AtWork(run.id, "", coordinator, supervisors) if coordinator or supervisors else None


def _of_user_workspace(ledger: Ledger, unit: UnitState) -> AtWork | None:
    if not probe_named(unit).live:
        return None
    coordinator, supervisor = live_identity(unit.coordinator), _living_supervisor(ledger, unit)
    if coordinator is None and supervisor is None:
        return None
    return AtWork(NAMED, unit.id, coordinator, {unit.id: supervisor} if supervisor else {})


def _living_supervisor(ledger: Ledger, unit: UnitState) -> ProcessIdentity | None:
    """Find the living supervisor of a unit's worker, also of one that was killed before it could be written down."""
    # Written down once it ran; a pid alone could be anybody's by now.
    if unit.process:
        return live_identity(unit.process)
    if unit.live and unit.run != NAMED and unit.state in ("preparing", "running"):
        return find_supervisor(ledger.path.parent / "runs" / unit.run / unit.id)
    return None


def ask_to_stop(ledger: Ledger, work: AtWork, *, kill: bool) -> None:
    """Write down that it is asked, then ask: its coordinator as Ctrl-C does, or, where that is gone, its workers.

    With ``kill`` twice, which means KILL for the workers. Raises OperationRefused where nobody of it lives any more.
    """
    me = probe_identity(os.getpid())
    asked = StopRow(kill=kill, by=me)
    one_unit = work.unit and work.run != NAMED and work.coordinator is not None
    for number in range(2 if kill else 1):
        if number:
            time.sleep(BETWEEN)
        # Once is enough for the record; the second press is the signal alone.
        if number == 0 or one_unit:
            # For one unit of a run that is all: its coordinator follows the ledger, and the other units go on.
            ledger.append((UnitStopAsked if work.unit else RunStopAsked)(stop=asked), run=work.run, unit=work.unit)
        if one_unit:
            continue
        for who in (work.coordinator,) if work.coordinator else work.supervisors.values():
            ask_to_end(who)


def await_stop(ledger: Ledger, work: AtWork, stop: Stop, seconds: float) -> bool:
    """Wait until it has ended, so many seconds at most; returns whether it has."""
    over = _over(ledger, work)
    deadline = time.monotonic() + seconds
    while not over():
        if time.monotonic() >= deadline or stop.wait(LOOK_AGAIN):
            # It may have ended in the last moment of the wait.
            return over()
    return True


def _over(ledger: Ledger, work: AtWork) -> Callable[[], bool]:
    if work.coordinator is None:
        return lambda: all(map(is_gone, work.supervisors.values()))
    coordinator = work.coordinator
    if not work.unit or work.run == NAMED:
        return lambda: is_gone(coordinator)

    def unit_over() -> bool:
        run = ledger.read().history.runs[work.run]
        return is_gone(coordinator) or not probe_unit(run, run.units[work.unit]).live

    return unit_over


def require_not_ours(work: AtWork, environment: Mapping[str, str]) -> None:
    """Raise OperationRefused where a worker asks: it may end itself, but stops nobody."""
    # One worker must not end another one's work, nor the run it is judged by.
    if environment.get("PRUN_UNIT"):
        raise OperationRefused(f"a worker may not stop {work.name}", "end your own work by exiting")


def states_of(ledger: Ledger, work: AtWork) -> dict[str, str]:
    """Return the states of the units of what was stopped, as they are now."""
    reading = ledger.read()
    if work.run == NAMED:
        return {work.unit: probe_named(roster(reading.events).units[work.unit]).state}
    run = reading.history.runs.get(work.run)
    if run is None:
        raise PrunError(f"the ledger does not know {work.run} any more", "git prun ledger verify")
    units = [run.units[work.unit]] if work.unit else run.units.values()
    return {unit.id: probe_unit(run, unit).state for unit in units}

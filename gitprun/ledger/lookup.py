"""Find runs and units by the words people use for them, and tell what really lives."""

from __future__ import annotations

from gitprun.ledger.events import History, RunState, UnitState
from gitprun.model.errors import PrunError
from gitprun.model.names import is_run_id, nearest
from gitprun.supervisor.process import is_gone


class NotKnown(PrunError):
    """No run or unit of that name is in the ledger."""


def find_run(history: History, name: str | None) -> RunState:
    """Find a run by its id, or the last one."""
    if name is None:
        if history.last is None:
            raise NotKnown("nothing has been run in this repository yet", "git prun run plan.toml")
        return history.last
    if name not in history.runs:
        last = history.last.id if history.last else None
        raise NotKnown(
            f"there is no run {name!r}", f"the last one is {last}" if last else "nothing has been run here yet"
        )
    return history.runs[name]


def find_unit(history: History, name: str) -> UnitState:
    """Find a unit as ``UNIT`` (the newest run that has it) or ``RUN/UNIT``."""
    run, _, unit = name.rpartition("/")
    # The branch of a unit in its clone is called ``prun/RUN/UNIT``, and is often what people copy.
    run = run.removeprefix("prun/")
    if run and is_run_id(run):
        units = find_run(history, run).units
        if unit in units:
            return units[unit]
        raise NotKnown(f"run {run} has no unit {unit!r}", _hint(unit, set(units)))
    for state in reversed(list(history.runs.values())):
        if name in state.units:
            return state.units[name]
    raise NotKnown(f"no run has a unit {name!r}", _hint(name, {u for r in history.runs.values() for u in r.units}))


def _hint(word: str, known: set[str]) -> str:
    meant = nearest(word, known)
    return f"did you mean {meant!r}?" if meant else "git prun status lists the units"


def probe_unit(run: RunState, unit: UnitState) -> UnitState:
    """Return a unit with the state it really has: what no living process works on any more is ``lost``.

    A unit counts as lost only when its coordinator and its worker's supervisor are both provably gone.
    """
    if not unit.live:
        return unit
    for who in (run.coordinator, unit.process):
        if who is not None and not is_gone(who):
            return unit
    # Without a coordinator on record nobody can tell that it is gone.
    return unit.with_state("lost") if run.coordinator is not None else unit

"""A workspace as it is listed."""

from __future__ import annotations

from dataclasses import dataclass

from gitprun.ledger.events import RunState, UnitState
from gitprun.ledger.ledger import Reading
from gitprun.ledger.lookup import probe_unit
from gitprun.ledger.probe import probe_named
from gitprun.ledger.roster import roster


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

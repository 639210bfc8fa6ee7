"""Tell whether somebody is at work in a named workspace."""

from __future__ import annotations

from gitprun.ledger.events import RunState, UnitState
from gitprun.ledger.lookup import probe_unit
from gitprun.ledger.roster import NAMED


def probe_named(unit: UnitState) -> UnitState:
    """Return a workspace with the state it really has: what nobody works on any more is ``lost``."""
    return probe_unit(RunState(id=NAMED, coordinator=unit.coordinator), unit)

"""Tell whether somebody is at work in a named workspace."""

from __future__ import annotations

from gitprun.named.roster import NAMED
from gitprun.runs.events import RunState, UnitState
from gitprun.runs.lookup import probe_unit


def probe_named(unit: UnitState) -> UnitState:
    """Give a workspace with the state it really has: what nobody works on any more is ``lost``."""
    return probe_unit(RunState(NAMED, facts={"coordinator": unit.facts.get("coordinator")}), unit)

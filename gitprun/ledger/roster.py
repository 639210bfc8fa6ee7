"""Names of workspaces, and which there are: a fold over the ledger beside the one for runs.

Their events carry the run ``named``, which no ``run.started`` ever opens, so that runs know nothing of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from gitprun.ledger.events import Event, RunState, UnitState, step
from gitprun.ledger.record import field_names
from gitprun.ledger.unit_events import PlaceFacts, WorkspaceLocked, WorkspaceMade, WorkspaceRemoved, WorkspaceSetup
from gitprun.model.errors import PlanError
from gitprun.model.names import RunId, UnitId, is_run_id

NAMED: Final = RunId("named")
# A name becomes one part of a path, to which endings are added; file systems take 255 bytes.
MAX_NAME = 100
# What a workspace is, whatever is done in it.
LASTING: Final = field_names(PlaceFacts) | field_names(WorkspaceSetup) | field_names(WorkspaceLocked)

_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*")
# What refs and logs cannot take, and what Windows keeps for its devices.
_UNUSABLE = re.compile(r"(?i).*\.\..*|.*\.(?:lock|log)?|(?:con|prn|aux|nul|com[1-9]|lpt[1-9])(?:\..*)?")


def parse_name(text: str) -> UnitId:
    """Check the name of a workspace: parts of ``A-Z a-z 0-9 _ - .`` with slashes between them; raises PlanError."""
    parts = text.split("/")
    if len(text) > MAX_NAME or not all(_PART.fullmatch(part) and not _UNUSABLE.fullmatch(part) for part in parts):
        shown = text if len(text) <= MAX_NAME else text[:40] + "..."
        raise PlanError(
            f"{shown!r} cannot be the name of a workspace",
            f"letters, digits, _, - and dots inside, with slashes between them, at most {MAX_NAME} (wave1/reports)",
        )
    # ``RUN/UNIT`` and ``named/NAME`` are how all units are told apart, and ``prun/`` begins the branches of units.
    if is_run_id(parts[0]) or parts[0] in (NAMED, "prun"):
        raise PlanError(f"the name {text!r} would read like a unit of a run", "let it begin with another word")
    return UnitId(text)


def flat(name: str) -> str:
    """Return a name as one part of a path; no two names share it."""
    # No name holds a plus, so this can be undone.
    return name.replace("/", "+")


def roster(events: Iterable[Event]) -> RunState:
    """Compute which named workspaces there are, and what is known of each; pure."""
    units: dict[str, UnitState] = {}
    for event in events:
        if event.run != NAMED or not event.unit:
            continue
        if isinstance(event.payload, WorkspaceMade):
            # Made anew it starts from nothing: what was done in the folder before is not in this one.
            units[event.unit] = make_idle(UnitId(event.unit), event.payload, event.time)
        elif isinstance(event.payload, WorkspaceRemoved):
            units.pop(event.unit, None)
        elif event.unit in units:
            units[event.unit] = _step(units[event.unit], event)
    return RunState(id=NAMED, units=units)


def make_idle(name: UnitId, made: WorkspaceMade, time: float = 0.0) -> UnitState:
    """Return a named workspace in which nothing was done yet."""
    return UnitState(id=name, run=NAMED, state="idle", since=time).joined(made)


def _step(unit: UnitState, event: Event) -> UnitState:
    """Move one workspace on by one event; what it is outlives the errands that are done in it."""
    lasting = {name: value for name, value in unit.said() if name in LASTING}
    after = step(unit, event)
    return after.build({**lasting, **after.__dict__})


def colliding(name: str, known: Iterable[str]) -> str | None:
    """Find a name that is the same folder, or one inside the other (also where case does not count)."""
    own = name.lower()
    for other in known:
        theirs = other.lower()
        if own == theirs or own.startswith(f"{theirs}/") or theirs.startswith(f"{own}/"):
            return other
    return None

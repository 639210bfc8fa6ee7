"""What the ledger says prun itself did to refs and worktrees: that is no drift."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gitprun.ledger.events import Event
from gitprun.ledger.house_events import DriftSettled
from gitprun.ledger.landing_events import (
    Ends,
    LandingFinished,
    LandingLanded,
    LandingStarted,
    UndoFacts,
    UndoFinished,
    UndoStarted,
)
from gitprun.ledger.roster import NAMED, roster
from gitprun.ledger.unit_events import (
    Payload,
    PlaceFacts,
    UnitCaptured,
    WorkspaceMade,
    WorkspaceMoved,
    WorkspaceRemoved,
    WorkspaceRemoving,
)
from gitprun.observe.changes import OwnChanges, RepositorySnapshot

# How far a clock may have been set back between an event and a look.
SLACK = 5.0


def read_ours(
    events: Sequence[Event],
    looks: tuple[RepositorySnapshot, RepositorySnapshot],
    root: str,
    branches: Iterable[str] = (),
) -> OwnChanges:
    """Collect what prun did since the first of two looks; ``branches`` are those of the units at work."""
    since = looks[0].time - SLACK
    prepared = {place for event in events if event.unit and (place := _path(event.payload))}
    there = {place for look in looks for place in look.places.values()}
    # A worktree is registered before its unit's event is written, and taken back without any.
    young = {place for place in there if root and place.startswith(f"{root}/") and place not in prepared}
    return OwnChanges(
        refs=frozenset(f"refs/heads/{name}" for name in (*branches, *_named_branches(events, since)) if name),
        moves=frozenset(_moves(events, since)),
        places=frozenset(prepared | young),
        removed=frozenset(_removed(events) | young),
    )


def _moves(events: Iterable[Event], since: float) -> Iterable[tuple[str, str]]:
    """Collect the moves of refs that landings, undos and captures made or are about to make."""
    begun: dict[str, str] = {}
    found: set[tuple[str, str]] = set()
    for event in events:
        one = event.payload
        if isinstance(one, LandingStarted | UndoStarted):
            begun[one.target] = one.new
        elif isinstance(one, LandingFinished | UndoFinished):
            begun.pop(one.target, None)
        if event.time < since:
            continue
        if isinstance(one, Ends):
            found.update((one.target, oid) for oid in (one.new, one.old) if oid)
        elif isinstance(one, LandingLanded | UndoFacts) and one.commit:
            found.add((one.target, one.commit))
        elif isinstance(one, UnitCaptured) and event.run == NAMED and one.commit:
            found.add((one.ref or "", one.commit))
        elif isinstance(one, DriftSettled) and one.ref:
            found.add((one.ref, one.value))
    return found | set(begun.items())


def _named_branches(events: Sequence[Event], since: float) -> Iterable[str]:
    """Name the branches of named workspaces that are being made, worked in, or removed."""
    yield from (unit.branch or "" for unit in roster(events).units.values() if unit.live)
    for event in events:
        if event.run == NAMED and event.time >= since and isinstance(event.payload, WorkspaceMade):
            yield event.payload.branch or ""


def _path(payload: Payload) -> str:
    """Return the folder that an event names as the place of a unit."""
    return payload.path if isinstance(payload, PlaceFacts | WorkspaceMoved) else ""


def _removed(events: Iterable[Event]) -> set[str]:
    """Name the folders of worktrees that prun took away and did not make again."""
    places: dict[tuple[str, str], str] = {}
    removed: set[str] = set()
    for event in events:
        key = (event.run, event.unit)
        if place := _path(event.payload):
            places[key] = place
            removed.discard(place)
        if isinstance(event.payload, WorkspaceRemoving | WorkspaceRemoved) and key in places:
            removed.add(places[key])
    return removed

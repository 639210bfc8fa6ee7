"""What the ledger says prun itself did to refs and worktrees: that is no drift."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gitprun.ledger.drift_record import SETTLED
from gitprun.ledger.events import Event
from gitprun.ledger.roster import NAMED, roster
from gitprun.observe.changes import OwnChanges, RepositorySnapshot

BEGUN = ("landing.started", "undo.started")
OVER = ("landing.finished", "undo.finished")
GONE = ("workspace.removing", "workspace.removed")
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
    prepared = {str(event.facts["path"]) for event in events if event.unit and event.facts.get("path")}
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
        facts = event.facts
        target, new = str(facts.get("target", "")), str(facts.get("new") or facts.get("commit") or "")
        if event.kind in BEGUN:
            begun[target] = new
        elif event.kind in OVER:
            begun.pop(target, None)
        if event.time < since:
            continue
        if event.kind.startswith(("landing.", "undo.")):
            found.update((target, str(oid)) for oid in (new, facts.get("old")) if oid)
        elif event.kind == "unit.captured" and event.run == NAMED and facts.get("commit"):
            found.add((str(facts.get("ref", "")), str(facts["commit"])))
        elif event.kind == SETTLED and facts.get("ref"):
            found.add((str(facts["ref"]), str(facts.get("value", ""))))
    return found | set(begun.items())


def _named_branches(events: Sequence[Event], since: float) -> Iterable[str]:
    """Name the branches of named workspaces that are being made, worked in, or removed."""
    yield from (str(unit.facts.get("branch", "")) for unit in roster(events).units.values() if unit.live)
    for event in events:
        if event.run == NAMED and event.kind.startswith("workspace.") and event.time >= since:
            yield str(event.facts.get("branch", ""))


def _removed(events: Iterable[Event]) -> set[str]:
    """Name the folders of worktrees that prun took away and did not make again."""
    places: dict[tuple[str, str], str] = {}
    removed: set[str] = set()
    for event in events:
        key = (event.run, event.unit)
        if event.facts.get("path"):
            places[key] = str(event.facts["path"])
            removed.discard(places[key])
        if event.kind in GONE and key in places:
            removed.add(places[key])
    return removed

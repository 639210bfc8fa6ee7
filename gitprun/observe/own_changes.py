"""What prun itself did, as the ledger and the places of worktrees tell it: no drift, and no reason for a flag."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from gitprun.ledger.drift_findings import UNREADABLE, WORKTREES, Change, worktree_of
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
from gitprun.model.names import PRUN_BRANCHES, PRUN_REFS, is_run_id
from gitprun.observe.changes import CONFIGS, compare
from gitprun.observe.snapshot import RepositorySnapshot, entry_at

# How far a clock may have been set back between an event and a look: what time servers correct in one step is less.
SLACK = 5.0
# Branches of linked worktrees move when their unit commits; what lands of them is checked commit by commit.
OWN_REFS = (PRUN_REFS, f"refs/heads/{PRUN_BRANCHES}")


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnChanges:
    """What prun itself changes while workers work.

    ``refs`` are refs whose moves are nobody's drift (branches of units), ``moves`` single moves the ledger explains,
    ``places`` the folders of worktrees prun made, ``removed`` those of them that prun took away again.
    """

    refs: frozenset[str] = frozenset()
    moves: frozenset[tuple[str, str]] = frozenset()
    places: frozenset[str] = frozenset()
    removed: frozenset[str] = frozenset()

    def owns(self, ref: str) -> bool:
        """Check whether a ref is prun's to move."""
        return ref.startswith(OWN_REFS) or ref in self.refs

    def explains(self, ref: Change) -> bool:
        """Check whether prun moved a ref, or may have."""
        return self.owns(ref.name) or (ref.name, ref.new) in self.moves


def find_drift(before: RepositorySnapshot, after: RepositorySnapshot, ours: OwnChanges) -> tuple[Change, ...]:
    """Return what differs between two looks, counts as drift, and is not prun's own doing."""
    return tuple(one for one in compare(before, after) if _is_drift(one, before, after, ours))


def _is_drift(one: Change, before: RepositorySnapshot, after: RepositorySnapshot, ours: OwnChanges) -> bool:
    if one.kind == "ref":
        return not ours.explains(one)
    if one.kind == "info":
        # Settings are told key by key.
        return one.name not in CONFIGS
    if one.kind == "worktree" and not worktree_of(one.name):
        known = _place_of(one.old, one.new) in ours.places
        return not known or not (one.old in ("", UNREADABLE) or one.old in ours.removed)
    if one.kind == "worktree" and one.name.endswith("/config.worktree"):
        return False
    if one.kind == "checkout":
        # What is clean now may have been committed; what differs in the index alone does so because HEAD moved.
        return before.head == after.head or bool(one.new and one.new[1] != " ")
    if one.kind == "reflog" and ours.owns(one.name):
        return False
    return not _is_of_worktree(one.file if one.kind == "config" else one.name, before, after, ours)


def _is_of_worktree(name: str, before: RepositorySnapshot, after: RepositorySnapshot, ours: OwnChanges) -> bool:
    """Check whether something under ``worktrees/`` belongs to a worktree prun made, or to one that came or went."""
    entry = worktree_of(name)
    if not entry:
        return False
    if entry not in before.places or entry not in after.places:
        return True
    return _place_of(before.places[entry], after.places[entry]) in ours.places


def _place_of(was: str, now: str) -> str:
    """Return where a worktree was; a registration that was looked at while it was written says so only later."""
    return now if was in ("", UNREADABLE) else was


def user_heads(seen: RepositorySnapshot, root: str) -> dict[str, str]:
    """Return what is checked out in each worktree that is the user's: not in those of units, as they are made.

    A worktree of a unit (below ``root/RUN/``) whose worker went to a branch of the user's is told like the user's own.
    """
    return {name: head for name, head in seen.heads.items() if not _is_of_unit(seen, name, head, root)}


def _is_of_unit(seen: RepositorySnapshot, name: str, head: str, root: str) -> bool:
    if head.startswith(f"ref: refs/heads/{PRUN_BRANCHES}"):
        return True
    place = PurePath(entry_at(seen, name) if name.startswith(WORKTREES) else "")
    # Units of a run are on no branch of their own while they work; on one, somebody moved them there.
    detached = bool(head) and not head.startswith("ref: ")
    return detached and bool(root) and str(place.parent.parent) == root and is_run_id(place.parent.name)


def last_landings(events: Iterable[Event], since: float) -> frozenset[tuple[str, str]]:
    """Return where the last landing on each branch put it; it counts from the moment before it moves anything.

    Only the last: a branch that somebody puts back to an older landing has moved without us.
    """
    found: dict[str, set[str]] = {}
    for event in events:
        one = event.payload
        if event.time < since:
            continue
        if isinstance(one, LandingStarted | UndoStarted):
            found[one.target] = set()
        if isinstance(one, Ends):
            found.setdefault(one.target, set()).add(one.new)
        elif isinstance(one, LandingLanded | UndoFacts):
            found.setdefault(one.target, set()).add(one.commit)
    return frozenset((target, oid) for target, oids in found.items() for oid in oids)


def read_own_changes(
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
    # A landing that began before the look and is not over may move its branch at any moment.
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
    # A retry works in a folder of the same name: what was taken away and made again is there.
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

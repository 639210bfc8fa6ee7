"""Which lines of a ledger can go: a run that is over becomes one line; whatever is read from them stays the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from gitprun.ledger.events import Event, History, RunState, fold, read_sum, sum_run
from gitprun.ledger.held import read_held, spent_rows
from gitprun.ledger.house_events import LedgerCompacted, RunStarted, RunSummed, RunSummedEnd, VerifyPassed
from gitprun.ledger.roster import NAMED, roster
from gitprun.ledger.unit_events import WorkspaceMade, WorkspaceRemoved, WorkspaceRemoving, WorkspaceSetup

# Rows of other nouns are read by others too (landings by undo, say), and stay.
_OWN: Final = ("run.", "unit.", "workspace.")
# For an hour a landing that was cut off looks for what was proved.
_PROOF_HOLDS = 3600.0

_Place = tuple[int, Event]


@dataclass(frozen=True, slots=True)
class Condensed:
    """A shorter ledger: ``lines`` are numbers of lines (from 0) that stay as they are, and new events between them."""

    lines: tuple[int | Event, ...]
    gone: tuple[int, ...]
    runs: tuple[str, ...]


def condense(rows: Sequence[Event | None], before: float) -> Condensed:
    """Choose what can go of lines (None: unreadable) of which nothing happened since ``before``; pure.

    ``fold`` and ``roster`` give of the shorter ledger exactly what they give of this one.
    """
    places: dict[str, list[_Place]] = {}
    for number, event in enumerate(rows):
        if event is not None:
            places.setdefault(event.run, []).append((number, event))
    history = fold(event for event in rows if event is not None)
    # An unreadable line says nothing to anybody; the archive still has its bytes.
    gone = {number for number, event in enumerate(rows) if event is None}
    inserted: dict[int, list[Event]] = {}
    runs = [run for run in history.runs.values() if _can_go(run, places[run.id], before)]
    for run in runs:
        own = [number for number, event in places[run.id] if event.kind.startswith(_OWN)]
        gone.update(own)
        for number, event in _sum(run, places[run.id], frozenset(own)):
            inserted.setdefault(number, []).append(event)
    gone.update(number for number, event in places.get("", ()) if not event.unit and _is_spent(event, before))
    told = ((number, event) for number, event in enumerate(rows) if event is not None)
    gone.update(number for number in spent_rows(told) if (event := rows[number]) is not None and event.time < before)
    # No run is ever started as `named`; should a ledger hold one, its rows are a run's, and stay.
    if NAMED not in history.runs:
        gone.update(_forgotten(places.get(NAMED, ()), before))
    lines: list[int | Event] = []
    for number in range(len(rows)):
        if number not in gone:
            lines.append(number)
        lines.extend(inserted.get(number, ()))
    return Condensed(tuple(lines), tuple(sorted(gone)), tuple(run.id for run in runs))


def say_the_same(left: Sequence[Event], right: Sequence[Event]) -> bool:
    """Check whether two ledgers come to the same: runs, landings and named workspaces, and all in the same order."""
    one, other, ours, theirs = fold(left), fold(right), roster(left), roster(right)
    # Folds that are equal may differ in the order of their names, and people see lists in that order.
    same = one == other and ours == theirs and read_held(left) == read_held(right)
    return same and _names(one, ours) == _names(other, theirs)


def _names(history: History, named: RunState) -> list[tuple[str, list[str]]]:
    return [(run.id, list(run.units)) for run in (*history.runs.values(), named)]


def _can_go(run: RunState, places: Sequence[_Place], before: float) -> bool:
    """Check whether a run ended long ago, has no workspace left, and is more than one line."""
    # One young row is enough to keep all of them, be it of a landing: somebody still works with this run.
    if run.ended is None or run.id == NAMED or any(event.time >= before for _, event in places):
        return False
    if any(unit.live or unit.there for unit in run.units.values()):
        return False
    own = (event for _, event in places if event.kind.startswith(_OWN))
    # A run that is one line already would be found, and written anew, at every compaction.
    return not all(isinstance(event.payload, RunSummed | RunSummedEnd) for event in own)


def _sum(run: RunState, places: Sequence[_Place], own: frozenset[int]) -> list[_Place]:
    """Return the new rows of a run, each after the line of that number."""
    # The sum stands where the run began, since runs are listed in the order of their rows.
    start, first = next(place for place in places if _begins(place[1]))
    last, event = places[-1]
    more = any(number > start for number, _ in places if number not in own)
    found = [(start, Event(sum_run(run).into(RunSummed, more=more), first.time, run.id))]
    # Rows that stay stand behind the sum: those before this mark are in it already, later ones are news.
    if more:
        found.append((last, Event(RunSummedEnd(), event.time, run.id)))
    return found


def _begins(event: Event) -> bool:
    return isinstance(event.payload, RunStarted) or read_sum(event) is not None


def _is_spent(event: Event, before: float) -> bool:
    proof = isinstance(event.payload, VerifyPassed)
    # Each compaction counts itself in a new first line, so the line of the one before has served.
    return isinstance(event.payload, LedgerCompacted) or (proof and event.time < before - _PROOF_HOLDS)


def _forgotten(places: Sequence[_Place], before: float) -> list[int]:
    """Choose the errands in named workspaces that were removed, or made anew, since: the roster forgets them."""
    settled: set[str] = set()
    found = []
    # From the end: what a workspace was made or removed by comes before what that makes void.
    for number, event in reversed(places):
        if isinstance(event.payload, WorkspaceMade | WorkspaceRemoved):
            if event.time < before:
                settled.add(event.unit)
        elif event.unit in settled and _is_errand(event):
            found.append(number)
    return found


def _is_errand(event: Event) -> bool:
    return event.kind.startswith("unit.") or isinstance(event.payload, WorkspaceSetup | WorkspaceRemoving)

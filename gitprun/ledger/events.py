"""What happens in a run, as events; the state of everything is a fold over them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import ClassVar, Self, TypeVar

from gitprun.ledger.house_events import (
    LedgerCompacted,
    RunFinished,
    RunResumed,
    RunStarted,
    RunSummed,
    RunSummedEnd,
)
from gitprun.ledger.kinds import read_payload
from gitprun.ledger.landing_events import LandingLanded, LandingRedone, LandingUndone, UndoFacts
from gitprun.ledger.record import TypedRecord
from gitprun.ledger.rows import SummedUnit
from gitprun.ledger.unit_events import (
    Payload,
    UnitCaptured,
    UnitExited,
    UnitFacts,
    UnitFinished,
    UnitPrepared,
    UnitPreparing,
    UnitQueued,
    UnitStarted,
    UnitVerified,
    UnitVerifying,
    UnitWaiting,
)
from gitprun.model.names import RunId, UnitId
from gitprun.model.units import LIVE, WorkspaceKind

# Raised only where an older version would misread a line: it then refuses to write behind one.
FORMAT = 1
_State = TypeVar("_State", bound=TypedRecord)


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened, at a ``time`` in seconds since 1970, to a unit, a run, or neither (empty names)."""

    payload: Payload
    time: float
    run: str = ""
    unit: str = ""

    @property
    def kind(self) -> str:
        """Return the name of what happened: ``noun.verb``."""
        return self.payload.kind


def encode(event: Event) -> bytes:
    """Return an event as one line of JSON with a checksum; any text, lone surrogates too, comes back the same.

    Only two surrogates that make a pair come back as the character they stand for: JSON cannot tell them apart.
    """
    # Microseconds: the other digits of a float make each line longer and say nothing.
    record = {"v": FORMAT, "t": round(event.time, 6), "kind": event.kind, "run": event.run, "unit": event.unit}
    facts = event.payload.as_json()
    body = json.dumps({**record, **({"facts": facts} if facts else {})}, separators=(",", ":"))
    return f'{body[:-1]},"crc":"{zlib.crc32(body.encode()):08x}"}}\n'.encode()


def _read(line: bytes) -> dict[str, object]:
    """Read the record of a line; an empty one if it is torn or altered."""
    # The last such mark is ours: a text within the facts may hold one, too.
    body, mark, check = line.removesuffix(b"\n").rpartition(b',"crc":"')
    if not mark or check != f'{zlib.crc32(body + b"}"):08x}"}}'.encode():
        return {}
    try:
        record = json.loads(body + b"}")
    # A valid checksum does not keep JSON from being nested too deeply for the parser.
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def is_newer(line: bytes) -> bool:
    """Check whether a line is whole and of a later format than ours: a newer git prun wrote it."""
    version = _read(line).get("v")
    return isinstance(version, int) and version > FORMAT


def decode(line: bytes) -> Event | None:
    """Return what one line says; None if it is torn, altered or of a format we do not know; never raises."""
    record = _read(line)
    kind, time, run, unit = (record.get(key) for key in ("kind", "t", "run", "unit"))
    facts = record.get("facts", {})
    if record.get("v") != FORMAT or not isinstance(time, int | float) or not isinstance(facts, dict):
        return None
    if not isinstance(kind, str) or not isinstance(run, str) or not isinstance(unit, str):
        return None
    payload = read_payload(kind, facts)
    return Event(payload, time, run, unit) if payload is not None else None


class UnitState(UnitFacts):
    """All that is known of one unit: what its events said, the last of each; ``state`` is one of STATES.

    ``since`` is when it came to that, ``started`` and ``ended`` are of its last attempt.
    """

    beside: ClassVar[tuple[str, ...]] = ("id", "run", "state", "since", "started", "ended")

    id: UnitId
    run: RunId
    state: str = "queued"
    since: float = 0.0
    started: float | None = None
    ended: float | None = None
    # A landing has a commit and more of its own, which must not hide the unit's.
    landed: LandingLanded | None = None
    undone: UndoFacts | None = None

    @property
    def verdict(self) -> str:
        """Return the verdict of verification, or an empty text before it was reached."""
        return self.checked.state if self.checked is not None else ""

    @property
    def live(self) -> bool:
        """Check whether prun still has something to do for it in its run."""
        return self.state in LIVE

    @property
    def there(self) -> bool:
        """Check whether it has a workspace."""
        return bool(self.path) and not self.removed

    @property
    def earlier_commits(self) -> frozenset[str]:
        """Return what earlier attempts at it had captured."""
        return frozenset(row.commit for row in self.earlier if row.commit)

    @property
    def fence(self) -> tuple[str, ...]:
        """Return the globs it was to stay within; empty where it may go anywhere."""
        return self.spec.paths if self.spec is not None else ()

    @property
    def workspace_kind(self) -> WorkspaceKind | None:
        """Return what kind its workspace is of; None for a mere folder."""
        return "clone" if self.workspace == "clone" else "worktree" if self.workspace == "worktree" else None

    @property
    def captured(self) -> bool:
        """Check whether its work was captured, be it that there was none."""
        return self.tree is not None

    def with_state(self, state: str) -> Self:
        """Return it in another state."""
        return self.build({**self.__dict__, "state": state})


class RunState(RunStarted, RunResumed, RunFinished):
    """All that is known of one run: what its events said, and its units."""

    beside: ClassVar[tuple[str, ...]] = ("id", "started", "ended", "units")

    id: RunId
    started: float = 0.0
    ended: float | None = None
    units: Mapping[str, UnitState] = MappingProxyType({})

    def with_units(self, units: Mapping[str, UnitState]) -> Self:
        """Return it with other units."""
        return self.build({**self.__dict__, "units": units})


@dataclass(frozen=True, slots=True)
class MergeRecord:
    """One merge of a branch into the main side."""

    run: str
    unit: str
    branch: str
    target: str
    commit: str
    time: float


@dataclass(frozen=True, slots=True)
class Undoing:
    """One merge taken back, or brought back again.

    ``way`` is "moved" (the target is where it was before it), "reverted" or "redone"; ``by`` is the commit that did
    so, unless it was moved; ``tip`` is the commit that had landed.
    """

    way: str
    branch: str
    target: str
    commit: str
    tip: str
    by: str
    time: float


@dataclass(frozen=True, slots=True)
class History:
    """The fold over a whole ledger: runs, landings, and what was undone of them, each in order."""

    runs: Mapping[str, RunState] = field(default_factory=dict)
    landings: tuple[MergeRecord, ...] = ()
    undoings: tuple[Undoing, ...] = ()

    @property
    def last(self) -> RunState | None:
        """Return the newest run."""
        return list(self.runs.values())[-1] if self.runs else None


# ready: captured and verified. unverified: captured, verdict other than pass. empty: exit 0, nothing changed.
# done: a read unit with a result. broken: prun itself could not go on.
ENDED = ("ready", "unverified", "empty", "done", "failed", "timed-out", "stopped", "rate-limited", "broken", "landed")
STATES = LIVE + ENDED

# What is no step of the work, a stall or a lock, leaves the state as it is.
_STEP: Mapping[type[Payload], str] = {
    UnitQueued: "queued",
    UnitWaiting: "waiting",
    UnitPreparing: "preparing",
    UnitPrepared: "preparing",
    UnitStarted: "running",
    UnitExited: "collecting",
    UnitCaptured: "collecting",
    UnitVerifying: "verifying",
    UnitVerified: "verifying",
}


# A workspace that is locked outlives its attempt, or there is no next one.
_ASKED = frozenset({"id", "run", "state", "since", "spec", "executor", "mode", "lock"})


def sum_run(run: RunState) -> RunSummed:
    """Return a run as one event."""
    units = tuple(
        SummedUnit(
            id=unit.id,
            state=unit.state,
            since=unit.since,
            started=unit.started,
            ended=unit.ended,
            facts=unit.as_json(),
        )
        for unit in run.units.values()
    )
    return RunSummed(started=run.started, ended=run.ended, base=run.base, facts=run.as_json(), units=units)


def read_sum(event: Event) -> RunState | None:
    """Return a run that was written down as one event; None if it is nothing of the kind."""
    payload, run = event.payload, RunId(event.run)
    if not isinstance(payload, RunSummed) or not {"facts", "units"} <= payload.__dict__.keys():
        return None
    units = {
        row.id: _put(UnitState.read(row.facts), row.into(UnitState, id=UnitId(row.id), run=run))
        for row in payload.units
    }
    read = RunState.read(payload.facts)
    over = {"id": run, "started": payload.started, "ended": payload.ended, "units": units}
    # It stands in both places, unless it was never said.
    return read.into(RunState, **over, **({"base": payload.base} if payload.base else {}))


def _put(state: _State, over: _State) -> _State:
    return state.build({**state.__dict__, **over.__dict__})


def fold(events: Iterable[Event]) -> History:
    """Return the state of all runs after the events in order; pure, and unknown kinds are passed over."""
    runs: dict[str, RunState] = {}
    landings: list[MergeRecord] = []
    undoings: list[Undoing] = []
    # Runs that were written down as a whole: what of them stands before its end is in that already.
    summed: set[str] = set()
    for event in events:
        one = event.payload
        if isinstance(one, LandingLanded):
            landings.append(MergeRecord(event.run, event.unit, one.branch, one.target, one.commit, event.time))
        elif isinstance(one, LandingUndone | LandingRedone):
            undoings.append(Undoing(one.way, one.branch, one.target, one.commit, one.tip, one.by, event.time))
        if isinstance(one, RunSummedEnd):
            summed.discard(event.run)
        elif event.run not in summed:
            _step_run(runs, event)
            if isinstance(one, RunSummed) and one.more:
                summed.add(event.run)
    return History(runs, tuple(landings), tuple(undoings))


def _step_run(runs: dict[str, RunState], event: Event) -> None:
    """Move the run of an event on by it."""
    payload = event.payload
    if isinstance(payload, RunStarted):
        runs[event.run] = RunState(id=RunId(event.run), started=event.time, ended=None, units={}).joined(payload)
        return
    if isinstance(payload, RunSummed):
        found = read_sum(event)
        if found is not None:
            runs[event.run] = found
        return
    known = runs.get(event.run)
    # No start was read for it: a user workspace (see ``roster``), or a run whose first line is damaged.
    if known is None:
        return
    if isinstance(payload, RunResumed):
        known = known.build({**known.joined(payload).__dict__, "ended": None})
    if isinstance(payload, RunFinished):
        known = known.build({**known.joined(payload).__dict__, "ended": event.time})
    elif event.unit:
        # Its ``unit.queued`` may be the line that cannot be read; the unit is there all the same.
        before = known.units.get(event.unit) or UnitState(id=UnitId(event.unit), run=known.id, since=event.time)
        known = known.with_units({**known.units, event.unit: step(before, event)})
    runs[event.run] = known


def step(unit: UnitState, event: Event) -> UnitState:
    """Return one unit after one more event."""
    payload, state = event.payload, _STEP.get(type(event.payload), unit.state)
    if isinstance(payload, UnitPreparing):
        # A new attempt: nothing of the one before holds any more but what was asked for.
        unit = unit.build({name: value for name, value in unit.__dict__.items() if name in _ASKED})
    values: dict[str, object]
    if isinstance(payload, LandingLanded):
        state, values = "landed", {**unit.__dict__, "landed": payload}
    elif isinstance(payload, LandingUndone | LandingRedone):
        # What a revert took back is still in the history, and lands no more by a merge.
        state = "landed" if isinstance(payload, LandingRedone) else state
        state = payload.state or "ready" if payload.way == "moved" and isinstance(payload, LandingUndone) else state
        values = {**unit.__dict__, "undone": payload.into(UndoFacts)}
    else:
        values = dict(unit.joined(payload).__dict__)
    if isinstance(payload, UnitFinished):
        # A final state that cannot be read must not count as a success.
        state, values["ended"] = payload.final or "broken", event.time
    if isinstance(payload, UnitStarted):
        values["started"] = event.time
    if state != unit.state:
        values |= {"state": state, "since": event.time}
    return unit.build(values)


def base_of(run: RunState, unit: UnitState) -> str:
    """Return the commit a unit's work started from: the base of its run, unless a later attempt began anew."""
    return unit.base or run.base


def follows(old: bytes, new: bytes) -> bool:
    """Check by their first lines whether a ledger is a later compaction of another one."""
    return compactions(decode(new)) > compactions(decode(old))


def compactions(first: Event | None) -> int:
    """Return how often a ledger was compacted, by its first event."""
    return first.payload.number if first is not None and isinstance(first.payload, LedgerCompacted) else 0

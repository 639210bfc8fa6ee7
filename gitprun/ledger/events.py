"""What happens in a run, as events; the state of everything is a fold over them."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from gitprun.ledger.facts import sound_facts
from gitprun.model.names import RunId, UnitId

FORMAT = 1


@dataclass(frozen=True, slots=True)
class Event:
    """One thing that happened: ``kind`` is ``noun.verb``, ``time`` in seconds since 1970, ``facts`` plain JSON."""

    kind: str
    time: float
    run: str = ""
    unit: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)


def encode(event: Event) -> bytes:
    """Write an event as one line of JSON with a checksum; any text, lone surrogates too, comes back the same.

    Only two surrogates that make a pair come back as the character they stand for: JSON cannot tell them apart.
    """
    record = {"v": FORMAT, "t": round(event.time, 6), "kind": event.kind, "run": event.run, "unit": event.unit}
    body = json.dumps({**record, **({"facts": event.facts} if event.facts else {})}, separators=(",", ":"))
    return f'{body[:-1]},"crc":"{zlib.crc32(body.encode()):08x}"}}\n'.encode()


def _read(line: bytes) -> dict[str, Any]:
    """Read the record of a line; an empty one if it is torn or altered."""
    body, mark, check = line.removesuffix(b"\n").rpartition(b',"crc":"')
    if not mark or check != f'{zlib.crc32(body + b"}"):08x}"}}'.encode():
        return {}
    try:
        record = json.loads(body + b"}")
    except (ValueError, RecursionError):
        return {}
    return record if isinstance(record, dict) else {}


def is_newer(line: bytes) -> bool:
    """Tell whether a line is whole and of a later format than ours: a newer git prun wrote it."""
    version = _read(line).get("v")
    return isinstance(version, int) and version > FORMAT


def decode(line: bytes) -> Event | None:
    """Read one line of a ledger; None if it is torn, altered or of a format we do not know; never raises."""
    record = _read(line)
    kind, time, run, unit, facts = (record.get(key, {}) for key in ("kind", "t", "run", "unit", "facts"))
    if (
        record.get("v") != FORMAT
        or not all(isinstance(text, str) for text in (kind, run, unit))
        or not isinstance(time, int | float)
        or not isinstance(facts, dict)
    ):
        return None
    sound = sound_facts(kind, facts)
    return Event(kind, time, run, unit, sound) if sound is not None else None


@dataclass(frozen=True, slots=True)
class UnitState:
    """Everything known about one unit; ``state`` is one of STATES."""

    id: UnitId
    run: RunId
    state: str = "queued"
    since: float = 0.0
    started: float | None = None
    ended: float | None = None
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def commit(self) -> str | None:
        """Give the commit that pins the unit's work, if there is any."""
        commit = self.facts.get("commit")
        return commit if isinstance(commit, str) else None

    @property
    def verdict(self) -> str:
        """Give the verdict of verification, or an empty text before it was reached."""
        verdict = self.facts.get("verdict")
        return str(verdict.get("state", "")) if isinstance(verdict, Mapping) else ""

    @property
    def attempt(self) -> int:
        """Give the number of the attempt at this unit that began last; 0 before the first."""
        number = self.facts.get("attempt", 0)
        return number if isinstance(number, int) else 0

    @property
    def live(self) -> bool:
        """Tell whether prun still has something to do for it in its run."""
        return self.state in LIVE


@dataclass(frozen=True, slots=True)
class RunState:
    """Everything known about one run."""

    id: RunId
    started: float = 0.0
    ended: float | None = None
    base: str = ""
    facts: Mapping[str, Any] = field(default_factory=dict)
    units: Mapping[str, UnitState] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Landing:
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
    landings: tuple[Landing, ...] = ()
    undoings: tuple[Undoing, ...] = ()

    @property
    def last(self) -> RunState | None:
        """Give the newest run."""
        return list(self.runs.values())[-1] if self.runs else None


# waiting: an attempt is over, and the next begins later.
LIVE = ("queued", "waiting", "preparing", "running", "collecting", "verifying")
# ready: captured and verified. unverified: captured, verdict other than pass. empty: exit 0, nothing changed.
# done: a read unit with a result. broken: prun itself could not go on.
ENDED = ("ready", "unverified", "empty", "done", "failed", "timed-out", "stopped", "rate-limited", "broken", "landed")
STATES = LIVE + ENDED

_STEP = {
    "unit.queued": "queued",
    "unit.waiting": "waiting",
    "unit.preparing": "preparing",
    "unit.prepared": "preparing",
    "unit.started": "running",
    "unit.exited": "collecting",
    "unit.captured": "collecting",
    "unit.verifying": "verifying",
    "unit.verified": "verifying",
}


# A workspace that is locked outlives its attempt, or there is no next one.
_ASKED = ("spec", "executor", "mode", "lock")


# What is left of a run in a compacted ledger: where it began all it came to, and where its last row was its end.
SUM, SUM_END = "run.summed", "run.summed-end"
# The first line of a ledger that was compacted: ``number`` counts how often.
COMPACTED = "ledger.compacted"


def sum_facts(run: RunState) -> dict[str, Any]:
    """Write a run down as the facts of one event."""
    units = [
        {
            "id": unit.id,
            "state": unit.state,
            "since": unit.since,
            "started": unit.started,
            "ended": unit.ended,
            "facts": unit.facts,
        }
        for unit in run.units.values()
    ]
    return {"started": run.started, "ended": run.ended, "base": run.base, "facts": run.facts, "units": units}


def read_sum(event: Event) -> RunState | None:
    """Read a run that was written down as one event; None if it is nothing of the kind."""
    facts, run = event.facts, RunId(event.run)
    try:
        units = {
            row["id"]: UnitState(
                UnitId(row["id"]),
                run,
                row["state"],
                row["since"],
                row["started"],
                row["ended"],
                {**(sound_facts("unit.captured", row["facts"]) or {})},
            )
            for row in facts["units"]
        }
        more = sound_facts("run.finished", facts["facts"]) or {}
        return RunState(run, facts["started"], facts["ended"], facts["base"], {**more}, units)
    except (KeyError, TypeError, AttributeError):
        return None


def fold(events: Iterable[Event]) -> History:
    """Compute the state of all runs from the events in order; pure, and unknown kinds are passed over."""
    runs: dict[str, RunState] = {}
    landings: list[Landing] = []
    undoings: list[Undoing] = []
    # Runs that were written down as a whole: what of them stands before SUM_END is in that already.
    summed: set[str] = set()
    for event in events:
        if event.kind == "landing.landed":
            branch, target, commit = (str(event.facts.get(key, "")) for key in ("branch", "target", "commit"))
            landings.append(Landing(event.run, event.unit, branch, target, commit, event.time))
        elif event.kind in ("landing.undone", "landing.redone"):
            way, branch, target = (str(event.facts.get(key, "")) for key in ("way", "branch", "target"))
            commit, tip, by = (str(event.facts.get(key, "")) for key in ("commit", "tip", "by"))
            undoings.append(Undoing(way, branch, target, commit, tip, by, event.time))
        if event.kind == SUM_END:
            summed.discard(event.run)
        elif event.run not in summed:
            _step_run(runs, event)
            if event.kind == SUM and event.facts.get("more") is True:
                summed.add(event.run)
    return History(runs, tuple(landings), tuple(undoings))


def _step_run(runs: dict[str, RunState], event: Event) -> None:
    """Move the run of an event on by it."""
    if event.kind == "run.started":
        facts = dict(event.facts)
        runs[event.run] = RunState(RunId(event.run), event.time, None, str(facts.get("base", "")), facts)
        return
    if event.kind == SUM:
        found = read_sum(event)
        if found is not None:
            runs[event.run] = found
        return
    known = runs.get(event.run)
    if known is None:
        return
    if event.kind == "run.resumed":
        known = replace(known, ended=None, facts={**known.facts, **event.facts})
    if event.kind == "run.finished":
        known = replace(known, ended=event.time, facts={**known.facts, **event.facts})
    elif event.unit:
        before = known.units.get(event.unit) or UnitState(UnitId(event.unit), known.id, since=event.time)
        known = replace(known, units={**known.units, event.unit: step(before, event)})
    runs[event.run] = known


def step(unit: UnitState, event: Event) -> UnitState:
    """Move one unit on by one event."""
    state = _STEP.get(event.kind, unit.state)
    if event.kind == "unit.preparing":
        # A new attempt: nothing of the one before holds any more but what was asked for.
        asked = {name: fact for name, fact in unit.facts.items() if name in _ASKED}
        unit = replace(unit, facts=asked, started=None, ended=None)
    if event.kind == "unit.finished":
        state = str(event.facts.get("state", "broken"))
    elif event.kind in ("landing.landed", "landing.redone"):
        state = "landed"
    elif event.kind == "landing.undone" and event.facts.get("way") == "moved":
        # What a revert took back is still in the history, and lands no more by a merge.
        state = str(event.facts.get("state") or "ready")
    # A landing has a commit of its own, which must not hide the unit's.
    own = {"landing.landed": "landed", "landing.undone": "undone", "landing.redone": "undone"}.get(event.kind)
    news = {own: dict(event.facts)} if own else event.facts
    after = replace(unit, facts={**unit.facts, **news}, state=state)
    if state != unit.state:
        after = replace(after, since=event.time)
    if event.kind == "unit.started":
        after = replace(after, started=event.time)
    if event.kind == "unit.finished":
        after = replace(after, ended=event.time)
    return after


def base_of(run: RunState, unit: UnitState) -> str:
    """Give the commit a unit's work started from: the base of its run, unless a later attempt began anew."""
    return str(unit.facts.get("base") or run.base)


def follows(old: bytes, new: bytes) -> bool:
    """Tell from their first lines whether a ledger is a later compaction of another one."""
    return compactions(decode(new)) > compactions(decode(old))


def compactions(first: Event | None) -> int:
    """Give how often a ledger was compacted, by its first event."""
    number = first.facts.get("number") if first is not None and first.kind == COMPACTED else None
    return number if isinstance(number, int) else 0

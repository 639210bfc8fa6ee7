"""Rows of the ledger for tests, made by the classes alone: what no class knows fails the test at once."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from typing import Any

from gitprun.ledger.events import Event, UnitState, decode
from gitprun.ledger.kinds import KINDS, read_payload
from gitprun.ledger.unit_events import Payload
from gitprun.model.names import RunId, UnitId


def payload_of(kind: str, facts: Mapping[str, Any] | None = None, /, **more: Any) -> Payload:
    """Return what an event of a kind says; a kind that nobody knows is one of a version to come."""
    said = json.loads(json.dumps({**(facts or {}), **more}))
    known = KINDS.get(kind)
    found = known.read(said, whole=True) if known is not None else read_payload(kind, said)
    assert found is not None
    assert known is None or not found.unknown, f"{kind} never says {', '.join(found.unknown)}"
    return found


def event_of(kind: str, time: float, run: str = "", unit: str = "", facts: Mapping[str, Any] | None = None) -> Event:
    """Return an event of a kind."""
    return Event(payload_of(kind, facts), time, run, unit)


def state_of(name: str = "u", run: str = "r1", state: str = "queued", since: float = 0.0, **facts: Any) -> UnitState:
    """Return the state of a unit of which events said these facts."""
    read = UnitState.read(json.loads(json.dumps(facts)), whole=True)
    assert not read.unknown, f"no event of a unit says {', '.join(read.unknown)}"
    return UnitState(id=UnitId(name), run=RunId(run), state=state, since=since).joined(read)


def foreign_line(kind: str, time: float, run: str = "", unit: str = "", facts: object = None) -> bytes:
    """Return a line as it stands in a ledger that somebody edited, or that another version wrote."""
    record = {"v": 1, "t": time, "kind": kind, "run": run, "unit": unit, "facts": {} if facts is None else facts}
    body = json.dumps(record, separators=(",", ":"))
    return f'{body[:-1]},"crc":"{zlib.crc32(body.encode()):08x}"}}\n'.encode()


def foreign(kind: str, time: float, run: str = "", unit: str = "", facts: object = None) -> Event | None:
    """Return what is read of such a line, if anything is."""
    return decode(foreign_line(kind, time, run, unit, facts))

"""Events: written and read back the same, folded without surprises."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitprun.ledger.events import (
    ENDED,
    STATES,
    Event,
    History,
    MergeRecord,
    RunState,
    Undoing,
    UnitState,
    base_of,
    decode,
    encode,
    fold,
    is_newer,
    step,
)
from gitprun.ledger.kinds import KINDS
from gitprun.model.names import RunId, UnitId
from gitprun.model.units import LIVE
from tests.support.rows import event_of, foreign, foreign_line, payload_of, state_of

# Lone surrogates too, as file names bring them; but no pair, which JSON reads as one character.
TEXT = st.text(st.characters(exclude_categories=()) | st.characters(categories=("Cs",), min_codepoint=0xDC80))
TIMES = st.floats(0, 4e9).map(lambda time: round(time, 6))
FACTS = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
EVENTS = st.builds(
    foreign, TEXT | st.sampled_from(sorted(KINDS)), TIMES, TEXT, TEXT, st.dictionaries(TEXT, FACTS, max_size=4)
).filter(lambda event: event is not None)


def paired(value: Any) -> Any:
    """Join the surrogates that make a pair, as JSON does."""
    if isinstance(value, str):
        return value.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "surrogatepass")
    if isinstance(value, list):
        return [paired(item) for item in value]
    if isinstance(value, dict):
        return {paired(key): paired(item) for key, item in value.items()}
    return value


@settings(deadline=None)
@given(EVENTS)
def test_what_is_written_is_read_back(event: Event) -> None:
    line = encode(event)
    assert line.isascii()
    assert line.endswith(b"\n")
    assert line.count(b"\n") == 1
    assert decode(line) == event
    said = json.loads(line)
    assert [said[key] for key in ("kind", "run", "unit")] == [event.kind, event.run, event.unit]
    assert paired(said.get("facts", {})) == event.payload.as_json()
    assert json.loads(line)["v"] == 1


@settings(deadline=None)
@given(EVENTS, st.data())
def test_a_changed_byte_is_never_accepted(event: Event, data: st.DataObject) -> None:
    line = bytearray(encode(event)[:-1])
    line[data.draw(st.integers(0, len(line) - 1))] ^= data.draw(st.integers(1, 255))
    assert decode(bytes(line)) is None


@settings(deadline=None)
@given(EVENTS, st.data())
def test_a_torn_line_is_never_accepted(event: Event, data: st.DataObject) -> None:
    line = encode(event)[:-1]
    assert decode(line[: data.draw(st.integers(0, len(line) - 1))]) is None


@settings(deadline=None)
@given(st.binary())
def test_any_bytes_are_an_event_or_none(line: bytes) -> None:
    assert decode(line) is None


def sealed(record: object) -> bytes:
    """Give a record a right checksum, as a future version would."""
    import zlib

    body = json.dumps(record, separators=(",", ":"))
    return f'{body[:-1]},"crc":"{zlib.crc32(body.encode()):08x}"}}'.encode()


GOOD = {"v": 1, "t": 1.5, "kind": "k", "run": "r1", "unit": ""}


@pytest.mark.parametrize(
    "change", [{"v": 2}, {"t": "now"}, {"kind": 3}, {"run": None}, {"unit": []}, {"facts": []}, {"facts": "x"}]
)
def test_lines_of_another_kind_are_passed_over(change: Mapping[str, object]) -> None:
    assert decode(sealed(GOOD)) == event_of("k", 1.5, "r1")
    assert decode(sealed({**GOOD, **change})) is None


def test_a_line_as_it_lies_on_disk() -> None:
    payload = payload_of("unit.invented", {"code": 0, "name": "caf\udce9"})
    assert encode(Event(payload, 12.3456789, "r1", "a")) == (
        b'{"v":1,"t":12.345679,"kind":"unit.invented","run":"r1","unit":"a","facts":{"code":0,"name":"caf\\udce9"},'
        b'"crc":"' + encode(Event(payload, 12.345679, "r1", "a"))[-11:-3] + b'"}\n'
    )


LIFE = (
    event_of("run.started", 1.0, "r1", "", {"base": "b" * 40, "root": "/w"}),
    event_of("unit.queued", 2.0, "r1", "a", {"mode": "write"}),
    event_of("unit.preparing", 3.0, "r1", "a"),
    event_of("unit.prepared", 4.0, "r1", "a", {"path": "/w/r1/a"}),
    event_of("unit.started", 5.0, "r1", "a", {"process": {"pid": 1, "start": "1", "boot": "1"}}),
    event_of("unit.exited", 6.0, "r1", "a", {"exit": {"code": 0, "seconds": 1.0}}),
    event_of("unit.captured", 7.0, "r1", "a", {"commit": "c" * 40, "files": 1}),
    event_of("unit.verifying", 8.0, "r1", "a"),
    event_of("unit.verified", 9.0, "r1", "a", {"verdict": {"state": "pass"}}),
    event_of("unit.finished", 10.0, "r1", "a", {"state": "ready", "reason": ""}),
    event_of("run.finished", 11.0, "r1", "", {"states": {"a": "ready"}}),
    event_of(
        "landing.landed", 12.0, "r1", "a", {"branch": "prun/r1/a", "target": "refs/heads/main", "commit": "d" * 40}
    ),
)


def test_the_life_of_a_unit() -> None:
    seen = []
    for count in range(2, len(LIFE) + 1):
        unit = fold(LIFE[:count]).runs["r1"].units["a"]
        seen.append((unit.state, unit.since, unit.live))
    assert seen == [
        ("queued", 2.0, True),
        ("preparing", 3.0, True),
        ("preparing", 3.0, True),
        ("running", 5.0, True),
        ("collecting", 6.0, True),
        ("collecting", 6.0, True),
        ("verifying", 8.0, True),
        ("verifying", 8.0, True),
        ("ready", 10.0, False),
        ("ready", 10.0, False),
        ("landed", 12.0, False),
    ]


def test_the_whole_fold() -> None:
    history = fold(LIFE)
    run = history.runs["r1"]
    assert history.last is run
    assert (run.started, run.ended, run.base, run.as_json()["states"]) == (1.0, 11.0, "b" * 40, {"a": "ready"})
    unit = run.units["a"]
    assert (unit.started, unit.ended, unit.commit, unit.verdict) == (5.0, 10.0, "c" * 40, "pass")
    assert history.landings == (MergeRecord("r1", "a", "prun/r1/a", "refs/heads/main", "d" * 40, 12.0),)


def undone(kind: str, time: float, way: str, by: str, **facts: str) -> Event:
    rows = {"branch": "prun/r1/a", "commit": "d" * 40, "tip": "c" * 40, "target": "refs/heads/main"}
    return event_of(kind, time, "r1", "a", {**rows, "way": way, "by": by, **facts})


def test_a_landing_taken_back_leaves_the_unit_as_it_was() -> None:
    back = fold([*LIFE, undone("landing.undone", 13.0, "moved", "", state="unverified")])
    unit = back.runs["r1"].units["a"]
    assert (unit.state, unit.since, unit.commit) == ("unverified", 13.0, "c" * 40)
    assert fold([*LIFE, undone("landing.undone", 13.0, "moved", "")]).runs["r1"].units["a"].state == "ready"
    assert back.landings == fold(LIFE).landings


def test_a_landing_that_was_reverted_stays_landed() -> None:
    gone = undone("landing.undone", 13.0, "reverted", "e" * 40, state="ready")
    again = undone("landing.redone", 14.0, "redone", "f" * 40, state="ready")
    history = fold([*LIFE, gone, again])
    ends = ("prun/r1/a", "refs/heads/main", "d" * 40, "c" * 40)
    assert history.undoings == (
        Undoing("reverted", *ends, "e" * 40, 13.0),
        Undoing("redone", *ends, "f" * 40, 14.0),
    )
    unit = history.runs["r1"].units["a"]
    assert (unit.state, unit.since, unit.commit) == ("landed", 12.0, "c" * 40)
    assert unit.as_json()["undone"] == again.payload.as_json()


def test_states_are_what_they_say() -> None:
    assert STATES == LIVE + ENDED
    assert len(set(STATES)) == len(STATES)


def test_events_that_make_no_sense_change_nothing() -> None:
    assert (
        fold([event_of("unit.started", 1.0, "r9", "a"), event_of("run.finished", 1.0, "r9"), event_of("new.kind", 1.0)])
        == History()
    )
    assert fold([LIFE[0], event_of("unit.invented", 2.0, "r1", "a", {"x": 1})]).runs["r1"].units["a"] == UnitState.read(
        {"x": 1}
    ).into(UnitState, id=UnitId("a"), run=RunId("r1"), since=2.0)


SOME = st.sampled_from([*{event.kind for event in LIFE}, "workspace.removed", "new.kind"])
WORDS = ["state", "commit", "verdict", "base", "branch", "reason", "exit"]
ROWS = st.lists(
    st.builds(
        foreign, SOME, TIMES, st.sampled_from(["", "r1", "r2"]), st.sampled_from(["", "a", "b"]),
        st.dictionaries(st.sampled_from(WORDS), FACTS, max_size=3),
    ).filter(lambda event: event is not None),
    max_size=20,
)  # fmt: skip


@given(ROWS)
def test_folding_is_total_and_pure(events: list[Event]) -> None:
    before = [encode(event) for event in events]
    history = fold(events)
    assert fold(iter(events)) == history
    assert [encode(event) for event in events] == before
    for run in history.runs.values():
        assert isinstance(run, RunState)
        for unit in run.units.values():
            assert isinstance((unit.state, unit.verdict, unit.live, unit.commit), tuple)


@given(ROWS, st.data())
def test_any_beginning_of_a_ledger_folds(events: list[Event], data: st.DataObject) -> None:
    whole = b"".join(map(encode, events))
    cut = whole[: data.draw(st.integers(0, len(whole)))]
    *lines, torn = cut.split(b"\n")
    read = [decode(line) for line in lines]
    assert read == [decode(encode(event)) for event in events[: len(lines)]]
    # What is left of a last line is an event only if nothing of it is missing but its end.
    if torn and decode(torn) is not None:
        assert torn + b"\n" == encode(events[len(lines)])
    assert fold(event for event in read if event is not None) == fold(
        event for event in map(decode, map(encode, events[: len(lines)])) if event is not None
    )


def test_lines_of_a_later_format_are_told_apart() -> None:
    assert [is_newer(sealed({**GOOD, "v": version})) for version in (1, 2, 9, "2", None)] == [
        False,
        True,
        True,
        False,
        False,
    ]
    assert not is_newer(sealed({**GOOD, "v": 2})[:-1])
    assert not is_newer(b"garbage")


@given(ROWS, ROWS)
def test_later_events_only_add(first: list[Event], later: list[Event]) -> None:
    before, after = fold(first), fold(first + later)
    assert list(after.runs)[: len(before.runs)] == list(before.runs)
    assert after.landings[: len(before.landings)] == before.landings
    touched = {event.run for event in later}
    assert all(after.runs[run] == state for run, state in before.runs.items() if run not in touched)


@given(ROWS)
def test_a_step_is_what_the_fold_does(events: list[Event]) -> None:
    start = event_of("run.started", 0.0, "r1")
    own = [event for event in events if (event.run, event.unit) == ("r1", "a") and event.kind != "run.started"]
    own = [event for event in own if event.kind != "run.finished"]
    unit = None
    for event in own:
        unit = step(unit or UnitState(id=UnitId("a"), run=RunId("r1"), since=event.time), event)
    assert fold([start, *own]).runs["r1"].units.get("a") == unit


def test_a_new_attempt_forgets_all_but_what_was_asked_for() -> None:
    def happened(kind: str, time: float, **facts: object) -> Event:
        return event_of(f"unit.{kind}", time, "r1", "a", facts)

    history = fold(
        [
            event_of(
                "run.started", 1.0, "r1", "", {"base": "b1", "coordinator": {"pid": 1, "start": "1", "boot": "1"}}
            ),
            happened("queued", 2.0, spec={"id": "a"}, executor="codex", mode="write"),
            happened("preparing", 3.0, attempt=1),
            happened("prepared", 4.0, base="b1", path="/w"),
            happened("started", 5.0),
            happened("captured", 6.0, commit="c1", tree="t1"),
            happened("waiting", 7.0, until=9.0, failure="503", reason="busy"),
        ]
    )
    unit = history.runs["r1"].units["a"]
    assert (unit.state, unit.live, unit.commit, unit.attempt, unit.since) == ("waiting", True, "c1", 1, 7.0)
    assert base_of(history.runs["r1"], unit) == "b1"
    unit = step(unit, happened("preparing", 9.0, attempt=2))
    assert (unit.state, unit.started, unit.commit) == ("preparing", None, None)
    assert unit.as_json() == {"spec": {"id": "a"}, "executor": "codex", "mode": "write", "attempt": 2}
    unit = step(unit, happened("prepared", 10.0, base="b2"))
    assert base_of(history.runs["r1"], unit) == "b2"


def test_a_run_that_is_gone_on_with() -> None:
    history = fold(
        [
            event_of("run.resumed", 0.5, "r1", "", {"coordinator": {"pid": 0, "start": "1", "boot": "1"}}),
            event_of("run.started", 1.0, "r1", "", {"base": "b", "coordinator": {"pid": 1, "start": "1", "boot": "1"}}),
            event_of("run.finished", 2.0, "r1", "", {"states": {}}),
            event_of(
                "run.resumed", 3.0, "r1", "", {"coordinator": {"pid": 2, "start": "1", "boot": "1"}, "again": ["a"]}
            ),
        ]
    )
    run = history.runs["r1"]
    assert (run.ended, run.as_json()["coordinator"], run.base) == (None, {"pid": 2, "start": "1", "boot": "1"}, "b")


SOUND: dict[str, Any] = {
    "exit": {"reason": "exited", "code": 0, "signal": None, "seconds": 1.5, "detail": "", "leftovers": 0},
    "ending": {"kind": "", "state": "done", "reason": "", "thread": None, "retry_after": None, "retry_at": ""},
    "verdict": {"state": "pass", "reason": "", "checks": [
        {"state": "pass", "command": "true", "seconds": 0.1, "reason": "", "log": "/x"}]},
    "kept": [["refs/prun/kept/r1/u/head", "a" * 40]],
    "left_out": [{"path": "x", "reason": "y", "size": 3}],
    "earlier": [{"attempt": 1, "state": "failed", "kind": "", "reason": "", "base": None, "commit": None, "ref": None,
                 "folder": "/x"}],
    "process": {"pid": 1, "start": "2", "boot": "3"},
    "outside": ["a"], "files": 2, "fallback": True, "path": "/x", "workspace": "clone", "identity": [1, 2],
    "spec": {"id": "u", "paths": [], "command": ["true"], "timeout": 3600.0, "bypass": None},
    "drift": {"id": "d1", "lines": ["x"], "shown": True, "sure": False, "findings": []},
}  # fmt: skip


def test_what_prun_writes_is_read_as_it_is() -> None:
    said = SOUND | {"unknown": [{"any": "thing"}]}
    for kind in ("unit.captured", "unit.invented"):
        event = foreign(kind, 1.0, "r1", "u", said)
        assert event is not None
        assert event.payload.as_json() == said
        assert decode(encode(event)) == event
        assert step(state_of("u"), event).as_json() == said
    empty = {"process": {}, "lock": None, "trash": None}
    assert foreign_line("unit.invented", 1.0, "r1", "u", empty) == encode(
        event_of("unit.invented", 1.0, "r1", "u", empty)
    )


@pytest.mark.parametrize("name", sorted(SOUND))
@pytest.mark.parametrize("value", [True, 7, "x", [], {}, [1], {"a": 1}, [{}], [["x"]], 1e300], ids=repr)
def test_a_fact_of_another_shape_counts_as_not_said(name: str, value: Any) -> None:
    event = foreign("unit.captured", 1.0, "r1", "u", {**SOUND, name: value})
    assert event is not None
    found = step(state_of("u"), event).as_json()
    kept = found.get(name)
    assert kept is None or type(kept) is type(SOUND[name]) or isinstance(kept, int | float)
    place = {"path", "workspace", "identity"}
    others = set(SOUND) - {name} - (place if name in place and name not in found else set())
    assert {key: found[key] for key in others} == {key: SOUND[key] for key in others}


def test_a_workspace_of_which_nobody_can_tell_where_it_is_was_never_made() -> None:
    made = {"path": "/x", "workspace": "clone", "identity": [1, 2], "branch": "b"}
    assert foreign("workspace.made", 1.0, "named", "w", made) is not None
    assert foreign("workspace.made", 1.0, "named", "w", made | {"identity": "x"}) is None
    assert foreign("workspace.moved", 1.0, "named", "w", {"path": "/y", "moving": None}) is not None

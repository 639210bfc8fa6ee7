"""What events say is read back the same, whatever stands there; ledgers of old versions mean what they did."""

from __future__ import annotations

import ast
import json
import types
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitprun.ledger import record
from gitprun.ledger.archive import FOLDER
from gitprun.ledger.events import Event, RunState, UnitState, decode, encode, step
from gitprun.ledger.kinds import KINDS, read_payload
from gitprun.ledger.ledger import Ledger, Reading
from gitprun.ledger.record import TypedRecord
from gitprun.ledger.roster import roster
from gitprun.supervisor.process import ProcessIdentity
from tests.support.rows import foreign, payload_of, state_of

HERE = Path(__file__).resolve().parents[1]
CASES = HERE / "cases" / "ledgers"
TEXT = st.text(max_size=5)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
SIMPLE: Mapping[object, st.SearchStrategy[Any]] = {
    str: TEXT,
    int: st.integers(-(2**50), 2**50),
    float: st.floats(-1e9, 1e9),
    bool: st.booleans(),
    object: st.integers() | TEXT,
    ProcessIdentity: st.builds(ProcessIdentity, st.integers(1, 2**22), TEXT, TEXT),
}


def values(hint: Any) -> st.SearchStrategy[Any]:
    """Give values of the type that a field has."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin in (Union, types.UnionType):
        return st.one_of([st.none() if part is type(None) else values(part) for part in parts])
    if origin is Literal:
        return st.sampled_from(parts)
    if origin is tuple and parts[1:] == (Ellipsis,):
        return st.lists(values(parts[0]), max_size=2).map(tuple)
    if origin is tuple:
        return st.tuples(*map(values, parts))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return st.dictionaries(TEXT, values(parts[1]), max_size=2)
    return records(hint) if isinstance(hint, type) and issubclass(hint, TypedRecord) else SIMPLE[hint]


def records(cls: type[TypedRecord]) -> st.SearchStrategy[TypedRecord]:
    """Give values of a class, with some of its fields said."""
    hints = record._hints(cls)
    must = {name for name in hints if not hasattr(cls, name)} | {*cls.needed}
    fields = {name: values(hint).filter(lambda value: value is not None) for name, hint in hints.items()}
    needed = {name: fields[name] for name in sorted(must)}
    more = {name: values(hint) for name, hint in sorted(hints.items()) if name not in must and name not in cls.together}
    return st.fixed_dictionaries(needed, optional=more).map(lambda said: cls(**said))


@settings(deadline=None, max_examples=150)
@given(st.sampled_from(sorted(KINDS)).flatmap(lambda kind: records(KINDS[kind])))
def test_what_is_said_is_read_back(payload: Any) -> None:
    event = Event(payload, 1.5, "r1", "u")
    assert decode(encode(event)) == event


@settings(deadline=None, max_examples=300)
@given(st.sampled_from(sorted(KINDS)), st.data())
def test_no_fact_is_too_odd(kind: str, data: st.DataObject) -> None:
    names = st.sampled_from(sorted(record.fields_of(KINDS[kind])) or ["x"]) | TEXT
    facts = data.draw(st.dictionaries(names, JSON, max_size=5))
    event = foreign(kind, 1.0, "r1", "u", facts)
    if event is None:
        assert KINDS[kind].needed
        return
    # What is not known here is there still when it is written again.
    assert decode(encode(event)) == event
    known = record.fields_of(KINDS[kind])
    assert {key: facts[key] for key in facts if key not in known} == event.payload.unknown
    after = step(state_of("u"), event)
    assert UnitState.read(after.as_json()).as_json() == after.as_json()


def test_each_kind_has_a_class_of_its_own() -> None:
    assert {kind: found.kind for kind, found in KINDS.items()} == {kind: kind for kind in KINDS}
    assert len({*KINDS.values()}) == len(KINDS)


def test_a_value_cannot_be_changed_and_needs_its_fields() -> None:
    payload = payload_of("unit.finished", state="ready")
    with pytest.raises(AttributeError, match="final of UnitFinished cannot be set anew"):
        payload.final = "failed"
    with pytest.raises(TypeError, match="UnitFinished has no field kin"):
        KINDS["unit.finished"](kin="bail")
    with pytest.raises(AssertionError, match=r"unit\.waiting never says kind"):
        payload_of("unit.waiting", kind="bail")
    assert repr(payload) == "UnitFinished(final='ready')"


def test_what_was_never_said_is_not_written() -> None:
    said = {"state": "ready", "hint": ""}
    assert payload_of("unit.finished", said).as_json() == said
    assert payload_of("unit.started", process={}).as_json() == {"process": {}}
    odd = read_payload("unit.exited", {"exit": {"seconds": "long"}, "more": [1]})
    assert odd is not None
    assert odd.as_json() == {"more": [1]}


def told(reading: Reading) -> dict[str, object]:
    """Write down all that a ledger comes to."""

    def unit(one: UnitState) -> dict[str, object]:
        times = {"since": one.since, "started": one.started, "ended": one.ended}
        return {"state": one.state, **times, "facts": one.as_json()}

    def run(one: RunState) -> dict[str, object]:
        units = {name: unit(state) for name, state in one.units.items()}
        return {"started": one.started, "ended": one.ended, "base": one.base, "facts": one.as_json(), "units": units}

    history = reading.history
    return {
        "runs": {name: run(state) for name, state in history.runs.items()},
        "named": {name: unit(state) for name, state in roster(reading.events).units.items()},
        "landings": [[one.run, one.unit, one.branch, one.target, one.commit, one.time] for one in history.landings],
        "undoings": [
            [one.way, one.branch, one.target, one.commit, one.tip, one.by, one.time] for one in history.undoings
        ],
    }


@pytest.mark.parametrize("name", ["whole", "compacted"])
def test_a_ledger_of_0_1_0_says_what_it_said_then(tmp_path: Path, name: str) -> None:
    # Version 0.1.0 wrote both (runs, a drift, a landing, an undo, a stop, named workspaces), and read this out of them.
    (tmp_path / "ledger.jsonl").write_bytes((CASES / f"{name}.jsonl").read_bytes())
    expected = json.loads((CASES / "state.json").read_text())
    ledger = Ledger(tmp_path)
    reading = ledger.read()
    assert (reading.unreadable, reading.newer, told(reading)) == ((), (), expected)
    assert {(unit, state.state, state.verdict) for unit, state in reading.history.runs["r1"].units.items()} == {
        ("good", "landed", "pass"),
        ("red", "unverified", "fail"),
        ("idle", "empty", ""),
        ("broken", "failed", ""),
        ("drifter", "ready", "pass"),
    }
    # No row says what this version does not know.
    assert [event.kind for event in reading.events if event.payload.unknown] == []
    assert ledger.compact(days=-1).saves == (name == "whole")
    assert told(Ledger(tmp_path).read()) == expected
    assert (tmp_path / FOLDER).is_dir() == (name == "whole")


# Its foreign lines are what is read of somebody else's hand.
BY_HAND = {"tests/support/rows.py"}


def _by_hand(tree: ast.AST) -> list[int]:
    """Find the lines that write a row from a text and a mapping."""
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        first = node.args[0] if node.args else None
        text = isinstance(first, ast.Constant) and isinstance(first.value, str) and "." in first.value
        facts = any(keyword.arg == "facts" for keyword in node.keywords)
        if (name == "append" and facts) or (name == "Event" and text):
            found.append(node.lineno)
    return found


def test_tests_write_rows_only_through_the_classes() -> None:
    found = {
        f"{path.relative_to(HERE.parent)}:{line}"
        for path in sorted(HERE.rglob("*.py"))
        if str(path.relative_to(HERE.parent)) not in BY_HAND
        for line in _by_hand(ast.parse(path.read_text()))
    }
    assert found == set()

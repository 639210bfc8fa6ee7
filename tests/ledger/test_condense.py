"""A shorter ledger says what the longer one said: to the fold, to the roster, to everybody who reads rows."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from gitprun.landing.landed import find_cut_off
from gitprun.landing.undo_plan import read_landings
from gitprun.ledger.condense import condense, say_the_same
from gitprun.ledger.events import Event, decode, encode, fold
from gitprun.ledger.roster import NAMED, roster
from tests.support.rows import event_of, foreign

DAY = 86_400.0


def shortened(events: list[Event | None], before: float = 1e12) -> list[Event]:
    """Give the events of the shorter ledger, as they are read back from disk."""
    short = condense(events, before)
    found = [events[one] if isinstance(one, int) else decode(encode(one)) for one in short.lines]
    assert None not in found
    return [event for event in found if event is not None]


def life(run: str, at: float = 0.0, *, removed: bool = True) -> list[Event]:
    """Give the rows of one run with one unit, from its start to its end."""

    def row(kind: str, second: float, **facts: object) -> Event:
        return event_of(kind, at + second, run, "a" if kind.startswith(("unit.", "workspace.")) else "", facts)

    rows = [
        row("run.started", 1, base="b" * 40, coordinator={"pid": 1, "start": "1", "boot": "1"}, units=["a"]),
        row("unit.queued", 2, spec={"id": "a"}, executor="codex", mode="write"),
        row("unit.preparing", 3, attempt=1),
        row("unit.prepared", 4, path="/w/a", workspace="clone", identity=[1, 2]),
        row("unit.started", 5, process={"pid": 2, "start": "1", "boot": "1"}),
        row("unit.exited", 6, exit={"code": 0, "seconds": 1.0}),
        row("unit.captured", 7, commit="c" * 40, files=1),
        row("unit.verified", 8, verdict={"state": "pass"}),
        row("unit.finished", 9, state="ready", reason=""),
        row("run.finished", 10, states={"a": "ready"}),
    ]
    return [*rows, row("workspace.removed", 11, removed=True)] if removed else rows


def landed(run: str, time: float, kind: str = "landing.landed", **facts: object) -> Event:
    rows = {"branch": f"prun/{run}/a", "commit": "d" * 40, "tip": "c" * 40, "target": "refs/heads/main"}
    return event_of(kind, time, run, "a", {**rows, **facts})


def test_a_run_that_is_over_becomes_one_line() -> None:
    events: list[Event | None] = [*life("r1"), *life("r2", 100.0)]
    short = condense(events, 50.0)
    assert (short.runs, short.gone) == (("r1",), tuple(range(11)))
    found = shortened(events, 50.0)
    assert [(event.kind, event.run) for event in found[:2]] == [("run.summed", "r1"), ("run.started", "r2")]
    assert found[0].time == 1.0
    assert fold(found) == fold([event for event in events if event])
    assert list(fold(found).runs) == ["r1", "r2"]


def test_what_came_after_goes_on_from_it() -> None:
    before: list[Event | None] = [*life("r1"), landed("r1", 12.0)]
    short = shortened(before)
    assert [event.kind for event in short] == ["run.summed", "landing.landed", "run.summed-end"]
    later = [
        landed("r1", 13.0, "landing.undone", way="moved", state="ready", by=""),
        event_of("run.resumed", 14.0, "r1", "", {"coordinator": {"pid": 9, "start": "1", "boot": "1"}}),
        event_of("unit.preparing", 15.0, "r1", "a", {"attempt": 2}),
    ]
    assert fold([*short, *later]) == fold([*(event for event in before if event), *later])


def test_a_run_that_is_not_over_or_has_workspaces_stays() -> None:
    live = life("r1")[:9]
    there = life("r2", removed=False)
    stuck = [event for event in life("r3") if event.kind not in ("unit.finished",)]
    events: list[Event | None] = [*live, *there, *stuck]
    assert condense(events, 1e12).gone == ()
    assert condense([*life("r4")], 11.0).gone == ()
    assert condense([*life("r4")], 11.1).runs == ("r4",)


def test_unreadable_lines_go_and_proofs_that_are_too_old() -> None:
    proof = event_of("verify.passed", 5.0, facts={"tree": "t"})
    young = replace(proof, time=2 * DAY)
    events: list[Event | None] = [None, proof, young, event_of("ledger.compacted", 1.0, facts={"number": 3})]
    assert condense(events, 2 * DAY).gone == (0, 1, 3)


def test_errands_in_named_workspaces_that_are_gone() -> None:
    def row(kind: str, time: float, unit: str = "w", **facts: object) -> Event:
        place = {"path": f"/w/{unit}", "workspace": "clone", "identity": [1, 2]} if kind == "workspace.made" else {}
        return event_of(kind, time, NAMED, unit, place | facts)

    events: list[Event | None] = [
        row("workspace.made", 1.0, branch="w"),
        row("unit.preparing", 2.0),
        row("unit.finished", 3.0, state="ready"),
        row("workspace.removed", 4.0),
        row("unit.finished", 5.0, state="ready"),
        row("workspace.made", 6.0, "v", branch="v"),
        row("unit.finished", 7.0, "v", state="failed"),
    ]
    assert condense(events, 100.0).gone == (1, 2)
    assert condense(events, 4.0).gone == ()
    found = shortened(events, 100.0)
    assert roster(found) == roster([event for event in events if event])
    # The branches of all there ever were are told apart by the monitor.
    assert [event.payload.as_json()["branch"] for event in found if event.kind == "workspace.made"] == ["w", "v"]


KINDS = st.sampled_from(
    [
        *sorted({event.kind for event in life("r1")}),
        "run.resumed",
        "unit.waiting",
        "workspace.made",
        "workspace.setup",
        "landing.started",
        "landing.landed",
        "landing.undone",
        "landing.redone",
        "landing.finished",
        "undo.started",
        "undo.finished",
        "verify.passed",
        "drift.found",
        "new.kind",
        "run.summed",
        "run.summed-end",
        "ledger.compacted",
    ]
)
WORDS = st.sampled_from(["ready", "landed", "moved", "reverted", "m", "n", "1", ""])
VALUES = st.none() | st.booleans() | st.integers(0, 3) | WORDS | st.dictionaries(WORDS, WORDS, max_size=2)
MORE = ("state", "way", "base", "path", "removed", "attempt", "outcome", "coordinator", "spec", "more")
FACTS = st.fixed_dictionaries({"branch": WORDS, "commit": WORDS, "target": WORDS}, optional=dict.fromkeys(MORE, VALUES))
ROWS = st.lists(
    st.builds(
        foreign, KINDS, st.integers(0, 9).map(float), st.sampled_from(["", "r1", "r2", "named"]),
        st.sampled_from(["", "a", "b"]), FACTS,
    ).filter(lambda event: event is not None),
    max_size=30,
)  # fmt: skip
LIVES = st.lists(st.integers(0, 20), min_size=1, max_size=4)


def woven(rows: list[Event], cuts: list[int]) -> list[Event]:
    """Put the rows of whole runs between others, so that there is something to shorten."""
    found = list(rows)
    for number, cut in enumerate(cuts):
        for event in life(f"r{1 + number % 2}"):
            found.insert(min(len(found), cut), event)
            cut += 1 + cut % 3
    return found


@settings(max_examples=100)
@given(ROWS, LIVES, st.integers(0, 12).map(float), ROWS)
def test_the_shorter_ledger_says_the_same(
    rows: list[Event], cuts: list[int], before: float, later: list[Event]
) -> None:
    events = woven(rows, cuts)
    short = shortened([*events], before)
    assert say_the_same(short, events)
    assert say_the_same([*short, *later], [*events, *later])
    assert len(short) <= len(events) + len({event.run for event in events})
    # Rows that others read, all of them and in their order.
    for noun in ("landing.", "undo.", "drift.", "new."):
        assert [e for e in short if e.kind.startswith(noun)] == [e for e in events if e.kind.startswith(noun)]
    # What is short already gets no shorter.
    assert say_the_same(shortened([*short], before), events)
    assert len(shortened([*short], before)) <= len(short)


def test_ledgers_that_say_something_else_are_told_apart() -> None:
    one, two = life("r1"), life("r2")
    place = {"path": "/w", "workspace": "clone", "identity": [1, 2], "branch": "w"}
    made = event_of("workspace.made", 1.0, NAMED, "w", place)
    assert say_the_same([*one, *two], [*one, *two, event_of("new.kind", 1.0)])
    for other in ([*two, *one], one[:-1], [*one, *two, made], [*one, *two, landed("r1", 12.0)]):
        assert not say_the_same([*one, *two], other)


def test_landings_are_read_the_same() -> None:
    ends = {"target": "refs/heads/main", "old": "o" * 40, "new": "d" * 40}
    rows = [{"branch": "prun/r1/a", "commit": "d" * 40, "tip": "c" * 40, "run": "r1", "unit": "a"}]
    events = [
        *life("r1"),
        event_of("landing.started", 12.0, facts={**ends, "landings": rows, "checkout": ""}),
        landed("r1", 13.0),
        event_of("landing.finished", 14.0, facts={**ends, "outcome": "landed"}),
        event_of("undo.started", 15.0, facts={**ends, "landings": rows}),
    ]
    short = shortened([*events])
    assert len(short) == 6
    assert read_landings(short) == read_landings(events)
    assert find_cut_off(short) == find_cut_off(events)

"""What landings said is remembered by rows: the last of each branch holds, until it lands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gitprun.landing.holds import held_branches
from gitprun.landing.plan import Candidate, LandingItem, LandingReport
from gitprun.ledger.condense import condense, say_the_same
from gitprun.ledger.events import Event, decode, encode
from gitprun.ledger.held import HeldBranch, held_row, read_held, spent_rows
from gitprun.model.findings import ConflictPath, Suspect
from gitprun.model.names import Oid
from gitprun.model.units import CheckResult, Verdict
from tests.support.rows import event_of, foreign

A, B, C = (Oid(letter * 40) for letter in "abc")


def row(branch: str, state: str = "conflict", *, landed: bool = False, time: float = 1.0) -> Event:
    facts: dict[str, Any] = {"branch": branch, "target": "refs/heads/main"}
    if landed:
        return event_of("landing.landed", time, "r1", "u", facts | {"commit": C})
    return event_of("landing.held", time, facts=facts | {"tip": A, "main": B, "state": state, "reason": "why"})


def told(events: list[Event]) -> dict[str, str]:
    return {branch: held.state for (branch, _), held in read_held(events).items()}


def test_rows_come_back_as_they_were() -> None:
    check = CheckResult(command="make check", state="fail", code=1, seconds=0.5, log="/l", reason="exit 1")
    unit = Candidate(branch="prun/r1/u", tip=A, run="r1", unit="u")
    conflict = ConflictPath(path="f", kind="contents", detail="CONFLICT")
    items = (
        LandingItem(candidate=Candidate(branch="landed", tip=A), state="landed"),
        LandingItem(candidate=unit, state="conflict", reason="conflicts", conflicts=(conflict,)),
        LandingItem(
            candidate=Candidate(branch="s", tip=A),
            state="suspect",
            reason="x",
            suspects=(Suspect(path="s", reason="x"),),
        ),
        LandingItem(
            candidate=Candidate(branch="r", tip=A),
            state="red",
            reason="x",
            verdict=Verdict(state="fail", checks=(check,)),
        ),
        LandingItem(candidate=Candidate(branch="n", tip=A), state="not-tried", reason="x"),
        LandingItem(candidate=Candidate(branch="e", tip=A), state="empty", reason="x"),
    )
    report = LandingReport(target="refs/heads/main", old=B, new=C, items=items)
    held = held_branches(report)
    assert [(one.name, one.main, one.next_step, one.acceptance) for one in held] == [
        ("r1/u", C, "git prun resolve r1/u", ""),
        ("s", C, "git prun resolve s", "git prun merge --allow-suspect=s s"),
        ("r", C, "git prun resolve r", ""),
    ]
    assert (held[2].command, held[2].log) == ("make check", "/l")
    events = [decode(encode(Event(held_row(one), 7.0))) for one in held]
    back = read_held(event for event in events if event is not None)
    assert [(one.branch, one.time) for one in back.values()] == [("prun/r1/u", 7.0), ("s", 7.0), ("r", 7.0)]
    assert [held_row(one) for one in back.values()] == [held_row(one) for one in held]


def test_a_row_stays_small() -> None:
    many = tuple(ConflictPath(path="p" * 5000, kind="k" * 5000, detail="") for _ in range(1000))
    item = LandingItem(candidate=Candidate(branch="b", tip=A), state="conflict", reason="r" * 9000, conflicts=many)
    report = LandingReport(target="refs/heads/main", old=B, new=B, items=(item,))
    assert len(encode(Event(held_row(held_branches(report)[0]), 1.0))) < 16_000


def test_names_are_quoted_for_a_shell() -> None:
    held = HeldBranch(
        branch="it's", tip=A, target="refs/heads/main", main=B, state="suspect", reason="", name="it's",
        findings=(("a b.json", "x"),),
    )  # fmt: skip
    assert held.next_step == "git prun resolve 'it'\"'\"'s'"
    assert held.acceptance == "git prun merge --allow-suspect='a b.json' 'it'\"'\"'s'"


def test_the_last_word_holds() -> None:
    assert told([row("a"), row("b"), row("a", "red")]) == {"b": "conflict", "a": "red"}
    assert told([row("a"), row("a", landed=True)]) == {}
    assert told([row("a"), row("a", landed=True), row("a", "suspect")]) == {"a": "suspect"}
    damaged: Mapping[str, Any] = {"branch": "a", "target": "refs/heads/main", "findings": 7}
    damage = foreign("landing.held", 2.0, facts=damaged)
    assert damage is not None
    assert told([row("a"), damage]) == {}


ROWS = st.lists(st.tuples(st.sampled_from("abc"), st.sampled_from(["conflict", "red", "landed"])), max_size=12)


@given(ROWS)
def test_a_shorter_ledger_remembers_the_same(rows: list[tuple[str, str]]) -> None:
    events = [row(branch, state, landed=state == "landed", time=float(at)) for at, (branch, state) in enumerate(rows)]
    spent = set(spent_rows(enumerate(events)))
    assert read_held(event for at, event in enumerate(events) if at not in spent) == read_held(events)
    assert len([event for at, event in enumerate(events) if event.kind == "landing.held" and at not in spent]) == len(
        read_held(events)
    )
    short = condense(events, before=100.0)
    assert say_the_same(events, [one if isinstance(one, Event) else events[one] for one in short.lines])

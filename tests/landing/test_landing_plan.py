"""The order of a landing, its words, and its plain form."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.landing.plan import (
    Candidate,
    LandingItem,
    LandingOptions,
    LandingReport,
    plan_order,
    render_message,
    render_reason,
    unproved,
)
from gitprun.model.findings import ConflictPath, ResolvedPath, Suspect
from gitprun.model.names import Oid
from gitprun.model.units import CheckResult, Verdict


def one(name: str, since: float = 0.0, *, unit: bool = False, verdict: str = "") -> Candidate:
    return Candidate(branch=name, tip=Oid(name * 40), since=since, unit=name if unit else "", verdict=verdict)


A, B, C, D = (Oid(letter * 40) for letter in "abcd")


@pytest.mark.parametrize(
    ("given", "contained", "expected", "captured"),
    [
        ([], set(), "", ""),
        ([one("b"), one("a")], set(), "ba", "ba"),
        ([one("b", 2, unit=True), one("a", 1, unit=True)], set(), "ba", "ab"),
        ([one("d"), one("b", 2, unit=True), one("a", 1, unit=True)], set(), "dba", "abd"),
        ([one("a"), one("b"), one("c")], {(C, A)}, "bca", "bca"),
        ([one("a"), one("b"), one("c")], {(C, B), (B, A), (C, A)}, "cba", "cba"),
        ([one("a", 1, unit=True), one("b", 2, unit=True)], {(B, A)}, "ba", "ba"),
        ([one("a"), one("a")], set(), "a", "a"),
    ],
)
def test_order(given: list[Candidate], contained: set[tuple[Oid, Oid]], expected: str, captured: str) -> None:
    assert "".join(each.branch for each in plan_order(given, contained)) == expected
    assert "".join(each.branch for each in plan_order(given, contained, by_time=True)) == captured


@given(st.permutations("abcdefg"), st.sets(st.tuples(st.sampled_from("abcdefg"), st.sampled_from("abcdefg"))))
def test_the_order_is_the_one_given_but_for_ancestors(names: list[str], pairs: set[tuple[str, str]]) -> None:
    # As commits are: no two contain each other, and what contains a commit contains its ancestors.
    contained = {(Oid(old * 40), Oid(new * 40)) for old, new in pairs if old < new}
    waiting = [one(name, number % 3, unit=number % 2 == 0) for number, name in enumerate(names)]
    ordered = plan_order(waiting, contained)
    assert sorted(each.branch for each in ordered) == sorted(names)
    place = {each.tip: number for number, each in enumerate(ordered)}
    assert all(place[old] < place[new] for old, new in contained)
    tied = {tip for pair in contained for tip in pair}
    free = [each.branch for each in ordered if each.tip not in tied]
    assert free == [name for name in names if Oid(name * 40) not in tied]
    assert plan_order(ordered, contained) == ordered


def test_two_branches_at_one_commit_are_both_kept() -> None:
    twins = [Candidate(branch=name, tip=A) for name in ("x", "y")]
    assert plan_order(twins, set()) == tuple(twins)


@pytest.mark.parametrize(
    ("candidate", "options", "expected"),
    [
        (one("a"), LandingOptions(), ""),
        (one("a", verdict="fail"), LandingOptions(), ""),
        (one("a", unit=True, verdict="pass"), LandingOptions(), ""),
        (one("a", unit=True, verdict="fail"), LandingOptions(), "its checks failed"),
        (one("a", unit=True, verdict="could-not-run"), LandingOptions(), "its checks could not run"),
        (one("a", unit=True, verdict="absent"), LandingOptions(), "it has no checks"),
        (one("a", unit=True), LandingOptions(), "it was never verified"),
        (one("a", unit=True), LandingOptions(no_verify=True), "it was never verified"),
        (one("a", unit=True, verdict="fail"), LandingOptions(allow_unverified=True), ""),
    ],
)
def test_a_unit_needs_a_verdict_of_its_own(candidate: Candidate, options: LandingOptions, expected: str) -> None:
    assert unproved(candidate, options) == expected


def test_words() -> None:
    assert render_message(one("a"), None) == "merge: ship a"
    assert render_message(one("a"), "{branch}: {branch} {other}\n\nbody") == "a: a {other}\n\nbody"
    assert render_message(one("a"), "") == ""
    assert render_reason(["x/y"]) == "merge x/y: Merge made by the 'ort' strategy."
    assert render_reason(["a", "b"]) == "merge a, b: Merge made by the 'ort' strategy."


def test_plain_form() -> None:
    item = LandingItem(
        candidate=Candidate(branch="prun/r1/a", tip=A, run="r1", unit="a", verdict="pass"),
        state="conflict",
        reason="conflicts with main in 1 path",
        conflicts=(ConflictPath(path="f", kind="contents", detail="CONFLICT", reason="not proved"),),
        resolved=(ResolvedPath(path="g", resolver="lines", added=("x",), dropped=("y",)),),
        suspects=(Suspect(path="h", reason="twice"),),
    )
    check = CheckResult(command="true", state="pass", code=0, seconds=0.5, log="/l")
    report = LandingReport(
        target="refs/heads/main",
        old=A,
        new=B,
        items=(item,),
        verdict=Verdict(state="pass", checks=(check,)),
        notes=("n",),
    )
    assert json.loads(json.dumps(report.as_json())) == {
        "target": "refs/heads/main",
        "old": A,
        "new": B,
        "items": [
            {
                "branch": "prun/r1/a",
                "tip": A,
                "run": "r1",
                "unit": "a",
                "state": "conflict",
                "commit": "",
                "reason": "conflicts with main in 1 path",
                "conflicts": [
                    {"path": "f", "kind": "contents", "detail": "CONFLICT", "resolver": "", "reason": "not proved"}
                ],
                "resolved": [{"path": "g", "resolver": "lines", "added": ["x"], "dropped": ["y"]}],
                "suspects": [{"path": "h", "reason": "twice", "mend": ""}],
                "accept": [],
            }
        ],
        "verdict": {
            "state": "pass",
            "checks": [
                {
                    "command": "true",
                    "state": "pass",
                    "code": 0,
                    "seconds": 0.5,
                    "log": "/l",
                    "reason": "",
                    "changed": [],
                    "flaky": False,
                }
            ],
            "confined": "",
            "notes": [],
            "gate": [],
        },
        "notes": ["n"],
    }
    assert report.landed == ()

"""``git prun status`` and ``show`` remember what the landing said, until it is true no more."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.cli import Said
from tests.support.inside import inside
from tests.support.repos import Repo, make_repo
from tests.support.rows import payload_of

Prun = Callable[..., Said]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Make a run with one unit, and branches made elsewhere; each is held for another reason."""
    repo = make_repo(tmp_path / "r", f="1\n", s_dot_json='{\n  "a": 1,\n  "b": 2,\n  "c": 3\n}\n', n="1\n")
    base = repo.head
    for name, files in (
        ("unit", {"f": "unit\n"}),
        ("twice", {"s_dot_json": '{\n  "a": 1,\n  "b": 2,\n  "c": 3,\n  "x": 1\n}\n'}),
        ("bad", {"bad": "b\n"}),
        ("good", {"good": "g\n"}),
    ):
        repo.switch(name, new=True, start=base)
        repo.commit(name, **files)
    repo.switch("main")
    repo.commit("main", f="main\n", s_dot_json='{\n  "x": 2,\n  "a": 1,\n  "b": 2,\n  "c": 3\n}\n')
    repo.ledger.append(payload_of("run.started", {"base": base}), run="r1")
    facts = {"commit": repo.oid("unit"), "verdict": {"state": "pass"}}
    repo.ledger.append(payload_of("unit.captured", facts), run="r1", unit="u")
    repo.ledger.append(payload_of("unit.finished", state="ready"), run="r1", unit="u")
    return repo


@pytest.fixture
def prun(repo: Repo, capsys: pytest.CaptureFixture[str]) -> Prun:
    return lambda *words: inside(capsys, repo.path, *words)


def held(said: Said) -> list[list[str]]:
    """Read the section of what did not land, by columns."""
    lines = said.out.splitlines()
    if "did not land:" not in lines:
        return []
    head, *rows = lines[lines.index("did not land:") + 1 :]
    starts = [head.index(name) for name in ("branch", "on", "state", "why", "next")]
    return [[row[a:b].strip() for a, b in zip(starts, [*starts[1:], None], strict=True)] for row in rows]


ALL = ("merge", "r1/u", "twice", "bad", "good", "--verify", "test ! -e bad")


def test_each_is_told_with_the_next_command(repo: Repo, prun: Prun) -> None:
    assert prun(*ALL).code == 1
    told = [
        ["r1/u", "main", "conflict", "conflicts with main in 1 path", "git prun resolve r1/u"],
        ["twice", "main", "suspect", 's.json: the key "x" is there twice', "git prun resolve twice"],
        ["bad", "main", "red", "test ! -e bad: exit 1 (on top of main)", "git prun resolve bad"],
    ]
    rows = held(prun("status"))
    assert rows == told
    assert held(prun("status", "r1")) == rows[:1]
    shown = prun("show", "u").out.splitlines()
    assert [row for row in shown if row.startswith(("landing:", "next:"))] == [
        "landing:   conflict on main: conflicts with main in 1 path",
        "next:      git prun resolve r1/u",
    ]
    found = prun("status", "--json").json["held"]
    assert [(row["name"], row["state"], row["next"], row["findings"]) for row in found] == [
        ("r1/u", "conflict", "git prun resolve r1/u", [{"path": "f", "reason": "contents"}]),
        ("twice", "suspect", "git prun resolve twice", [{"path": "s.json", "reason": 'the key "x" is there twice'}]),
        ("bad", "red", "git prun resolve bad", []),
    ]
    assert (found[2]["command"], Path(found[2]["log"]).is_file()) == ("test ! -e bad", True)
    assert prun("show", "u", "--json").json["landing"] == found[0]


def test_what_moved_makes_it_void(repo: Repo, prun: Prun) -> None:
    prun(*ALL)
    repo.switch("twice")
    repo.commit("more", more="m\n")
    repo.switch("main")
    rows = held(prun("status"))
    assert [(row[0], row[3].partition(":")[0], row[4]) for row in rows] == [
        ("r1/u", "conflicts with main in 1 path", "git prun resolve r1/u"),
        ("twice", "twice moved since", "git prun merge twice"),
        ("bad", "test ! -e bad", "git prun resolve bad"),
    ]
    repo.commit("went on", n="2\n")
    assert [(row[0], row[3].partition(":")[0], row[4]) for row in held(prun("status"))] == [
        ("r1/u", "main moved since", "git prun merge r1/u"),
        ("twice", "main and twice moved since", "git prun merge twice"),
        ("bad", "main moved since", "git prun merge bad"),
    ]
    assert "landing:   conflict on main: conflicts with main in 1 path (main moved since)" in prun("show", "u").out


def test_what_landed_or_is_gone_is_told_no_more(repo: Repo, prun: Prun) -> None:
    prun(*ALL)
    assert prun("merge", "twice", "--no-verify", "--allow-suspect=s.json").code == 0
    assert [row[0] for row in held(prun("status"))] == ["r1/u", "bad"]
    repo.git("branch", "-D", "bad")
    repo.git("merge", "-q", "-X", "ours", "--no-edit", "unit")
    assert held(prun("status")) == []
    assert prun("show", "u", "--json").json["landing"] is None


def test_a_dry_run_is_no_landing(repo: Repo, prun: Prun) -> None:
    assert prun("merge", "r1/u", "--no-verify", "--dry-run").code == 1
    assert held(prun("status")) == []


def test_branches_are_told_where_nothing_was_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = make_repo(tmp_path / "s", f="1\n")
    repo.switch("topic", new=True)
    repo.commit("topic", f="2\n")
    repo.switch("main")
    repo.commit("main", f="3\n")
    inside(capsys, repo.path, "merge", "topic", "--no-verify")
    said = inside(capsys, repo.path, "status")
    assert held(said) == [["topic", "main", "conflict", "conflicts with main in 1 path", "git prun resolve topic"]]


def test_main_that_was_red_before_is_nobodys_fault(repo: Repo, prun: Prun) -> None:
    prun("merge", "good", "--verify", "false")
    [row] = held(prun("status"))
    assert (row[0], row[2], row[3], row[4]) == (
        "good",
        "red",
        "main was red before: false: exit 1",
        "git prun merge good",
    )
    assert prun("resolve", "good").err.startswith("error: nothing of good is left in conflict with main\n")

"""Names of workspaces, the fold over their events, and the words of the second seed's wrapper."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.ledger.events import Event, fold
from gitprun.ledger.roster import colliding, flat, parse_name, roster
from gitprun.model.errors import PlanError
from gitprun.model.prompts import BYPASS
from gitprun.runs.messages import (
    Facts,
    commit_message,
    count_errors,
    read_level,
    skipped_line,
    subject,
    summary_line,
    verify_line,
)
from tests.support.rows import event_of


@pytest.mark.parametrize("name", ["a", "wave1-reports", "wave1/x", "a/b/c", "v1.2", "_x", "1", "x" * 100, "r", "rx1"])
def test_names_that_are_fine(name: str) -> None:
    assert parse_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        *("", "/", "a/", "/a", "a//b", ".", "..", "../a", "a/../b", ".hidden", "-x", "a/-x", "a b", "a\nb", "a\\b"),
        *("a..b", "a.lock", "a.lock/b", "a.log", "a.", "con", "a/NUL", "com1.txt", "é", "x" * 101, "a+b", "a:b", "~"),
    ],
)
def test_names_that_are_refused(name: str) -> None:
    with pytest.raises(PlanError, match="cannot be the name of a workspace"):
        parse_name(name)


@pytest.mark.parametrize("name", ["r1", "r12/x", "named", "named/x", "prun/x"])
def test_names_that_read_like_units(name: str) -> None:
    with pytest.raises(PlanError, match="would read like a unit of a run"):
        parse_name(name)


@given(st.from_regex(r"[a-z0-9_.-]{1,9}(/[a-z0-9_.-]{1,9}){0,3}", fullmatch=True))
def test_a_usable_name_stays_inside_and_makes_a_ref(name: str) -> None:
    try:
        parse_name(name)
    except PlanError:
        return
    parts = name.split("/")
    assert not any(part.startswith((".", "-")) or part.endswith((".", ".lock")) or ".." in part for part in parts)
    assert flat(name).split("+") == parts


@pytest.mark.parametrize(
    ("name", "known", "found"),
    [
        ("a", ["b"], None),
        ("a", ["a"], "a"),
        ("A", ["a"], "a"),
        ("a/b", ["a"], "a"),
        ("a", ["x", "a/b"], "a/b"),
        ("ab", ["a"], None),
        ("a-b", ["a/b"], None),
    ],
)
def test_collisions(name: str, known: list[str], found: str | None) -> None:
    assert colliding(name, known) == found


def happened(kind: str, unit: str = "a", run: str = "named", **facts: Any) -> Event:
    place = {"workspace": "clone", "identity": [1, 2], "branch": "x"} if kind == "workspace.made" else {}
    return event_of(kind, 5.0, run, unit, place | facts)


MADE = {"workspace": "clone", "identity": [1, 2], "branch": "x"}
WHO = {"pid": 1, "start": "2", "boot": "3"}


def test_the_roster_is_a_fold_that_runs_know_nothing_of() -> None:
    events = [
        happened("unit.started", process={}),
        happened("workspace.made", path="/w/a", branch="x"),
        happened("workspace.setup", setup="done"),
        happened("unit.started", process=WHO),
        happened("workspace.made", "b", path="/w/b"),
        happened("workspace.removed", "b"),
        happened("workspace.made", "c", run="", path="/w/c"),
        happened("unit.finished", "d", state="ready"),
    ]
    found = roster(events)
    assert list(found.units) == ["a"]
    unit = found.units["a"]
    assert (unit.state, unit.live, unit.as_json()) == (
        "running",
        True,
        {**MADE, "path": "/w/a", "setup": "done", "process": WHO},
    )
    assert roster([*events, happened("unit.finished", state="ready")]).units["a"].state == "ready"
    again = roster(
        [*events, happened("unit.finished", state="ready", reason="x"), happened("unit.preparing", slug="s")]
    )
    assert again.units["a"].as_json() == {**MADE, "path": "/w/a", "setup": "done", "slug": "s"}
    assert roster([*events, happened("workspace.made", path="/w/2")]).units["a"].as_json() == MADE | {"path": "/w/2"}
    assert (dict(fold(events).runs), fold(events).landings) == ({}, ())


kinds = st.sampled_from(["workspace.made", "workspace.removed", "unit.started", "unit.finished", "run.started", "x"])


def some(kind: str, unit: str, run: str) -> Event:
    return happened(kind, unit, run, **({"path": "/w"} if kind == "workspace.made" else {}))


@given(st.lists(st.builds(some, kinds, st.sampled_from(["", "a", "b/c"]), st.sampled_from(["named", "r1", ""]))))
def test_the_roster_takes_any_events(events: list[Event]) -> None:
    assert set(roster(events).units) <= {"a", "b/c"}


def facts(**rest: Any) -> Facts:
    known: dict[str, Any] = {
        "slug": "p1-reports",
        "prompt": "Add the report.\nMore words.",
        "branch": "wave1/reports",
        "seconds": 12.6,
        "code": 0,
        "pid": 4711,
        "timestamp": "2026-01-05T10:00:00Z",
        "files": ["a.py", "b.py"],
        "stat": " a.py | 1 +\n b.py | 2 ++\n 2 files changed, 3 insertions(+)\n",
        "output": ["one", "two\x1b[0m"],
        "source": "codex exec (gpt-5.5 high reasoning)",
    }
    return Facts(**{**known, **rest})


def test_level_1_is_one_line() -> None:
    assert commit_message(1, facts()) == "agent(p1-reports): Add the report. [auto]\n"


def test_level_2_has_the_figures() -> None:
    assert commit_message(2, facts()) == (
        "agent(p1-reports): Add the report.\n"
        "\n"
        "Stats   :  2 files changed, 3 insertions(+)\n"
        "Runtime : 13s\n"
        "Exit    : 0\n"
        "Branch  : wave1/reports\n"
        "PID     : 4711\n"
    )


def test_level_3_has_all() -> None:
    assert commit_message(3, facts()) == (
        "agent(p1-reports): Add the report.\n"
        "\n"
        "Branch    : wave1/reports\n"
        "Runtime   : 13s\n"
        "Exit      : 0\n"
        "PID       : 4711\n"
        "Timestamp : 2026-01-05T10:00:00Z\n"
        "Files     : a.py,b.py\n"
        "\n"
        "--- diff stats ---\n"
        " a.py | 1 +\n"
        " b.py | 2 ++\n"
        " 2 files changed, 3 insertions(+)\n"
        "\n"
        "--- agent output (last 20 lines) ---\n"
        "  one\n"
        "  two\n"
        "\n"
        "Source    : codex exec (gpt-5.5 high reasoning)\n"
    )


def test_level_3_cuts_files_and_output() -> None:
    text = commit_message(3, facts(files=[f"f{n}" for n in range(12)], output=[f"line {n}" for n in range(30)]))
    assert "Files     : f0,f1,f2,f3,f4,f5,f6,f7,f8,f9\n" in text
    assert ("  line 10\n" in text, "  line 9\n" in text, "  line 29\n" in text) == (True, False, True)


def test_commits_of_its_own_are_told_where_they_are_not_on_the_branch() -> None:
    text = commit_message(3, facts(own_commits=["1234567 Bot: mine"]))
    assert text.endswith("reasoning)\n\n--- its own commits (kept) ---\n  1234567 Bot: mine\n")


@pytest.mark.parametrize(
    ("text", "level"), [("1", 1), ("2", 2), ("3", 3), ("", 3), ("9", 3), ("0", 3), (" 1", 3), ("x", 3)]
)
def test_levels(text: str, level: int) -> None:
    assert read_level(text) == level


def test_the_subject_is_the_task_and_not_the_bypass_prefix() -> None:
    task = "Build the scheduled report pipeline with all of its five parts, then test it."
    cut = "Build the scheduled report pipeline with all of its five par"
    assert len(cut) == 60
    for prompt in (task, f"{BYPASS} {task}", f"{BYPASS}\n\n{task}\nAnd more.", f"\n# {task}"):
        assert subject("p1", prompt) == f"agent(p1): {cut}"
    assert subject("p1", task, failed=True) == f"agent(p1) FAILED: {cut}"
    assert subject("p1", "a\tb\x07c") == "agent(p1): a bc"


def test_lines_that_say_error_are_counted() -> None:
    said = "src/a.ts(1,1): error TS2304: x\na.py:1: error: y\nerror[E0308]: z\nERROR all\n error[x]\nno errors\nFAIL\n"
    assert (count_errors(said), count_errors("")) == (4, 0)


@pytest.mark.parametrize(
    ("lines", "found"),
    [
        (["Test Files  2 passed", " Tests  184 passed (184)", "Duration 2s"], "Tests 184 passed (184)"),
        (["1 failed, 3 passed in 0.1s"], "1 failed, 3 passed in 0.1s"),
        (["ok  \tpkg\t0.1s"], "ok pkg 0.1s"),
        (["nothing"], ""),
        ([], ""),
    ],
)
def test_the_last_summary_counts(lines: list[str], found: str) -> None:
    assert summary_line(lines) == found


def test_the_verify_lines() -> None:
    assert verify_line("0", "npx tsc --noEmit", "Tests  184 passed (184)", "npx vitest run") == (
        "post-verify verify_errors=0 (cmd='npx tsc --noEmit') tests='Tests  184 passed (184)' (cmd='npx vitest run')"
    )
    assert skipped_line("?", "no changes") == "post-verify verify_errors=? tests='skipped (no changes)'"

"""What may go: only what is provably safe, each with its reason; all else stays."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.ledger.events import STATES
from gitprun.recovery.gc_plan import DAY, GcInventory, GcScope, GcStep, Leftover, RunFound, Stay, UnitFound, plan_gc

NOW = 1767607200.0
KEEP = 30 * DAY
OID = "a" * 40

CLEAN = UnitFound(
    name="r1/u", run="r1", unit="u", kind="clone", state="landed", path="/w/r1/u", there=True, lexists=True,
    captured=True, dirty=0, unpinned=0, ended=NOW - DAY, size=100,
)  # fmt: skip


def plan(found: GcInventory, *, workspaces: bool = False) -> tuple[tuple[GcStep, ...], tuple[Stay, ...]]:
    made = plan_gc(found, GcScope(keep_for=KEEP, workspaces=workspaces), now=NOW)
    return made.steps, made.stays


def test_nothing() -> None:
    assert plan(GcInventory()) == ((), ())


def test_workspaces_go_only_when_asked_for() -> None:
    found = GcInventory(units=(CLEAN,))
    assert plan(found) == ((), ())
    why = "r1/u is landed, and every file and commit of it is pinned"
    assert plan(found, workspaces=True) == (
        (GcStep(kind="workspace", what="/w/r1/u", why=why, size=100, of="r1/u"),),
        (),
    )


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"there": False}, "it is not the folder prun made"),
        ({"locked": "mine"}, "it is locked: mine"),
        ({"locked": ""}, "it is locked"),
        ({"state": "lost"}, "its unit is lost"),
        ({"captured": False}, "its work was never captured"),
        ({"dirty": None}, "what changed in it since cannot be told"),
        ({"dirty": 2}, "files in it that are in no commit: 2"),
        ({"left_out": 1}, "paths in it that were left out of its commit: 1"),
        ({"unpinned": None}, "its commits cannot be told"),
        ({"unpinned": 3}, "commits in it that are pinned nowhere: 3"),
    ],
)
def test_workspaces_that_stay(change: dict[str, object], why: str) -> None:
    found = GcInventory(units=(replace(CLEAN, **change),))  # type: ignore[arg-type]
    assert plan(found, workspaces=True) == ((), (Stay("/w/r1/u", why, "git prun remove r1/u"),))


UNITS = st.builds(
    UnitFound,
    name=st.just("r1/u"),
    run=st.sampled_from(["r1", "named"]),
    unit=st.just("u"),
    kind=st.sampled_from(["clone", "worktree", "scratch"]),
    state=st.sampled_from([*STATES, "lost", "idle"]),
    path=st.just("/w/r1/u"),
    there=st.booleans(),
    lexists=st.booleans(),
    reachable=st.booleans(),
    running=st.booleans(),
    locked=st.sampled_from([None, "", "mine"]),
    captured=st.booleans(),
    dirty=st.sampled_from([None, 0, 1]),
    unpinned=st.sampled_from([None, 0, 1]),
    left_out=st.sampled_from([0, 1]),
)


@given(UNITS)
def test_a_workspace_goes_only_with_every_proof(unit: UnitFound) -> None:
    steps, _ = plan(GcInventory(units=(unit,)), workspaces=True)
    if any(step.kind == "workspace" for step in steps):
        assert (unit.there, unit.lexists, unit.captured, unit.running) == (True, True, True, False)
        assert (unit.dirty, unit.unpinned, unit.left_out, unit.locked, unit.run) == (0, 0, 0, None, "r1")
    if any(step.kind == "registration" for step in steps):
        assert (unit.lexists, unit.reachable, unit.locked, unit.running, unit.run) == (False, True, None, False, "r1")


def test_folders_that_are_gone() -> None:
    gone = replace(CLEAN, there=False, lexists=False, size=0)
    why = "its folder is gone already; commits that only its registration knows are pinned first"
    assert plan(GcInventory(units=(gone,))) == ((GcStep(kind="registration", what="/w/r1/u", why=why, of="r1/u"),), ())
    assert plan(GcInventory(units=(replace(gone, reachable=False),))) == (
        (),
        (Stay("/w/r1/u", "the folder above it is gone too: perhaps a disk that is not mounted"),),
    )
    locked = (Stay("/w/r1/u", "it is gone, but locked: usb disk"),)
    assert plan(GcInventory(units=(replace(gone, locked="usb disk"),))) == ((), locked)
    assert plan(GcInventory(units=(replace(gone, state="lost"),))) == ((), ())
    named = replace(gone, run="named", name="u", state="idle")
    assert [stay.why for stay in plan(GcInventory(units=(named,)))[1]] == ["the folder of the workspace u is gone"]


def test_a_removal_that_broke_off_and_what_served_to_capture() -> None:
    broken = replace(CLEAN, broken=True, git_folder="/s/capture.git", git_size=7)
    steps = plan(GcInventory(units=(broken,)))[0]
    assert [(step.kind, step.what, step.size) for step in steps] == [("removal", "/w/r1/u", 100)]
    steps = plan(GcInventory(units=(replace(broken, path=""),)))[0]
    assert [(step.kind, step.what, step.size) for step in steps] == [("git-folder", "/s/capture.git", 7)]
    assert plan(GcInventory(units=(replace(broken, running=True),))) == ((), ())
    assert plan(GcInventory(units=(replace(broken, broken=False),))) == ((), ())


def test_old_logs_are_compressed() -> None:
    logs = (("/s/output.log", 70_000), ("/s/attempt-1/output.log", 10))
    old = replace(CLEAN, path="", ended=NOW - 31 * DAY, logs=logs)
    assert [(step.kind, step.what) for step in plan(GcInventory(units=(old,)))[0]] == [("log", "/s/output.log")]
    assert plan(GcInventory(units=(replace(old, ended=NOW - 29 * DAY),))) == ((), ())
    assert plan(GcInventory(units=(replace(old, running=True),))) == ((), ())


def test_folders() -> None:
    def row(name: str, *, days: float = 0, used: bool = False) -> Leftover:
        return Leftover(path=name, time=NOW - days * DAY, size=1, used=used)

    found = GcInventory(
        trashes=(row("t1"), row("t2", used=True)),
        temporaries=(row("p1"), row("p2", used=True)),
        landing_logs=(row("l1", days=31), row("l2", days=29)),
        quarantine=(row("q1"),),
        rejected=(row("j1"),),
        orphans=("/w/r1/x",),
    )
    steps, stays = plan(found)
    assert [(step.kind, step.what) for step in steps] == [
        ("trash-folder", "t1"),
        ("temporary", "p1"),
        ("landing-log", "l1"),
        ("quarantine", "q1"),
    ]
    assert stays == (
        Stay("/w/r1/x", "nobody knows it", "git prun workspace adopt /w/r1/x"),
        Stay("j1", "work that was rejected when it was to be taken over", "git prun rescue --list"),
    )


def test_snapshots() -> None:
    fresh = Leftover(path="/s/r1/keep", time=NOW - DAY, size=5, of="r1")
    [step] = plan(GcInventory(snapshots=(fresh,)))[0]
    assert (step.kind, step.what, step.size, step.why) == (
        "snapshot",
        "/s/r1/keep",
        5,
        "a snapshot of your repository from when r1 began; nothing is to be put back",
    )
    assert plan(GcInventory(snapshots=(replace(fresh, used=True),))) == ((), ())
    assert plan(GcInventory(snapshots=(replace(fresh, awaited=True),))) == ((), ())
    [step] = plan(GcInventory(snapshots=(replace(fresh, awaited=True, time=NOW - 31 * DAY),)))[0]
    assert step.why.endswith("what was changed there was not put back for long")


RUN = RunFound(id="r1", states=("landed", "empty"), workspaces=0, running=False, ended=NOW - DAY)
BASE = (("refs/prun/base/r1", OID),)


@pytest.mark.parametrize(
    ("change", "goes"),
    [
        ({}, True),
        ({"running": True}, False),
        ({"workspaces": 1}, False),
        ({"states": ("landed", "ready")}, False),
        ({"states": ("landed", "failed")}, False),
        ({"states": ("landed", "failed"), "ended": NOW - 31 * DAY}, True),
        ({"states": ("ready",), "ended": NOW - 31 * DAY}, False),
        ({"ended": None}, False),
    ],
)
def test_pins_of_bases(change: dict[str, object], goes: bool) -> None:
    found = GcInventory(runs=(replace(RUN, **change),), refs=BASE)  # type: ignore[arg-type]
    assert [step.what for step in plan(found)[0]] == (["refs/prun/base/r1"] if goes else [])


def test_pins_of_what_clones_borrow() -> None:
    refs = (("refs/prun/base-tips/r1", OID), ("refs/prun/base-tips/named/w/x", OID))
    failed = replace(RUN, states=("failed", "ready"))
    steps = plan(GcInventory(runs=(failed,), refs=refs))[0]
    assert [(step.kind, step.of) for step in steps] == [("tips-pin", "r1"), ("tips-pin", "named/w/x")]
    assert steps[0].why == "no clone of r1 is left that could need it"
    busy = GcInventory(runs=(replace(failed, workspaces=1),), refs=refs, named=frozenset({"w/x"}))
    assert plan(busy) == ((), ())
    assert plan(replace(busy, runs=(replace(failed, running=True),))) == ((), ())


def test_pins_of_workspaces_that_are_gone() -> None:
    refs = (("refs/prun/base/named/w/x", OID), ("refs/prun/base/r9", OID), ("refs/prun/kept/r1/u/base-2", OID))
    assert [step.what for step in plan(GcInventory(refs=refs))[0]] == ["refs/prun/base/named/w/x"]
    assert plan(GcInventory(refs=refs, named=frozenset({"w/x"}))) == ((), ())


def test_the_trash() -> None:
    days = ("2026-01-05", "2025-12-06", "2025-12-05", "2027-01-01", "strange")
    found = GcInventory(refs=tuple((f"refs/prun/trash/{day}/heads/x/{OID[:12]}", OID) for day in days))
    assert plan(found)[0] == (
        GcStep(
            kind="trash-ref",
            what=f"refs/prun/trash/2025-12-05/heads/x/{OID[:12]}",
            why="in the trash for 31 days",
            oid=OID,
        ),
    )
    assert [
        step.oid for step in plan(GcInventory(refs=(("refs/prun/r1/u", OID), ("refs/prun/kept/r1/u/head", OID))))[0]
    ] == []


def test_the_ledger() -> None:
    [step] = plan(GcInventory(ledger_runs=2, ledger_saves=1000))[0]
    assert (step.kind, step.size) == ("ledger", 1000)
    assert step.why == "says the same in fewer lines (2 runs that ended long ago); what went is kept compressed"

"""Every flag's exact condition, over plain values."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from gitprun.observe.flags import Flag, FlagLimits, Observation, Tick, UnitReading, judge
from gitprun.observe.own_changes import OwnChanges
from gitprun.observe.snapshot import GONE, CheckoutStatus, PathStatus, RepositorySnapshot

HEADS = {"HEAD": "ref: refs/heads/main"}
MAIN = {"refs/heads/main": "c0"}


def unit(name: str = "alpha", state: str = "running", **facts: Any) -> UnitReading:
    return UnitReading(run="r1", id=name, state=state, live=state in ("running", "collecting", "queued"), **facts)


def shared(dirty: dict[str, tuple[int, int]] | None = None, *, files: int = 7, **refs: str) -> RepositorySnapshot:
    found = {path: PathStatus("??", *stamp) for path, stamp in (dirty or {}).items()}
    checkout = CheckoutStatus(path="/r", dirty=found, files=files)
    return RepositorySnapshot(refs={**MAIN, **refs}, heads=HEADS, checkout=checkout)


def look(*units: UnitReading, **facts: Any) -> Observation:
    facts.setdefault("repository", shared())
    facts.setdefault("start", shared())
    return Observation(time=0.0, units=units, **facts)


def run(*looks: Observation, limits: FlagLimits | None = None) -> list[tuple[str, list[str]]]:
    """Judge looks one after the other; give the note and the flags of each."""
    said, before = [], None
    for now in looks:
        before = judge(before, now, limits or FlagLimits(warn_at=99))
        said.append((before.note, [flag.text for flag in before.flags]))
    return said


def after(before: Observation, now: Observation) -> list[str]:
    """Give the flags of the second of two looks."""
    return run(before, now)[1][1]


def test_notes() -> None:
    busy = look(unit(), codex=1)
    idle = look()
    assert [note for note, _ in run(idle, busy, replace(busy, all_commits=2), replace(busy, all_commits=2))] == [
        "idle",
        "working/no-commit-yet",
        "+2commit",
        "working/no-commit-yet",
    ]


def test_commits_that_vanish_have_a_note() -> None:
    assert run(look(all_commits=3), look(all_commits=1))[1][0] == "-2commit"


def test_a_count_that_failed_is_no_news() -> None:
    looks = (look(all_commits=3), look(all_commits=None), look(all_commits=3))
    assert [note for note, _ in run(*looks)] == ["+3commit", "idle", "idle"]


def test_streak_counts_ticks_with_the_same_note() -> None:
    busy = look(unit(), codex=1)
    looks = (busy, busy, busy, busy, look(unit(), codex=1, all_commits=1), busy)
    assert [said for _, said in run(*looks, limits=FlagLimits(warn_at=3))] == [
        [],
        [],
        ["streak:3x"],
        ["streak:4x"],
        [],
        [],
    ]


def test_no_flag_on_the_first_tick_needs_a_second_look() -> None:
    assert run(look(unit(dirty={"a": (5, 1)}), codex=1)) == [("working/no-commit-yet", [])]


@pytest.mark.parametrize(
    ("before", "now", "raised"),
    [
        pytest.param({}, {"a": (5, 1)}, True, id="a new file"),
        pytest.param({"a": (5, 1)}, {"a": (5, 2)}, True, id="the same file written again"),
        pytest.param({"a": (5, 1)}, {"b": (5, 1)}, True, id="as many files, but others"),
        pytest.param({"a": (5, 1)}, {"a": GONE}, True, id="a file taken away"),
        pytest.param({"a": (5, 1)}, {"a": (5, 1)}, False, id="nothing"),
        pytest.param(None, {"a": (5, 1)}, False, id="not known before"),
        pytest.param({"a": (5, 1)}, None, False, id="not known now"),
    ],
)
def test_silent_edit_follows_content(before: Any, now: Any, raised: bool) -> None:
    assert after(look(unit(dirty=before)), look(unit(dirty=now))) == (["silent-edit"] if raised else [])


def test_silent_edit_not_when_the_unit_committed() -> None:
    before = look(unit(dirty={"a": (5, 1)}))
    assert after(before, look(unit(dirty={}, commits=1), all_commits=1)) == []


def test_silent_edit_although_another_unit_committed() -> None:
    before = look(unit(dirty={}), unit("beta", dirty={"b": (1, 1)}))
    now = look(unit(dirty={"a": (5, 1)}), unit("beta", dirty={}, commits=1), all_commits=1)
    assert after(before, now) == ["silent-edit"]


def test_silent_edit_not_while_the_work_is_being_captured() -> None:
    before = look(unit(dirty={"a": (5, 1)}))
    assert after(before, look(unit(state="collecting", dirty={}))) == []


def test_silent_edit_of_a_unit_that_started_since() -> None:
    assert after(look(), look(unit(dirty={"a": (5, 1)}))) == ["silent-edit"]


def test_done_committed_while_others_work() -> None:
    before = look(unit(), unit("beta"), codex=2)
    now = look(unit(state="ready", commits=1, committed=True), unit("beta"), codex=1, all_commits=1)
    judged = judge(judge(None, before), now)
    assert judged.flags == (Flag("agent-done-committed", unit="alpha", about=("alpha",)),)
    assert judge(judged, now).flags == ()


def test_done_without_a_commit_is_not_done_committed() -> None:
    assert after(look(unit()), look(unit(state="empty"))) == []
    # Commits of earlier work in the same workspace are not this work's.
    assert after(look(unit(commits=2)), look(unit(state="failed", commits=2))) == []


def test_a_merge_of_ours_is_no_end_of_a_unit() -> None:
    before = look(unit(state="ready", commits=1, committed=True), all_commits=1)
    assert after(before, look(unit(state="landed", commits=1, committed=True), all_commits=2)) == []


def test_a_unit_that_ended_and_landed_between_two_ticks() -> None:
    assert after(look(unit()), look(unit(state="landed", commits=1, committed=True), all_commits=2)) == [
        "agent-done-committed"
    ]


def test_a_commit_of_a_stash_says_nothing() -> None:
    before, now = look(unit(), codex=1), look(unit(), codex=1, repository=shared(**{"refs/stash": "s1"}))
    assert after(before, now) == ["ref-drift"]


def test_main_dirty_counts_what_was_not_so_at_the_start() -> None:
    start = shared({"wip": (3, 1), "touched": (3, 1)})
    now = look(repository=shared({"wip": (3, 1), "touched": (4, 2), "new": (1, 1)}), start=start)
    assert run(now)[0][1] == ["main-dirty:2"]


def test_work_of_the_user_that_is_gone_is_told_once_and_a_clean_tree_is_not_dirty() -> None:
    begun, clean = shared({"wip": (3, 1)}), look(repository=shared(), start=shared({"wip": (3, 1)}))
    assert [said for _, said in run(look(repository=begun, start=begun), clean, clean)] == [[], ["main-reverted:1"], []]
    assert judge(None, clean).flags == (Flag("main-reverted", "1", "", ("wip",)),)
    leaked = look(repository=shared({"wip": (3, 1), "leak": (1, 1)}), start=begun)
    assert [said for _, said in run(leaked, look(repository=begun, start=begun))] == [
        ["main-dirty:1"],
        ["main-reverted:1"],
    ]
    assert run(look(repository=shared(), start=shared({"deleted": (-1, 0)})))[0][1] == []


def test_main_reverted_not_when_the_user_committed_it() -> None:
    moved = RepositorySnapshot(refs={"refs/heads/main": "c1"}, heads=HEADS, checkout=CheckoutStatus(path="/r", files=7))
    said = run(
        look(
            repository=moved,
            start=shared({"wip": (3, 1)}),
            ours=OwnChanges(moves=frozenset({("refs/heads/main", "c1")})),
        )
    )
    assert said[0][1] == []


def test_main_dirty_names_writers() -> None:
    now = look(repository=shared({"x": (1, 1), "y": (1, 1)}), writers={"x": "beta", "y": "alpha?"})
    assert judge(None, now).flags == (Flag("main-dirty", "2(alpha?+beta)", "alpha?+beta", ("x", "y")),)


def test_size_drift_only_between_two_looks_and_without_commits() -> None:
    assert after(look(), look(repository=shared(files=9))) == ["size-drift:+2files"]
    assert after(look(), look(repository=shared(files=4))) == ["size-drift:-3files"]
    assert after(look(), look(repository=shared(files=9), all_commits=1)) == []
    assert run(look(repository=shared(files=9)))[0][1] == []


def test_ref_drift_is_told_once_with_what_moved() -> None:
    now = look(repository=shared(**{"refs/heads/surprise": "c9"}))
    first = judge(judge(None, look()), now)
    assert first.flags == (Flag("ref-drift", about=("refs/heads/surprise new -> c9",)),)
    assert judge(first, now, FlagLimits(warn_at=99)).flags == ()


def test_ref_drift_on_the_first_tick_is_what_moved_since_the_start() -> None:
    gone = RepositorySnapshot(heads=HEADS, checkout=CheckoutStatus(path="/r", files=7))
    assert judge(None, look(repository=gone)).flags == (Flag("ref-drift", about=("refs/heads/main c0 -> gone",)),)


@pytest.mark.parametrize("name", ["refs/prun/r1/alpha", "refs/heads/prun/r1/alpha"])
def test_ref_drift_not_by_our_own_refs(name: str) -> None:
    assert after(look(), look(repository=shared(**{name: "c9"}))) == []


def test_ref_drift_not_by_a_landing_the_ledger_knows() -> None:
    moved = shared(**{"refs/heads/main": "c5"})
    assert after(look(), look(repository=moved, ours=OwnChanges(moves=frozenset({("refs/heads/main", "c5")})))) == []
    assert after(look(), look(repository=moved, ours=OwnChanges(moves=frozenset({("refs/heads/main", "c4")})))) == [
        "ref-drift"
    ]


def test_settings_and_hooks_stay_flagged_while_they_differ_from_the_start() -> None:
    changed = replace(shared(), files={"config": "new", "hooks/pre-commit": "x"})
    now = look(repository=changed, start=replace(shared(), files={"config": "old"}))
    assert [said for _, said in run(now, now)] == [["config-drift", "hook-drift"]] * 2
    assert [flag.about for flag in judge(None, now).flags] == [("config",), ("hooks/pre-commit",)]


def test_a_drift_that_nobody_knows_the_doer_of_blames_nobody() -> None:
    ours, theirs = "your repository changed while it ran: config", "its worker changed your repository: v1"
    units = [unit(name, drift=ours) for name in ("a", "b", "c", "d")]
    now = look(*units, unit("e", drift=theirs))
    assert judge(None, now).flags == (
        Flag("drift", "a?+b?+c?+1 more", "a+b+c+d", (ours,)),
        Flag("drift", "e", "e", (theirs,)),
    )


def test_without_a_recorded_start_nothing_is_called_drift() -> None:
    assert after(look(start=None), look(start=None, repository=shared({"x": (1, 1)}, **{"refs/heads/y": "c"}))) == []


def test_flags_of_single_units() -> None:
    now = look(
        unit(outside=("README",)),
        unit("beta", worker=True, quiet=600.0),
        unit("gamma", worker=True, quiet=599.9),
        unit("delta", worker=True, quiet=700.0, limited="status 429"),
        unit("epsilon", state="lost"),
        unit("zeta", quiet=900.0),
        runaway=4,
    )
    assert run(now)[0][1] == ["fence:alpha", "stalled:beta", "rate-limited:delta", "lost:epsilon", "runaway:4"]


def test_all_flags_keep_the_order_of_the_seed() -> None:
    busy = look(unit(), unit("beta"), codex=2)
    now = look(
        unit(dirty={"a": (1, 1)}),
        unit("beta", state="ready", commits=1, committed=True, outside=("x",)),
        codex=2,
        repository=shared({"x": (1, 1)}, files=8),
        runaway=1,
    )
    assert [
        flag.text for flag in judge(Tick(busy, "working/no-commit-yet", 5, ()), now, FlagLimits(warn_at=3)).flags
    ] == [
        "streak:6x",
        "silent-edit",
        "main-dirty:1",
        "agent-done-committed",
        "size-drift:+1files",
        "fence:beta",
        "runaway:1",
    ]

"""One reader, one look where two were taken, one format on disk; and what older versions wrote is still read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gitprun.observe import snapshotter
from gitprun.observe.changes import compare
from gitprun.observe.drift_observer import DriftObserver
from gitprun.observe.flags import Observation, changed_in_checkout, judge
from gitprun.observe.own_changes import OwnChanges, find_drift
from gitprun.observe.snapshot import (
    BASELINE,
    FINAL,
    CheckoutStatus,
    PathStatus,
    RepositorySnapshot,
    read_snapshot,
    recorded_snapshot,
)
from gitprun.observe.snapshotter import Snapshotter
from tests.support.drifting import make_scene
from tests.support.repos import Repo, make_repo
from tests.support.runs import run_units, sh

C0, C1 = "c" * 40, "d" * 40


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = make_repo(tmp_path / "r", a_dot_txt="1\n")
    repo.branch("topic")
    return repo


@pytest.fixture
def looks(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Count the looks at a repository: each is one ``_look`` of the one reader."""
    taken: list[str] = []
    look = Snapshotter._look

    def counted(self: Snapshotter, now: float, *, logs: bool, hooks: str) -> RepositorySnapshot:
        taken.append(self.repository.common.parent.name)
        return look(self, now, logs=logs, hooks=hooks)

    monkeypatch.setattr(Snapshotter, "_look", counted)
    return taken


# What a worker finds of the looks that were kept: the start, and no second record of the same.
KEPT = "cd $PRUN_REPO/.git/prun/runs/r1 && ls *.json keep >$OLDPWD/n.txt"


def test_a_run_looks_before_its_worker_after_it_and_at_the_end(repo: Repo, looks: list[str]) -> None:
    run_units(repo, sh("u", KEPT))
    assert looks == ["r"] * 3
    assert repo.files("refs/prun/r1/u")["n.txt"] == "baseline.json\nsettings.json\n\nkeep:\ncontents\nrunning.json"
    start, end = (recorded_snapshot(repo.repository.state, "r1", name) for name in (BASELINE, FINAL))
    assert start is not None
    assert end is not None
    assert compare(start, end) == ()
    assert start.checkout == CheckoutStatus(path=str(repo.path), dirty={}, files=1)


def test_setup_commands_run_after_the_start_of_a_run(repo: Repo, looks: list[str]) -> None:
    """What they do to the user's checkout is told, as what workers do is; they need a look of their own."""
    repo.approve()
    run_units(repo, sh("u", "echo x >n.txt"), setup=(f"echo leak >{repo.path}/leak.txt",))
    assert looks == ["r"] * 4
    start, end = (recorded_snapshot(repo.repository.state, "r1", name) for name in (BASELINE, FINAL))
    assert changed_in_checkout(start, end) == ("leak.txt",)


def test_what_happened_after_the_last_worker_is_in_the_look_at_the_end(tmp_path: Path) -> None:
    """A verification, say, that writes into the user's checkout: nobody's drift, and the monitor tells it."""
    scene = make_scene(tmp_path)
    scene.repo.write("mine", "uncommitted\n")
    scene.act("true")
    scene.repo.write("leak.txt", "x\n")
    scene.witness.finish()
    state = scene.repo.repository.state
    start, end = (recorded_snapshot(state, "r1", name) for name in (BASELINE, FINAL))
    assert changed_in_checkout(start, end) == ("leak.txt",)
    assert scene.told() == []


def test_who_takes_over_goes_on_from_the_start_where_nothing_had_changed(tmp_path: Path) -> None:
    scene = make_scene(tmp_path)
    scene.witness.begin(scene.suspect)
    assert not (scene.witness.folder / "look.json").exists()
    scene.sh("git branch -q -D topic; echo x >leak")
    heir = DriftObserver(scene.repo.repository, scene.ledger, "r1", Path(scene.witness.root))
    assert [one.thing.name for one in heir.end("r1/u")] == ["refs/heads/topic", "leak"]


def test_a_monitor_that_came_first_keeps_its_start(repo: Repo) -> None:
    folder = repo.repository.state / "runs" / "r1"
    folder.mkdir(parents=True)
    (folder / BASELINE).write_text("{}")
    scene = DriftObserver(repo.repository, repo.ledger, "r1", repo.path.parent)
    scene.open()
    assert (folder / BASELINE).read_text() == "{}"
    found = read_snapshot(json.loads((folder / "keep" / "look.json").read_text()))
    assert found is not None
    assert found.refs == {"refs/heads/main": repo.head, "refs/heads/topic": repo.head}


def test_a_submodule_is_the_monitors_to_tell_and_no_drift(tmp_path: Path) -> None:
    inner, repo = make_repo(tmp_path / "inner"), make_repo(tmp_path / "r")
    repo.git("-c", "protocol.file.allow=always", "submodule", "add", "-q", str(inner.path), "sub")
    repo.git("commit", "-qm", "sub")
    eye = Snapshotter(repo.repository)
    before = eye.look_closely(1.0)
    (repo.path / "sub" / "new").write_text("x")
    after = eye.look_closely(2.0)
    assert changed_in_checkout(before, after) == ("sub",)
    assert after.checkout is not None
    assert {path: (one.code, one.submodule) for path, one in (after.checkout.dirty or {}).items()} == {
        "sub": (" M", True)
    }
    usual = eye.look(2.0, checkout=True)
    assert after.stripped(logs=False, checkout=True) == usual
    assert find_drift(before.stripped(logs=False, checkout=True), usual, OwnChanges()) == ()


def test_git_status_is_read_with_every_kind_of_row(repo: Repo) -> None:
    repo.write("gone.txt", "g\n")
    repo.write("sp ace\nnew line", "1\n")
    repo.git("add", "-A")
    repo.git("commit", "-qm", "more")
    repo.write("staged and more", "1\n")
    repo.git("add", "-A")
    repo.write("staged and more", "22\n")
    repo.write("sp ace\nnew line", "333\n")
    (repo.path / "gone.txt").unlink()
    repo.write("new/file", "4444\n")
    seen = Snapshotter(repo.repository).look(1.0, checkout=True).checkout
    assert seen is not None
    assert {path: (one.code, one.size) for path, one in (seen.dirty or {}).items()} == {
        "staged and more": ("AM", 3),
        "sp ace\nnew line": (" M", 4),
        "gone.txt": (" D", -1),
        "new/file": ("??", 5),
    }
    assert str((seen.dirty or {})["gone.txt"]) == " D gone"


def test_a_path_in_conflict_is_read_too(repo: Repo) -> None:
    repo.switch("other", new=True)
    repo.commit("theirs", a_dot_txt="theirs\n")
    repo.switch("main")
    repo.commit("ours", a_dot_txt="ours\n")
    repo.git("merge", "-q", "other", ok=(1,))
    seen = Snapshotter(repo.repository).look(1.0, checkout=True).checkout
    assert seen is not None
    assert {path: one.code for path, one in (seen.dirty or {}).items()} == {"a.txt": "UU"}


def test_refs_that_are_packed_while_they_are_read_are_still_there(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git writes the packed ones first and takes the loose ones away then; a gc may do so in the middle of a look."""
    eye = Snapshotter(repo.repository)
    before = eye.refs()
    walk = snapshotter.walk

    def packing(top: str, skip: Callable[[str], bool]) -> Iterator[str]:
        repo.git("pack-refs", "--all")
        yield from walk(top, skip)

    monkeypatch.setattr(snapshotter, "walk", packing)
    assert eye.refs() == before == {"refs/heads/main": repo.head, "refs/heads/topic": repo.head}


def test_in_a_linked_worktree_of_the_users_its_head_is_the_one_that_counts(repo: Repo, tmp_path: Path) -> None:
    linked = repo.worktree(tmp_path / "w", "topic")
    tip = linked.commit("there", b_dot_txt="1\n")
    seen = Snapshotter(linked.repository).look(1.0)
    assert (seen.here, seen.head) == ("worktrees/w/HEAD", tip)
    assert seen.heads == {"HEAD": "ref: refs/heads/main", "worktrees/w/HEAD": "ref: refs/heads/topic"}


# Written by version 0.1.0 at the start and the end of a run.
SHARED_0_1 = {
    "v": 1,
    "time": 5.0,
    "refs": {"refs/heads/main": C0, "HEAD": "ref: refs/heads/main", "worktrees/w/HEAD": "ref: refs/heads/topic"},
    "settings": {"config": "sha256"},
    "hooks": {"hooks/pre-commit": "sha256"},
    "checkout": {"path": "/r", "dirty": {"wip": [3, 7], "gone": [-1, 0]}, "files": 2},
}
# Written by version 0.1.0 as drift's look, into look.json and into the record of each drift.
LOOK_0_1 = {
    "v": 1,
    "time": 5.0,
    "refs": {"refs/heads/main": C0},
    "heads": {"HEAD": "ref: refs/heads/main"},
    "settings": {"config": {"core.bare": "digest"}},
    "files": {"config": "100644 sha"},
    "logs": {"HEAD": "100644 sha"},
    "places": {"w": "/w"},
    "hooks": "hooks",
    "checkout": {"wip": " M 3 7", "gone": " D gone", "new file": "?? 4 9"},
}


def test_a_start_or_an_end_of_version_0_1_says_what_it_can() -> None:
    assert read_snapshot(SHARED_0_1) == RepositorySnapshot(
        time=5.0,
        refs={"refs/heads/main": C0},
        heads={"HEAD": "ref: refs/heads/main", "worktrees/w/HEAD": "ref: refs/heads/topic"},
        checkout=CheckoutStatus(
            path="/r", dirty={"wip": PathStatus("??", 3, 7), "gone": PathStatus("??", -1, 0)}, files=2
        ),
        narrow=True,
    )
    assert read_snapshot({**SHARED_0_1, "checkout": None}) is not None
    assert read_snapshot({**SHARED_0_1, "checkout": {"path": "/r", "dirty": None, "files": None}}) is not None


def test_a_run_of_version_0_1_is_compared_with_what_can_be_compared() -> None:
    start = read_snapshot(SHARED_0_1)
    now = RepositorySnapshot(
        refs={"refs/heads/main": C1},
        heads={"HEAD": "ref: refs/heads/main"},
        settings={"config": {"core.bare": "x"}},
        files={"config": "x", "hooks/pre-commit": "x"},
        places={"w": "/w"},
        hooks="/elsewhere",
        checkout=CheckoutStatus(
            path="/r", dirty={"wip": PathStatus(" M", 3, 7), "gone": PathStatus("??", 1, 1)}, files=2
        ),
    )
    tick = judge(None, Observation(time=1.0, start=start, repository=now))
    assert [(flag.text, flag.about) for flag in tick.flags] == [
        ("main-dirty:1", ("gone",)),
        (
            "ref-drift",
            (f"refs/heads/main {C0} -> {C1}", "worktrees/w/HEAD ref: refs/heads/topic -> gone"),
        ),
    ]


def test_a_look_of_version_0_1_is_read_whole() -> None:
    found = read_snapshot(LOOK_0_1)
    assert found == RepositorySnapshot(
        time=5.0,
        refs={"refs/heads/main": C0},
        heads={"HEAD": "ref: refs/heads/main"},
        settings={"config": {"core.bare": "digest"}},
        files={"config": "100644 sha"},
        logs={"HEAD": "100644 sha"},
        places={"w": "/w"},
        checkout=CheckoutStatus(
            dirty={
                "wip": PathStatus(" M", 3, 7),
                "gone": PathStatus(" D", -1, 0),
                "new file": PathStatus("??", 4, 9),
            }
        ),
    )
    now = CheckoutStatus(path="/r", dirty={"wip": PathStatus(" M", 3, 8), "new file": PathStatus("??", 4, 9)})
    changes = compare(found, RepositorySnapshot(time=6.0, checkout=now))
    assert [(one.name, one.old, one.new) for one in changes if one.kind == "checkout"] == [
        ("gone", " D gone", ""),
        ("wip", " M 3 7", " M 3 8"),
    ]


@pytest.mark.parametrize("broken", ["x", " M", " M a b", None, 5])
def test_a_look_of_version_0_1_that_is_damaged_is_none(broken: object) -> None:
    assert read_snapshot({**LOOK_0_1, "checkout": {"wip": broken}}) is None

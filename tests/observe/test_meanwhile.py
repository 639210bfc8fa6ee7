"""What the user does while workers run: told, for it may be a worker's doing, and in nobody's way where it is usual."""

from __future__ import annotations

import os
import shutil
from dataclasses import asdict
from pathlib import Path

import pytest

from gitprun.ledger.drift_record import gates
from gitprun.observe.attribution import PossibleAuthor
from gitprun.observe.drift_observer import DriftObserver
from gitprun.supervisor.process import probe_identity
from tests.support.drifting import Scene, fits, make_scene
from tests.support.repos import Repo, make_repo
from tests.support.rows import payload_of


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    return make_scene(tmp_path)


USUAL = {
    "git commit -q --no-verify -am mine": [
        "  refs/heads/main moved from <main> to ... (1 commit on top; reflog: commit: mine)"
    ],
    "git commit -q --no-verify --amend -m better": [
        "  refs/heads/main moved from <main> to ... (not on top of what it was; reflog: commit (amend): better)"
    ],
    "git stash -q": ["  refs/stash moved from ... to ... (one more entry)"],
    "git branch feature": ["  refs/heads/feature is new, at <main> (reflog: branch: Created from main)"],
    "git checkout -q -b feature": [
        "  HEAD is refs/heads/feature, it was refs/heads/main (reflog: checkout: moving from main to feature)",
        "  refs/heads/feature is new, at <main> (reflog: branch: Created from HEAD)",
    ],
    "git tag v2": ["  refs/tags/v2 is new, at <main>"],
    "git config branch.main.remote origin": ["  config: branch.main.remote is new"],
    "git remote add fork /fork": ["  config: remote.fork.fetch is new", "  config: remote.fork.url is new"],
    "git update-ref refs/remotes/origin/main topic": ["  refs/remotes/origin/main moved from <main> to <topic>"],
    "git worktree add -q --detach ../third": ["  the worktree third is new, at .../third"],
    "git worktree lock ../other": ["  worktrees/other/locked is new"],
    "git -C ../other commit -q --allow-empty --no-verify -m there": [
        "  refs/heads/side moved from <main> to ... (1 commit on top; reflog: commit: there)"
    ],
    "git gc -q": [],
    "git status >status.tmp && git add mine && git reset -q": [],
}


@pytest.mark.parametrize("script", USUAL)
def test_what_users_do_keeps_nobody_from_landing(scene: Scene, script: str) -> None:
    scene.repo.git("config", "gc.reflogExpire", "never")
    scene.repo.git("config", "gc.reflogExpireUnreachable", "never")
    if "stash" in script or "commit -q --no-verify -am" in script:
        scene.repo.write("a", "edited\n")
    scene.act(script)
    told = [row for row in scene.told() if "your checkout" not in row]
    assert len(told) == len(USUAL[script]), told
    assert [row for row, text in zip(told, USUAL[script], strict=True) if not fits(row, text)] == []
    assert gates(scene.ledger.read().events) == {}
    scene.witness.close()
    assert not scene.witness.folder.exists()


def test_what_happens_while_nobody_works_is_the_users(scene: Scene) -> None:
    scene.act("true")
    scene.sh("git branch -q -D topic; git config core.hooksPath /mine")
    scene.act("true")
    assert scene.told() == []


def test_a_landing_moves_branches_and_is_no_drift(scene: Scene) -> None:
    new = scene.repo.git("commit-tree", "-p", "main", "-m", "merge", "main^{tree}")
    scene.witness.begin(scene.suspect)
    facts = {"target": "refs/heads/main", "old": scene.base, "new": new}
    scene.ledger.append(payload_of("landing.started", facts))
    scene.repo.git("update-ref", "refs/heads/main", new)
    scene.ledger.append(payload_of("landing.finished", facts))
    scene.witness.end("r1/u")
    assert [row for row in scene.told() if "checkout" not in row] == []


def another(scene: Scene, tmp_path: Path, name: str) -> PossibleAuthor:
    clone = tmp_path / name
    scene.repo.git("clone", "-q", "--no-hardlinks", str(scene.repo.path), str(clone))
    return PossibleAuthor(name=f"r1/{name}", path=str(clone), kind="clone")


def test_two_at_once_are_both_named_and_one_alone_is(scene: Scene, tmp_path: Path) -> None:
    other = another(scene, tmp_path, "c")
    scene.witness.begin(scene.suspect)
    scene.witness.begin(other)
    scene.sh("git branch -q -D topic")
    scene.witness.end("r1/c")
    scene.sh("git config alias.x '!evil'")
    scene.witness.end("r1/u")
    assert [(drift.units, [one.thing.name for one in drift.findings]) for drift in scene.drifts] == [
        (("r1/c", "r1/u"), ["refs/heads/topic"]),
        (("r1/u",), ["alias.x"]),
    ]
    held = gates(scene.ledger.read().events)
    assert held["r1/c"] == (
        f"your repository changed while it ran (so did r1/u): refs/heads/topic is gone (it was at {scene.topic[:10]});"
        " git prun undo --drift r1/c puts it back, with --accept it stays as it is"
    )
    assert held["r1/u"].startswith("your repository changed while it ran (so did r1/c): refs/heads/topic is gone")


def test_a_commit_that_is_in_one_clone_alone_tells_its_worker(scene: Scene, tmp_path: Path) -> None:
    """A clone has no remote, and a path is all a push needs."""
    other = another(scene, tmp_path, "c")
    scene.witness.begin(scene.suspect)
    scene.witness.begin(other)
    clone = Repo(Path(other.path))
    clone.commit("sneaky", b="x\n")
    clone.git("push", "-q", str(scene.repo.path), "HEAD:refs/heads/surprise")
    clone.git("push", "-q", "-f", str(scene.repo.path), "HEAD:refs/tags/v1")
    scene.witness.end("r1/u")
    scene.witness.end("r1/c")
    (drift,) = scene.drifts
    assert (drift.units, drift.sure, drift.who) == (("r1/c",), True, "done by r1/c")
    assert [one.thing.name for one in drift.open] == ["refs/heads/surprise", "refs/tags/v1"]
    assert set(gates(scene.ledger.read().events)) == {"r1/c"}


def test_what_a_worker_stashed_in_its_worktree_is_its_own_doing(scene: Scene) -> None:
    scene.act("cd $WORK; echo x >>a; git stash -q")
    (drift,) = scene.drifts
    assert [(one.thing.name, one.gate, one.by) for one in drift.findings] == [("refs/stash", True, ("r1/u",))]


def test_what_was_put_back_by_hand_is_settled_at_the_next_look(scene: Scene) -> None:
    scene.witness.begin(scene.suspect)
    other = PossibleAuthor(name="r1/v")
    scene.witness.begin(other)
    scene.sh("git branch -q -D topic; git config alias.x y")
    scene.witness.end("r1/v")
    assert scene.drifts[0].is_open
    scene.sh(f"git branch -q topic {scene.topic}; git config --remove-section alias")
    scene.witness.end("r1/u")
    assert not scene.drifts[0].is_open
    assert scene.ledger.read().events[-1].payload.as_json() == {"drift": None}


def test_another_process_takes_over_where_one_was_killed(scene: Scene) -> None:
    scene.witness.begin(scene.suspect)
    scene.sh("git branch -q -D topic")
    heir = DriftObserver(scene.repo.repository, scene.ledger, "r1", Path(scene.witness.root))
    heir.end("r1/u")
    assert [one.thing.name for one in scene.drifts[0].findings] == ["refs/heads/topic"]
    assert heir.end("r1/u") == ()


def test_a_repository_without_reflogs_holds_nobody_up_for_a_new_branch(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    repo.git("config", "core.logAllRefUpdates", "false")
    shutil.rmtree(repo.path / ".git" / "logs")
    witness = DriftObserver(repo.repository, repo.ledger, "r1", tmp_path)
    witness.begin(PossibleAuthor(name="r1/u"))
    repo.git("branch", "x")
    (found,) = witness.end("r1/u")
    assert (found.gate, found.thing.name) == (False, "refs/heads/x")


def test_a_worker_of_another_run_is_named_beside_those_of_this_one(scene: Scene) -> None:
    me = probe_identity(os.getpid())
    assert me is not None
    facts = {"base": scene.base, "coordinator": asdict(me)}
    scene.ledger.append(payload_of("run.started", facts), run="r2")
    for kind in ("unit.queued", "unit.prepared", "unit.started"):
        scene.ledger.append(payload_of(kind, {}), run="r2", unit="x")
    scene.act("git branch -q -D topic")
    assert scene.drifts[0].units == ("r1/u", "r2/x")
    assert set(gates(scene.ledger.read().events)) == {"r1/u", "r2/x"}


def test_a_worker_that_wrote_into_the_checkout_of_the_user_is_seen_there(scene: Scene) -> None:
    """It edited and committed in the main checkout, and its own worktree is as it was."""
    scene.repo.write("mine", "still uncommitted\n")
    scene.witness.begin(scene.suspect)
    scene.work.write("leak.py", "x\n")
    scene.repo.write("leak.py", "x\n")
    scene.repo.git("add", "leak.py")
    scene.repo.git("commit", "-q", "--no-verify", "-m", "agent commit")
    scene.repo.write("a", "agent leak\n")
    scene.work.write("a", "agent leak\n")
    scene.witness.end("r1/u")
    told = scene.told()
    assert [row.partition(" moved")[0] for row in told] == [
        "  refs/heads/main",
        "  a changed in your checkout (the same content is in its workspace)",
    ]
    assert told[0].endswith("(1 commit on top; reflog: commit: agent commit)")
    assert scene.drifts[0].units == ("r1/u",)
    assert scene.repo.status() == [" M a", "?? mine"]

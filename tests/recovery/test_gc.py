"""Letting go: what a dry run says is what happens, a kill is gone on from, and nothing that is needed goes."""

from __future__ import annotations

import fcntl
import gzip
import os
import shutil
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gitprun.ledger.ledger import Ledger
from gitprun.model.errors import OperationRefused
from gitprun.recovery import gc as letting_go
from gitprun.recovery.gc import GcReport, collect_garbage
from gitprun.recovery.gc_plan import DAY, GcPlan, GcScope
from gitprun.registry.remove import remove_workspace
from gitprun.system.files import locked
from tests.support.inside import inside
from tests.support.killed_step import prun_and_die
from tests.support.repos import Repo, make_repo
from tests.support.rows import payload_of
from tests.support.runs import RESULT, run_units, sh, unit_of, workspace
from tests.support.workshop import fingerprint

pytestmark = pytest.mark.slow

COMMIT = "git -c user.name=w -c user.email=w commit -q --allow-empty"


class LaterClock:
    """A clock that is some days ahead."""

    def __init__(self, days: float) -> None:
        self.days = days

    def now(self) -> float:
        """Give seconds since 1970."""
        return time.time() + self.days * DAY

    def monotonic(self) -> float:
        """Give seconds that never go back."""
        return 0.0


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", a_dot_txt="1\n")


def go(
    repo: Repo,
    *,
    days: float = 0.0,
    dry_run: bool = False,
    announce: Callable[[GcPlan], None] = lambda plan: None,
    **scope: Any,
) -> GcReport:
    ledger = Ledger(repo.repository.state, LaterClock(days))
    roots = (repo.path.parent / "repo.prun",)
    return collect_garbage(repo.repository, ledger, roots, GcScope(**scope), dry_run=dry_run, announce=announce)


def steps(report: GcReport) -> list[tuple[str, str]]:
    return [(step.kind, os.path.basename(step.what)) for step in report.plan.steps]


def pinned(repo: Repo) -> dict[str, str]:
    listing = repo.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/prun").splitlines()
    return dict(row.split(" ") for row in listing)


def ran(repo: Repo) -> Repo:
    """Run three units: one changes something, one nothing, one commits and leaves a secret."""
    run_units(
        repo,
        sh("one", f"echo 2 >a.txt; {RESULT}"),
        sh("idle", RESULT),
        sh(
            "secret",
            f"echo 3 >c.txt; echo k >key.pem; {COMMIT} -m own; {RESULT}",
        ),
        sh("linked", f"echo 4 >d.txt; {RESULT}", workspace="worktree"),
    )
    return repo


def test_a_fresh_run_leaves_nothing_to_let_go(repo: Repo) -> None:
    ran(repo)
    before = (pinned(repo), fingerprint(repo.path.parent, without=("repo/.git/prun",)))
    assert (steps(go(repo)), go(repo).plan.stays) == ([], ())
    assert (pinned(repo), fingerprint(repo.path.parent, without=("repo/.git/prun",))) == before


def test_workspaces_of_which_all_is_pinned(repo: Repo) -> None:
    ran(repo)
    workspace(repo, "r1", "one").joinpath("later.txt").write_text("later\n")
    planned = go(repo, workspaces=True, dry_run=True)
    assert [(step.kind, step.of) for step in planned.plan.steps] == [
        ("workspace", "r1/idle"),
        ("workspace", "r1/linked"),
    ]
    assert {os.path.basename(stay.what): stay.why for stay in planned.plan.stays} == {
        "one": "files in it that are in no commit: 1",
        "secret": "files in it that are in no commit: 1",
    }
    assert workspace(repo, "r1", "idle").is_dir()
    report = go(repo, workspaces=True)
    assert (report.plan.steps, [one.problem for one in report.done]) == (planned.plan.steps, [""] * 2)
    assert report.freed > 0
    assert sorted(path.name for path in workspace(repo, "r1", "one").parent.iterdir()) == ["one", "secret"]
    assert set(pinned(repo)) >= {"refs/prun/r1/one", "refs/prun/r1/linked", "refs/prun/r1/secret", "refs/prun/base/r1"}
    again = go(repo, workspaces=True)
    assert steps(again) == []


def test_a_workspace_that_changes_between_plan_and_step(repo: Repo) -> None:
    ran(repo)
    place = workspace(repo, "r1", "idle")
    report = go(repo, workspaces=True, announce=lambda plan: place.joinpath("late.txt").write_text("late\n") and None)
    assert not place.exists()
    assert all(not one.problem for one in report.done)
    assert repo.files("refs/prun/kept/r1/idle/left-in-workspace")["late.txt"] == "late"


def test_a_locked_workspace_and_one_that_is_locked_meanwhile(repo: Repo) -> None:
    ran(repo)
    place = str(workspace(repo, "r1", "linked"))
    repo.git("worktree", "lock", "--reason", "mine", place)
    assert (place, "it is locked: mine") in [
        (s.what, s.why) for s in go(repo, workspaces=True, dry_run=True).plan.stays
    ]
    repo.git("worktree", "unlock", place)
    report = go(repo, workspaces=True, announce=lambda plan: repo.git("worktree", "lock", place) and None)
    problems = {one.step.of: one.problem for one in report.done if one.step.kind == "workspace"}
    assert (problems["r1/idle"], problems["r1/linked"]) == ("", f"the worktree {place} is locked")
    assert Path(place).is_dir()


def test_a_run_that_is_over_gives_its_base_to_the_trash_and_that_goes_after_30_days(repo: Repo) -> None:
    run_units(repo, sh("idle", RESULT))
    state, base = unit_of(repo, "idle"), repo.head
    repo.commit("later")
    remove_workspace(repo.repository, repo.ledger, repo.ledger.read().history.runs["r1"], state)
    assert ("base-pin", "r1") in steps(go(repo))
    [(ref, oid)] = pinned(repo).items()
    assert (ref.split("/", 4)[4], oid) == (f"prun/base/r1/{base[:12]}", base)
    assert steps(go(repo, days=29)) == []
    assert steps(go(repo, days=32))[0] == ("trash-ref", base[:12])
    assert pinned(repo) == {}


def test_a_base_that_is_needed_again_stays(repo: Repo) -> None:
    run_units(repo, sh("idle", RESULT))
    remove_workspace(repo.repository, repo.ledger, repo.ledger.read().history.runs["r1"], unit_of(repo, "idle"))
    # As if the removal had been killed right before its last step.
    (repo.path / ".git" / "prun" / "runs" / "r1" / "idle" / "capture.git").mkdir()

    def resume(_: object) -> None:
        me = {"coordinator": {"pid": os.getpid(), "start": "x", "boot": "y"}}
        repo.ledger.append(payload_of("run.resumed", me), run="r1")
        repo.ledger.append(payload_of("unit.preparing", {"attempt": 2}), run="r1", unit="idle")

    report = go(repo, announce=resume)
    problems = {one.step.kind: one.problem for one in report.done}
    assert problems == {"git-folder": "r1/idle is being worked on", "base-pin": "refs/prun/base/r1 is needed again"}
    assert set(pinned(repo)) == {"refs/prun/base/r1"}


def test_folders_that_are_gone(repo: Repo, tmp_path: Path) -> None:
    ran(repo)
    path = workspace(repo, "r1", "linked")
    own = Repo(path)
    own.git("checkout", "-q", "--detach")
    lost = own.commit("on no branch", e_dot_txt="e\n")
    shutil.rmtree(path)
    other = repo.worktree(tmp_path / "theirs", "theirs", new=True)
    shutil.rmtree(other.path)
    assert ("registration", "linked") in steps(go(repo))
    rows = repo.git("worktree", "list", "--porcelain")
    assert (str(path) in rows, str(other.path) in rows) == (False, True)
    assert lost in pinned(repo).values()


def test_a_disk_that_is_not_mounted(repo: Repo, tmp_path: Path) -> None:
    ran(repo)
    (tmp_path / "repo.prun").rename(tmp_path / "unmounted")
    report = go(repo, workspaces=True)
    assert steps(report) == []
    assert {stay.why for stay in report.plan.stays} == {
        "the folder above it is gone too: perhaps a disk that is not mounted"
    }
    (tmp_path / "unmounted").rename(tmp_path / "repo.prun")
    assert Repo(workspace(repo, "r1", "linked")).status() == []


def test_rests_of_removals_and_temporary_files(repo: Repo, tmp_path: Path) -> None:
    ran(repo)
    root = tmp_path / "repo.prun"
    for place in (root, root / "r1", repo.path / ".git" / "prun", root / "named"):
        (place / ".prun-trash-0123456789ab" / "3").mkdir(parents=True)
        (place / ".prun-trash-0123456789ab" / "3" / "file").touch()
    (root / "r1" / ".prun-trash-linked").symlink_to(repo.path)
    (root / "r1" / ".tmp" / "one").mkdir(parents=True)
    (root / "r1" / ".tmp" / "one~view" / "top").mkdir(parents=True)
    (root / "r1" / ".tmp" / "nobody").mkdir()
    (root / "r9" / ".tmp" / "u").mkdir(parents=True)
    report = go(repo)
    assert sorted(steps(report)) == [
        ("temporary", "one"),
        ("temporary", "one~view"),
        *[("trash-folder", ".prun-trash-0123456789ab")] * 4,
    ]
    assert all(not one.problem for one in report.done)
    assert sorted(path.name for path in root.rglob(".prun-trash*")) == [".prun-trash-linked"]
    assert sorted(path.name for path in (root / "r1" / ".tmp").iterdir()) == ["nobody"]
    assert (root / "r9" / ".tmp" / "u").is_dir()
    assert repo.status() == []


def test_a_rest_somebody_is_emptying(repo: Repo, tmp_path: Path) -> None:
    trash = tmp_path / "repo.prun" / ".prun-trash-0123456789ab"
    trash.mkdir(parents=True)
    held = os.open(trash, os.O_RDONLY)
    fcntl.flock(held, fcntl.LOCK_EX)
    assert steps(go(repo)) == []
    os.close(held)
    assert steps(go(repo)) == [("trash-folder", ".prun-trash-0123456789ab")]


def test_old_logs(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    run_units(repo, sh("one", f"head -c 200000 /dev/zero | tr '\\0' x; echo; echo end; {RESULT}"))
    folder = repo.path / ".git" / "prun" / "runs" / "r1" / "one"
    content = (folder / "output.log").read_bytes()
    (repo.path / ".git" / "prun" / "landing" / "abc").mkdir(parents=True)
    (repo.path / ".git" / "prun" / "landing" / "abc" / "verify-1.log").write_text("x")
    assert steps(go(repo, days=29)) == []
    assert steps(go(repo, days=31))[:2] == [("log", "output.log"), ("landing-log", "abc")]
    assert gzip.decompress((folder / "output.log.gz").read_bytes()) == content
    assert not (folder / "output.log").exists()
    assert list((repo.path / ".git" / "prun" / "landing").iterdir()) == []
    said = inside(capsys, repo.path, "log", "--all", "one")
    assert (said.code, len(said.out), said.out[-4:]) == (0, len(content), "end\n")
    assert inside(capsys, repo.path, "log", "one").out.endswith("end\n")


def test_two_at_once(repo: Repo) -> None:
    ran(repo)
    with (
        locked(repo.repository.state / "locks" / "gc.lock"),
        pytest.raises(OperationRefused, match="another git prun is busy"),
    ):
        go(repo)


def test_a_run_beside_it_loses_nothing(repo: Repo, tmp_path: Path) -> None:
    ran(repo)
    waits = f"touch {tmp_path}/works; while [ ! -e {tmp_path}/go ]; do sleep 0.02; done; echo 5 >e.txt; {RESULT}"
    states: dict[str, str] = {}
    run = threading.Thread(target=lambda: states.update(run_units(repo, sh("two", waits)).states))
    run.start()
    while not (tmp_path / "works").exists():
        run.join(0.02)
    report = go(repo, workspaces=True, keep_for=0.0)
    (tmp_path / "go").touch()
    run.join()
    assert {step.of for step in report.plan.steps if step.kind == "workspace"} == {"r1/idle", "r1/linked", "r1/one"}
    assert all(not one.problem for one in report.done)
    assert (states, repo.files("refs/prun/r2/two")["e.txt"]) == ({"two": "ready"}, "5")


@pytest.mark.kill
def test_killed_at_any_step(tmp_path: Path) -> None:
    for number in range(1, 400, 31):
        place = tmp_path / str(number)
        repo = make_repo(place / "repo", a_dot_txt="1\n")
        run_units(repo, sh("one", f"echo 2 >a.txt; mkdir d; echo x >d/y; {RESULT}"),
                  sh("linked", f"echo 4 >d.txt; {RESULT}", workspace="worktree"))  # fmt: skip
        kept = {ref: oid for ref, oid in pinned(repo).items() if "/base/" not in ref}
        before = fingerprint(repo.path, without=(".git",))
        code = prun_and_die(repo.path, number, "gc", "--workspaces", "--older-than", "0d")
        assert code in (0, -9)
        assert all(not one.problem for one in go(repo, workspaces=True, keep_for=0.0).done)
        # Its own rows are what the ledger can be written shorter by.
        assert [row for row in steps(go(repo, workspaces=True, keep_for=0.0)) if row[0] != "ledger"] == []
        root = place / "repo.prun"
        assert sorted(root.rglob("*")) == []
        assert list((repo.path / ".git").rglob(".prun-trash-*")) == []
        assert kept.items() <= pinned(repo).items()
        assert repo.git("worktree", "list", "--porcelain").count("worktree ") == 1
        assert fingerprint(repo.path, without=(".git",)) == before
        if code == 0:
            assert number > 10
            return
    raise AssertionError


def test_the_command(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    ran(repo)
    planned = inside(capsys, repo.path, "gc", "--dry-run", "--workspaces", "--json")
    done = inside(capsys, repo.path, "gc", "--workspaces", "--json")
    assert (planned.code, done.code) == (0, 0)
    rows = [{k: v for k, v in row.items() if k != "done"} for row in planned.json["steps"]]
    assert rows == [{k: v for k, v in row.items() if k != "done"} for row in done.json["steps"]]
    assert ([row["done"] for row in planned.json["steps"]], [row["done"] for row in done.json["steps"]]) == (
        [False] * 3,
        [True] * 3,
    )
    empty = inside(capsys, repo.path, "gc")
    assert (empty.code, empty.out) == (0, "")
    for age in ("", "x", "-1d", "1d nonsense"):
        said = inside(capsys, repo.path, "gc", "--older-than", age)
        assert (said.code, said.out, said.err.splitlines()[0]) == (
            129,
            "",
            f"error: --older-than: invalid age {age!r}",
        )


def test_what_could_not_go_is_told(
    repo: Repo, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run_units(repo, sh("idle", RESULT))

    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied", "/w/r1/idle")

    monkeypatch.setattr(letting_go, "take_away", fail)
    said = inside(capsys, repo.path, "gc", "--workspaces")
    place = workspace(repo, "r1", "idle")
    assert said.code == 1
    assert f"warning: {place} stays: /w/r1/idle: Permission denied" in said.err.splitlines()
    assert place.is_dir()

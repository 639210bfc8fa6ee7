"""Linked worktrees and what lies around them: held branches, names, dead registrations, submodules, removal."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pytest

from tests.support.inside import inside
from tests.support.repos import Repo, make_bare, make_repo
from tests.support.runs import events_of, run_units, sh, unit_of, workspace


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo")


def named(repo: Repo, name: str) -> Repo:
    return Repo(repo.path.parent / "repo.prun" / "named" / name)


def grow_old(*places: Path) -> None:
    """Let files be twenty minutes old."""
    for place in places:
        for one in (place, *place.rglob("*")) if place.is_dir() else (place,):
            os.utime(one, (time.time() - 1200,) * 2)


def test_names_that_only_look_alike_have_folders_of_their_own(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    for branch in ("feat/login", "feat-login"):
        repo.branch(branch)
        assert inside(capsys, repo.path, "new", branch, branch, "--resume").code == 0
    places = [named(repo, "feat/login"), named(repo, "feat-login")]
    assert [place.git("branch", "--show-current") for place in places] == ["feat/login", "feat-login"]
    assert inside(capsys, repo.path, "exec", "feat/login", "s", "x", "--command", "touch only-here").code == 0
    assert [(place.path / "only-here").exists() for place in places] == [True, False]
    logs = repo.path / ".git" / "prun" / "logs"
    assert [str(path.relative_to(logs)) for path in logs.rglob("*.log")] == ["feat/login.log"]


def test_a_branch_that_was_held_by_nobody_is_refused_before_anything_is_written(
    repo: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    repo.branch("billing/per-seat")
    repo.branch("release/1")
    for wanted, other in (("billing", "billing/per-seat"), ("release/1/hotfix", "release/1")):
        said = inside(capsys, repo.path, "new", "a", wanted)
        assert (said.code, said.out) == (1, "")
        assert said.err.splitlines()[0] == (
            f"error: the branch {wanted} cannot be made beside {other}: one name is the beginning of the other"
        )
    assert not (repo.path.parent / "repo.prun").exists()
    assert not (repo.path / ".git" / "prun" / "ledger.jsonl").exists()
    assert len(repo.git("worktree", "list").splitlines()) == 1


def test_the_base_is_the_commit_the_caller_is_on_and_it_is_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    up = make_repo(tmp_path / "up")
    up.git("clone", "-q", ".", str(tmp_path / "repo"))
    repo = Repo(tmp_path / "repo")
    repo.switch("feature/x", new=True)
    head = repo.commit("plan", plan_dot_md="needed\n")
    (tmp_path / "plan.toml").write_text(
        '[run]\nverify = ["true"]\n[[unit]]\nid = "a"\nprompt = "x"\ncommand = ["sh", "-c", "cp plan.md seen"]\n'
    )
    said = inside(capsys, repo.path, "run", str(tmp_path / "plan.toml"))
    assert said.code == 0, said.err
    assert said.err.splitlines()[0] == f"run r1: 1 unit, 1 at a time, base {head[:10]} (HEAD)"
    assert repo.ledger.read().history.runs["r1"].base == head
    assert (unit_of(repo, "a").base, repo.files("refs/prun/r1/a")["seen"]) == (head, "needed")
    assert inside(capsys, repo.path, "new", "n", "n").code == 0
    assert named(repo, "n").head == head


def test_a_submodule_that_is_not_there_is_said_and_does_not_pass(repo: Repo, tmp_path: Path) -> None:
    library = make_repo(tmp_path / "library", f_dot_h="#define X 1\n")
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.path), "lib")
    repo.commit("lib")
    report = run_units(
        repo,
        sh("a", "touch new"),
        sh("b", "touch new", workspace="worktree"),
        verify=("test -f lib/f.h", "echo collected 0 items"),
    )
    assert report.states == {"a": "unverified", "b": "unverified"}
    for name in ("a", "b"):
        facts = unit_of(repo, name).as_json()
        assert "submodule lib is not populated in the workspace" in facts["notes"]
        assert [check["state"] for check in facts["verdict"]["checks"]] == ["could-not-run", "could-not-run"]
        assert "submodule lib is not populated" in facts["verdict"]["checks"][0]["reason"]


def test_worktrees_with_submodules_are_removed(repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    library = make_repo(tmp_path / "library", f_dot_h="#define X 1\n")
    repo.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library.path), "lib")
    repo.commit("lib")
    assert inside(capsys, repo.path, "new", "n", "n").code == 0
    place = named(repo, "n")
    place.git("-c", "protocol.file.allow=always", "submodule", "--quiet", "update", "--init")
    assert (place.path / "lib" / "f.h").exists()
    said = inside(capsys, repo.path, "remove", "n")
    assert (said.code, place.path.exists()) == (1, True)
    assert "holds what is in no commit: lib/ (inside a submodule: not captured)" in said.err
    said = inside(capsys, repo.path, "remove", "--discard-left-out", "n")
    assert (said.code, place.path.exists()) == (0, False), said.err
    assert len(repo.git("worktree", "list").splitlines()) == 1
    assert (repo.path / "lib" / "f.h").read_text() == "#define X 1\n"


@pytest.fixture
def broken(repo: Repo, tmp_path: Path) -> Repo:
    """Half write the registration of somebody's worktree."""
    made = repo.worktree(tmp_path / "w1", "agent/1", new=True)
    made.commit("theirs", theirs="1\n")
    (repo.path / ".git" / "worktrees" / "w1" / "commondir").write_bytes(b"")
    return made


def test_a_half_written_registration_stops_no_landing(
    repo: Repo, broken: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    assert repo.git("worktree", "list", ok=(128,)) == ""
    said = inside(capsys, repo.path, "merge", "agent/1", "--no-verify")
    assert (said.code, repo.read("theirs")) == (0, "1\n"), said.err


@pytest.mark.slow
def test_a_young_registration_is_named_and_left_alone(
    repo: Repo, broken: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    said = inside(capsys, repo.path, "new", "n", "n")
    assert said.code == 128
    assert said.err.splitlines()[-2:] == [
        f"error: no worktree at {named(repo, 'n').path}: the registration of another worktree, 'w1', is half written",
        "hint: if no program is making it now, move .git/worktrees/w1 away and try again",
    ]
    assert not named(repo, "n").path.exists()
    assert (repo.path / ".git" / "worktrees" / "w1" / "commondir").read_bytes() == b""
    report = run_units(repo, sh("a", "touch new"))
    assert report.states == {"a": "ready"}


def test_an_old_registration_is_mended_and_nothing_of_it_is_lost(
    repo: Repo, broken: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    grow_old(repo.path / ".git" / "worktrees" / "w1")
    said = inside(capsys, repo.path, "new", "n", "n")
    assert (said.code, said.err) == (
        0,
        "warning: the registration of another worktree, 'w1', was half written by a program that is gone; mended\n",
    )
    assert (broken.git("branch", "--show-current"), broken.read("theirs")) == ("agent/1", "1\n")
    assert len(repo.git("worktree", "list").splitlines()) == 3


def test_only_what_is_not_locked_is_dropped(repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    usb = repo.worktree(tmp_path / "wt-usb", "agent/usb", new=True)
    stale = repo.worktree(tmp_path / "wt-x", "agent/x", new=True)
    repo.git("worktree", "lock", "--reason", "usb disk", str(usb.path))
    usb.path.rename(tmp_path / "unmounted")
    shutil.rmtree(stale.path)
    assert inside(capsys, repo.path, "new", "x", "agent/x", "--resume").code == 0
    said = inside(capsys, repo.path, "new", "usb", "agent/usb", "--resume")
    assert (said.code, said.err.splitlines()[0]) == (
        1,
        f"error: the worktree {usb.path} is not there, but it is locked (usb disk), and holds the branch agent/usb",
    )
    (tmp_path / "unmounted").rename(usb.path)
    assert usb.git("branch", "--show-current") == "agent/usb"


def test_a_worktree_that_was_moved_by_hand_is_taken_in_where_it_is(
    repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert inside(capsys, repo.path, "new", "n", "n").code == 0
    named(repo, "n").write("work", "w\n")
    moved = Repo(tmp_path / "moved")
    named(repo, "n").path.rename(moved.path)
    said = inside(capsys, repo.path, "exec", "n", "s", "x", "--command", "touch more")
    assert (said.code, "git prun workspace adopt PATH if it was moved to PATH" in said.err) == (2, True)
    assert inside(capsys, repo.path, "workspace", "adopt", str(moved.path)).code == 0
    assert inside(capsys, repo.path, "exec", "n", "s", "x", "--command", "touch more").code == 0
    assert repo.files("n") == {"a.txt": "1", "more": "", "work": "w"}
    assert moved.status() == []


def test_removal_reaches_nothing_through_links(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    repo.write("node_modules/dep/index.js", "x\n")
    repo.write(".env", "KEY=1\n")
    repo.commit(
        "cfg", _dot_gitignore="node_modules\n.env\n", prun_dot_toml='[workspace]\nlink = ["node_modules", ".env"]\n'
    )
    run = ("--executor", "command", "--command", "touch new", "--prompt", "x", "--verify", "true")
    for kind in ("clone", "worktree"):
        assert inside(capsys, repo.path, "run", "--unit", f"id={kind}", "--unit", f"workspace={kind}", *run).code == 0
        assert os.path.islink(workspace(repo, "r1" if kind == "clone" else "r2", kind) / "node_modules")
    assert inside(capsys, repo.path, "new", "n", "n").code == 0
    said = inside(capsys, repo.path, "remove", "clone", "worktree", "n")
    assert (said.code, [path.name for path in (repo.path.parent / "repo.prun").glob("*/*")]) == (0, [])
    assert (repo.read("node_modules/dep/index.js"), repo.read(".env")) == ("x\n", "KEY=1\n")


def test_removal_saves_the_only_copy_of_work(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    repo.commit("ignore", _dot_gitignore="out/\n")
    for name in ("untracked", "staged", "detached", "ignored"):
        assert inside(capsys, repo.path, "new", name, f"agent/{name}").code == 0
    named(repo, "untracked").write("new.py", "print(2)\n")
    named(repo, "staged").write("s.py", "s\n")
    named(repo, "staged").git("add", "s.py")
    named(repo, "detached").git("checkout", "-q", "--detach")
    orphan = named(repo, "detached").commit("orphan-to-be", d_dot_py="d\n")
    named(repo, "ignored").write("out/result.md", "# result\n")
    said = inside(capsys, repo.path, "remove", "untracked", "staged", "detached", "ignored")
    assert said.code == 0, said.err
    assert "  ignored files are kept for 30 days: out/result.md (in " in said.err
    kept = "refs/prun/kept/named"
    assert repo.files(f"{kept}/untracked/left-in-workspace-1")["new.py"] == "print(2)"
    assert repo.files(f"{kept}/staged/left-in-workspace-1")["s.py"] == "s"
    assert orphan in repo.git("for-each-ref", "--format=%(objectname)", f"{kept}/detached").splitlines()
    for name in ("untracked", "staged", "detached"):
        assert f"{kept}/{name}/" in said.err


def test_a_bare_hub_takes_its_own_branches_for_the_base(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    hub = make_bare(tmp_path / "hub.git", make_repo(tmp_path / "up"))
    run = (
        "run",
        "--unit",
        "id=a",
        "--executor",
        "command",
        "--command",
        "touch new",
        "--prompt",
        "x",
        "--verify",
        "true",
    )
    for words in (("new", "a", "agent/a", "origin/main"), (*run, "--base", "origin/main")):
        said = inside(capsys, hub.path, *words)
        assert (said.code, said.err.splitlines()[-2:]) == (
            128,
            [
                "error: 'origin/main' names no commit here",
                "hint: there is no remote-tracking branch of that name; the local branch is 'main'",
            ],
        )
    assert inside(capsys, hub.path, *run, "--base", "main").code == 0
    assert [event.kind for event in events_of(hub, "a")][-1] == "unit.finished"
    assert inside(capsys, hub.path, "merge", "--into", "main").code == 0
    assert "new" in hub.files("main")

"""The life of workspaces: listed, locked, moved, taken in and filled anew, and nothing of them lost on the way."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from gitprun.ledger.events import RunState, UnitState
from gitprun.ledger.roster import parse_name, roster
from gitprun.model.errors import OperationRefused, PrunError
from gitprun.model.units import WorkspaceKind
from gitprun.registry import move as moving
from gitprun.registry import reset as resetting
from gitprun.registry.adopt import Adopted, adopt
from gitprun.registry.find import WorkspaceRecord, find_workspace, held
from gitprun.registry.inventory import read_places
from gitprun.registry.lock import lock_workspace, unlock_workspace
from gitprun.registry.make import WorkspaceSpec, make_user_workspace
from gitprun.registry.move import follow_moved, move_workspace
from gitprun.registry.open_workspace import alone
from gitprun.registry.remove import remove_workspace
from gitprun.registry.remove_user_workspace import remove_user_workspace
from gitprun.registry.reset import Reset, recover_workspace, reset_user_workspace
from gitprun.workspaces.base import WorkspaceProblem
from gitprun.workspaces.clone import make_clone, read_source
from tests.support.repos import Repo, make_repo
from tests.support.rows import payload_of
from tests.support.workshop import fingerprint, open_workshop

pytestmark = pytest.mark.slow

KINDS = pytest.mark.parametrize("kind", ["clone", "worktree"])


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", a_dot_txt="1\n", _dot_gitignore="out/\n")


def make(repo: Repo, name: str, branch: str, **rest: Any) -> UnitState:
    spec = WorkspaceSpec(name=parse_name(name), branch=branch, root=repo.path.parent / "w", **rest)
    return make_user_workspace(repo.repository, repo.ledger, spec)


def find(repo: Repo, name: str) -> tuple[RunState, UnitState]:
    reading = repo.ledger.read()
    return find_workspace(reading.history, roster(reading.events), name)


def work(repo: Repo, name: str) -> Repo:
    return Repo(Path(str(find(repo, name)[1].as_json()["path"])))


def places(repo: Repo) -> dict[str, WorkspaceRecord]:
    found = read_places(repo.repository, repo.ledger.read(), (repo.path.parent / "w",))
    return {place.name or os.path.relpath(place.path, repo.path.parent): place for place in found}


def worktrees(repo: Repo) -> list[str]:
    rows = repo.git("worktree", "list", "--porcelain").splitlines()
    return sorted(row.removeprefix("worktree ") for row in rows if row.startswith("worktree "))


def pinned(repo: Repo) -> list[str]:
    return repo.git("for-each-ref", "--format=%(refname)", "refs/prun").splitlines()


# list


def test_all_workspaces_are_listed(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.commit("the worker's", b_dot_txt="b\n")
    shop.finish()
    shop.work.write("later.txt", "later\n")
    open_workshop(repo, tmp_path / "w", "worktree", unit="v").work.commit("own", c_dot_txt="c\n")
    make(repo, "wave1/x", "x")
    repo.worktree(tmp_path / "mine", "mine", new=True)
    make_clone(read_source(repo.repository), tmp_path / "w" / "r7" / "lost", repo.head, "prun/r7/lost")
    repo.worktree(tmp_path / "w" / "r7" / "linked", "prun/r7/linked", new=True)
    (tmp_path / "w" / "r7" / "strange").mkdir()
    other = make_repo(tmp_path / "other")
    make_clone(read_source(other.repository), tmp_path / "w" / "r8" / "others", other.head, "x")
    found = places(repo)
    assert {name: (row.kind, row.state, row.ahead, row.dirty) for name, row in found.items()} == {
        "r1/u": ("clone", "ready", 1, 1),
        "r1/v": ("worktree", "preparing", 1, 1),
        "wave1/x": ("worktree", "idle", 0, 0),
        "mine": ("worktree", "yours", None, None),
        "w/r7/lost": ("clone", "orphan", None, None),
        "w/r7/linked": ("worktree", "orphan", None, None),
        "w/r7/strange": ("folder", "orphan", None, None),
    }
    assert found["w/r7/lost"].branch == "prun/r7/lost"


def test_a_folder_that_is_gone_and_one_in_its_place(repo: Repo) -> None:
    make(repo, "a", "a")
    make(repo, "b", "b")
    shutil.rmtree(work(repo, "a").path)
    work(repo, "b").path.rename(repo.path.parent / "away")
    (repo.path.parent / "w" / "named" / "b").mkdir()
    rows = {name: (row.there, row.note) for name, row in places(repo).items()}
    assert rows == {"a": (False, "its folder is gone"), "b": (False, "another folder is in its place")}


# lock


def remove(repo: Repo, name: str, *, discard: bool = False) -> None:
    run, unit = find(repo, name)
    if run.id == "named":
        remove_user_workspace(repo.repository, repo.ledger, unit, discard_left_out=discard)
    else:
        remove_workspace(repo.repository, repo.ledger, run, unit, discard_left_out=discard)


def made(repo: Repo, kind: WorkspaceKind, which: str) -> str:
    """Make a workspace: of a unit, or a named one; gives its name."""
    if which == "named":
        make(repo, "a", "a", kind=kind)
        return "a"
    open_workshop(repo, repo.path.parent / "w", kind).finish("empty")
    return "r1/u"


@KINDS
@pytest.mark.parametrize("which", ["named", "unit"])
def test_a_locked_workspace_stays(repo: Repo, kind: WorkspaceKind, which: str) -> None:
    name = made(repo, kind, which)
    path = work(repo, name).path
    lock_workspace(repo.repository, repo.ledger, find(repo, name)[1], "looking at it")
    with pytest.raises(OperationRefused, match="is locked: looking at it"):
        remove(repo, name, discard=True)
    with pytest.raises(OperationRefused, match="is locked: looking at it"):
        move_workspace(repo.repository, repo.ledger, find(repo, name)[1], repo.path.parent / "to")
    with pytest.raises(OperationRefused, match=f"the workspace {name} is locked already: looking at it"):
        lock_workspace(repo.repository, repo.ledger, find(repo, name)[1], "")
    assert (places(repo)[name].locked, path.is_dir()) == ("looking at it", True)
    unlock_workspace(repo.repository, repo.ledger, find(repo, name)[1])
    with pytest.raises(OperationRefused, match=f"the workspace {name} is not locked"):
        unlock_workspace(repo.repository, repo.ledger, find(repo, name)[1])
    remove(repo, name)
    assert not path.exists()


def test_git_heeds_the_lock_of_a_worktree_and_we_heed_git(repo: Repo) -> None:
    make(repo, "a", "a")
    path = work(repo, "a").path
    lock_workspace(repo.repository, repo.ledger, find(repo, "a")[1], "")
    repo.git("worktree", "remove", str(path), ok=(128,))
    repo.git("worktree", "unlock", str(path))
    assert places(repo)["a"].locked is None
    repo.git("worktree", "lock", "--reason", "by hand", str(path))
    assert places(repo)["a"].locked == "by hand"
    with pytest.raises(OperationRefused, match="is locked: by hand"):
        remove(repo, "a")


def test_a_lock_outlives_errands(repo: Repo) -> None:
    make(repo, "a", "a", kind="clone")
    lock_workspace(repo.repository, repo.ledger, find(repo, "a")[1], "mine")
    repo.ledger.append(payload_of("unit.preparing", {}), run="named", unit="a")
    assert find(repo, "a")[1].as_json()["lock"] == {"reason": "mine"}


@pytest.mark.parametrize("reason", ["two\nlines", "x" * 501, "\x1b[31m"])
def test_reasons_are_one_line(repo: Repo, reason: str) -> None:
    make(repo, "a", "a", kind="clone")
    with pytest.raises(OperationRefused, match="a reason is one line of text"):
        lock_workspace(repo.repository, repo.ledger, find(repo, "a")[1], reason)


# move


@KINDS
@pytest.mark.parametrize("which", ["named", "unit"])
def test_moved(repo: Repo, tmp_path: Path, kind: WorkspaceKind, which: str) -> None:
    name = made(repo, kind, which)
    before = work(repo, name)
    before.write("new.txt", "new\n")
    (tmp_path / "to").mkdir()
    run, unit = find(repo, name)
    with held(repo.repository, run, unit):
        assert move_workspace(repo.repository, repo.ledger, unit, tmp_path / "to" / "x") == tmp_path / "to" / "x"
    after = work(repo, name)
    assert (after.path, before.path.exists(), after.status()) == (tmp_path / "to" / "x", False, ["?? new.txt"])
    assert worktrees(repo) == sorted([str(repo.path), *([str(after.path)] if kind == "worktree" else [])])
    assert (places(repo)[name].there, places(repo)[name].dirty) == (True, 1)
    assert not (tmp_path / "w").exists()
    remove(repo, name)
    kept = [ref for ref in pinned(repo) if "left-in-workspace" in ref]
    assert (len(kept), repo.files(kept[0])["new.txt"]) == (1, "new")
    assert (worktrees(repo), os.listdir(tmp_path / "to")) == ([str(repo.path)], [])


def refuses(repo: Repo, name: str, target: Path) -> str:
    before = (fingerprint(repo.path, without=(".git/prun",)), worktrees(repo))
    others = [row.path for row in places(repo).values()]
    with pytest.raises(OperationRefused) as caught:
        move_workspace(repo.repository, repo.ledger, find(repo, name)[1], target, others=others)
    assert (fingerprint(repo.path, without=(".git/prun",)), worktrees(repo)) == before
    return caught.value.message


def test_places_that_are_no_place(repo: Repo, tmp_path: Path) -> None:
    make(repo, "a", "a")
    make(repo, "b", "b", kind="clone")
    path, other = work(repo, "a").path, work(repo, "b").path
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path)
    assert refuses(repo, "a", tmp_path / "file") == f"{tmp_path}/file is already there"
    assert refuses(repo, "a", tmp_path / "link") == f"{tmp_path}/link is already there"
    assert refuses(repo, "a", tmp_path / "link" / "x") == f"{tmp_path}/link is no folder"
    assert refuses(repo, "a", tmp_path / "none" / "x") == f"{tmp_path}/none is no folder"
    assert refuses(repo, "a", path / "x") == f"{path}/x lies in the workspace itself"
    assert refuses(repo, "a", repo.path / "x") == f"{repo.path}/x lies in the checkout {repo.path}"
    assert refuses(repo, "a", repo.path / ".git" / "x") == f"{repo.path}/.git/x lies in the git folder"
    assert refuses(repo, "a", other / "x") == f"{other}/x lies in the workspace {other}"
    assert refuses(repo, "b", path / "x") == f"{path}/x lies in the checkout {path}"


def test_another_file_system(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not os.path.isdir("/dev/shm") or os.stat("/dev/shm").st_dev == os.stat(tmp_path).st_dev:
        pytest.skip("there is no other file system here")
    make(repo, "a", "a")
    target = Path("/dev/shm") / f"prun-test-{os.getpid()}"
    assert refuses(repo, "a", target) == f"/dev/shm is on another file system than {work(repo, 'a').path}"
    assert not target.exists()


def test_nobody_is_moved_while_he_works_or_stands_there(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make(repo, "a", "a")
    run, unit = find(repo, "a")
    with alone(repo.repository, unit):
        refused = pytest.raises(OperationRefused, match="somebody is at work in a")
        with refused, held(repo.repository, run, unit):
            pass
    (work(repo, "a").path / "inner").mkdir()
    here = os.getcwd()
    os.chdir(work(repo, "a").path / "inner")
    try:
        assert refuses(repo, "a", tmp_path / "x") == f"you are in {work(repo, 'a').path}"
        with pytest.raises(OperationRefused, match="you are in"):
            remove(repo, "a")
    finally:
        os.chdir(here)


@KINDS
@pytest.mark.parametrize("arrived", [False, True])
def test_a_move_that_broke_off(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: WorkspaceKind, arrived: bool
) -> None:
    make(repo, "a", "a", kind=kind)
    before, target = work(repo, "a").path, tmp_path / "to"

    real, calls = moving.recover_move, []

    def die(*args: Any) -> Any:
        calls.append(args)
        # The first call, before anything is moved, has nothing to settle.
        if len(calls) == 1 and arrived:
            return real(*args)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(*((moving, "recover_move", die) if arrived else (os, "rename", die)))
        with pytest.raises(KeyboardInterrupt):
            move_workspace(repo.repository, repo.ledger, find(repo, "a")[1], target)
    assert "half moved" in places(repo)["a"].note
    settled = recover_workspace(repo.repository, repo.ledger, find(repo, "a")[1])
    assert settled.path == str(target if arrived else before)
    assert work(repo, "a").status() == []
    assert places(repo)["a"].there
    remove(repo, "a")
    assert worktrees(repo) == [str(repo.path)]


# adopt


@KINDS
@pytest.mark.parametrize("which", ["named", "unit"])
def test_a_workspace_moved_by_hand_is_known_again(repo: Repo, tmp_path: Path, kind: WorkspaceKind, which: str) -> None:
    name = made(repo, kind, which)
    before = work(repo, name).path
    before.rename(tmp_path / "by-hand")
    assert places(repo)[name].note == "its folder is gone"
    found = follow_moved(repo.repository, repo.ledger, tmp_path / "by-hand")
    assert found is not None
    assert (found.id, work(repo, name).path, work(repo, name).status()) == (
        name.split("/")[-1],
        tmp_path / "by-hand",
        [],
    )
    assert (places(repo)[name].there, len(places(repo))) == (True, 1)
    assert follow_moved(repo.repository, repo.ledger, tmp_path / "by-hand") is None
    remove(repo, name)
    assert (worktrees(repo), (tmp_path / "by-hand").exists()) == ([str(repo.path)], False)


def test_a_copy_is_not_the_workspace(repo: Repo, tmp_path: Path) -> None:
    make(repo, "a", "a", kind="clone")
    shutil.copytree(work(repo, "a").path, tmp_path / "copy", symlinks=True)
    shutil.rmtree(work(repo, "a").path)
    assert follow_moved(repo.repository, repo.ledger, tmp_path / "copy") is None


def take(repo: Repo, path: Path, **rest: Any) -> Adopted:
    return adopt(repo.repository, repo.ledger, path, **rest)


def lost_clone(repo: Repo, tmp_path: Path) -> Repo:
    """Make a clone as prun does, which no ledger knows, with work in it."""
    made = make_clone(read_source(repo.repository), tmp_path / "w" / "r7" / "lost", repo.head, "prun/r7/lost")
    place = Repo(made.path)
    place.commit("the worker's", b_dot_txt="b\n")
    place.write("new.txt", "new\n")
    return place


def test_a_clone_is_taken_in(repo: Repo, tmp_path: Path) -> None:
    place, base = lost_clone(repo, tmp_path), repo.head
    repo.commit("later", z_dot_txt="z\n")
    adopted = take(repo, place.path)
    assert (adopted.unit.id, adopted.unit.as_json()["branch"], adopted.unit.base) == ("lost", "adopted/lost", base)
    assert adopted.saved == "refs/prun/kept/named/lost/adopted"
    assert repo.files(adopted.saved) == {".gitignore": "out/", "a.txt": "1", "b.txt": "b", "new.txt": "new"}
    assert adopted.kept == ("refs/prun/kept/named/lost/head",)
    assert (repo.oid(adopted.kept[0]), repo.oid("adopted/lost")) == (place.head, base)
    assert place.status() == ["?? new.txt"]
    assert places(repo)["lost"].state == "idle"
    remove(repo, "lost")
    assert not place.path.exists()


def test_a_worktree_is_taken_in(repo: Repo, tmp_path: Path) -> None:
    place = repo.worktree(tmp_path / "mine", "topic/x", new=True)
    tip = place.commit("mine", b_dot_txt="b\n")
    place.write("a.txt", "edited\n")
    adopted = take(repo, place.path, name="wave1/x")
    # What it has since it forked from main is its work.
    assert (adopted.unit.as_json()["branch"], adopted.unit.base) == ("topic/x", repo.head)
    assert adopted.saved is not None
    assert repo.files(adopted.saved)["a.txt"] == "edited"
    assert (place.status(), worktrees(repo)) == ([" M a.txt"], [str(place.path), str(repo.path)])
    remove(repo, "wave1/x")
    assert (worktrees(repo), repo.oid("topic/x"), place.path.exists()) == ([str(repo.path)], tip, False)


def test_nothing_in_the_folder_is_believed(repo: Repo, tmp_path: Path) -> None:
    place = lost_clone(repo, tmp_path)
    canary = tmp_path / "canary"
    evil = place.write("../evil.sh", f"#!/bin/sh\ntouch {canary}\ncat\n", executable=True)
    for key in (
        "core.fsmonitor",
        "diff.external",
        "filter.x.clean",
        "filter.x.smudge",
        "core.sshCommand",
        "gpg.program",
    ):
        place.git("config", key, str(evil))
    for hook in ("post-checkout", "post-index-change", "reference-transaction", "pre-commit"):
        place.write(f".git/hooks/{hook}", f"#!/bin/sh\ntouch {canary}\n", executable=True)
    place.write(".gitattributes", "* filter=x\n")
    canary.unlink(missing_ok=True)
    assert take(repo, place.path).saved == "refs/prun/kept/named/lost/adopted"
    places(repo)
    remove(repo, "lost")
    assert not canary.exists()


def test_folders_that_are_not_taken_in(repo: Repo, tmp_path: Path) -> None:
    make(repo, "a", "a")
    place = lost_clone(repo, tmp_path)
    (tmp_path / "empty").mkdir()
    (tmp_path / "link").symlink_to(place.path)
    remote = make_clone(read_source(repo.repository), tmp_path / "c" / "r1" / "remote", repo.head, "x")
    Repo(remote.path).git("remote", "add", "origin", "/nowhere")
    stranger = make_repo(tmp_path / "stranger", q_dot_txt="q\n")
    detached = repo.worktree(tmp_path / "detached", "d", new=True)
    detached.git("checkout", "-q", "--detach")
    rows = {
        repo.path: f"{repo.path} is your main checkout",
        work(repo, "a").path: f"{work(repo, 'a').path} is known already, as a",
        tmp_path / "link": f"{tmp_path}/link is a link",
        tmp_path / "none": f"{tmp_path}/none is no folder",
        tmp_path / "empty": f"{tmp_path}/empty is neither a linked worktree of this repository nor a clone of it",
        remote.path: f"{remote.path} has a remote, so it is a repository of its own",
        stranger.path: "the clone shares no commit with this repository",
        detached.path: f"{detached.path} is on no branch",
    }
    before = (repo.git("for-each-ref", "refs/heads"), len(repo.ledger.read().events))
    for path, message in rows.items():
        with pytest.raises(OperationRefused) as caught:
            take(repo, path)
        assert caught.value.message == message
    assert (repo.git("for-each-ref", "refs/heads"), len(repo.ledger.read().events)) == before
    assert sorted(os.listdir(repo.path / ".git" / "prun" / "runs" / "named")) == ["a"]
    with pytest.raises(OperationRefused, match="the workspace a is in the way of a"):
        take(repo, place.path, name="a")
    with pytest.raises(OperationRefused, match="the branch main exists already"):
        take(repo, place.path, branch="main")


# reset


def reset(repo: Repo, name: str, revision: str = "HEAD", **rest: Any) -> Reset:
    return reset_user_workspace(repo.repository, repo.ledger, find(repo, name)[1], revision, **rest)


@KINDS
def test_filled_anew(repo: Repo, kind: WorkspaceKind) -> None:
    make(repo, "a", "x", kind=kind)
    place, first = work(repo, "a"), repo.head
    tip = place.commit("own", b_dot_txt="b\n")
    place.write("new.txt", "new\n")
    later = repo.commit("later", z_dot_txt="z\n")
    done = reset(repo, "a")
    old = tip if kind == "worktree" else first
    assert done == Reset(
        base=later,
        path=str(place.path),
        branch="x",
        saved="refs/prun/kept/named/a/left-in-workspace-1",
        trash=f"refs/prun/trash/{str(done.trash).split('/')[3]}/heads/x/{old[:12]}",
        ignored=(),
    )
    assert done.saved is not None
    assert repo.files(done.saved)["new.txt"] == "new"
    assert repo.git("for-each-ref", "--contains", tip, "--format=%(refname)", "refs/prun") != ""
    assert (place.head, place.git("branch", "--show-current"), place.status()) == (later, "x", [])
    assert sorted(os.listdir(place.path)) == [".git", ".gitignore", "a.txt", "z.txt"]
    assert (repo.oid("x"), repo.oid("refs/prun/base/named/a")) == (later, later)
    assert os.listdir(place.path.parent) == ["a"]
    assert places(repo)["a"].dirty == 0
    place.write("more.txt", "more\n")
    remove(repo, "a")
    assert repo.files("refs/prun/kept/named/a/left-in-workspace-2")["more.txt"] == "more"


def test_what_cannot_be_pinned_is_not_thrown_away(repo: Repo) -> None:
    make(repo, "a", "x")
    work(repo, "a").write("key.pem", "secret\n")
    with pytest.raises(OperationRefused, match=r"holds what is in no commit: key\.pem"):
        reset(repo, "a")
    assert work(repo, "a").read("key.pem") == "secret\n"
    assert reset(repo, "a", discard_left_out=True).saved is None
    assert not (work(repo, "a").path / "key.pem").exists()


def test_bad_bases_change_nothing(repo: Repo) -> None:
    make(repo, "a", "x")
    work(repo, "a").write("new.txt", "new\n")
    with pytest.raises(PrunError, match="'nowhere' names no commit here"):
        reset(repo, "a", "nowhere")
    assert (work(repo, "a").status(), pinned(repo)) == (["?? new.txt"], ["refs/prun/base/named/a"])


@KINDS
def test_a_fresh_folder_that_cannot_be_made(repo: Repo, monkeypatch: pytest.MonkeyPatch, kind: WorkspaceKind) -> None:
    make(repo, "a", "x", kind=kind)
    work(repo, "a").write("new.txt", "new\n")
    tip = repo.oid("x")
    repo.commit("later", z_dot_txt="z\n")

    def fail(*_: object) -> None:
        raise WorkspaceProblem("the disk is full")

    monkeypatch.setattr(resetting, "make_detached" if kind == "worktree" else "make_clone", fail)
    with pytest.raises(WorkspaceProblem, match="the disk is full"):
        reset(repo, "a")
    assert (work(repo, "a").status(), repo.oid("x"), find(repo, "a")[1].as_json()["reset"]) == (
        ["?? new.txt"],
        tip,
        None,
    )


def test_a_branch_that_is_checked_out_elsewhere_too(repo: Repo) -> None:
    make(repo, "a", "x", kind="clone")
    repo.switch("x")
    with pytest.raises(OperationRefused, match=f"the branch x is checked out in {repo.path} too, so it is not moved"):
        reset(repo, "a", "main")


@KINDS
@pytest.mark.parametrize("step", ["take_folder", "_move_branch", "relocate_worktree", "_fill"])
def test_a_swap_that_broke_off(repo: Repo, monkeypatch: pytest.MonkeyPatch, kind: WorkspaceKind, step: str) -> None:
    if kind == "clone" and step == "relocate_worktree":
        pytest.skip("only a worktree is registered")
    make(repo, "a", "x", kind=kind)
    work(repo, "a").write("new.txt", "new\n")
    later = repo.commit("later", z_dot_txt="z\n")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(resetting, step, die)
        with pytest.raises(KeyboardInterrupt):
            reset(repo, "a")
    recover_workspace(repo.repository, repo.ledger, find(repo, "a")[1])
    place = work(repo, "a")
    assert (place.head, place.git("branch", "--show-current"), place.status(), repo.oid("x")) == (later, "x", [], later)
    assert os.listdir(place.path.parent) == ["a"]
    assert repo.files("refs/prun/kept/named/a/left-in-workspace-1")["new.txt"] == "new"
    assert len(worktrees(repo)) == (2 if kind == "worktree" else 1)


def test_reset_is_settled_by_removal(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    make(repo, "a", "x")

    def die(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(resetting, "_move_branch", die)
        with pytest.raises(KeyboardInterrupt):
            reset(repo, "a")
    remove(repo, "a")
    assert (worktrees(repo), (repo.path.parent / "w").exists(), roster(repo.ledger.read().events).units) == (
        [str(repo.path)],
        False,
        {},
    )

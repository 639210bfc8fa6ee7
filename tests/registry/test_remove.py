"""Removal: never the only copy of anything, never through a link, never what prun did not make."""

from __future__ import annotations

import os
import re
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from gitprun.ledger.events import RunState
from gitprun.model.errors import OperationRefused, PrunError
from gitprun.model.names import RunId
from gitprun.model.units import WorkspaceKind
from gitprun.registry import remove as removing
from gitprun.registry.find import hold_unit
from gitprun.registry.remove import Removal, removable, remove_workspace
from gitprun.system.btime import folder_birth
from gitprun.workspaces.base import make_outbox
from gitprun.workspaces.scratch import make_scratch
from tests.support.killed_step import prun_and_die
from tests.support.repos import Repo, make_repo
from tests.support.rows import payload_of, state_of
from tests.support.workshop import RUN, Workshop, fingerprint, open_workshop

pytestmark = pytest.mark.slow

KINDS = pytest.mark.parametrize("kind", ["clone", "worktree"])


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", a_dot_txt="1\n", _dot_gitignore="out/\nnode_modules\n")


def worktrees(repo: Repo) -> int:
    return repo.git("worktree", "list", "--porcelain").count("worktree ")


def branches(repo: Repo) -> list[str]:
    return repo.git("for-each-ref", "--format=%(refname:short)", "refs/heads").splitlines()


def removed(shop: Workshop, **facts: object) -> Removal:
    return Removal(run=RUN, unit=shop.unit, path=str(shop.path), removed=True, **facts)  # type: ignore[arg-type]


@KINDS
def test_a_captured_workspace_goes_and_its_commit_stays(repo: Repo, tmp_path: Path, kind: WorkspaceKind) -> None:
    shop = open_workshop(repo, tmp_path / "w", kind)
    shop.work.write("a.txt", "2\n")
    shop.finish()
    commit = repo.oid("refs/prun/r1/u")
    assert shop.remove() == removed(shop)
    assert (os.path.lexists(tmp_path / "w"), worktrees(repo), branches(repo)) == (False, 1, ["main"])
    assert repo.oid("refs/prun/r1/u") == commit
    assert [event.kind for event in repo.ledger.read().events[-2:]] == ["workspace.removing", "workspace.removed"]
    again = shop.remove()
    assert (again.removed, again.reason) == (False, "it has no workspace")


@KINDS
def test_later_edits_are_pinned(repo: Repo, tmp_path: Path, kind: WorkspaceKind) -> None:
    shop = open_workshop(repo, tmp_path / "w", kind)
    shop.work.write("a.txt", "2\n")
    shop.finish()
    shop.work.write("later.txt", "later\n")
    saved = "refs/prun/kept/r1/u/left-in-workspace"
    assert shop.remove() == removed(shop, saved=saved)
    assert repo.files(saved) == {".gitignore": "out/\nnode_modules", "a.txt": "2", "later.txt": "later"}
    assert repo.git("log", "--format=%s", saved) == "u: left in the workspace when it was removed\nbase"


@pytest.mark.parametrize("state", ["broken", "lost"])
def test_work_that_was_never_captured_is_pinned(repo: Repo, tmp_path: Path, state: str) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write("new.py", "untracked\n")
    shop.work.write("s.py", "staged\n")
    shop.work.git("add", "s.py")
    shop.work.git("checkout", "-q", "--detach")
    tip = shop.work.commit("on no branch", d_dot_py="d\n")
    repo.ledger.append(payload_of("unit.finished", {"state": state}), run=RUN, unit="u")
    assert shop.remove().saved == "refs/prun/kept/r1/u/left-in-workspace"
    assert set(repo.files("refs/prun/kept/r1/u/left-in-workspace")) == {".gitignore", "a.txt", "d.py", "new.py", "s.py"}
    assert repo.oid("refs/prun/kept/r1/u/head") == tip


def test_what_was_pinned_before_stays_pinned(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.finish("empty")
    first = repo.oid("HEAD")
    repo.git("update-ref", "refs/prun/kept/r1/u/left-in-workspace", first)
    shop.work.write("later.txt", "later\n")
    assert shop.remove().saved == "refs/prun/kept/r1/u/left-in-workspace-2"
    assert repo.oid("refs/prun/kept/r1/u/left-in-workspace") == first


@KINDS
def test_files_that_are_in_no_commit_are_not_thrown_away(repo: Repo, tmp_path: Path, kind: WorkspaceKind) -> None:
    shop = open_workshop(repo, tmp_path / "w", kind)
    shop.work.write("key.pem", "secret\n")
    make_repo(shop.path / "inner", x_dot_txt="x\n")
    shop.finish("empty")
    with pytest.raises(OperationRefused) as caught:
        shop.remove()
    assert caught.value.message == (
        f"{shop.path} holds what is in no commit: inner/ (a repository inside the workspace), "
        "key.pem (looks like a secret by its name)"
    )
    assert caught.value.hint == "take what you need, then: git prun remove --discard-left-out r1/u"
    assert shop.work.read("key.pem") == "secret\n"
    assert repo.ledger.read().events[-1].kind == "unit.finished"
    assert shop.remove(discard=True) == removed(shop)
    assert (shop.path.exists(), worktrees(repo)) == (False, 1)


def test_built_files_go_and_other_ignored_ones_are_kept(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write("out/result.md", "x\n")
    shop.work.write("web/.venv/x.py", "x\n")
    shop.work.write(".prun/result.md", "x\n")
    shop.work.write(".prun/picture.png", "x\n")
    shop.finish("empty")
    kept = str(repo.repository.state / "trash" / f"{datetime.now(UTC).date()}" / "r1+u")
    files = (".prun/picture.png", "out/result.md")
    assert shop.remove() == removed(shop, ignored=("web/.venv/",), kept=kept, kept_files=files)


@KINDS
def test_links_are_unlinked_not_followed(repo: Repo, tmp_path: Path, kind: WorkspaceKind) -> None:
    repo.write("node_modules/dep/index.js", "x\n")
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "file").touch()
    shop = open_workshop(repo, tmp_path / "w", kind, link=("node_modules",))
    (shop.path / "out").mkdir()
    (shop.path / "out" / "link").symlink_to(tmp_path / "shared")
    shop.finish("empty")
    assert shop.remove() == removed(shop, ignored=("out/",))
    assert (repo.read("node_modules/dep/index.js"), os.listdir(tmp_path / "shared")) == ("x\n", ["file"])


@KINDS
def test_another_folder_at_its_place(repo: Repo, tmp_path: Path, kind: WorkspaceKind) -> None:
    shop = open_workshop(repo, tmp_path / "w", kind)
    shop.finish("empty")
    shop.path.rename(tmp_path / "moved")
    for make in (lambda: shop.path.mkdir(), lambda: shop.path.symlink_to(tmp_path / "moved"), shop.path.touch):
        make()
        with pytest.raises(OperationRefused) as caught:
            shop.remove(discard=True)
        assert caught.value.message == f"{shop.path} is not the folder prun made for r1/u"
        if shop.path.is_dir() and not shop.path.is_symlink():
            shop.path.rmdir()
        else:
            shop.path.unlink()
    assert (tmp_path / "moved" / "a.txt").exists()


def test_shapes_that_cannot_be_captured_need_a_word(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.finish("empty")
    here = os.open(shop.path, os.O_RDONLY)
    for _ in range(1200):
        os.mkdir("deep", dir_fd=here)
        below = os.open("deep", os.O_RDONLY, dir_fd=here)
        os.close(here)
        here = below
    os.close(here)
    with pytest.raises(OperationRefused) as caught:
        shop.remove()
    # Taken away first, for what pytest keeps of a failure it could not remove.
    assert shop.remove(discard=True) == removed(shop)
    assert not shop.path.exists()
    shown = r".* holds what is in no commit: (deep/){20}\.\.\.p(/deep){3}/ \(folders nested more than \d+ deep\)"
    assert re.fullmatch(shown, caught.value.message)


@KINDS
def test_a_folder_that_is_gone_already(repo: Repo, tmp_path: Path, kind: WorkspaceKind) -> None:
    shop = open_workshop(repo, tmp_path / "w", kind)
    shop.work.git("checkout", "-q", "--detach")
    tip = shop.work.commit("detached", b_dot_txt="b\n")
    repo.ledger.append(payload_of("unit.finished", {"state": "broken"}), run=RUN, unit="u")
    shutil.rmtree(shop.path)
    assert shop.remove() == removed(shop, reason=f"{shop.path} was not there; if you moved it, it is yours now")
    assert (worktrees(repo), branches(repo)) == (1, ["main"])
    assert shop.refs() == ({"head": tip} if kind == "worktree" else {})


def test_a_locked_worktree_stays(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w", "worktree")
    shop.finish("empty")
    repo.git("worktree", "lock", "--reason", "looking at it", str(shop.path))
    with pytest.raises(OperationRefused, match="is locked: looking at it"):
        shop.remove()
    assert (shop.path.exists(), worktrees(repo)) == (True, 2)


def test_a_branch_somebody_went_on_with_stays(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w", "worktree")
    shop.work.commit("the worker's", b_dot_txt="b\n")
    shop.finish()
    later = shop.work.commit("mine", c_dot_txt="c\n")
    assert shop.remove().removed
    assert repo.oid("refs/heads/prun/r1/u") == later


def test_a_branch_the_worker_left_its_commits_on_goes(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w", "worktree")
    tip = shop.work.commit("the worker's", b_dot_txt="b\n")
    shop.finish()
    assert shop.remove().removed
    assert (branches(repo), shop.refs()) == (["main"], {"branch/prun/r1/u": tip})


def test_a_branch_somebody_is_on_stays(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w", "worktree")
    shop.finish("empty")
    shop.work.git("checkout", "-q", "--detach")
    repo.worktree(tmp_path / "look", "prun/r1/u")
    assert shop.remove().removed
    assert (branches(repo), worktrees(repo)) == (["main", "prun/r1/u"], 2)


def test_other_units_keep_their_workspaces(repo: Repo, tmp_path: Path) -> None:
    one, two = (open_workshop(repo, tmp_path / "w", "worktree", unit=unit) for unit in ("one", "two"))
    one.finish("empty")
    assert one.remove().removed
    assert (two.path.exists(), two.work.status(), branches(repo)) == (True, [], ["main", "prun/r1/two"])


def test_a_unit_that_still_works(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    with pytest.raises(OperationRefused) as caught:
        shop.remove(discard=True)
    assert caught.value.message == "r1/u is still preparing"


def test_a_run_whose_base_is_unpinned(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.finish("empty")
    repo.git("update-ref", "-d", "refs/prun/base/r1")
    with pytest.raises(OperationRefused, match="the base of run r1 is no longer pinned"):
        shop.remove()


@pytest.mark.parametrize("name", [None, "notes.md"])
def test_scratch_folders(repo: Repo, tmp_path: Path, name: str | None) -> None:
    workspace = make_scratch(tmp_path / "w" / "r1" / "u")
    make_outbox(workspace.path)
    (workspace.path / ".prun" / "result.md").touch()
    facts = {"workspace": "scratch", "path": str(workspace.path), "identity": list(workspace.identity)}
    unit = state_of("u", state="done", **facts)
    run = RunState(id=RunId("r1"), units={"u": unit})
    assert list(removable(run)) == [unit]
    if name:
        (workspace.path / name).touch()
        with pytest.raises(OperationRefused, match=f"r1/u was read-only, yet {workspace.path} holds {name}"):
            remove_workspace(repo.repository, repo.ledger, run, unit)
    found = remove_workspace(repo.repository, repo.ledger, run, unit, discard_left_out=True)
    assert (found.removed, found.kept_files, (tmp_path / "w").exists()) == (True, (name,) if name else (), False)


@KINDS
def test_a_folder_with_the_inode_of_the_one_that_is_gone(repo: Repo, tmp_path: Path, kind: WorkspaceKind) -> None:
    shop = open_workshop(repo, tmp_path / "w", kind)
    shop.finish("empty")
    born = folder_birth(shop.path)
    if born is None:
        pytest.skip("this file system does not record when a folder was made")
    # As if the inode had been given away and come back: everything is the same but the time of birth.
    repo.ledger.append(payload_of("workspace.noted", {"birth": born - 1}), run=RUN, unit="u")
    with pytest.raises(OperationRefused, match="is not the folder prun made for r1/u"):
        shop.remove(discard=True)
    repo.ledger.append(payload_of("workspace.noted", {"birth": born}), run=RUN, unit="u")
    assert shop.remove().removed


@KINDS
@pytest.mark.parametrize("target", ["repo", "repo/.git", "outside"])
def test_a_link_that_takes_its_place_after_the_capture(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: WorkspaceKind, target: str
) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "file").touch()
    shop = open_workshop(repo, tmp_path / "w", kind)
    shop.finish("empty")
    real, before = removing.capture_rest, fingerprint(repo.path, without=(".git/prun", ".git/worktrees"))

    def capture_and_swap(*args: Any, **rest: Any) -> Any:
        found = real(*args, **rest)
        shop.path.rename(tmp_path / "away")
        shop.path.symlink_to(tmp_path / target)
        return found

    monkeypatch.setattr(removing, "capture_rest", capture_and_swap)
    with pytest.raises(PrunError, match="is not the folder prun made"):
        shop.remove(discard=True)
    assert fingerprint(repo.path, without=(".git/prun", ".git/worktrees")) == before
    assert (os.listdir(tmp_path / "outside"), shop.path.is_symlink()) == (["file"], True)
    assert repo.ledger.read().history.runs[RUN].units["u"].as_json().get("removed") is None


def test_a_folder_that_holds_other_things(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.finish("empty")
    inner = repo.worktree(shop.path / "out" / "theirs", "theirs", new=True)
    with pytest.raises(OperationRefused, match=f"{shop.path} holds the worktree {inner.path}"):
        shop.remove(discard=True)
    repo.git("worktree", "move", str(inner.path), str(tmp_path / "theirs"))
    monkeypatch.setattr("gitprun.system.files.mounts_below", lambda path: [f"{path}/mnt"])
    with pytest.raises(PrunError, match=f"something is mounted at {shop.path}/mnt"):
        shop.remove(discard=True)
    assert repo.ledger.read().events[-1].kind == "unit.finished"


def test_whoever_stands_in_it_is_told(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.finish("empty")
    here = os.getcwd()
    os.chdir(shop.path)
    try:
        with pytest.raises(OperationRefused, match=f"you are in {shop.path}"):
            shop.remove()
    finally:
        os.chdir(here)
    assert shop.remove().removed


def test_two_at_once(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.finish("empty")
    _, unit = shop.state()
    with hold_unit(repo.repository, unit), pytest.raises(OperationRefused, match="another git prun is busy"):
        shop.remove()
    assert shop.remove().removed


def test_the_branch_of_a_worktree_goes_to_the_trash(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w", "worktree")
    tip = shop.work.commit("the worker's", b_dot_txt="b\n")
    shop.finish()
    shop.remove()
    [trash] = repo.git("for-each-ref", "--format=%(refname) %(objectname)", "refs/prun/trash").splitlines()
    assert trash == f"refs/prun/trash/{trash.split('/')[3]}/heads/prun/r1/u/{tip[:12]} {tip}"
    [event] = [event for event in repo.ledger.read().events if event.kind == "trash.kept"]
    assert event.payload.as_json() == {
        "of": "r1/u",
        "from": "refs/heads/prun/r1/u",
        "ref": trash.split(" ")[0],
        "commit": tip,
        "why": "its worktree was removed",
    }


def leftovers(tmp_path: Path) -> list[str]:
    found = [*tmp_path.rglob(".prun-trash-*")]
    return sorted(str(path.relative_to(tmp_path)) for path in found)


@pytest.mark.kill
@KINDS
def test_killed_at_any_step(tmp_path: Path, kind: WorkspaceKind) -> None:
    for number in range(1, 300, 29):
        place = tmp_path / str(number)
        repo = make_repo(place / "repo", a_dot_txt="1\n", _dot_gitignore="out/\n")
        shop = open_workshop(repo, place / "w", kind)
        tip = shop.work.commit("the worker's", b_dot_txt="b\n")
        shop.work.write("deep/er/file", "x\n")
        shop.finish()
        shop.work.write("later.txt", "later\n")
        commit, before = repo.oid("refs/prun/r1/u"), fingerprint(repo.path, without=(".git",))
        code = prun_and_die(repo.path, number, "remove", "r1/u")
        assert code in (0, -9)
        _, unit = shop.state()
        if not unit.as_json().get("removed"):
            shop.remove()
        assert (shop.path.exists(), leftovers(place), worktrees(repo), branches(repo)) == (False, [], 1, ["main"])
        assert repo.oid("refs/prun/r1/u") == commit
        assert repo.files("refs/prun/kept/r1/u/left-in-workspace")["later.txt"] == "later"
        assert tip in shop.refs().values()
        assert fingerprint(repo.path, without=(".git",)) == before
        if code == 0:
            assert number > 5
            return
    raise AssertionError

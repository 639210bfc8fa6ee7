"""Linked worktrees: registered without a trace in the shared settings, removed without touching anybody else's."""

from __future__ import annotations

import os
import shutil
import threading
from pathlib import Path

import pytest

from gitprun.git.refs import delete_ref, open_repository
from gitprun.model.errors import OperationRefused
from gitprun.model.names import Oid
from gitprun.workspaces import worktree
from gitprun.workspaces.base import Workspace, WorkspaceProblem
from gitprun.workspaces.worktree import admin_folder, make_worktree, remove_worktree, require_free_branch
from tests.support.repos import Repo, make_bare, make_repo
from tests.support.workshop import fingerprint

STATE = (".git/prun",)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", a_dot_txt="1\n")


def make(repo: Repo, root: Path, unit: str = "u", base: str = "HEAD") -> Workspace:
    return make_worktree(repo.repository, root / "r1" / unit, repo.oid(base), f"prun/r1/{unit}")


def worktrees(repo: Repo) -> list[str]:
    rows = repo.git("worktree", "list", "--porcelain").splitlines()
    return [os.path.basename(row) for row in rows if row.startswith("worktree ")]


def test_a_worktree_is_a_checkout_on_its_branch(repo: Repo, tmp_path: Path) -> None:
    before = (repo.path / ".git" / "config").read_bytes()
    workspace = make(repo, tmp_path / "w")
    work = Repo(workspace.path)
    assert (workspace.kind, workspace.branch) == ("worktree", "prun/r1/u")
    assert (work.head, work.git("branch", "--show-current"), work.status()) == (repo.head, "prun/r1/u", [])
    assert (repo.path / ".git" / "config").read_bytes() == before


def test_made_and_removed_leaves_nothing(repo: Repo, tmp_path: Path) -> None:
    before = fingerprint(repo.path, without=STATE)
    workspace = make(repo, tmp_path / "w")
    remove_worktree(repo.repository, workspace.path, workspace.identity)
    delete_ref(open_repository(repo.path / ".git"), "refs/heads/prun/r1/u", repo.head)
    assert fingerprint(repo.path, without=STATE) == before
    assert list((tmp_path / "w" / "r1").iterdir()) == []


def test_shared_settings_may_be_locked(repo: Repo, tmp_path: Path) -> None:
    repo.git("clone", "-q", ".", str(tmp_path / "other"))
    other = Repo(tmp_path / "other")
    (other.path / ".git" / "config.lock").touch()
    workspace = make(other, tmp_path / "w", base="origin/main")
    assert Repo(workspace.path).read("a.txt") == "1\n"


@pytest.mark.parametrize(
    ("taken", "wanted", "message"),
    [
        ("billing/per-seat", "billing", "the branch billing cannot be made beside billing/per-seat"),
        ("release/1", "release/1/hotfix", "the branch release/1/hotfix cannot be made beside release/1"),
        ("prun", "prun/r1/u", "the branch prun/r1/u cannot be made beside prun"),
        ("same", "same", "the branch same already exists"),
        ("u\u2028sep", "u\u2028sep", "the branch u\u2028sep already exists"),
    ],
)
def test_branches_in_the_way(repo: Repo, taken: str, wanted: str, message: str) -> None:
    repo.branch(taken)
    before = fingerprint(repo.path)
    with pytest.raises(WorkspaceProblem) as caught:
        require_free_branch(repo.repository.git, wanted)
    assert (caught.value.message, fingerprint(repo.path)) == (message, before)


def test_a_branch_another_worktree_holds(repo: Repo, tmp_path: Path) -> None:
    holder = repo.worktree(tmp_path / "holder", "prun/r1/u", new=True)
    holder.write("a.txt", "work of somebody\n")
    before = fingerprint(repo.path, without=STATE)
    with pytest.raises(WorkspaceProblem) as caught:
        make(repo, tmp_path / "w")
    assert caught.value.message == f"the branch prun/r1/u already exists and is checked out in {holder.path}"
    assert fingerprint(repo.path, without=STATE) == before
    assert not (tmp_path / "w" / "r1" / "u").exists()


def test_entries_of_others_that_are_stale_or_locked_stay(repo: Repo, tmp_path: Path) -> None:
    for name in ("usb", "gone"):
        repo.worktree(tmp_path / name, name, new=True)
    repo.git("worktree", "lock", "--reason", "usb disk", str(tmp_path / "usb"))
    shutil.move(tmp_path / "usb", tmp_path / "unmounted")
    shutil.rmtree(tmp_path / "gone")
    workspace = make(repo, tmp_path / "w")
    remove_worktree(repo.repository, workspace.path, workspace.identity)
    assert worktrees(repo) == ["repo", "gone", "usb"]


def test_a_locked_worktree_is_not_removed(repo: Repo, tmp_path: Path) -> None:
    workspace = make(repo, tmp_path / "w")
    repo.git("worktree", "lock", "--reason", "mine now", str(workspace.path))
    with pytest.raises(OperationRefused) as caught:
        remove_worktree(repo.repository, workspace.path, workspace.identity)
    assert caught.value.message == f"the worktree {workspace.path} is locked: mine now"
    assert Repo(workspace.path).status() == []


def test_a_folder_deleted_by_hand(repo: Repo, tmp_path: Path) -> None:
    workspace = make(repo, tmp_path / "w")
    tip = Repo(workspace.path).commit("own", b_dot_txt="b\n")
    shutil.rmtree(workspace.path)
    remove_worktree(repo.repository, workspace.path, workspace.identity)
    assert (worktrees(repo), repo.oid("prun/r1/u")) == (["repo"], tip)


def test_another_folder_in_its_place(repo: Repo, tmp_path: Path) -> None:
    workspace = make(repo, tmp_path / "w")
    shutil.move(workspace.path, tmp_path / "moved")
    workspace.path.mkdir()
    (workspace.path / "precious").touch()
    with pytest.raises(Exception, match="is not the folder prun made"):
        remove_worktree(repo.repository, workspace.path, workspace.identity)
    assert ((workspace.path / "precious").exists(), worktrees(repo)) == (True, ["repo", "u"])


@pytest.mark.parametrize("space", ["", "with space"])
def test_a_half_written_entry_of_somebody_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, space: str) -> None:
    monkeypatch.setattr(worktree, "RETRIES", 2)
    monkeypatch.setattr(worktree, "RETRY_PAUSE", 0.01)
    repo = make_repo(tmp_path / space / "repo")
    repo.worktree(tmp_path / "w1", "other", new=True)
    entry = repo.path / ".git" / "worktrees" / "w1" / "commondir"
    entry.write_text("")
    with pytest.raises(WorkspaceProblem) as caught:
        make(repo, tmp_path / "w")
    assert caught.value.message == (
        f"no worktree at {tmp_path}/w/r1/u: the registration of another worktree, 'w1', is half written"
    )
    assert entry.read_text() == ""
    assert os.listdir(repo.path / ".git" / "worktrees") == ["w1"]
    assert repo.git("branch", "--list", "prun/*") == ""
    entry.write_text("../..\n")
    assert make(repo, tmp_path / "w").path.is_dir()


def test_a_half_written_entry_that_is_finished_in_time(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo.worktree(tmp_path / "w1", "other", new=True)
    entry = repo.path / ".git" / "worktrees" / "w1" / "commondir"
    entry.write_text("")
    monkeypatch.setattr(worktree.time, "sleep", lambda _: entry.write_text("../..\n"))
    assert make(repo, tmp_path / "w").path.is_dir()


def test_many_at_once(repo: Repo, tmp_path: Path) -> None:
    made: list[Workspace] = []
    threads = [threading.Thread(target=lambda n=n: made.append(make(repo, tmp_path / "w", f"u{n}"))) for n in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 6
    assert {Repo(row.path).git("branch", "--show-current") for row in made} == {f"prun/r1/u{n}" for n in range(6)}


def test_a_filter_that_is_not_installed_leaves_nothing(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", _dot_gitattributes="*.bin filter=lfs -text\n", d_dot_bin="pointer\n")
    repo.git("config", "filter.lfs.smudge", "/nonexistent/git-lfs smudge %f")
    repo.git("config", "filter.lfs.required", "true")
    before = fingerprint(repo.path, without=STATE)
    with pytest.raises(WorkspaceProblem, match="needs a filter program that does not work"):
        make(repo, tmp_path / "w")
    assert (fingerprint(repo.path, without=STATE), worktrees(repo)) == (before, ["repo"])


def test_a_bare_hub_with_settings_per_worktree(tmp_path: Path) -> None:
    hub = make_bare(tmp_path / "hub.git", make_repo(tmp_path / "seed"))
    hub.git("config", "core.repositoryFormatVersion", "1")
    hub.git("config", "extensions.worktreeConfig", "true")
    before = (hub.path / "config").read_bytes()
    work = Repo(make(hub, tmp_path / "w").path)
    assert (work.files(), work.status()) == ({"a.txt": "1"}, [])
    assert (hub.path / "config").read_bytes() == before


def test_the_registration_is_found_without_trusting_the_worktree(repo: Repo, tmp_path: Path) -> None:
    workspace, other = make(repo, tmp_path / "w"), make(repo, tmp_path / "w", "other")
    common = repo.path / ".git"
    (workspace.path / ".git").write_text(f"gitdir: {common}/worktrees/other\n")
    assert admin_folder(common, workspace.path) == common / "worktrees" / "u"
    assert admin_folder(common, tmp_path / "absent") is None
    # The worker claims the entry of its neighbour: neither is believed, so neither is removed.
    (common / "worktrees" / "other" / "gitdir").write_text(f"{workspace.path}/.git\n")
    assert admin_folder(common, workspace.path) is None
    remove_worktree(repo.repository, workspace.path, workspace.identity)
    assert sorted(os.listdir(common / "worktrees")) == ["other", "u"]
    assert (other.path / "a.txt").exists()


def test_a_commit_that_is_none_leaves_nothing(repo: Repo, tmp_path: Path) -> None:
    before = fingerprint(repo.path, without=STATE)
    with pytest.raises(WorkspaceProblem, match="no worktree at"):
        make_worktree(repo.repository, tmp_path / "w" / "r1" / "u", Oid("1" * 40), "prun/r1/u")
    assert (fingerprint(repo.path, without=STATE), (tmp_path / "w" / "r1" / "u").exists()) == (before, False)

"""Whatever way a worker leaves its work behind, it is captured or pinned."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitprun.model.units import WorkspaceKind
from tests.support.repos import Repo, make_repo
from tests.support.workshop import RUN, open_workshop

pytestmark = pytest.mark.slow


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", a_dot_txt="a\n", b_dot_txt="b\n", c_dot_txt="c\n", d_dot_txt="d\n")


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_nothing_done_is_no_change(repo: Repo, tmp_path: Path, kind: WorkspaceKind) -> None:
    shop = open_workshop(repo, tmp_path / "w", kind)
    found = shop.capture()
    assert (found.tree, found.changed, found.kept, found.own_commits) == (repo.oid("HEAD^{tree}"), (), (), ())
    assert (found.left_out, found.unfinished, found.notes) == ((), None, ())


def test_seven_channels_of_a_clone(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    work = shop.work
    committed = work.commit("own commit", committed_dot_txt="c\n")
    work.switch("side", new=True)
    side = work.commit("side commit", side_dot_txt="s\n")
    work.switch("prun/r1/u")
    work.write("a.txt", "stashed\n")
    work.git("stash", "-q")
    stash = work.oid("refs/stash")
    work.write("b.txt", "staged\n")
    work.git("add", "b.txt")
    (shop.path / "c.txt").unlink()
    work.write("new.txt", "untracked\n")
    work.write("d.txt", "edited\n")
    found = shop.capture()
    assert shop.files(found) == {
        "b.txt": "100644 staged",
        "c.txt": "-",
        "committed.txt": "100644 c",
        "d.txt": "100644 edited",
        "new.txt": "100644 untracked",
    }
    assert shop.refs() == {"head": committed, "branch/side": side, "stash": stash}
    assert dict(found.kept) == {f"refs/prun/kept/r1/u/{name}": oid for name, oid in shop.refs().items()}
    assert sorted(row.split(" ", 1)[1] for row in found.own_commits) == [
        "Ada Author: own commit",
        "Ada Author: side commit",
    ]
    repo.git("fsck", "--strict")


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_own_commits_become_one_commit_on_the_base(repo: Repo, tmp_path: Path, kind: WorkspaceKind) -> None:
    shop = open_workshop(repo, tmp_path / "w", kind)
    shop.work.commit("one", x_dot_txt="x\n")
    tip = shop.work.commit("two", y_dot_txt="y\n")
    found = shop.capture()
    commit = shop.commit(found)
    assert repo.git("rev-list", "--parents", "-1", commit).split() == [commit, repo.head]
    assert repo.oid("refs/prun/r1/u") == commit
    assert found.changed == ("x.txt", "y.txt")
    assert set(shop.refs().values()) == {tip}
    assert len(found.own_commits) == 2


def test_no_commit_of_the_worker_is_pinned_twice(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    for number in range(5):
        shop.work.commit(f"step {number}", x_dot_txt=f"{number}\n")
    shop.capture()
    assert shop.refs() == {"head": shop.work.head}


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_a_commit_thrown_away_is_pinned(repo: Repo, tmp_path: Path, kind: WorkspaceKind) -> None:
    shop = open_workshop(repo, tmp_path / "w", kind)
    lost = shop.work.commit("thrown away", x_dot_txt="x\n")
    shop.work.git("reset", "-q", "--hard", "HEAD^")
    found = shop.capture()
    assert found.changed == ()
    assert shop.refs() == {f"lost/{lost[:12]}": lost}


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_detached_head_ahead_of_the_branch(repo: Repo, tmp_path: Path, kind: WorkspaceKind) -> None:
    shop = open_workshop(repo, tmp_path / "w", kind)
    shop.work.git("checkout", "-q", "--detach")
    shop.work.commit("c1", x_dot_txt="x\n")
    tip = shop.work.commit("c2", y_dot_txt="y\n")
    shop.work.write("z.txt", "dirty\n")
    found = shop.capture()
    assert found.changed == ("x.txt", "y.txt", "z.txt")
    assert shop.refs() == {"head": tip}


def test_a_branch_of_its_own_in_a_worktree(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w", "worktree")
    shop.work.switch("other", new=True)
    tip = shop.work.commit("elsewhere", x_dot_txt="x\n")
    assert dict(shop.capture().kept) == {"refs/prun/kept/r1/u/head": tip}


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_a_merge_half_done_is_said_and_kept(repo: Repo, tmp_path: Path, kind: WorkspaceKind) -> None:
    shop = open_workshop(repo, tmp_path / "w", kind)
    shop.work.commit("mine", a_dot_txt="mine\n")
    shop.work.git("checkout", "-q", "-b", "theirs", "HEAD^")
    shop.work.commit("theirs", a_dot_txt="theirs\n")
    shop.work.git("merge", "-q", "prun/r1/u", ok=(1,))
    found = shop.capture()
    assert found.unfinished == "merge"
    assert "<<<<<<< HEAD" in shop.files(found)["a.txt"]
    assert shop.work.git("ls-files", "-u") != ""


@pytest.mark.parametrize(
    ("mark", "word"),
    [("MERGE_HEAD", "merge"), ("rebase-merge", "rebase"), ("rebase-apply", "rebase"), ("REVERT_HEAD", "revert"),
     ("CHERRY_PICK_HEAD", "cherry-pick"), ("sequencer", "cherry-pick")],
)  # fmt: skip
def test_every_half_done_operation_has_a_name(repo: Repo, tmp_path: Path, mark: str, word: str) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write(f".git/{mark}", "x\n")
    assert shop.capture().unfinished == word


def test_unrelated_history(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.git("init", "-q", "--separate-git-dir", str(tmp_path / "moved"))
    (shop.path / ".git").unlink()
    shop.work.git("init", "-q", "-b", "fresh")
    shop.work.write("a.txt", "2\n")
    root = shop.work.commit("all work")
    found = shop.capture()
    assert shop.files(found) == {"a.txt": "100644 2"}
    assert shop.refs() == {"head": root}
    assert repo.git("log", "--format=%s", shop.commit(found)) == "u\nbase"


def test_another_worktree_of_the_clone_is_read_too(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    inner = shop.work.worktree(shop.path / ".worktrees" / "x", "inner", new=True)
    inner.git("checkout", "-q", "--detach")
    tip = inner.commit("in a worktree of the worker's", x_dot_txt="x\n")
    found = shop.capture()
    assert list(shop.refs().values()) == [tip]
    assert [row.path for row in found.left_out] == [".worktrees/x/"]


def test_branches_that_stand_in_each_others_way_are_all_pinned(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    one = shop.work.commit("one", x_dot_txt="1\n")
    two = shop.work.commit("two", x_dot_txt="2\n")
    packed = shop.path / ".git" / "packed-refs"
    packed.write_text(f"{packed.read_text()}{one} refs/heads/a\n{two} refs/heads/a/b\n")
    shop.work.git("checkout", "-q", "--detach", repo.head)
    shop.capture()
    assert set(shop.refs().values()) == {one, two}


def test_strange_branch_names_are_pinned_by_their_commit(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    tip = shop.work.commit("one", x_dot_txt="1\n")
    packed = shop.path / ".git" / "packed-refs"
    packed.write_text(packed.read_text() + f"{tip} refs/heads/../../main\n")
    shop.work.git("checkout", "-q", "--detach", repo.head)
    (shop.path / ".git" / "refs" / "heads" / "prun" / "r1" / "u").unlink()
    shop.capture()
    assert shop.refs() == {f"branch/{tip}": tip}


def test_a_second_capture_keeps_what_the_first_pinned(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    first = shop.work.commit("first", x_dot_txt="1\n")
    shop.capture()
    (shop.path / ".git" / "logs" / "HEAD").unlink()
    shop.work.git("commit", "-q", "--amend", "-m", "amended")
    shop.capture()
    assert shop.refs() == {"head": shop.work.head, f"lost/{first[:12]}": first}


def test_what_the_user_has_on_a_branch_is_not_pinned_as_lost(repo: Repo, tmp_path: Path) -> None:
    old = repo.head
    repo.commit("newer", a_dot_txt="newer\n")
    shop = open_workshop(repo, tmp_path / "w", "worktree")
    shop.work.git("checkout", "-q", "--detach", old)
    shop.work.git("checkout", "-q", "prun/r1/u")
    shop.capture()
    assert shop.refs() == {}


def test_a_broken_commit_does_not_spoil_the_others(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    good = shop.work.commit("good", x_dot_txt="1\n")
    shop.work.switch("broken", new=True)
    broken = shop.work.commit("broken", y_dot_txt="y\n")
    blob = shop.work.oid("HEAD:y.txt")
    (shop.path / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    found = shop.capture()
    assert set(shop.refs().values()) == {good}
    assert [note.split(" could not")[0] for note in found.notes] == [f"the worker's head ({broken[:10]})"]
    repo.git("fsck", "--strict")


def test_refs_that_name_no_commit_are_passed_over(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    blob = shop.work.git("hash-object", "-w", "--stdin", stdin=b"loose\n")
    shop.work.write(".git/refs/heads/blob", f"{blob}\n")
    shop.work.write(".git/refs/heads/absent", f"{'1' * 40}\n")
    assert (shop.capture().kept, shop.refs()) == ((), {})


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_a_lock_left_by_a_killed_git_is_no_matter(repo: Repo, tmp_path: Path, kind: WorkspaceKind) -> None:
    shop = open_workshop(repo, tmp_path / "w", kind)
    lock = shop.work.git("rev-parse", "--path-format=absolute", "--git-path", "index.lock")
    Path(lock).touch()
    shop.site.workspace.index.with_name("index.lock").touch()
    shop.work.write("a.txt", "2\n")
    assert shop.files(shop.capture()) == {"a.txt": "100644 2"}
    assert os.path.exists(lock)


def test_the_workers_own_index_has_no_say(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.git("update-index", "--assume-unchanged", "a.txt")
    shop.work.git("update-index", "--skip-worktree", "b.txt")
    for name in ("a.txt", "b.txt"):
        shop.work.write(name, "2\n")
    assert shop.capture().changed == ("a.txt", "b.txt")


def test_refs_of_a_run_are_where_they_belong(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.commit("own", x_dot_txt="x\n")
    before = repo.git("for-each-ref", "refs/heads", "refs/tags")
    shop.commit(shop.capture())
    assert repo.git("for-each-ref", "refs/heads", "refs/tags") == before
    names = repo.git("for-each-ref", "--format=%(refname)", "refs/prun").splitlines()
    assert names == [f"refs/prun/base/{RUN}", f"refs/prun/kept/{RUN}/u/head", f"refs/prun/{RUN}/u"]


@pytest.mark.parametrize("name", ["two\nlines", 'a "quoted" \\ one', "#first", "with: colon"])
def test_own_commits_cross_from_a_repository_of_any_name(tmp_path: Path, name: str) -> None:
    repo = make_repo(tmp_path / name, a_dot_txt="a\n")
    shop = open_workshop(repo, tmp_path / "w")
    own = shop.work.commit("own commit", b_dot_txt="b\n")
    found = shop.capture()
    assert (found.notes, shop.refs()) == ((), {"head": own})

"""What refuses a landing before anything is moved."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from gitprun.git.trees import TreeChange
from gitprun.landing.guard import (
    LocalChanges,
    find_obstacle,
    list_paths,
    read_local_changes,
    read_target,
    require_mergeable,
    require_quiet,
)
from gitprun.model.errors import OperationRefused, PrunError
from gitprun.model.names import Oid
from tests.support.repos import Repo, make_bare, make_repo

ZERO = Oid("0" * 40)
X, Y = Oid("a" * 40), Oid("b" * 40)


def added(path: bytes) -> TreeChange:
    return TreeChange(path, "000000", "100644", ZERO, X)


def removed(path: bytes) -> TreeChange:
    return TreeChange(path, "100644", "000000", X, ZERO)


def edited(path: bytes) -> TreeChange:
    return TreeChange(path, "100644", "100644", X, Y)


def test_the_target_is_what_is_checked_out(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    found = read_target(repo.repository, None)
    assert (found.ref, found.branch, found.tip) == ("refs/heads/main", "main", repo.head)
    assert (found.checkout, found.git_dir) == (repo.path, repo.path / ".git")
    inside = repo.path / "sub"
    inside.mkdir()
    assert read_target(Repo(inside).repository, None).checkout == repo.path


def test_another_target_brings_its_own_checkout(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.branch("develop")
    for name in ("develop", "refs/heads/develop"):
        found = read_target(repo.repository, name)
        assert (found.ref, found.checkout) == ("refs/heads/develop", None)
    linked = repo.worktree(tmp_path / "linked", "develop")
    found = read_target(repo.repository, "develop")
    assert (found.checkout, found.git_dir) == (linked.path, repo.path / ".git" / "worktrees" / "linked")
    assert read_target(linked.repository, "main").checkout == repo.path


@pytest.mark.parametrize("name", ["nope", "main~0", "refs/tags/v1", "HEAD", "-x", ""])
def test_a_target_that_is_no_branch(tmp_path: Path, name: str) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.git("tag", "v1")
    with pytest.raises(PrunError, match="has no commit here"):
        read_target(repo.repository, name)


def test_no_target(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    bare = make_bare(tmp_path / "bare.git", repo)
    with pytest.raises(PrunError, match="bare"):
        read_target(bare.repository, None)
    assert read_target(bare.repository, "main").checkout is None
    repo.git("checkout", "-q", "--detach")
    with pytest.raises(PrunError, match="HEAD is detached"):
        read_target(repo.repository, None)
    assert read_target(repo.repository, "main").checkout is None
    repo.git("checkout", "-q", "--orphan", "fresh")
    with pytest.raises(PrunError, match="'fresh' has no commit here"):
        read_target(repo.repository, None)


def test_a_checkout_that_is_missing_or_doubled(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.branch("develop")
    linked = repo.worktree(tmp_path / "linked", "develop")
    repo.git("worktree", "add", "-q", "-f", str(tmp_path / "twin"), "develop")
    with pytest.raises(OperationRefused, match="more than one worktree"):
        read_target(repo.repository, "develop")
    repo.git("worktree", "remove", str(tmp_path / "twin"))
    linked.path.rename(tmp_path / "moved")
    with pytest.raises(OperationRefused, match=f"refs/heads/develop is checked out in {linked.path}, which is missing"):
        read_target(repo.repository, "develop")


def begin(repo: Repo, what: str) -> None:
    """Leave an operation waiting for the user."""
    repo.commit("body", f="1\n")
    repo.switch("topic", new=True)
    repo.commit("topic", f="topic\n")
    repo.switch("main")
    repo.commit("main", f="main\n")
    commands = {
        "a merge": ("merge", "topic"),
        "a cherry-pick": ("cherry-pick", "topic"),
        "a revert": ("revert", "HEAD~1"),
        "a rebase": ("rebase", "topic"),
    }
    repo.git(*commands[what], ok=(1,))


@pytest.mark.parametrize("what", ["a merge", "a cherry-pick", "a revert"])
def test_an_operation_in_progress(tmp_path: Path, what: str) -> None:
    repo = make_repo(tmp_path / "repo")
    begin(repo, what)
    target = read_target(repo.repository, None)
    with pytest.raises(OperationRefused, match=f"{what} is in progress in {repo.path}"):
        require_quiet(target, repo.repository.common)
    with pytest.raises(OperationRefused, match="has unresolved conflicts: f"):
        require_mergeable(target, read_local_changes(repo.path))


def test_a_branch_that_is_being_rebased(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    begin(repo, "a rebase")
    with pytest.raises(OperationRefused, match="a rebase is in progress"):
        read_target(repo.repository, None)
    with pytest.raises(OperationRefused, match="main is being rebased"):
        require_quiet(read_target(repo.repository, "main"), repo.repository.common)
    require_quiet(read_target(repo.repository, "topic"), repo.repository.common)


def test_a_rebase_in_a_linked_worktree(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.switch("home", new=True)
    begin(linked := repo.worktree(tmp_path / "linked", "main"), "a rebase")
    assert linked.path.is_dir()
    with pytest.raises(OperationRefused, match="main is being rebased"):
        require_quiet(read_target(repo.repository, "main"), repo.repository.common)


def test_another_git_at_work(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.write(".git/index.lock", "")
    with pytest.raises(OperationRefused, match="another git program works in") as caught:
        require_quiet(read_target(repo.repository, None), repo.repository.common)
    assert str(repo.path / ".git" / "index.lock") in caught.value.hint


def test_local_changes(tmp_path: Path) -> None:
    names = ("staged", "edited", "both", "deleted", "dropped", "mode", "same")
    repo = make_repo(tmp_path / "repo", **{name: f"{name}\n" for name in names})
    for key, value in {"status.renames": "copies", "status.branch": "true", "status.showStash": "true"}.items():
        repo.git("config", key, value)
    for name in ("staged", "both"):
        repo.write(name, "new\n")
    repo.git("rm", "-q", "--cached", "dropped")
    repo.write("with space\nand line", "x\n")
    repo.git("add", "staged", "both", "with space\nand line")
    repo.write("both", "newer\n")
    repo.write("edited", "new\n")
    (repo.path / "deleted").unlink()
    (repo.path / "mode").chmod(0o755)
    (repo.path / "same").touch()
    repo.write("untracked", "x\n")
    assert read_local_changes(repo.path) == LocalChanges(
        staged=frozenset({b"staged", b"both", b"dropped", b"with space\nand line"}),
        unstaged=frozenset({b"edited", b"both", b"deleted", b"mode"}),
    )
    with pytest.raises(OperationRefused, match=r"staged changes: both, dropped, staged, with space\\nand line"):
        require_mergeable(read_target(repo.repository, None), read_local_changes(repo.path))


@pytest.mark.parametrize(
    ("tree", "changes", "said"),
    [
        ({}, [added(b"new"), added(b"a/b/new")], ""),
        ({"new": "x"}, [added(b"new")], "new"),
        ({"a/b": "x"}, [added(b"a/b/c"), added(b"a/b/d")], "a/b"),
        ({"a/b": "x"}, [added(b"a/c")], ""),
        ({"d/one": "x", "d/two/three": "x"}, [added(b"d")], "d/one, d/two/three"),
        ({"d/one": "x"}, [removed(b"d/one"), added(b"d")], ""),
        ({"d/one": "x", "d/mine": "x"}, [removed(b"d/one"), added(b"d")], "d/mine"),
        ({"f": "x"}, [removed(b"f"), added(b"f/inner")], ""),
        ({"f": "x"}, [edited(b"f")], ""),
    ],
)
def test_files_in_the_way(tmp_path: Path, tree: dict[str, str], changes: list[TreeChange], said: str) -> None:
    for name, content in tree.items():
        Repo(tmp_path).write(name, content)
    expected = f"files that are in no commit would be overwritten: {said}" if said else ""
    assert find_obstacle(tmp_path, changes, LocalChanges(), ignore_case=False) == expected


def test_links_and_empty_folders(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "link").symlink_to("elsewhere")
    (tmp_path / "dangling").symlink_to("nowhere")
    (tmp_path / "empty" / "inner").mkdir(parents=True)
    os.mkfifo(tmp_path / "fifo")
    for path in (b"link", b"link/x", b"dangling", b"dangling/x", b"fifo"):
        name = path.split(b"/")[0].decode()
        expected = f"files that are in no commit would be overwritten: {name}"
        assert find_obstacle(tmp_path, [added(path)], LocalChanges(), ignore_case=False) == expected
    assert find_obstacle(tmp_path, [added(b"empty")], LocalChanges(), ignore_case=False) == ""


def test_uncommitted_changes_in_the_way(tmp_path: Path) -> None:
    local = LocalChanges(unstaged=frozenset({b"a", b"b", b"c"}))
    changes = [edited(b"b"), removed(b"a"), edited(b"z")]
    assert find_obstacle(tmp_path, changes, local, ignore_case=False) == "uncommitted changes are in the way: a, b"
    assert find_obstacle(tmp_path, [edited(b"z")], local, ignore_case=False) == ""


def test_names_that_differ_only_in_case(tmp_path: Path) -> None:
    twins = [added("Ä.md".encode()), added("ä.md".encode())]
    assert find_obstacle(tmp_path, twins, LocalChanges(), ignore_case=False) == ""
    said = "names that differ only in case cannot both be checked out here: ä.md"
    assert find_obstacle(tmp_path, twins, LocalChanges(), ignore_case=True) == said
    # On such a file system the old name answers to the new one.
    (tmp_path / "README.md").write_text("x")
    renamed = [removed(b"readme.md"), added(b"README.md")]
    assert find_obstacle(tmp_path, renamed, LocalChanges(), ignore_case=True) == ""
    assert find_obstacle(tmp_path, renamed, LocalChanges(), ignore_case=False) != ""


def test_long_lists_are_cut() -> None:
    assert list_paths([b"e", b"d", b"c", b"b", b"a"]) == "a, b, c, d, e"
    assert list_paths([b"%d" % n for n in range(7)]) == "0, 1, 2, 3, 4 and 2 more"

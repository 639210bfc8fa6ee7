"""Objects that were not written although libgit2 said so: noticed before any ref moves."""

from __future__ import annotations

import os
from pathlib import Path

import pygit2
import pytest

from gitprun.git.refs import (
    ObjectsLost,
    Signature,
    move_ref,
    open_repository,
    read_ref,
    require_object,
    write_commit,
    write_object,
)
from gitprun.git.trees import tree_of
from gitprun.model.errors import PrunError
from gitprun.model.names import ZERO, Oid
from tests.support.repos import Repo, make_repo
from tests.support.small_disk import fill, small_disk

__all__ = ["small_disk"]

WHO = Signature("Ada", "ada@example.test", 1_700_000_000, 60)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", a_dot_txt="1\n", sub__b_dot_txt="2\n")


def lose(repo: Repo, oid: str) -> None:
    """Take one object away."""
    place = repo.path / ".git" / "objects" / oid[:2] / oid[2:]
    place.chmod(0o644)
    place.unlink()


def test_a_commit_without_its_tree_moves_no_ref(repo: Repo) -> None:
    commit = repo.head
    lose(repo, repo.oid("HEAD^{tree}"))
    opened = open_repository(repo.path / ".git")
    with pytest.raises(ObjectsLost):
        require_object(opened, commit)
    with pytest.raises(ObjectsLost):
        move_ref(opened, "refs/prun/r1/a", commit, ZERO, "test")
    assert read_ref(opened, "refs/prun/r1/a") is None


@pytest.mark.parametrize("what", ["missing", "empty", "cut", "garbage"])
def test_a_damaged_object_is_not_taken_for_whole(repo: Repo, what: str) -> None:
    commit = repo.head
    place = repo.path / ".git" / "objects" / commit[:2] / commit[2:]
    place.chmod(0o644)
    content = place.read_bytes()
    if what == "missing":
        place.unlink()
    else:
        place.write_bytes({"empty": b"", "cut": content[: len(content) // 2], "garbage": b"x" * 40}[what])
    with pytest.raises(ObjectsLost, match=f"object {commit} could not be read back"):
        require_object(open_repository(repo.path / ".git"), commit)


def test_a_write_that_only_seems_to_work_is_noticed(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = open_repository(repo.path / ".git")
    seeming = pygit2.Oid(hex="1" * 40)
    monkeypatch.setattr(pygit2.Repository, "create_commit", lambda *_: seeming)
    monkeypatch.setattr(pygit2.Repository, "write", lambda *_: seeming)
    with pytest.raises(ObjectsLost, match="could not be read back"):
        write_commit(opened, tree_of(opened, repo.head), (repo.head,), "m\n", WHO, WHO)
    with pytest.raises(ObjectsLost):
        write_object(opened, "blob", b"content")


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounts a small file system")
def test_on_a_full_disk_no_commit_is_believed(small_disk: Path) -> None:
    repo = make_repo(small_disk / "repo")
    opened = open_repository(repo.path / ".git")
    tree, head = tree_of(opened, repo.head), repo.head
    fill(small_disk / "filler")
    believed: list[Oid] = []
    refused = 0
    for number in range(40):
        try:
            believed.append(write_commit(opened, tree, (head,), f"{number} {'x' * 5000}\n", WHO, WHO))
        except (PrunError, OSError, pygit2.GitError):
            refused += 1
    assert refused > 0
    for commit in believed:
        assert repo.git("cat-file", "-t", commit) == "commit"
    with pytest.raises((PrunError, OSError, pygit2.GitError)):
        write_object(opened, "blob", os.urandom(9000))
    assert repo.git("for-each-ref", "--format=%(refname)") == "refs/heads/main"
    os.unlink(small_disk / "filler")
    again = write_commit(opened, tree, (head,), "there is space again\n", WHO, WHO)
    move_ref(opened, "refs/prun/r1/a", again, ZERO, "test")
    assert repo.oid("refs/prun/r1/a") == again
    repo.git("fsck", "--strict")

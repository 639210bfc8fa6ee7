"""Refs move by compare-and-swap, and commits are read back before they are believed."""

from __future__ import annotations

from pathlib import Path

import pygit2
import pytest

from gitprun.git.refs import (
    ObjectsLost,
    RefLocked,
    RefMoved,
    Signature,
    delete_ref,
    move_ref,
    open_repository,
    parse_ident,
    read_ref,
    read_signatures,
    require_object,
    write_commit,
)
from gitprun.model.errors import PrunError
from gitprun.model.names import ZERO, Oid
from tests.support.repos import Repo, make_repo

REF = "refs/prun/r1/u"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", a="1\n")


@pytest.fixture
def store(repo: Repo) -> pygit2.Repository:
    return open_repository(repo.path / ".git")


def test_create_only(repo: Repo, store: pygit2.Repository) -> None:
    first, second = repo.head, repo.commit("second")
    move_ref(store, REF, first, ZERO, "made")
    with pytest.raises(RefMoved) as caught:
        move_ref(store, REF, second, ZERO, "made")
    assert caught.value.message == f"{REF} is at {first}, not at {ZERO}"
    assert repo.oid(REF) == first


def test_compare_and_swap(repo: Repo, store: pygit2.Repository) -> None:
    first, second = repo.head, repo.commit("second")
    move_ref(store, REF, first, ZERO, "made")
    with pytest.raises(RefMoved, match=f"is at {first}, not at {second}"):
        move_ref(store, REF, second, second, "moved")
    assert repo.oid(REF) == first
    move_ref(store, REF, second, first, "moved")
    assert repo.oid(REF) == second
    repo.git("pack-refs", "--all")
    move_ref(store, REF, first, second, "moved back")
    assert repo.oid(REF) == first


def test_a_ref_that_is_not_there_is_not_moved(repo: Repo, store: pygit2.Repository) -> None:
    with pytest.raises(RefMoved, match=f"{REF} is at nothing, not at"):
        move_ref(store, REF, repo.head, repo.head, "moved")


def test_a_ref_moves_with_its_reason_in_the_log(repo: Repo, store: pygit2.Repository) -> None:
    first, second = repo.head, repo.commit("second")
    repo.branch("topic", first)
    move_ref(store, "refs/heads/topic", second, first, "prun: captured")
    assert repo.git("reflog", "-1", "--format=%gs", "topic") == "prun: captured"


def test_a_ref_never_names_what_is_not_there(store: pygit2.Repository) -> None:
    with pytest.raises(ObjectsLost, match="could not be read back"):
        move_ref(store, REF, Oid("1" * 40), ZERO, "made")
    assert read_ref(store, REF) is None


def test_names_that_stand_in_each_others_way(repo: Repo, store: pygit2.Repository) -> None:
    move_ref(store, REF, repo.head, ZERO, "made")
    for name in (f"{REF}/below", "refs/prun/r1"):
        with pytest.raises(PrunError, match=f"{name} could not be written"):
            move_ref(store, name, repo.head, ZERO, "made")
    assert repo.git("for-each-ref", "--format=%(refname)", "refs/prun") == REF


def test_a_locked_ref_is_said(repo: Repo, store: pygit2.Repository) -> None:
    first, second = repo.head, repo.commit("second")
    name = "refs/heads/topic"
    move_ref(store, name, first, ZERO, "made")
    lock = repo.write(f".git/{name}.lock", "")
    with pytest.raises(PrunError, match="could not be written"):
        move_ref(store, name, second, first, "moved")
    with pytest.raises(PrunError, match="could not be deleted"):
        delete_ref(store, name, first)
    lock.unlink()
    assert repo.oid(name) == first


def test_delete(repo: Repo, store: pygit2.Repository) -> None:
    first, second = repo.head, repo.commit("second")
    move_ref(store, REF, first, ZERO, "made")
    with pytest.raises(RefMoved) as caught:
        delete_ref(store, REF, second)
    assert (caught.value.message, repo.oid(REF)) == (f"{REF} is at {first}, not at {second}", first)
    delete_ref(store, REF, first)
    assert read_ref(store, REF) is None
    delete_ref(store, REF, first)


def test_read_ref(repo: Repo, store: pygit2.Repository) -> None:
    assert read_ref(store, "HEAD") == repo.head
    assert [read_ref(store, name) for name in ("refs/heads/none", "not a..name", "refs/heads/\udce9")] == [None] * 3


def test_write_commit_is_what_git_would_write(repo: Repo, store: pygit2.Repository) -> None:
    tree, parent = Oid(repo.oid("HEAD^{tree}")), repo.head
    ada = Signature("Ada Ünal", "ada@example.test", 1767607200, 330)
    carl = Signature("Carl", "carl@example.test", 1767607201, -210)
    commit = write_commit(store, tree, (parent,), "subject\n\nbody\n", ada, carl)
    assert repo.raw(commit) == (
        f"tree {tree}\nparent {parent}\nauthor Ada Ünal <ada@example.test> 1767607200 +0530\n"
        "committer Carl <carl@example.test> 1767607201 -0330\n\nsubject\n\nbody"
    )


def test_a_commit_that_was_not_written_is_noticed(
    repo: Repo, store: pygit2.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    signature = Signature("A", "a@example.test", 0, 0)
    monkeypatch.setattr(pygit2.Repository, "create_commit", lambda *_: pygit2.Oid(hex="2" * 40), raising=False)
    with pytest.raises(ObjectsLost, match=r"object 2{40} could not be read back"):
        write_commit(store, Oid(repo.oid("HEAD^{tree}")), (), "m", signature, signature)


def test_require_object_reads_it(repo: Repo, store: pygit2.Repository) -> None:
    blob = repo.oid("HEAD:a")
    require_object(store, blob)
    torn = repo.path / ".git" / "objects" / blob[:2] / blob[2:]
    torn.chmod(0o644)
    torn.write_bytes(b"")
    with pytest.raises(ObjectsLost, match=blob):
        require_object(open_repository(repo.path / ".git"), blob)


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Ada <ada@x> 1 +0000", Signature("Ada", "ada@x", 1, 0)),
        ("A B <a> 2 -0330", Signature("A B", "a", 2, -210)),
        ("Ünal <> 3 +0545", Signature("Ünal", "", 3, 345)),
    ],
)
def test_parse_ident(line: str, expected: Signature) -> None:
    assert parse_ident(line) == expected


def test_read_signatures(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_AUTHOR_NAME", "latin \udce9")
    author, committer = read_signatures(repo.repository.git)
    assert author == Signature("latin \ufffd", "ada@example.test", 1767607200, 0)
    assert committer == Signature("Carl Committer", "carl@example.test", 1767607200, 0)


def test_repositories_libgit2_cannot_open(tmp_path: Path) -> None:
    with pytest.raises(PrunError, match="libgit2 cannot open"):
        open_repository(tmp_path)


def test_the_lock_a_killed_prun_left_is_taken_away(
    repo: Repo, store: pygit2.Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("gitprun.git.stale.QUIET", 0.2)
    lock = repo.write(f".git/{REF}.lock", b"")
    move_ref(store, REF, repo.head, ZERO, "made")
    lock.write_bytes(b"half")
    delete_ref(store, REF, repo.head)
    assert (read_ref(store, REF), lock.exists()) == (None, False)


def test_a_lock_somebody_holds_stays(repo: Repo, store: pygit2.Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gitprun.git.stale.QUIET", 0.2)
    lock = repo.write(f".git/{REF}.lock", b"")
    with open(lock, "rb"), pytest.raises(RefLocked, match="could not be written"):
        move_ref(store, REF, repo.head, ZERO, "made")
    assert lock.exists()


def test_the_lock_of_a_users_ref_stays(repo: Repo, store: pygit2.Repository) -> None:
    lock = repo.write(".git/refs/heads/topic.lock", b"")
    with pytest.raises(RefLocked, match="could not be written"):
        move_ref(store, "refs/heads/topic", repo.head, ZERO, "made")
    assert lock.exists()

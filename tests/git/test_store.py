"""Objects read and written without libgit2 are git's own, byte for byte."""

from __future__ import annotations

import os
import zlib
from pathlib import Path

import pytest

from gitprun.git.command import Git
from gitprun.git.refs import Signature, open_repository
from gitprun.git.store import ObjectMissing, ObjectStore
from gitprun.model.names import Oid
from tests.support.repos import Repo, make_repo


def opened(repo: Repo) -> ObjectStore:
    git_dir = repo.path / ".git"
    return ObjectStore(Git(cwd=repo.path), git_dir / "objects", lambda: open_repository(git_dir))


def test_loose_and_packed_objects_are_read(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a="1\n", large="x" * 300_000, empty="")
    for packed in (False, True):
        if packed:
            repo.git("gc", "-q")
        store = opened(repo)
        try:
            assert [store.content(repo.oid(f"HEAD:{name}")) for name in ("a", "large", "empty")] == [
                b"False\n" if packed else b"1\n",
                b"x" * 300_000,
                b"",
            ]
            sizes = [store.size(repo.oid(f"HEAD:{name}")) for name in ("a", "large", "empty")]
            assert sizes == [6 if packed else 2, 300_000, 0]
            with pytest.raises(ObjectMissing):
                store.size("0" * 40)
            parents = tuple(map(Oid, repo.git("log", "-1", "--format=%P").split()))
            assert store.commit(repo.head) == (repo.oid("HEAD^{tree}"), parents)
            # What comes later is found too.
            later = repo.commit(f"later {packed}", a=f"{packed}\n")
            assert store.commit(later) == (repo.oid("HEAD^{tree}"), (repo.oid("HEAD~1"),))
            with pytest.raises(ObjectMissing, match=r"object 0{40} is missing"):
                store.content("0" * 40)
            assert store.content(repo.oid("HEAD:a")) == f"{packed}\n".encode()
        finally:
            store.close()


def test_what_is_written_is_what_git_would_write(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    store = opened(repo)
    for body in (b"", b"new\n", b"\0\1" * 1000):
        oid = repo.git("hash-object", "--stdin", stdin=body)
        assert store.put(b"blob", body).hex() == oid
        assert store.put(b"blob", body).hex() == oid
        assert store.content(oid) == body
        assert repo.git("cat-file", "-t", oid) == "blob"
    tree = repo.oid("HEAD^{tree}")
    who = Signature("Jörg ÅÄ", "j@example.test", 1767600000, 330), Signature("C", "c@example.test", 1767600001, -90)
    made = store.put_commit(tree, (repo.head,), "subject ü\n\nbody\n", *who)
    env = {
        "GIT_AUTHOR_NAME": "Jörg ÅÄ",
        "GIT_AUTHOR_EMAIL": "j@example.test",
        "GIT_AUTHOR_DATE": "1767600000 +0530",
        "GIT_COMMITTER_NAME": "C",
        "GIT_COMMITTER_EMAIL": "c@example.test",
        "GIT_COMMITTER_DATE": "1767600001 -0130",
    }
    by_git = repo.git("commit-tree", tree, "-p", "HEAD", env=env, stdin="subject ü\n\nbody\n".encode())
    assert made == by_git
    assert store.commit(made) == (tree, (repo.head,))
    repo.git("fsck", "--strict")
    left = [path.name for path in (repo.path / ".git/objects").rglob("tmp_obj_*")]
    assert left == []
    store.close()


def test_a_damaged_object_is_told(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a="1\n")
    oid = repo.oid("HEAD:a")
    place = repo.path / ".git/objects" / oid[:2] / oid[2:]
    place.chmod(0o644)
    place.write_bytes(b"no zlib")
    with pytest.raises(ObjectMissing, match=f"object {oid} is damaged"):
        opened(repo).content(oid)


def test_it_stands_for_the_whole_repository(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a="1\n")
    store = opened(repo)
    assert str(store[repo.head].id) == repo.head
    assert store.is_bare is False
    assert Oid(str(store.references["refs/heads/main"].target)) == repo.head


def test_a_full_disk_leaves_nothing_half_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = make_repo(tmp_path / "repo")
    store = opened(repo)

    def full(*_: object) -> bytes:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(zlib, "compress", full)
    with pytest.raises(OSError, match="No space left"):
        store.put(b"blob", b"text\n")
    assert not [name for _, _, names in os.walk(repo.path / ".git/objects") for name in names if "tmp" in name]


def test_what_is_read_ahead_is_the_same_and_asked_for_once(tmp_path: Path) -> None:
    names = {f"f{number}": f"{number}\n" * 50 for number in range(1_100)}
    repo = make_repo(tmp_path / "repo", **names)
    repo.git("gc", "-q")
    store = opened(repo)
    try:
        oids = [row.split()[2] for row in repo.git("ls-tree", "HEAD").splitlines()]
        store.read_ahead([*oids, *oids, "0" * 40])
        store.close()
        # Nobody is there to be asked any more.
        assert sorted(store.content(oid) for oid in oids) == sorted(text.encode() for text in names.values())
        with pytest.raises(ObjectMissing, match=r"object 0{40} is missing"):
            store.content("0" * 40)
    finally:
        store.close()


def test_commits_at_which_history_is_cut_off_have_no_parents(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.commit("second", a_dot_txt="2\n")
    repo.git("clone", "-q", "--depth", "1", repo.path.as_uri(), str(tmp_path / "clone"))
    clone = Repo(tmp_path / "clone")
    store = opened(clone)
    try:
        assert store.commit(clone.head) == (clone.oid("HEAD^{tree}"), ())
    finally:
        store.close()

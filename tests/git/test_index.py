"""The reading of an index against git's own."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.git.index import Index, blob_id, file_mark, parse_index, read_rows
from tests.support.repos import Repo, make_repo

NAMES = ("a.txt", "a/b/c.txt", "a/b/cc.txt", "a.txt.bak", "ä ö", "deep/" * 30 + "x", "n" * 200, "\n", "z")


def read(repo: Repo) -> Index | None:
    return parse_index((repo.path / ".git" / "index").read_bytes())


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = make_repo(tmp_path / "r", seed="x")
    for number, name in enumerate(NAMES):
        repo.write("d/" + name, f"{number}\n" * number, executable=number % 2 == 0)
    os.symlink("a.txt", repo.path / "link")
    repo.git("add", "-A")
    return repo


def described(repo: Repo, index: Index) -> dict[bytes, tuple[str, str, tuple[int, ...]]]:
    found = {}
    for name in index.places:
        entry = index.find(name)
        assert entry is not None
        found[name] = (f"{entry.mode:o}", entry.oid.hex(), entry.mark)
    return found


def expected(repo: Repo) -> dict[bytes, tuple[str, str, tuple[int, ...]]]:
    found = {}
    for row in repo.git("ls-files", "--stage", "-z").split("\0")[:-1]:
        about, _, name = row.partition("\t")
        mode, oid, _ = about.split()
        seen = os.lstat(repo.path / name)
        found[os.fsencode(name)] = (mode, oid, file_mark(seen.st_ctime_ns, seen.st_mtime_ns, seen.st_ino, seen.st_size))
    return found


@pytest.mark.parametrize("version", ["2", "3", "4"])
def test_entries_are_those_of_git(repo: Repo, version: str) -> None:
    repo.git("update-index", "--index-version", version)
    repo.git("update-index", "--refresh")
    if version == "3":
        repo.git("update-index", "--skip-worktree", "seed")
    index = read(repo)
    assert index is not None
    assert described(repo, index) == expected(repo)
    assert index.find(b"d/a") is None
    assert [name for name in index.places if (e := index.find(name)) and e.kept] == (
        [b"seed"] if version == "3" else []
    )


def test_paths_are_kept_once_for_all_indexes(repo: Repo) -> None:
    raw, names = (repo.path / ".git" / "index").read_bytes(), {}
    first, second = parse_index(raw, names), parse_index(bytes(raw), names)
    assert first is not None
    assert second is not None
    assert all(one is two for one, two in zip(first.places, second.places, strict=True))


@pytest.mark.parametrize("setting", [("core.splitIndex", "true"), ("index.sparse", "true")])
def test_an_index_in_parts_is_left_to_git(repo: Repo, setting: tuple[str, str]) -> None:
    repo.git("commit", "-qm", "all")
    repo.git("config", *setting)
    if setting[0] == "index.sparse":
        repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "d")
        repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "nothing")
    else:
        repo.git("update-index", "--split-index")
    assert read(repo) is None


def test_an_unmerged_index_is_left_to_git(repo: Repo) -> None:
    oid = repo.git("hash-object", "-w", "--stdin", stdin=b"x")
    repo.git("update-index", "--index-info", stdin=f"100644 {oid} 1\tconflict\n100644 {oid} 2\tconflict\n".encode())
    assert read(repo) is None


@pytest.mark.parametrize("content", ["* text=auto\n", None])
def test_files_of_rules_are_noticed(repo: Repo, content: str | None) -> None:
    if content:
        repo.write("d/.gitattributes", content)
        repo.git("add", "-A")
    index = read(repo)
    assert index is not None
    assert index.attributes is (content is not None)


@given(st.binary(max_size=300))
def test_any_bytes_are_no_error(raw: bytes) -> None:
    assert parse_index(raw) is None
    parse_index(b"DIRC\0\0\0\2" + raw)
    parse_index(b"DIRC\0\0\0\4" + raw)


def test_a_cut_index_is_no_index(repo: Repo) -> None:
    raw = (repo.path / ".git" / "index").read_bytes()
    assert [length for length in range(0, len(raw), 7) if parse_index(raw[:length]) is not None] == []


@given(st.binary(max_size=200))
def test_blob_ids(content: bytes) -> None:
    import pygit2

    assert blob_id(content).hex() == str(pygit2.hash(content))


@pytest.mark.parametrize("version", ["2", "4"])
def test_every_version_of_a_conflict_is_read(repo: Repo, version: str) -> None:
    oids = [repo.git("hash-object", "-w", "--stdin", stdin=text) for text in (b"1", b"2", b"3")]
    rows = "".join(f"100644 {oid} {stage}\td/z\n" for stage, oid in enumerate(oids, 1))
    repo.git("update-index", "--index-info", stdin=b"0 " + b"0" * 40 + b"\td/z\n" + rows.encode())
    repo.git("update-index", "--index-version", version)
    said = [row.partition("\t") for row in repo.git("ls-files", "--stage", "-z").split("\0")[:-1]]
    raw = (repo.path / ".git" / "index").read_bytes()
    assert parse_index(raw) is None
    assert [(f"{row.mode:o} {row.oid} {row.stage}", os.fsdecode(row.path)) for row in read_rows(raw)] == [
        (about, name) for about, _, name in said
    ]


@given(st.binary(max_size=300), st.integers(0, 400), st.data())
def test_what_is_no_index_ends_the_rows(junk: bytes, at: int, data: st.DataObject) -> None:
    body = b"DIRC" + bytes((0, 0, 0, data.draw(st.sampled_from([2, 3, 4, 9])))) + b"\0\0\0\5" + b"\1" * 60 + junk
    rows = list(read_rows(body[:at] + junk))
    assert len(rows) <= 5

"""Content that is only in a worker's index: kept beside the commit, or named as what is not."""

from __future__ import annotations

import os
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from gitprun.capture.capture import Capture
from gitprun.model.units import WorkspaceKind
from tests.support.repos import Repo, make_repo
from tests.support.workshop import Workshop, open_workshop

REF = "refs/prun/kept/r1/u/staged"


def left_out(found: Capture) -> dict[str, str]:
    return {row.path: row.reason for row in found.left_out}


def kept(shop: Workshop) -> dict[str, str]:
    """Read what the commit of staged content holds, once git has collected all garbage."""
    shop.repo.git("gc", "-q", "--prune=now")
    assert shop.repo.git("rev-list", "--parents", "--max-count=1", REF).split(" ")[1:] == []
    return shop.repo.files(REF)


def note(*names: str) -> str:
    return f"only in its index, in none of its files: {', '.join(names)}; kept beside the commit, as staged"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", f_dot_txt="1\n", g_dot_txt="1\n", _dot_gitignore="*.log\n")


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_a_staged_file_that_was_removed_again(repo: Repo, tmp_path: Path, kind: WorkspaceKind) -> None:
    shop = open_workshop(repo, tmp_path / "w", kind)
    shop.work.write("only.txt", "only staged\n")
    shop.work.write("f.txt", "staged version\n")
    shop.work.git("add", "-A")
    (shop.path / "only.txt").unlink()
    shop.work.write("f.txt", "final version\n")
    found = shop.finish()
    assert (found.changed, found.notes) == (("f.txt",), (note("f.txt", "only.txt"),))
    assert shop.remove().removed
    assert kept(shop) == {"f.txt": "staged version", "only.txt": "only staged"}


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_an_index_whose_content_is_kept_anyway_makes_no_commit(repo: Repo, tmp_path: Path, kind: WorkspaceKind) -> None:
    shop = open_workshop(repo, tmp_path / "w", kind)
    shop.work.write("new.txt", "new\n")
    shop.work.commit("own", f_dot_txt="committed\n")
    shop.work.write("g.txt", "staged and there\n")
    shop.work.git("add", "-A")
    shop.work.write("f.txt", "changed after its commit\n")
    (shop.path / "new.txt").unlink()
    found = shop.capture()
    assert [name.rpartition("/")[2] for name, _ in found.kept] == ["u" if kind == "worktree" else "head"]
    assert [text for text in found.notes if "index" in text] == []


def test_secrets_and_build_output_are_left_out(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    token = "ghp_" + "a1B2" * 9
    files = {".env": "TOKEN=1\n", "conf.py": f'token = "{token}"\n', "node_modules/x.js": "x\n", "big.bin": "x" * 2000}
    for name, text in files.items():
        shop.work.write(name, text)
    shop.work.write("fine.txt", "fine\n")
    shop.work.git("add", "-A", "-f")
    for name in (*files, "fine.txt"):
        (shop.path / name).unlink()
    shop = replace(shop, site=replace(shop.site, max_file=1000))
    found = shop.finish()
    assert {path: reason.partition(" like")[0] for path, reason in left_out(found).items()} == {
        ".env": "only staged: looks",
        "conf.py": "only staged: line 1 looks",
        "node_modules/": "only staged: build output (node_modules)",
        "big.bin": "only staged: larger than 1000 bytes ([collect] max_file)",
    }
    assert kept(shop) == {"fine.txt": "fine"}


def test_ignored_content_and_links_are_kept_too(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write("run.log", "log\n")
    shop.work.write("tool.sh", "#!/bin/sh\n", executable=True)
    os.symlink("f.txt", shop.path / "link")
    os.symlink("/etc/passwd", shop.path / "away")
    shop.work.git("add", "-A", "-f")
    for name in ("run.log", "tool.sh", "link", "away"):
        (shop.path / name).unlink()
    found = shop.capture()
    assert left_out(found) == {"away": "only staged: a link that leaves the workspace (to /etc/passwd)"}
    assert repo.git("ls-tree", "-r", REF).split("\n") == [
        f"120000 blob {repo.git('hash-object', '--stdin', stdin=b'f.txt')}\tlink",
        f"100644 blob {repo.git('hash-object', '--stdin', stdin=b'log' + bytes([10]))}\trun.log",
        f"100755 blob {repo.git('hash-object', '--stdin', stdin=b'#!/bin/sh' + bytes([10]))}\ttool.sh",
    ]


def test_the_same_content_is_kept_once_and_an_older_one_stays(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    for text in ("one\n", "two\n"):
        shop.work.write("only.txt", text)
        shop.work.git("add", "only.txt")
        (shop.path / "only.txt").unlink()
        shop.capture()
        first = repo.oid(REF)
        shop.capture()
        assert repo.oid(REF) == first
    assert sorted(shop.refs())[0].startswith("lost/")
    assert [repo.files(f"refs/prun/kept/r1/u/{name}") for name in sorted(shop.refs())] == [
        {"only.txt": "one"}, {"only.txt": "two"}
    ]  # fmt: skip


def test_both_sides_of_a_conflict_that_is_not_settled(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    oids = [shop.work.git("hash-object", "-w", "--stdin", stdin=text) for text in (b"base\n", b"ours\n", b"theirs\n")]
    rows = "".join(f"100644 {oid} {stage}\tx.txt\n" for stage, oid in enumerate(oids, 1))
    shop.work.git("update-index", "--index-info", stdin=rows.encode())
    shop.capture()
    assert sorted(kept(shop).values()) == ["base", "ours", "theirs"]


@pytest.mark.parametrize("version", ["2", "3", "4", "split"])
def test_every_format_of_an_index(repo: Repo, tmp_path: Path, version: str) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write("deep/only.txt", "only\n")
    shop.work.write("deep/other.txt", "other\n")
    if version == "split":
        shop.work.git("update-index", "--split-index")
        shop.work.git("add", "deep/only.txt")
        shop.work.git("-c", "splitIndex.maxPercentChange=100", "add", "-A")
    else:
        shop.work.git("update-index", "--index-version", version)
        shop.work.git("add", "-A")
        shop.work.git("update-index", *(("--skip-worktree",) if version == "3" else ()), "deep/only.txt")
    for name in ("deep/only.txt", "deep/other.txt"):
        (shop.path / name).unlink()
    shop.capture()
    # What replaces an entry of a shared index has no name of its own.
    assert sorted(kept(shop).values()) == ["only", "other"]


def test_names_no_checkout_takes_and_objects_that_are_not_what_they_say(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    fine = shop.work.git("hash-object", "-w", "--stdin", stdin=b"fine\n")
    false = shop.work.git("hash-object", "-w", "--stdin", stdin=b"what it is not\n")
    broken = shop.work.git("hash-object", "-w", "--stdin", stdin=b"broken\n")
    gone = "12" * 20
    rows = "".join(f"100644 {oid} 0\t{name}\n" for oid, name in ((fine, "aaaa/c"), (false, "f1"), (broken, "f2")))
    shop.work.git("update-index", "--index-info", stdin=rows.encode())
    shop.work.git("update-index", "--add", "--cacheinfo", f"100644,{gone},f3", "--info-only")
    objects, index = shop.path / ".git" / "objects", shop.path / ".git" / "index"
    for oid, content in ((false, (objects / fine[:2] / fine[2:]).read_bytes()), (broken, b"no object")):
        place = objects / oid[:2] / oid[2:]
        place.chmod(0o644)
        place.write_bytes(content)
    index.write_bytes(index.read_bytes().replace(b"aaaa/c", b".git/c"))
    found = shop.capture()
    assert left_out(found) == {
        "f1": "only staged: its object does not hold what it is named by",
        "f2": "only staged: its object is not there, or damaged",
        "f3": "only staged: its object is not there, or damaged",
    }
    assert kept(shop) == {fine: "fine"}


@pytest.mark.parametrize("what", ["truncated", "random", "fifo", "link", "huge count"])
def test_an_index_that_is_none(repo: Repo, tmp_path: Path, what: str) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write("f.txt", "2\n")
    index = shop.path / ".git" / "index"
    raw = index.read_bytes()
    index.unlink()
    if what == "fifo":
        os.mkfifo(index)
    elif what == "link":
        index.symlink_to("/etc/passwd")
    else:
        made = {"truncated": raw[:100], "random": os.urandom(500), "huge count": raw[:8] + b"\xff" * 4 + raw[12:]}
        index.write_bytes(made[what])
    assert shop.capture().changed == ("f.txt",)


def test_objects_that_lie_elsewhere_are_not_read(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write("only.txt", "only\n")
    shop.work.git("add", "-A")
    (shop.path / "only.txt").unlink()
    (shop.path / ".git" / "objects" / "info" / "alternates").write_text(f"{tmp_path}\n")
    found = shop.finish()
    why = "what is only staged in it could not be kept: the worker changed where its objects lie (info/alternates)"
    assert left_out(found) == {".git/index": why}


def test_the_index_of_a_worktree_whose_folder_is_gone(repo: Repo, tmp_path: Path) -> None:
    shop = open_workshop(repo, tmp_path / "w", "worktree")
    shop.work.write("only.txt", "only\n")
    shop.finish()
    shop.work.write("later.txt", "later\n")
    shop.work.git("add", "later.txt")
    subprocess.run(["rm", "-r", shop.path], check=True)
    shop.remove()
    assert kept(shop) == {"later.txt": "later"}

"""Everything that is pinned comes back, from the refs alone: as branches that replace none, or as files."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from gitprun.model.errors import OperationRefused, PrunError
from gitprun.recovery.rescue import PinnedCommit, choose, list_pinned, only_captured, restore_branches, restore_files
from gitprun.registry.trash import keep_in_trash, retire_ref
from tests.support.inside import inside, timeless
from tests.support.repos import Repo, make_repo
from tests.support.workshop import fingerprint, open_workshop

pytestmark = pytest.mark.slow


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", a_dot_txt="1\n")


@pytest.fixture
def worked(repo: Repo, tmp_path: Path) -> Repo:
    """A repository with the work of a unit: a commit of its worker's, a stash, and files beside."""
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.commit("the worker's", b_dot_txt="b\n")
    shop.work.write("a.txt", "stashed\n")
    shop.work.git("stash")
    shop.work.write("run.sh", "#!/bin/sh\n", executable=True)
    (shop.path / "link").symlink_to("a.txt")
    shop.finish()
    return repo


def rows(repo: Repo) -> list[tuple[str, str, str, int, int, str]]:
    return [(p.label.kind, p.label.name, p.ref, p.files, p.size, p.subject) for p in list_pinned(repo.repository)]


def pick(repo: Repo, *names: str) -> tuple[PinnedCommit, ...]:
    return choose(list_pinned(repo.repository), names)


def test_what_is_pinned_is_listed(worked: Repo) -> None:
    found = rows(worked)
    assert sorted(found) == [
        ("base", "r1", "refs/prun/base/r1", 1, 2, "base"),
        ("captured", "r1/u", "refs/prun/r1/u", 3, 17, "u"),
        ("kept", "r1/u", "refs/prun/kept/r1/u/head", 1, 2, "the worker's"),
        ("kept", "r1/u", "refs/prun/kept/r1/u/stash", 1, 8, found[[row[2][-5:] for row in found].index("stash")][5]),
    ]


def test_no_ledger_is_needed(worked: Repo) -> None:
    before = rows(worked)
    for content in (b"\0garbage\n", b""):
        (worked.path / ".git" / "prun" / "ledger.jsonl").write_bytes(content)
        assert rows(worked) == before
    shutil.rmtree(worked.path / ".git" / "prun")
    assert rows(worked) == before
    assert [one.branch for one in restore_branches(worked.repository, pick(worked, "u"))]


def test_lost_objects_hide_nothing_else(worked: Repo) -> None:
    commit = worked.oid("refs/prun/r1/u")
    (worked.path / ".git" / "objects" / commit[:2] / commit[2:]).unlink(missing_ok=True)
    for pack in (worked.path / ".git" / "objects" / "pack").glob("*"):
        pack.unlink()
    whole = {one.ref: one.whole for one in list_pinned(worked.repository)}
    assert (whole["refs/prun/r1/u"], whole["refs/prun/base/r1"]) == (False, True)
    with pytest.raises(PrunError, match="refs/prun/r1/u cannot be brought back: its objects are not all there"):
        restore_branches(worked.repository, pick(worked, "refs/prun/r1/u"))


def test_branches(worked: Repo) -> None:
    before = fingerprint(worked.path, without=(".git",))
    done = restore_branches(worked.repository, pick(worked, "u"))
    assert {one.branch: one.ref for one in done} == {
        "rescue/r1/u": "refs/prun/r1/u",
        "rescue/r1/u-head": "refs/prun/kept/r1/u/head",
        "rescue/r1/u-stash": "refs/prun/kept/r1/u/stash",
    }
    assert worked.files("rescue/r1/u")["run.sh"] == "#!/bin/sh"
    assert fingerprint(worked.path, without=(".git",)) == before
    again = restore_branches(worked.repository, pick(worked, "r1/u"))
    assert {(one.branch, one.new) for one in again} == {(one.branch, False) for one in done}


def test_a_branch_that_exists_is_never_moved(worked: Repo) -> None:
    worked.branch("rescue/r1/u")
    worked.branch("rescue/r1/u-head/below")
    at = worked.oid("rescue/r1/u")
    done = {one.ref: one.branch for one in restore_branches(worked.repository, pick(worked, "u"))}
    assert done["refs/prun/r1/u"] == "rescue/r1/u-2"
    assert done["refs/prun/kept/r1/u/head"] == "rescue/r1/u-head-2"
    assert worked.oid("rescue/r1/u") == at
    with pytest.raises(OperationRefused, match="the branch main exists already"):
        restore_branches(worked.repository, pick(worked, "refs/prun/r1/u"), to="main")


def test_a_branch_of_a_name(worked: Repo) -> None:
    commit = worked.oid("refs/prun/r1/u")
    [done] = restore_branches(worked.repository, only_captured(pick(worked, "prun/r1/u")), to="mine/u")
    assert (done.branch, worked.oid("mine/u")) == ("mine/u", commit)
    for name in ("-x", "a..b", "HEAD"):
        with pytest.raises(OperationRefused, match="invalid branch name"):
            restore_branches(worked.repository, pick(worked, commit), to=name)
    with pytest.raises(OperationRefused, match="things are meant, but one branch is named"):
        restore_branches(worked.repository, pick(worked, "kept/r1/u/head", commit[:12]), to="x")


def test_names_that_mean_nothing(worked: Repo) -> None:
    with pytest.raises(OperationRefused, match="nothing is pinned as 'nobody'"):
        pick(worked, "u", "nobody")
    assert {one.label.kind for one in pick(worked, "all")} == {"captured", "kept"}


def test_files(worked: Repo, tmp_path: Path) -> None:
    before = fingerprint(worked.path, without=(".git/index",))
    done = restore_files(worked.repository, pick(worked, "refs/prun/r1/u"), tmp_path / "out")
    assert [one.folder for one in done] == [str(tmp_path / "out")]
    assert sorted(os.listdir(tmp_path / "out")) == ["a.txt", "b.txt", "link", "run.sh"]
    assert os.access(tmp_path / "out" / "run.sh", os.X_OK)
    assert os.readlink(tmp_path / "out" / "link") == "a.txt"
    assert fingerprint(worked.path, without=(".git/index",)) == before
    restore_files(worked.repository, pick(worked, "u"), tmp_path / "more")
    assert sorted(os.listdir(tmp_path / "more")) == ["r1+u", "r1+u-head", "r1+u-stash"]
    assert (tmp_path / "more" / "r1+u-stash" / "a.txt").read_text() == "stashed\n"
    assert sorted(os.listdir(tmp_path)) == ["more", "out", "repo", "w"]


def test_folders_that_are_in_the_way(worked: Repo, tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere")
    chosen = pick(worked, "u")
    for place, message in (
        (tmp_path / "file", "is already there"),
        (tmp_path / "link", "is already there"),
        (tmp_path / "none" / "x", "is no folder"),
        (worked.path / "x", f"lies in the checkout {worked.path}"),
    ):
        with pytest.raises(OperationRefused, match=message):
            restore_files(worked.repository, chosen, place)
    assert sorted(os.listdir(tmp_path)) == ["file", "link", "repo", "w"]


def test_hooks_and_programs_of_the_checkout_are_not_started(worked: Repo, tmp_path: Path) -> None:
    canary = tmp_path / "canary"
    for name in ("post-checkout", "reference-transaction", "post-index-change"):
        worked.hook(name, f"touch {canary}")
    worked.git("config", "core.fsmonitor", f"touch {canary}")
    canary.unlink(missing_ok=True)
    restore_files(worked.repository, pick(worked, "refs/prun/r1/u"), tmp_path / "out")
    assert not canary.exists()


def test_a_failure_leaves_nothing(worked: Repo, tmp_path: Path) -> None:
    worked.git("config", "filter.x.smudge", "false")
    worked.git("config", "filter.x.required", "true")
    worked.switch("f", new=True)
    worked.commit("filtered", _dot_gitattributes="*.bin filter=x\n")
    worked.git("-c", "filter.x.clean=cat", "-c", "filter.x.required=false", "add", "-A")
    blob = worked.git("hash-object", "-w", "--stdin", stdin=b"1\n")
    worked.git("update-index", "--add", "--cacheinfo", f"100644,{blob},x.bin")
    worked.git("commit", "-q", "-m", "bin")
    worked.git("update-ref", "refs/prun/r1/v", "HEAD")
    with pytest.raises(PrunError, match="cannot be written"):
        restore_files(worked.repository, pick(worked, "v"), tmp_path / "out")
    assert sorted(os.listdir(tmp_path)) == ["repo", "w"]


def test_the_trash_comes_back(repo: Repo) -> None:
    tip = repo.commit("mine", b_dot_txt="b\n")
    repo.branch("prun/r1/u")
    kept = retire_ref(repo.repository, repo.ledger, "refs/heads/prun/r1/u", why="a test", of="r1/u")
    assert kept is not None
    assert retire_ref(repo.repository, repo.ledger, "refs/heads/prun/r1/u", why="a test") is None
    [done] = restore_branches(repo.repository, pick(repo, "u"))
    assert (done.ref, done.branch, repo.oid(done.branch)) == (kept, f"rescue/trash/prun-r1-u-{tip[:7]}", tip)
    again = keep_in_trash(repo.repository, repo.ledger, "refs/heads/prun/r1/u", tip, why="once more")
    assert again == kept


def test_the_command(worked: Repo, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    listed = inside(capsys, worked.path, "rescue", "--json")
    assert (listed.code, {row["ref"] for row in listed.json["pinned"]}) == (
        0,
        {"refs/prun/base/r1", "refs/prun/kept/r1/u/head", "refs/prun/kept/r1/u/stash", "refs/prun/r1/u"},
    )
    said = inside(capsys, worked.path, "rescue", "kept/r1/u/head")
    assert (said.code, timeless(said.out)) == (0, "branch rescue/r1/u-head  COMMIT  refs/prun/kept/r1/u/head\n")
    assert worked.ledger.read().events[-1].kind == "rescue.restored"
    assert inside(capsys, worked.path, "rescue", "nobody").code == 1
    assert inside(capsys, worked.path, "rescue", "--to", "x").code == 129
    assert inside(capsys, worked.path, "rescue", "u", "--to", "x", "--into", "y").code == 129
    assert inside(capsys, worked.path, "rescue", "u", "--into", str(tmp_path)).code == 1
    (worked.path / ".git" / "prun" / "ledger.jsonl").write_bytes(b"\0garbage\n" * 3)
    damaged = inside(capsys, worked.path, "rescue")
    assert (damaged.code, "refs/prun" in damaged.out, "kept/r1/u/head" in damaged.out) == (0, False, True)


def test_a_repository_without_anything(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    said = inside(capsys, repo.path, "rescue")
    assert (said.code, said.out, said.err) == (0, "", "nothing is pinned here\n")


@pytest.mark.parametrize("name", ["\x01x", ":x", ":100644 100644 0 0 M", "\n:x", "\x01" + "0" * 40 + " 1 x"])
def test_names_that_look_like_what_git_says_itself(
    repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    shop = open_workshop(repo, tmp_path / "w")
    shop.work.write(name, "12\n")
    shop.work.commit("own")
    shop.work.write(name, "123\n")
    shop.finish()
    assert [row for row in rows(repo) if row[0] == "captured"] == [("captured", "r1/u", "refs/prun/r1/u", 1, 4, "u")]
    said = inside(capsys, repo.path, "rescue", "r1/u", "--into", str(tmp_path / "back"))
    texts = {path.read_text() for path in (tmp_path / "back").rglob("*") if path.name == name}
    assert (said.code, texts) == (0, {"12\n", "123\n"}), said.err
    asked = inside(capsys, repo.path, "rescue", name)
    assert asked.code == 1, asked.err

"""Edits that git was told to overlook stay, and stop only the branch that changes the same files."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.git.trees import read_changes
from gitprun.landing.checkout_index import find_overlooked
from tests.support.inside import inside
from tests.support.landing import land_branches, states
from tests.support.repos import Repo, make_repo

HOW = "(git update-index --no-assume-unchanged --no-skip-worktree FILE ends that)"
SAID = f"files that git was told to overlook are in the way: config/a, settings {HOW}"
FILES = {"config/a": "1\n", "settings": "1\n", "same": "1\n", "a": "1\n", "code": "1\n"}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = make_repo(tmp_path / "repo")
    return put(repo, FILES)


def put(repo: Repo, files: dict[str, str]) -> Repo:
    for name, text in files.items():
        repo.write(name, text)
    repo.commit("put")
    return repo


def branches(repo: Repo) -> None:
    """Make three branches: one changes all that will be overlooked, one a file that nobody edited, one another."""
    for name, files in (
        ("change", {"config/a": "2\n", "settings": "2\n", "same": "2\n"}),
        ("same", {"same": "3\n"}),
        ("other", {"code": "2\n", "a": "2\n"}),
    ):
        repo.switch(name, new=True, start="main")
        put(repo, files)
    repo.switch("main")


def overlook(repo: Repo) -> None:
    repo.git("update-index", "--skip-worktree", "config/a")
    repo.git("update-index", "--assume-unchanged", "settings", "same")
    repo.write("config/a", "mine\n")
    repo.write("settings", "mine\n")
    assert repo.git("status", "--porcelain") == ""


@pytest.mark.parametrize("form", ["2", "4", "split"])
def test_they_are_found_in_every_kind_of_index(repo: Repo, form: str) -> None:
    branches(repo)
    overlook(repo)
    repo.git("update-index", *(("--split-index",) if form == "split" else ("--index-version", form)))
    overlook(repo)
    changes = read_changes(repo.repository.git, repo.oid("main"), repo.oid("change"))
    assert find_overlooked(repo.path, changes) == [b"config/a", b"settings"]
    assert find_overlooked(repo.path, read_changes(repo.repository.git, repo.oid("main"), repo.oid("other"))) == []


@pytest.mark.parametrize("dry_run", [False, True])
def test_only_the_branch_they_meet_stays_out(repo: Repo, dry_run: bool) -> None:
    branches(repo)
    overlook(repo)
    report = land_branches(repo, "change", "other", "same", verify=None, no_verify=True, dry_run=dry_run)
    good = "would-land" if dry_run else "landed"
    assert states(report) == {"change": "refused", "other": good, "same": good}
    assert report.items[0].reason == SAID
    assert (repo.read("config/a"), repo.read("settings")) == ("mine\n", "mine\n")
    assert repo.read("same") == ("1\n" if dry_run else "3\n")


def test_uncommitted_changes_are_named_beside_them(repo: Repo) -> None:
    branches(repo)
    overlook(repo)
    repo.write("same", "mine\n")
    repo.git("update-index", "--no-assume-unchanged", "same")
    report = land_branches(repo, "change", verify=None, no_verify=True)
    assert report.items[0].reason == f"uncommitted changes are in the way: same; {SAID}"


def test_a_branch_that_deletes_them(repo: Repo) -> None:
    repo.switch("gone", new=True)
    (repo.path / "settings").unlink()
    repo.commit("gone")
    repo.switch("main")
    overlook(repo)
    assert states(land_branches(repo, "gone", verify=None, no_verify=True)) == {"gone": "refused"}
    assert repo.read("settings") == "mine\n"


def test_what_a_sparse_checkout_leaves_out_is_no_edit(repo: Repo) -> None:
    branches(repo)
    repo.git("sparse-checkout", "set", "--no-cone", "/*", "!config")
    assert not (repo.path / "config").exists()
    assert states(land_branches(repo, "change", verify=None, no_verify=True)) == {"change": "landed"}
    assert not (repo.path / "config").exists()


def test_in_a_linked_worktree(repo: Repo, tmp_path: Path) -> None:
    branches(repo)
    linked = repo.worktree(tmp_path / "linked", "into", new=True)
    overlook(linked)
    report = land_branches(repo, "change", "other", verify=None, no_verify=True, into="into")
    assert states(report) == {"change": "refused", "other": "landed"}
    assert linked.read("settings") == "mine\n"


def test_taking_a_landing_back_minds_them_too(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    branches(repo)
    assert states(land_branches(repo, "change", verify=None, no_verify=True)) == {"change": "landed"}
    overlook(repo)
    said = inside(capsys, repo.path, "undo")
    assert (said.code, SAID in said.err, repo.read("settings")) == (1, True, "mine\n"), said.err

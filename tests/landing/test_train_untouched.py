"""Files a landing changes, looked up in the index: as git would judge them, or left to git."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest

from gitprun.git.command import Git
from gitprun.git.trees import read_changes
from gitprun.landing.checkout_index import are_untouched
from tests.support.repos import Repo, make_repo


def settled(repo: Repo) -> None:
    """Let the index be newer than every file."""
    for path in repo.path.rglob("*"):
        if ".git" not in path.parts and path.is_file() and not path.is_symlink():
            os.utime(path, (1_700_000_000, 1_700_000_000))
    repo.git("update-index", "-q", "--refresh", ok=(0, 1))


def asked(repo: Repo) -> bool:
    changes = read_changes(Git(cwd=repo.path), repo.oid("main"), repo.oid("topic"))
    return are_untouched(repo.path, repo.path / ".git", changes)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = make_repo(tmp_path / "repo", a="1\n", b__a="1\n", gone="g\n", long_dot_a="1\n", z="1\n", same="1\n")
    repo.switch("topic", new=True)
    repo.git("rm", "-q", "gone")
    repo.commit("topic", a="2\n", b__a="2\n", long_dot_a="2\n", new="n\n", z="2\n")
    repo.switch("main")
    settled(repo)
    return repo


def test_nothing_was_touched(repo: Repo) -> None:
    assert asked(repo)
    # What the landing does not change may be as it likes.
    repo.write("same", "human\n")
    assert asked(repo)


@pytest.mark.parametrize("name", ["a", "b/a", "gone", "long.a", "z"])
def test_a_file_that_was_touched(repo: Repo, name: str) -> None:
    repo.write(name, "human\n")
    assert not asked(repo)
    (repo.path / name).unlink()
    assert not asked(repo)
    repo.write(name, "1\n", executable=True)
    assert not asked(repo)


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree", "--chmod=+x"])
def test_what_git_was_told_about_a_file(repo: Repo, flag: str) -> None:
    repo.git("update-index", flag, "z")
    assert not asked(repo)


def test_an_index_that_only_git_can_read(repo: Repo) -> None:
    for version, whole in (("4", False), ("2", True)):
        repo.git("update-index", "--index-version", version)
        assert asked(repo) is whole
    repo.git("update-index", "--split-index")
    assert not asked(repo)
    repo.git("update-index", "--no-split-index")
    assert asked(repo)
    repo.git("sparse-checkout", "set", "b")
    assert not asked(repo)


def test_a_file_written_with_the_index(repo: Repo) -> None:
    soon = time.time() + 1000
    os.utime(repo.path / "a", (soon, soon))
    repo.git("update-index", "-q", "--refresh", ok=(0, 1))
    assert not asked(repo)
    (repo.path / ".git" / "index").unlink()
    assert not asked(repo)

"""How a branch stands to its remote branch, as far as that was fetched."""

from __future__ import annotations

from pathlib import Path

from gitprun.git.refs import describe_behind
from tests.support.cli import prun
from tests.support.landing import land_branches, states
from tests.support.repos import Repo, make_repo

BEHIND = "main is 2 commits behind origin/main: git log main..origin/main shows them"


def cloned(path: Path) -> Repo:
    """Clone a repository that went on by two commits since, which were fetched."""
    origin = make_repo(path / "origin")
    origin.git("clone", "-q", str(origin.path), str(path / "clone"))
    origin.commit("two", a_dot_txt="2\n")
    origin.commit("three", b_dot_txt="3\n")
    clone = Repo(path / "clone")
    clone.git("fetch", "-q")
    return clone


def say(repo: Repo, ref: str = "refs/heads/main") -> str:
    return describe_behind(repo.repository.git, repo.repository.common, ref)


def test_behind_parted_and_level(tmp_path: Path) -> None:
    repo = cloned(tmp_path)
    assert say(repo) == BEHIND
    repo.git("branch", "--unset-upstream")
    assert say(repo) == BEHIND
    own = repo.commit("own", c_dot_txt="c\n")
    parted = "main has parted from origin/main, and lacks 2 commits of it: git log main..origin/main shows them"
    assert say(repo) == parted
    repo.git("branch", "--set-upstream-to", "origin/main")
    assert say(repo) == parted
    repo.git("reset", "-q", "--hard", "origin/main~1")
    assert say(repo) == "main is 1 commit behind origin/main: git log main..origin/main shows it"
    repo.git("reset", "-q", "--hard", "origin/main")
    assert say(repo) == ""
    repo.git("merge", "-q", "--no-edit", own)
    assert say(repo) == ""


def test_what_has_no_remote_branch_is_behind_nothing(tmp_path: Path) -> None:
    repo = cloned(tmp_path)
    repo.branch("local", "main")
    assert say(repo, "refs/heads/local") == ""
    assert say(repo, "refs/heads/nobody") == ""
    repo.git("update-ref", "-d", "refs/remotes/origin/main")
    assert say(repo) == ""
    assert say(make_repo(tmp_path / "alone")) == ""


def test_two_remotes_and_no_upstream_leave_it_open(tmp_path: Path) -> None:
    repo = cloned(tmp_path)
    repo.git("branch", "--unset-upstream")
    repo.git("update-ref", "refs/remotes/fork/main", "origin/main")
    assert say(repo) == ""


def test_a_landing_and_a_run_say_it_and_fetch_nothing(tmp_path: Path) -> None:
    repo = cloned(tmp_path)
    repo.branch("topic")
    said = prun(repo.path, "run", "--unit", "id=u", "--prompt", "x", "--executor", "command", "--command", "true")
    assert f"warning: units start from an old state: {BEHIND}\n" in said.err
    repo.switch("topic")
    repo.commit("topic", t_dot_txt="t\n")
    repo.switch("main")
    report = land_branches(repo, "topic")
    assert (states(report), report.notes) == ({"topic": "landed"}, (BEHIND,))

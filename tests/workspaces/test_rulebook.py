"""One worker's rule in the ignore rules and attributes all workspaces share: it decides nothing for others."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.workspaces.rulebook import read_rules
from tests.support.inside import inside
from tests.support.repos import Repo, make_repo
from tests.support.runs import run_units, sh, unit_of

ADD = "unset GIT_CONFIG_PARAMETERS; echo notes/ >>$PRUN_REPO/.git/info/exclude; echo 1 >one.txt"
TWO = "mkdir notes; echo two >notes/two.txt; echo o >other.txt"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = make_repo(tmp_path / "r")
    repo.write(".git/info/exclude", "*.mine\n")
    return repo


def captured(repo: Repo, name: str) -> set[str]:
    return set(unit_of(repo, name).as_json()["changed"])


@pytest.mark.parametrize("kind", ["worktree", "clone"])
def test_a_rule_a_worker_added_hides_no_work_of_others(
    repo: Repo, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    run_units(repo, sh("one", ADD, workspace=kind), sh("two", f"{TWO}; echo m >x.mine"), jobs=1)
    # In the same run, and in the next.
    assert captured(repo, "two") == {"notes/two.txt", "other.txt"}
    run_units(repo, sh("c", TWO), sh("w", TWO, workspace="worktree"))
    assert (captured(repo, "c"), captured(repo, "w")) == ({"notes/two.txt", "other.txt"},) * 2
    note = (
        "info/exclude changed while r1/one ran: what it said before counts until you decide"
        " (git prun undo --drift r1/one)"
    )
    assert note in unit_of(repo, "c").as_json()["notes"]
    # What the user decides counts: put back, or kept.
    assert inside(capsys, repo.path, "undo", "--drift", "one", "--accept").code == 0
    run_units(repo, sh("c", TWO))
    assert captured(repo, "c") == {"other.txt"}


def test_a_rule_that_was_put_back_and_one_of_the_users_own(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    run_units(repo, sh("one", ADD, workspace="worktree"))
    assert inside(capsys, repo.path, "undo", "--drift", "one").code == 0
    assert read_rules(repo.repository).exclude == b"*.mine\n"
    repo.write(".git/info/exclude", "*.txt\n")
    rules = read_rules(repo.repository)
    assert (rules.exclude, rules.notes) == (b"*.txt\n", ())


@pytest.mark.parametrize("kind", ["worktree", "clone"])
def test_attributes_a_worker_added_merge_nothing(repo: Repo, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    script = "unset GIT_CONFIG_PARAMETERS; echo '*.txt merge=union' >$PRUN_REPO/.git/info/attributes; echo 1 >one.txt"
    run_units(repo, sh("two", "echo o >other.txt"), sh("one", script, workspace=kind), jobs=1)
    refused = inside(capsys, repo.path, "merge", "two", "--no-verify")
    assert (refused.code, "info/attributes of your repository changed while" in refused.err) == (1, True)
    assert "git prun undo --drift" in refused.err
    assert inside(capsys, repo.path, "undo", "--drift", "one").code == 0
    assert inside(capsys, repo.path, "merge", "two", "--no-verify").code == 0


def test_a_file_of_rules_that_was_not_there_before(repo: Repo) -> None:
    (repo.path / ".git" / "info" / "exclude").unlink()
    run_units(repo, sh("one", ADD, workspace="worktree"))
    assert read_rules(repo.repository).exclude == b""

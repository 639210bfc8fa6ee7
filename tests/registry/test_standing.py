"""A unit's worktree stands on no branch; what is committed there after the capture is named, and lands not unseen."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.landing.choose import choose
from tests.support.inside import inside
from tests.support.repos import Repo, make_repo_for_workers
from tests.support.runs import RESULT, run_units, sh, unit_of, workspace

KINDS = pytest.mark.parametrize("kind", ["clone", "worktree"])


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo_for_workers(tmp_path / "repo")


def later(repo: Repo) -> str:
    (one,) = choose(repo.repository, repo.ledger.read().history, (), allow_unverified=False).candidates
    return one.later


def test_no_branch_is_made_for_a_worktree(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    # A branch of that name is in nobody's way any more.
    repo.git("branch", "prun")
    own = "git commit -q --allow-empty -m own; git stash list; echo 2 >b.txt; git add -A; git commit -qm more"
    run_units(repo, sh("a", f"{own}; echo 3 >c.txt", workspace="worktree"), sh("b", "echo b >d.txt"))
    unit, place = unit_of(repo, "a"), Repo(workspace(repo, "r1", "a"))
    assert unit.commit == repo.oid("refs/prun/r1/a") == place.head
    assert repo.git("for-each-ref", "--format=%(refname)", "refs/heads").split() == [
        "refs/heads/main",
        "refs/heads/prun",
    ]
    assert (place.git("branch", "--show-current"), place.status(), unit.as_json()["branch"]) == ("", [], None)
    assert [row.partition(": ")[2] for row in unit.as_json()["own_commits"]] == ["more", "own"]
    assert place.git("reflog", "-1", "--format=%gs") == "prun: captured"
    (row,) = (
        one for one in inside(capsys, repo.path, "workspace", "list", "--json").json["workspaces"] if one["unit"] == "a"
    )
    assert (row["branch"], row["ahead"]) == ("refs/prun/r1/a", 2)
    (look,) = (line for line in inside(capsys, repo.path, "show", "a").out.splitlines() if "--detach" in line)
    repo.git(*look.partition(": ")[2].split()[1:])
    assert repo.head == unit.commit
    repo.switch("main")
    assert inside(capsys, repo.path, "remove", "r1/a").code == 0
    # What prun made itself of its work is no commit of the worker's.
    assert unit.commit not in repo.git("for-each-ref", "refs/prun/kept")
    assert repo.git("worktree", "list", "--porcelain").count("worktree ") == 1
    assert repo.oid("refs/prun/r1/a") == unit.commit


def test_a_worktree_that_its_worker_put_on_a_branch_is_left_there(repo: Repo) -> None:
    repo.git("branch", "side")
    run_units(repo, sh("a", "git checkout -q side; echo 1 >b.txt", workspace="worktree"))
    unit, place = unit_of(repo, "a"), Repo(workspace(repo, "r1", "a"))
    assert (place.git("branch", "--show-current"), repo.oid("side")) == ("side", repo.head)
    assert unit.as_json()["branch_note"] == f"{place.path} is on side and was left there"
    assert (unit.state, place.status()) == ("ready", ["?? b.txt"])


@KINDS
def test_commits_made_after_the_capture(repo: Repo, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    script = f"echo 1 >b.txt; git add -A; git commit -qm own || :; {RESULT}"
    run_units(repo, sh("a", script, workspace=kind))
    assert later(repo) == ""
    place, before = Repo(workspace(repo, "r1", "a")), repo.head
    tip = place.commit("and one more", c_dot_txt="1\n")
    what = {"clone": f"some commits were made in {place.path} after its work was captured (up to {tip[:10]})"}.get(
        kind, f"1 commit was made in {place.path} after its work was captured ({tip[:7]} and one more)"
    )
    assert later(repo) == f"{what}; git prun collect r1/a takes them in"
    said = inside(capsys, repo.path, "merge", "--no-verify")
    assert (said.code, said.out.splitlines()[1]) == (1, f"prun/r1/a  refused  -       {later(repo)}")
    assert repo.head == before
    assert inside(capsys, repo.path, "collect", "r1/a").code == 0
    assert later(repo) == ""
    assert inside(capsys, repo.path, "merge", "--no-verify").code == 0
    assert repo.read("c.txt") == "1\n"
    # What was committed one by one is kept, too.
    assert tip in repo.git("for-each-ref", "--format=%(objectname)", "refs/prun/kept").split()


@KINDS
def test_commits_whose_files_are_as_captured(repo: Repo, kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    run_units(repo, sh("a", f"echo 1 >b.txt; {RESULT}", workspace=kind))
    place = Repo(workspace(repo, "r1", "a"))
    if kind == "worktree":
        place.git("commit", "-q", "--amend", "-m", "a better word")
        assert later(repo) == ""
    # Somebody tried something, and took it back in the files alone.
    place.commit("try", c_dot_txt="1\n")
    (place.path / "c.txt").unlink()
    assert inside(capsys, repo.path, "merge", "--no-verify").code == 1
    assert "nothing new in r1/a" in inside(capsys, repo.path, "collect", "r1/a").err
    assert later(repo) == ""
    assert inside(capsys, repo.path, "merge", "--no-verify").code == 0
    assert repo.files().keys() == {"a.txt", "b.txt"}


def test_a_ref_that_somebody_moved(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    run_units(repo, sh("a", "echo 1 >b.txt"))
    captured = unit_of(repo, "a").commit
    assert captured is not None
    repo.switch("topic", new=True, start="refs/prun/r1/a")
    tip = repo.commit("and one more", c_dot_txt="1\n")
    repo.switch("main")
    repo.git("update-ref", "refs/prun/r1/a", tip)
    assert later(repo) == (
        f"refs/prun/r1/a is at {tip[:10]} now, and not at {captured[:10]}, which was captured of it; git prun merge"
        f" {tip[:10]} lands the one, git update-ref refs/prun/r1/a {captured[:10]} brings the other back"
    )
    assert inside(capsys, repo.path, "merge", "--no-verify").code == 1
    repo.git("update-ref", "refs/prun/r1/a", captured)
    assert inside(capsys, repo.path, "merge", "--no-verify").code == 0


def test_a_branch_of_its_name(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    run_units(repo, sh("a", "echo 1 >b.txt"))
    repo.git("branch", "prun/r1/a", "refs/prun/r1/a")
    assert later(repo) == ""
    repo.switch("prun/r1/a")
    tip = repo.commit("and one more", c_dot_txt="1\n")
    repo.switch("main")
    assert later(repo) == (
        f"1 commit was made in refs/heads/prun/r1/a after its work was captured ({tip[:7]} and one more);"
        " git prun merge refs/heads/prun/r1/a lands them"
    )
    assert inside(capsys, repo.path, "merge", "--no-verify").code == 1
    assert inside(capsys, repo.path, "merge", "--no-verify", "refs/heads/prun/r1/a").code == 0
    assert repo.read("c.txt") == "1\n"


@KINDS
def test_a_branch_that_was_only_looked_at(repo: Repo, kind: str) -> None:
    repo.switch("side", new=True)
    repo.commit("of the user's", s_dot_txt="s\n")
    repo.switch("main")
    script = f"echo 1 >b.txt; git add -A; git commit -qm own; git checkout -q --detach side; {RESULT}"
    run_units(repo, sh("a", script, workspace=kind))
    repo.git("branch", "-q", "-m", "side", "moved")
    assert later(repo) == ""

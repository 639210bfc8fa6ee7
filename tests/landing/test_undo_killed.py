"""An undo killed at any step: the next landing or undo brings it to its end, and the ledger says how it went."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gitprun.landing.landed import recover_landing
from gitprun.landing.move import CheckoutStuck
from gitprun.landing.undo import UndoRequest, undo
from gitprun.landing.undo_plan import read_landings
from gitprun.model.errors import OperationRefused
from tests.support.landing import land_branches, states
from tests.support.repos import Repo, make_repo

ROOT = Path(__file__).parents[2]
pytestmark = [pytest.mark.kill, pytest.mark.slow]


def landed(path: Path, *, later: bool) -> Repo:
    repo = make_repo(path, a="1\n", b="1\n", gone="x\n", mine="1\n", swap="file\n")
    repo.switch("topic", new=True)
    repo.git("rm", "-q", "gone", "swap")
    repo.commit("topic", a="2\n", b="2\n", new__file="n\n", swap__inner="i\n")
    repo.switch("main")
    land_branches(repo, "topic")
    if later:
        repo.commit("later", other="o\n")
    repo.write("mine", "human\n")
    return repo


def kill_at(repo: Repo, moment: str, *how: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.support.killed_undo", str(repo.path), moment, *how],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        check=False,
    )
    assert done.returncode == -signal.SIGKILL, done.stderr.decode()


def taken_back(repo: Repo, *, later: bool) -> None:
    assert repo.files() == {
        "a": "1",
        "b": "1",
        "gone": "x",
        "mine": "1",
        "swap": "file",
        **({"other": "o"} if later else {}),
    }
    assert repo.status() == [" M mine"]
    assert repo.read("mine") == "human\n"
    assert [one.undone for one in read_landings(repo.ledger.read().events)[0].merges] == [
        "reverted" if later else "moved"
    ]
    repo.git("fsck", "--strict")


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("moment", ["moved", "half", "followed", "recorded"])
def test_killed_after_the_branch_moved(tmp_path: Path, moment: str, later: bool) -> None:
    repo = landed(tmp_path / "repo", later=later)
    old = repo.head
    kill_at(repo, moment)
    new = repo.head
    assert new != old
    notes = recover_landing(repo.repository, repo.ledger)
    cut = moment != "recorded"
    assert notes == ((f"an undo on main that was cut off is complete now, at {new[:10]}",) if cut else ())
    assert repo.head == new
    taken_back(repo, later=later)
    assert recover_landing(repo.repository, repo.ledger) == ()


@pytest.mark.parametrize("later", [False, True])
def test_killed_before_anything_moved(tmp_path: Path, later: bool) -> None:
    repo = landed(tmp_path / "repo", later=later)
    old = repo.head
    kill_at(repo, "started")
    assert repo.head == old
    report = undo(repo.repository, repo.ledger)
    assert report.notes[0] == "an undo on main was cut off before anything moved"
    taken_back(repo, later=later)


def test_the_next_landing_finishes_it(tmp_path: Path) -> None:
    repo = landed(tmp_path / "repo", later=False)
    kill_at(repo, "half")
    report = land_branches(repo, "topic")
    assert states(report) == {"topic": "landed"}
    assert report.notes[0].startswith("an undo on main that was cut off is complete now, at ")
    assert [len(one.standing) for one in read_landings(repo.ledger.read().events)] == [0, 1]
    with pytest.raises(OperationRefused, match="taken back"):
        undo(repo.repository, repo.ledger, UndoRequest(name="1"))


def test_an_edit_made_since_is_not_overwritten(tmp_path: Path) -> None:
    repo = landed(tmp_path / "repo", later=False)
    kill_at(repo, "moved")
    repo.write("b", "human\n")
    for _ in range(2):
        with pytest.raises(CheckoutStuck, match=r"stands half way between \w+ and \w+, and was edited: b"):
            undo(repo.repository, repo.ledger)
    assert repo.read("b") == "human\n"


def test_somebody_else_went_on(tmp_path: Path) -> None:
    repo = landed(tmp_path / "repo", later=False)
    kill_at(repo, "moved")
    back = repo.oid("main")
    repo.git("update-ref", "refs/heads/main", repo.git("commit-tree", "-p", back, "-m", "x", f"{back}^{{tree}}"))
    recover_landing(repo.repository, repo.ledger)
    assert [one.undone for one in read_landings(repo.ledger.read().events)[0].merges] == ["moved"]


@pytest.mark.parametrize("moment", ["started", "moved", "half", "followed", "recorded"])
def test_killed_while_it_was_brought_back(tmp_path: Path, moment: str) -> None:
    repo = landed(tmp_path / "repo", later=False)
    whole, there = repo.head, repo.files()
    undo(repo.repository, repo.ledger)
    kill_at(repo, moment, "redo")
    recover_landing(repo.repository, repo.ledger)
    if moment == "started":
        assert [one.undone for one in read_landings(repo.ledger.read().events)[0].merges] == ["moved"]
        undo(repo.repository, repo.ledger, UndoRequest(redo=True))
    assert (repo.head, repo.files(), repo.status(), repo.read("mine")) == (whole, there, [" M mine"], "human\n")
    assert [one.undone for one in read_landings(repo.ledger.read().events)[0].merges] == [""]

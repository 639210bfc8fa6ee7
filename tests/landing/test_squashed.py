"""Work that the target has by another name is known for it, whatever became of it since."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.landing.forecast import forecast
from gitprun.landing.forecast_branches import Asked
from gitprun.model.names import short
from tests.support.landing import land_branches, landing_events, states
from tests.support.repos import Repo, make_repo

ONE, BOTH = "one\nTWO\nthree\nfour\n", "one\nTWO\nthree\nFOUR\n"
LATER = "one\nTWO, later\nthree\nFOUR\nfive\n"


def feature(path: Path) -> Repo:
    """Make the branch feat of two commits, one of which makes a file, and go on a little on main."""
    repo = make_repo(path, a_dot_txt="one\ntwo\nthree\nfour\n", z_dot_txt="z\n")
    repo.switch("feat", new=True)
    repo.commit("feat 1", a_dot_txt=ONE)
    repo.commit("feat 2", a_dot_txt=BOTH, new_dot_txt="new\n")
    repo.switch("main")
    repo.commit("beside", z_dot_txt="zz\n")
    return repo


def squash(repo: Repo) -> str:
    repo.git("merge", "-q", "--squash", "feat")
    return repo.commit("feat (#7)")


def rebase(repo: Repo) -> str:
    repo.git("cherry-pick", "feat~1", "feat")
    return repo.head


def copy(repo: Repo) -> str:
    repo.commit("some of it", a_dot_txt=BOTH)
    return repo.commit("and the rest", new_dot_txt="new\n", z_dot_txt="zzz\n")


def squash_elsewhere(repo: Repo) -> str:
    """Squash it into a branch that goes on, and comes to main only then."""
    repo.switch("dev", new=True)
    since = squash(repo)
    repo.commit("dev goes on", a_dot_txt=LATER)
    repo.switch("main")
    repo.git("merge", "-q", "--no-ff", "-m", "dev", "dev")
    return since


@pytest.mark.parametrize("bring", [squash, rebase, copy, squash_elsewhere])
def test_squashed_rebased_or_copied_and_the_target_went_on(tmp_path: Path, bring: object) -> None:
    repo = feature(tmp_path / "repo")
    since = bring(repo)  # type: ignore[operator]
    tip = repo.commit("later", a_dot_txt=f"{LATER}six\n")
    report = land_branches(repo, "feat")
    said = f"its changes are already in main, since {short(since)} (squashed or rebased)"
    assert (states(report), report.items[0].reason) == ({"feat": "already-contained"}, said)
    assert (repo.head, landing_events(repo)) == (tip, [])
    seen = forecast(repo.repository, repo.ledger.read().history, Asked(names=("feat",)))
    assert (seen.left_out, seen.against, seen.branches) == ((("feat", said),), (), ())


def test_what_the_target_dropped_since_does_not_come_back(tmp_path: Path) -> None:
    repo = feature(tmp_path / "repo")
    squash(repo)
    repo.git("rm", "-q", "new.txt")
    repo.commit("no longer needed", a_dot_txt=LATER)
    # Git would merge it and bring the file back without a word.
    assert states(land_branches(repo, "feat")) == {"feat": "already-contained"}
    assert not (repo.path / "new.txt").exists()


def test_what_the_target_took_back_is_refused_with_the_way(tmp_path: Path) -> None:
    repo = feature(tmp_path / "repo")
    since = squash(repo)
    repo.git("revert", "--no-edit", "HEAD")
    back = repo.head
    repo.commit("beside again", z_dot_txt="z3\n")
    report = land_branches(repo, "feat")
    assert states(report) == {"feat": "refused"}
    assert report.items[0].reason == (
        f"main had its changes ({short(since)}), and {short(back)} took it back:"
        f" git revert {short(back)} brings it back"
    )
    repo.git("revert", "--no-edit", back)
    assert states(land_branches(repo, "feat")) == {"feat": "already-contained"}


def test_a_branch_that_went_on_is_told_what_of_it_is_in(tmp_path: Path) -> None:
    repo = feature(tmp_path / "repo")
    since = squash(repo)
    repo.commit("later", a_dot_txt=LATER)
    own = repo.oid("feat")
    repo.switch("feat")
    repo.commit("feat 3", a_dot_txt="one\nTWO\nTHREE\nFOUR\n")
    repo.switch("main")
    report = land_branches(repo, "feat")
    assert states(report) == {"feat": "conflict"}
    assert report.items[0].reason == (
        f"conflicts with main in 1 path; main has it up to {short(own)} since {short(since)} (squashed):"
        f" git rebase --onto main {short(own)} feat leaves the rest"
    )


def test_a_target_that_went_on_many_times_in_the_same_file(tmp_path: Path) -> None:
    repo = feature(tmp_path / "repo")
    since = squash(repo)
    for number in range(20):
        repo.commit(f"later {number}", a_dot_txt=f"one\nTWO {number}\nthree\nFOUR\n")
    assert land_branches(repo, "feat").items[0].reason == (
        f"its changes are already in main, since {short(since)} (squashed or rebased)"
    )


def test_only_half_of_it_is_not_all_of_it(tmp_path: Path) -> None:
    repo = feature(tmp_path / "repo")
    repo.git("cherry-pick", "feat~1")
    repo.commit("later", z_dot_txt="later\n")
    assert states(land_branches(repo, "feat")) == {"feat": "landed"}
    assert repo.read("a.txt") == BOTH


def test_the_same_once_more_after_the_target_dropped_it_lands(tmp_path: Path) -> None:
    repo = feature(tmp_path / "repo")
    squash(repo)
    repo.git("revert", "--no-edit", "HEAD")
    # It began after all of that: nobody took this one back.
    repo.switch("again", new=True)
    repo.commit("again", a_dot_txt=BOTH, new_dot_txt="new\n")
    repo.switch("main")
    repo.commit("beside again", z_dot_txt="z3\n")
    assert states(land_branches(repo, "again")) == {"again": "landed"}

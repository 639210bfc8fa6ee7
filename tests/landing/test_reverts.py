"""Landed work that its target took back is in the history for git: what was added since does not land alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from gitprun.landing.choose import choose
from gitprun.landing.plan import LandingReport
from gitprun.landing.undo import UndoRequest, undo
from tests.support.landing import land_branches, states
from tests.support.repos import Repo, make_repo


def land(repo: Repo, *names: str) -> LandingReport:
    """Land branches by name, with all that is known of them."""
    chosen = choose(repo.repository, repo.ledger.read().history, names, allow_unverified=False)
    return land_branches(repo, *chosen.candidates)


def landed(path: Path) -> Repo:
    """Make a repository in which ``topic`` has landed, and something came after."""
    repo = make_repo(path, f="1\n")
    repo.switch("topic", new=True)
    repo.commit("one", one="one\n")
    repo.switch("main")
    assert states(land(repo, "topic")) == {"topic": "landed"}
    repo.commit("later", later="l\n")
    return repo


def extend(repo: Repo, branch: str = "topic", **files: str) -> None:
    repo.switch(branch)
    repo.commit("two", **(files or {"two": "two\n"}))
    repo.switch("main")


def undone(repo: Repo) -> None:
    undo(repo.repository, repo.ledger, UndoRequest(name="topic"))


def by_hand(repo: Repo) -> None:
    repo.git("revert", "--no-edit", "-m", "1", "HEAD^")


def in_other_words(repo: Repo) -> None:
    by_hand(repo)
    repo.git("commit", "-q", "--amend", "-m", "take it out again")


def commit_alone(repo: Repo) -> None:
    repo.git("revert", "--no-edit", "HEAD^^2")


def through_a_branch(repo: Repo) -> None:
    repo.switch("out", new=True)
    repo.git("revert", "--no-edit", "-m", "1", "HEAD^")
    repo.switch("main")
    repo.commit("between", between="b\n")
    repo.git("merge", "-q", "--no-ff", "-m", "take it out", "out")


TAKEN = [undone, by_hand, in_other_words, commit_alone, through_a_branch]


def refusal(report: LandingReport) -> str:
    [item] = report.items
    assert (item.state, report.new) == ("refused", report.old)
    return item.reason


@pytest.mark.parametrize("take", TAKEN)
@pytest.mark.parametrize("more", [True, False])
def test_the_new_half_does_not_land_alone(tmp_path: Path, take: Callable[[Repo], None], more: bool) -> None:
    repo = landed(tmp_path / "repo")
    take(repo)
    if more:
        extend(repo)
    reason = refusal(land(repo, "topic"))
    assert reason.startswith("main had it: ")
    assert "back, so that one would stay away; git " in reason
    assert reason.endswith(" brings it back")
    # The words it ends in do what they say.
    repo.git(*reason.rpartition("; git ")[2].removesuffix(" brings it back").split()) if take is not undone else undo(
        repo.repository, repo.ledger, UndoRequest(redo=True)
    )
    assert states(land(repo, "topic")) == {"topic": "landed" if more else "already-contained"}
    assert repo.read("one") == "one\n"


def test_the_words_name_both_commits_and_the_way_back(tmp_path: Path) -> None:
    repo = landed(tmp_path / "repo")
    merge = repo.oid("HEAD^")
    undone(repo)
    by = repo.head
    extend(repo)
    assert refusal(land(repo, "topic")) == (
        f"main had it: {by[:10]} took {merge[:10]} back, so that one would stay away;"
        f" git prun undo --redo {by[:10]} brings it back"
    )


@pytest.mark.parametrize("take", TAKEN[:3])
def test_a_branch_built_on_it(tmp_path: Path, take: Callable[[Repo], None]) -> None:
    repo = landed(tmp_path / "repo")
    repo.branch("next", "topic")
    take(repo)
    extend(repo, "next")
    assert "so that one would stay away" in refusal(land(repo, "next"))


def test_a_branch_that_has_main_since(tmp_path: Path) -> None:
    repo = landed(tmp_path / "repo")
    repo.switch("topic")
    repo.git("merge", "-q", "--no-edit", "main")
    repo.switch("main")
    undone(repo)
    extend(repo)
    assert "so that one would stay away" in refusal(land(repo, "topic"))


@pytest.mark.parametrize("take", [undone, by_hand])
def test_a_branch_that_was_moved_on_to_its_landing(tmp_path: Path, take: Callable[[Repo], None]) -> None:
    repo = landed(tmp_path / "repo")
    repo.switch("topic")
    repo.git("merge", "-q", "--ff-only", "main")
    repo.switch("main")
    repo.branch("other")
    take(repo)
    extend(repo)
    extend(repo, "other", other="o\n")
    assert "so that one would stay away" in refusal(land(repo, "topic"))
    # Whoever only began while it was there brings what he brings.
    assert states(land(repo, "other")) == {"other": "landed"}


def know_of_it(repo: Repo) -> None:
    repo.switch("topic")
    repo.git("merge", "-q", "--no-edit", "main")
    repo.switch("main")


def bring_back(repo: Repo) -> None:
    repo.git("revert", "--no-edit", "HEAD")


def bring_back_in_other_words(repo: Repo) -> None:
    bring_back(repo)
    repo.git("commit", "-q", "--amend", "-m", "once more")


def write_it_again(repo: Repo) -> None:
    repo.commit("by hand", one="one\n", note="n\n")


def merge_it_by_hand(repo: Repo) -> None:
    extend(repo, more="m\n")
    repo.git("merge", "-q", "--no-ff", "--no-edit", "topic")


@pytest.mark.slow
@pytest.mark.parametrize(
    "then",
    [know_of_it, bring_back, bring_back_in_other_words, write_it_again, merge_it_by_hand],
    ids=lambda f: f.__name__,
)
@pytest.mark.parametrize("take", [undone, in_other_words])
def test_what_was_settled_since(tmp_path: Path, take: Callable[[Repo], None], then: Callable[[Repo], None]) -> None:
    repo = landed(tmp_path / "repo")
    take(repo)
    then(repo)
    extend(repo)
    assert states(land(repo, "topic")) == {"topic": "landed"}


def test_taken_back_brought_back_and_taken_back(tmp_path: Path) -> None:
    repo = landed(tmp_path / "repo")
    by_hand(repo)
    bring_back(repo)
    bring_back(repo)
    extend(repo)
    assert f"{repo.head[:10]} took " in refusal(land(repo, "topic"))


def test_a_branch_that_took_it_back_itself(tmp_path: Path) -> None:
    repo = landed(tmp_path / "repo")
    by_hand(repo)
    repo.switch("topic")
    repo.git("rm", "-q", "one")
    repo.commit("without", two="two\n")
    repo.switch("main")
    assert states(land(repo, "topic")) == {"topic": "landed"}


def test_a_branch_that_was_written_anew(tmp_path: Path) -> None:
    repo = landed(tmp_path / "repo")
    undone(repo)
    repo.git("branch", "-q", "-D", "topic")
    repo.switch("topic", new=True)
    repo.commit("all of it", one="one\n", two="two\n")
    repo.switch("main")
    assert states(land(repo, "topic")) == {"topic": "landed"}
    assert repo.read("one") == "one\n"


def test_a_change_of_main_that_main_reverted_is_no_work_of_the_branch(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", f="1\n")
    repo.commit("change", f="2\n", g="g\n")
    repo.switch("topic", new=True)
    repo.commit("topic", mine="m\n")
    repo.switch("main")
    repo.git("revert", "--no-edit", "HEAD")
    assert states(land(repo, "topic")) == {"topic": "landed"}

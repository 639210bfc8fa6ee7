"""History that a clone does not have, or has in another way, is named; --deepen fetches what is cut off."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.git.refs import open_repository
from gitprun.judging.conflicts import Means
from gitprun.landing.forecast import forecast
from gitprun.landing.forecast_branches import Asked
from gitprun.landing.guard import read_target
from gitprun.landing.unresolved import Opening, read_unresolved
from gitprun.model.errors import OperationRefused
from tests.support.landing import candidate, land_branches, states
from tests.support.repos import Repo, make_repo
from tests.support.rows import payload_of

SHALLOW = "the history of this clone is cut off (shallow): git prun merge --deepen feat fetches more"
REPLACED = "refs/replace gives it another history here, which git merge sees and a landing does not"


def cut_off(path: Path, depth: int, *, own: bool = False) -> Repo:
    """Clone a repository whose branch feat forks from main three commits ago, so deep."""
    origin = make_repo(path / "origin")
    fork = origin.head
    for number in range(3):
        origin.commit(f"main {number}", a_dot_txt=f"{number}\n")
    origin.switch("feat", new=True, start=fork)
    origin.commit("feat", b_dot_txt="b\n")
    origin.switch("main")
    url = (origin.path).as_uri()
    origin.git("clone", "-q", "--depth", str(depth), "--no-single-branch", url, str(path / "clone"))
    clone = Repo(path / "clone")
    clone.switch("feat", new=True, start="origin/feat")
    if own:
        clone.commit("own", c_dot_txt="c\n")
    clone.switch("main")
    return clone


@pytest.mark.parametrize(("depth", "own"), [(1, False), (2, True)])
def test_cut_off_history_is_named_and_fetched_when_asked(tmp_path: Path, depth: int, own: bool) -> None:
    repo = cut_off(tmp_path, depth, own=own)
    refs = repo.git("for-each-ref")
    report = land_branches(repo, "feat")
    said = [(item.state, item.reason) for item in report.items]
    assert said == [("unrelated", f"it shares no history with main: {SHALLOW}")]
    assert states(land_branches(repo, "feat", deepen=True, dry_run=True)) == {"feat": "unrelated"}
    assert (repo.path / ".git/shallow").exists()
    seen = forecast(repo.repository, repo.ledger.read().history, Asked(names=("feat",)))
    assert [row.reasons for meeting in seen.against for row in meeting.paths] == [(SHALLOW,)]
    opened, target = open_repository(repo.path / ".git"), read_target(repo.repository, None)
    with pytest.raises(OperationRefused, match="shares no history") as caught:
        read_unresolved(Opening(repo.repository, opened, candidate(repo, "feat"), target), Means())
    assert caught.value.hint == SHALLOW
    assert repo.git("for-each-ref") == refs
    report = land_branches(repo, "feat", deepen=True)
    assert (states(report), report.notes) == ({"feat": "landed"}, ("more of the history was fetched from origin",))
    assert [event.payload.as_json() for event in repo.ledger.read().events if event.kind == "landing.deepened"] == [
        {"remote": "origin", "branches": ["feat"]}
    ]
    # Only what landed moved.
    assert {row for row in repo.git("for-each-ref").splitlines() if "refs/heads/main" not in row} == {
        row for row in refs.splitlines() if "refs/heads/main" not in row
    }


def test_deepen_without_need_asks_nobody(tmp_path: Path) -> None:
    repo = cut_off(tmp_path, 1)
    repo.git("remote", "set-url", "origin", str(tmp_path / "gone"))
    repo.switch("near", new=True)
    repo.commit("near", n_dot_txt="n\n")
    repo.switch("main")
    report = land_branches(repo, "near", deepen=True)
    assert (states(report), report.notes) == ({"near": "landed"}, ())


def test_a_remote_that_does_not_answer_is_told(tmp_path: Path) -> None:
    repo = cut_off(tmp_path, 1)
    repo.git("remote", "set-url", "origin", str(tmp_path / "gone"))
    report = land_branches(repo, "feat", deepen=True)
    assert states(report) == {"feat": "unrelated"}
    assert [note.partition(":")[0] for note in report.notes] == ["the history could not be fetched from origin"]


def test_no_history_is_fetched_while_units_are_at_work(tmp_path: Path) -> None:
    repo = cut_off(tmp_path, 1)
    repo.ledger.append(payload_of("run.started", {"base": repo.head}), run="r1")
    repo.ledger.append(payload_of("unit.queued", {}), run="r1", unit="u")
    report = land_branches(repo, "feat", deepen=True)
    assert states(report) == {"feat": "unrelated"}
    assert "the history is not fetched while units are at work" in report.notes[0]
    assert (repo.path / ".git/shallow").exists()


def test_where_workers_share_the_settings_nothing_is_fetched(tmp_path: Path) -> None:
    repo = cut_off(tmp_path, 1)
    repo.git("config", "remote.origin.uploadpack", f"touch {tmp_path}/planted;")
    repo.repository.trusted.mkdir(parents=True)
    report = land_branches(repo, "feat", deepen=True)
    assert report.notes == (
        "workers shared the settings of this repository, so fetch it yourself: git fetch --unshallow origin",
    )
    assert not (tmp_path / "planted").exists()


def test_replace_refs_are_named_where_they_would_join_two_histories(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo", a_dot_txt="1\n2\n3\n")
    archive = repo.head
    repo.switch("old", new=True)
    repo.commit("on the archive", a_dot_txt="1\n2\nthree\n")
    repo.git("checkout", "-q", "--orphan", "fresh", "main")
    cut = repo.commit("cut here")
    repo.git("branch", "-f", "main", "fresh")
    repo.switch("main")
    assert land_branches(repo, "old").items[0].reason == "it shares no history with main"
    repo.git("replace", "--graft", cut, archive)
    report = land_branches(repo, "old")
    assert report.items[0].reason == f"it shares no history with main: {REPLACED}"
    repo.git("pack-refs", "--all")
    assert land_branches(repo, "old").items[0].reason == f"it shares no history with main: {REPLACED}"


def test_replace_refs_that_change_what_is_merged_are_named(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    repo.switch("topic", new=True)
    tip = repo.commit("topic", b_dot_txt="b\n")
    other = repo.commit("other", b_dot_txt="c\n")
    repo.git("reset", "-q", "--hard", tip)
    repo.switch("main")
    repo.git("replace", repo.head, repo.git("commit-tree", "-m", "same", "HEAD^{tree}"))
    assert land_branches(repo, "topic", dry_run=True).notes == ()
    repo.git("replace", tip, other)
    report = land_branches(repo, "topic")
    assert (states(report), report.notes) == ({"topic": "landed"}, (f"topic: {REPLACED}",))
    assert repo.git("--no-replace-objects", "show", "main:b.txt") == "b"

"""A unit that was begun where the target is not: what its base would bring is named, and lands if it is asked for."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.inside import inside
from tests.support.landing import candidate, land_branches, states
from tests.support.repos import Repo, make_repo, make_repo_for_workers
from tests.support.runs import run_units, sh


def stacked(path: Path) -> Repo:
    """``feature`` has two commits that main lacks; ``topic`` was begun there."""
    repo = make_repo(path)
    repo.switch("feature", new=True)
    repo.commit("half", half="1\n")
    repo.commit("other half", half="2\n")
    repo.switch("topic", new=True)
    repo.commit("own", own="1\n")
    repo.switch("main")
    return repo


def brings(repo: Repo, branch: str = "topic", of: str = " (of feature)") -> str:
    one, two = repo.git("log", "--reverse", "--format=%h %s", "main..feature").split("\n")
    return f"brings 2 commits of its base{of} that main does not have: {one}; {two}"


def test_it_is_held_until_it_is_asked_for(tmp_path: Path) -> None:
    repo = stacked(tmp_path / "repo")
    topic, said = candidate(repo, "topic", base=repo.oid("feature")), brings(repo)
    before = repo.head
    (item,) = land_branches(repo, topic).items
    assert (item.state, item.reason, item.accept, repo.head) == ("held", f"it {said}", ("base",), before)
    report = land_branches(repo, topic, with_base=True)
    assert (states(report), [note for note in report.notes if "base" in note]) == (
        {"topic": "landed"},
        [f"topic {said}"],
    )
    (row,) = [event.payload.as_json() for event in repo.ledger.read().events if event.kind == "landing.landed"]
    assert row["with_base"] == said.partition(": ")[2].split("; ")
    assert sorted(repo.files()) == ["a.txt", "half", "own"]


def test_what_comes_before_it_in_the_same_landing_is_not_brought(tmp_path: Path) -> None:
    repo = stacked(tmp_path / "repo")
    base = repo.oid("feature")
    report = land_branches(repo, candidate(repo, "topic", base=base), "feature")
    assert states(report) == {"feature": "landed", "topic": "landed"}


def test_a_target_that_was_rewritten_does_not_get_its_old_commit_back(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    base = repo.commit("wrong", secret="s\n")
    repo.switch("topic", new=True)
    repo.commit("own", own="1\n")
    repo.switch("main")
    repo.git("reset", "-q", "--hard", "HEAD~1")
    (item,) = land_branches(repo, candidate(repo, "topic", base=base)).items
    assert (item.state, item.reason) == (
        "held",
        f"it brings 1 commit of its base (of topic) that main does not have: {base[:7]} wrong",
    )


@pytest.mark.parametrize("how", ["older", "merged main since", "rebased", "unknown", "lost"])
def test_what_brings_nothing_but_its_own_commits(tmp_path: Path, how: str) -> None:
    repo = make_repo(tmp_path / "repo")
    base = repo.head
    repo.switch("topic", new=True)
    repo.commit("own", own="1\n")
    repo.switch("main")
    repo.commit("meanwhile", m="1\n")
    if how == "merged main since":
        repo.switch("topic")
        repo.git("merge", "-q", "--no-edit", "main")
        repo.switch("main")
    if how == "rebased":
        repo.switch("aside", new=True, start=base)
        base = repo.commit("left behind", x="x\n")
        repo.switch("main")
    asked = {"unknown": "", "lost": "1" * 40}.get(how, base)
    assert states(land_branches(repo, candidate(repo, "topic", base=asked))) == {"topic": "landed"}


def test_a_unit_and_a_named_workspace_as_a_user_lands_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    repo = make_repo_for_workers(tmp_path / "repo")
    repo.switch("feature", new=True)
    repo.commit("half", half="1\n")
    run_units(repo, sh("maker", "echo u >u.txt"))
    inside(capsys, repo.path, "new", "place", "topic")
    Repo(repo.path.parent / "repo.prun" / "named" / "place").commit("own", own="1\n")
    repo.switch("main")
    half = repo.oid("feature")[:7]
    for name, label in (("maker", "prun/r1/maker"), ("topic", "topic")):
        said = inside(capsys, repo.path, "merge", "--no-verify", name)
        assert said.code == 1
        assert f"that main does not have: {half} half" in said.out
        assert inside(capsys, repo.path, "status", "--json").json["held"][0]["branch"] == label
        command = f"git prun merge --with-base --into main {'r1/maker' if name == 'maker' else 'topic'}"
        assert command in inside(capsys, repo.path, "status").out
        assert inside(capsys, repo.path, "merge", "--no-verify", "--with-base", name).code == 0
        repo.git("reset", "-q", "--hard", "HEAD~1")

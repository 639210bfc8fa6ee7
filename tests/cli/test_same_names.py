"""A word that a tag and a branch go by means neither, whichever command it is given to."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.inside import inside
from tests.support.repos import Repo, make_repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = make_repo(tmp_path / "repo")
    made.git("tag", "wip")
    made.switch("wip", new=True)
    made.commit("two", b="b\n")
    made.switch("main")
    return made


@pytest.mark.parametrize(
    "words",
    [
        ("merge", "--no-verify", "wip"),
        ("merge", "--no-verify", "wip~1"),
        ("forecast", "wip"),
        ("forecast", "--into", "wip", "main"),
        ("verify", "wip"),
        ("new", "place", "nb", "wip"),
        ("run", "--base", "wip", "--unit", "id=u", "--prompt", "x", "--executor", "command", "--command", "true"),
    ],
)
def test_both_are_named_and_nothing_is_done(
    repo: Repo, words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    before = repo.git("for-each-ref")
    branch, tag = repo.oid("refs/heads/wip")[:10], repo.oid("refs/tags/wip")[:10]
    said = inside(capsys, repo.path, *words)
    assert (said.code, said.out, said.err) == (
        128,
        "",
        f"error: 'wip' is the name of a branch (refs/heads/wip, at {branch}) and of a tag (refs/tags/wip, at {tag})\n"
        "hint: write refs/heads/wip or refs/tags/wip, whichever is meant\n",
    )
    assert repo.git("for-each-ref") == before


def test_the_full_name_says_which(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    assert inside(capsys, repo.path, "new", "one", "from-tag", "refs/tags/wip").code == 0
    assert inside(capsys, repo.path, "new", "two", "from-branch", "refs/heads/wip").code == 0
    assert repo.oid("from-tag") == repo.oid("main")
    assert repo.oid("from-branch") == repo.oid("refs/heads/wip")
    assert inside(capsys, repo.path, "merge", "--no-verify", "refs/heads/wip").code == 0
    assert repo.read("b") == "b\n"


@pytest.mark.parametrize("name", ["@", "HEAD", "refs/heads/x"])
def test_what_git_reads_as_something_else_is_no_branch(
    repo: Repo, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    said = inside(capsys, repo.path, "new", "place", name)
    assert (said.code, said.err.splitlines()[0]) == (1, f"error: invalid branch name {name!r}")
    assert repo.git("for-each-ref", "--format=%(refname)").splitlines() == [
        "refs/heads/main",
        "refs/heads/wip",
        "refs/tags/wip",
    ]


def test_no_new_branch_takes_the_name_of_a_tag(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    repo.git("tag", "v1")
    said = inside(capsys, repo.path, "new", "place", "v1")
    assert (said.code, said.err) == (
        1,
        "error: 'v1' is the name of a tag: a branch would be taken for it\nhint: choose another name\n",
    )

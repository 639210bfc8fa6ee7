"""Which ref a word means, where several go by it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.git.repo import resolve_commit
from gitprun.git.revision import SeveralMeanings, read_tips, require_branch_name, require_no_tag
from gitprun.model.errors import OperationRefused
from tests.support.repos import Repo, make_repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """``wip`` is a tag of the first commit and a branch at the second one."""
    made = make_repo(tmp_path / "repo")
    made.git("tag", "wip")
    made.git("tag", "-a", "-m", "noted", "same")
    made.switch("wip", new=True)
    made.git("branch", "same", "main")
    made.commit("two")
    return made


@pytest.mark.parametrize("word", ["wip", "wip~0", "wip^{commit}", "wip^{/two}", "wip@{0}"])
def test_a_tag_and_a_branch_are_both_named(repo: Repo, word: str) -> None:
    first, second = repo.oid("main")[:10], repo.oid("refs/heads/wip")[:10]
    with pytest.raises(SeveralMeanings) as caught:
        resolve_commit(repo.repository.git, word)
    assert (caught.value.message, caught.value.hint) == (
        f"'wip' is the name of a branch (refs/heads/wip, at {second}) and of a tag (refs/tags/wip, at {first})",
        "write refs/heads/wip or refs/tags/wip, whichever is meant",
    )


def test_what_has_one_meaning(repo: Repo) -> None:
    git, main, wip = repo.repository.git, repo.oid("main"), repo.oid("refs/heads/wip")
    repo.git("update-ref", "refs/heads/HEAD", main)
    expected = {"refs/heads/wip": wip, "refs/tags/wip": main, "same": main, "main": main, "HEAD": wip, "@": wip}
    assert {word: resolve_commit(git, word) for word in expected} == expected
    assert read_tips(git, [*expected, main, "gone", "", "wip~1", "a b"]) == {**expected, main: main}


@pytest.mark.parametrize(
    ("ref", "kind"),
    [
        ("refs/remotes/origin/x", "a remote-tracking branch"),
        ("refs/origin/x", "a ref"),
        ("refs/tags/origin/x", "a tag"),
    ],
)
def test_every_place_git_looks_in(repo: Repo, ref: str, kind: str) -> None:
    repo.git("update-ref", ref, "main")
    assert read_tips(repo.repository.git, ["origin/x"]) == {"origin/x": repo.oid("main")}
    repo.git("update-ref", "refs/heads/origin/x", "refs/heads/wip")
    with pytest.raises(SeveralMeanings, match=f"a branch .*and of {kind} \\({ref}"):
        read_tips(repo.repository.git, ["origin/x"])


@pytest.mark.parametrize(
    "name", ["@", "HEAD", "FETCH_HEAD", "-x", "a b", "a..b", "refs/heads/x", "1234567890" * 4, "x\n", "", "a/"]
)
def test_no_name_for_a_branch(repo: Repo, name: str) -> None:
    with pytest.raises(OperationRefused) as caught:
        require_branch_name(repo.repository.git, name, "wave1/x")
    assert (caught.value.message, caught.value.hint) == (
        f"invalid branch name {name!r}",
        "such as wave1/x; git help check-ref-format",
    )


def test_names_for_a_branch(repo: Repo) -> None:
    for name in ("a@b", "HEADS", "head", "decade", "rf/heads/x"):
        require_branch_name(repo.repository.git, name, "x")
        require_no_tag(repo.repository.git, name)
    with pytest.raises(OperationRefused, match="'wip' is the name of a tag: a branch would be taken for it"):
        require_no_tag(repo.repository.git, "wip")

"""The stash: what an entry holds, what of a unit's work is in it too, and what is left of it when a workspace goes."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.git.stash import read_stash, shared_with_stash
from gitprun.landing.choose import choose
from gitprun.model.names import Oid
from tests.support.inside import inside
from tests.support.repos import Repo, make_repo
from tests.support.workshop import Workshop, open_workshop


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", a_dot_txt="1\n", b_dot_txt="1\n")


def shop_of(repo: Repo, tmp_path: Path) -> Workshop:
    return open_workshop(repo, tmp_path / "w", "worktree")


def test_nothing_is_stashed(repo: Repo) -> None:
    assert (read_stash(repo.repository.git), shared_with_stash(repo.repository.git, repo.head, repo.head)) == ((), ())


def test_entries_and_what_they_hold(repo: Repo) -> None:
    base = repo.head
    repo.write("a.txt", "staged\n")
    repo.git("add", "a.txt")
    repo.write("a.txt", "mine\n")
    repo.write("new.txt", "new\n")
    repo.git("stash", "-u", "-m", "with new")
    repo.write("b.txt", "2\n")
    repo.git("stash")
    rows = [(one.name, one.base, len(one.parts), one.said) for one in read_stash(repo.repository.git)]
    assert rows == [
        ("stash@{0}", base, 1, f"WIP on main: {base[:7]} base"),
        ("stash@{1}", base, 2, "On main: with new"),
    ]
    tip = repo.commit("u", a_dot_txt="staged\n", b_dot_txt="2\n", new_dot_txt="new\n", own_dot_txt="own\n")
    assert shared_with_stash(repo.repository.git, base, tip) == (
        (b"a.txt", "stash@{1}"),
        (b"b.txt", "stash@{0}"),
        (b"new.txt", "stash@{1}"),
    )


def test_a_landing_names_what_the_unit_has_from_the_stash(repo: Repo, tmp_path: Path) -> None:
    repo.write("a.txt", "mine\n")
    repo.git("stash")
    shop = shop_of(repo, tmp_path)
    shop.work.write("a.txt", "mine\n")
    shop.work.write("own.txt", "own\n")
    shop.finish()
    history = repo.ledger.read().history
    (found,) = choose(repo.repository, history, ["u"], allow_unverified=True).candidates
    assert found.notes == ("r1/u: a.txt is what you stashed (stash@{0}): did its worker take it?",)


def test_a_removal_tells_of_what_was_stashed_there(
    repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shop = shop_of(repo, tmp_path)
    shop.work.write("a.txt", "2\n")
    shop.finish()
    shop.work.write("b.txt", "mine\n")
    shop.work.git("stash", "-m", "look at this")
    repo.write("b.txt", "elsewhere\n")
    repo.git("stash")
    entry = "stash@{1} (On prun/r1/u: look at this)"
    said = inside(capsys, repo.path, "remove", "u")
    assert (said.code, f"  your stash still has what was stashed there: {entry}\n" in said.err) == (0, True), said.err
    assert len(read_stash(repo.repository.git)) == 2
    assert Oid(repo.git("rev-parse", "stash@{1}")) == read_stash(repo.repository.git)[1].commit

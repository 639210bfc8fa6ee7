"""A fetch that prunes may delete what pins work: it is said before, and after."""

from __future__ import annotations

from pathlib import Path

import pytest

from gitprun.recovery.catalog import pruning_refspecs
from tests.support.inside import inside
from tests.support.repos import Repo, make_repo
from tests.support.runs import RESULT, run_units, sh


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", a_dot_txt="1\n")


@pytest.mark.parametrize(
    ("specs", "covered"),
    [
        (["+refs/heads/*:refs/remotes/origin/*"], False),
        (["+refs/*:refs/*"], True),
        (["+refs/*:refs/*", "^refs/prun/*"], False),
        (["+refs/*:refs/*", "^refs/heads/x"], True),
        (["refs/heads/x:refs/prun/x"], True),
        (["+*:*"], True),
        (["refs/heads/main"], False),
        (["+refs/*:refs/mirror/*"], False),
    ],
)
def test_refspecs_that_cover_what_pins_work(repo: Repo, specs: list[str], covered: bool) -> None:
    for spec in specs:
        repo.git("config", "--add", "remote.a b.fetch", spec)
    assert bool(pruning_refspecs(repo.repository.git)) == covered


def test_it_is_said_before_and_after(repo: Repo, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    up = make_repo(tmp_path / "up", a_dot_txt="1\n")
    repo.git("remote", "add", "--mirror=fetch", "origin", str(up.path))
    repo.git("checkout", "-q", "--detach")
    words = ("--executor", "command", "--prompt", "x", "--command", "sh -c 'echo 2 >a.txt'", "--verify", "true")
    said = inside(capsys, repo.path, "run", "--unit", "id=one", *words)
    assert said.code == 0, said.err
    warning = (
        "warning: origin is fetched with +refs/*:refs/*: a fetch that prunes deletes refs/prun, which pins all work"
    )
    assert f"{warning}\nhint: git config --add remote.origin.fetch '^refs/prun/*' keeps it out of that\n" in said.err
    commit = repo.oid("refs/prun/r1/one")
    repo.git("fetch", "-q", "--prune", "origin")
    told = [
        "warning: no ref pins the work of r1/one any more: somebody, or a fetch that prunes, deleted it",
        f"hint: git update-ref refs/prun/r1/one {commit} pins it again; git prun ledger verify names all",
        "hint: git config --add remote.origin.fetch '^refs/prun/*' keeps fetches from origin off",
    ]
    for command in (("status",), ("rescue",), ("merge", "one", "--dry-run", "--into", "main")):
        assert inside(capsys, repo.path, *command).err.splitlines()[:3] == told, command
    repo.git("update-ref", "refs/prun/r1/one", commit)
    repo.git("config", "--add", "remote.origin.fetch", "^refs/prun/*")
    repo.git("fetch", "-q", "--prune", "origin")
    for command in (("status",), ("rescue",), ("merge", "one", "--dry-run", "--into", "main")):
        assert "warning" not in inside(capsys, repo.path, *command).err, command


def test_what_landed_or_was_let_go_is_not_missed(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    run_units(repo, sh("one", f"echo 2 >a.txt; {RESULT}"))
    assert inside(capsys, repo.path, "merge", "one", "--no-verify").code == 0
    repo.git("update-ref", "-d", "refs/prun/r1/one")
    assert inside(capsys, repo.path, "status").err == ""

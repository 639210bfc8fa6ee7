"""Workers that reach out of their clone: into the user's refs, and into his checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.inside import inside
from tests.support.repos import Repo, make_repo_for_workers
from tests.support.runs import run_units, sh, unit_of


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo_for_workers(tmp_path / "repo")


def test_a_push_by_path_keeps_the_unit_from_landing_until_somebody_looked(
    repo: Repo, capsys: pytest.CaptureFixture[str]
) -> None:
    repo.git("tag", "v1")
    base = repo.head
    run_units(
        repo,
        sh(
            "a",
            "git commit -q --allow-empty -m sneaky; git push -q $PRUN_REPO HEAD:refs/heads/surprise;"
            " git push -q -f $PRUN_REPO HEAD:refs/tags/v1; echo x >b.txt",
        ),
    )
    pushed = repo.oid("surprise")
    said = inside(capsys, repo.path, "merge", "a", "--no-verify")
    assert (said.code, repo.head) == (1, base)
    assert f"refs/heads/surprise is new, at {pushed[:10]} and 1 more" in said.out
    shown = inside(capsys, repo.path, "show", "a").out
    for what in ("refs/heads/surprise is new", f"refs/tags/v1 moved from {base[:10]} to {pushed[:10]}"):
        assert what in shown
    assert (repo.oid("surprise"), repo.oid("v1")) == (pushed, pushed)
    assert inside(capsys, repo.path, "undo", "--drift", "a").code == 0
    assert (repo.oid("v1"), repo.git("branch", "--list", "surprise")) == (base, "")
    assert pushed in repo.git("for-each-ref", "--format=%(objectname)", "refs/prun/trash")
    assert inside(capsys, repo.path, "merge", "a", "--no-verify").code == 0


def test_a_commit_in_the_users_checkout_is_told_with_the_unit(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    base = repo.commit("two", b="1\n")
    repo.write("a.txt", "work of a person\n")
    script = "cd $PRUN_REPO; echo leak >leak.py; git add leak.py; git commit -qm 'on the wrong side'"
    run_units(repo, sh("a", f"echo x >x; {script}"))
    moved = f"refs/heads/main moved from {base[:10]} to {repo.head[:10]}"
    assert moved in inside(capsys, repo.path, "status").out
    assert moved in inside(capsys, repo.path, "show", "a").out
    assert (repo.read("a.txt"), repo.status()) == ("work of a person\n", [" M a.txt"])


def test_an_edit_of_the_users_checkout_is_told_at_the_landing(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    repo.commit("two", b="1\n")
    repo.write("a.txt", "work of a person\n")
    run_units(repo, sh("a", "echo x >x; echo leak >$PRUN_REPO/b"))
    said = inside(capsys, repo.path, "merge", "a", "--no-verify")
    assert unit_of(repo, "a").as_json()["changed"] == ["x"]
    assert (repo.read("a.txt"), repo.read("b")) == ("work of a person\n", "leak\n")
    assert (
        "warning: while r1 ran, b changed in your checkout: if that was not you, a worker left its place"
        in said.err.splitlines()
    )
    run_units(repo, sh("c", "echo y >y"))
    assert "left its place" not in inside(capsys, repo.path, "merge", "c", "--no-verify").err

"""Workspaces and checkouts that are not as they were made are named as what they are."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support.inside import inside
from tests.support.repos import Repo, make_repo


@pytest.fixture
def repo(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Repo:
    repo = make_repo(tmp_path / "repo", a_dot_txt="1\n")
    for name, more in (("w", []), ("c", ["--clone"])):
        assert inside(capsys, repo.path, "new", name, f"topic-{name}", *more).code == 0
    return repo


def place(repo: Repo, name: str) -> Path:
    return repo.path.parent / "repo.prun" / "named" / name


WORDS = ("slug", "x", "--executor", "command", "--command", "true")


@pytest.mark.parametrize("name", ["w", "c"])
def test_a_switched_workspace_gets_no_worker(repo: Repo, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    Repo(place(repo, name)).switch("other", new=True)
    said = inside(capsys, repo.path, "exec", name, *WORDS)
    trouble = f"is on other, not on its branch topic-{name}"
    assert (said.code, said.err) == (
        1,
        f"error: the workspace {name} {trouble}\nhint: git -C {place(repo, name)} switch topic-{name}\n",
    )
    assert f"{place(repo, name)} ({trouble})" in inside(capsys, repo.path, "workspace", "list").out


def test_a_rebase_in_a_workspace(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    work = Repo(place(repo, "w"))
    work.commit("two", b_dot_txt="2\n")
    work.git("rebase", "-q", "--exec", "false", "HEAD~1", ok=(1,))
    said = inside(capsys, repo.path, "exec", "w", *WORDS)
    trouble = "is in the middle of a rebase"
    assert said.err == f"error: the workspace w {trouble}\nhint: finish it in {work.path}, or give it up there\n"
    assert trouble in inside(capsys, repo.path, "workspace", "list").out


@pytest.mark.parametrize("how", ["gone", "broken"])
def test_a_broken_registration(repo: Repo, how: str, capsys: pytest.CaptureFixture[str]) -> None:
    admin = repo.path / ".git" / "worktrees" / "w"
    if how == "gone":
        shutil.rmtree(admin)
    else:
        (admin / "gitdir").write_text("junk\n")
    trouble = "is not registered with git as a worktree any more"
    said = inside(capsys, repo.path, "exec", "w", *WORDS)
    advice = f"git worktree repair {place(repo, 'w')}" if how == "broken" else "git prun remove w keeps what is in it"
    assert (said.code, said.err) == (1, f"error: the workspace w {trouble}\nhint: {advice}\n")
    assert trouble in inside(capsys, repo.path, "workspace", "list").out
    (place(repo, "w") / "new.txt").write_text("new\n")
    if how == "broken":
        repo.git("worktree", "repair", str(place(repo, "w")))
        assert trouble not in inside(capsys, repo.path, "workspace", "list").out
    said = inside(capsys, repo.path, "remove", "w")
    assert (said.code, said.err.splitlines()[0]) == (0, f"removed {place(repo, 'w')}")
    assert repo.files("refs/prun/kept/named/w/left-in-workspace-1")["new.txt"] == "new"
    assert repo.git("worktree", "list", "--porcelain").count("worktree ") == 1


@pytest.mark.parametrize(
    ("start", "said"),
    [
        (["rebase", "-q", "--exec", "false", "HEAD~1"], "a rebase"),
        (["bisect", "start", "HEAD", "HEAD~2"], "a bisect"),
    ],
)
def test_the_checkout_is_in_the_middle_of_something(
    repo: Repo, start: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    repo.branch("topic")
    for number in range(3):
        repo.commit(f"{number}", b_dot_txt=f"{number}\n")
    repo.git(*start, ok=(0, 1))
    told = inside(capsys, repo.path, "merge", "topic")
    end = "git bisect reset" if said == "a bisect" else "git rebase --continue, or git rebase --abort"
    message = f"error: {said} is in progress in {repo.path}: HEAD is on no branch until it is over"
    assert (told.code, message in told.err, f"hint: {end}\n" in told.err) == (1, True, True), told.err

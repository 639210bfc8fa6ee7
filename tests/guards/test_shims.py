"""Guards that lie in a worker's environment: it is held to its own branch, and the user's hooks run as ever."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from pathlib import Path

import pygit2
import pytest

from gitprun.guards.gitwords import PUSHES, REFS, STASH
from gitprun.guards.refs import NOT_ITS_OWN
from gitprun.guards.shims import NAMES, guard_environment
from gitprun.model.names import RunId, UnitId, unit_branch
from gitprun.workspaces.worktree import make_worktree
from tests.support.cases import slow
from tests.support.cli import Said
from tests.support.live_unit import shell_out
from tests.support.repos import Repo, make_repo
from tests.support.rows import payload_of

REFUSED = "git prun: refused: unit r1/u must not "


@dataclass(frozen=True, slots=True)
class Guarded:
    """The user's repository, the worktree of a unit, and the environment of its worker."""

    repo: Repo
    work: Repo
    env: dict[str, str]

    def git(self, *args: str, cwd: Path | None = None) -> Said:
        """Run git as the worker."""
        return shell_out(["git", *args], cwd or self.work.path, self.env)


@pytest.fixture
def guarded(tmp_path: Path) -> Guarded:
    repo = make_repo(tmp_path / "r")
    repo.branch("topic")
    repo.git("tag", "v1")
    branch = unit_branch(RunId("r1"), UnitId("u"))
    made = make_worktree(repo.repository, tmp_path / "w s" / "r1" / "u", repo.head, branch)
    facts = {"workspace": "worktree", "path": str(made.path)}
    repo.ledger.append(payload_of("run.started", {"base": repo.head}), run="r1")
    repo.ledger.append(payload_of("unit.prepared", facts), run="r1", unit="u")
    own = {"PRUN_RUN": "r1", "PRUN_UNIT": "u", "PRUN_REPO": str(repo.path)}
    return Guarded(repo, Repo(made.path), own | guard_environment(repo.repository, made.path, branch))


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("branch x", f"change refs/heads/x: {REFS}"),
        ("branch -D topic", f"change refs/heads/topic: {REFS}"),
        ("branch -m topic other", f"change refs/heads/topic: {REFS}"),
        ("update-ref -d refs/heads/prun/r1/u", f"change refs/heads/prun/r1/u: {REFS}"),
        ("update-ref refs/heads/topic HEAD~0 --create-reflog", ""),
        ("tag v2", f"change refs/tags/v2: {REFS}"),
        ("tag -d v1", f"change refs/tags/v1: {REFS}"),
        ("stash", f"change refs/stash: {STASH}"),
        ("checkout -q -b x", f"change refs/heads/x: {REFS}"),
        ("replace HEAD topic^{tree}", ""),
        ("notes add -m x", f"change refs/notes/commits: {REFS}"),
        ("gc -q", f"change refs/tags/v1: {REFS}"),
        ("push -q ../../../r HEAD:refs/heads/x", f"push: {PUSHES}"),
    ],
)
def test_refused(guarded: Guarded, command: str, why: str) -> None:
    guarded.work.write("a.txt", "2\n")
    before = guarded.repo.git("for-each-ref")
    said = guarded.git(*command.split())
    assert guarded.repo.git("for-each-ref") == before
    if why:
        assert (said.code != 0, f"{REFUSED}{why}\n" in said.err) == (True, True), said.err


def test_the_checkout_of_the_user_is_out_of_bounds(guarded: Guarded) -> None:
    said = guarded.git("commit", "-q", "--allow-empty", "-m", "x", cwd=guarded.repo.path)
    assert said.err.startswith(f"{REFUSED}change HEAD: {NOT_ITS_OWN}\n")


@pytest.mark.parametrize(
    "command",
    ["commit -q --allow-empty -m own", "checkout -q --detach", "reset -q --hard", "bisect start", "add -A"],
)
def test_its_own_branch_is_a_workers_own(guarded: Guarded, command: str) -> None:
    said = guarded.git(*command.split())
    assert (said.code, said.err) == (0, ""), said.err


def test_for_commits_to_its_own_branch_no_program_is_started(guarded: Guarded) -> None:
    script = guarded.repo.repository.state / "guard" / "worktree-guard"
    rows = script.read_text().split("\n")
    at = next(number for number, row in enumerate(rows) if row.startswith("python="))
    rows[at] = "python=/bin/false"
    script.write_text("\n".join(rows))
    assert guarded.git("commit", "-q", "--allow-empty", "-m", "own").code == 0
    assert guarded.git("branch", "x").code != 0


@pytest.mark.parametrize("where", ["usual", "own folder", "relative", "global"])
def test_the_hooks_git_would_have_called_are_called(
    guarded: Guarded, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    folder = {
        "usual": guarded.repo.path / ".git" / "hooks",
        "own folder": tmp_path / "hooks",
        "relative": guarded.work.path / ".husky",
        "global": tmp_path / "global-hooks",
    }[where]
    folder.mkdir(exist_ok=True)
    for name in ("commit-msg", "reference-transaction"):
        (folder / name).write_text(f"#!/bin/sh\necho {name} $1 >>'{tmp_path}/called'\ncat >>'{tmp_path}/given'\n")
        (folder / name).chmod(0o755)
    if where == "global":
        (tmp_path / "gitconfig").write_text(f"[core]\n\thooksPath = {folder}\n")
        monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(tmp_path / "gitconfig"))
        guard_environment(guarded.repo.repository, guarded.work.path, "prun/r1/u")
    elif where != "usual":
        guarded.repo.git("config", "core.hooksPath", ".husky" if where == "relative" else str(folder))
    assert shell_out(["git", "commit", "-q", "--allow-empty", "-m", "x"], guarded.work.path, guarded.env).code == 0
    called = (tmp_path / "called").read_text().split("\n")
    assert called[0] == "commit-msg .git/COMMIT_EDITMSG" or called[0].startswith("commit-msg /")
    assert called[1:3] == ["reference-transaction prepared", "reference-transaction committed"]
    assert guarded.work.git("rev-parse", "HEAD") in (tmp_path / "given").read_text()


def test_other_repositories_are_the_workers_own(guarded: Guarded, tmp_path: Path) -> None:
    other = make_repo(tmp_path / "other")
    other.hook("pre-commit", f"echo ran >'{tmp_path}/ran'")
    assert guarded.git("commit", "-q", "--allow-empty", "-m", "x", cwd=other.path).code == 0
    assert guarded.git("tag", "t", cwd=other.path).code == 0
    assert guarded.git("push", "-q", ".", "HEAD:refs/heads/x", cwd=other.path).code == 0
    assert (tmp_path / "ran").read_text() == "ran\n"


def test_settings_given_on_the_command_line_still_count(guarded: Guarded) -> None:
    said = guarded.git("-c", "user.name=Somebody", "commit", "-q", "--allow-empty", "-m", "x")
    assert (said.code, guarded.work.git("log", "-1", "--format=%cn", env={"GIT_COMMITTER_NAME": ""})) == (
        0,
        os.environ["GIT_COMMITTER_NAME"],
    )


def test_nothing_of_the_users_is_changed_and_everything_can_be_made_twice(guarded: Guarded) -> None:
    config = (guarded.repo.path / ".git" / "config").read_bytes()
    again = guard_environment(guarded.repo.repository, guarded.work.path, "prun/r1/u")
    assert again.items() <= guarded.env.items()
    folder = guarded.repo.repository.state / "guard"
    assert {path.name for path in folder.iterdir()} == {*NAMES, "worktree-guard", "bin"}
    assert [path.name for path in (folder / "bin").iterdir()] == ["git"]
    assert (guarded.repo.path / ".git" / "config").read_bytes() == config
    assert guarded.repo.git("config", "core.hooksPath", ok=(1,)) == ""


def test_a_place_that_cannot_be_named_is_not_guarded(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "it's")
    assert guard_environment(repo.repository, tmp_path / "w", "x") == {}


def stash_twice(repo: Repo) -> str:
    """Stash two texts as the user, the older one 40 days old; gives all the stash holds."""
    for text, day in (("old\n", 40), ("young\n", 0)):
        repo.write("a.txt", text)
        user = pygit2.Signature("Ada Author", "ada@example.test", int(time.time()) - day * 86400)
        pygit2.Repository(repo.path).stash(user, "WIP")
    return (repo.path / ".git" / "logs" / "refs" / "stash").read_text()


@pytest.mark.parametrize(
    "command",
    [
        *("git stash pop", "git stash clear", "git stash push -m x"),
        *slow("git stash drop", "git stash branch new", "git sp"),
        *("git sd", "env -u PATH /usr/bin/git stash pop", "cd .. && git -C u stash drop"),
        *("GIT_DIR=$PWD/../../../r/.git git stash drop", "git stash store -m x HEAD"),
        "cd .git/.. 2>/dev/null; git --git-dir=../../../r/.git stash drop",
        *slow("git stash pop -q stash@{1}", "git stash apply", "git stash drop stash@{1}", "git stash -u"),
        *slow("git -c x.y=z stash pop", "sh -c 'git stash drop'"),
    ],
)
def test_nothing_goes_into_the_stash_or_out_of_it(guarded: Guarded, command: str) -> None:
    guarded.repo.git("config", "alias.sp", "stash pop")
    guarded.repo.git("config", "alias.sd", "!git stash drop")
    before = stash_twice(guarded.repo)
    if "push" in command or "-u" in command:
        guarded.work.write("a.txt", "the worker's\n")
    files = guarded.work.read("a.txt")
    said = shell_out(["sh", "-c", command], guarded.work.path, guarded.env)
    assert (guarded.repo.path / ".git" / "logs" / "refs" / "stash").read_text() == before
    assert (guarded.work.read("a.txt"), said.code != 0) == (files, True), said.err
    assert f"{REFUSED}change refs/stash: {STASH}\n" in said.err


@pytest.mark.parametrize("command", ["stash list", "stash show", "stash show -p stash@{1}", "log -1 --grep=stash"])
def test_the_stash_can_be_looked_at(guarded: Guarded, command: str) -> None:
    stash_twice(guarded.repo)
    said = guarded.git(*command.split())
    assert (said.code, said.err) == (0, "")


def test_a_stash_of_a_repository_the_worker_made_is_its_own(guarded: Guarded) -> None:
    other = make_repo(guarded.work.path / "fixture")
    other.write("a.txt", "2\n")
    for words in (["stash"], ["stash", "pop"], ["stash"], ["stash", "drop"]):
        assert guarded.git(*words, cwd=other.path).code == 0
    assert other.git("status", "--porcelain") == ""

"""A worker never touches history: real git, real hooks, a linked worktree; and nobody else is hindered."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from gitprun.guards.gitwords import COMMITS, PUSHES, REFS
from gitprun.guards.refs import NOT_ITS_OWN
from tests.support.cli import prun
from tests.support.live_unit import LiveUnit, shell_out, start_unit
from tests.support.repos import make_bare, make_repo

pytestmark = pytest.mark.slow

REFUSED = "git prun: refused: unit r1/u must not "


@pytest.fixture
def live(tmp_path: Path) -> LiveUnit:
    repo = make_repo(tmp_path / "r")
    repo.branch("topic")
    repo.git("tag", "v1")
    unit = start_unit(repo)
    unit.work.write("new.txt", "new\n")
    unit.work.write("a.txt", "2\n")
    return unit


@pytest.mark.parametrize(
    ("command", "why"),
    [
        ("commit -qam x", f"commit: {COMMITS}"),
        ("commit -q --no-verify -am x", f"change HEAD: {COMMITS}"),
        ("branch x", f"change refs/heads/x: {REFS}"),
        ("branch -f topic HEAD~0", ""),
        ("branch -D topic", f"change refs/heads/topic: {REFS}"),
        ("branch -m topic other", f"change refs/heads/topic: {REFS}"),
        ("tag v2", f"change refs/tags/v2: {REFS}"),
        ("tag -d v1", f"change refs/tags/v1: {REFS}"),
        ("update-ref refs/heads/x HEAD", f"change refs/heads/x: {REFS}"),
        ("update-ref -d refs/heads/topic", f"change refs/heads/topic: {REFS}"),
        ("stash", f"change refs/stash: {REFS}"),
        ("checkout -q -b x", f"change refs/heads/x: {REFS}"),
        ("push -q ../../../r HEAD:refs/heads/x", f"push: {PUSHES}"),
        ("push -q --no-verify ../../../r HEAD:refs/heads/x", f"change refs/heads/x: {REFS}"),
    ],
)
def test_refused(live: LiveUnit, command: str, why: str) -> None:
    before, files = live.history(), live.work.status()
    said = live.git(*command.split())
    assert live.history() == before
    assert live.work.status() == files
    if why:
        assert said.code != 0
        assert f"{REFUSED}{why}\n" in said.err.replace("remote: ", "")
    assert said.err.count("git prun: refused") == (1 if why else 0)


def test_a_commit_on_a_detached_head_is_one_too(live: LiveUnit) -> None:
    assert live.git("checkout", "-q", "--detach").code == 0
    before = live.history()
    assert live.git("commit", "-q", "--no-verify", "-am", "x").err.startswith(f"{REFUSED}change HEAD: {COMMITS}\n")
    assert live.history() == before


def test_the_checkout_of_the_user_is_out_of_bounds(live: LiveUnit) -> None:
    before = live.history()
    said = live.git("commit", "-q", "--no-verify", "--allow-empty", "-m", "x", cwd=live.repo.path)
    assert said.err.startswith(f"{REFUSED}change HEAD: {NOT_ITS_OWN}\n")
    assert live.git("checkout", "-q", "--detach", cwd=live.repo.path).err.startswith(f"{REFUSED}change HEAD")
    assert live.git(f"--git-dir={live.repo.path}/.git", "tag", "x").err.startswith(f"{REFUSED}change refs/tags/x")
    assert live.history() == before


@pytest.mark.parametrize(
    "command",
    [
        "status --short",
        "diff",
        "log --oneline",
        "add -A",
        "reset -q",
        "checkout -q -- a.txt",
        "checkout -q --detach",
        "checkout -q topic",
        "restore a.txt",
        "rm -qf a.txt",
        "bisect start",
        "fetch -q ../../../r main",
    ],
)
def test_allowed(live: LiveUnit, command: str) -> None:
    refs = live.repo.git("for-each-ref")
    said = live.git(*command.split())
    assert (said.code, "refused" in said.err) == (0, False), said.err
    assert live.repo.git("for-each-ref") == refs


def test_without_its_environment_the_worktree_gives_a_worker_away(live: LiveUnit) -> None:
    before = live.history()
    for command in ("commit -qam x", "commit -q --no-verify -am x", "tag x", "push -q ../../../r HEAD:x"):
        said = live.outsider(*command.split())
        assert (said.code != 0, REFUSED in said.err) == (True, True)
    assert live.history() == before


def test_a_worker_without_a_run_is_one_too(live: LiveUnit) -> None:
    """Such as one of git prun dispatch, or git prun exec."""
    before = live.repo.git("for-each-ref")
    for env in ({"PRUN_UNIT": "x"}, {"PRUN_UNIT": "x", "PRUN_RUN": "named", "PRUN_REPO": str(live.repo.path)}):
        said = shell_out(["git", "commit", "-q", "--no-verify", "-am", "x"], live.work.path, env)
        name = "named/x" if "PRUN_RUN" in env else "x"
        assert said.err.startswith(f"git prun: refused: unit {name} must not change HEAD: {COMMITS}\n")
        assert shell_out(["git", "reset", "-q"], live.work.path, env).code == 0
        assert shell_out(["git", "reset", "-q"], live.repo.path, env).code != 0
    assert live.repo.git("for-each-ref") == before


def test_once_the_worker_has_ended_its_worktree_is_like_any_other(live: LiveUnit) -> None:
    (live.kept / "exit.json").write_text("{}")
    assert live.outsider("commit", "-qam", "by the user").code == 0


def test_a_run_that_died_holds_nobody_up(tmp_path: Path) -> None:
    live = start_unit(make_repo(tmp_path / "r"), coordinator=2**22 + 1)
    assert live.outsider("commit", "-q", "--allow-empty", "-m", "by the user").code == 0
    # Its worker may live on, though: it is known by its environment.
    assert live.git("commit", "-q", "--allow-empty", "-m", "x").code == 1


def make_alarm(live: LiveUnit, tmp_path: Path) -> Path:
    """Put a program that leaves a trace in the place of everything a hook could start."""
    trace, programs = tmp_path / "started", tmp_path / "programs"
    programs.mkdir()
    for name in ("python", "python3", "git-prun"):
        (programs / name).write_text(f"#!/bin/sh\necho {name} >>'{trace}'\nexit 1\n")
        (programs / name).chmod(0o755)
    for name in ("reference-transaction", "pre-push", "pre-commit"):
        hook = live.repo.path / ".git" / "hooks" / name
        rows = hook.read_text().split("\n")
        place = next(at for at, row in enumerate(rows) if row.startswith("python="))
        rows[place] = f"python='{programs}/python3'"
        hook.write_text("\n".join(rows))
    return trace


def test_the_user_works_on_while_a_worker_runs_and_no_program_is_started_for_it(live: LiveUnit, tmp_path: Path) -> None:
    trace = make_alarm(live, tmp_path)
    bare = make_bare(tmp_path / "bare", live.repo)
    own = live.repo.worktree(tmp_path / "own", "topic")
    path = {"PATH": f"{tmp_path / 'programs'}:{os.environ['PATH']}"}
    for place in (live.repo.path, own.path):
        for command in (
            "commit -q --allow-empty -m mine",
            "branch b1",
            "branch -m b1 b2",
            "branch -D b2",
            "tag t1",
            "tag -d t1",
            f"push -q {bare.path} HEAD:refs/heads/{place.name}",
            f"fetch -q {bare.path} +refs/heads/*:refs/remotes/bare/*",
            "update-ref refs/heads/b3 HEAD",
            "reset -q --hard HEAD~1",
            "rebase -q b3",
            "update-ref -d refs/heads/b3",
            "checkout -q --detach",
            "commit -q --allow-empty -m detached",
            "checkout -q -",
            "pack-refs --all",
        ):
            said = shell_out(["git", *command.split()], place, path)
            assert (said.code, said.err) == (0, ""), (place, command)
    assert not trace.exists()
    # The alarm works.
    assert live.git("tag", "x").code != 0
    assert trace.read_text() == "python3\n"


def test_nothing_runs_before_the_first_run(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    live = LiveUnit(repo, repo)
    assert prun(repo.path, "hooks", "install", "--all").code == 0
    trace = make_alarm(live, tmp_path)
    assert live.outsider("commit", "-q", "--allow-empty", "-m", "x").code == 0
    assert not trace.exists()


def test_a_clone_is_the_workers_own_but_it_reaches_nothing_from_there(live: LiveUnit, tmp_path: Path) -> None:
    live.repo.git("clone", "-q", str(live.repo.path), str(tmp_path / "clone"))
    before = live.history()
    assert live.git("commit", "-q", "--allow-empty", "-m", "x", cwd=tmp_path / "clone").code == 0
    said = live.git("push", "-q", "origin", "HEAD:refs/heads/x", cwd=tmp_path / "clone")
    assert f"{REFUSED}change refs/heads/x: {REFS}" in said.err
    assert live.history() == before


def test_repositories_a_worker_makes_for_itself_are_its_own(live: LiveUnit, tmp_path: Path) -> None:
    hooks = {"GIT_CONFIG_GLOBAL": str(tmp_path / "config")}
    (tmp_path / "config").write_text(f"[core]\n\thooksPath = {live.repo.path}/.git/hooks\n")
    test = make_repo(tmp_path / "test")
    assert shell_out(["git", "commit", "-q", "--allow-empty", "-m", "x"], test.path, live.env | hooks).code == 0
    # Also where prun has run in it.
    (test.path / ".git" / "prun").mkdir()
    assert shell_out(["git", "commit", "-q", "--allow-empty", "-m", "x"], test.path, live.env | hooks).code == 0


def test_where_prun_cannot_be_found_a_worker_is_refused_and_nobody_else(live: LiveUnit, tmp_path: Path) -> None:
    hook = live.repo.path / ".git" / "hooks" / "reference-transaction"
    hook.write_bytes((Path(__file__).parents[2] / "hooks" / "reference-transaction").read_bytes())
    programs = tmp_path / "only-git"
    programs.mkdir()
    for name in ("git", "sh"):
        (programs / name).symlink_to(str(shutil.which(name)))
    said = shell_out(["git", "tag", "x"], live.work.path, live.env | {"PATH": str(programs)})
    assert said.err.splitlines() == [
        "git prun: refused: a worker never writes history (unit u; git-prun itself is not on PATH)",
        "fatal: ref updates aborted by hook",
    ]
    assert shell_out(["git", "tag", "x"], live.repo.path, {"PATH": str(programs)}).code == 0


def test_what_cannot_be_told_is_refused(live: LiveUnit) -> None:
    (live.repo.repository.state / "ledger.jsonl").unlink()
    (live.repo.repository.state / "ledger.jsonl").mkdir()
    said = live.git("tag", "x")
    assert said.err.startswith("git prun: refused: git prun cannot tell whether this is allowed: the ledger ")


@pytest.mark.parametrize("shell", ["dash", "bash", "busybox", "zsh", "ksh"])
@pytest.mark.parametrize("name", ["reference-transaction", "pre-push", "pre-commit"])
def test_every_shell_decides_alike(live: LiveUnit, tmp_path: Path, shell: str, name: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"no {shell} here")
    trace = make_alarm(live, tmp_path)
    run = [shell, *(["sh"] if shell == "busybox" else []), str(live.repo.path / ".git" / "hooks" / name), "prepared"]
    in_worktree = {"GIT_DIR": live.work.git("rev-parse", "--absolute-git-dir")}
    codes = [
        shell_out(run, live.repo.path).code,
        shell_out(run, live.work.path).code,
        shell_out(run, live.work.path, in_worktree).code,
        shell_out(run, live.repo.path, live.env).code,
        shell_out(run, live.repo.path, {"GIT_DIR": str(live.repo.path / ".git"), **live.env}).code,
        shell_out(run, tmp_path, live.env).code,
    ]
    assert codes == [0, 1, 1, 1, 1, 0]
    assert trace.read_text() == "python3\n" * 4


def test_a_whole_run_lands_with_the_hooks_in_place(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "r")
    assert prun(repo.path, "hooks", "install", "--all").code == 0
    repo.git("config", "user.name", "W")
    repo.git("config", "user.email", "w@example.test")
    push = "git push -q $PRUN_REPO HEAD:refs/heads/p"
    tries = f"git add .; git commit -qm x; git tag t; git stash -q; git branch b; {push}; true"
    (tmp_path / "plan.toml").write_text(
        '[run]\nverify = ["true"]\n'
        + "".join(
            f'[[unit]]\nid = "{kind}"\nprompt = "x"\nworkspace = "{kind}"\n'
            f'command = ["sh", "-c", "echo {kind} >{kind}.txt; {tries}"]\n'
            for kind in ("worktree", "clone")
        )
    )
    said = prun(repo.path, "run", "--merge", "../plan.toml")
    assert said.code == 0, said.out + said.err
    assert repo.files("main") == {"a.txt": "1", "worktree.txt": "worktree", "clone.txt": "clone"}
    listed = repo.git("for-each-ref", "--format=%(refname)", "refs/heads", "refs/tags", "refs/stash").split()
    assert listed == ["refs/heads/main"]
    assert prun(repo.path, "log", "worktree").out.count("git prun: refused") == 5

"""``git prun exec`` with the real codex, its model being a script on 127.0.0.1."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agents import agent_home, codex_program, codex_settings
from tests.support.cli import prun
from tests.support.model_server import ModelServer, Request, Step, say, shell, status, write
from tests.support.repos import Repo, make_repo

pytestmark = [
    pytest.mark.real_codex,
    pytest.mark.skipif(codex_program() is None, reason="no codex: pip install openai-codex-cli-bin"),
]
ENV = {
    "CODEX_MODEL": "gpt-5.5",
    "POST_VERIFY_CMD": "cat shell.txt | grep -q shell",
    "POST_VERIFY_TESTS": "echo 3 passed",
}


@pytest.fixture
def home() -> Iterator[Path]:
    with agent_home() as place:
        yield place


def settle(repo: Repo, url: str, home: Path, run: str = "") -> None:
    """Let the repository's settings name the real codex and the scripted model; a JSON text is a TOML text too."""
    table = codex_settings(url, home)
    env = ", ".join(f"{key} = {json.dumps(value)}" for key, value in table["env"].items())
    rows = f"program = {json.dumps(table['program'])}\nargs = {json.dumps(table['args'])}\nenv = {{ {env} }}\n"
    repo.commit("settings", prun_dot_toml=f"{run}[executor.codex]\n{rows}")
    repo.approve()


def lines(out: str) -> list[str]:
    return [line.removeprefix("[wrapper p1] ") for line in out.splitlines()[2:]]


@pytest.mark.parametrize("kind", [[], ["--clone"]], ids=["worktree", "clone"])
def test_one_plan_as_the_seed_dispatches_it(home: Path, kind: list[str]) -> None:
    repo = make_repo(home / "r")
    script = [
        shell("echo shell >shell.txt; git commit -qam no; touch ../outside") + write("patched.py", "print('hi')"),
        say("All done."),
    ]
    with ModelServer({"u": script}) as server:
        settle(repo, server.codex_url("u"), home)
        assert prun(repo.path, "new", *kind, "wave1/reports", "wave1/reports-pipeline").code == 0
        said = prun(
            repo.path, "exec", "wave1/reports", "p1", "YOU ARE A CODING AGENT. THE TASK: Add two files.", env=ENV
        )
    assert (said.code, lines(said.out)) == (
        0,
        [
            "committed",
            "post-verify verify_errors=0 (cmd='cat shell.txt | grep -q shell') tests='3 passed' (cmd='echo 3 passed')",
        ],
    ), said.err
    branch = "wave1/reports-pipeline"
    assert repo.git("log", "--format=%s", f"main..{branch}") == "agent(p1): Add two files."
    files = repo.files(branch)
    assert (files["shell.txt"], files["patched.py"]) == ("shell", "print('hi')")
    assert "Source    : codex exec (gpt-5.5 high reasoning)" in repo.raw(branch)
    assert "  All done." in repo.raw(branch)
    assert not (home / "r.prun" / "named" / "wave1" / "outside").exists()
    assert repo.status() == []
    log = (repo.path / ".git" / "prun" / "logs" / "wave1" / "reports.log").read_text()
    assert '"type":"turn.completed"' in log
    assert prun(repo.path, "merge", branch, "--verify", "true").code == 0
    assert repo.files("main")["patched.py"] == "print('hi')"


@pytest.mark.slow
def test_a_service_that_is_down_leaves_the_branch_as_it_was(home: Path) -> None:
    repo = make_repo(home / "r")
    with ModelServer({"u": [shell("echo half >half.txt"), status(503)]}) as server:
        settle(repo, server.codex_url("u"), home)
        prun(repo.path, "new", "a", "x")
        said = prun(repo.path, "exec", "a", "p1", "Add a file.", "--no-retry", env=ENV)
    pin = "refs/prun/kept/named/a/attempt-1"
    assert said.code == 1
    assert lines(said.out)[0] == f"not committed: the worker ended as rate-limited; the work is pinned as {pin}"
    assert (repo.git("log", "--format=%s", "main..x"), repo.files(pin)["half.txt"]) == ("", "half")


@pytest.mark.slow
def test_a_worker_cut_off_by_its_service_goes_on_with_its_thread(home: Path) -> None:
    repo = make_repo(home / "r")

    def answer(request: Request) -> Step:
        """Edit, be down for one whole turn (codex asks four times), then go on."""
        if request.n == 0:
            return shell("echo half >half.txt")
        if request.n <= 4:
            return status(503)
        return shell("cat half.txt; echo whole >>half.txt") if request.n == 5 else say("All done.")

    with ModelServer(answer) as server:
        settle(repo, server.codex_url("u"), home, run='[run]\nretry_wait = "1s"\n')
        prun(repo.path, "new", "a", "x")
        said = prun(repo.path, "exec", "a", "p1", "Add a file.", env={"CODEX_MODEL": "gpt-5.5"})
    rows = re.sub(r"\d\d:\d\d:\d\dZ( pid=\d+)?|\d+s$", "N", said.out, flags=re.MULTILINE).splitlines()
    pin = "refs/prun/kept/named/a/attempt-1"
    assert (said.code, [row.removeprefix("[wrapper p1] ") for row in rows]) == (
        0,
        [
            "N branch=x starting",
            "exit=1 runtime=N",
            f"not committed: the worker ended as rate-limited; the work is pinned as {pin}",
            "trying again at N (503)",
            "N branch=x starting",
            "exit=0 runtime=N",
            "committed",
            "post-verify verify_errors=0 (cmd='') tests='none found' (cmd='')",
        ],
    ), said.err
    assert (repo.files(pin)["half.txt"], repo.files("x")["half.txt"]) == ("half", "half\nwhole")
    assert repo.git("log", "--format=%s", "main..x") == "agent(p1): Add a file."


@pytest.mark.slow
def test_a_bail_without_edits_is_no_success(home: Path) -> None:
    repo = make_repo(home / "r")
    with ModelServer({"u": [say("I would rather not.")]}) as server:
        settle(repo, server.codex_url("u"), home)
        prun(repo.path, "new", "a", "x")
        said = prun(repo.path, "exec", "a", "p1", "Add a file.", env={**ENV, "POST_VERIFY_CMD": "true"})
    assert (said.code, lines(said.out)) == (
        1,
        ["no changes detected, skipping commit", "post-verify verify_errors=0 tests='skipped (no changes)'"],
    )

"""What workers are told, what they must not do, and what is shown of it: with the real programs."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gitprun.guards.gitwords import COMMITS, PUSHES
from gitprun.model.prompts import BYPASS
from tests.e2e import test_real_claude as claude
from tests.e2e import test_real_codex as codex
from tests.support.agents import agent_home, claude_program, codex_program
from tests.support.cli import prun
from tests.support.live_unit import shell_out
from tests.support.model_apis import user_texts
from tests.support.model_server import ModelServer, say, shell, status, write
from tests.support.repos import make_repo

needs_codex = pytest.mark.skipif(codex_program() is None, reason="no codex: pip install openai-codex-cli-bin")
needs_claude = pytest.mark.skipif(claude_program() is None, reason="no claude on PATH")


@pytest.fixture
def place() -> Iterator[Path]:
    with agent_home() as home:
        yield home


def untimed(out: str) -> list[str]:
    return [re.sub(r"^\d\d:\d\d:\d\dZ ", "", line) for line in out.splitlines()]


@pytest.mark.real_codex
@needs_codex
def test_codex_gets_the_prompt_that_is_shown_and_its_events_read_well(place: Path) -> None:
    repo = make_repo(place / "r")
    script = [
        shell("echo hi >made.txt"),
        shell("false"),
        write("made.py", "print('hi')\n"),
        say("All done.\nReally."),
    ]
    with ModelServer({"u": script}) as server:
        path = codex.plan(
            repo, server.codex_url("u"), place, [{"id": "u", "prompt": "Make files."}], "test -f made.txt"
        )
        would = prun(repo.path, "prompt", "--plan", str(path))
        assert prun(repo.path, "run", str(path)).code == 0
        heard = list(user_texts(server.requests("u")[0]))[-1]
    assert would.out == prun(repo.path, "prompt", "u").out == heard
    assert heard.startswith(f"{BYPASS}\n\nMake files.\n\nDone means: this command passes, run in this folder:\n")
    assert repo.git("log", "-1", "--format=%s", "prun/r1/u") == "u: Make files."
    output = (repo.repository.state / "runs" / "r1" / "u" / "output.log").read_bytes()
    shown = untimed(shell_out([sys.executable, "-m", "gitprun", "events"], place, given=output).out)
    assert re.fullmatch(r"\[START\] thread=[0-9a-f]{8}", shown[0])
    assert [line for line in shown if not line.startswith(("[START]", "[ERR]", "[ITEM>]"))] == [
        "[TURN>] model-turn begin",
        "[CMD>] /bin/bash -lc 'echo hi >made.txt'",
        "[CMD✓] exit=0 /bin/bash -lc 'echo hi >made.txt'",
        "[CMD>] /bin/bash -lc false",
        "[CMD✗] exit=1 /bin/bash -lc false :: ",
        "[EDIT] add u/made.py",
        "[SAID] All done.",
        "[TURN<] tokens: in=400 out=40 cached=0",
    ]


@pytest.mark.real_codex
@needs_codex
def test_a_turn_that_failed_is_shown(place: Path) -> None:
    repo = make_repo(place / "r")
    with ModelServer({"u": [status(400)]}) as server:
        path = codex.plan(repo, server.codex_url("u"), place, [{"id": "u", "prompt": "x"}])
        assert prun(repo.path, "run", str(path)).code == 1
    output = (repo.repository.state / "runs" / "r1" / "u" / "output.log").read_bytes()
    said = shell_out([sys.executable, "-m", "gitprun", "events", "--level", "minimal", "--strict"], place, given=output)
    assert (said.code, untimed(said.out)[-1]) == (1, "[ERR] turn failed: scripted status 400")


@pytest.mark.real_claude
@needs_claude
@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_claude_is_refused_history_and_nothing_else(place: Path, kind: str) -> None:
    repo = make_repo(place / "r")
    assert prun(repo.path, "hooks", "install").code == 0
    before = repo.git("for-each-ref", "refs/heads", "refs/tags")
    script = [
        shell("echo one >one.txt && git add one.txt && git commit -qm 'by claude'"),
        shell("bash -c 'git push origin HEAD'"),
        shell("echo 'do not git push' >two.txt; git status --short; git log --oneline | cat"),
        say("# u result\nConclusion: done\nFiles: two.txt\nOpen items: none\nVerification: none"),
    ]
    with ModelServer({"u": script}) as server:
        unit = {"sandbox": "danger-full-access", "workspace": kind}
        path = claude.plan(repo, server.claude_url("u"), place, **unit)
        Path(path).write_text(Path(path).read_text().replace("hello.py", "two.txt"))
        said = prun(repo.path, "run", path)
        replies = str(server.requests("u")[-1]["messages"])
    assert said.code == 0, said.out + said.err
    # The whole command was refused, so its first part did not run either.
    assert set(repo.files("prun/r1/u")) == {"a.txt", "two.txt"}
    assert f"git prun: refused: git commit: {COMMITS}" in replies
    assert f"git prun: refused: git push: {PUSHES}" in replies
    assert prun(repo.path, "show", "u", "--json").json["facts"]["own_commits"] == []
    assert repo.git("for-each-ref", "refs/heads", "refs/tags") == before
    output = (repo.repository.state / "runs" / "r1" / "u" / "output.log").read_bytes()
    shown = untimed(shell_out([sys.executable, "-m", "gitprun", "events"], place, given=output).out)
    assert shown[1].startswith("[CMD>] echo one >one.txt && git add one.txt && git commit")
    assert shown[2].startswith("[CMD✗] failed echo one >one.txt && git add one.txt")
    assert shown[-1].endswith(" denied=Bash")

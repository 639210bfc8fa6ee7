"""The real codex, cut off and sent back: its service at its limit, its network gone, a bail, a thread gone on with."""

from __future__ import annotations

import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.agents import agent_home, codex_program, codex_settings
from tests.support.cli import Said, prun
from tests.support.model_server import ModelServer, Request, Step, cut, say, shell, status
from tests.support.repos import Repo, make_repo

pytestmark = [
    pytest.mark.real_codex,
    pytest.mark.skipif(codex_program() is None, reason="no codex: pip install openai-codex-cli-bin"),
]
RESULT = "# u result\nConclusion: done\nFiles: a.txt\nOpen items: none\nVerification: none\n"
# A turn asks so often before it gives up, with one retry of each kind (see codex_settings).
ASKED = 4


@pytest.fixture
def place() -> Iterator[Path]:
    with agent_home() as home:
        yield home


def run(repo: Repo, server: ModelServer, home: Path, **settings: str) -> Said:
    table = codex_settings(server.codex_url("u"), home)
    env = ", ".join(f"{key} = {json.dumps(value)}" for key, value in table["env"].items())
    rows = "".join(f"{key} = {value}\n" for key, value in {"retry_wait": '"1s"', **settings}.items())
    plan = home / "plan.toml"
    plan.write_text(
        f'[run]\nverify = ["true"]\n{rows}'
        f"[executor.codex]\nprogram = {json.dumps(table['program'])}\n"
        f"args = {json.dumps(table['args'])}\nenv = {{ {env} }}\n"
        '[[unit]]\nid = "u"\nprompt = "write a.txt"\nmodel = "gpt-5.5"\ntimeout = "60s"\n'
    )
    return prun(repo.path, "run", str(plan))


def shown(repo: Repo) -> dict[str, Any]:
    found: dict[str, Any] = prun(repo.path, "show", "u", "--json").json
    return found


def thread_of(repo: Repo, *, attempt: str = "") -> str:
    log = repo.path / ".git" / "prun" / "runs" / "r1" / "u" / attempt / "output.log"
    return str(json.loads(log.read_text().splitlines()[0])["thread_id"])


def cut_off_once(after: Step, *, forget: Path | None = None) -> Any:
    """Script a model that edits, is not to be reached for one whole turn, and then goes on."""

    def answer(request: Request) -> Step:
        if request.n == 0:
            return shell("echo half >a.txt")
        if request.n <= ASKED:
            if forget is not None and request.n == ASKED:
                shutil.rmtree(forget)
            return status(503)
        return after if request.n == ASKED + 1 else say(RESULT)

    return answer


@pytest.mark.slow
def test_codex_goes_on_with_its_thread_after_a_503(place: Path) -> None:
    repo = make_repo(place / "r")
    with ModelServer(cut_off_once(shell("cat a.txt; echo whole >>a.txt"))) as server:
        said = run(repo, server, place)
        bodies = server.requests("u")
    unit = shown(repo)
    assert (said.code, unit["state"], unit["attempt"], unit["kind"]) == (0, "ready", 2, ""), said.err
    assert re.search(r"\d\d:\d\d:\d\d u: waiting until \d\d:\d\d:\d\d \(unexpected status 503", said.err)
    assert [(row["attempt"], row["state"], row["kind"]) for row in unit["earlier"]] == [(1, "rate-limited", "503")]
    assert thread_of(repo) == thread_of(repo, attempt="attempt-1")
    assert repo.files("refs/prun/r1/u")["a.txt"] == "half\nwhole"
    assert repo.files("refs/prun/kept/r1/u/attempt-1")["a.txt"] == "half"
    said_to_model = json.dumps(bodies[-1])
    # The whole conversation is there: what was asked, what it did, and that it was cut off.
    for words in ("write a.txt", "echo half >a.txt", "The service cut you off in the middle of your work"):
        assert words in said_to_model
    assert len(bodies) == ASKED + 3


@pytest.mark.slow
def test_a_thread_that_is_gone_is_begun_anew(place: Path) -> None:
    repo = make_repo(place / "r")
    sessions = Path(codex_settings("http://127.0.0.1:1/v1", place)["env"]["CODEX_HOME"]) / "sessions"
    with ModelServer(cut_off_once(shell("test ! -e half.txt; echo new >new.txt"), forget=sessions)) as server:
        said = run(repo, server, place)
    unit = shown(repo)
    assert (said.code, unit["state"], unit["attempt"]) == (0, "ready", 3), said.err
    assert [row["kind"] for row in unit["earlier"]] == ["503", "no-thread"]
    gone = thread_of(repo, attempt="attempt-1")
    assert unit["earlier"][1]["reason"] == f"codex has no thread {gone} any more"
    assert thread_of(repo) != thread_of(repo, attempt="attempt-1")
    assert "new.txt" in repo.files("refs/prun/r1/u")


@pytest.mark.slow
def test_a_connection_that_is_cut_is_no_end(place: Path) -> None:
    repo = make_repo(place / "r")

    def answer(request: Request) -> Step:
        if request.n < 2:
            return cut()
        return shell("echo x >a.txt") if request.n == 2 else say(RESULT)

    with ModelServer(answer) as server:
        said = run(repo, server, place)
    unit = shown(repo)
    assert (said.code, unit["state"]) == (0, "ready"), said.err
    assert [row["kind"] for row in unit["earlier"]] == ["network"]


def test_a_bail_is_sent_back_with_the_whole_prompt(place: Path) -> None:
    repo = make_repo(place / "r")
    steps = [say("I would rather not."), shell("echo x >a.txt"), say(RESULT)]
    with ModelServer({"u": steps}) as server:
        said = run(repo, server, place)
        bodies = server.requests("u")
    unit = shown(repo)
    assert (said.code, unit["state"]) == (0, "ready"), said.err
    assert [(row["state"], row["kind"]) for row in unit["earlier"]] == [("empty", "bail")]
    assert "I would rather not." not in json.dumps(bodies[1])


def test_who_bails_three_times_is_given_up(place: Path) -> None:
    repo = make_repo(place / "r")
    with ModelServer({"u": [say("I would rather not.")]}) as server:
        said = run(repo, server, place)
        assert len(server.requests("u")) == 3
    unit = shown(repo)
    assert (said.code, unit["state"], unit["kind"]) == (1, "empty", "bail")
    assert unit["reason"] == "the worker ended well and changed nothing; tried 3 times"


def test_a_usage_limit_far_away_is_named_with_its_date_and_not_waited_for(place: Path) -> None:
    repo = make_repo(place / "r")
    resets = int(time.time()) + 5 * 86400
    error = {"type": "usage_limit_reached", "message": "limit", "plan_type": "pro", "resets_at": resets}
    with ModelServer({"u": [status(429, body=json.dumps({"error": error}))]}) as server:
        said = run(repo, server, place)
    unit = shown(repo)
    assert (said.code, unit["state"], unit["kind"], unit["attempt"]) == (1, "rate-limited", "usage-limit", 1)
    # Codex names the minute; the next one is sure to be late enough.
    until = time.strftime("%Y-%m-%d %H:%M", time.localtime(resets + 60))
    assert unit["reason"].endswith(f"; not waited for until {until}"), unit["reason"]


@pytest.mark.slow
def test_two_failures_and_a_resume_by_hand(place: Path) -> None:
    repo = make_repo(place / "r")
    down = {"now": True}

    def answer(request: Request) -> Step:
        if down["now"]:
            return status(503)
        return say(RESULT) if "function_call_output" in json.dumps(request.body) else shell("echo x >a.txt")

    with ModelServer(answer) as server:
        said = run(repo, server, place, retries="1")
        unit = shown(repo)
        assert (said.code, unit["state"], unit["attempt"]) == (1, "rate-limited", 2)
        assert unit["reason"].endswith("; tried 2 times")
        assert "hint: the service is at its limit: git prun run --resume r1 goes on later\n" in said.err
        down["now"] = False
        said = prun(repo.path, "run", "--resume")
    assert (said.code, shown(repo)["state"], shown(repo)["attempt"]) == (0, "ready", 3), said.err
    assert "settings of executors are read again from" in said.err
    assert os.path.realpath(place / "plan.toml") in said.err

"""The scripted model: its answers on the wire, and the real programs at work for it."""

from __future__ import annotations

import http.client
import json
import os
import subprocess
import threading
import urllib.parse
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from tests.support.agents import (
    ExecutorTable,
    agent_home,
    claude_program,
    claude_settings,
    codex_program,
    codex_settings,
)
from tests.support.model_server import (
    BY_PROMPT,
    ModelServer,
    Request,
    Step,
    cut,
    fail,
    hang,
    patch,
    say,
    shell,
    status,
    write,
)

Outcome: TypeAlias = tuple[int, list[dict[str, Any]]]

PATIENCE = 30.0  # seconds; a limit for what has gone wrong, never a wait


def ask(url: str, body: dict[str, Any], headers: dict[str, str] | None = None) -> tuple[int, str]:
    """Post a request as the programs do and read the whole answer."""
    parts = urllib.parse.urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=PATIENCE)
    try:
        connection.request("POST", parts.path, json.dumps(body), headers or {})
        answer = connection.getresponse()
        return answer.status, answer.read().decode()
    finally:
        connection.close()


def ask_codex_words(server: ModelServer, worker: str, prompt: str, session: str = "") -> str:
    """Ask as codex does and return the words of the answer."""
    message = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": prompt}]}
    _, text = ask(f"{server.codex_url(worker)}/responses", {"input": [message]}, {"thread-id": session})
    lines = [line.removeprefix("data: ") for line in text.split("\n") if line.startswith("data: ")]
    events = [json.loads(line) for line in lines]
    items = [event["item"] for event in events if event["type"] == "response.output_item.done"]
    return "".join(part["text"] for item in items for part in item["content"])


# ---- on the wire ------------------------------------------------------------------------------------------


def test_codex_stream_is_the_items_and_one_end_event() -> None:
    with ModelServer({"u1": [say("hello") + shell("ls")]}) as server:
        code, text = ask(f"{server.codex_url('u1')}/responses", {"input": []})
    assert code == 200
    assert text == (
        "event: response.created\n"
        'data: {"type": "response.created", "response": {"id": "answer_0"}}\n'
        "\n"
        "event: response.output_item.done\n"
        'data: {"type": "response.output_item.done", "item": {"type": "message", "role": "assistant", '
        '"id": "answer_0_0", "content": [{"type": "output_text", "text": "hello"}]}}\n'
        "\n"
        "event: response.output_item.done\n"
        'data: {"type": "response.output_item.done", "item": {"type": "function_call", '
        '"call_id": "answer_0_1", "name": "exec_command", "arguments": "{\\"cmd\\": \\"ls\\"}"}}\n'
        "\n"
        "event: response.completed\n"
        'data: {"type": "response.completed", "response": {"id": "answer_0", '
        '"usage": {"input_tokens": 100, "output_tokens": 10, "total_tokens": 110}}}\n'
        "\n"
    )


def test_write_is_a_patch_that_adds_the_file() -> None:
    with ModelServer({"u1": [write("a.txt", "one\ntwo\n")]}) as server:
        _, text = ask(f"{server.codex_url('u1')}/responses", {"input": []})
    assert '"input": "*** Begin Patch\\n*** Add File: a.txt\\n+one\\n+two\\n*** End Patch\\n"' in text.split("\n\n")[1]


def test_claude_stream_is_the_blocks_and_one_end_event() -> None:
    with ModelServer({"u1": [shell("ls")]}) as server:
        code, text = ask(f"{server.claude_url('u1')}/v1/messages?beta=true", {"model": "m", "messages": []})
    assert code == 200
    assert text == (
        "event: message_start\n"
        'data: {"type": "message_start", "message": {"id": "answer_0", "type": "message", '
        '"role": "assistant", "model": "m", "stop_reason": null, "stop_sequence": null, "content": [], '
        '"usage": {"input_tokens": 100, "output_tokens": 10}}}\n'
        "\n"
        "event: content_block_start\n"
        'data: {"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", '
        '"id": "toolu_answer_0_0", "name": "Bash", "input": {}}}\n'
        "\n"
        "event: content_block_delta\n"
        'data: {"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", '
        '"partial_json": "{\\"command\\": \\"ls\\", \\"description\\": \\"run\\"}"}}\n'
        "\n"
        "event: content_block_stop\n"
        'data: {"type": "content_block_stop", "index": 0}\n'
        "\n"
        "event: message_delta\n"
        'data: {"type": "message_delta", "delta": {"stop_reason": "tool_use", "stop_sequence": null}, '
        '"usage": {"input_tokens": 100, "output_tokens": 10}}\n'
        "\n"
        "event: message_stop\n"
        'data: {"type": "message_stop"}\n'
        "\n"
    )


def test_fail_ends_with_the_error_and_cut_with_nothing() -> None:
    with ModelServer({"u1": [fail("server_is_overloaded", "busy"), cut()]}) as server:
        answers = [ask(f"{server.codex_url('u1')}/responses", {"input": []})[1] for _ in range(2)]
    assert answers == [
        "event: response.created\n"
        'data: {"type": "response.created", "response": {"id": "answer_0"}}\n'
        "\n"
        "event: response.failed\n"
        'data: {"type": "response.failed", "response": {"id": "answer_0", "status": "failed", '
        '"error": {"code": "server_is_overloaded", "message": "busy"}}}\n'
        "\n",
        'event: response.created\ndata: {"type": "response.created", "response": {"id": "answer_1"}}\n\n',
    ]


def test_status_has_the_error_shape_of_the_api_or_the_given_body() -> None:
    with ModelServer({"u1": [status(503), status(429, {"Retry-After": "1"}, "slow down")]}) as server:
        codex = ask(f"{server.codex_url('u1')}/responses", {"input": []})
        claude = ask(f"{server.claude_url('u1')}/v1/messages", {"messages": []})
    assert codex == (503, '{"error": {"type": "scripted_error", "message": "scripted status 503"}}')
    assert claude == (429, "slow down")


def test_last_step_repeats_and_each_worker_has_its_own_place() -> None:
    with ModelServer({"u1": [say("a"), say("b")], "u2": [say("c")]}) as server:
        words = [ask_codex_words(server, worker, "go") for worker in ("u1", "u2", "u1", "u1")]
        asked = {worker: len(server.requests(worker)) for worker in ("u1", "u2", "u3")}
    assert words == ["a", "c", "b", "b"]
    assert asked == {"u1": 3, "u2": 1, "u3": 0}


def test_by_prompt_the_last_line_of_the_user_names_the_script_and_each_session_starts_it() -> None:
    prompt = "Quote:\n MODEL-SCRIPT: other\nnow do it\nMODEL-SCRIPT: edit\n"
    with ModelServer({"edit": [say("first"), say("second")], "other": [say("wrong")]}) as server:
        words = [ask_codex_words(server, BY_PROMPT, prompt, session) for session in ("s1", "s2", "s1")]
        asked = {worker: len(server.requests(worker)) for worker in ("edit", "other", BY_PROMPT)}
    assert words == ["first", "first", "second"]
    assert asked == {"edit": 3, "other": 0, BY_PROMPT: 3}


def test_by_prompt_ignores_what_tools_gave_back() -> None:
    user = {"role": "user", "content": [{"type": "text", "text": "MODEL-SCRIPT: edit"}]}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "MODEL-SCRIPT: other"}
    with ModelServer({}) as server:
        body = {"model": "m", "messages": [user, {"role": "user", "content": [result]}]}
        answer = ask(f"{server.claude_url(BY_PROMPT)}/v1/messages", body)
    assert answer == (400, '{"error": {"message": "model server: no script for \'edit\'"}}')


def test_a_function_may_choose_the_step() -> None:
    def choose(request: Request) -> Step:
        return say(f"{request.worker} {request.session} {request.n} {request.api}")

    with ModelServer(choose) as server:
        words = [ask_codex_words(server, "u1", "go", "s1") for _ in range(2)]
    assert words == ["u1 s1 0 responses", "u1 s1 1 responses"]


def test_hang_is_silent_until_released() -> None:
    script = {"u1": [hang()], "u2": [say("half") + hang()]}
    with ThreadPoolExecutor() as pool, ModelServer(script) as server:
        silent = pool.submit(ask, f"{server.codex_url('u1')}/responses", {"input": []})
        half = pool.submit(ask_codex_words, server, "u2", "go")
        assert server.asked("u1").wait(PATIENCE)
        assert server.asked("u2").wait(PATIENCE)
        assert not silent.done()
        assert not half.done()
        server.release()
        assert half.result(PATIENCE) == "half"
        with pytest.raises(http.client.RemoteDisconnected):
            silent.result(PATIENCE)


def test_what_cannot_follow_an_ending_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing can follow an ending"):
        cut() + say("more")
    with pytest.raises(ValueError, match="a status is an answer of its own"):
        say("more") + status(503)


# ---- the real programs ------------------------------------------------------------------------------------

needs_codex = pytest.mark.skipif(codex_program() is None, reason="no codex: neither its wheel nor on PATH")
needs_claude = pytest.mark.skipif(claude_program() is None, reason="no claude on PATH")


@pytest.fixture
def home() -> Iterator[Path]:
    with agent_home() as folder:
        yield folder


def git(folder: Path, *words: str) -> str:
    """Run git with nobody's settings and return what it says."""
    env = {
        "PATH": os.environ["PATH"],
        "GIT_CONFIG_GLOBAL": os.devnull,
        "GIT_CONFIG_SYSTEM": os.devnull,
    }
    argv = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    done = subprocess.run(argv, cwd=folder, env=env, check=True, capture_output=True, timeout=PATIENCE)
    return done.stdout.decode()


def repository(folder: Path) -> Path:
    """Make a repository of one commit."""
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    git(folder, "commit", "-q", "--allow-empty", "-m", "start")
    return folder


def work(table: ExecutorTable, words: list[str], folder: Path, prompt: str) -> Outcome:
    """Run a worker to its end; return its exit code and the events it printed."""
    env = {"PATH": os.environ["PATH"], **table["env"]}
    said = prompt.encode()
    argv = [table["program"], *words]
    done = subprocess.run(argv, cwd=folder, env=env, input=said, capture_output=True, timeout=PATIENCE)
    return done.returncode, [json.loads(line) for line in done.stdout.split(b"\n") if line]


def codex(url: str, home: Path, folder: Path, prompt: str = "do it") -> Outcome:
    """Run `codex exec` in a folder."""
    table = codex_settings(url, home)
    words = ["exec", *table["args"], "--json", "-m", "gpt-5.5", "-s", "workspace-write", "-"]
    return work(table, words, folder, prompt)


def claude(url: str, home: Path, folder: Path, prompt: str = "do it") -> Outcome:
    """Run `claude -p` in a folder."""
    table = claude_settings(url, home)
    words = ["-p", *table["args"], "--model", "sonnet", "--output-format", "stream-json", "--verbose"]
    return work(table, [*words, "--permission-mode", "bypassPermissions"], folder, prompt)


@pytest.mark.real_codex
@needs_codex
def test_codex_edits_with_the_shell(home: Path) -> None:
    folder = repository(home / "r")
    with ModelServer({"u1": [shell("echo hi > a.txt"), say("done")]}) as server:
        code, events = codex(server.codex_url("u1"), home, folder)
        asked = server.requests("u1")
    assert (code, events[-1]["type"]) == (0, "turn.completed")
    assert git(folder, "status", "--porcelain") == "?? a.txt\n"
    assert (folder / "a.txt").read_text() == "hi\n"
    assert len(asked) == 2
    assert asked[1]["input"][-1]["type"] == "function_call_output"


@pytest.mark.real_codex
@needs_codex
def test_codex_edits_with_patches(home: Path) -> None:
    folder = repository(home / "r")
    change = "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch\n"
    with ModelServer({"u1": [write("a.txt", "one\n"), patch(change), say("done")]}) as server:
        code, events = codex(server.codex_url("u1"), home, folder)
    assert (code, events[-1]["type"]) == (0, "turn.completed")
    assert [event["item"]["text"] for event in events if "text" in event.get("item", {})] == ["done"]
    assert git(folder, "status", "--porcelain") == "?? a.txt\n"
    assert (folder / "a.txt").read_text() == "two\n"


@pytest.mark.real_codex
@needs_codex
def test_codex_may_only_talk(home: Path) -> None:
    folder = repository(home / "r")
    with ModelServer({"u1": [say("nothing to do")]}) as server:
        code, events = codex(server.codex_url("u1"), home, folder)
    assert code == 0
    assert [event["type"] for event in events] == [
        "thread.started",
        "turn.started",
        "item.completed",
        "turn.completed",
    ]
    assert events[2]["item"]["text"] == "nothing to do"
    assert git(folder, "status", "--porcelain") == ""


@pytest.mark.real_codex
@needs_codex
def test_codex_fails_when_the_model_is_not_there(home: Path) -> None:
    folder = repository(home / "r")
    with ModelServer({"u1": [status(503)]}) as server:
        code, events = codex(server.codex_url("u1"), home, folder)
        asked = len(server.requests("u1"))
    assert (code, events[-1]["type"]) == (1, "turn.failed")
    assert events[-1]["error"]["message"].startswith("unexpected status 503")
    assert asked == 4  # two requests for each of two streams


@pytest.mark.real_codex
@needs_codex
def test_two_codex_at_one_url_follow_their_prompts(home: Path) -> None:
    folders = {name: repository(home / name) for name in ("left", "right")}
    together = threading.Barrier(2)

    def choose(request: Request) -> Step:
        if request.n == 0:
            together.wait(PATIENCE)  # neither gets a step before both have asked
            return shell(f"echo {request.worker} > a.txt")
        return say(f"{request.worker} done")

    with ModelServer(choose) as server, ThreadPoolExecutor() as pool:
        url = server.codex_url(BY_PROMPT)
        ends = pool.map(lambda name: codex(url, home, folders[name], f"Do it.\nMODEL-SCRIPT: {name}\n"), folders)
        said = [(code, events[-2]["item"]["text"]) for code, events in ends]
    assert said == [(0, "left done"), (0, "right done")]
    assert [(folder / "a.txt").read_text() for folder in folders.values()] == ["left\n", "right\n"]


@pytest.mark.real_claude
@needs_claude
def test_claude_edits_with_the_shell_and_its_own_tool(home: Path) -> None:
    folder = repository(home / "r")
    script = [shell("echo hi > a.txt") + write("sub/b.txt", "there\n"), say("done")]
    with ModelServer({"edit": script}) as server:
        code, events = claude(server.claude_url(BY_PROMPT), home, folder, "Do it.\nMODEL-SCRIPT: edit\n")
    ended = events[-1]
    assert (code, ended["type"], ended["is_error"], ended["result"]) == (0, "result", False, "done")
    assert git(folder, "status", "--porcelain", "-uall") == "?? a.txt\n?? sub/b.txt\n"
    assert (folder / "sub/b.txt").read_text() == "there\n"


@pytest.mark.real_claude
@needs_claude
def test_claude_fails_when_the_model_is_not_there(home: Path) -> None:
    folder = repository(home / "r")
    with ModelServer({"u1": [status(503)]}) as server:
        code, events = claude(server.claude_url("u1"), home, folder)
        asked = len(server.requests("u1"))
    ended = events[-1]
    assert (code, ended["type"], ended["is_error"], ended["api_error_status"]) == (1, "result", True, 503)
    assert asked == 2

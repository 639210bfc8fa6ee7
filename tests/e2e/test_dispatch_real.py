"""``git prun dispatch`` and ``gather`` with the real codex, its model being a script on 127.0.0.1."""

from __future__ import annotations

import json
import shlex
import signal
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agents import agent_home, codex_program, codex_settings
from tests.support.cli import Said, prun, start_prun
from tests.support.model_server import ModelServer, Request, Step, hang, say, shell, status
from tests.support.repos import make_repo

pytestmark = [
    pytest.mark.real_codex,
    pytest.mark.skipif(codex_program() is None, reason="no codex: pip install openai-codex-cli-bin"),
]
PATIENCE = 60.0
RESULT = "# u1 result\nConclusion: done\nFiles: none (read-only)\nOpen items: none\nVerification: none\n"
HEADER = (
    "# u1 result (FALLBACK, worker wrote no result file)\n"
    "Conclusion: INCOMPLETE; structured result missing, raw worker output salvaged from the dispatch tail below.\n"
    "Files: unknown\n"
    "Open items: worker did not write its result file; review the raw output below or re-dispatch this unit.\n"
    "Verification: none (salvaged by dispatch-task, not by the worker)\n"
    "\n"
)
WORDS = (
    "dispatch",
    "--prompt-file",
    "p.md",
    "--result-file",
    "r.md",
    "--unit-id",
    "u1",
    "--model",
    "gpt-5.5",
    "--timeout",
    "60s",
)
WRITES = shell(f'printf "%s" {shlex.quote(RESULT)} >"$PRUN_RESULT"')


@pytest.fixture
def place() -> Iterator[Path]:
    with agent_home() as home:
        (home / "p.md").write_text("Look around.\n")
        yield home


def environment(place: Path, url: str) -> dict[str, str]:
    """Make CODEX_BIN a script around the real codex, as people do who need settings of their own."""
    table = codex_settings(url, place)
    script = place / "my-codex"
    # After the worker's own words: of two places for -c, codex takes only those after `exec`.
    script.write_text(f'#!/bin/sh\nexec {shlex.quote(table["program"])} "$@" {shlex.join(table["args"])}\n')
    script.chmod(0o755)
    return {**table["env"], "CODEX_BIN": str(script), "TMPDIR": str(place / "tmp")}


def dispatch(place: Path, url: str, **env: str) -> tuple[Said, Path]:
    said = prun(place, *WORDS, env={**environment(place, url), **env})
    return said, Path(said.out.removeprefix("STATE-DIR ").rstrip("\n"))


def ending(state: Path) -> str:
    return str(json.loads((state / "ending.json").read_text())["ending"]["state"])


def test_a_worker_writes_its_result_outside_of_its_folder(place: Path) -> None:
    with ModelServer({"u1": [WRITES, say("All done.")]}) as server:
        said, state = dispatch(place, server.codex_url("u1"))
        asked = server.requests("u1")[0]
    assert (said.code, said.out, ending(state)) == (0, f"STATE-DIR {state}\n", "done"), said.err
    assert (place / "r.md").read_text() == RESULT
    assert (state / "last-message.txt").read_text() == "All done."
    assert "turn.completed" in (state / "tail").read_text().splitlines()[-1]
    assert asked["reasoning"]["effort"] == "xhigh"
    waited = prun(place, "gather", "--strict", "--json", "r.md", env={"TMPDIR": str(place / "tmp")})
    row = json.loads(waited.out.splitlines()[1])
    assert (waited.code, row["valid"], row["certain"], row["state_dir"]) == (0, True, True, str(state))


def test_a_worker_without_a_result_is_salvaged(place: Path) -> None:
    with ModelServer({"u1": [shell("echo looked around"), say("There is nothing here.")]}) as server:
        said, state = dispatch(place, server.codex_url("u1"))
    assert (said.code, ending(state)) == (0, "done")
    result = (place / "r.md").read_text()
    assert result.startswith(
        HEADER + "The worker's last message:\n\nThere is nothing here.\n\nThe end of its output:\n\n"
    )
    assert "looked around" in result
    assert prun(place, "gather", "--strict", "r.md", env={"TMPDIR": str(place / "tmp")}).code == 1


def test_a_final_message_that_follows_the_contract_is_the_result(place: Path) -> None:
    with ModelServer({"u1": [say(RESULT)]}) as server:
        said, _ = dispatch(place, server.codex_url("u1"), CODEX_DISPATCH_SANDBOX="read-only")
    assert (said.code, (place / "r.md").read_text()) == (0, RESULT)


def test_a_service_that_is_unavailable(place: Path) -> None:
    with ModelServer({"u1": [shell("echo half"), status(503)]}) as server:
        said, state = dispatch(place, server.codex_url("u1"))
    assert (said.code, ending(state)) == (1, "rate-limited")
    assert (place / "r.md").read_text().startswith(HEADER)


def test_without_isolation_the_user_s_own_configuration_counts(place: Path) -> None:
    with ModelServer({"u1": [WRITES, say("done")]}) as server:
        table = codex_settings(server.codex_url("u1"), place)
        rows = [word for word in table["args"] if "=" in word]
        Path(table["env"]["CODEX_HOME"], "config.toml").write_text(
            "\n".join([*rows, 'model_reasoning_effort = "low"', "features.plugins = false"]) + "\n"
        )
        env = {**table["env"], "CODEX_BIN": table["program"], "TMPDIR": str(place / "tmp")}
        said = prun(place, *WORDS, env={**env, "CODEX_DISPATCH_ISOLATE_MCP": "Off"})
        asked = server.requests("u1")[0]
    assert (said.code, (place / "r.md").read_text()) == (0, RESULT), said.err
    assert asked["reasoning"]["effort"] == "low"


def test_a_clone_is_worked_in_and_the_repository_left_alone(place: Path) -> None:
    repo = make_repo(place / "repo")
    repo.git("clone", "-q", "--no-hardlinks", str(repo.path), str(place / "clone"))
    before = repo.git("for-each-ref")
    script = [shell("echo new >new.txt; git status --short"), WRITES, say("done")]
    with ModelServer({"u1": script}) as server:
        said, _ = dispatch(place, server.codex_url("u1"), PRUN_SCRATCH_CWD="clone", GIT_DIR=str(repo.path / ".git"))
    assert said.code == 0, said.err
    assert (place / "clone" / "new.txt").read_text() == "new\n"
    assert (repo.git("for-each-ref"), repo.status()) == (before, [])


def test_a_stopped_dispatcher_ends_codex_and_salvages(place: Path) -> None:
    waiting = threading.Event()

    def answer(request: Request) -> Step:
        if request.n == 0:
            return shell("echo half way")
        waiting.set()
        return hang()

    with ModelServer(answer) as server:
        process = start_prun(place, *WORDS, env=environment(place, server.codex_url("u1")))
        assert waiting.wait(PATIENCE)
        process.send_signal(signal.SIGTERM)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out.count(b"\n")) == (143, 1), err.decode()
    result = (place / "r.md").read_text()
    assert result.startswith(HEADER)
    assert "half way" in result

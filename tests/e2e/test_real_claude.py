"""Units worked on by the real claude, its model being a script on 127.0.0.1."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.agents import agent_home, claude_program, claude_settings
from tests.support.cli import prun
from tests.support.model_server import ModelServer, say, shell, status, write
from tests.support.repos import Repo, make_repo

pytestmark = [
    pytest.mark.real_claude,
    pytest.mark.skipif(claude_program() is None, reason="no claude on PATH"),
]


@pytest.fixture
def place() -> Iterator[Path]:
    with agent_home() as home:
        yield home


def plan(repo: Repo, url: str, home: Path, **unit: str) -> str:
    table = claude_settings(url, home)
    env = ", ".join(f"{key} = {json.dumps(value)}" for key, value in table["env"].items())
    known = {"id": "u", "prompt": "/add the files", "executor": "claude", "timeout": "60s", **unit}
    rows = [
        '[run]\nverify = ["test -f hello.py"]\n',
        f"[executor.claude]\nprogram = {json.dumps(table['program'])}\nenv = {{ {env} }}\n",
        "[[unit]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in known.items()),
    ]
    path = repo.path.parent / "plan.toml"
    path.write_text("\n".join(rows))
    return str(path)


def test_edits_of_a_real_claude_land(place: Path) -> None:
    repo = make_repo(place / "r")
    edit = write("hello.py", "print('hi')\n") + shell("echo by shell >shell.txt")
    script = [edit, say("# u result\nConclusion: done")]
    with ModelServer({"u": script}) as server:
        said = prun(
            repo.path, "run", "--merge", plan(repo, server.claude_url("u"), place, sandbox="danger-full-access")
        )
    assert said.code == 0, said.out + said.err
    assert repo.files("main") == {"a.txt": "1", "hello.py": "print('hi')", "shell.txt": "by shell"}


def test_service_unavailable_is_named(place: Path) -> None:
    repo = make_repo(place / "r")
    with ModelServer({"u": [status(503)]}) as server:
        said = prun(repo.path, "run", "--no-retry", plan(repo, server.claude_url("u"), place))
    unit = prun(repo.path, "show", "u", "--json").json
    assert (said.code, unit["state"], unit["kind"]) == (1, "rate-limited", "503"), said.err

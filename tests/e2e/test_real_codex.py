"""Units worked on by the real codex, its model being a script on 127.0.0.1."""

from __future__ import annotations

import json
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.support.agents import agent_home, codex_program, codex_settings
from tests.support.cases import slow
from tests.support.cli import prun, start_prun
from tests.support.model_server import BY_PROMPT, ModelServer, Request, Step, hang, say, shell, status, write
from tests.support.repos import Repo, make_repo

pytestmark = [
    pytest.mark.real_codex,
    pytest.mark.skipif(codex_program() is None, reason="no codex: pip install openai-codex-cli-bin"),
]
PATIENCE = 60.0


def result(unit: str, files: str) -> str:
    return f"# {unit} result\nConclusion: done\nFiles: {files}\nOpen items: none\nVerification: none\n"


@pytest.fixture
def place() -> Iterator[Path]:
    with agent_home() as home:
        yield home


def plan(repo: Repo, url: str, home: Path, units: Sequence[dict[str, str]], verify: str = "true") -> Path:
    """Write a plan for codex units; a JSON text is a TOML text too."""
    table = codex_settings(url, home)
    env = ", ".join(f"{key} = {json.dumps(value)}" for key, value in table["env"].items())
    rows = [
        f"[run]\njobs = 4\nverify = [{json.dumps(verify)}]\n",
        f"[executor.codex]\nprogram = {json.dumps(table['program'])}\n",
        f"args = {json.dumps(table['args'])}\nenv = {{ {env} }}\n",
    ]
    for unit in units:
        known = {"executor": "codex", "model": "gpt-5.5", "timeout": "60s", **unit}
        rows.append("[[unit]]\n" + "".join(f"{key} = {json.dumps(value)}\n" for key, value in known.items()))
    path = repo.path.parent / "plan.toml"
    path.write_text("\n".join(rows))
    return path


def states(repo: Repo) -> dict[str, str]:
    run = prun(repo.path, "status", "--json").json["runs"][0]
    return {unit["id"]: unit["state"] for unit in run["units"]}


@pytest.mark.parametrize("kind", ["clone", *slow("worktree")])
def test_edits_by_tool_calls_become_one_commit(place: Path, kind: str) -> None:
    repo = make_repo(place / "r", a_dot_txt="1\n")
    before = repo.git("for-each-ref", "refs/heads")
    script = [
        shell("echo by shell >shell.txt; git commit -qam no; git push -q; mkdir -p .prun")
        + write("patched.py", "print('hi')"),
        write(".prun/result.md", result("edit", "shell.txt, patched.py")),
        say("All done."),
    ]
    with ModelServer({"edit": script}) as server:
        unit = {"id": "edit", "prompt": "add two files", "workspace": kind}
        path = plan(repo, server.codex_url("edit"), place, [unit])
        said = prun(repo.path, "run", str(path))
    assert (said.code, states(repo)) == (0, {"edit": "ready"}), said.err
    assert repo.files("refs/prun/r1/edit") == {
        "a.txt": "1",
        "patched.py": "print('hi')",
        "shell.txt": "by shell",
    }
    assert repo.oid("refs/prun/r1/edit^") == repo.head
    known = prun(repo.path, "show", "edit", "--json").json
    assert (known["facts"]["fallback"], known["facts"]["own_commits"], known["left_out"]) == (False, [], [])
    assert "Conclusion: done" in known["result"]
    assert repo.git("for-each-ref", "refs/heads") == before
    assert repo.status() == []


def test_final_message_that_follows_the_contract_is_the_result(place: Path) -> None:
    repo = make_repo(place / "r")
    with ModelServer({"u": [shell("echo 1 >b.txt"), say(result("u", "b.txt"))]}) as server:
        said = prun(repo.path, "run", str(plan(repo, server.codex_url("u"), place, [{"id": "u", "prompt": "go"}])))
    shown = prun(repo.path, "show", "u", "--json").json
    assert (said.code, shown["facts"]["fallback"]) == (0, False)
    assert shown["result"].startswith("# u result\nConclusion: done\n")


def test_bail_without_edits_is_empty_and_a_failure_of_the_run(place: Path) -> None:
    repo = make_repo(place / "r")
    with ModelServer({"u": [say("I would rather not.")]}) as server:
        said = prun(repo.path, "run", str(plan(repo, server.codex_url("u"), place, [{"id": "u", "prompt": "go"}])))
    assert (said.code, states(repo)) == (1, {"u": "empty"})
    assert repo.git("for-each-ref", "--format=%(refname)", "refs/prun") == "refs/prun/base/r1"


def test_service_unavailable_is_named_and_partial_work_is_kept(place: Path) -> None:
    repo = make_repo(place / "r")
    with ModelServer({"u": [shell("echo half >half.txt"), status(503)]}) as server:
        path = plan(repo, server.codex_url("u"), place, [{"id": "u", "prompt": "go"}])
        said = prun(repo.path, "run", "--no-retry", str(path))
    assert (said.code, states(repo)) == (1, {"u": "rate-limited"})
    assert "503" in prun(repo.path, "show", "u", "--json").json["reason"]
    assert repo.files("refs/prun/r1/u")["half.txt"] == "half"
    refused = prun(repo.path, "merge")
    assert (refused.code, repo.git("log", "--oneline", "--merges")) == (1, "")


@pytest.mark.slow
def test_hang_is_ended_by_the_timeout_and_partial_work_is_kept(place: Path) -> None:
    repo = make_repo(place / "r")
    with ModelServer({"u": [shell("echo half >half.txt"), hang()]}) as server:
        path = plan(repo, server.codex_url("u"), place, [{"id": "u", "prompt": "go", "timeout": "3s"}])
        said = prun(repo.path, "run", str(path))
    unit = prun(repo.path, "show", "u", "--json").json
    assert (said.code, unit["state"], unit["facts"]["exit"]["reason"]) == (1, "timed-out", "timeout")
    assert repo.files("refs/prun/r1/u")["half.txt"] == "half"


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_signal_stops_the_worker_and_keeps_its_work(place: Path, number: int, code: int) -> None:
    repo = make_repo(place / "r")
    edited = threading.Event()

    def answer(request: Request) -> Step:
        if request.n == 0:
            return shell("echo half >half.txt")
        edited.set()
        return hang()

    with ModelServer(answer) as server:
        path = plan(repo, server.codex_url("u"), place, [{"id": "u", "prompt": "go"}])
        process = start_prun(repo.path, "run", str(path))
        assert edited.wait(PATIENCE)
        process.send_signal(number)
        _, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == code, err.decode()
    assert states(repo) == {"u": "stopped"}
    assert repo.files("refs/prun/r1/u")["half.txt"] == "half"


def test_four_real_workers_in_parallel_verified_and_landed(place: Path) -> None:
    repo = make_repo(place / "r", todo_dot_md="# To do\n", check_dot_sh="test -s todo.md\n")
    names = ["alpha", "beta", "gamma", "delta"]
    together = threading.Barrier(len(names))
    met: list[str] = []

    def answer(request: Request) -> Step:
        name = next(word for word in names if f"write {word}.txt" in json.dumps(request.body))
        if request.n == 0:
            # Four first requests at the same time: nothing here would go on if the units ran one after another.
            together.wait(PATIENCE)
            met.append(name)
            return shell(f"echo {name} >{name}.txt; echo '- [x] {name}' >>todo.md")
        return say(result(name, f"{name}.txt, todo.md"))

    units = [{"id": name, "prompt": f"write {name}.txt and tick it off"} for name in names]
    with ModelServer(answer) as server:
        path = plan(repo, server.codex_url(BY_PROMPT), place, units, verify="sh check.sh")
        said = prun(repo.path, "run", "--merge", str(path))
    assert (said.code, states(repo)) == (0, dict.fromkeys(names, "landed")), said.out + said.err
    assert sorted(met) == sorted(names)
    files = repo.files("main")
    assert {name: files[f"{name}.txt"] for name in names} == {name: name for name in names}
    assert sorted(files["todo.md"].split("\n")) == sorted(["# To do", *(f"- [x] {name}" for name in names)])
    assert len(repo.git("log", "--merges", "--oneline").splitlines()) == 4
    assert repo.status() == []

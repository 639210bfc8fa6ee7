"""A sandbox that is asked for is built around a worker that has none of its own, or the unit is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from gitprun.ledger.rows import SpecRow
from gitprun.model.plan import Settings, parse_unit
from gitprun.model.tables import Table
from gitprun.model.units import ExecutorSettings, Unit
from gitprun.runs import worker_sandbox as module
from gitprun.supervisor.sandbox import SandboxKind, find_sandbox
from tests.support.cli import prun
from tests.support.repos import make_repo
from tests.support.runs import RESULT, run_units, unit_of, workspace

WALLS = find_sandbox()
needs_walls = pytest.mark.skipif(WALLS.kind is None, reason=f"nothing confines here: {WALLS.reason}")
CLAUDE_SAYS = """
echo '{"type":"system","subtype":"init","session_id":"s"}'
echo '{"type":"result","subtype":"success","is_error":false,"num_turns":2,"stop_reason":"end_turn","result":"done"}'
"""


def parse(**rows: Any) -> Unit:
    return parse_unit(Table({"id": "u", "prompt": "Do it.", **rows}, "plan"), lambda _: "", Settings())


@pytest.mark.parametrize(
    ("rows", "sandbox", "walled"),
    [
        ({}, "workspace-write", False),
        ({"sandbox": "read-only"}, "read-only", False),
        ({"command": ["true"]}, "workspace-write", False),
        ({"command": ["true"], "sandbox": "danger-full-access"}, "danger-full-access", False),
        ({"command": ["true"], "sandbox": "workspace-write"}, "workspace-write", True),
        ({"executor": "claude"}, "workspace-write", False),
        ({"executor": "claude", "sandbox": "read-only"}, "read-only", True),
    ],
)
def test_whether_a_sandbox_was_asked_for(rows: dict[str, Any], sandbox: str, walled: bool) -> None:
    unit = parse(**rows)
    assert (unit.sandbox, unit.walled) == (sandbox, walled)


@pytest.mark.parametrize(
    ("spec", "confined"),
    [
        ({"executor": "command", "sandbox": "workspace-write"}, False),
        ({"executor": "command", "sandbox": "workspace-write", "walled": True}, True),
        ({"executor": "claude", "sandbox": "workspace-write"}, True),
        ({"executor": "codex", "sandbox": "danger-full-access", "walled": False}, False),
    ],
)
def test_what_the_ledger_says_of_it(spec: dict[str, object], confined: bool) -> None:
    assert SpecRow.read(spec).confined is confined


def worker(script: str, **rows: Any) -> Unit:
    return parse(command=["sh", "-c", script], timeout="60s", **rows)


@needs_walls
@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_a_command_is_held_to_its_workspace(tmp_path: Path, kind: str) -> None:
    repo = make_repo(tmp_path / "repo")
    out = tmp_path / "out"
    places = f"{out} {repo.path}/a.txt {repo.path}/.git/x ../y"
    tries = f"for f in {places}; do echo bad >$f && echo $f >>did; done 2>/dev/null"
    script = f"{tries}; echo 1 >made; f=$(mktemp); echo $f >temp; echo $PIP_CACHE_DIR >cache; true; {RESULT}"
    run_units(repo, worker(script, sandbox="workspace-write", workspace=kind), verify=("cat made",))
    unit, place = unit_of(repo, "u"), workspace(repo, "r1", "u")
    assert (unit.state, unit.as_json()["changed"], out.exists()) == ("ready", ["cache", "made", "temp"], False)
    temporary = place.parent / ".tmp" / "u"
    assert (place / "temp").read_text().startswith(f"{temporary}/")
    assert (place / "cache").read_text() == f"{temporary}/caches/pip\n"
    assert unit.as_json()["verdict"]["confined"].startswith(str(WALLS.kind))
    assert repo.status() == []


@needs_walls
def test_read_only_leaves_but_the_result(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    script = f"echo bad >made; echo bad >a.txt; echo 1 >$TMPDIR/f || exit 9; {RESULT}"
    run_units(repo, worker(f"({script}) 2>/dev/null", sandbox="read-only"))
    unit = unit_of(repo, "u")
    assert (unit.state, unit.as_json()["exit"]["code"], unit.as_json()["changed"], unit.fallback) == (
        "empty",
        0,
        [],
        False,
    )


@pytest.mark.parametrize("rows", [{}, {"sandbox": "danger-full-access"}])
def test_without_a_word_it_is_held_by_nothing(tmp_path: Path, rows: dict[str, Any]) -> None:
    repo = make_repo(tmp_path / "repo")
    run_units(repo, worker(f"echo 1 >{tmp_path}/out; echo 1 >made; {RESULT}", **rows))
    assert (unit_of(repo, "u").state, (tmp_path / "out").read_text()) == ("ready", "1\n")
    assert unit_of(repo, "u").as_json()["verdict"]["confined"] == "none: its worker was not confined either"


@needs_walls
def test_claude_writes_what_it_keeps_and_nothing_else(tmp_path: Path, sealed: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    (sealed / ".claude").mkdir()
    (sealed / ".claude.json").write_text("{}")
    program = tmp_path / "claude"
    tries = "echo 1 >~/.claude/s && echo 2 >~/.claude.json && echo ok >made; (echo bad >~/.profile) 2>/dev/null"
    program.write_text(f"#!/bin/sh\ncat >/dev/null\n{tries}\n{CLAUDE_SAYS}{RESULT}")
    program.chmod(0o755)
    unit = parse(executor="claude", sandbox="workspace-write", timeout="60s")
    run_units(repo, unit, executors={"claude": ExecutorSettings(program=str(program))})
    assert (unit_of(repo, "u").state, unit_of(repo, "u").as_json()["changed"]) == ("ready", ["made"])
    assert ((sealed / ".claude/s").read_text(), (sealed / ".claude.json").read_text()) == ("1\n", "2\n")
    assert sorted(path.name for path in sealed.iterdir()) == [".claude", ".claude.json"]


def test_where_there_are_no_walls_the_unit_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "find_sandbox", lambda: SandboxKind(kind=None, reason="no Landlock in the kernel"))
    repo = make_repo(tmp_path / "repo")
    run_units(repo, worker(f"echo 1 >{tmp_path}/out", sandbox="workspace-write"))
    unit = unit_of(repo, "u")
    assert (unit.state, unit.reason, unit.hint) == (
        "broken",
        'sandbox = "workspace-write" cannot be had for command: no Landlock in the kernel',
        'sandbox = "danger-full-access" lets it do what you can; a container of yours can hold it instead',
    )
    assert not (tmp_path / "out").exists()
    assert not (tmp_path / "repo.prun" / "r1" / "u").exists()


@needs_walls
def test_so_is_a_worker_in_a_named_workspace(tmp_path: Path) -> None:
    repo = make_repo(tmp_path / "repo")
    assert prun(repo.path, "new", "w", "topic").code == 0
    script = tmp_path / "worker.sh"
    script.write_text(f"cat >/dev/null; echo 1 >made; echo bad >{tmp_path}/out; true\n")
    words = ("exec", "w", "s", "do it", "--executor", "command", "--command", f"sh {script}")
    held = prun(repo.path, *words, "--sandbox", "workspace-write", env={"POST_VERIFY_CMD": "test -e made"})
    assert (held.code, (tmp_path / "out").exists()) == (0, False), held
    prun(repo.path, *words, env={"POST_VERIFY_CMD": "test -e made"})
    assert (tmp_path / "out").read_text() == "bad\n"


def test_paths_of_what_executors_keep() -> None:
    from gitprun.executors.catalog import EXECUTORS

    env = {"HOME": "/h", "CLAUDE_CONFIG_DIR": "/c", "CODEX_HOME": "/x"}
    assert {name: one.state({"HOME": "/h"}) for name, one in EXECUTORS.items()} == {
        "codex": ("/h/.codex",),
        "claude": ("/h/.claude", "/h/.claude.json", "/h/.cache/claude-cli-nodejs"),
        "command": (),
    }
    assert EXECUTORS["claude"].state(env) == ("/c", "/h/.cache/claude-cli-nodejs")
    assert EXECUTORS["codex"].state(env) == ("/x",)

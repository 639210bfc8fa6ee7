"""The PreToolUse hook of Claude Code: exit code 2 and a reason refuse a command, anything else lets it pass."""

from __future__ import annotations

import json
import shutil
import sys
from pathlib import Path

import pytest

from gitprun.guards.gitwords import COMMITS, PUSHES
from gitprun.guards.install import claude_guard, hooks_source
from tests.support.cli import Said, prun
from tests.support.live_unit import shell_out
from tests.support.repos import Repo, make_repo

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
GUARD = ROOT / "hooks" / "claude-guard"
WORKER = {"PRUN_UNIT": "u", "PRUN_PYTHON": sys.executable}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "r")


def ask(repo: Repo, payload: object, env: dict[str, str] | None = None) -> Said:
    given = payload if isinstance(payload, bytes) else json.dumps(payload).encode()
    return shell_out(["sh", str(GUARD)], repo.path, WORKER if env is None else env, given)


def bash(command: object, **more: object) -> dict[str, object]:
    return {"hook_event_name": "PreToolUse", "tool_name": "Bash", "tool_input": {"command": command}, **more}


def test_a_forbidden_command_is_refused_with_the_reason(repo: Repo) -> None:
    said = ask(repo, bash("cd src && git -C . commit -m x", cwd=str(repo.path)))
    assert (said.code, said.out, said.err) == (2, "", f"git prun: refused: git commit: {COMMITS}\n")


def test_aliases_are_looked_up_where_the_command_runs(repo: Repo) -> None:
    repo.git("config", "alias.out", "!f() { git push; }; f")
    repo.git("config", "alias.st", "status -sb")
    assert ask(repo, bash("git out", cwd=str(repo.path))).err == f"git prun: refused: git push: {PUSHES}\n"
    assert ask(repo, bash("git st", cwd=str(repo.path))).code == 0
    assert ask(repo, bash("git out", cwd=str(repo.path.parent))).code == 0
    assert ask(repo, bash("git out", cwd="/nosuch")).code == 0


@pytest.mark.parametrize(
    "payload",
    [
        bash("git status"),
        bash("echo 'git push'"),
        bash(""),
        bash(None),
        bash(["git", "push"]),
        {"tool_name": "Write", "tool_input": {"file_path": "x", "content": "git push"}},
        {"tool_name": "Bash"},
        {"tool_input": "git push"},
        [],
        "git push",
        None,
        b"",
        b"not json: git push",
        b"\xff\x00",
        b"[" * 100_000,
    ],
    ids=range(15),
)
def test_everything_else_passes(repo: Repo, payload: object) -> None:
    said = ask(repo, payload)
    assert (said.code, said.out, said.err) == (0, "", "")


def test_outside_a_unit_it_starts_nothing(repo: Repo, tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "sh").symlink_to(str(shutil.which("sh")))
    bare = {"PATH": str(tmp_path / "bin"), "PRUN_PYTHON": "/bin/false"}
    assert ask(repo, bash("git push"), bare).code == 0
    said = ask(repo, bash("git push"), {"PATH": str(tmp_path / "bin"), "PRUN_UNIT": "u"})
    # No refusal: exit code 1 tells the user that the guard does not work, and nothing else.
    assert (said.code, said.err) == (1, "git prun: the guard is not active: git-prun is not on PATH\n")


def test_it_can_be_called_by_hand(repo: Repo) -> None:
    command = [sys.executable, "-m", "gitprun", "hook", "claude-guard"]
    assert shell_out(command, repo.path, {"PRUN_UNIT": "u"}, json.dumps(bash("git tag x")).encode()).code == 2
    assert shell_out(command, repo.path, {}, json.dumps(bash("git tag x")).encode()).code == 0


def test_what_claude_is_given_to_run(repo: Repo) -> None:
    assert claude_guard() == f"PRUN_PYTHON={sys.executable} sh {GUARD}"
    given = json.dumps(bash("git push")).encode()
    assert shell_out(["sh", "-c", claude_guard()], repo.path, {"PRUN_UNIT": "u"}, given).code == 2
    assert f"claude workers get: {claude_guard()}\n" in prun(repo.path, "hooks", "status").err


def test_a_module_of_the_workspace_is_not_taken_for_ours(repo: Repo) -> None:
    repo.write("gitprun/__init__.py", "raise SystemExit(0)\n")
    repo.write("json.py", "raise SystemExit(0)\n")
    assert ask(repo, bash("git push")).code == 2


def test_the_hooks_are_found() -> None:
    assert hooks_source() == ROOT / "hooks"

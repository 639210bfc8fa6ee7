"""Real checks in a real folder: order, logs, time limit, what is missing, what lies."""

from __future__ import annotations

import os
import shutil
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from gitprun.model.errors import PrunError
from gitprun.model.units import CheckResult, CheckState, Verdict
from gitprun.supervisor.process import Stop
from gitprun.verify.check import check_workspace
from gitprun.verify.surroundings import Surroundings

Verify = Callable[..., Verdict]
SHELL_TOOLS = ("bash", "sh", "cat", "tail", "sleep")


@pytest.fixture
def bin_folder(tmp_path: Path) -> Path:
    """Give the only folder on PATH: shells and a few tools, no language."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in SHELL_TOOLS:
        found = shutil.which(name)
        assert found is not None
        (folder / name).symlink_to(found)
    return folder


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


@pytest.fixture
def verify(tmp_path: Path, workspace: Path, bin_folder: Path) -> Verify:
    """Check the workspace and give the verdict with its times set to 0 and its logs by name."""

    def run(*declared: str, timeout: float = 60.0, stop: Stop | None = None) -> Verdict:
        env = {"PATH": str(bin_folder), "HOME": str(tmp_path), "LC_ALL": "C"}
        logs, around = tmp_path / "logs" / "unit", Surroundings(env=env)
        verdict = check_workspace(workspace, declared, logs, around=around, timeout=timeout, stop=stop)
        checks = tuple(
            replace(check, seconds=0.0, log=check.log.removeprefix(f"{tmp_path}/")) for check in verdict.checks
        )
        return replace(verdict, checks=checks)

    return run


def script(path: Path, text: str) -> Path:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def result(command: str, state: CheckState, code: int | None, log: str, reason: str = "") -> CheckResult:
    return CheckResult(command=command, state=state, code=code, seconds=0.0, log=log, reason=reason)


def test_a_script_that_lies_is_not_a_pass(verify: Verify, workspace: Path) -> None:
    script(workspace / "v1.sh", "nosuchtool --noEmit 2>&1 | tail -1")
    script(workspace / "v2.sh", 'echo "0 errors"; exit 1')
    script(workspace / "v3.sh", 'echo "collected 0 items"; exit 0')
    script(workspace / "v4.sh", 'echo "// fmt" >>src.ts; echo ok')
    verdict = verify("./v1.sh", "./v2.sh", "./v3.sh", "./v4.sh")
    assert [(check.command, check.state, check.code) for check in verdict.checks] == [
        ("./v1.sh", "could-not-run", 0),
        ("./v2.sh", "fail", 1),
        ("./v3.sh", "could-not-run", 0),
        ("./v4.sh", "pass", 0),
    ]
    reasons = ["command not found: nosuchtool", "exit 1: 0 errors", "no tests ran", ""]
    assert [check.reason for check in verdict.checks] == reasons
    assert verdict.state == "fail"


def test_a_pipe_does_not_hide_a_missing_tool(verify: Verify, bin_folder: Path) -> None:
    command = "nosuchtool 2>&1 | tail -1"
    assert verify(command) == Verdict(
        state="could-not-run",
        checks=(
            result(
                command,
                "could-not-run",
                127,
                "logs/unit/verify-1.log",
                "command not found: nosuchtool",
            ),
        ),
    )


def test_all_checks_run_in_order_and_keep_their_logs(verify: Verify, tmp_path: Path, workspace: Path) -> None:
    (workspace / "Cargo.toml").touch()
    verdict = verify("echo one >>order; echo out; echo err >&2; exit 3", "cat order", "echo two >>order")
    assert verdict == Verdict(
        state="fail",
        checks=(
            result(
                "echo one >>order; echo out; echo err >&2; exit 3", "fail", 3, "logs/unit/verify-1.log", "exit 3: err"
            ),
            result("cat order", "pass", 0, "logs/unit/verify-2.log"),
            result("echo two >>order", "pass", 0, "logs/unit/verify-3.log"),
        ),
    )
    assert (tmp_path / "logs/unit/verify-1.log").read_text() == "out\nerr\n"
    assert (tmp_path / "logs/unit/verify-2.log").read_text() == "one\n"
    assert (workspace / "order").read_text() == "one\ntwo\n"


def test_an_earlier_log_is_not_judged_again(verify: Verify, tmp_path: Path) -> None:
    assert verify("echo collected 0 items").state == "could-not-run"
    assert verify("echo fine").state == "pass"
    assert (tmp_path / "logs/unit/verify-1.log").read_text() == "fine\n"


def test_only_the_end_of_a_log_is_judged(verify: Verify, workspace: Path) -> None:
    (workspace / "long").write_text("collected 0 items\n" + "x\n" * 40_000)
    assert verify("cat long").state == "pass"
    (workspace / "long").write_text("x\n" * 40_000 + "collected 0 items\n")
    assert verify("cat long").state == "could-not-run"


def test_the_environment_is_the_one_given(verify: Verify, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LEAKED", "1")
    assert verify('test -z "$LEAKED"; cat').state == "pass"


def test_no_check_at_all_is_absent(verify: Verify, tmp_path: Path) -> None:
    assert verify() == Verdict(state="absent")
    assert verify(" ") == Verdict(state="absent")
    assert not (tmp_path / "logs").exists()


def test_a_missing_workspace_is_an_error(verify: Verify, workspace: Path) -> None:
    workspace.rmdir()
    with pytest.raises(PrunError, match="there is no workspace at "):
        verify("true")


def test_markers_that_are_no_plain_files_are_not_read(verify: Verify, tmp_path: Path, workspace: Path) -> None:
    os.mkfifo(workspace / "package.json")
    os.mkfifo(tmp_path / "elsewhere")
    (workspace / "pyproject.toml").symlink_to(tmp_path / "elsewhere")
    (workspace / "tsconfig.json").symlink_to("/dev/zero")
    (workspace / "go.mod").mkdir()
    assert verify() == Verdict(state="absent")


def test_a_huge_marker_is_read_in_part(verify: Verify, workspace: Path) -> None:
    with open(workspace / "setup.cfg", "w") as target:
        target.write("[tool:pytest]\n")
        target.truncate(1 << 32)
    assert [check.command for check in verify().checks] == ["python3 -m pytest -q"]


def test_what_is_missing_is_named(verify: Verify, workspace: Path, bin_folder: Path) -> None:
    (workspace / "tsconfig.json").touch()
    (workspace / "go.mod").touch()
    script(bin_folder / "npx", 'echo "npx $*"')
    no_go = "go is not on PATH (install it, or declare another verify command)"
    no_tsc = (
        "node_modules/.bin/tsc is missing in the workspace "
        "(install the dependencies there, or declare another verify command)"
    )
    assert verify() == Verdict(
        state="could-not-run",
        checks=(
            result("npx --no-install tsc --noEmit", "could-not-run", None, "", no_tsc),
            result("go vet ./...", "could-not-run", None, "", no_go),
            result("go test ./...", "could-not-run", None, "", no_go),
        ),
    )


def test_every_language_found_is_checked(verify: Verify, tmp_path: Path, workspace: Path, bin_folder: Path) -> None:
    (workspace / "tsconfig.json").touch()
    (workspace / "pytest.ini").touch()
    (workspace / "node_modules/.bin").mkdir(parents=True)
    (workspace / "node_modules/.bin/tsc").touch()
    script(bin_folder / "npx", 'echo "npx $*"')
    script(bin_folder / "python3", 'echo "$0: No module named $2"; exit 1')
    assert verify() == Verdict(
        state="could-not-run",
        checks=(
            result("npx --no-install tsc --noEmit", "pass", 0, "logs/unit/verify-1.log"),
            result(
                "python3 -m pytest -q",
                "could-not-run",
                1,
                "logs/unit/verify-2.log",
                "command not found: pytest (a Python module)",
            ),
        ),
    )
    assert (tmp_path / "logs/unit/verify-1.log").read_text() == "npx --no-install tsc --noEmit\n"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "text", "state", "code"),
    [
        ("none.py", "", "could-not-run", 5),
        ("test_a.py", "def test_a(): pass\n", "pass", 0),
        ("test_a.py", "def test_a(): assert False\n", "fail", 1),
        ("test_a.py", "import nosuchmodule\n", "fail", 2),
        ("conftest.py", "x =\n", "fail", 4),
    ],
)
def test_real_pytest(
    verify: Verify, workspace: Path, bin_folder: Path, name: str, text: str, state: str, code: int
) -> None:
    script(bin_folder / "python3", f"exec '{sys.executable}' -B \"$@\"")
    (workspace / "pytest.ini").write_text("[pytest]\naddopts = -p no:cacheprovider\n")
    (workspace / name).write_text(text)
    (check,) = verify().checks
    assert (check.command, check.state, check.code) == ("python3 -m pytest -q", state, code)


def test_without_bash_the_plain_shell_serves(verify: Verify, tmp_path: Path, bin_folder: Path) -> None:
    (bin_folder / "bash").unlink()
    command = 'echo "$0 $#"; echo \'it"s\' | cat'
    assert verify(command, "exit 4").checks == (
        result(command, "pass", 0, "logs/unit/verify-1.log"),
        result("exit 4", "fail", 4, "logs/unit/verify-2.log", "exit 4"),
    )
    assert (tmp_path / "logs/unit/verify-1.log").read_text() == 'sh 1\nit"s\n'


def test_a_signal_is_a_failure(verify: Verify) -> None:
    assert verify("kill -KILL $$").checks == (
        result("kill -KILL $$", "fail", None, "logs/unit/verify-1.log", "killed by SIGKILL"),
    )


@pytest.mark.slow
def test_the_time_limit_ends_grandchildren_and_is_shared(verify: Verify, tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    os.mkfifo(alive)
    # Everything that holds the other end shows as "no end of file yet" here.
    reader = os.open(alive, os.O_RDONLY | os.O_NONBLOCK)
    try:
        verdict = verify(f"(echo up; exec sleep 600) >'{alive}' & wait", "echo never", timeout=2.0)
        assert os.read(reader, 100) == b"up\n"
        assert os.read(reader, 100) == b""
    finally:
        os.close(reader)
    assert verdict.state == "could-not-run"
    first, second = verdict.checks
    assert first.reason.startswith("stopped after 2")
    assert second == result(
        "echo never", "could-not-run", None, "", "no time was left of the 2 s that all checks share"
    )
    assert not (tmp_path / "logs/unit/verify-2.log").exists()


def test_a_request_to_stop_ends_the_check_and_the_rest(verify: Verify, tmp_path: Path) -> None:
    begun, stop = tmp_path / "begun", Stop()
    os.mkfifo(begun)

    def stop_when_begun() -> None:
        begun.read_bytes()
        stop.set()

    waiter = threading.Thread(target=stop_when_begun)
    waiter.start()
    verdict = verify(f"echo >'{begun}'; exec sleep 600", "echo never", stop=stop)
    waiter.join()
    assert [(check.state, check.reason) for check in verdict.checks] == [
        ("could-not-run", "stopped before its end"),
        ("could-not-run", "stopped before it began"),
    ]
    assert verdict.state == "could-not-run"


def test_a_script_whose_interpreter_is_missing_names_that(verify: Verify, workspace: Path) -> None:
    script(workspace / "there.sh", "nosuchtool")
    (workspace / "bad.sh").write_text("#!/no/such/interpreter -x\n")
    (workspace / "bad.sh").chmod(0o755)
    verdict = verify("./bad.sh", "./absent.sh", "./there.sh")
    assert [(check.state, check.code, check.reason) for check in verdict.checks] == [
        ("could-not-run", 127, "command not found: /no/such/interpreter (asked for by ./bad.sh)"),
        ("could-not-run", 127, "command not found: ./absent.sh"),
        ("could-not-run", 127, "command not found: nosuchtool"),
    ]


@pytest.fixture
def submodule(workspace: Path) -> Path:
    """Make the workspace one of a repository with a submodule, as a fresh clone has it."""
    (workspace / ".gitmodules").write_text('[submodule "lib"]\n\tpath = third party/lib\n\turl = ../lib\n')
    folder = workspace / "third party/lib"
    folder.mkdir(parents=True)
    return folder


def test_a_failure_without_a_submodule_is_no_verdict(verify: Verify, submodule: Path) -> None:
    verdict = verify("true", "echo 'error: lib.h is missing'; exit 2")
    assert (verdict.state, verdict.notes) == (
        "could-not-run",
        ("submodule third party/lib is not populated: it was checked without",),
    )
    assert verdict.reason == (
        "echo 'error: lib.h is missing'; exit 2: submodule third party/lib is not populated "
        "(exit 2: error: lib.h is missing)"
    )


def test_a_pass_without_a_submodule_stays_one(verify: Verify, submodule: Path) -> None:
    verdict = verify("true")
    assert (verdict.state, verdict.reason) == ("pass", "")
    assert verdict.notes == ("submodule third party/lib is not populated: it was checked without",)


@pytest.mark.parametrize("path", ["../outside", "/etc/opt", "gone", "linked"])
def test_what_only_looks_like_an_empty_submodule_changes_nothing(verify: Verify, workspace: Path, path: str) -> None:
    (workspace.parent / "outside").mkdir()
    (workspace / "linked").symlink_to(workspace.parent / "outside")
    (workspace / ".gitmodules").write_text(f'[submodule "x"]\n\tpath = {path}\n')
    verdict = verify("exit 3")
    assert (verdict.state, verdict.checks[0].reason, verdict.notes) == ("fail", "exit 3", ())


def test_a_submodule_that_the_check_populates_is_no_excuse(verify: Verify, submodule: Path) -> None:
    verdict = verify(f"echo x >'{submodule}/x'; exit 3")
    assert (verdict.state, verdict.checks[0].reason, verdict.notes) == ("fail", "exit 3", ())

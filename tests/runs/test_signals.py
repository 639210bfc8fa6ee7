"""What a signal to the coordinator of a run does: it stops cleanly, and nothing of the work is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gitprun.supervisor.process import ProcessIdentity, is_alive
from tests.support.cli import program_environment, prun, start_prun
from tests.support.processes import start_program
from tests.support.repos import Repo, make_repo
from tests.support.runs import events_of, unit_of

pytestmark = pytest.mark.slow

PLAN = """
[run]
verify = ["true"]
[[unit]]
id = "a"
prompt = "do a"
executor = "command"
command = ["sh", "-euc", "echo half >a.txt; echo start >>MARKS/starts; test -e MARKS/go || sleep 1000; echo x >a.txt"]
"""
# Starts a program on a terminal of its own, waits for a line on stdin, then closes the terminal.
TERMINAL = """
import os, pty, sys
pid, terminal = pty.fork()
if pid == 0:
    os.execv(sys.executable, [sys.executable, "-m", "gitprun", *sys.argv[1:]])
print(pid, flush=True)
sys.stdin.readline()
os.close(terminal)
print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), flush=True)
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = make_repo(tmp_path / "repo", a_dot_txt="1\n")
    made.git("config", "user.name", "Ada Author")
    made.git("config", "user.email", "ada@example.test")
    (tmp_path / "plan.toml").write_text(PLAN.replace("MARKS", str(tmp_path)))
    return made


def await_worker(repo: Repo, marks: Path) -> ProcessIdentity:
    """Wait until the worker has begun; gives its warden."""
    while True:
        rows = [event for event in events_of(repo, "a") if event.kind == "unit.started"]
        # The shell makes the file before it writes into it.
        if rows and (marks / "starts").exists() and (marks / "starts").read_text():
            return ProcessIdentity(**rows[-1].payload.as_json()["process"])


def require_stopped(repo: Repo, marks: Path, warden: ProcessIdentity) -> None:
    """Check that the run stopped cleanly, that its work is kept, and that it can be gone on with."""
    assert not is_alive(warden)
    unit = unit_of(repo, "a")
    assert (unit.state, repo.files("refs/prun/r1/a")) == ("stopped", {"a.txt": "half"})
    last = repo.ledger.read().history.last
    assert last is not None
    assert last.ended is not None
    (marks / "go").touch()
    said = prun(repo.path, "run", "--resume")
    assert said.code == 0, said.err
    assert repo.files("refs/prun/r1/a") == {"a.txt": "x"}
    assert repo.files("refs/prun/kept/r1/a/attempt-1") == {"a.txt": "half"}
    assert (marks / "starts").read_text() == "start\n" * 2
    assert prun(repo.path, "ledger", "verify").code == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_signal_stops_the_run_and_keeps_the_work(repo: Repo, tmp_path: Path, number: signal.Signals) -> None:
    running = start_prun(repo.path, "run", "../plan.toml")
    warden = await_worker(repo, tmp_path)
    running.send_signal(number)
    err = running.communicate(timeout=60)[1].decode()
    assert running.returncode == 128 + number
    assert err.splitlines()[-2:] == [
        "error: stopped; what was done is kept in run r1",
        "hint: git prun run --resume r1 goes on with it",
    ]
    require_stopped(repo, tmp_path, warden)


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_closed_terminal_stops_the_run_and_keeps_the_work(repo: Repo, tmp_path: Path, options: list[str]) -> None:
    argv = [sys.executable, "-c", TERMINAL, "run", "../plan.toml", *options]
    with subprocess.Popen(
        argv, cwd=repo.path, env=program_environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as terminal:
        assert terminal.stdout is not None
        assert terminal.stdout.readline()
        warden = await_worker(repo, tmp_path)
        # With the terminal go all its readers: what is said from now on nobody hears, and that is no error.
        code = terminal.communicate(b"close\n", timeout=60)[0].decode().strip()
    assert code == str(128 + signal.SIGHUP)
    require_stopped(repo, tmp_path, warden)


def test_a_hangup_of_the_whole_group_reaches_no_worker_but_through_the_run(repo: Repo, tmp_path: Path) -> None:
    running = start_program(
        [sys.executable, "-m", "gitprun", "run", "../plan.toml"],
        cwd=repo.path,
        env=program_environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    warden = await_worker(repo, tmp_path)
    os.killpg(running.pid, signal.SIGHUP)
    assert running.wait(timeout=60) == 128 + signal.SIGHUP
    require_stopped(repo, tmp_path, warden)


def test_a_run_that_ignores_hangups_outlives_its_terminal(repo: Repo, tmp_path: Path) -> None:
    running = start_program(
        ["nohup", sys.executable, "-m", "gitprun", "run", "../plan.toml"],
        cwd=repo.path,
        env=program_environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    warden = await_worker(repo, tmp_path)
    running.send_signal(signal.SIGHUP)
    assert (running.poll(), is_alive(warden)) == (None, True)
    running.send_signal(signal.SIGTERM)
    assert running.wait(timeout=60) == 128 + signal.SIGTERM
    require_stopped(repo, tmp_path, warden)

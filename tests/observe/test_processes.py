"""Who lives is told by recorded identity; names only count strays."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from gitprun.observe.processes import Process, count_runaway, has_worker, is_codex, live_identity, probe_processes
from gitprun.supervisor.process import probe_identity
from tests.support.processes import start_program
from tests.support.scene import PAIR, end_session, wait_for_child


@pytest.mark.parametrize(
    ("line", "codex"),
    [
        ("codex exec --json -", True),
        ("/opt/codex/bin/codex resume abc", True),
        ("node /usr/lib/node_modules/@openai/codex/bin/codex.js exec", True),
        ("/usr/bin/node /usr/local/bin/codex exec", True),
        ("vim codex", False),
        ("sh -c codex exec", False),
        ("grep codex exec", False),
        ("python monitor.py codex", False),
        ("codex-wrapper run", False),
        ("node server.js codex", False),
        ("", False),
    ],
)
def test_what_is_codex(line: str, codex: bool) -> None:
    assert is_codex([word.encode() for word in line.split(" ")]) is codex


@pytest.fixture
def codex(tmp_path: Path) -> Path:
    """Make a program named codex that does nothing for long."""
    sleep = shutil.which("sleep")
    assert sleep is not None
    (tmp_path / "codex").symlink_to(sleep)
    return tmp_path / "codex"


@pytest.fixture
def sessions() -> Iterator[list[subprocess.Popen[bytes]]]:
    started: list[subprocess.Popen[bytes]] = []
    yield started
    for process in started:
        end_session(process)


def start(argv: list[str], env: dict[str, str] | None = None) -> subprocess.Popen[bytes]:
    return start_program(argv, env={**os.environ, **(env or {})}, start_new_session=True)


def ours(sessions: list[subprocess.Popen[bytes]]) -> dict[int, Process]:
    """List the processes we started; the machine may have a codex of its own."""
    everything, leaders = probe_processes() or {}, {process.pid for process in sessions}
    found = {}
    for pid, process in everything.items():
        above = pid
        while above not in leaders and above in everything:
            above = everything[above].parent
        if above in leaders:
            found[pid] = process
    return found


def strays(sessions: list[subprocess.Popen[bytes]], expected: int, wardens: tuple[int, ...] = ()) -> int:
    """Count strays, waiting for processes that are still becoming what they are to be."""
    deadline = time.monotonic() + 60
    while (count := count_runaway(ours(sessions), wardens)) != expected and time.monotonic() < deadline:
        os.sched_yield()
    return count


def test_codex_processes_of_no_unit_are_counted(codex: Path, sessions: list[subprocess.Popen[bytes]]) -> None:
    sessions += [start([str(codex), "600"]) for _ in range(3)]
    assert strays(sessions, 3) == 3
    assert [process.poll() for process in sessions] == [None] * 3


def test_a_launcher_and_its_program_count_once(codex: Path, sessions: list[subprocess.Popen[bytes]]) -> None:
    sessions.append(start(["bash", "-c", f'exec -a codex bash -c "{codex} 600 & wait"']))
    wait_for_child(sessions[0].pid)
    assert strays(sessions, 1) == 1
    assert len(ours(sessions)) == 2


def test_workers_of_units_are_no_strays(codex: Path, sessions: list[subprocess.Popen[bytes]]) -> None:
    sessions += [start(["sh", "-c", f"{codex} 600 & wait"]), start([str(codex), "600"], {"PRUN_UNIT": "alpha"})]
    wait_for_child(sessions[0].pid)
    assert strays(sessions, 1) == 1
    assert strays(sessions, 0, (sessions[0].pid,)) == 0


def test_where_the_system_tells_nothing_nothing_is_counted() -> None:
    assert count_runaway(None, ()) == 0
    assert has_worker(1, None)


def test_living_is_the_very_process(sessions: list[subprocess.Popen[bytes]]) -> None:
    sessions.append(start(["sh", "-c", PAIR]))
    wait_for_child(sessions[0].pid)
    who = probe_identity(sessions[0].pid)
    assert who is not None
    assert live_identity(who) == who
    assert live_identity(replace(who, start="1")) is None
    assert live_identity(replace(who, boot="another")) is None
    assert live_identity(None) is None
    assert has_worker(who.pid, probe_processes())
    assert not has_worker(who.pid, {who.pid: (probe_processes() or {})[who.pid]})

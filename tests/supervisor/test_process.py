"""Real processes under a warden: how they end, and that nothing of theirs stays behind."""

from __future__ import annotations

import marshal
import os
import shutil
import signal
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, TextIO

import pytest

from gitprun.model.units import Exit
from gitprun.supervisor.process import (
    ProcessIdentity,
    ProcessLimits,
    ProcessSpec,
    Stop,
    is_alive,
    probe_identity,
    read_exit,
    run,
)
from tests.support.bench import Bench
from tests.support.processes import start_program

LINUX = sys.platform.startswith("linux")
needs_linux = pytest.mark.skipif(not LINUX, reason="orphans are only followed on Linux")


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def plain(ended: Exit) -> Exit:
    """Take the time out, which no two runs share."""
    assert 0 <= ended.seconds < 30
    return replace(ended, seconds=0.0)


def exited(code: int, leftovers: int = 0) -> Exit:
    return Exit(code=code, signal=None, reason="exited", seconds=0.0, leftovers=leftovers)


def gone(pid: int) -> bool:
    return probe_identity(pid) is None


@pytest.mark.parametrize("code", [0, 1, 7, 127, 255])
def test_exit_codes(bench: Bench, code: int) -> None:
    ended = plain(bench.sh(f"exit {code}"))
    assert ended == exited(code)
    assert ended.shell_code == code


def test_a_worker_ended_by_a_signal(bench: Bench) -> None:
    ended = plain(bench.sh("kill -TERM $$"))
    assert ended == Exit(code=None, signal=signal.SIGTERM, reason="exited", seconds=0.0)
    assert ended.shell_code == 143


def test_programs_that_cannot_be_started(bench: Bench) -> None:
    (bench.path / "plain").write_text("no program")
    script = bench.path / "script"
    script.write_text("#!/no/such/interpreter\n")
    script.chmod(0o755)
    binary = bench.path / "binary"
    binary.write_bytes(b"\x7fELF nonsense")
    binary.chmod(0o755)
    expected = {
        "no-such-program": "no-such-program: No such file or directory",
        "./plain": "./plain: Permission denied",
        "./script": "./script: the interpreter named in its first line is missing",
        "./binary": "./binary: Exec format error",
    }
    for program, detail in expected.items():
        ended = plain(bench.run([program]))
        assert ended == Exit(code=None, signal=None, reason="not-started", seconds=0.0, detail=detail)
        assert ended.shell_code == 127
    assert bench.run(["nul\0inside"]).reason == "not-started"


def test_folders_and_files_that_are_not_there(bench: Bench) -> None:
    missing = bench.path / "gone"
    limits = ProcessLimits(timeout=5.0, grace=0.1)
    ended = run(ProcessSpec(argv=["true"], cwd=missing, env={}, stdout=bench.path / "out"), limits)
    assert (ended.reason, ended.detail) == ("not-started", f"{missing}: No such file or directory")
    ended = run(ProcessSpec(argv=["true"], cwd=bench.path, env={}, stdout=missing / "out"), limits)
    assert (ended.reason, ended.detail) == ("not-started", f"{missing}/out: No such file or directory")


TREE = """
sleep 1000 & echo $! >>pids
setsid sleep 1000 & echo $! >>pids
( ( sleep 1000 & echo $! >>pids ) & )
(trap '' INT TERM HUP; setsid sh -c 'echo $$ >>pids; sleep 1000') &
echo $$ >>pids
"""
WAIT_FOR_FIVE = "while [ $(wc -l <pids) -lt 5 ]; do sleep 0.01; done\n"


@pytest.mark.slow
@needs_linux
def test_a_timeout_ends_children_sessions_and_daemons(bench: Bench) -> None:
    ended = plain(bench.sh(TREE + WAIT_FOR_FIVE + "wait", timeout=4.0))
    assert (ended.reason, ended.code, ended.signal) == ("timeout", None, signal.SIGINT)
    assert ended.shell_code == 124
    pids = bench.pids()
    assert len(pids) == 5
    assert [pid for pid in pids if not gone(pid)] == []


@needs_linux
def test_what_a_worker_leaves_behind_is_ended_and_counted(bench: Bench) -> None:
    ended = plain(bench.sh(TREE + WAIT_FOR_FIVE + "echo done"))
    pids = bench.pids()
    assert [pid for pid in pids if not gone(pid)] == []
    # The four sleepers, and the shell that ignores signals and waits for the last of them.
    assert replace(ended, leftovers=0) == exited(0)
    assert ended.leftovers in (4, 5)
    assert bench.out == b"done\n"


@needs_linux
def test_a_child_that_holds_stdout_does_not_hold_us(bench: Bench) -> None:
    assert plain(bench.sh("sleep 1000 & echo done")) == exited(0, leftovers=1)
    assert bench.out == b"done\n"


def test_a_worker_that_ignores_signals_is_killed(bench: Bench) -> None:
    ended = plain(bench.sh("trap '' INT TERM HUP; while :; do sleep 0.01; done", timeout=0.5, grace=0.05))
    assert replace(ended, leftovers=0) == Exit(code=None, signal=signal.SIGKILL, reason="timeout", seconds=0.0)


@pytest.mark.slow
def test_a_worker_may_end_in_its_own_way(bench: Bench) -> None:
    ended = bench.sh("trap 'echo saved; exit 5' INT; echo ready; while :; do sleep 0.01; done", timeout=2.0, grace=60.0)
    assert (ended.reason, ended.code) == ("timeout", 5)
    assert bench.out == b"ready\nsaved\n"


@contextmanager
def heard(bench: Bench, name: str = "ready") -> Iterator[TextIO]:
    """Give the reading end of a fifo; it is open before anybody writes and never ends, so nobody waits for nobody."""
    with open(os.open(bench.fifo(name), os.O_RDWR)) as source:
        yield source


def stop_when_ready(ready: TextIO, stop: Stop, times: int = 1) -> threading.Thread:
    """Set the stop from another thread when the worker says that it is ready, again after each further line."""

    def watch() -> None:
        for _ in range(times):
            ready.readline()
            stop.set()

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    return thread


def test_a_stop_from_another_thread(bench: Bench) -> None:
    stop = Stop()
    with heard(bench) as ready:
        thread = stop_when_ready(ready, stop)
        ended = plain(
            bench.sh("trap 'exit 3' INT; echo go >ready; while :; do sleep 0.01; done", stop=stop, grace=10.0)
        )
        thread.join()
    assert replace(ended, leftovers=0) == Exit(code=3, signal=None, reason="stopped", seconds=0.0)


def test_a_second_stop_goes_to_the_end_of_the_ladder(bench: Bench) -> None:
    stop = Stop()
    script = """
    exec 3>ready
    trap 'echo int >&3' INT
    trap 'echo term >term' TERM
    echo go >&3
    while :; do sleep 0.01; done
    """
    with heard(bench) as ready:
        thread = stop_when_ready(ready, stop, times=2)
        ended = plain(bench.sh(script, stop=stop, grace=1000.0))
        # The end may have come before the worker could say what it heard.
        (bench.path / "ready").write_text("over\n" * 3)
        thread.join()
    assert replace(ended, leftovers=0) == Exit(code=None, signal=signal.SIGKILL, reason="stopped", seconds=0.0)
    assert not (bench.path / "term").exists()


def test_a_stop_that_came_before_starts_nothing(bench: Bench) -> None:
    stop = Stop()
    stop.set()
    assert bench.sh("touch ran", stop=stop) == Exit(code=None, signal=None, reason="stopped", seconds=0.0)
    assert sorted(os.listdir(bench.path)) == ["record"]


def test_a_stop_reaches_everything_that_runs(tmp_path: Path) -> None:
    benches = [Bench(tmp_path / name) for name in ("a", "b", "c") if (tmp_path / name).mkdir() is None]
    stop, ends = Stop(), list[Exit]()
    with heard(benches[0]) as ready:
        script = f"echo go >{tmp_path}/a/ready; sleep 1000"
        threads = [threading.Thread(target=lambda b=b: ends.append(b.sh(script, stop=stop))) for b in benches]
        for thread in threads:
            thread.start()
        assert [ready.readline() for _ in threads] == ["go\n"] * 3
        stop.set()
        for thread in threads:
            thread.join()
    assert [ended.reason for ended in ends] == ["stopped"] * 3


def test_output_is_kept_byte_for_byte(bench: Bench) -> None:
    (bench.path / "out").write_bytes(b"before\n")
    bench.sh(r"printf 'caf\351 \355\240\200 nul:\000 \033]0;pwned\007\n'; printf 'err\n' >&2")
    assert bench.out == b"before\ncaf\xe9 \xed\xa0\x80 nul:\x00 \x1b]0;pwned\x07\nerr\n"


def test_streams_can_be_kept_apart(bench: Bench) -> None:
    bench.sh("echo out; echo err >&2", stderr=bench.path / "err")
    assert (bench.out, (bench.path / "err").read_bytes()) == (b"out\n", b"err\n")


def test_much_output_blocks_nobody(bench: Bench) -> None:
    script = "head -c 300000 /dev/zero >&2; head -c 8000000 /dev/zero; printf 'step 1/3\\rstep 2/3\\r'"
    assert plain(bench.sh(script)) == exited(0)
    assert len(bench.out) == 8_300_018


PROMPTS = {
    "big": b"p" * 140_000,
    "dashes": b"--version\n-x\n",
    "shell": b"say $(touch pwned) `touch pwned` \"quote\" 'single' \\ back %s\n",
    "crlf": b"a\r\nb\r\n",
    "bytes": bytes(range(256)),
}


@pytest.mark.parametrize("name", PROMPTS)
def test_stdin_arrives_unchanged_and_ends(bench: Bench, name: str) -> None:
    assert plain(bench.run(["cat"], stdin=PROMPTS[name])) == exited(0)
    assert bench.out == PROMPTS[name]
    assert not (bench.path / "pwned").exists()


def test_without_stdin_there_is_an_end_at_once(bench: Bench) -> None:
    assert plain(bench.sh("cat; echo over")) == exited(0)
    assert bench.out == b"over\n"


def test_workers_see_nothing_of_git_and_prun(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GIT_DIR", "GIT_INDEX_FILE", "GIT_WORK_TREE", "PRUN_RUN"):
        monkeypatch.setenv(name, "/outer")
    monkeypatch.setenv("KEPT", "1")
    bench.run(["env"], env={"PRUN_UNIT": "a", "ODD": "caf\udce9"})
    rows = dict(line.split(b"=", 1) for line in bench.out.splitlines())
    assert {name for name in rows if name.startswith((b"GIT_", b"PRUN_"))} == {b"PRUN_UNIT", b"PRUN_MARK"}
    assert (rows[b"KEPT"], rows[b"PRUN_UNIT"], rows[b"ODD"]) == (b"1", b"a", b"caf\xe9")


def test_the_environment_lies_on_disk_for_its_owner_only_and_not_for_long(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: dict[str, int] = {}
    start = subprocess.Popen

    def spying(argv: list[str], **rest: Any) -> subprocess.Popen[bytes]:
        for name in ("spec", "stdin"):
            seen[name] = stat.S_IMODE((bench.record / name).stat().st_mode)
        assert marshal.loads((bench.record / "spec").read_bytes())["env"]["SECRET"] == "s"
        return start(argv, **rest)

    monkeypatch.setattr(subprocess, "Popen", spying)
    before = os.umask(0o022)
    try:
        # The worker itself no longer finds them.
        bench.sh("cat; ls record", env={"SECRET": "s"}, stdin=b"hello\n", record=bench.record)
    finally:
        os.umask(before)
    assert seen == {"spec": 0o600, "stdin": 0o600}
    assert bench.out == b"hello\nexit.json.part\n"
    assert os.listdir(bench.record) == ["exit.json"]


def test_the_exit_record_is_read_back(bench: Bench) -> None:
    ended = bench.sh("exit 4", record=bench.record)
    assert read_exit(bench.record / "exit.json") == ended
    (bench.record / "exit.json").write_text("{")
    assert read_exit(bench.record / "exit.json") is None
    assert read_exit(bench.record / "none") is None


def test_an_old_exit_record_is_not_believed(bench: Bench) -> None:
    bench.sh("exit 4", record=bench.record)
    ended = bench.sh("kill -KILL $PPID; exec sleep 1000", record=bench.record)
    # Its worker may still be dying.
    assert replace(ended, leftovers=0) == Exit(
        code=None,
        signal=None,
        reason="stopped",
        seconds=0.0,
        detail="the warden process was killed, and the worker with it",
    )


@needs_linux
def test_a_worker_does_not_outlive_its_warden(bench: Bench) -> None:
    # Opened for reading without waiting; it ends when the last process that holds the other end is gone.
    with open(os.open(bench.fifo("held"), os.O_RDONLY | os.O_NONBLOCK), "rb") as held:
        bench.sh("exec 3>held; echo held >&3; kill -KILL $PPID; exec sleep 1000")
        os.set_blocking(held.fileno(), True)
        assert held.read() == b"held\n"


def test_a_failing_listener_leaves_no_worker_behind(bench: Bench) -> None:
    def fail(_identity: ProcessIdentity | None) -> None:
        raise RuntimeError("ledger")

    with pytest.raises(RuntimeError, match="ledger"):
        bench.sh("echo $$ >pids; sleep 1000", started=fail, record=bench.record)
    if (bench.path / "pids").exists():
        assert [pid for pid in bench.pids() if not gone(pid)] == []
    assert set(os.listdir(bench.record)) <= {"exit.json"}


def test_who_is_alive() -> None:
    me = probe_identity(os.getpid())
    assert me is not None
    assert is_alive(me)
    assert me.pid == os.getpid()


def test_a_recycled_pid_is_somebody_else() -> None:
    me = probe_identity(os.getpid())
    assert me is not None
    assert not is_alive(replace(me, start="1"))
    assert not is_alive(replace(me, boot="another"))
    assert not is_alive(ProcessIdentity(1, "1", me.boot))


def test_the_dead_are_gone() -> None:
    process = start_program([shutil.which("true") or "true"])
    identity = probe_identity(process.pid)
    # Not yet waited for it is a zombie, which counts as gone too.
    os.waitid(os.P_PID, process.pid, os.WEXITED | os.WNOWAIT)
    assert probe_identity(process.pid) is None
    process.wait()
    assert identity is None or not is_alive(identity)


def test_the_warden_is_announced(bench: Bench) -> None:
    heard: list[ProcessIdentity | None] = []
    bench.sh("echo $PPID", started=heard.append)
    assert [identity.pid for identity in heard if identity] == [int(bench.out)]

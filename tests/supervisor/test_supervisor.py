"""What a warden costs, and what no clock and no end of its coordinator can do to it."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gitprun.supervisor import exit_record, process
from gitprun.supervisor.exit_record import Record, render_json
from gitprun.supervisor.process import (
    ProcessIdentity,
    ProcessLimits,
    ProcessSpec,
    Stop,
    is_alive,
    new_mark,
    run,
    worker_environment,
)
from tests.support.bench import Bench
from tests.support.processes import start_program

LINUX = sys.platform.startswith("linux")
needs_linux = pytest.mark.skipif(not LINUX, reason="/proc tells")
MEGABYTES = 1_000_000


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


@contextmanager
def idle_wardens(path: Path, count: int) -> Iterator[list[ProcessIdentity]]:
    """Have so many wardens wait for workers that do nothing; all are ended with the block."""
    stop, there, ready = Stop(), list[ProcessIdentity](), threading.Event()
    gate = path / "gate"
    os.mkfifo(gate)
    with open(os.open(gate, os.O_RDWR | os.O_NONBLOCK), "rb", buffering=0) as started:
        os.set_blocking(started.fileno(), True)

        def heard(identity: ProcessIdentity | None) -> None:
            assert identity is not None
            there.append(identity)

        def work(number: int) -> None:
            record = path / str(number)
            record.mkdir()
            env = worker_environment({f"VARIABLE_{n}": "x" * 100 for n in range(50)})
            argv = ["sh", "-c", f"echo -n x >{gate}; exec sleep 1000"]
            program = ProcessSpec(argv=argv, cwd=path, env=env, stdout=record / "out")
            run(program, ProcessLimits(timeout=600.0, grace=0.2), stop=stop, record=record, started=heard)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        try:
            for _ in threads:
                started.read(1)
            ready.wait(0.5)
            yield there
        finally:
            stop.set()
            for thread in threads:
                thread.join()


def private_memory(pid: int) -> int:
    """Give the bytes a process has for itself alone."""
    rows = Path(f"/proc/{pid}/smaps_rollup").read_text()
    return 1024 * sum(int(kb) for kb in re.findall(r"^Private_(?:Clean|Dirty):\s+(\d+) kB$", rows, re.MULTILINE))


def processor_time(pids: list[int]) -> float:
    """Give the seconds these processes have worked."""
    ticks = 0
    for pid in pids:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


@needs_linux
def test_a_warden_takes_little_memory(tmp_path: Path) -> None:
    with idle_wardens(tmp_path, 16) as wardens:
        used = sorted(private_memory(who.pid) for who in wardens)
    assert used[-1] < 3.1 * MEGABYTES
    assert used[len(used) // 2] < 3 * MEGABYTES


def share_of_processor(pids: list[int], seconds: float) -> float:
    """Give the share of one processor that processes use for a while."""
    before, began = processor_time(pids), time.monotonic()
    threading.Event().wait(seconds)
    return (processor_time(pids) - before) / (time.monotonic() - began)


@pytest.mark.kill
@needs_linux
def test_two_hundred_wardens_cost_next_to_nothing(tmp_path: Path) -> None:
    with idle_wardens(tmp_path, 200) as wardens:
        pids = [who.pid for who in wardens]
        # On a busy machine some still begin while the first of these passes; at rest they stay.
        shares = (share_of_processor(pids, 5.0) for _ in range(6))
        least = next((share for share in shares if share < 0.01), 1.0)
        used = sorted(map(private_memory, pids))
    assert least < 0.01
    assert used[-1] < 3.1 * MEGABYTES


@pytest.mark.parametrize("names", ["os", "json", "ctypes", "io, os, threading, subprocess"])
def test_a_warden_loads_nothing_large(names: str) -> None:
    asked = "[name for name in sys.argv[2].split(', ') if name in sys.modules]"
    script = f"import sys; sys.path.insert(0, sys.argv[1]); import supervisor; print({asked})"
    folder = str(Path(process.__file__).parent)
    argv = [sys.executable, "-I", "-S", "-c", script, folder, names]
    loaded = subprocess.run(argv, capture_output=True, text=True, check=True).stdout
    assert loaded == ("['io']\n" if "io" in names.split(", ") else "[]\n")


SET_CLOCK = """
import itertools, time
real, steps = time.time, itertools.cycle([3600, -3600, 0])
time.time = lambda: real() + next(steps)
"""


@pytest.fixture
def set_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Set the wall clock of wardens by an hour, forth and back, whenever they look."""
    monkeypatch.setattr(process, "SUPERVISOR", SET_CLOCK + process.SUPERVISOR)


@pytest.mark.usefixtures("set_clock")
def test_no_setting_of_the_clock_ends_a_worker(bench: Bench) -> None:
    ended = bench.sh("exit 4", timeout=60.0)
    assert (ended.reason, ended.code) == ("exited", 4)
    assert 0 <= ended.seconds < 30


@pytest.mark.usefixtures("set_clock")
def test_no_setting_of_the_clock_puts_a_time_limit_off(bench: Bench) -> None:
    ended = bench.sh("exec sleep 1000", timeout=0.3)
    assert ended.reason == "timeout"
    assert 0.3 <= ended.seconds < 10


COORDINATOR = """
import sys
from pathlib import Path
from gitprun.supervisor.process import ProcessLimits, ProcessSpec, run, worker_environment
path = Path(sys.argv[1])
record = path / "record" if sys.argv[2] == "kept" else None
argv = ["sh", "-c", "echo $PPID >ready; exec sleep 1000"]
program = ProcessSpec(argv=argv, cwd=path, env=worker_environment({}), stdout=path / "out")
run(program, ProcessLimits(timeout=600.0, grace=0.1), record=record)
"""


def coordinator_that_is_killed(bench: Bench, which: str) -> ProcessIdentity:
    """Start a coordinator, kill it while its worker runs, and give who its warden is."""
    ready = bench.fifo("ready")
    scratch = bench.path / "tmp"
    scratch.mkdir()
    with open(os.open(ready, os.O_RDWR)) as started:
        argv = [sys.executable, "-c", COORDINATOR, str(bench.path), which]
        root = Path(__file__).resolve().parents[2]
        env = {**os.environ, "TMPDIR": str(scratch), "PYTHONPATH": str(root)}
        coordinator = start_program(argv, env=env)
        warden = process.probe_identity(int(started.readline()))
        coordinator.kill()
        coordinator.wait()
    assert warden is not None
    return warden


@needs_linux
def test_who_has_no_record_does_not_outlive_its_coordinator(bench: Bench) -> None:
    warden = coordinator_that_is_killed(bench, "none")
    process.wait_for_stranger(warden, Stop())
    assert bench.inhabitants() == []
    # Nobody will come back for it.
    assert os.listdir(bench.path / "tmp") == []


@needs_linux
def test_who_has_a_record_does(bench: Bench) -> None:
    warden = coordinator_that_is_killed(bench, "kept")
    assert is_alive(warden)
    stop = Stop()
    stop.set()
    process.wait_for_stranger(warden, stop)
    ended = process.read_exit(bench.record / "exit.json")
    assert ended is not None
    assert (ended.reason, ended.signal, ended.survivors) == ("stopped", 2, ())
    assert bench.inhabitants() == []


def test_marks_are_handed_down(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    mark = new_mark()
    monkeypatch.setenv("PRUN_MARK", "outer")
    bench.sh("echo $PRUN_MARK", mark=mark)
    assert bench.out == f"outer:{mark}\n".encode()


def test_a_record_waits_for_space(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pauses: list[float] = []
    problems = [OSError(28, "No space left on device"), OSError(5, "Input/output error")]
    sync = os.fsync

    def failing(descriptor: int) -> None:
        if problems:
            raise problems.pop()
        sync(descriptor)

    monkeypatch.setattr(exit_record.os, "fsync", failing)
    record = Record(str(tmp_path / "exit.json"))
    assert record.note({"mark": "m"})
    assert (tmp_path / "exit.json.part").stat().st_size == 4096
    record.put({"code": 0}, lambda pause: pauses.append(pause) is None)
    assert (tmp_path / "exit.json").read_text() == '{"code": 0}'
    assert (os.listdir(tmp_path), pauses) == (["exit.json"], [0.05, 0.1])


def test_a_record_is_given_up_only_on_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(exit_record.os, "fsync", full)
    record = Record(str(tmp_path / "exit.json"))
    with pytest.raises(OSError, match="No space"):
        record.put({"code": 0}, lambda _: False)
    # Never a record that says more than is on disk.
    assert not (tmp_path / "exit.json").exists()


def test_plain_values_are_written_as_json() -> None:
    import json

    value = {"a": [1, 2.5, True, False, None], "b": 'q"\\\n\u20ac\U0001f600', "c": {"d": []}}
    assert json.loads(render_json(value)) == {**value, "b": 'q"\\\n\u20ac\ufffd'}

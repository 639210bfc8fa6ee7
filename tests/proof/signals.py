"""Ctrl-C as terminals, git and machines send it: in the middle of a lock, through ``git``, by thousands."""

from __future__ import annotations

import os
import pty
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from gitprun.supervisor.process import is_alive
from tests.proof.plans import sh, write_plan
from tests.proof.rows import Row, Size
from tests.support.cli import ROOT, program_environment, start_prun
from tests.support.repos import Repo, make_repo

# Double signals in process, presses at a terminal, bursts.
COUNTS = {"quick": (20, 2, 1), "ci": (500, 60, 30), "full": (2000, 120, 60)}
BURST = 4000
# INT, TERM, KILL with a second between them, the capture, and a busy machine.
LADDER = 20.0

# The main thread takes the stop's own locks all the time, so that nearly every signal comes in the middle of one.
DOUBLE = """
import os, signal, sys, threading, time
from gitprun.cli.signals import signals_stop
from gitprun.system.stop import Stop
for number in range(int(sys.argv[1])):
    stop = Stop()
    def send():
        for _ in range(2): os.kill(os.getpid(), (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)[number % 3])
    with signals_stop(stop, quiet=True) as caught:
        thread = threading.Thread(target=send)
        thread.start()
        while not stop.is_set():
            with stop.heard_by(lambda: None): stop.wait(0.00001)
        thread.join()
    assert len(caught) == stop.presses == 1, caught
    print(number, flush=True)
"""


def signals(folder: Path, size: Size) -> Row:
    """Send signals in all three ways; each time everything must end by itself."""
    doubles, presses, bursts = COUNTS[size]
    folder.mkdir(parents=True, exist_ok=True)
    faults = list(_doubles(doubles))
    repo = make_repo(folder / "user", a_dot_txt="1\n")
    units = {"sleeper": sh(f"echo half >half.txt; echo >{folder}/begun; sleep 1000")}
    plan = str(write_plan(folder, units, 'run.grace = "1s"'))
    for number in range(presses):
        faults += [f"press {number}: {fault}" for fault in _press(repo, folder, plan)]
    for number in range(bursts):
        faults += [f"burst {number}: {fault}" for fault in _burst(repo, folder, plan)]
    return Row(
        trial=f"{doubles} double signals in process; {presses} Ctrl-C through a terminal and git; "
        f"{bursts} bursts of {BURST:,} signals",
        must="each ends within the ladder, its worker with it, the work captured",
        found=f"{doubles + presses + bursts} tries, {len(faults)} faults",
        faults=tuple(faults),
    )


def _doubles(count: int) -> Iterator[str]:
    argv = [sys.executable, "-c", DOUBLE, str(count)]
    try:
        done = subprocess.run(argv, env=program_environment(), capture_output=True, check=False, timeout=120 + count)
    except subprocess.TimeoutExpired as late:
        yield f"double signal {len((late.stdout or b'').split())}: it hangs"
        return
    if done.returncode != 0:
        yield f"double signal {len(done.stdout.split())}: {done.stderr.decode()[-300:]}"


def _press(repo: Repo, folder: Path, plan: str) -> Iterator[str]:
    """Press Ctrl-C once at a terminal in which the real git runs ``git prun run``."""
    program = folder / "bin" / "git-prun"
    if not program.exists():
        program.parent.mkdir()
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m gitprun "$@"\n')
        program.chmod(0o755)
    (folder / "begun").unlink(missing_ok=True)
    pid, terminal = pty.fork()
    if pid == 0:
        env = program_environment({"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)})
        os.chdir(repo.path)
        os.execvpe("git", ["git", "prun", "run", plan], env)
    try:
        said, pressed = b"", 0.0
        deadline = time.monotonic() + LADDER
        while time.monotonic() < deadline:
            if not pressed and (folder / "begun").exists():
                os.write(terminal, b"\x03")
                pressed, deadline = time.monotonic(), time.monotonic() + LADDER
            if select.select([terminal], [], [], 0.05)[0]:
                try:
                    said += os.read(terminal, 1 << 16)
                except OSError:
                    break
        else:
            yield f"it did not end within {LADDER:g} s" if pressed else "the worker did not begin"
            os.kill(pid, signal.SIGKILL)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if code not in (130, -signal.SIGINT):
            yield f"exit code {code}"
        if said.count(b"stopping (press again to kill)") != 1:
            yield f"it said {said[-300:]!r}"
        yield from _left(repo)
    finally:
        os.close(terminal)


def _burst(repo: Repo, folder: Path, plan: str) -> Iterator[str]:
    """Send thousands of signals in quick succession."""
    (folder / "begun").unlink(missing_ok=True)
    running = start_prun(repo.path, "run", plan)
    while not (folder / "begun").exists() and running.poll() is None:
        time.sleep(0.01)
    for _ in range(BURST):
        running.send_signal(signal.SIGINT)
    try:
        running.communicate(timeout=LADDER)
    except subprocess.TimeoutExpired:
        yield f"it did not end within {LADDER:g} s"
        running.kill()
        running.communicate()
    if running.returncode != 128 + signal.SIGINT:
        yield f"exit code {running.returncode}"
    yield from _left(repo)


def _left(repo: Repo) -> Iterator[str]:
    """Name what a stopped run should not leave, and what it should and did not."""
    run = repo.ledger.read().history.last
    if run is None or run.ended is None:
        yield "the run has no end"
        return
    unit = run.units["sleeper"]
    if unit.state != "stopped" or repo.files(f"refs/prun/{run.id}/sleeper").get("half.txt") != "half":
        yield f"the work of {run.id} is not captured: {unit.state}"
    if unit.process is not None and is_alive(unit.process):
        yield "the warden still lives"

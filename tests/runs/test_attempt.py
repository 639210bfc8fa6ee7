"""The same questions to all three uses of a worker: one pipeline answers, so what one has all have."""

from __future__ import annotations

import json
import os
import shlex
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitprun.ledger.unit_events import UnitStarted
from gitprun.model.units import Exit, Unit
from gitprun.runs import worker
from gitprun.supervisor.process import Stop, await_end, probe_identity
from tests.support.alarm import LeapingClock, StuckClock
from tests.support.cases import crossed, slow
from tests.support.cli import prun, start_prun
from tests.support.codex import codex, completed, failed, scripted, starts
from tests.support.processes import start_program
from tests.support.repos import Repo, make_repo_for_workers
from tests.support.runs import sh
from tests.support.uses import USES, Use

BUSY = "unexpected status 503 Service Unavailable: busy, url: http://x"
# Of a dispatched worker the file is in its own folder; a result file only runs and dispatch ask for.
RESULT = """
[ -z "${PRUN_RESULT-}" ] ||
printf '# %s result\\nConclusion: done\\nFiles: w.txt\\nOpen items: none\\nVerification: none\\n' \\
  "$PRUN_UNIT" >"$PRUN_RESULT"
"""
WORK = "echo work >w.txt\n"


@pytest.fixture(params=USES)
def use(request: pytest.FixtureRequest, tmp_path: Path) -> Use:
    return Use(request.param, make_repo_for_workers(tmp_path / "repo"))


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    (tmp_path / "programs").mkdir()
    return tmp_path / "programs"


def worker_unit(use: Use, script: str, **rest: Any) -> Unit:
    """Make a unit whose worker is a script."""
    return sh("u", script, **rest)


# Each use's own word for a worker that went well, that was ended, and that failed.
GOOD = {"run": "ready", "user": "ready", "dispatch": "result"}
TIMED_OUT = {"run": "timed-out", "user": "timed-out", "dispatch": "salvaged"}
STOPPED = {"run": "stopped", "user": "stopped", "dispatch": "salvaged"}
LIMITED = {"run": "rate-limited", "user": "rate-limited", "dispatch": "salvaged"}


def test_a_worker_that_does_its_work(use: Use) -> None:
    came = use.ask(worker_unit(use, WORK + RESULT))
    assert (came.state, came.exit, came.code, came.work) == (GOOD[use.name], "exited", 0, "work")


def test_the_steps_come_in_one_order(use: Use, programs: Path) -> None:
    use.executors = scripted(programs, failed(BUSY), WORK + RESULT + completed("Did it."))
    use.ask(codex("u"), clock=LeapingClock(), retries=2)
    attempt = ["unit.started", "unit.exited", "unit.captured"]
    checks = ["unit.verifying", "unit.verified", "unit.finished"]
    kinds = [word for word in use.said if word in {*attempt, *checks, "unit.waiting"}]
    if use.name != "dispatch":
        assert kinds == [*attempt, "unit.waiting", *attempt, *checks]
        return
    # It has no ledger: its lines say the same, and its state folder.
    assert [word.split()[0] for word in use.said] == ["STATE-DIR", "u"]
    assert use.said[1] == f"u ended with exit code 1 ({BUSY}); trying again at 08:13:00Z"
    (folder,) = (use.repo.path.parent / "tmp").iterdir()
    assert json.loads((folder / "waiting.json").read_text()) == {"until": 1_800_000_780.0, "failure": "503"}


@pytest.mark.parametrize(("use", "goes_on"), crossed(USES, (False, True)), indirect=["use"])
def test_a_stall_is_said(use: Use, goes_on: bool, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "gate")
    stalled = use.waits_for("stalled")
    rows = "i=0; while [ $i -lt 40 ]; do echo $i; i=$((i+1)); sleep 0.01; done\n"
    script = f"{WORK}head -c 1 {shlex.quote(str(tmp_path / 'gate'))}\n{rows}{RESULT}"

    def open_gate() -> None:
        stalled.wait(60)
        (tmp_path / "gate").write_text("x")

    opener = threading.Thread(target=open_gate, daemon=True)
    if goes_on:
        opener.start()
    came = use.ask(worker_unit(use, script), stall=0.3, stall_action="report" if goes_on else "end")
    words = ["unit.stalled"] if use.name == "run" else ["u stalled: no output and no change of a file for 0 s"]
    words = ["w" + words[0][1:]] if use.name == "user" else words
    assert [said for said in came.said if said.startswith(words[0])] != []
    if goes_on:
        opener.join(60)
        assert (came.state, came.exit, came.code) == (GOOD[use.name], "exited", 0)
    else:
        ends = {"run": 1, "user": 124, "dispatch": 124}
        assert (came.state, came.exit, came.code) == (TIMED_OUT[use.name], "stalled", ends[use.name])
    # What it did is kept either way.
    assert came.work == "work"


def test_a_worker_its_service_failed_is_tried_again(use: Use, programs: Path) -> None:
    use.executors = scripted(programs, failed(BUSY), WORK + RESULT + completed("Did it."))
    clock = LeapingClock()
    came = use.ask(codex("u"), clock=clock, retries=2)
    assert (came.state, came.code, came.work, starts(programs, "u")) == (GOOD[use.name], 0, "work", 2)
    assert [round(leap - 1_800_000_000.0) for leap in clock.leaps] == [780]


def test_two_more_tries_and_then_it_is_over(use: Use, programs: Path) -> None:
    use.executors = scripted(programs, failed(BUSY))
    came = use.ask(codex("u"), clock=LeapingClock(), retries=2)
    assert (came.state, came.code, starts(programs, "u")) == (LIMITED[use.name], 1, 3)


def test_without_retries_there_is_one_try(use: Use, programs: Path) -> None:
    use.executors = scripted(programs, failed(BUSY))
    came = use.ask(codex("u"), clock=LeapingClock())
    assert (came.state, came.code, starts(programs, "u")) == (LIMITED[use.name], 1, 1)


def test_work_of_a_worker_that_was_cut_off_is_kept_and_gone_on_with(use: Use, programs: Path) -> None:
    second = "echo rest >>w.txt\n" + RESULT + completed("Did it.")
    use.executors = scripted(programs, WORK + failed(BUSY), second)
    came = use.ask(codex("u"), clock=LeapingClock(), retries=2)
    assert (came.state, came.work) == (GOOD[use.name], "work\nrest")
    args = (programs / "u.2.args").read_text().splitlines()
    # A dispatched worker may have done anything anywhere, so it is asked all of it again, where it was.
    assert ("resume" in args) == (use.name != "dispatch")
    kept = {"run": "refs/prun/kept/r1/u/attempt-1", "user": "refs/prun/kept/named/w/attempt-1"}
    if use.name in kept:
        assert use.repo.files(kept[use.name])["w.txt"] == "work"


def test_a_thread_that_is_gone_is_followed_by_the_whole_prompt(use: Use, programs: Path) -> None:
    if use.name == "dispatch":
        pytest.skip("dispatch goes on with no thread")
    gone = "echo 'Error: thread/resume failed: no rollout found for thread id x' >&2; exit 1"
    use.executors = scripted(programs, WORK + failed(BUSY), gone, WORK + RESULT + completed("Did it."))
    came = use.ask(codex("u"), clock=LeapingClock(), retries=1)
    assert (came.state, came.work, starts(programs, "u")) == (GOOD[use.name], "work", 3)
    assert "resume" not in (programs / "u.3.args").read_text().splitlines()


def test_a_stop_ends_the_worker_and_keeps_its_work(use: Use, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ready")
    stop = Stop()

    def press() -> None:
        (tmp_path / "ready").read_text()
        stop.set()

    thread = threading.Thread(target=press, daemon=True)
    thread.start()
    came = use.ask(worker_unit(use, f"{WORK}echo >{tmp_path}/ready; exec sleep 1000"), stop=stop)
    thread.join(60)
    assert (came.state, came.exit, came.work) == (STOPPED[use.name], "stopped", "work")


def test_a_stop_ends_the_waiting_too(use: Use, programs: Path) -> None:
    stop, clock, waiting = Stop(), StuckClock(), threading.Event()
    clock.on_leap.append(waiting)
    thread = threading.Thread(target=lambda: (waiting.wait(60), stop.set()), daemon=True)
    thread.start()
    use.executors = scripted(programs, WORK + failed(BUSY))
    came = use.ask(codex("u"), stop=stop, clock=clock, retries=2)
    thread.join(60)
    assert (came.state, came.code, came.work, starts(programs, "u")) == (LIMITED[use.name], 1, "work", 1)


def test_the_time_limit(use: Use) -> None:
    came = use.ask(worker_unit(use, f"{WORK}exec sleep 1000", timeout=0.5))
    assert (came.state, came.exit, came.work) == (TIMED_OUT[use.name], "timeout", "work")


def test_the_output_limit(use: Use) -> None:
    came = use.ask(
        worker_unit(use, f"{WORK}head -c 40000000 /dev/zero | tr '\\0' 'x'\n{RESULT}"), output_max=10_000_000
    )
    assert (came.state, came.exit, came.dropped > 1_000_000) == (GOOD[use.name], "exited", True)


@pytest.fixture
def refused(use: Use, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let nothing of a worker be kept: a process lives on that nobody could end, or its result has no place."""
    process = start_program(["sleep", "1000"])
    who = probe_identity(process.pid)
    assert who is not None
    run = worker.run

    def leave_one(*args: Any, record: Path, **more: Any) -> Exit:
        ended = run(*args, record=record, **more)
        if use.name == "dispatch":
            use.result.parent.rmdir()
            use.result.parent.write_text("in the way")
            return ended
        place = record / "exit.json"
        place.write_text(json.dumps(json.loads(place.read_text()) | {"survivors": [[who.pid, who.start]]}))
        return replace(ended, survivors=(who.pid,))

    monkeypatch.setattr(worker, "run", leave_one)
    yield
    process.kill()
    process.wait()


def test_a_capture_that_cannot_be_is_no_success_and_loses_nothing(use: Use, refused: None) -> None:
    came = use.ask(worker_unit(use, WORK))
    states = {"run": "broken", "user": "broken", "dispatch": "no result"}
    said = {"run": "unit.finished", "user": "so its work is not captured", "dispatch": "could not be written"}
    assert (came.state, any(said[use.name] in text for text in came.said)) == (states[use.name], True)
    places = {
        "run": use.repo.path.parent / "repo.prun" / "r1" / "u",
        "user": use.repo.path.parent / "places" / "named" / "w",
    }
    work = came.work if use.name == "dispatch" else (places[use.name] / "w.txt").read_text().strip()
    assert work == "work"


@pytest.mark.parametrize("use", [USES[0], *slow(*USES[1:])], indirect=True)
def test_the_worker_of_a_killed_coordinator_goes_on_and_its_work_is_taken_up(use: Use, tmp_path: Path) -> None:
    repo, (ready, go) = use.repo, (tmp_path / "ready", tmp_path / "go")
    os.mkfifo(ready)
    os.mkfifo(go)
    script = tmp_path / "worker"
    script.write_text(f"#!/bin/sh\ncat >/dev/null; echo >{ready}; cat {go} >w.txt; cat w.txt\n{RESULT}")
    script.chmod(0o755)
    (tmp_path / "p.md").write_text("Do it.\n")
    once = ("--command", str(script))
    dispatched = ("--prompt-file", "p.md", "--result-file", "out/r.md", "--unit-id", "u")
    words = {
        "run": ("run", "--unit", "id=u", "--prompt", "Do it.", "--verify", "true", *once),
        "user": ("exec", "w", "u", "Do it.", *once),
        "dispatch": ("dispatch", *dispatched),
    }[use.name]
    env = {
        "CODEX_BIN": str(script),
        "TMPDIR": str(tmp_path / "tmp"),
        "PRUN_GATHER_POLL": "1",
        "PRUN_GATHER_STABLE_WINDOW": "1",
    }
    if use.name == "user":
        assert prun(repo.path, "new", "w", "topic").code == 0
    where = tmp_path if use.name == "dispatch" else repo.path
    process = start_prun(where, *words, env=env)
    ready.read_text()
    process.kill()
    process.communicate(timeout=60)
    go.write_text("work\n")
    if use.name == "run":
        assert prun(repo.path, "run", "--resume").code == 0
        assert repo.files("refs/prun/r1/u")["w.txt"] == "work"
    elif use.name == "user":
        _await_end_of_worker(repo)
        assert prun(repo.path, "exec", "w", "again", "Do it.", "--command", "true").code == 0
        assert repo.files("topic")["w.txt"] == "work"
    else:
        said = prun(tmp_path, "gather", "out/r.md", env=env)
        assert (said.code, use.result.read_text().splitlines()[0]) == (0, "# u result")


def _await_end_of_worker(repo: Repo) -> None:
    started = [event.payload for event in repo.ledger.read().events if isinstance(event.payload, UnitStarted)]
    process = started[-1].process
    assert process is not None
    await_end(process, 60)

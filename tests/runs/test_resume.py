"""Going on with a run: only what is missing is done, whatever had become of its coordinator."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from gitprun.ledger.events import encode
from gitprun.ledger.lookup import probe_unit
from gitprun.model.errors import OperationRefused
from gitprun.model.names import UnitId
from gitprun.model.plan import Settings
from gitprun.model.units import ExecutorSettings, Unit
from gitprun.runs.context import Coordinator
from gitprun.runs.dispatch import RunReport
from gitprun.runs.resume import Occupied, resume_run, take_over
from gitprun.supervisor.process import ProcessIdentity, Stop, is_alive, probe_identity, wait_for_stranger
from tests.support.alarm import LeapingClock
from tests.support.cli import prun, start_prun
from tests.support.codex import codex, completed, failed, scripted, starts
from tests.support.killed_run import run_and_die
from tests.support.repos import Repo, make_repo
from tests.support.rows import event_of, payload_of
from tests.support.runs import RESULT, events_of, kept, run_units, sh, unit_of, workspace

pytestmark = pytest.mark.slow

BUSY = "unexpected status 503 Service Unavailable: busy"
PATIENCE = 60.0


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = make_repo(tmp_path / "repo", a_dot_txt="1\n")
    made.git("config", "user.name", "Ada Author")
    made.git("config", "user.email", "ada@example.test")
    return made


def resume(
    repo: Repo, *, said: Settings | None = None, retry_empty: bool = False, clock: LeapingClock | None = None
) -> RunReport:
    ledger = repo.ledger
    resumed = take_over(repo.repository, ledger, None, said=said or Settings(), retry_empty=retry_empty)
    coordinator = Coordinator(ledger=ledger, stop=Stop(), clock=clock or LeapingClock(), grace=0.1)
    return resume_run(repo.repository, resumed, coordinator)


def once(marks: Path, unit: str, first: str, later: str) -> Unit:
    """Make a unit whose worker does one thing the first time and another later; each start leaves a mark."""
    script = f"""
    echo start >>{marks}/{unit}.starts
    if mkdir {marks}/{unit} 2>/dev/null; then {first}; else {later}; fi
    """
    return sh(unit, script)


def count(marks: Path, unit: str) -> int:
    path = marks / f"{unit}.starts"
    return len(path.read_text().splitlines()) if path.exists() else 0


def test_only_what_is_missing_is_done(repo: Repo, tmp_path: Path) -> None:
    units = (
        once(tmp_path, "good", "echo x >good.txt", "exit 9"),
        once(tmp_path, "bad", "echo half >bad.txt; exit 3", "cat bad.txt; echo whole >bad.txt"),
        once(tmp_path, "empty", "true", "exit 9"),
        once(tmp_path, "late", "sleep 1000", "echo x >late.txt"),
        once(tmp_path, "red", "echo red >red.txt", "exit 9"),
    )
    short = Unit(**{**{name: getattr(units[3], name) for name in Unit.__slots__}, "timeout": 0.3})
    verify = ("test ! -e red.txt",)
    first = run_units(repo, *units[:3], short, units[4], verify=verify)
    assert list(first.states.values()) == ["ready", "failed", "empty", "timed-out", "unverified"]
    good = repo.oid("refs/prun/r1/good")
    second = resume(repo)
    assert second.states == {
        "good": "ready",
        "bad": "failed",
        "empty": "empty",
        "late": "ready",
        "red": "unverified",
    }
    assert [count(tmp_path, unit.id) for unit in units] == [1, 2, 1, 2, 1]
    assert repo.oid("refs/prun/r1/good") == good
    # bad.txt of the first attempt was not there for the second.
    assert unit_of(repo, "bad").reason == "exit code 1: cat: bad.txt: No such file or directory"
    assert repo.files("refs/prun/kept/r1/bad/attempt-1")["bad.txt"] == "half"
    assert kept(repo, "r1", "late", "task.md") == "Do late.\n"
    third = resume(repo, retry_empty=True)
    assert (third.states["empty"], count(tmp_path, "empty")) == ("failed", 2)
    last = repo.ledger.read().history.last
    assert last is not None
    assert (last.id, last.ended is None) == ("r1", False)


def test_a_run_with_nothing_missing(repo: Repo) -> None:
    run_units(repo, sh("a", "echo x >a.txt"))
    before = (repo.path / ".git" / "prun" / "ledger.jsonl").read_bytes()
    assert resume(repo).states == {"a": "ready"}
    assert (repo.path / ".git" / "prun" / "ledger.jsonl").read_bytes() == before


def test_units_keep_what_they_were_asked_for(repo: Repo, tmp_path: Path) -> None:
    prompt = "Zeile 1\r\n\u2028 \U0001f600\r\rend"
    repo.write(".env", "S=1\n")
    script = f"cat >{tmp_path}/got.$(ls {tmp_path} | grep -c got); test -f .env; echo x >sub.txt; exit 4"
    unit = sh("a", script, prompt=prompt, paths=("docs/**",), timeout=50.0)
    run_units(repo, unit, verify=("test -f sub.txt",), copy=(".env",))
    assert resume(repo).states == {"a": "failed"}
    assert (tmp_path / "got.0").read_bytes() == (tmp_path / "got.1").read_bytes()
    assert prompt.encode() in (tmp_path / "got.1").read_bytes()
    facts = unit_of(repo, "a").as_json()
    assert (facts["attempt"], facts["outside"], facts["provided"]) == (2, ["sub.txt"], [".env"])
    assert [row["reason"] for row in facts["earlier"]] == ["exit code 4"]


def test_a_new_attempt_starts_from_the_current_main(repo: Repo) -> None:
    run_units(repo, sh("a", "exit 1"), sh("b", "exit 1", workspace="worktree"))
    later = repo.commit("later", b_dot_txt="b\n")
    # Going to another branch meanwhile changes nothing: main was what the run started from.
    repo.switch("other", new=True, start="HEAD~1")
    resume(repo)
    assert [unit_of(repo, name).base for name in ("a", "b")] == [later, later]


@pytest.mark.parametrize("gone", [False, True])
def test_a_base_given_by_name(repo: Repo, gone: bool) -> None:
    repo.branch("release")
    base = repo.head
    run_units(repo, sh("a", "exit 1"), base="release")
    repo.switch("release")
    later = repo.commit("later")
    repo.switch("main")
    if gone:
        repo.git("branch", "-qD", "release")
    resume(repo)
    assert unit_of(repo, "a").base == (base if gone else later)


def test_codex_goes_on_with_its_thread(repo: Repo, tmp_path: Path) -> None:
    program = tmp_path / "programs"
    program.mkdir()
    steps = scripted(program, "echo half >half.txt\n" + failed(BUSY), "cat half.txt\n" + RESULT + completed())
    run_units(repo, codex("a"), executors=steps)
    assert unit_of(repo, "a").state == "rate-limited"
    repo.write("prun.toml", f'[executor.codex]\nprogram = "{steps["codex"].program}"\n')
    repo.approve()
    assert resume(repo).states == {"a": "ready"}
    assert (program / "a.2.args").read_text().splitlines()[-3:] == ["resume", "0199a213-81c0-7800", "-"]


def test_no_secret_is_kept_and_none_is_made_up(repo: Repo, tmp_path: Path) -> None:
    program = tmp_path / "codex"
    program.write_text("#!/bin/sh\nexit 1\n")
    program.chmod(0o755)
    table = f"""
    [executor.codex]
    program = "{program}"
    args = ["-c", "key=HUSH-1"]
    env = {{ TOKEN = "HUSH-2" }}
    """
    plan = tmp_path / "plan.toml"
    plan.write_text(f'{table}\n[[unit]]\nid = "a"\nprompt = "do it"\n')
    said = prun(repo.path, "run", "../plan.toml", "--verify", "true")
    assert said.code == 1, said.err
    state = repo.path / ".git" / "prun"
    found = [path for path in state.rglob("*") if path.is_file() and b"HUSH" in path.read_bytes()]
    assert found == []
    record = json.loads((state / "runs" / "r1" / "settings.json").read_text())
    assert record["executors"] == {"codex": {"program": True, "args": 2, "env": ["TOKEN"]}}
    said = prun(repo.path, "run", "--resume")
    assert f"  settings of executors are read again from {plan}\n" in said.err
    assert unit_of(repo, "a").attempt == 2
    plan.unlink()
    said = prun(repo.path, "run", "--resume", "r1")
    assert (said.code, said.err) == (
        1,
        f"error: the settings of codex (TOKEN) were in {plan}, which is not there any more\n"
        "hint: put the file back: prun keeps no copy of arguments and environments, they may hold credentials\n",
    )
    repo.write("prun.toml", table)
    repo.approve()
    assert "read again from prun.toml\n" in prun(repo.path, "run", "--resume").err


def test_a_run_whose_settings_are_lost(repo: Repo) -> None:
    run_units(repo, sh("a", "exit 1"))
    path = repo.path / ".git" / "prun" / "runs" / "r1" / "settings.json"
    path.write_text("{")
    with pytest.raises(OperationRefused, match="what run r1 was asked for cannot be read from"):
        resume(repo)
    assert unit_of(repo, "a").attempt == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--resume", "--base", "main"], "--base cannot be given with --resume"),
        (["--resume", "--verify", "true"], "--verify cannot be given with --resume"),
        (["--resume", "--unit", "id=x"], "--unit cannot be given with --resume"),
        (["--retry-empty", "plan.toml"], "--retry-empty is for --resume"),
        (["--no-watch", "plan.toml"], "--no-watch is for --resume"),
    ],
)
def test_options_that_do_not_go_together(repo: Repo, options: list[str], message: str) -> None:
    said = prun(repo.path, "run", *options)
    assert said.code == 129
    assert message in said.err


PLAN = """
[run]
jobs = 1
verify = ["true"]
[[unit]]
id = "a"
prompt = "do a"
executor = "command"
command = ["sh", "-euc", "echo start >>MARKS/a.starts; echo x >a.txt; test ! -e WAIT || head -c 1 GATE; RESULT"]
KIND
[[unit]]
id = "b"
prompt = "do b"
command = ["sh", "-euc", "echo start >>MARKS/b.starts; echo x >b.txt"]
"""


def write_plan(repo: Repo, marks: Path, kind: str = "clone") -> None:
    text = PLAN.replace("MARKS", str(marks)).replace("GATE", str(marks / "gate")).replace("WAIT", str(marks / "wait"))
    result = json.dumps(RESULT.strip())[1:-1]
    text = text.replace("RESULT", result).replace("KIND", f'workspace = "{kind}"')
    (repo.path.parent / "plan.toml").write_text(text)


STEPS = (
    "run.started",
    "unit.queued",
    "unit.preparing",
    "unit.prepared",
    "unit.started",
    "unit.exited",
    "unit.captured",
    "unit.verifying",
    "unit.verified",
    "unit.finished",
    "run.finished",
)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("kind", STEPS)
def test_a_coordinator_killed_at_every_step(repo: Repo, tmp_path: Path, kind: str, when: str) -> None:
    write_plan(repo, tmp_path, "worktree" if STEPS.index(kind) % 2 else "clone")
    assert run_and_die(repo, kind, when) == -signal.SIGKILL
    if when == "before" and kind in ("run.started", "unit.queued"):
        with pytest.raises(Exception, match="nothing has been run"):
            resume(repo)
        return
    assert resume(repo).states == {"a": "ready", "b": "ready"}
    # Nobody was started twice, and nothing was lost on the way.
    assert (count(tmp_path, "a"), count(tmp_path, "b")) == (1, 1)
    assert repo.files("refs/prun/r1/a") == {"a.txt": "x"}
    assert repo.files("refs/prun/r1/b") == {"a.txt": "1", "b.txt": "x"}
    assert unit_of(repo, "a").as_json()["kept"] == []
    assert resume(repo).states == {"a": "ready", "b": "ready"}
    assert repo.ledger.read().unreadable == ()


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("kind", ["unit.waiting", "workspace.removing", "workspace.removed"])
@pytest.mark.parametrize("workspace_kind", ["clone", "worktree"])
def test_a_coordinator_killed_between_two_attempts(
    repo: Repo, tmp_path: Path, kind: str, when: str, workspace_kind: str
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    error = '{"type":"turn.failed","error":{"message":"status 503, again in 0.01s"}}'
    cut = f"echo half >half.txt; echo '{error}'; exit 1"
    steps = scripted(programs, cut, "test ! -e half.txt; echo x >a.txt\n" + completed())
    (tmp_path / "plan.toml").write_text(
        f"""
        run.verify = ["true"]
        executor.codex.program = "{steps["codex"].program}"
        [[unit]]
        id = "a"
        prompt = "do it"
        workspace = "{workspace_kind}"
        """
    )
    assert run_and_die(repo, kind, when) == -signal.SIGKILL
    repo.commit("later", later_dot_txt="1\n")
    assert resume(repo).states == {"a": "ready"}, unit_of(repo, "a").reason
    assert starts(programs, "a") == 2
    assert repo.files("refs/prun/r1/a") == {"a.txt": "x", "later.txt": "1"}
    assert repo.files("refs/prun/kept/r1/a/attempt-1") == {"a.txt": "1", "half.txt": "half"}
    names = repo.git("for-each-ref", "--format=%(refname)", "refs/prun/kept").splitlines()
    assert names == ["refs/prun/kept/r1/a/attempt-1", "refs/prun/kept/r1/a/base-2"]


@pytest.mark.parametrize("secret", [False, True])
@pytest.mark.parametrize(("kind", "when"), [("unit.preparing:2", "before"), ("unit.prepared:2", "before")])
def test_a_coordinator_killed_as_codex_was_to_go_on(
    repo: Repo, tmp_path: Path, kind: str, when: str, secret: bool
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    first = "echo half >half.txt\n" + ("echo T=1 >.env\n" if secret else "") + failed("status 503, again in 0.01s")
    steps = scripted(programs, first, "echo whole >>half.txt\n" + completed())
    (tmp_path / "plan.toml").write_text(
        f"""
        run.verify = ["true"]
        executor.codex.program = "{steps["codex"].program}"
        [[unit]]
        id = "a"
        prompt = "do it"
        """
    )
    assert run_and_die(repo, kind, when) == -signal.SIGKILL
    goes_on = kind == "unit.preparing:2"
    report = resume(repo)
    path = workspace(repo, "r1", "a")
    assert repo.files("refs/prun/kept/r1/a/attempt-1") == {"a.txt": "1", "half.txt": "half"}
    if secret:
        # Somebody's work lies there, some of it in no commit: it is not taken for a workspace nobody has seen.
        assert (path / ".env").read_text() == "T=1\n"
    if goes_on or not secret:
        assert report.states == {"a": "ready"}, unit_of(repo, "a").reason
        assert repo.files("refs/prun/r1/a")["half.txt"] == ("half\nwhole" if goes_on else "whole")
    else:
        assert report.states == {"a": "broken"}
        assert unit_of(repo, "a").reason.startswith(f"not tried again: {path} holds what is in no commit: .env")


def kill_coordinator(repo: Repo, marks: Path) -> ProcessIdentity:
    """Start a run whose first worker waits at a gate, kill the run; gives the warden, which lives on."""
    os.mkfifo(marks / "gate")
    (marks / "wait").touch()
    running = start_prun(repo.path, "run", "../plan.toml")
    warden = _await_worker(repo, marks)
    running.kill()
    running.communicate()
    (marks / "wait").unlink()
    return warden


def _await_worker(repo: Repo, marks: Path) -> ProcessIdentity:
    """Wait for the worker's mark, and for what is written down about it."""
    while True:
        rows = [event for event in events_of(repo, "a") if event.kind == "unit.started"]
        if rows and count(marks, "a"):
            return ProcessIdentity(**rows[0].payload.as_json()["process"])


def test_a_worker_that_lives_is_rejoined(repo: Repo, tmp_path: Path) -> None:
    write_plan(repo, tmp_path)
    warden = kill_coordinator(repo, tmp_path)
    assert is_alive(warden)
    assert prun(repo.path, "status", "--json").json["runs"][0]["units"][0]["state"] == "running"
    running = start_prun(repo.path, "run", "--resume")
    while not [event for event in repo.ledger.read().events if event.kind == "run.resumed"]:
        assert running.poll() is None
    # Meanwhile nobody else may go on with it.
    said = prun(repo.path, "run", "--resume", "--no-watch")
    assert (said.code, said.err) == (
        1,
        f"error: run r1 is still being worked on, by process {running.pid}\nhint: git prun status r1 shows it\n",
    )
    (tmp_path / "gate").write_text("go")
    running.communicate(timeout=PATIENCE)
    assert running.returncode == 0
    assert (count(tmp_path, "a"), count(tmp_path, "b")) == (1, 1)
    assert [unit_of(repo, name).state for name in ("a", "b")] == ["ready", "ready"]
    assert unit_of(repo, "a").attempt == 1


def test_a_worker_that_ended_unseen_is_collected(repo: Repo, tmp_path: Path) -> None:
    write_plan(repo, tmp_path)
    warden = kill_coordinator(repo, tmp_path)
    (tmp_path / "gate").write_text("go")
    while is_alive(warden):
        pass
    said = prun(repo.path, "run", "--resume")
    assert said.code == 0, said.err
    assert (count(tmp_path, "a"), count(tmp_path, "b")) == (1, 1)
    assert unit_of(repo, "a").as_json()["exit"]["code"] == 0


def test_a_worker_that_was_killed_too_is_started_anew_and_its_work_kept(repo: Repo, tmp_path: Path) -> None:
    write_plan(repo, tmp_path)
    warden = kill_coordinator(repo, tmp_path)
    os.kill(warden.pid, signal.SIGKILL)
    while is_alive(warden):
        pass
    assert prun(repo.path, "status", "--json").json["runs"][0]["units"][0]["state"] == "lost"
    said = prun(repo.path, "run", "--resume")
    assert said.code == 0, said.err
    assert (count(tmp_path, "a"), count(tmp_path, "b")) == (2, 1)
    assert repo.files("refs/prun/kept/r1/a/attempt-1") == {"a.txt": "x"}
    earlier = unit_of(repo, "a").as_json()["earlier"][0]
    assert (earlier["state"], earlier["reason"]) == ("stopped", "the warden process was killed, and the worker with it")


def test_a_stop_reaches_a_worker_that_was_rejoined(repo: Repo, tmp_path: Path) -> None:
    write_plan(repo, tmp_path)
    warden = kill_coordinator(repo, tmp_path)
    ledger, stop = repo.ledger, Stop()
    resumed = take_over(repo.repository, ledger, None, said=Settings())
    assert [(piece.unit.id, piece.attach) for piece in resumed.items] == [("a", True), ("b", False)]
    stop.set()
    report = resume_run(repo.repository, resumed, Coordinator(ledger=ledger, stop=stop, grace=0.1))
    assert report.states == {"a": "stopped", "b": "stopped"}
    assert not is_alive(warden)
    assert repo.files("refs/prun/r1/a") == {"a.txt": "x"}


def test_of_two_that_go_on_at_once_one_wins_and_the_other_watches(repo: Repo, tmp_path: Path) -> None:
    write_plan(repo, tmp_path)
    kill_coordinator(repo, tmp_path)
    both = [start_prun(repo.path, "run", "--resume") for _ in range(2)]
    while len(resumptions(repo)) != 1:
        assert [one.poll() for one in both] == [None, None]
    (winner,) = [one for one in both if one.pid == resumptions(repo)[0]]
    watcher = both[1 - both.index(winner)]
    assert await_watching(watcher) == winner.pid
    (tmp_path / "gate").write_text("go")
    said = [one.communicate(timeout=PATIENCE) for one in (winner, watcher)]
    assert (winner.returncode, watcher.returncode) == (0, 0)
    assert (count(tmp_path, "a"), count(tmp_path, "b")) == (1, 1)
    assert len(resumptions(repo)) == 1
    # Both say how it ended, in the same words, and how to go on.
    tables = [[line.split()[:2] for line in out.decode().splitlines()] for out, _ in said]
    assert tables[0] == tables[1] == [["unit", "state"], ["a", "ready"], ["b", "ready"]]
    last = [err.decode().splitlines()[-1] for _, err in said]
    assert last == ["hint: git prun diff a shows what it changed; git prun merge lands what is ready"] * 2
    assert "\nrun r1: 2 ready, in " in said[1][1].decode()
    # Every step since it came was shown, each once.
    shown = [line.split(" ", 1)[1] for line in said[1][1].decode().splitlines() if line[2:3] == ":"]
    assert [line for line in shown if line.startswith("a: ")] == ["a: verifying", "a: ready"]


def resumptions(repo: Repo) -> list[int]:
    """List the processes that took the run over, in order."""
    rows = [event for event in repo.ledger.read().events if event.kind == "run.resumed"]
    return [event.payload.as_json()["coordinator"]["pid"] for event in rows]


def await_watching(process: subprocess.Popen[bytes]) -> int:
    """Wait until a process says that it watches; gives the pid of the one that works."""
    assert process.stderr is not None
    line = process.stderr.readline().decode()
    found = re.fullmatch(r"run r1: process (\d+) works on it; watching \(Ctrl-C ends the watching only\)\n", line)
    assert found, line
    return int(found[1])


def test_of_many_that_watch_one_takes_over(repo: Repo, tmp_path: Path) -> None:
    write_plan(repo, tmp_path)
    kill_coordinator(repo, tmp_path)
    first = start_prun(repo.path, "run", "--resume")
    # The other unit is done with before anybody watches: its steps are shown too, whenever they come.
    while resumptions(repo) != [first.pid] or "unit.finished" not in [event.kind for event in events_of(repo, "b")]:
        assert first.poll() is None
    watchers = [start_prun(repo.path, "run", "--resume", "r1") for _ in range(3)]
    assert [await_watching(one) for one in watchers] == [first.pid] * 3
    first.kill()
    first.communicate()
    while len(resumptions(repo)) != 2:
        assert [one.poll() for one in watchers] == [None] * 3
    (heir,) = [one for one in watchers if one.pid == resumptions(repo)[1]]
    others = [one for one in watchers if one is not heir]
    for one in others:
        assert one.stderr is not None
        assert one.stderr.readline().decode() == f"run r1: process {first.pid} is gone\n"
        assert await_watching(one) == heir.pid
    # A run that another one goes on with is not begun a third time, whatever became of its units.
    (tmp_path / "gate").write_text("go")
    for one in watchers:
        one.communicate(timeout=PATIENCE)
    assert [one.returncode for one in watchers] == [0, 0, 0]
    assert (count(tmp_path, "a"), count(tmp_path, "b")) == (1, 1)
    assert len(resumptions(repo)) == 2


def test_ctrl_c_ends_the_watching_and_not_the_run(repo: Repo, tmp_path: Path) -> None:
    write_plan(repo, tmp_path)
    warden = kill_coordinator(repo, tmp_path)
    first = start_prun(repo.path, "run", "--resume")
    while resumptions(repo) != [first.pid]:
        assert first.poll() is None
    watcher = start_prun(repo.path, "run", "--resume")
    await_watching(watcher)
    watcher.send_signal(signal.SIGINT)
    out, err = watcher.communicate(timeout=PATIENCE)
    assert (watcher.returncode, out.decode(), err.decode()) == (
        130,
        "",
        "error: run r1 goes on: only the watching was ended\nhint: git prun run --resume r1 watches it again\n",
    )
    assert is_alive(warden)
    (tmp_path / "gate").write_text("go")
    first.communicate(timeout=PATIENCE)
    assert first.returncode == 0


def test_a_watcher_for_programs_prints_what_a_run_prints(repo: Repo, tmp_path: Path) -> None:
    write_plan(repo, tmp_path)
    kill_coordinator(repo, tmp_path)
    first = start_prun(repo.path, "run", "--resume", "--json")
    assert first.stdout is not None
    rows = [json.loads(first.stdout.readline())]
    watcher = start_prun(repo.path, "run", "--resume", "--json")
    while not _follows_a_process(watcher.pid):
        assert watcher.poll() is None
    (tmp_path / "gate").write_text("go")
    rows += [json.loads(line) for line in first.communicate(timeout=PATIENCE)[0].splitlines()]
    seen = [json.loads(line) for line in watcher.communicate(timeout=PATIENCE)[0].splitlines()]
    assert (first.returncode, watcher.returncode) == (0, 0)
    # From where it came to the end, each row once.
    assert seen == rows[-len(seen) :]
    kinds = [row["kind"] for row in seen if row["unit"] == "a"]
    assert kinds == ["unit.exited", "unit.captured", "unit.verifying", "unit.verified", "unit.finished"]
    assert seen[-1]["kind"] == "run.finished"


def _follows_a_process(pid: int) -> bool:
    try:
        return any("pidfd" in os.readlink(entry) for entry in Path(f"/proc/{pid}/fd").iterdir())
    except OSError:
        return False


def test_after_a_reboot_nobody_lives(repo: Repo, tmp_path: Path) -> None:
    write_plan(repo, tmp_path)
    warden = kill_coordinator(repo, tmp_path)
    os.kill(warden.pid, signal.SIGKILL)
    while is_alive(warden):
        pass
    # Pids and start times are those of processes that live now: only the boot they were seen in tells.
    me = probe_identity(os.getpid())
    assert me is not None
    then = asdict(me) | {"boot": "00000000-0000-0000-0000-000000000000"}
    rows = []
    for event in repo.ledger.read().events:
        facts = dict(event.payload.as_json())
        facts |= {key: then for key in ("coordinator", "process") if key in facts}
        rows.append(encode(event_of(event.kind, event.time, event.run, event.unit, facts)))
    (repo.path / ".git" / "prun" / "ledger.jsonl").write_bytes(b"".join(rows))
    assert prun(repo.path, "status", "--json").json["runs"][0]["units"][0]["state"] == "lost"
    assert prun(repo.path, "run", "--resume").code == 0
    assert (count(tmp_path, "a"), count(tmp_path, "b")) == (2, 1)
    assert repo.files("refs/prun/kept/r1/a/attempt-1") == {"a.txt": "x"}


def test_a_warden_that_has_not_read_its_orders_never_will(repo: Repo, tmp_path: Path) -> None:
    write_plan(repo, tmp_path)
    assert run_and_die(repo, "unit.prepared", "after") == -signal.SIGKILL
    # As if it had been killed right after it had written the orders down, and the warden were slow to begin.
    orders = repo.path / ".git" / "prun" / "runs" / "r1" / "a" / "spec"
    orders.write_bytes(b"orders")
    resumed = take_over(repo.repository, repo.ledger, None, said=Settings())
    assert [(piece.unit.id, piece.attach) for piece in resumed.items] == [("a", False), ("b", False)]
    assert not orders.exists()


def test_what_cannot_be_observed_is_no_death(repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_plan(repo, tmp_path)
    warden = kill_coordinator(repo, tmp_path)
    blind = PermissionError(13, "Permission denied")
    read = Path.read_bytes

    def unreadable(path: Path) -> bytes:
        if str(path).startswith("/proc/"):
            raise blind
        return read(path)

    with monkeypatch.context() as patched:
        patched.setattr(Path, "read_bytes", unreadable)
        run = repo.ledger.read().history.runs["r1"]
        assert probe_unit(run, run.units["a"]).state == "running"
        with pytest.raises(Occupied):
            resume(repo)
    os.kill(warden.pid, signal.SIGTERM)
    wait_for_stranger(warden, Stop())


def test_a_run_of_a_living_coordinator_is_left_alone(repo: Repo) -> None:
    me = probe_identity(os.getpid())
    assert me is not None
    repo.ledger.append(payload_of("run.started", {"base": repo.head, "coordinator": asdict(me)}), run="r1")
    with pytest.raises(OperationRefused, match=f"run r1 is still being worked on, by process {me.pid}"):
        resume(repo)


def test_a_wait_that_was_cut_short_is_waited_out(repo: Repo, tmp_path: Path) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    steps = scripted(programs, failed(BUSY), "echo x >a.txt\n" + completed())
    repo.write("prun.toml", f'[executor.codex]\nprogram = "{steps["codex"].program}"\n')
    repo.approve()
    run_units(repo, codex("a"), executors=steps)
    # As if its coordinator had been killed while it waited.
    outcome = {"state": "rate-limited", "reason": BUSY, "failure": "503"}
    gone = {"pid": 1, "start": "never", "boot": "never"}
    until = LeapingClock().now() + 500
    repo.ledger.append(payload_of("run.resumed", {"coordinator": gone}), run="r1")
    repo.ledger.append(payload_of("unit.waiting", {"until": until, "outcome": outcome}), run="r1", unit="a")
    clock = LeapingClock()
    assert resume(repo, clock=clock).states == {"a": "ready"}
    assert (clock.leaps, starts(programs, "a")) == ([until], 2)
    assert unit_of(repo, "a").as_json()["earlier"][0]["state"] == "rate-limited"


def test_a_workspace_that_was_removed_is_made_anew(repo: Repo, tmp_path: Path) -> None:
    run_units(repo, once(tmp_path, "a", "echo half >a.txt; exit 1", "echo x >a.txt"))
    assert prun(repo.path, "remove", "a").code == 0
    assert not workspace(repo, "r1", "a").exists()
    assert resume(repo).states == {"a": "ready"}
    assert repo.files("refs/prun/kept/r1/a/attempt-1")["a.txt"] == "half"


def test_what_would_be_lost_is_left_alone(repo: Repo, tmp_path: Path) -> None:
    run_units(repo, once(tmp_path, "a", "echo T=1 >.env; exit 1", "echo x >a.txt"), sh("b", "exit 2"))
    assert resume(repo).states == {"a": "failed", "b": "failed"}
    path = workspace(repo, "r1", "a")
    assert unit_of(repo, "a").reason == (
        f"exit code 1; not tried again: {path} holds what is in no commit: .env (looks like a secret by its name)"
    )
    assert (count(tmp_path, "a"), (path / ".env").read_text()) == (1, "T=1\n")
    assert unit_of(repo, "b").attempt == 2


def test_units_of_a_run_can_be_asked_for_with_another_number_at_once(repo: Repo) -> None:
    run_units(repo, *(Unit(id=UnitId(name), prompt="x", executor="command", command=("false",)) for name in "abc"))
    heard: list[Any] = []
    ledger = repo.ledger
    resumed = take_over(repo.repository, ledger, "r1", said=Settings(jobs=2))
    announce = lambda _, jobs: heard.append(jobs)  # noqa: E731
    resume_run(repo.repository, resumed, Coordinator(ledger=ledger, stop=Stop(), announce=announce, grace=0.1))
    assert heard == [2]
    assert ExecutorSettings().jobs is None

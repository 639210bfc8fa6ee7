"""``git prun status``: the whole table, the whole JSON, and what it may load."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from dataclasses import asdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from gitprun.ledger.ledger import Ledger
from gitprun.supervisor.process import probe_identity
from tests.support.cli import program_environment, prun, start_prun
from tests.support.inside import inside
from tests.support.repos import Repo, make_repo
from tests.support.rows import foreign_line, payload_of

BASE = "b" * 40


class Ticks:
    """A clock that counts."""

    def __init__(self) -> None:
        self.time = 0.0

    def now(self) -> float:
        self.time += 1
        return self.time

    def monotonic(self) -> float:
        return self.time


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo")


@pytest.fixture
def ledger(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> Ledger:
    """Give a ledger that holds one run with four units, written by hand; it is 100 seconds old."""
    ledger = Ledger(repo.path / ".git" / "prun", Ticks())
    ledger.append(payload_of("run.started", {"base": BASE, "root": "/w", "coordinator": {}}), run="r1")
    for unit in ("good", "bad", "look", "late"):
        mode = "read" if unit == "look" else "write"
        ledger.append(payload_of("unit.queued", {"executor": "command", "mode": mode}), run="r1", unit=unit)
    ended = {"reason": "exited", "code": 0, "signal": None, "seconds": 1.5, "detail": "", "leftovers": 2}
    ledger.append(payload_of("unit.prepared", {"path": "/w/r1/good"}), run="r1", unit="good")
    ledger.append(payload_of("unit.exited", {"exit": ended}), run="r1", unit="good")
    found = {
        "files": 2,
        "changed": ["a", "z"],
        "outside": ["z"],
        "left_out": [{"path": ".env", "reason": "secret", "size": 9}],
        "commit": "c" * 40,
        "ref": "refs/prun/r1/good",
    }
    ledger.append(payload_of("unit.captured", found), run="r1", unit="good")
    ledger.append(
        payload_of("unit.verified", {"verdict": {"state": "pass"}, "verify_changed": ["a"]}), run="r1", unit="good"
    )
    ledger.append(
        payload_of("unit.finished", {"state": "ready", "reason": "", "fallback": True}), run="r1", unit="good"
    )
    reason = "exit code 1: \x1b[31mred\n\u202e"
    ledger.append(
        payload_of("unit.finished", {"state": "failed", "reason": reason, "fallback": False}), run="r1", unit="bad"
    )
    ledger.append(
        payload_of("unit.finished", {"state": "done", "reason": "", "fallback": False}), run="r1", unit="look"
    )
    ledger.append(payload_of("unit.preparing"), run="r1", unit="late")
    monkeypatch.setattr("gitprun.cli.status.time", SimpleNamespace(time=lambda: 100.0))
    monkeypatch.setattr("gitprun.api.reading.time", SimpleNamespace(time=lambda: 100.0))
    return ledger


TABLE = """\
run r1: 1 ready, 1 done, 1 failed, 1 preparing, for 99s; base bbbbbbbbbb; workspaces /w/r1
unit  state      age  files  verdict  branch        note
good  ready      90s  2      pass     prun/r1/good  1 outside its paths (such as z); 1 left out (such as .env); \
no result file; 2 processes left behind, ended; verify changed 1 tracked file (a)
bad   failed     89s  -      -        -             exit code 1: \\x1b[31mred\\n\\u202e
look  done       88s  -      -        -
late  preparing  87s  -      -        -
"""


UNPINNED = (
    "warning: no ref pins the work of r1/good any more: somebody, or a fetch that prunes, deleted it\n"
    "hint: its objects are gone too: another clone or a backup may have them\n"
)


def test_the_table(repo: Repo, ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    for args in (("status",), ("status", "r1"), ("status", "--all")):
        said = inside(capsys, repo.path, *args)
        assert (said.code, said.out, said.err) == (0, TABLE, UNPINNED)


def test_the_json(repo: Repo, ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    said = inside(capsys, repo.path, "status", "--json")
    blank = {
        "run": "r1",
        "reason": "",
        "kind": "",
        "attempt": 0,
        "earlier": [],
        "until": None,
        "stalled": None,
        "seconds": None,
        "executor": "command",
        "mode": "write",
        "files": None,
        "outside": [],
        "left_out": [],
        "fallback": None,
        "drift": None,
        "verdict": "",
        "branch": None,
        "commit": None,
        "ref": None,
        "workspace": None,
        "claims": [],
    }
    left_out = [{"path": ".env", "reason": "secret", "size": 9}]
    good = {
        **blank,
        "id": "good",
        "state": "ready",
        "age": 90.0,
        "seconds": 1.5,
        "files": 2,
        "outside": ["z"],
        "left_out": left_out,
        "fallback": True,
        "verdict": "pass",
        "branch": "prun/r1/good",
        "commit": "c" * 40,
        "ref": "refs/prun/r1/good",
        "workspace": "/w/r1/good",
        "verify_changed": ["a"],
        "exit": {
            "words": "exit code 0",
            "reason": "exited",
            "code": 0,
            "signal": None,
            "seconds": 1.5,
            "leftovers": 2,
            "survivors": [],
            "unproved": "",
            "dropped": 0,
        },
    }
    reason = "exit code 1: \x1b[31mred\n\u202e"
    assert (said.code, said.err, said.out.count("\n")) == (0, UNPINNED, 1)
    assert said.json == {
        "schema": "gitprun.status/1",
        "runs": [
            {
                "run": "r1",
                "base": BASE,
                "started": 1.0,
                "ended": None,
                "root": "/w",
                "units": [
                    good,
                    {**blank, "id": "bad", "state": "failed", "age": 89.0, "reason": reason, "fallback": False},
                    {**blank, "id": "look", "state": "done", "age": 88.0, "mode": "read", "fallback": False},
                    {**blank, "id": "late", "state": "preparing", "age": 87.0},
                ],
            }
        ],
    }


def test_a_run_that_is_over(repo: Repo, ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    ledger.append(payload_of("unit.finished", {"state": "empty", "reason": "nothing"}), run="r1", unit="late")
    ledger.append(payload_of("run.finished", {"states": {}}), run="r1")
    first = inside(capsys, repo.path, "status").out.splitlines()[0]
    assert first == "run r1: 1 ready, 1 empty, 1 done, 1 failed, in 14s; base bbbbbbbbbb; workspaces /w/r1"


def test_nothing_was_run(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    said = inside(capsys, repo.path, "status")
    assert (said.code, said.out, said.err) == (
        0,
        "",
        "nothing has been run in this repository yet\nhint: git prun run plan.toml\n",
    )
    assert inside(capsys, repo.path, "status", "--json").json == {"schema": "gitprun.status/1", "runs": []}
    assert not (repo.path / ".git" / "prun").exists()


def test_runs_that_are_not_known(repo: Repo, ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    said = inside(capsys, repo.path, "status", "r9")
    assert (said.code, said.err) == (128, "error: there is no run 'r9'\nhint: the last one is r1\n")
    said = inside(capsys, repo.path, "status", "r1", "--all")
    assert (said.code, said.err) == (
        129,
        "error: --all and a run cannot be given together\nhint: leave one of them out\n",
    )


def test_unreadable_lines_are_reported(repo: Repo, ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    with open(ledger.path, "ab") as target:
        target.write(b'{"v":1,"t":3.0,"kind":"unit.fin')
    said = inside(capsys, repo.path, "status")
    assert (said.code, said.out) == (0, TABLE)
    assert said.err == f"warning: the ledger has 1 unreadable line(s) (number 14) in {ledger.path}\n" + UNPINNED


def test_lost_units_come_with_a_hint(repo: Repo, ledger: Ledger, capsys: pytest.CaptureFixture[str]) -> None:
    gone = {"pid": 1, "start": "0", "boot": "another"}
    ledger.append(payload_of("run.started", {"base": BASE, "root": "/w", "coordinator": gone}), run="r2")
    ledger.append(payload_of("unit.started", {"process": gone}), run="r2", unit="a")
    said = inside(capsys, repo.path, "status")
    assert said.out.splitlines()[0] == "run r2: 1 lost; base bbbbbbbbbb; workspaces /w/r2"
    assert said.out.splitlines()[2].split()[:2] == ["a", "lost"]
    assert (
        said.err == "hint: lost means that the process of the run is gone; git prun run --resume r2 goes on with it\n"
    )


def test_it_loads_neither_libgit2_nor_rich(repo: Repo, ledger: Ledger) -> None:
    script = (
        "import sys; from gitprun.cli.main import run_cli; code = run_cli(['status']);"
        "print(code, sorted({name.split('.')[0] for name in sys.modules} & {'pygit2', 'rich', 'tomllib', 'asyncio'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=repo.path,
        env=program_environment(),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines()[-1] == "0 []"


HOLD = """[[unit]]
id = "a"
prompt = "x"
command = ["sh", "-c", "echo half >half.txt; echo go >{0}/ready; read line <{0}/go; exit 0"]
"""


@pytest.fixture
def held(repo: Repo, tmp_path: Path) -> subprocess.Popen[bytes]:
    """Start a run whose worker says ``go`` in ``ready`` and waits for a line in ``go``."""
    for name in ("ready", "go"):
        os.mkfifo(tmp_path / name)
    repo.write("plan.toml", HOLD.format(tmp_path))
    process = start_prun(repo.path, "run", "plan.toml", "--verify", "true")
    (tmp_path / "ready").read_text()
    return process


def state_of(repo: Repo) -> str:
    return json.loads(prun(repo.path, "status", "--json").out)["runs"][0]["units"][0]["state"]


@pytest.mark.skipif(not hasattr(os, "pidfd_open"), reason="waits for a process that is not its child")
def test_a_unit_is_lost_only_when_its_warden_is_gone_too(
    repo: Repo, tmp_path: Path, held: subprocess.Popen[bytes]
) -> None:
    assert state_of(repo) == "running"
    held.send_signal(signal.SIGKILL)
    held.communicate()
    assert state_of(repo) == "running"
    started = next(event for event in repo.ledger.read().events if event.kind == "unit.started")
    warden = os.pidfd_open(started.payload.as_json()["process"]["pid"])
    (tmp_path / "go").write_text("on\n")
    select.select([warden], [], [], 30)
    os.close(warden)
    assert state_of(repo) == "lost"
    assert (tmp_path / "repo.prun" / "r1" / "a" / "half.txt").read_text() == "half\n"


def test_a_unit_that_waits_for_its_next_attempt(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    ledger = repo.ledger
    me = probe_identity(os.getpid())
    assert me is not None
    ledger.append(payload_of("run.started", {"base": BASE, "root": "/w", "coordinator": asdict(me)}), run="r3")
    earlier = [{"attempt": 1, "state": "rate-limited", "kind": "503", "reason": "busy", "ref": None, "folder": "/f"}]
    ledger.append(payload_of("unit.queued", {"executor": "codex", "mode": "write"}), run="r3", unit="a")
    ledger.append(payload_of("unit.preparing", {"attempt": 2, "earlier": earlier}), run="r3", unit="a")
    facts = {"until": 1_800_000_000.0, "failure": "429", "reason": "too many"}
    ledger.append(payload_of("unit.waiting", facts), run="r3", unit="a")
    lines = inside(capsys, repo.path, "status").out.splitlines()
    assert lines[2].split() == [
        *("a", "waiting", lines[2].split()[2], "-", "-", "-"),
        *("until", "2027-01-15", "08:00:00;", "too", "many"),
    ]
    row = inside(capsys, repo.path, "status", "--json").json["runs"][0]["units"][0]
    assert [row[name] for name in ("state", "kind", "attempt", "earlier", "until")] == [
        *("waiting", "429", 2, earlier, 1_800_000_000.0)
    ]
    shown = inside(capsys, repo.path, "show", "a").out
    assert "\nattempt:   2 (before it 1: 503)\n" in shown
    assert "\nearlier attempts:\n  1: rate-limited (busy); output in /f\n" in shown


def test_a_worker_of_which_nothing_comes(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    ledger, me = repo.ledger, probe_identity(os.getpid())
    assert me is not None
    ledger.append(payload_of("run.started", {"base": BASE, "root": "/w", "coordinator": asdict(me)}), run="r3")
    ledger.append(payload_of("unit.queued", {"executor": "codex", "mode": "write"}), run="r3", unit="a")
    ledger.append(payload_of("unit.started", {}), run="r3", unit="a")
    stall = {"quiet": 720.0, "since": time.time() - 720, "ends": False, "last": "Thinking\u2026", "hint": ""}
    ledger.append(payload_of("unit.stalled", {"stalled": stall}), run="r3", unit="a")
    line = inside(capsys, repo.path, "status").out.splitlines()[2]
    assert (line.split()[1], line.rpartition("  ")[2]) == ("running", "stalled 12m (Thinking\u2026)")
    row = inside(capsys, repo.path, "status", "--json").json["runs"][0]["units"][0]
    assert 720 <= row["stalled"] < 730
    assert "\nstalled:   12m (Thinking\u2026)\n" in inside(capsys, repo.path, "show", "a").out
    ledger.append(payload_of("unit.moving", {"stalled": None}), run="r3", unit="a")
    assert "stalled" not in inside(capsys, repo.path, "status").out
    ended = {"reason": "exited", "code": 0, "signal": None, "seconds": 1.5, "leftovers": 0}
    more = {"survivors": [12, 13], "dropped": 1_234_567_890}
    ledger.append(payload_of("unit.exited", {"exit": ended | more}), run="r3", unit="a")
    assert "still running, could not be ended: 12, 13" in inside(capsys, repo.path, "status").out
    shown = inside(capsys, repo.path, "show", "a").out
    assert "\ndropped:   1234.6 MB of output, out of its middle ([run] output_max)\n" in shown


@pytest.mark.parametrize("name", ["exit", "verdict", "kept", "left_out", "earlier", "outside", "drift", "path"])
@pytest.mark.parametrize("value", [True, None, [1], {"a": 1}], ids=repr)
def test_facts_that_are_no_facts_crash_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, value: object
) -> None:
    repo = make_repo(tmp_path / "repo")
    ledger = repo.ledger
    ledger.append(payload_of("run.started", {"base": repo.head}), run="r1")
    ledger.append(payload_of("unit.queued", {"executor": "command", "mode": "write"}), run="r1", unit="u")
    with open(ledger.path, "ab") as target:
        # By a hand that edited it.
        target.write(foreign_line("unit.exited", ledger.read().events[-1].time, "r1", "u", {name: value}))
    ledger.append(payload_of("unit.finished", {"state": "failed", "reason": "it failed"}), run="r1", unit="u")
    for command in ("status", "status --json", "show u", "rescue", "workspace list", "ledger verify", "undo --list"):
        said = inside(capsys, repo.path, *command.split())
        assert said.code in (0, 1), (command, said.err)

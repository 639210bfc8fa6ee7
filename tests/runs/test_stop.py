"""``git prun stop``: from any terminal, for a run, one unit, a named workspace, and what nobody coordinates."""

from __future__ import annotations

import signal
import subprocess
import sys
from dataclasses import asdict, replace
from pathlib import Path

import pytest

from gitprun.ledger.events import fold
from gitprun.runs.stopping import ask_to_stop, find_at_work
from gitprun.supervisor.process import ProcessIdentity, is_alive, probe_identity
from tests.support.cli import program_environment, prun, start_prun
from tests.support.inside import inside
from tests.support.repos import Repo, make_repo
from tests.support.rows import payload_of
from tests.support.runs import events_of, unit_of

UNIT = """
[[unit]]
id = "{0}"
prompt = "do {0}"
executor = "command"
command = ["sh", "-euc", "echo half >{0}.txt; echo >>MARKS/{0}; {1} test -e MARKS/go || sleep 1000; echo x >{0}.txt"]
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = make_repo(tmp_path / "repo", z_dot_txt="1\n")
    made.git("config", "user.name", "Ada Author")
    made.git("config", "user.email", "ada@example.test")
    return made


def start(repo: Repo, *units: str, jobs: int = 8, deaf: str = "") -> subprocess.Popen[bytes]:
    """Start a run whose workers say that they began and wait; those in ``deaf`` hear neither INT nor TERM."""
    marks = repo.path.parent
    head = f'[run]\nverify = ["true"]\njobs = {jobs}\ngrace = "{"60s" if deaf else "1s"}"\n'
    rows = [UNIT.format(unit, "trap '' INT TERM;" if unit in deaf else "") for unit in units]
    (marks / "plan.toml").write_text((head + "".join(rows)).replace("MARKS", str(marks)))
    return start_prun(repo.path, "run", "../plan.toml")


def await_begun(repo: Repo, *units: str) -> dict[str, ProcessIdentity]:
    """Wait until workers have begun; gives their wardens."""
    found: dict[str, ProcessIdentity] = {}
    while len(found) < len(units):
        for unit in units:
            rows = [event for event in events_of(repo, unit) if event.kind == "unit.started"]
            if rows and (repo.path.parent / unit).exists():
                found[unit] = ProcessIdentity(**rows[-1].payload.as_json()["process"])
    return found


def states(repo: Repo) -> dict[str, str]:
    last = repo.ledger.read().history.last
    assert last is not None
    return {unit.id: unit.state for unit in last.units.values()}


def test_nothing_is_running(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    said = inside(capsys, repo.path, "stop")
    assert (said.code, said.out, said.err) == (
        1,
        "",
        "error: nothing is running\nhint: git prun status shows what there is\n",
    )
    assert repo.ledger.read().events == ()


def test_a_whole_run(repo: Repo) -> None:
    running = start(repo, "a", "b")
    wardens = await_begun(repo, "a", "b")
    said = prun(repo.path, "stop")
    hint = "hint: git prun run --resume r1 goes on with it\n"
    assert (said.code, said.out, said.err) == (0, "a: stopped\nb: stopped\n", f"run r1 has ended\n{hint}")
    err = running.communicate(timeout=60)[1].decode()
    assert running.returncode == 128 + signal.SIGTERM
    assert "stopping (press again to kill)\n" in err
    assert not any(map(is_alive, wardens.values()))
    assert repo.files("refs/prun/r1/a") == {"z.txt": "1", "a.txt": "half"}
    asked = [event for event in repo.ledger.read().events if event.kind == "run.stop-asked"]
    assert [(event.run, event.payload.as_json()["stop"]["kill"]) for event in asked] == [("r1", False)]
    said = prun(repo.path, "stop", "r1")
    assert (said.code, said.err) == (1, "error: run r1 is not running\nhint: git prun status r1\n")


def test_one_unit_and_the_others_go_on(repo: Repo) -> None:
    running = start(repo, "a", "b", "c", jobs=2)
    wardens = await_begun(repo, "a", "b")
    # One that waits for its turn, then one at work.
    said = prun(repo.path, "stop", "c")
    assert (said.code, said.out, said.err) == (0, "c: stopped\n", "r1/c has ended\n")
    said = prun(repo.path, "stop", "--json", "r1/a")
    assert said.json == {
        "schema": "gitprun.stop/1",
        "run": "r1",
        "unit": "a",
        "coordinated": True,
        "kill": False,
        "ended": True,
        "states": {"a": "stopped"},
    }
    assert (is_alive(wardens["a"]), is_alive(wardens["b"]), running.poll()) == (False, True, None)
    assert repo.files("refs/prun/r1/a") == {"z.txt": "1", "a.txt": "half"}
    assert [event.kind for event in events_of(repo, "a")][-4:] == [
        "unit.stop-asked",
        "unit.exited",
        "unit.captured",
        "unit.finished",
    ]
    (repo.path.parent / "go").touch()
    assert prun(repo.path, "stop", "b").code == 0
    running.communicate(timeout=60)
    assert states(repo) == {"a": "stopped", "b": "stopped", "c": "stopped"}
    assert running.returncode == 1


@pytest.mark.slow
def test_a_second_request_kills(repo: Repo) -> None:
    running = start(repo, "a", "b", deaf="ab")
    await_begun(repo, "a", "b")
    # With a minute between the steps of the ladder only KILL ends these in time.
    assert prun(repo.path, "stop", "--kill", "a", timeout=50).code == 0
    assert unit_of(repo, "a").as_json()["exit"]["signal"] == signal.SIGKILL
    assert prun(repo.path, "stop", "--kill", timeout=50).code == 0
    running.communicate(timeout=50)
    assert running.returncode == 128 + signal.SIGTERM
    assert states(repo) == {"a": "stopped", "b": "stopped"}
    assert repo.files("refs/prun/r1/b") == {"z.txt": "1", "b.txt": "half"}


@pytest.mark.slow
def test_what_nobody_coordinates_any_more(repo: Repo) -> None:
    running = start(repo, "a", "b")
    wardens = await_begun(repo, "a", "b")
    running.kill()
    running.communicate(timeout=60)
    said = prun(repo.path, "stop", "a")
    assert (said.code, said.out) == (0, "a: lost\n")
    assert said.err == (
        "r1/a: nobody coordinated it; its workers have ended\nhint: git prun run --resume r1 captures their work\n"
    )
    assert (is_alive(wardens["a"]), is_alive(wardens["b"])) == (False, True)
    assert prun(repo.path, "stop", "r1").code == 0
    assert not is_alive(wardens["b"])
    assert prun(repo.path, "stop").code == 1
    (repo.path.parent / "go").touch()
    said = prun(repo.path, "run", "--resume")
    assert states(repo) == {"a": "stopped", "b": "stopped"}
    assert repo.files("refs/prun/r1/a") == {"z.txt": "1", "a.txt": "half"}


@pytest.mark.slow
def test_several_runs_are_listed(repo: Repo, capsys: pytest.CaptureFixture[str]) -> None:
    first = start(repo, "a")
    await_begun(repo, "a")
    second = start(repo, "b")
    await_begun(repo, "b")
    said = inside(capsys, repo.path, "stop")
    assert (said.code, said.err) == (129, "error: 2 are running: r1, r2\nhint: git prun stop r1\n")
    for name in ("r1", "r2"):
        assert inside(capsys, repo.path, "stop", name).code == 0
    for running in (first, second):
        running.communicate(timeout=60)


@pytest.mark.slow
def test_a_worker_in_a_named_workspace(repo: Repo) -> None:
    assert prun(repo.path, "new", "n", "side").code == 0
    marks = repo.path.parent
    script = f"echo half >n.txt; echo >{marks}/n; sleep 1000"
    running = start_prun(repo.path, "exec", "n", "slug", "x", "--command", f"sh -c '{script}'")
    while not (marks / "n").exists():
        assert running.poll() is None, running.communicate()
    said = prun(repo.path, "stop")
    assert (said.code, said.out, said.err) == (0, "n: stopped\n", "named/n has ended\n")
    running.communicate(timeout=60)
    assert running.returncode == 128 + signal.SIGTERM
    kept = repo.git("for-each-ref", "--format=%(refname)", "refs/prun/kept/named").splitlines()
    assert [repo.files(name) for name in kept] == [{"z.txt": "1", "n.txt": "half"}]


@pytest.mark.slow
def test_a_worker_stops_nobody(repo: Repo, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    running = start(repo, "a")
    await_begun(repo, "a")
    monkeypatch.setenv("PRUN_UNIT", "b")
    said = inside(capsys, repo.path, "stop")
    assert (said.code, said.err.splitlines()[0]) == (1, "error: a worker may not stop r1")
    monkeypatch.delenv("PRUN_UNIT")
    assert inside(capsys, repo.path, "stop").code == 0
    running.communicate(timeout=60)


def test_a_pid_that_is_somebody_elses_now_is_never_ended(repo: Repo) -> None:
    stranger = subprocess.Popen(["sleep", "600"])
    try:
        me = probe_identity(stranger.pid)
        assert me is not None
        other = replace(me, start=f"{me.start}0")
        facts = {"base": repo.head, "coordinator": asdict(other)}
        repo.ledger.append(payload_of("run.started", facts), run="r1")
        repo.ledger.append(payload_of("unit.queued", {"spec": {}}), run="r1", unit="a")
        repo.ledger.append(payload_of("unit.started", {"process": asdict(other)}), run="r1", unit="a")
        said = prun(repo.path, "stop", "r1")
        assert (said.code, said.err) == (1, "error: run r1 is not running\nhint: git prun status r1\n")
        # Between the look and the signal it may become somebody else's too.
        repo.ledger.append(payload_of("run.resumed", {"coordinator": asdict(me)}), run="r1")
        (work,) = find_at_work(repo.ledger, repo.ledger.read())
        ask_to_stop(repo.ledger, replace(work, coordinator=other, wardens={"a": other}), kill=True)
        assert stranger.poll() is None
    finally:
        stranger.kill()
        stranger.wait()


DYING = """
import os, signal, sys
from gitprun.ledger.ledger import Ledger
from gitprun.cli.main import run_cli
write = Ledger.append_all
def append_all(ledger, rows):
    if sys.argv[1] == "before": os.kill(os.getpid(), signal.SIGKILL)
    write(ledger, rows)
    os.kill(os.getpid(), signal.SIGKILL)
Ledger.append_all = append_all
run_cli(["stop", *sys.argv[2:]])
"""


@pytest.mark.slow
@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("name", ["r1", "a"])
def test_a_stop_that_is_killed_is_asked_again(repo: Repo, when: str, name: str) -> None:
    running = start(repo, "a")
    await_begun(repo, "a")
    argv = [sys.executable, "-c", DYING, when, name]
    done = subprocess.run(argv, cwd=repo.path, env=program_environment(), check=False, timeout=60)
    assert done.returncode == -signal.SIGKILL
    if (name, when) == ("a", "after"):
        # It is written down, so it is heard.
        running.communicate(timeout=60)
        assert running.returncode == 1
    else:
        assert (running.poll(), prun(repo.path, "stop", name).code) == (None, 0)
        running.communicate(timeout=60)
    assert states(repo) == {"a": "stopped"}
    assert repo.files("refs/prun/r1/a") == {"z.txt": "1", "a.txt": "half"}
    assert prun(repo.path, "ledger", "verify").code == 0


def test_a_request_changes_no_state_and_ends_with_its_attempt(repo: Repo) -> None:
    ledger = repo.ledger
    ledger.append(payload_of("run.started", {"base": repo.head}), run="r1")
    for kind in ("queued", "preparing", "started", "stop-asked"):
        ledger.append(
            payload_of(f"unit.{kind}", {"stop": {"kill": False}} if "asked" in kind else {}), run="r1", unit="a"
        )
    ledger.append(payload_of("run.stop-asked", {"stop": {"kill": True}}), run="r1")
    before = fold(ledger.read().events).runs["r1"]
    assert (before.units["a"].state, before.units["a"].as_json()["stop"]) == ("running", {"kill": False})
    assert "stop" not in before.as_json()
    ledger.append(payload_of("unit.preparing"), run="r1", unit="a")
    assert "stop" not in fold(ledger.read().events).runs["r1"].units["a"].as_json()

"""Finding runs and units by the words people use, and telling what really lives."""

from __future__ import annotations

import os
import signal
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from gitprun.ledger.events import History, RunState, UnitState
from gitprun.ledger.lookup import NotKnown, find_run, find_unit, probe_unit
from gitprun.model.names import RunId, UnitId
from gitprun.supervisor import process
from gitprun.supervisor.process import ProcessIdentity, is_gone, probe_identity


def run(number: int, *units: str) -> RunState:
    name = RunId(f"r{number}")
    return RunState(id=name, units={unit: UnitState(id=UnitId(unit), run=name) for unit in units})


HISTORY = History({"r1": run(1, "alpha", "beta"), "r2": run(2, "beta", "gamma")})


def test_find_run() -> None:
    assert [find_run(HISTORY, name).id for name in (None, "r1", "r2")] == ["r2", "r1", "r2"]
    with pytest.raises(NotKnown) as caught:
        find_run(HISTORY, "r9")
    assert (caught.value.message, caught.value.hint) == ("there is no run 'r9'", "the last one is r2")
    with pytest.raises(NotKnown, match="nothing has been run in this repository yet"):
        find_run(History(), None)
    with pytest.raises(NotKnown, match="there is no run 'r1'"):
        find_run(History(), "r1")


@pytest.mark.parametrize(
    ("name", "found"),
    [("beta", "r2/beta"), ("alpha", "r1/alpha"), ("r1/beta", "r1/beta"), ("prun/r1/beta", "r1/beta")],
)
def test_find_unit(name: str, found: str) -> None:
    unit = find_unit(HISTORY, name)
    assert f"{unit.run}/{unit.id}" == found


@pytest.mark.parametrize(
    ("name", "message", "hint"),
    [
        ("alpah", "no run has a unit 'alpah'", "did you mean 'alpha'?"),
        ("zzz", "no run has a unit 'zzz'", "git prun status lists the units"),
        ("r2/alpha", "run r2 has no unit 'alpha'", "git prun status lists the units"),
        ("r1/alph", "run r1 has no unit 'alph'", "did you mean 'alpha'?"),
        ("r9/alpha", "there is no run 'r9'", "the last one is r2"),
        ("x/alpha", "no run has a unit 'x/alpha'", "did you mean 'alpha'?"),
    ],
)
def test_find_unit_says_what_was_meant(name: str, message: str, hint: str) -> None:
    with pytest.raises(NotKnown) as caught:
        find_unit(HISTORY, name)
    assert (caught.value.message, caught.value.hint) == (message, hint)


def test_probe_unit() -> None:
    me = probe_identity(os.getpid())
    assert me is not None
    alive, dead, run = me, replace(me, start="0"), RunId("r1")

    def state(coordinator: ProcessIdentity | None, process: ProcessIdentity | None, state: str = "running") -> str:
        unit = UnitState(id=UnitId("u"), run=run, state=state, process=process)
        return probe_unit(RunState(id=run, coordinator=coordinator), unit).state

    assert state(alive, dead) == "running"
    assert state(dead, alive) == "running"
    assert state(dead, dead) == "lost"
    assert state(dead, None, "queued") == "lost"
    assert state(None, dead) == "running"
    assert state(dead, dead, "ready") == "ready"


def test_gone_is_only_what_has_provably_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    me = probe_identity(os.getpid())
    assert me is not None
    assert not is_gone(me)
    assert is_gone(replace(me, start="1"))
    assert is_gone(replace(me, boot="00000000-0000-0000-0000-000000000000"))
    with subprocess.Popen(["sleep", "1000"]) as child:
        other = probe_identity(child.pid)
        assert other is not None
        os.kill(child.pid, signal.SIGKILL)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        # It has ended, although nobody has taken note yet.
        assert is_gone(other)
        child.wait()
        assert is_gone(other)
        read = Path.read_bytes
        for trouble in (PermissionError(13, "no"), FileNotFoundError(2, "no /proc")):

            def blind(path: Path, trouble: OSError = trouble) -> bytes:
                if str(path).startswith("/proc/"):
                    raise trouble
                return read(path)

            with monkeypatch.context() as patched:
                patched.setattr(Path, "read_bytes", blind)
                patched.setattr(process, "_boot_id", lambda: me.boot)
                assert not is_gone(me)
                # The system itself still says that there is no such process.
                assert is_gone(other) is isinstance(trouble, FileNotFoundError)

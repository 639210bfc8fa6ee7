"""While a process of a worker's lives that nobody could end, its work is neither captured nor taken away."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gitprun.model.plan import Settings
from gitprun.model.units import Exit
from gitprun.registry.survivors import living_survivors
from gitprun.runs import worker
from gitprun.runs.context import Coordinator
from gitprun.runs.resume import resume_run, take_over
from gitprun.supervisor.process import Stop, probe_identity
from tests.support.cli import prun
from tests.support.processes import start_program
from tests.support.repos import Repo, make_repo
from tests.support.runs import RESULT, run_units, sh, unit_of, workspace


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_repo(tmp_path / "repo", a_dot_txt="1\n")


@pytest.fixture
def stubborn(monkeypatch: pytest.MonkeyPatch) -> Iterator[subprocess.Popen[bytes]]:
    """Let every worker leave one living process that its warden could not end."""
    process = start_program(["sleep", "1000"])
    who = probe_identity(process.pid)
    assert who is not None
    run = worker.run

    def leave_one(*args: Any, record: Path, **more: Any) -> Exit:
        ended = run(*args, record=record, **more)
        place = record / "exit.json"
        place.write_text(json.dumps(json.loads(place.read_text()) | {"survivors": [[who.pid, who.start]]}))
        return replace(ended, survivors=(who.pid,))

    monkeypatch.setattr(worker, "run", leave_one)
    yield process
    process.kill()
    process.wait()


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_it_is_captured_once_they_are_gone(repo: Repo, stubborn: subprocess.Popen[bytes], kind: str) -> None:
    report = run_units(repo, sh("u", f"echo 2 >a.txt; {RESULT}", workspace=kind))
    assert report.states == {"u": "broken"}
    first = unit_of(repo, "u")
    assert first.reason == (
        f"1 processes of the worker could not be ended (pid {stubborn.pid}), so its work is not captured"
    )
    assert first.hint == "end them, then: git prun run --resume"
    assert repo.git("for-each-ref", "refs/prun/r1") == ""
    said = prun(repo.path, "remove", "u", "--discard-left-out")
    assert (said.code, workspace(repo, "r1", "u").exists()) == (1, True)
    assert f"(pid {stubborn.pid})" in said.err

    def resume() -> dict[str, str]:
        taken = take_over(repo.repository, repo.ledger, None, said=Settings())
        return dict(resume_run(repo.repository, taken, Coordinator(ledger=repo.ledger, stop=Stop(), grace=0.1)).states)

    assert resume() == {"u": "broken"}
    stubborn.kill()
    stubborn.wait()
    assert resume() == {"u": "ready"}
    after = unit_of(repo, "u")
    assert after.commit is not None
    assert (repo.files(after.commit), after.attempt) == ({"a.txt": "2"}, 1)


def test_who_is_meant(tmp_path: Path) -> None:
    process = start_program(["sleep", "1000"])
    try:
        who = probe_identity(process.pid)
        assert who is not None
        rows = [[who.pid, who.start], [who.pid, "1"], [4_000_000, "1"]]
        (tmp_path / "exit.json").write_text(json.dumps({"survivors": rows}))
        assert living_survivors(tmp_path) == (process.pid,)
        (tmp_path / "exit.json").write_text("torn")
        ended = Exit(code=0, signal=None, reason="exited", seconds=0.0, survivors=(process.pid, 4_000_000))
        assert (living_survivors(tmp_path), living_survivors(tmp_path, ended)) == ((), (process.pid,))
    finally:
        process.kill()
        process.wait()

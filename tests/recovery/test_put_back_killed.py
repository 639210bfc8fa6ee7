"""An undo of drift that is killed around each of its steps: calling it again finishes it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from gitprun.recovery.undo_drift import NothingFound, put_back
from tests.support.drifting import Scene, make_scene, state_of, untouched
from tests.support.repos import Repo

ROOT = Path(__file__).parents[2]
EVERYTHING = (
    "git branch -q -D topic; git tag -d v1; git stash clear; git config core.hooksPath /evil; git config user.name Eve;"
    "echo evil >>.git/hooks/pre-commit; echo '*' >.git/info/attributes; rm -rf .git/worktrees/other;"
    "git symbolic-ref HEAD refs/heads/side; git update-ref refs/heads/byhand main;"
    "git reflog expire --expire=now --all; git gc -q --prune=now; git push -q --no-verify . main:refs/heads/pushed"
)
pytestmark = [pytest.mark.kill, pytest.mark.slow]


def kill_at(repo: Repo, number: int, when: str) -> bool:
    """Start an undo that dies around its N-th event; tells whether it came so far."""
    argv = [sys.executable, "-m", "tests.support.killed_drift", str(repo.path), str(number), when]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(argv, cwd=ROOT, env=env, capture_output=True, check=False)
    assert done.returncode in (0, -signal.SIGKILL), done.stderr.decode()
    return done.returncode != 0


def spoiled(path: Path) -> tuple[Scene, dict[str, object], dict[str, object]]:
    scene = make_scene(path)
    before, files = state_of(scene), untouched(scene)
    scene.act(EVERYTHING)
    return scene, before, files


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("number", range(1, 24))
def test_killed_around_an_event(tmp_path: Path, number: int, when: str) -> None:
    scene, before, files = spoiled(tmp_path)
    killed = kill_at(scene.repo, number, when)
    try:
        assert put_back(scene.witness.repository, scene.ledger, "u").is_done
    except NothingFound:
        # It had come to its end, but for the telling.
        pass
    assert {**state_of(scene), "logs": before["logs"]} == before
    assert untouched(scene) == files
    assert scene.repo.git("fsck", "--strict", "--no-dangling", "--connectivity-only") == ""
    assert not any(drift.is_open for drift in scene.drifts)
    assert killed or number > 15

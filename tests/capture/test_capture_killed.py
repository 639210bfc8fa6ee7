"""Killed at any moment of a capture: nothing half made is ever seen, and the next one brings all of the work."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from gitprun.model.units import WorkspaceKind
from tests.support.killed_capture import capture_and_die, capture_known
from tests.support.repos import make_repo
from tests.support.workshop import fingerprint, open_workshop

pytestmark = pytest.mark.kill

MOMENTS = 30


@pytest.mark.parametrize("kind", ["clone", "worktree"])
def test_killed_in_a_capture(tmp_path: Path, kind: WorkspaceKind) -> None:
    repo = make_repo(tmp_path / "repo", a_dot_txt="1\n", d__b_dot_txt="1\n", gone_dot_txt="1\n")
    work = {"a.txt": "2", "d/b.txt": "1", "new/x.txt": "x", "own.txt": "o"}

    def prepare(unit: str) -> Path:
        shop = open_workshop(repo, tmp_path / "w", kind, unit=unit)
        shop.work.commit("own", own_dot_txt="o\n")
        shop.work.write("a.txt", "2\n")
        shop.work.write("new/x.txt", "x\n")
        (shop.path / "gone.txt").unlink()
        return shop.path

    prepare("whole")
    lived = capture_and_die(repo, "whole", 0)
    assert lived.returncode == 0, lived.stderr.decode()
    touches = int(lived.stdout)
    assert touches > MOMENTS
    user = fingerprint(repo.path, without=(".git",))
    for number in range(MOMENTS):
        unit = f"u{number}"
        path = prepare(unit)
        before = fingerprint(path, without=(".git",))
        died = capture_and_die(repo, unit, 1 + touches * number // MOMENTS)
        assert died.returncode in (-signal.SIGKILL, 0), died.stderr.decode()
        half = repo.git("for-each-ref", "--format=%(objectname)", f"refs/prun/r1/{unit}")
        if half:
            assert repo.files(half) == work
        assert repo.git("fsck", "--strict", "--no-dangling") == ""
        assert fingerprint(path, without=(".git",)) == before
        commit = capture_known(repo.repository, "r1", unit)
        assert repo.files(commit) == work
        assert repo.oid(f"refs/prun/r1/{unit}") == commit
        assert list(repo.git("for-each-ref", f"refs/prun/kept/r1/{unit}").splitlines()) != []
    assert fingerprint(repo.path, without=(".git",)) == user
    repo.git("fsck", "--strict")

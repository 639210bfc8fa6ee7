"""Capture and commit one unit in a process of its own that kills itself at its n-th touch of the machine.

``python -m tests.support.killed_capture REPO UNIT N``: finds workspace and index through the ledger, as a resumed run
does. N = 0 lives, and prints how often it touched the machine.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

from gitprun.capture.capture import CaptureContext, CommitText, capture, commit_capture
from gitprun.git.refs import open_repository, read_ref, read_signatures
from gitprun.git.repo import Repository, find_repository
from gitprun.ledger.ledger import Ledger
from gitprun.model.names import ZERO, Oid, RunId, UnitId, unit_ref
from gitprun.registry.rest import recall_workspace
from gitprun.workspaces.clone import read_source
from gitprun.workspaces.gitdir import ensure_own_git
from tests.support.cli import program_environment
from tests.support.repos import Repo

TOUCHES = ("os.", "shutil.", "open", "subprocess.")


def capture_and_die(repo: Repo, unit: str, touch: int) -> subprocess.CompletedProcess[bytes]:
    """Capture in a process that is killed at its ``touch``-th touch of the machine, and wait for its end."""
    argv = [sys.executable, "-m", "tests.support.killed_capture", str(repo.path), unit, str(touch)]
    root = Path(__file__).resolve().parents[2]
    return subprocess.run(argv, cwd=root, env=program_environment(), check=False, timeout=120, capture_output=True)


def open_known(repository: Repository, run: str, name: str) -> CaptureContext:
    """Open the workspace of a unit as its ledger knows it."""
    state = Ledger(repository.state).read().history.runs[run]
    workspace, source = recall_workspace(repository.state, state.units[name]), read_source(repository)
    assert workspace.index is not None
    base = Oid(state.base)
    return CaptureContext(
        repository=repository,
        repo=open_repository(repository.common),
        workspace=workspace,
        base=base,
        max_file=1_000_000,
        own=ensure_own_git(repository, workspace.index, base, workspace.kind),
        known=source.tips | {base},
        alternates=source.alternates,
    )


def capture_known(repository: Repository, run: str, name: str) -> Oid:
    """Capture a unit and pin its commit, as a run does, also where another process was killed over it."""
    site = open_known(repository, run, name)
    found = capture(site, RunId(run), UnitId(name))
    ref, who = unit_ref(RunId(run), UnitId(name)), read_signatures(repository.git)
    return commit_capture(site, found, ref, CommitText(message=f"{name}\n", who=who), read_ref(site.repo, ref) or ZERO)


def _main(path: str, name: str, touch: int) -> None:
    repository, seen = find_repository(Path(path)), 0

    def hear(event: str, _args: object) -> None:
        nonlocal seen
        if event.startswith(TOUCHES):
            seen += 1
            if seen == touch:
                os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hear)
    capture_known(repository, "r1", name)
    print(seen)


if __name__ == "__main__":
    _main(sys.argv[1], sys.argv[2], int(sys.argv[3]))

"""Make a fresh workspace ready: the commands of ``[workspace] setup``, once the user has let them run.

They run after the workspace's index was put aside, so nothing generated slips into a base unseen. What they made is
written down by whoever runs them (``gitprun.capture.preview``), since it is no work of the worker who finds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gitprun.supervisor.process import Stop, worker_environment
from gitprun.system.files import tail
from gitprun.verify.check import run_shell
from gitprun.verify.surroundings import Surroundings
from gitprun.workspaces.base import WorkspaceProblem

SETUP_TIMEOUT = 1800.0
SHOWN = 400


class SetupFailed(WorkspaceProblem):
    """A setup command failed, or there was no time left for it."""


def run_setup(
    path: Path,
    commands: Sequence[str],
    *,
    log: Path,
    timeout: float = SETUP_TIMEOUT,
    stop: Stop | None = None,
    around: Surroundings | None = None,
) -> None:
    """Run the commands one after the other in a workspace, their output going to ``log``; raises SetupFailed.

    They share ``timeout`` seconds, and the first that fails ends it. In a workspace no worker has seen they are the
    user's own, with his whole environment (registries want his tokens); where workers' code is, ``around`` says more.
    """
    around = around or Surroundings(env=worker_environment({}))
    if around.obstacle:
        raise SetupFailed(f"the setup commands were not run: {around.obstacle}")
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_bytes(b"")
    left = timeout
    for command in commands:
        with open(log, "ab") as output:
            output.write(f"$ {command}\n".encode("utf-8", "replace"))
        ended = run_shell(command, path, around, log=log, timeout=max(left, 0.1), stop=stop)
        left -= ended.seconds
        if ended.reason == "exited" and ended.code == 0:
            continue
        why = f"exit code {ended.shell_code}"
        if ended.reason == "timeout":
            why = f"not done after {timeout:g} s, the time all of them share"
        elif ended.reason == "stopped":
            why = "stopped on request"
        raise SetupFailed(f"the setup command {command!r} failed: {why}{_last_words(log)}", f"its output is in {log}")


def _last_words(log: Path) -> str:
    lines = [line.strip() for line in tail(log, SHOWN).decode("utf-8", "replace").splitlines() if line.strip()]
    return f": {lines[-1]}" if lines and not lines[-1].startswith("$ ") else ""

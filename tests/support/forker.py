"""Start many ``git prun`` processes from one that has everything loaded already: the same code, in a child of its own.

``python -m tests.support.forker`` reads one JSON line a command (argv, cwd, env, folder for its output), forks, prints
the child's pid and later its exit code. One child at a time; who wants several at once takes several forkers.
"""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType

from tests.support.cli import ROOT, Said, program_environment


@dataclass(frozen=True, slots=True)
class Child:
    """A command at work."""

    forker: Forker
    pid: int
    folder: Path

    def kill(self) -> None:
        """End it as a power cut would."""
        try:
            os.kill(self.pid, signal.SIGKILL)
        except ProcessLookupError:
            return

    def wait(self) -> Said:
        """Wait for its end."""
        code = int(self.forker.answer())
        # One that was killed at once has not opened them.
        places = [self.folder / name for name in ("out", "err")]
        out, err = (place.read_text(errors="replace") if place.exists() else "" for place in places)
        return Said(code, out, err)


class Forker:
    """A loaded process that forks one command after the other."""

    def __init__(self) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="forker-")
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forker"],
            cwd=ROOT,
            env=program_environment(),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        self._count = 0

    def __enter__(self) -> Forker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, found: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.close()
        self._process.wait(timeout=60)
        self._process.stdout.close()
        self._scratch.cleanup()

    def start(self, cwd: Path, *args: str, env: Mapping[str, str] | None = None) -> Child:
        """Start ``git prun ARGS`` in a folder."""
        self._count += 1
        folder = Path(self._scratch.name) / str(self._count)
        folder.mkdir()
        row = {"args": args, "cwd": str(cwd), "env": program_environment(env), "folder": str(folder)}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(row).encode() + b"\n")
        self._process.stdin.flush()
        return Child(self, int(self.answer()), folder)

    def run(self, cwd: Path, *args: str, env: Mapping[str, str] | None = None) -> Said:
        """Run ``git prun ARGS`` to its end."""
        return self.start(cwd, *args, env=env).wait()

    def answer(self) -> str:
        """Read one line of the loaded process."""
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, "the loaded process is gone"
        return line.decode().strip()


def _become(row: Mapping[str, object]) -> None:
    """Be the command; never returns."""
    code = 70
    try:
        os.setsid()
        os.chdir(str(row["cwd"]))
        os.environ.clear()
        os.environ.update(row["env"])  # type: ignore[call-overload]
        for number, name in ((0, os.devnull), (1, f"{row['folder']}/out"), (2, f"{row['folder']}/err")):
            flags = os.O_RDONLY if number == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            opened = os.open(name, flags, 0o600)
            os.dup2(opened, number)
            os.close(opened)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        sys.argv = ["git-prun", *row["args"]]  # type: ignore[misc]
        _jump(int(os.environ.pop("PROOF_CLOCK_JUMP", "0")))
        from gitprun.cli.main import run_cli

        code = run_cli(list(row["args"]))  # type: ignore[call-overload]
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _jump(seconds: int) -> None:
    """Let the wall clock jump by so many seconds and back, at every other look."""
    if not seconds:
        return
    real, looks = time.time, itertools.count()
    time.time = lambda: real() + (seconds if next(looks) % 2 else 0)


def _serve() -> None:
    import pygit2

    import gitprun.cli.main
    import gitprun.landing.train
    import gitprun.runs.dispatch  # noqa: F401

    for level in (
        pygit2.enums.ConfigLevel.GLOBAL,
        pygit2.enums.ConfigLevel.XDG,
        pygit2.enums.ConfigLevel.SYSTEM,
        pygit2.enums.ConfigLevel.PROGRAMDATA,
    ):
        pygit2.settings.search_path[level] = os.devnull
    for line in sys.stdin:
        row = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _become(row)
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)


if __name__ == "__main__":
    _serve()

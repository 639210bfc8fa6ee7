"""Start many ``git prun`` processes from one that has everything loaded already: the same code, in a child of its own.

``python -m tests.support.forker N`` reads commands from socket N (argv, cwd, env, and where its output goes), forks,
says the child's pid and later its exit code. One child at a time; who wants several at once takes several forkers.
"""

from __future__ import annotations

import atexit
import gc
import itertools
import json
import os
import pkgutil
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.cli import ROOT, Said, program_environment

# Above the longest command line and environment that a test gives.
MESSAGE = 1 << 20


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
        out, err = ((self.folder / name).read_text(errors="replace") for name in ("out", "err"))
        return Said(code, out, err)


class Forker:
    """A loaded process that forks one command after the other."""

    def __init__(self) -> None:
        self._scratch = tempfile.TemporaryDirectory(prefix="forker-")
        self._socket, theirs = socket.socketpair()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.forker", str(theirs.fileno())],
            cwd=ROOT,
            env=program_environment(),
            stdin=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
        )
        theirs.close()
        self._count = 0

    def __enter__(self) -> Forker:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, found: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the loaded process go."""
        self._socket.close()
        self._process.wait(timeout=60)
        self._scratch.cleanup()

    def start(self, cwd: Path, *args: str, env: Mapping[str, str] | None = None) -> Child:
        """Start ``git prun ARGS`` in a folder; what it prints goes into files, so nobody waits for what it leaves."""
        self._count += 1
        folder = Path(self._scratch.name) / str(self._count)
        folder.mkdir()
        with open(folder / "out", "wb") as out, open(folder / "err", "wb") as err:
            return Child(self, self._ask(cwd, args, program_environment(env), out.fileno(), err.fileno()), folder)

    def run(self, cwd: Path, *args: str, env: Mapping[str, str] | None = None) -> Said:
        """Run ``git prun ARGS`` to its end."""
        return self.start(cwd, *args, env=env).wait()

    def call(self, cwd: Path, args: Sequence[str], env: Mapping[str, str], timeout: float) -> Said:
        """Run it as ``subprocess.run`` with pipes would: until nobody can write into them any more."""
        end = time.monotonic() + timeout
        (out, to_out), (err, to_err) = os.pipe(), os.pipe()
        pid = 0
        try:
            try:
                pid = self._ask(cwd, args, env, to_out, to_err)
            finally:
                os.close(to_out)
                os.close(to_err)
            said = _read_all((out, err), end)
            if said is None or not select.select([self._socket], [], [], max(end - time.monotonic(), 0))[0]:
                os.kill(pid, signal.SIGKILL)
                raise subprocess.TimeoutExpired(["git-prun", *args], timeout)
        finally:
            os.close(out)
            os.close(err)
        printed, complained = (text.decode("utf-8", "replace") for text in said)
        return Said(int(self.answer()), printed, complained)

    def answer(self) -> str:
        """Read one answer of the loaded process."""
        line = self._socket.recv(16)
        assert line, "the loaded process is gone"
        return line.decode().strip()

    def _ask(self, cwd: Path, args: Sequence[str], env: Mapping[str, str], out: int, err: int) -> int:
        mask = os.umask(0)
        os.umask(mask)
        row = json.dumps({"args": list(args), "cwd": str(cwd), "env": dict(env), "umask": mask}).encode()
        assert len(row) < MESSAGE
        socket.send_fds(self._socket, [len(row).to_bytes(4, "big")], [out, err])
        self._socket.sendall(row)
        return int(self.answer())


def _read_all(pipes: Sequence[int], end: float) -> list[bytes] | None:
    """Read pipes until all are closed; None when time is up."""
    said, open_pipes = {pipe: bytearray() for pipe in pipes}, {*pipes}
    while open_pipes:
        ready = select.select([*open_pipes], [], [], max(end - time.monotonic(), 0))[0]
        if not ready:
            return None
        for pipe in ready:
            more = os.read(pipe, 1 << 16)
            said[pipe] += more
            if not more:
                open_pipes.remove(pipe)
    return [bytes(said[pipe]) for pipe in pipes]


def _become(row: Mapping[str, Any], out: int, err: int) -> None:
    """Be the command; never returns."""
    code = 70
    try:
        os.setsid()
        os.chdir(row["cwd"])
        os.umask(row["umask"])
        os.environ.clear()
        os.environ.update(row["env"])
        time.tzset()
        _look_for_settings()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(out, 1)
        os.dup2(err, 2)
        os.closerange(3, 64)
        sys.stdin = open(0, closefd=False)  # noqa: SIM115
        sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
        sys.stderr = open(2, "w", closefd=False, errors="backslashreplace")  # noqa: SIM115
        sys.argv = [str(ROOT / "gitprun" / "__main__.py"), *row["args"]]
        _jump(int(os.environ.pop("PROOF_CLOCK_JUMP", "0")))
        from gitprun.__main__ import main

        try:
            main()
            code = 0
        except SystemExit as asked:
            code = asked.code if isinstance(asked.code, int) else 0 if asked.code is None else 1
        except BaseException:
            traceback.print_exc()
            code = 1
        # What the end of the interpreter would do, without tearing down what all of them share.
        threading._shutdown()  # type: ignore[attr-defined]
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _look_for_settings() -> None:
    """Have libgit2, which asks the environment only when it is loaded, look where this one points."""
    import pygit2

    home, level, path = os.environ.get("HOME", ""), pygit2.enums.ConfigLevel, pygit2.settings.search_path
    path[level.GLOBAL] = home
    path[level.XDG] = os.path.join(os.environ.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "git")
    pygit2.settings.homedir = home


def _jump(seconds: int) -> None:
    """Let the wall clock jump by so many seconds and back, at every other look."""
    if not seconds:
        return
    real, looks = time.time, itertools.count()
    time.time = lambda: real() + (seconds if next(looks) % 2 else 0)


def _serve(descriptor: int) -> None:
    import gitprun

    for module in pkgutil.walk_packages(gitprun.__path__, "gitprun."):
        # The supervisor starts bare, and is no part of a command.
        if not module.name.endswith((".supervisor.supervisor", ".__main__")):
            import_module(module.name)
    # Nothing that is there now is ever garbage: a child need not look at it, nor copy it.
    gc.collect()
    gc.freeze()
    with socket.socket(fileno=descriptor) as asked:
        while True:
            size, streams, _, _ = socket.recv_fds(asked, 4, 2)
            if not size:
                return
            row = json.loads(asked.recv(int.from_bytes(size, "big"), socket.MSG_WAITALL))
            pid = os.fork()
            if pid == 0:
                _become(row, *streams)
            for stream in streams:
                os.close(stream)
            asked.sendall(b"%-16d" % pid)
            _, status = os.waitpid(pid, 0)
            asked.sendall(b"%-16d" % os.waitstatus_to_exitcode(status))


if __name__ == "__main__":
    _serve(int(sys.argv[1]))

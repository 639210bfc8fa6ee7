"""The one door to other programs (git has its own, ``git/command``): run, wait, stop, tell who is alive."""

from __future__ import annotations

import json
import marshal
import os
import select
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from gitprun.units import Exit

WARDEN = "import sys; sys.path.insert(0, sys.argv[1]); import warden; warden.main(sys.argv[2])"
DEFAULT_GRACE = 5.0
SPEC = "spec"
POLL = 0.2


@dataclass(frozen=True, slots=True)
class Identity:
    """Who a process is: a pid alone is soon somebody else's. ``start`` and ``boot`` are opaque tokens."""

    pid: int
    start: str
    boot: str


class Stop(threading.Event):
    """A request to stop, heard at once by everything that waits for a program."""

    def __init__(self) -> None:
        super().__init__()
        self._listeners: dict[int, Callable[[], None]] = {}
        # Set from a signal handler, perhaps in the very thread that is registering: must be re-entrant.
        self._guard = threading.RLock()

    def set(self) -> None:
        """Ask everything to stop; calling it again asks again."""
        super().set()
        with self._guard:
            listeners = list(self._listeners.values())
        for listener in listeners:
            listener()

    @contextmanager
    def heard_by(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call ``listener`` when the stop is requested while the block runs (at once if it already was)."""
        key = id(listener)
        with self._guard:
            self._listeners[key] = listener
        try:
            if self.is_set():
                listener()
            yield
        finally:
            with self._guard:
                self._listeners.pop(key, None)


def worker_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Give the environment for programs of others: ours without any ``GIT_*`` or ``PRUN_*``, plus ``extra``."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "PRUN_"))}
    return {**kept, **extra}


def _scratch() -> AbstractContextManager[str]:
    """Make a temporary folder; slow to load, and no business of those who only wait or stop."""
    import tempfile

    return tempfile.TemporaryDirectory(prefix="prun-")


def run(
    argv: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    stdout: Path,
    stderr: Path | None = None,
    stdin: bytes = b"",
    timeout: float,
    grace: float = DEFAULT_GRACE,
    stop: Stop | None = None,
    record: Path | None = None,
    started: Callable[[Identity | None], None] | None = None,
) -> Exit:
    """Run a program under a warden and wait for the end of its whole tree of processes.

    Output is appended to files (``stderr=None``: both into ``stdout``), ``stdin`` is given and closed. After
    ``timeout`` seconds, or when ``stop`` is set, the tree is ended by INT, TERM, KILL with ``grace`` seconds
    between. ``record`` is the folder for the warden's own files (default: a temporary one, removed after).
    ``started`` hears the warden's identity. Never raises for what the program does.
    """
    if record is None:
        with _scratch() as scratch:
            return run(
                argv, cwd=cwd, env=env, stdout=stdout, stderr=stderr, stdin=stdin, timeout=timeout,
                grace=grace, stop=stop, record=Path(scratch), started=started,
            )  # fmt: skip
    exit_file, spec_file, stdin_file = record / "exit.json", record / SPEC, record / "stdin"
    for old in (exit_file, spec_file, stdin_file):
        old.unlink(missing_ok=True)
    if stop is not None and stop.is_set():
        return Exit(code=None, signal=None, reason="stopped", seconds=0.0)
    spec = {
        "argv": list(argv),
        "cwd": str(cwd),
        "env": dict(env),
        "stdin": str(stdin_file) if stdin else None,
        "stdout": str(stdout),
        "stderr": str(stderr) if stderr else None,
        "timeout": timeout,
        "grace": grace,
        "exit": str(exit_file),
    }
    try:
        if stdin:
            _write_private(stdin_file, stdin)
        _write_private(spec_file, marshal.dumps(spec))
        _wait_for(_start_warden(spec_file), stop, started)
    finally:
        # The warden removes both as soon as it has read them; this is for one that never came so far.
        spec_file.unlink(missing_ok=True)
        stdin_file.unlink(missing_ok=True)
    asked = stop is not None and stop.is_set()
    return read_exit(exit_file) or Exit(
        code=None,
        signal=None,
        reason="stopped",
        seconds=0.0,
        detail="" if asked else "the warden process was killed, and the worker with it",
    )


def _wait_for(
    warden: subprocess.Popen[bytes], stop: Stop | None, started: Callable[[Identity | None], None] | None
) -> None:
    """Wait for a warden's end, passing on a stop; whatever happens to us meanwhile, it is not left alone."""
    try:
        if started is not None:
            started(probe_identity(warden.pid))
        if stop is None:
            warden.wait()
        else:
            with stop.heard_by(lambda: _signal_child(warden, signal.SIGTERM)):
                warden.wait()
    except BaseException:
        _signal_child(warden, signal.SIGTERM)
        warden.wait()
        raise


def _start_warden(spec_file: Path) -> subprocess.Popen[bytes]:
    """Start a warden in a session of its own, so that it survives us and no Ctrl-C reaches it but through us."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", "-c", WARDEN, str(Path(__file__).parent), str(spec_file)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _write_private(path: Path, content: bytes) -> None:
    """Write a new file that nobody else may read: prompts and environments hold what their owner keeps to himself."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as target:
        target.write(content)


def _signal_child(child: subprocess.Popen[bytes], number: int) -> None:
    if child.poll() is None:
        child.send_signal(number)


def wait_for_stranger(who: Identity, stop: Stop) -> None:
    """Wait for the end of a process that is not our child; a stop is passed on to it as TERM."""
    with stop.heard_by(lambda: _signal_stranger(who)):
        while is_alive(who):
            if not _await_end(who):
                time.sleep(POLL)


def _signal_stranger(who: Identity) -> None:
    if is_alive(who):
        with suppress(ProcessLookupError):
            os.kill(who.pid, signal.SIGTERM)


def _await_end(who: Identity) -> bool:
    """Let the kernel tell when a process ends, where it can (Linux); tells whether it could."""
    try:
        descriptor = os.pidfd_open(who.pid)
    except (AttributeError, OSError):
        return False
    try:
        # The pid may have gone to somebody else before it was opened.
        if is_alive(who):
            select.select([descriptor], [], [])
    finally:
        os.close(descriptor)
    return True


def find_warden(folder: Path) -> Identity | None:
    """Find the living warden that was given ``folder`` for its record, by its own words (Linux).

    For a coordinator that was killed before it could write down whom it had started.
    """
    spec = os.fsencode(folder / SPEC)
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        if os.fsencode(WARDEN) in words and spec in words:
            return probe_identity(int(entry.parent.name))
    return None


def read_exit(path: Path) -> Exit | None:
    """Read a warden's exit record; None if there is none yet (or it cannot be read)."""
    try:
        record = json.loads(path.read_bytes())
        return Exit(
            code=record["code"],
            signal=record["signal"],
            reason=record["reason"],
            seconds=float(record["seconds"]),
            detail=str(record["detail"]),
            leftovers=int(record["leftovers"]),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def probe_identity(pid: int) -> Identity | None:
    """Tell who the process with this pid is now; None if it is gone or cannot be told."""
    if sys.platform.startswith("linux"):
        try:
            fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            return Identity(pid, fields[19].decode(), _boot_id()) if fields[0] != b"Z" else None
        except (OSError, IndexError):
            return None
    said = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.strip()
    return Identity(pid, said, _boot_id()) if said else None


def is_alive(identity: Identity) -> bool:
    """Tell whether the very process recorded earlier still runs."""
    return probe_identity(identity.pid) == identity


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        said = subprocess.run(["sysctl", "-n", "kern.boottime"], capture_output=True, text=True, check=False)
        return said.stdout.strip()

"""The one door to other programs (git has its own, ``git/command``): run, wait, stop, tell who is alive."""

from __future__ import annotations

import functools
import marshal
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from gitprun.model.units import DEFAULT_OUTPUT_MAX, Exit
from gitprun.supervisor import exit_record, process_tree
from gitprun.supervisor.orphans import KILLED as KILLED
from gitprun.supervisor.orphans import RECORD as RECORD
from gitprun.supervisor.orphans import end_orphans as end_orphans
from gitprun.supervisor.orphans import processes_of
from gitprun.supervisor.orphans import read_exit as read_exit
from gitprun.system.sharing import shared_mode, usual_umask
from gitprun.system.stop import Stop as Stop

SUPERVISOR = "import sys; sys.path.insert(0, sys.argv[1]); import supervisor; supervisor.main(sys.argv[2])"
# What a supervisor that an older version started, and that still lives, was started with.
_FORMER = "import sys; sys.path.insert(0, sys.argv[1]); import warden; warden.main(sys.argv[2])"
# An agent writes its last words in less; each of the steps INT, TERM and KILL may take so long, so that a worker deaf
# to all costs a stop three times as much.
DEFAULT_GRACE = 5.0
SPEC = "spec"
# Where the kernel does not tell of a process's end, it is noticed so late.
POLL = 0.2
# In a worker's environment: the marks of all workers it runs under, its own last.
MARK = process_tree.MARK


@dataclass(frozen=True, slots=True)
class ProcessIdentity:
    """Who a process is: a pid alone is soon somebody else's. ``start`` and ``boot`` are opaque tokens."""

    pid: int
    start: str
    boot: str


def worker_environment(extra: Mapping[str, str]) -> dict[str, str]:
    """Return the environment for programs of others: ours without any ``GIT_*`` or ``PRUN_*``, plus ``extra``."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "PRUN_"))}
    return {**kept, **extra}


def scratch_folder() -> AbstractContextManager[str]:
    """Make a temporary folder; slow to load, and no business of those who only wait or stop."""
    import tempfile

    return tempfile.TemporaryDirectory(prefix="prun-")


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessSpec:
    """A program and all it is started with.

    Output is appended to files (no ``stderr``: both into ``stdout``), ``stdin`` is passed and closed. ``confine`` is
    what ``landlock.confine`` takes (None: nothing is denied); ``mark`` (see ``new_mark``) tells the program's processes
    from all others (empty: a new one).
    """

    argv: Sequence[str]
    cwd: Path
    env: Mapping[str, str]
    stdout: Path
    stderr: Path | None = None
    stdin: bytes = b""
    confine: Mapping[str, object] | None = None
    mark: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessLimits:
    """How long a program may take, in seconds, and how much it may print.

    After ``timeout`` its tree is ended by INT, TERM, KILL with ``grace`` seconds between; of what is added to an output
    file at most ``output_max`` bytes stay.
    """

    timeout: float
    grace: float = DEFAULT_GRACE
    output_max: int = DEFAULT_OUTPUT_MAX


def run(
    program: ProcessSpec,
    limits: ProcessLimits,
    *,
    stop: Stop | None = None,
    record: Path | None = None,
    started: Callable[[ProcessIdentity | None], None] | None = None,
) -> Exit:
    """Run a program under a supervisor and wait for the end of its whole tree of processes.

    ``stop`` ends it as the limits do. ``record`` is the folder for the supervisor's own files; without one nobody could
    come back to the program later, so it ends when we do. ``started`` is called with the supervisor's identity. Never
    raises for what the program does.
    """
    own = program.mark or new_mark()
    spec: dict[str, object] = {
        "argv": list(program.argv),
        "cwd": str(program.cwd),
        # Workers run workers: who looks for an outer one's processes finds the inner ones, too.
        "env": {**program.env, MARK: ":".join(filter(None, (os.environ.get(MARK), own)))},
        "stdout": str(program.stdout),
        "stderr": str(program.stderr) if program.stderr else None,
        "timeout": limits.timeout,
        "grace": limits.grace,
        "confine": dict(program.confine) if program.confine else None,
        "mark": own,
        "group": _cgroup(),
        "most": limits.output_max,
        "tied": 0 if record else os.getpid(),
        "umask": usual_umask(),
        "mode": shared_mode(program.stdout, 0o600),
    }
    if record is not None:
        return _supervise(spec, program.stdin, record, stop, started)
    with scratch_folder() as scratch:
        return _supervise(spec, program.stdin, Path(scratch), stop, started)


def _supervise(
    spec: dict[str, object],
    stdin: bytes,
    record: Path,
    stop: Stop | None,
    started: Callable[[ProcessIdentity | None], None] | None,
) -> Exit:
    exit_file, spec_file, stdin_file = record / RECORD, record / SPEC, record / "stdin"
    # The record of an earlier attempt would be read as this one's.
    for old in (exit_file, record / (RECORD + exit_record.PART), spec_file, stdin_file):
        old.unlink(missing_ok=True)
    # Asked before anything is started: a program that lives for a moment may already have done harm.
    if stop is not None and stop.is_set():
        return Exit(code=None, signal=None, reason="stopped", seconds=0.0)
    files = {"stdin": str(stdin_file) if stdin else None, "exit": str(exit_file)}
    try:
        if stdin:
            _write_private(stdin_file, stdin)
        _write_private(spec_file, marshal.dumps(spec | files))
        _wait_for(_start_supervisor(spec_file), stop, started)
    finally:
        # The supervisor removes both as soon as it has read them; this is for one that never came so far.
        spec_file.unlink(missing_ok=True)
        stdin_file.unlink(missing_ok=True)
    # No record: the supervisor itself was killed, and nobody else would end what it had started.
    ended = read_exit(exit_file) or end_orphans(record, str(spec["mark"]))
    asked = stop is not None and stop.is_set()
    return replace(ended, detail="") if asked and ended.detail == KILLED else ended


def _wait_for(
    supervisor: subprocess.Popen[bytes], stop: Stop | None, started: Callable[[ProcessIdentity | None], None] | None
) -> None:
    """Wait for a supervisor's end, passing on a stop; whatever happens to us meanwhile, it is not left alone."""
    try:
        if started is not None:
            started(probe_identity(supervisor.pid))
        if stop is None:
            supervisor.wait()
        else:
            with stop.heard_by(lambda: _signal_child(supervisor, signal.SIGTERM)):
                supervisor.wait()
    # Whatever it is, KeyboardInterrupt included: a supervisor that is left alone lets its worker go on for hours.
    except BaseException:
        _signal_child(supervisor, signal.SIGTERM)
        supervisor.wait()
        raise


def _start_supervisor(spec_file: Path) -> subprocess.Popen[bytes]:
    """Start a supervisor in a session of its own, so that it survives us and no Ctrl-C reaches it but through us."""
    return subprocess.Popen(
        # -I: nothing in a folder or a variable can take the place of a module; -S: the bare interpreter loads no
        # packages.
        [sys.executable, "-I", "-S", "-c", SUPERVISOR, str(Path(__file__).parent), str(spec_file)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def _write_private(path: Path, content: bytes) -> None:
    """Write a new file that nobody else may read: prompts and environments hold what is for their owner alone."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as target:
        target.write(content)


def _signal_child(child: subprocess.Popen[bytes], number: int) -> None:
    if child.poll() is None:
        child.send_signal(number)


def wait_for_stranger(who: ProcessIdentity, stop: Stop) -> None:
    """Wait for the end of a process that is not our child; a stop is passed on to it as TERM."""
    with stop.heard_by(lambda: ask_to_end(who)):
        while not is_gone(who):
            if not await_end(who):
                time.sleep(POLL)


def ask_to_end(who: ProcessIdentity) -> None:
    """Send TERM to the very process recorded earlier; a supervisor ends its worker's tree then."""
    if not is_alive(who):
        return
    if sys.platform.startswith("linux"):
        process_tree.send(who.pid, who.start.encode(), signal.SIGTERM)
        return
    with suppress(ProcessLookupError):
        os.kill(who.pid, signal.SIGTERM)


def await_end(who: ProcessIdentity, seconds: float | None = None) -> bool:
    """Wait until a process ends, or so many seconds, where the kernel tells of that (Linux); returns if it does."""
    try:
        descriptor = os.pidfd_open(who.pid)
    except (AttributeError, OSError):
        return False
    try:
        # The pid may have gone to somebody else before it was opened.
        if not is_gone(who):
            select.select([descriptor], [], [], seconds)
    finally:
        os.close(descriptor)
    return True


def find_supervisor(folder: Path) -> ProcessIdentity | None:
    """Find the living supervisor that was given ``folder`` for its record, by its own words (Linux).

    For a coordinator that was killed before it could write down whom it had started.
    """
    spec = os.fsencode(folder / SPEC)
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            words = entry.read_bytes().split(b"\0")
        # It ended meanwhile.
        except OSError:
            continue
        if (os.fsencode(SUPERVISOR) in words or os.fsencode(_FORMER) in words) and spec in words:
            return probe_identity(int(entry.parent.name))
    return None


def new_mark() -> str:
    """Make a word that no other worker's environment has."""
    return os.urandom(12).hex()


@functools.cache
def _cgroup() -> str:
    return process_tree.find_home()


def find_marked(mark: str) -> tuple[ProcessIdentity, ...]:
    """Find the living processes a mark was given to, and those they started (Linux); none where it cannot be told."""
    return tuple(ProcessIdentity(pid, start.decode(), _boot_id()) for pid, start in processes_of(mark).items())


def probe_identity(pid: int) -> ProcessIdentity | None:
    """Return who the process with this pid is now; None if it is gone or cannot be told."""
    if sys.platform.startswith("linux"):
        try:
            fields = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()
            return ProcessIdentity(pid, fields[19].decode(), _boot_id()) if fields[0] != b"Z" else None
        except (OSError, IndexError):
            return None
    said = subprocess.run(
        ["ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    ).stdout.strip()
    return ProcessIdentity(pid, said, _boot_id()) if said else None


def is_alive(identity: ProcessIdentity) -> bool:
    """Check whether the very process recorded earlier still runs."""
    return probe_identity(identity.pid) == identity


def is_gone(identity: ProcessIdentity) -> bool:
    """Check whether the very process recorded earlier has provably ended; where that cannot be told, it has not."""
    found = probe_identity(identity.pid)
    # Not found may mean not readable: each way to be sure is tried, and without one it counts as alive.
    if found is not None:
        return found != identity
    try:
        if identity.boot != _boot_id():
            return True
        state = Path(f"/proc/{identity.pid}/stat").read_bytes().rpartition(b")")[2].split()[:1]
        if state:
            return state == [b"Z"]
    except FileNotFoundError:
        # There may be no /proc at all, and nobody else to ask.
        pass
    except OSError:
        return False
    try:
        os.kill(identity.pid, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False


def _boot_id() -> str:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    except OSError:
        said = subprocess.run(["sysctl", "-n", "kern.boottime"], capture_output=True, text=True, check=False)
        return said.stdout.strip()

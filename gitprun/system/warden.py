"""Stand between the coordinator and one worker: start it, end its whole tree, write down how it ended.

One runs for every worker, so it is imported (compiled once, a script would be compiled each time) by a bare
interpreter, and imports only what costs next to nothing: ``signal``, ``json`` and ``ctypes`` would treble its start.
The spec is a marshalled dict: argv, cwd, env, stdin, stdout, stderr (None: same as stdout), timeout and grace in
seconds, exit (the file to write). The warden lives in a session of its own and survives the coordinator; INT, TERM
or HUP sent to it mean: end the worker's tree and say so; sent again, they mean: without more patience.
"""

import errno
import marshal
import os
import select
import sys
import time

try:
    import _signal as signal  # type: ignore[import-not-found]
except ImportError:
    import signal

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
SWEEP_ROUNDS = 200


def adopt_orphans() -> bool:
    """Become the parent of every orphan below us (Linux); without it only the process group can be ended."""
    return _prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with_warden() -> bool:
    """Have the kernel end this process when the warden is killed: nobody would be left to end it."""
    return _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _prctl(option: int, value: int) -> bool:
    if not sys.platform.startswith("linux"):
        return False
    try:
        import _ctypes

        prctl = _ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl")  # type: ignore[arg-type]
        return bool(_ctypes.call_cdeclfunction(prctl, (option, value, 0, 0, 0)) == 0)
    except (ImportError, OSError, AttributeError):
        return False


def descendants(root: int) -> list[int]:
    """List the living processes below ``root``, as /proc tells it (empty where there is no /proc)."""
    children: dict[int, list[int]] = {}
    try:
        names = os.listdir("/proc")
    except OSError:
        return []
    for name in names:
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", "rb") as stat:
                fields = stat.read().rpartition(b")")[2].split()
        except OSError:
            continue
        if len(fields) > 1 and fields[0] != b"Z":
            children.setdefault(int(fields[1]), []).append(int(name))
    found, queue = [], [root]
    while queue:
        below = children.get(queue.pop(), [])
        found.extend(below)
        queue.extend(below)
    return found


class Warden:
    """One worker's life: started once, waited for, ended."""

    def __init__(self, spec: "dict[str, Any]") -> None:
        self.spec = spec
        self.grace = float(spec["grace"])
        self.adopts = False
        self.stops = 0
        self.pid = 0
        self.status: int | None = None
        self.wake, wake_write = os.pipe()
        for end in (self.wake, wake_write):
            os.set_blocking(end, False)
            os.set_inheritable(end, False)
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.on_stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def on_stop(self, number: int, _frame: object) -> None:
        """Remember that somebody asked us to end, and how often."""
        self.stops += 1

    def start(self) -> str:
        """Start the worker in a session of its own; give the reason when it cannot be started."""
        spec = self.spec
        try:
            stdin = os.open(spec["stdin"] or os.devnull, os.O_RDONLY)
            if spec["stdin"]:
                os.unlink(spec["stdin"])
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            stdout = os.open(spec["stdout"], flags, 0o600)
            stderr = os.open(spec["stderr"], flags, 0o600) if spec["stderr"] else stdout
        except OSError as problem:
            return f"{problem.filename}: {problem.strerror}"
        report_read, report_write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            self.become_worker((stdin, stdout, stderr), report_write)
        for end in {stdin, stdout, stderr, report_write}:
            os.close(end)
        said = os.read(report_read, 1000).decode(errors="replace")
        os.close(report_read)
        if said:
            self.wait_until(time.monotonic() + self.grace, self.stops)
        return said

    def become_worker(self, streams: tuple[int, int, int], report: int) -> None:
        """Turn this forked child into the worker; never returns."""
        spec, place = self.spec, ""
        try:
            os.setsid()
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            signal.set_wakeup_fd(-1)
            for usual in ("SIGINT", "SIGTERM", "SIGHUP", "SIGCHLD", "SIGPIPE", "SIGXFSZ"):
                signal.signal(getattr(signal, usual), signal.SIG_DFL)
            die_with_warden()
            place = spec["cwd"]
            os.chdir(place)
            place = spec["argv"][0]
            os.execvpe(place, spec["argv"], spec["env"])
        except OSError as problem:
            why = os.strerror(problem.errno or 0)
            if problem.errno == errno.ENOENT and os.sep in place and os.path.exists(place):
                why = "the interpreter named in its first line is missing"
            os.write(report, f"{place}: {why}".encode(errors="replace")[:900])
        except BaseException as problem:
            os.write(report, f"{place}: {problem}".encode(errors="replace")[:900])
        os._exit(127)

    def reap(self) -> bool:
        """Collect ended children; tell whether any child, dead or alive, was left to wait for."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            except InterruptedError:
                continue
            if pid == 0:
                return True
            if pid == self.pid:
                self.status = status

    def wait_until(self, deadline: float, heard: int) -> None:
        """Sleep until the worker ended, the deadline passed, or more than ``heard`` stops were requested."""
        while True:
            self.reap()
            if self.status is not None or self.stops != heard:
                return
            left = deadline - time.monotonic()
            if left <= 0:
                return
            select.select([self.wake], [], [], min(left, 3600.0))
            self.drain()

    def drain(self) -> None:
        """Empty the wake-up pipe."""
        try:
            while os.read(self.wake, 512):
                pass
        except OSError:
            return

    def signal_group(self, number: int) -> None:
        """Send a signal to the worker's process group, if it is still there."""
        try:
            os.killpg(self.pid, number)
        except (ProcessLookupError, PermissionError):
            return

    def end_worker(self) -> None:
        """Go down the ladder until the worker itself is gone: INT, TERM, KILL; a further stop takes the next step."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            heard = self.stops
            self.signal_group(number)
            self.wait_until(time.monotonic() + self.grace, heard)
            if self.status is not None:
                return

    def sweep(self) -> int:
        """End whatever the worker left running; give how many processes that were."""
        seen: set[int] = set()
        deadline = time.monotonic() + min(self.grace, 1.0)
        for _ in range(SWEEP_ROUNDS):
            # Without any child of ours, dead or alive, nothing is left: the usual case costs no walk of /proc.
            below = descendants(os.getpid()) if self.reap() else []
            if not below:
                break
            harsh = time.monotonic() >= deadline
            for pid in below:
                try:
                    if harsh or pid not in seen:
                        os.kill(pid, signal.SIGKILL if harsh else signal.SIGTERM)
                except (ProcessLookupError, PermissionError):
                    pass
            seen.update(below)
            # A child's end wakes us at once; a grandchild's does so after it was handed to us.
            select.select([self.wake], [], [], 0.05 if harsh else max(0.0, deadline - time.monotonic()))
            self.drain()
        if not self.adopts:
            # Where orphans do not come to us, the group is all there is to hold on to.
            self.signal_group(signal.SIGKILL)
        return len(seen)

    def run(self) -> dict[str, object]:
        """Live the worker's life and describe its end."""
        began, began_wall = time.monotonic(), time.time()
        self.adopts = adopt_orphans()
        reason, detail = "exited", self.start()
        if detail:
            reason, self.status = "not-started", None
        else:
            timeout = float(self.spec["timeout"])
            self.wait_until(began + timeout, heard=0)
            if self.status is None:
                reason = "stopped" if self.stops else "timeout"
                self.end_worker()
        leftovers = self.sweep() if self.pid else 0
        status = self.status
        return {
            "reason": reason,
            "detail": detail,
            "code": os.WEXITSTATUS(status) if status is not None and os.WIFEXITED(status) else None,
            "signal": os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else None,
            "seconds": time.monotonic() - began,
            "started": began_wall,
            "pid": self.pid,
            "leftovers": leftovers,
        }


def render_json(value: object) -> str:
    """Write a flat value as JSON."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{render_json(key)}: {render_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, str):
        plain = (c if " " <= c <= "~" and c not in '"\\' else f"\\u{min(ord(c), 0xFFFD):04x}" for c in value)
        return '"' + "".join(plain) + '"'
    return "null" if value is None else repr(value)


def write_exit(path: str, exit_record: dict[str, object]) -> None:
    """Put the record in place in one step, synced, so that a reader sees all of it or nothing."""
    temporary = f"{path}.{os.getpid()}"
    target = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(target, render_json(exit_record).encode())
        try:
            os.fsync(target)
        except OSError as problem:
            if problem.errno != errno.EINVAL:
                raise
    finally:
        os.close(target)
    os.replace(temporary, path)


def main(path: str) -> None:
    """Read the spec, run, write the exit record."""
    with open(path, "rb") as source:
        spec = marshal.loads(source.read())
    # It holds the worker's environment: the fewer moments it lies on disk, the better.
    os.unlink(path)
    write_exit(spec["exit"], Warden(spec).run())

"""Stand between the coordinator and one worker: start it, end its whole tree, write down how it ended.

Run as ``python -I -S -B warden.py SPEC``; imports only what the interpreter has loaded anyway, since one runs for
every worker. SPEC is a JSON file: argv, cwd, env, stdin, stdout, stderr (null: same as stdout), timeout and grace
in seconds, exit (the file to write). The warden lives in a session of its own and survives the coordinator;
INT, TERM or HUP sent to it mean: end the worker's tree and say so.
"""

from __future__ import annotations

import errno
import json
import os
import select
import signal
import sys
import time
from typing import Any

PR_SET_CHILD_SUBREAPER = 36
SWEEP_ROUNDS = 200


def adopt_orphans() -> bool:
    """Become the parent of every orphan below us (Linux); without it only the process group can be ended."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        import ctypes

        return bool(ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)
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

    def __init__(self, spec: dict[str, Any]) -> None:
        self.spec = spec
        self.grace = float(spec["grace"])
        self.stop_signal = 0
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
        """Remember that somebody asked us to end."""
        self.stop_signal = number

    def start(self) -> str:
        """Start the worker in a session of its own; give the reason when it cannot be started."""
        spec = self.spec
        try:
            stdin = os.open(spec["stdin"] or os.devnull, os.O_RDONLY)
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            stdout = os.open(spec["stdout"], flags, 0o600)
            stderr = os.open(spec["stderr"], flags, 0o600) if spec["stderr"] else stdout
        except OSError as problem:
            return f"{problem.filename}: {problem.strerror}"
        report_read, report_write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.setsid()
                os.dup2(stdin, 0)
                os.dup2(stdout, 1)
                os.dup2(stderr, 2)
                signal.set_wakeup_fd(-1)
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGCHLD, signal.SIGPIPE):
                    signal.signal(number, signal.SIG_DFL)
                os.chdir(spec["cwd"])
                os.execvpe(spec["argv"][0], spec["argv"], spec["env"])
            except BaseException as problem:
                code = getattr(problem, "errno", None) or 0
                os.write(report_write, f"{code}:{problem}".encode()[:900])
            os._exit(127)
        for end in {stdin, stdout, stderr, report_write}:
            os.close(end)
        said = os.read(report_read, 1000).decode(errors="replace")
        os.close(report_read)
        if said:
            self.wait_until(time.monotonic() + self.grace)
            code_text, _, text = said.partition(":")
            return os.strerror(int(code_text)) if code_text not in ("", "0") else text
        return ""

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

    def wait_until(self, deadline: float, heed_stop: bool = False) -> None:
        """Sleep until the worker ended, the deadline passed, or (if asked) a stop was requested."""
        while True:
            self.reap()
            if self.status is not None or (heed_stop and self.stop_signal):
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
        """Go down the ladder until the worker itself is gone: INT, TERM, KILL."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            self.signal_group(number)
            self.wait_until(time.monotonic() + self.grace)
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
        self.signal_group(signal.SIGKILL)
        return len(seen)

    def run(self) -> dict[str, Any]:
        """Live the worker's life and describe its end."""
        began, began_wall = time.monotonic(), time.time()
        adopt_orphans()
        reason, detail = "exited", self.start()
        if detail:
            reason, self.status = "not-started", None
        else:
            timeout = float(self.spec["timeout"])
            self.wait_until(began + timeout, heed_stop=True)
            if self.status is None:
                reason = "stopped" if self.stop_signal else "timeout"
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


def write_exit(path: str, exit_record: dict[str, Any]) -> None:
    """Put the record in place in one step, synced, so that a reader sees all of it or nothing."""
    temporary = f"{path}.{os.getpid()}"
    target = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        os.write(target, json.dumps(exit_record).encode())
        try:
            os.fsync(target)
        except OSError as problem:
            if problem.errno != errno.EINVAL:
                raise
    finally:
        os.close(target)
    os.replace(temporary, path)


def main() -> None:
    """Read the spec, run, write the exit record."""
    with open(sys.argv[1], "rb") as source:
        spec = json.load(source)
    write_exit(spec["exit"], Warden(spec).run())


if __name__ == "__main__":
    main()

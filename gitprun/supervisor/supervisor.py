"""Stand between the coordinator and one worker: start it, end its whole tree, write down how it ended.

One runs for every worker, hundreds at once, so it is imported (compiled once, a script would be compiled each time) by
a bare interpreter, and what it imports costs next to nothing: with ``os``, ``json`` and ``ctypes`` it would be twice
as large. The spec is a marshalled dict: argv, cwd, env, stdin, stdout, stderr (None: same as stdout), timeout and grace
in seconds, exit (the file to write), mark (a word that is in the worker's environment alone), group (the cgroup to make
one in, or empty), most (bytes of output that stay on disk), tied (the pid of the only one who wants to know the end, or
0), confine. It lives in a session of its own and survives the coordinator; INT, TERM or HUP sent to it mean:
end the worker's tree and say so; sent again, they mean: kill it now.
"""

import marshal
import select
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    import signal
    from typing import Any

    from gitprun.supervisor import exit_record, libc, output_limit, process_tree
else:
    import _signal as signal
    import posix as os

    import exit_record
    import libc
    import output_limit
    import process_tree

# The kernel's numbers (sys/prctl.h, errno.h): the modules that have them take as long to load as all else here.
PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
ENOENT, ENOTDIR = 2, 20
STOPS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
# So many survivors are named.
NAMED = 50


class Supervisor:
    """One worker's life: started once, waited for, ended."""

    def __init__(self, spec: "dict[str, Any]", record: exit_record.Record) -> None:
        self.spec, self.record = spec, record
        self.grace = float(spec["grace"])
        self.mark = str(spec["mark"]).encode()
        self.adopts = self.blind = self.alone = False
        self.unproved = ""
        self.group: process_tree.Cgroup | None = None
        self.caps: list[output_limit.OutputLimit] = []
        self.stops = 0
        self.pid = 0
        self.status: int | None = None
        self.wake, wake_write = os.pipe()
        for end in (self.wake, wake_write):
            os.set_blocking(end, False)
        # The interpreter's own handler writes each number into the pipe, and ``rest`` reads it there.
        signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
        for number in (*STOPS, signal.SIGCHLD):
            signal.signal(number, lambda *_: None)
        self.tie = self.tie_to(int(spec["tied"]))

    def tie_to(self, pid: int) -> int:
        """Have the kernel tell when the coordinator is gone, where nobody else wants to know; -1 where it cannot."""
        if not pid:
            return -1
        try:
            end = os.pidfd_open(pid)
        except (AttributeError, OSError):
            end = -1
        # It died before the kernel could be asked to tell.
        if os.getppid() != pid:
            self.stops, self.alone = 1, True
        return end

    def start(self) -> str:
        """Start the worker in a session of its own; returns the reason when it cannot be started."""
        spec = self.spec
        try:
            stdin = os.open(spec["stdin"] or "/dev/null", os.O_RDONLY)
            if spec["stdin"]:
                os.unlink(spec["stdin"])
            flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
            stdout = os.open(spec["stdout"], flags, spec["mode"])
            stderr = os.open(spec["stderr"], flags, spec["mode"]) if spec["stderr"] else stdout
        except OSError as problem:
            return f"{problem.filename}: {problem.strerror}"
        for path in {spec["stdout"], spec["stderr"]} if spec["most"] else ():
            self.watch_output(path)
        report_read, report_write = os.pipe()
        self.pid = self.fork()
        if self.pid == 0:
            self.become_worker((stdin, stdout, stderr), report_write)
        for end in {stdin, stdout, stderr, report_write}:
            os.close(end)
        # Larger than all the rest of us.
        del spec["env"], spec["argv"]
        said = os.read(report_read, 1000).decode(errors="replace")
        os.close(report_read)
        if said:
            self.wait_until(time.monotonic() + self.grace, self.stops)
        return said

    def watch_output(self, path: str | None) -> None:
        """Begin to keep one file within bounds."""
        try:
            self.caps += [output_limit.OutputLimit(path, self.spec["most"])] if path else []
        except OSError:
            return

    def fork(self) -> int:
        """Fork, into a cgroup of the worker's own where there is one to be had."""
        if self.group is not None:
            folder = os.open(self.group.path, os.O_RDONLY)
            pid = libc.fork_into(folder, signal.SIGCHLD)
            if pid >= 0:
                os.close(folder)
                return pid
            os.close(folder)
            self.group.remove()
            self.group = None
        return os.fork()

    def become_worker(self, streams: tuple[int, int, int], report: int) -> None:
        """Turn this forked child into the worker; never returns."""
        spec, place, supervisor = self.spec, "", os.getppid()
        try:
            os.setsid()
            os.umask(spec["umask"])
            for number, stream in enumerate(streams):
                os.dup2(stream, number)
            signal.set_wakeup_fd(-1)
            for usual in ("SIGINT", "SIGTERM", "SIGHUP", "SIGCHLD", "SIGPIPE", "SIGXFSZ"):
                signal.signal(getattr(signal, usual), signal.SIG_DFL)
            if spec.get("confine"):
                place = "confinement" if spec["confine"].get("write") is not None else "view"
                import landlock  # type: ignore[import-not-found]  # beside us, loaded only where it is asked for

                landlock.confine(spec["confine"])
            # After that: a new user name space forgets it.
            libc.call("prctl", PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if os.getppid() != supervisor:
                # Killed before the kernel knew: nobody would be left to end us.
                os._exit(127)
            place = spec["cwd"]
            os.chdir(place)
            place = spec["argv"][0]
            execute(spec["argv"], spec["env"])
        except OSError as problem:
            why = os.strerror(problem.errno or 0)
            if problem.errno == ENOENT and "/" in place and os.access(place, os.F_OK):
                why = "the interpreter named in its first line is missing"
            # Well below what a pipe takes in one piece, however long the path.
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
            self.rest(min(left, 3600.0))

    def rest(self, seconds: float) -> None:
        """Sleep so long, or until something happened; the output is looked after meanwhile."""
        watched = [self.wake]
        for output in list(self.caps):
            try:
                seconds = min(seconds, output.look())
            except OSError:
                self.caps.remove(output)
            if output.armed:
                watched.append(output.notices)
        if self.tie >= 0:
            watched.append(self.tie)
        ready = select.select(watched, [], [], seconds)[0]
        if self.tie in ready:
            os.close(self.tie)
            self.tie, self.alone = -1, True
            self.stops += 1
        try:
            while heard := os.read(self.wake, 512):
                self.stops += sum(number in STOPS for number in heard)
        except OSError:
            return

    def signal_group(self, number: int) -> None:
        """Send a signal to the worker's process group, if it is still there."""
        try:
            os.killpg(self.pid, number)
        except OSError:
            return

    def end_worker(self) -> None:
        """Go down the ladder until the worker itself is gone: INT, TERM, KILL; a second stop means its end, KILL."""
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
            heard = self.stops
            if heard > 1 and number != signal.SIGKILL:
                continue
            self.signal_group(number)
            self.wait_until(time.monotonic() + self.grace, heard)
            if self.status is not None:
                return

    def patience(self) -> float:
        """Return how long what the worker left running is asked to end before it is killed."""
        return 0.0 if self.stops > 1 else min(self.grace, 1.0)

    def living(self, everywhere: bool) -> process_tree.Kin | None:
        """List what of the worker's tree still lives; None when nothing does."""
        children = self.reap()
        inside = self.group is not None and self.group.is_populated() is True
        # Every orphan comes to us: without any child, dead or alive, nothing is left. That is the usual case.
        if self.adopts and not (children or inside or everywhere):
            return None
        processes = process_tree.list_processes()
        self.blind = processes is None and (children or inside or not self.adopts)
        if processes is None:
            return None
        found = process_tree.below([os.getpid()], processes)
        if self.group is not None:
            found |= self.group.pids() & processes.keys()
        if everywhere or not self.adopts:
            marked = process_tree.marked(self.mark, processes)
            found |= marked | process_tree.below(marked, processes)
        nobody = not (found or children or inside)
        return None if nobody else {pid: processes[pid][1] for pid in found - {os.getpid()}}

    def sweep(self) -> tuple[process_tree.Kin, process_tree.Kin]:
        """End whatever the worker left running; returns what that was, and what would not end."""
        seen, left, proved = process_tree.end_all(self.living, self.rest, self.patience(), self.group)
        if seen and proved:
            more, left, proved = process_tree.end_all(self.living, self.rest, 0.0, self.group)
            seen |= more
        if self.blind or not self.adopts:
            # Nobody tells us who there is: these two are all there is to hold on to.
            if self.group is not None:
                self.group.kill()
            self.signal_group(signal.SIGKILL)
        if self.blind:
            self.unproved = process_tree.UNLISTED
        elif not (proved or left):
            self.unproved = process_tree.UNCAUGHT
        return seen, left

    def run(self) -> "dict[str, object]":
        """Live the worker's life and describe its end."""
        began, began_wall = time.monotonic(), time.time()
        self.adopts = libc.call("prctl", PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0
        self.group = process_tree.make_group(self.spec["group"], f"prun-{self.spec['mark']}")
        known = {"mark": self.spec["mark"], "group": self.group.path if self.group else "", "warden": os.getpid()}
        self.record.note(known)
        reason, detail = "exited", self.start()
        if detail:
            reason, self.status = "not-started", None
        else:
            self.wait_until(began + float(self.spec["timeout"]), heard=0)
            if self.status is None:
                reason = "stopped" if self.stops else "timeout"
                self.end_worker()
        seen, left = self.sweep() if self.pid else ({}, {})
        means = "cgroup" if self.group else "descendants" if self.adopts else "process group"
        if self.group is not None and not self.group.remove() and not left:
            means = "cgroup (it could not be removed)"
        status = self.status
        dropped, notes = self.close_outputs()
        return {
            "reason": reason,
            "detail": detail,
            "code": os.WEXITSTATUS(status) if status is not None and os.WIFEXITED(status) else None,
            "signal": os.WTERMSIG(status) if status is not None and os.WIFSIGNALED(status) else None,
            "seconds": time.monotonic() - began,
            "started": began_wall,
            "pid": self.pid,
            "leftovers": len(seen),
            "survivors": [[pid, start.decode()] for pid, start in sorted(left.items())[:NAMED]],
            "unproved": self.unproved,
            "means": means,
            "mark": self.spec["mark"],
            "dropped": dropped,
            "output": notes,
        }

    def close_outputs(self) -> tuple[int, str]:
        """Close up the gaps in what was printed; returns how many bytes were dropped, and what there is to say."""
        dropped, notes = 0, ""
        for output in self.caps:
            try:
                lost, note = output.finish()
            except OSError as problem:
                lost, note = 0, f"the output could not be looked after: {problem.strerror}"
            dropped, notes = dropped + lost, note or notes
        self.caps = []
        return dropped, notes

    def go_on(self, seconds: float) -> bool:
        """Sleep, unless a stop is requested; returns whether none was."""
        heard = self.stops
        self.rest(seconds)
        return self.stops == heard


def execute(argv: list[str], env: dict[str, str]) -> None:
    """Become a program, looked for on the PATH it will see itself; raises OSError."""
    program = argv[0]
    if "/" in program:
        os.execve(program, argv, env)
    reason = OSError(ENOENT, os.strerror(ENOENT))
    for folder in env.get("PATH", "/bin:/usr/bin").split(":"):
        try:
            os.execve(f"{folder or '.'}/{program}", argv, env)
        except OSError as problem:
            # The first that is there and cannot be run says more than those that are not.
            if problem.errno not in (ENOENT, ENOTDIR) and reason.errno == ENOENT:
                reason = problem
    raise reason


def main(path: str) -> None:
    """Read the spec, run, write the exit record."""
    spec = marshal.loads(process_tree.read_file(path, sys.maxsize))
    # It holds the worker's environment: the fewer moments it lies on disk, the better.
    os.unlink(path)
    record = exit_record.Record(spec["exit"], spec["mode"])
    own = Supervisor(spec, record)
    ended = own.run()
    if not own.alone:
        record.put(ended, own.go_on)
        return
    record.drop()
    try:
        os.rmdir(spec["exit"].rpartition("/")[0])
    except OSError:
        return

"""Which processes belong to a worker, and how they are ended: by parentage, by a mark in their environment, by cgroup.

The supervisor's bare interpreter reads this too, hundreds of them at once: it imports only what that has loaded anyway.
A process is known by its pid and the time it started; a signal goes only where both still agree.
"""

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    import signal
    from collections.abc import Callable, Iterable
else:
    import _signal as signal
    import posix as os

# By pid: the parent, and when it started (a token of the kernel's).
Table = dict[int, tuple[int, bytes]]
# By pid: when it started.
Kin = dict[int, bytes]

# How long to go on killing what will not die or comes again and again, in seconds.
LIMIT = 5.0
SHORT = 0.02
# Why it cannot be said that all have ended.
UNLISTED = "the list of processes cannot be read"
UNCAUGHT = "it starts processes faster than they can be ended"
# The variable that holds the marks of all workers a process runs under, with colons between them.
MARK = "PRUN_MARK"
MARKS = b"PRUN_MARK="
NEWEST = 100


def read_file(path: str | bytes, most: int = 1 << 22) -> bytes:
    """Read a file, at most so much of it; raises OSError."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        chunks = []
        while most > 0 and (chunk := os.read(descriptor, min(most, 1 << 16))):
            chunks.append(chunk)
            most -= len(chunk)
        return b"".join(chunks)
    finally:
        os.close(descriptor)


def started_at(pid: int) -> bytes | None:
    """Return when a living process started; None if it is gone (a zombie is), or cannot be told."""
    row = _row(pid)
    return row[1] if row else None


def _row(pid: int) -> tuple[int, bytes] | None:
    try:
        # The name stands in brackets, and may hold brackets and blanks itself.
        fields = read_file(f"/proc/{pid}/stat").rpartition(b")")[2].split()
    except OSError:
        return None
    # Parent and start are fields 4 and 22 of proc(5), counted here behind the name. A zombie has ended.
    return (int(fields[1]), fields[19]) if len(fields) > 19 and fields[0] not in (b"Z", b"X") else None


def list_processes() -> Table | None:
    """List the living processes; None where /proc cannot be read: then nothing is known, which is not nobody."""
    try:
        pids = {int(name) for name in os.listdir("/proc") if name.isdigit()}
        rows = [(pid, _row(pid)) for pid in pids]
        # What came meanwhile: of those that start the next one and end at once, the list shows only the dead.
        newest = int(read_file("/proc/loadavg").split()[-1])
        rows += [(pid, _row(pid)) for pid in range(newest, max(newest - NEWEST, 0), -1) if pid not in pids]
    except (OSError, ValueError):
        return None
    return {pid: row for pid, row in rows if row is not None} or None


def below(roots: "Iterable[int]", processes: Table) -> set[int]:
    """Return the processes that descend from these."""
    children: dict[int, list[int]] = {}
    for pid, (parent, _) in processes.items():
        children.setdefault(parent, []).append(pid)
    found: set[int] = set()
    queue = list(roots)
    while queue:
        fresh = [pid for pid in children.get(queue.pop(), ()) if pid not in found]
        found.update(fresh)
        queue.extend(fresh)
    return found


def has_mark(pid: int, mark: bytes) -> bool:
    """Check whether a process was started with this very mark in its environment; other users' cannot be told."""
    try:
        environ = read_file(f"/proc/{pid}/environ")
    except OSError:
        return False
    # The quick look first: nearly nobody has it.
    if mark not in environ:
        return False
    rows = [row[len(MARKS) :] for row in environ.split(b"\0") if row.startswith(MARKS)]
    return any(mark in row.split(b":") for row in rows)


def marked(mark: bytes, processes: Table) -> set[int]:
    """Find the processes with a mark, but for the one that asks."""
    me = os.getpid()
    return {pid for pid in processes if pid != me and has_mark(pid, mark)} if mark else set()


def send(pid: int, start: bytes, number: int) -> bool:
    """Send a signal to the very process that was seen; returns whether it was there to get it."""
    try:
        descriptor = os.pidfd_open(pid)
    except (AttributeError, OSError):
        descriptor = -1
    try:
        # From here on the descriptor means this one process, whatever becomes of its number.
        if started_at(pid) != start:
            return False
        if descriptor >= 0:
            signal.pidfd_send_signal(descriptor, number)
        else:
            os.kill(pid, number)
        return True
    except OSError:
        return False
    finally:
        if descriptor >= 0:
            os.close(descriptor)


def end_all(
    living: "Callable[[bool], Kin | None]", rest: "Callable[[float], None]", patience: float, group: "Cgroup | None"
) -> tuple[Kin, Kin, bool]:
    """Ask all that ``living`` gives to end, and after ``patience`` seconds kill them, until there is nobody.

    ``living`` hears whether to look everywhere, and gives None for nobody: an empty answer means that there is
    somebody who was not caught. ``rest`` waits so many seconds or less. Gives all that were seen, those that are left
    after a further LIMIT seconds, and whether there is nobody.
    """
    seen: Kin = {}
    began = time.monotonic()
    while True:
        since = time.monotonic() - began
        harsh = since >= patience
        now = living(harsh)
        if now is None or since >= patience + LIMIT:
            return seen, now or {}, now is None
        if harsh and group is not None:
            group.kill()
        for pid, start in now.items():
            if harsh or seen.get(pid) != start:
                # TERM only once to each: a second one may break off what the first made it do.
                send(pid, start, signal.SIGKILL if harsh else signal.SIGTERM)
        seen.update(now)
        rest(SHORT if harsh else max(SHORT, patience - since))


class Cgroup:
    """A cgroup (v2) of its own for one worker; whatever it starts is born in there, and one word ends it all."""

    def __init__(self, path: str) -> None:
        self.path = path

    def pids(self) -> set[int]:
        """List who is inside, and in groups made further down; empty if that cannot be told."""
        found: set[int] = set()
        for folder in self._folders():
            try:
                found.update(map(int, read_file(f"{folder}/cgroup.procs").split()))
            except (OSError, ValueError):
                continue
        return found

    def is_populated(self) -> bool | None:
        """Ask the kernel whether anybody lives in there; None when it does not say."""
        try:
            rows = read_file(f"{self.path}/cgroup.events").split(b"\n")
        except OSError:
            return None
        return b"populated 1" in rows if b"populated 1" in rows or b"populated 0" in rows else None

    def kill(self) -> bool:
        """Kill all at once, those included that are being born; returns whether the kernel can (Linux 5.14)."""
        try:
            self._write("cgroup.kill", b"1")
        except OSError:
            return False
        return True

    def remove(self) -> bool:
        """Remove the group and those further down; returns whether they are gone."""
        # A third of a second: so long the kernel may still be busy with the last one that ended in there.
        for number in range(60):
            # In the usual case there is nothing further down, and no need to look.
            for folder in reversed(self._folders() if number else [self.path]):
                try:
                    os.rmdir(folder)
                except OSError:
                    # Still somebody's, or the kernel has not yet finished with the last one in there.
                    continue
            try:
                os.stat(self.path)
            except OSError:
                return True
            time.sleep(0.005 * (number > 0))
        return False

    def _folders(self) -> list[str]:
        found = [self.path]
        for folder in found:
            try:
                with os.scandir(folder) as entries:
                    found += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]
            except OSError:
                continue
        return found

    def _write(self, name: str, word: bytes) -> None:
        target = os.open(f"{self.path}/{name}", os.O_WRONLY | os.O_CLOEXEC)
        try:
            os.write(target, word)
        finally:
            os.close(target)


def make_group(home: str, name: str) -> Cgroup | None:
    """Make a group below ``home``; None where that is not allowed, which is the usual case for plain users."""
    if not home:
        return None
    group = Cgroup(f"{home}/{name}")
    try:
        os.mkdir(group.path, 0o700)
    except OSError:
        return None
    # Where the kernel does not say who is inside, a group proves nothing.
    if group.is_populated() is False:
        return group
    group.remove()
    return None


def find_home() -> str:
    """Name the folder of the cgroup (v2) the calling process is in; empty where there is none."""
    try:
        mine = read_file("/proc/self/cgroup").split(b"\n")
        mounts = read_file("/proc/self/mountinfo").split(b"\n")
    except OSError:
        return ""
    inside = next((row[3:] for row in mine if row.startswith(b"0::/")), b"")
    for row in mounts:
        before, _, after = row.partition(b" - ")
        fields = before.split(b" ")
        if not inside or not after.startswith(b"cgroup2 ") or len(fields) < 5:
            continue
        root, place = (_plain(field).rstrip(b"/") for field in fields[3:5])
        if not root or inside == root or inside.startswith(root + b"/"):
            folder = (place + inside[len(root) :]).rstrip(b"/").decode("utf-8", "surrogateescape")
            if is_ours(folder):
                return folder
    return ""


def is_ours(folder: str) -> bool:
    """Check whether the calling process is a member of this cgroup."""
    try:
        return str(os.getpid()).encode() in read_file(f"{folder}/cgroup.procs").split()
    except OSError:
        return False


def _plain(field: bytes) -> bytes:
    """Undo the octal escapes of blanks and line ends in a path of /proc."""
    first, *rest = field.split(b"\\")
    return first + b"".join(bytes([int(part[:3], 8) & 255]) + part[3:] for part in rest if part[:3].isdigit())

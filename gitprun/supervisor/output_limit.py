"""Keep what a worker prints within bounds on disk: the middle of the file goes while its start and its end stay.

The worker writes its file itself; the supervisor that imports this looks on. The kernel tells it that something was
written, then it pauses for as long as the room that is left cannot be filled, so that a silent worker costs nothing.
"""

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

    from gitprun.supervisor import libc
else:
    import posix as os

    try:
        import libc
    except ImportError:
        from gitprun.supervisor import libc

# Holes are punched in whole blocks of the disk.
BLOCK = 4096
# Moved at a time: few calls, and little memory for a supervisor of which there are many.
CHUNK = 1 << 20
# A cut is moved to the end of a line if there is one so near.
NEAR = 1 << 16
# No worker is taken to print faster than this, in bytes a second.
SPEED = 1e9
QUICK, SLOW, SLOWEST = 0.02, 0.25, 5.0
NEVER = float("inf")

# The kernel's numbers (sys/inotify.h, linux/falloc.h).
IN_MODIFY, IN_ONESHOT = 0x2, 0x80000000
IN_NONBLOCK_CLOEXEC = 0o2004000
PUNCH_HOLE_KEEP_SIZE = 3


class OutputLimit:
    """One file that is written to by somebody else; at most ``most`` bytes of what is added to it stay on disk.

    ``holes`` tells whether its middle could be given back while it was written (None: there was no need).
    """

    def __init__(self, path: str, most: int) -> None:
        self.most = most
        self.file = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
        found = os.fstat(self.file)
        self.plain = found.st_mode & 0o170000 == 0o100000
        # What was there before is somebody else's.
        self.base = self.size = found.st_size
        # The start keeps a quarter; the end keeps more, for there the reason of a failure mostly stands.
        self.hole = -(-(self.base + most // 4) // BLOCK) * BLOCK
        self.after = self.hole
        self.holes: bool | None = None
        self.notices = libc.call("inotify_init1", IN_NONBLOCK_CLOEXEC) if self.plain else -1
        self.armed, self.due, self.pause = False, 0.0, QUICK

    def look(self) -> float:
        """Look if it is time to, and drop what is too much; returns for how long to wait until the next look.

        The wait is NEVER where ``notices`` becomes readable when there is something to see.
        """
        if not self.plain:
            return NEVER
        now = time.monotonic()
        if self.armed:
            if not self._was_told():
                return NEVER
            self.armed = False
        elif now < self.due:
            return self.due - now
        grown = self._take_size()
        if self._kept() > self.most:
            self._punch()
        if not grown and self._arm():
            # Written after the size was taken and before the kernel paid attention: nothing tells of that.
            self.armed = not self._take_size()
            if self.armed:
                return NEVER
        room = max(QUICK, min(SLOW, (self.most - self._kept()) / SPEED))
        self.pause = room if grown or self.notices >= 0 else min(SLOWEST, max(room, 2 * self.pause))
        self.due = now + self.pause
        return self.pause

    def _take_size(self) -> bool:
        before, self.size = self.size, os.fstat(self.file).st_size
        if self.size < self.after:
            # Its writer has cut it short.
            self.after = self.hole
            self.base = min(self.base, self.size)
        return self.size != before

    def _kept(self) -> int:
        return self.size - self.base - (self.after - self.hole)

    def _was_told(self) -> bool:
        try:
            return bool(os.read(self.notices, 4096))
        except OSError:
            return False

    def _arm(self) -> bool:
        """Have the kernel tell of the next write, once."""
        place = f"/proc/self/fd/{self.file}".encode()
        return self.notices >= 0 and libc.call("inotify_add_watch", self.notices, place, IN_MODIFY | IN_ONESHOT) >= 0

    def _punch(self) -> None:
        end = (self.size - self.most // 2) // BLOCK * BLOCK
        if end <= self.after or self.holes is False:
            return
        self.holes = self._give_back(self.after, end)
        if self.holes:
            self.after = end

    def _give_back(self, start: int, end: int) -> bool:
        """Free the blocks of a part of the file: it reads as zeros then, and nothing moves."""
        return libc.call("fallocate", self.file, PUNCH_HOLE_KEEP_SIZE, start, end - start) == 0

    def finish(self) -> tuple[int, str]:
        """Close up the gap when nobody writes any more; returns how many bytes were dropped, and what went wrong."""
        try:
            if not self.plain:
                return 0, ""
            self._take_size()
            if self.after == self.hole and self._kept() <= self.most:
                return 0, ""
            return self._close_up()
        finally:
            for descriptor in {self.file, self.notices} - {-1}:
                os.close(descriptor)

    def _close_up(self) -> tuple[int, str]:
        start = self._line_end(min(self.hole, self.size))
        rest = max(self.after + 2 * BLOCK, self.size - self.most + (self.hole - self.base), start + NEAR)
        rest = self._line_start(min(rest, self.size))
        dropped = rest - start
        notice = b"[git prun: %d bytes of output dropped here]\n" % dropped
        if start > self.base and os.pread(self.file, 1, start - 1) != b"\n":
            notice = b"\n" + notice
        try:
            self._move_down(rest, start, notice)
        except OSError as problem:
            # Wherever it broke off, the rest is there in order, and at most one block of it twice.
            return dropped, f"the output has a gap of zeros: {os.strerror(problem.errno or 0)}"
        return dropped, "" if self.holes is not False else "the output could only be cut at the end: no holes here"

    def _move_down(self, source: int, target: int, notice: bytes) -> None:
        given = source // BLOCK * BLOCK
        if self.holes:
            self._give_back(self.after, given)
        os.pwrite(self.file, notice, target)
        target += len(notice)
        while chunk := os.pread(self.file, CHUNK, source):
            written = os.pwrite(self.file, chunk, target)
            source, target = source + written, target + written
            # What was a hole takes space again, so what was moved gives its own back: a full disk is no obstacle.
            first, last = max(given, -(-target // BLOCK) * BLOCK), source // BLOCK * BLOCK
            if self.holes and last > first:
                self._give_back(first, last)
                given = last
        os.ftruncate(self.file, target)

    def _line_end(self, place: int) -> int:
        """Find the end of the last whole line before a place, if it is near."""
        first = max(self.base, place - NEAR)
        found = os.pread(self.file, place - first, first).rfind(b"\n")
        return first + found + 1 if found >= 0 else place

    def _line_start(self, place: int) -> int:
        """Find the start of the next line after a place, if it is near."""
        found = os.pread(self.file, NEAR, place).find(b"\n")
        return place + found + 1 if found >= 0 else place

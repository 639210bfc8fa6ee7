"""The record a supervisor leaves of its worker's end; room for it is taken before, so that a full disk is no obstacle.

Until then that file says whose worker runs, for those who come after a supervisor that was killed.
"""

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable
else:
    import posix as os

PART = ".part"
# A block of the disk, taken whole in any case; a record with fifty survivors in it still fits.
ROOM = 4096
# A disk that is full today may have space again, seconds.
PATIENCE = 600.0
EINVAL = 22
# EIO, ENOSPC, EDQUOT
PASSING = (5, 28, 122)


class Record:
    """One record: noted while the worker runs, put in place at its end in one step."""

    def __init__(self, path: str, mode: int = 0o600) -> None:
        self.path, self.part, self.mode = path, path + PART, mode
        self.file = -1

    def note(self, facts: "dict[str, object]") -> bool:
        """Write what is known so far, and take the room for the end; returns whether there was any."""
        try:
            if self.file < 0:
                self.file = os.open(self.part, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, self.mode)
            os.pwrite(self.file, render_json(facts).encode().ljust(ROOM), 0)
        except OSError:
            return False
        return True

    def put(self, facts: "dict[str, object]", rest: "Callable[[float], bool]") -> None:
        """Put the record in place, so that a reader sees all of it or nothing; waits while the disk is full.

        ``rest`` waits so many seconds and tells whether to go on trying. Raises OSError when there is no use in that.
        """
        pause, deadline = 0.05, time.monotonic() + PATIENCE
        while True:
            try:
                self._put(render_json(facts).encode())
                return
            except OSError as problem:
                if problem.errno not in PASSING or time.monotonic() > deadline or not rest(pause):
                    raise
            pause = min(2.0, 2 * pause)

    def _put(self, record: bytes) -> None:
        if self.file < 0:
            self.file = os.open(self.part, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, self.mode)
        # Over what is there: these blocks are ours already.
        at = 0
        while at < len(record):
            at += os.pwrite(self.file, record[at:], at)
        os.ftruncate(self.file, len(record))
        try:
            os.fsync(self.file)
        # EINVAL: what it lies on knows no syncing.
        except OSError as problem:
            if problem.errno != EINVAL:
                raise
        os.replace(self.part, self.path)

    def drop(self) -> None:
        """Take everything back."""
        for path in (self.part, self.path):
            try:
                os.unlink(path)
            except OSError:
                continue


def render_json(value: object) -> str:
    """Write a plain value as JSON."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{render_json(key)}: {render_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(render_json, value)) + "]"
    if isinstance(value, str):
        # Everything but printable ASCII as an escape; ``json`` itself is too heavy here.
        plain = (c if " " <= c <= "~" and c not in '"\\' else f"\\u{min(ord(c), 0xFFFD):04x}" for c in value)
        return '"' + "".join(plain) + '"'
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)

"""The kernel's own notice of changes below folders (Linux), by ctypes: one descriptor for all workspaces."""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from struct import Struct

# The kernel's own numbers, as <sys/inotify.h> has them: they are the same on every machine, and will stay.
IN_MODIFY = 0x2
IN_ATTRIB = 0x4
IN_CLOSE_WRITE = 0x8
IN_MOVED_FROM = 0x40
IN_MOVED_TO = 0x80
IN_CREATE = 0x100
IN_DELETE = 0x200
IN_Q_OVERFLOW = 0x4000
IN_IGNORED = 0x8000
IN_ISDIR = 0x40000000
_ONLYDIR = 0x1000000
_DONT_FOLLOW = 0x2000000
_EXCL_UNLINK = 0x4000000
_WANTED = (
    IN_MODIFY
    | IN_ATTRIB
    | IN_CLOSE_WRITE
    | IN_MOVED_FROM
    | IN_MOVED_TO
    | IN_CREATE
    | IN_DELETE
    | _ONLYDIR
    | _DONT_FOLLOW
    | _EXCL_UNLINK
)
# What the kernel writes before each name: watch, mask, cookie, length.
_EVENT = Struct("iIII")
# Some 5,000 notices at once: what a checkout of a large branch brings in one tick.
_READ = 1 << 18


@dataclass(frozen=True, slots=True)
class KernelNotice:
    """Something happened to ``name`` in the watched folder ``watch``; ``mask`` says what."""

    watch: int
    mask: int
    name: bytes


class Inotify:
    """One inotify descriptor; raises OSError where the system has none to give."""

    def __init__(self) -> None:
        if not sys.platform.startswith("linux"):
            raise OSError(errno.ENOSYS, "no inotify on this system")
        self._libc = ctypes.CDLL(None, use_errno=True)
        self._fd = self._libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._fd < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))

    def watch(self, folder: bytes) -> int | None:
        """Watch a real folder and give the watch's number; None if it is no folder (any more).

        Raises OSError when the system's limit of watches is reached.
        """
        # Adding a folder that is watched already gives the same number: a folder that moved keeps its watch.
        number: int = self._libc.inotify_add_watch(self._fd, folder, _WANTED)
        if number >= 0:
            return number
        code = ctypes.get_errno()
        # Between our listing it and this call a worker may have taken it away, or put a link in its place.
        if code in (errno.ENOENT, errno.ENOTDIR, errno.EACCES, errno.ELOOP, errno.ENAMETOOLONG):
            return None
        raise OSError(code, os.strerror(code))

    def forget(self, watch: int) -> None:
        """Watch a folder no longer."""
        self._libc.inotify_rm_watch(self._fd, watch)

    def read(self) -> Iterator[KernelNotice]:
        """Yield all that happened since the last call."""
        while True:
            try:
                block = os.read(self._fd, _READ)
            except (BlockingIOError, InterruptedError):
                return
            at = 0
            while at < len(block):
                watch, mask, _, length = _EVENT.unpack_from(block, at)
                at += _EVENT.size
                yield KernelNotice(watch, mask, block[at : at + length].rstrip(b"\0"))
                at += length

    def close(self) -> None:
        """Close the descriptor."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

"""When a folder was made, by the file system's own record: unlike a file in it, nobody can change that."""

from __future__ import annotations

import os
import struct
import sys
from pathlib import Path

# The kernel's numbers (fcntl.h, linux/stat.h).
_AT_FDCWD = -100
_AT_SYMLINK_NOFOLLOW = 0x100
_STATX_BTIME = 0x800


def folder_birth(path: Path) -> int | None:
    """Return when a folder was made, in nanoseconds since 1970; None where that is not recorded.

    An inode is soon somebody else's when its folder is gone; inode and birth together are not.
    """
    if not sys.platform.startswith("linux"):
        try:
            born = getattr(os.lstat(path), "st_birthtime", None)
        except OSError:
            return None
        return None if born is None else round(born * 1e9)
    import ctypes

    try:
        statx = ctypes.CDLL(None, use_errno=True).statx
    except (OSError, AttributeError):
        return None
    # So large is ``struct statx``, and no larger by the kernel's own promise.
    found = ctypes.create_string_buffer(256)
    if statx(_AT_FDCWD, os.fsencode(path), _AT_SYMLINK_NOFOLLOW, _STATX_BTIME, found) != 0:
        return None
    # Its first field tells which of the others the file system could fill in.
    if not struct.unpack_from("I", found, 0)[0] & _STATX_BTIME:
        return None
    # ``stx_btime`` lies at byte 80, behind ``stx_atime``.
    seconds, nanoseconds = struct.unpack_from("qI", found, 80)
    return int(seconds) * 10**9 + int(nanoseconds)

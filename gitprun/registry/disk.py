"""How much room a folder takes on disk."""

from __future__ import annotations

import os
import stat
from pathlib import Path

# What st_blocks counts in, whatever the file system's own blocks (POSIX).
BLOCK = 512
# Beyond it a size is no longer worth the minutes that counting takes.
MAX_ENTRIES = 5_000_000


def disk_use(path: Path) -> int:
    """Add up the blocks of what lies at a path, in bytes: no link followed, nothing mounted, no file counted twice.

    What cannot be read, or is nested too deep for a path, counts for nothing.
    """
    try:
        top = os.lstat(path)
    except OSError:
        return 0
    total, seen, count, queue = top.st_blocks * BLOCK, set[int](), 0, [os.fspath(path)]
    while queue and stat.S_ISDIR(top.st_mode):
        try:
            with os.scandir(queue.pop()) as listing:
                for entry in listing:
                    count += 1
                    found = entry.stat(follow_symlinks=False)
                    if found.st_dev != top.st_dev or found.st_ino in seen:
                        continue
                    # Only what has several names can be met twice; to remember the rest would cost more than to count
                    # it.
                    if found.st_nlink > 1 and not stat.S_ISDIR(found.st_mode):
                        seen.add(found.st_ino)
                    total += found.st_blocks * BLOCK
                    if stat.S_ISDIR(found.st_mode):
                        queue.append(entry.path)
        except OSError:
            continue
        if count > MAX_ENTRIES:
            break
    return total

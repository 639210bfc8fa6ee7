"""Are the files a landing changes as the index has them: looked up in the index itself, at the cost of the change."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from pathlib import Path

from gitprun.git.index import Index, file_mark
from gitprun.git.trees import GITLINK, TreeChange

_ENTRY_HEAD = 62
_FLAGS = 2


def are_untouched(checkout: Path, git_dir: Path, changes: Sequence[TreeChange]) -> bool:
    """Tell whether every changed path (sorted) that is tracked is on disk just as the index has it.

    False also where only git could tell: a split or sparse index, files git was told not to look at, submodules,
    a file that was written in the same moment as the index.
    """
    if os.path.lexists(git_dir / "info" / "sparse-checkout"):
        return False
    try:
        with open(git_dir / "index", "rb") as source:
            raw, written = source.read(), os.fstat(source.fileno()).st_mtime_ns
    except OSError:
        return False
    if raw[:4] != b"DIRC" or raw[4:8] not in (b"\0\0\0\2", b"\0\0\0\3") or b"link\0\0" in raw or b"sdir\0" in raw:
        return False
    at = 0
    for change in changes:
        if GITLINK in (change.old_mode, change.new_mode):
            return False
        if change.added:
            continue
        at = _find_entry(raw, change, at)
        if at < 0 or not _is_as_marked(checkout, raw, at, change, written):
            return False
    return True


def _find_entry(raw: bytes, change: TreeChange, start: int) -> int:
    """Find where the entry of a path begins, from a place on; -1 if it is not there as it should be."""
    wanted, length = change.path + b"\0", min(len(change.path), 0xFFF)
    found = raw.find(wanted, start + _ENTRY_HEAD)
    while found >= 0:
        at = found - _ENTRY_HEAD
        # Nothing set but the length of the name: no stage, nothing git passes over.
        flags = int.from_bytes(raw[found - _FLAGS : found])
        if at >= 12 and (at - 12) % 8 == 0 and flags == length and raw[found - 22 : found - _FLAGS].hex() == change.old:
            return at
        found = raw.find(wanted, found + 1)
    return -1


def _is_as_marked(checkout: Path, raw: bytes, at: int, change: TreeChange, written: int) -> bool:
    entry = Index(raw, {change.path: at}).find(change.path)
    try:
        held = os.lstat(os.path.join(os.fsencode(checkout), change.path))
    except OSError:
        return False
    if entry is None or held.st_mtime_ns >= written or stat.S_IFMT(held.st_mode) != stat.S_IFMT(entry.mode):
        return False
    if stat.S_ISREG(held.st_mode) and bool(held.st_mode & 0o100) != bool(entry.mode & 0o100):
        return False
    return file_mark(held.st_ctime_ns, held.st_mtime_ns, held.st_ino, held.st_size) == entry.mark

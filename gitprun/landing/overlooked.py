"""Edits that git was told to overlook (assume-unchanged, skip-worktree): no status names them, and no merge passes."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.index import Index, file_mark
from gitprun.git.trees import TreeChange
from gitprun.system.files import read_plain

_MOST = 1 << 30
# Bytes of an entry before its name, with and without the second word of flags.
_SHORT, _LONG = 62, 64


def find_overlooked(checkout: Path, changes: Sequence[TreeChange]) -> list[bytes]:
    """List the changed paths at which a file stands that is not as the index has it, and that git does not look at."""
    wanted = sorted(change.path for change in changes if not change.added)
    place = _index_of(checkout)
    try:
        about = os.stat(place) if wanted and place else None
    except OSError:
        about = None
    if place is None or about is None:
        return []
    raw = _read(str(place), (about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns))
    if raw[:4] == b"DIRC" and raw[4:8] in (b"\0\0\0\2", b"\0\0\0\3") and b"link\0\0" not in raw:
        return [path for path, at in _overlooked(raw, wanted) if _differs(checkout, raw, path, at)]
    # Names are shortened there, or stand in another file: only git knows.
    git = Git(cwd=checkout)
    rows = git.run("ls-files", "-v", "-z").fields
    known = set(wanted) & {row[2:] for row in rows if row[:1] == b"S" or row[:1].islower()}
    old = {change.path: change.old for change in changes}
    there = [path for path in sorted(known) if os.path.isfile(os.path.join(os.fsencode(checkout), path))]
    return [path for path in there if git.run("hash-object", "--", path).text != old[path]]


def _index_of(checkout: Path) -> Path | None:
    """Name the index of a checkout; None where its git folder is not where it usually is."""
    dot = checkout / ".git"
    if dot.is_dir():
        return dot / "index"
    pointer = read_plain(dot, 10_000) or b""
    if not pointer.startswith(b"gitdir:"):
        return None
    return checkout / os.fsdecode(pointer.removeprefix(b"gitdir:").strip()) / "index"


@functools.lru_cache(maxsize=1)
def _read(place: str, stamp: tuple[int, ...]) -> bytes:
    """Read an index once for as long as it is the same one."""
    return read_plain(Path(place), _MOST) or b""


def _overlooked(raw: bytes, paths: Sequence[bytes]) -> Iterator[tuple[bytes, int]]:
    """Yield those of the sorted paths that git overlooks, and where in the index their entries begin."""
    begin = 12
    for path in paths:
        found = raw.find(path + b"\0", begin + _SHORT)
        while found >= 0:
            at = _entry_at(raw, found, len(path))
            if at is not None:
                flags, more = int.from_bytes(raw[at + 60 : at + 62]), int.from_bytes(raw[at + 62 : at + 64])
                if flags & 0x8000 or (flags & 0x4000 and more & 0x4000):
                    yield path, at
                begin = at
                break
            found = raw.find(path + b"\0", found + 1)


def _entry_at(raw: bytes, name: int, length: int) -> int | None:
    """Tell where the entry begins whose name stands at a place; None if no name begins there."""
    for size, extended in ((_SHORT, 0), (_LONG, 0x4000)):
        at = name - size
        flags = int.from_bytes(raw[at + 60 : at + 62])
        if at >= 12 and (at - 12) % 4 == 0 and flags & 0x4000 == extended and flags & 0xFFF == min(length, 0xFFF):
            return at
    return None


def _differs(checkout: Path, raw: bytes, path: bytes, at: int) -> bool:
    """Check whether a file stands there that is another one than git saw; what is not there was left out on purpose."""
    entry = Index(raw, {path: at}).find(path)
    try:
        held = os.lstat(os.path.join(os.fsencode(checkout), path))
    except OSError:
        return False
    return entry is None or file_mark(held.st_ctime_ns, held.st_mtime_ns, held.st_ino, held.st_size) != entry.mark

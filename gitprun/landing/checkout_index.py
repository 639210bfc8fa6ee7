"""What the index of a checkout says of changed paths: are they untouched, and which of them is git told to overlook."""

from __future__ import annotations

import functools
import os
import stat
from collections.abc import Iterator, Sequence
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.index import Index, file_mark
from gitprun.git.trees import GITLINK, TreeChange
from gitprun.system.files import read_plain

# Bytes of an entry before its name, and those of its flags (git's ``index-format``).
_ENTRY_HEAD = 62
_FLAGS = 2


def are_untouched(checkout: Path, git_dir: Path, changes: Sequence[TreeChange]) -> bool:
    """Check whether every changed path (sorted) that is tracked is on disk just as the index has it.

    False also where only git could tell: a split or sparse index, files git was told not to look at, submodules,
    a file that was written in the same moment as the index.
    """
    # With it, a path that is not on disk may be as it should be.
    if os.path.lexists(git_dir / "info" / "sparse-checkout"):
        return False
    try:
        with open(git_dir / "index", "rb") as source:
            raw, written = source.read(), os.fstat(source.fileno()).st_mtime_ns
    except OSError:
        return False
    # Versions 2 and 3, whole: version 4 shortens names, a split or sparse index has entries elsewhere.
    if raw[:4] != b"DIRC" or raw[4:8] not in (b"\0\0\0\2", b"\0\0\0\3") or b"link\0\0" in raw or b"sdir\0" in raw:
        return False
    at = 0
    for change in changes:
        # Whether a submodule is untouched is asked inside of it.
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
    # Searched, not parsed: entries are sorted by name, and a large index has a hundred thousand of them.
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
    # A file written in the same tick as the index may have changed after its size and time were noted ("racily clean").
    if entry is None or held.st_mtime_ns >= written or stat.S_IFMT(held.st_mode) != stat.S_IFMT(entry.mode):
        return False
    # Git knows one bit of a file's mode: may its owner run it.
    if stat.S_ISREG(held.st_mode) and bool(held.st_mode & 0o100) != bool(entry.mode & 0o100):
        return False
    return file_mark(held.st_ctime_ns, held.st_mtime_ns, held.st_ino, held.st_size) == entry.mark


# Ten million entries; beyond it git itself takes minutes.
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
    # By all that changes when git replaces an index: it writes a new file and renames it.
    raw = _read(str(place), (about.st_ino, about.st_size, about.st_mtime_ns, about.st_ctime_ns))
    if raw[:4] == b"DIRC" and raw[4:8] in (b"\0\0\0\2", b"\0\0\0\3") and b"link\0\0" not in raw:
        return [path for path, at in _overlooked(raw, wanted) if _differs(checkout, raw, path, at)]
    # Names are shortened there, or stand in another file: only git knows.
    git = Git(cwd=checkout)
    # "S" is skip-worktree, a small letter assume-unchanged.
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
    # The .git file of a linked worktree is one line with a path; paths end at 4,096 bytes.
    pointer = read_plain(dot, 10_000) or b""
    if not pointer.startswith(b"gitdir:"):
        return None
    return checkout / os.fsdecode(pointer.removeprefix(b"gitdir:").strip()) / "index"


# One: a landing asks about one checkout, for branch after branch.
@functools.lru_cache(maxsize=1)
def _read(place: str, stamp: tuple[int, ...]) -> bytes:
    """Read an index once for as long as it is the same one."""
    return read_plain(Path(place), _MOST) or b""


def _overlooked(raw: bytes, paths: Sequence[bytes]) -> Iterator[tuple[bytes, int]]:
    """Yield those of the sorted paths that git overlooks, and where in the index their entries begin."""
    # Behind the header of an index: its sign, its version and the number of entries.
    begin = 12
    for path in paths:
        found = raw.find(path + b"\0", begin + _SHORT)
        while found >= 0:
            at = _entry_at(raw, found, len(path))
            if at is not None:
                flags, more = int.from_bytes(raw[at + 60 : at + 62]), int.from_bytes(raw[at + 62 : at + 64])
                # index-format: bit 15 is assume-valid; skip-worktree is in the second word, which bit 14 announces.
                if flags & 0x8000 or (flags & 0x4000 and more & 0x4000):
                    yield path, at
                begin = at
                break
            found = raw.find(path + b"\0", found + 1)


def _entry_at(raw: bytes, name: int, length: int) -> int | None:
    """Return where the entry begins whose name stands at a place; None if no name begins there."""
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

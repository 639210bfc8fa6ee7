"""What a git index says about a path, read without git (layout: git's index-format); does a file hold a blob."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path
from struct import Struct, error

from gitprun.system.files import read_plain

# Modes as git writes them into index and trees.
GITLINK = 0o160000
SYMLINK = 0o120000
_HEAD = Struct(">4sLL")
# ctime, mtime (seconds, nanoseconds each), dev, ino, mode, uid, gid, size, object id, flags.
_ENTRY = Struct(">10L20sH")
_OWN_EXTENSIONS = range(ord("A"), ord("Z") + 1)


@dataclass(frozen=True, slots=True)
class IndexEntry:
    """One tracked path; ``mark`` tells the file git last found unchanged (see ``file_mark``), ``size`` is its size.

    ``kept`` says that git never looks at the file (sparse checkout, assume-unchanged).
    """

    mode: int
    size: int
    mark: tuple[int, ...]
    oid: bytes
    kept: bool


@dataclass(frozen=True, slots=True)
class Index:
    """An index as bytes, and where in it each path stands; ``attributes`` says that it may hold files of rules."""

    raw: bytes
    places: Mapping[bytes, int]
    attributes: bool = False

    def find(self, path: bytes) -> IndexEntry | None:
        """Return what the index says about a path; None if it is not tracked."""
        at = self.places.get(path)
        if at is None:
            return None
        *times, _, inode, mode, _, _, size, oid, flags = _ENTRY.unpack_from(self.raw, at)
        # 0x4000: sixteen more bits follow (version 3 and later); 0x8000 is assume-unchanged, 0x4000 of those
        # skip-worktree.
        more = int.from_bytes(self.raw[at + 62 : at + 64]) if flags & 0x4000 else 0
        return IndexEntry(mode, size, (*times, inode, size), oid, bool(flags & 0x8000 or more & 0x4000))


def parse_index(raw: bytes, names: dict[bytes, bytes] | None = None) -> Index | None:
    """Find every path of an index; None for one that is split, sparse, unmerged, damaged or of another format.

    ``names`` is shared by indexes that hold the same paths, so that each path is kept once.
    """
    shared = {} if names is None else names
    try:
        mark, version, count = _HEAD.unpack_from(raw, 0)
        if mark != b"DIRC" or version not in (2, 3, 4):
            return None
        places: dict[bytes, int] = {}
        at, name = _HEAD.size, b""
        for _ in range(count):
            flags = int.from_bytes(raw[at + 60 : at + 62])
            # These two bits are the stage: a conflict that is not settled.
            if flags & 0x3000:
                return None
            name, step = _read_name(raw, at, flags, version, name)
            places[shared.setdefault(name, name)] = at
            at += step
        # Where names are written as what differs from the one before, a name may be cut at its front.
        return Index(raw, places, b"attributes\0" in raw) if _understood(raw, at) else None
    except (ValueError, IndexError, error):
        return None


def _read_name(raw: bytes, at: int, flags: int, version: int, before: bytes) -> tuple[bytes, int]:
    """Return the name of the entry at ``at``, which follows the one named ``before``, and how long the entry is."""
    start = at + (64 if flags & 0x4000 else 62)
    if version == 4:
        # Version 4 writes a name as how many bytes of the one before to drop, and what comes instead.
        cut, start = _read_offset(raw, start)
        end = raw.index(b"\0", start)
        return before[: len(before) - cut] + raw[start:end], end + 1 - at
    end = raw.index(b"\0", start)
    # Entries are padded with one to eight NULs to a multiple of eight bytes.
    return raw[start:end], (end - at + 8) & ~7


@dataclass(frozen=True, slots=True)
class IndexRow:
    """One version of a path in an index; ``stage`` is 0, or the side of a conflict that is not settled."""

    path: bytes
    mode: int
    oid: str
    stage: int = 0


def read_rows(raw: bytes) -> Generator[IndexRow, None, str]:
    """Yield every version an index names; return the id of the index a split one goes on from (else empty).

    What is damaged ends it: unlike ``parse_index`` this takes what can be read. A row without a path replaces one of
    the other index.
    """
    at, name = _HEAD.size, b""
    try:
        mark, version, count = _HEAD.unpack_from(raw, 0)
        if mark != b"DIRC" or version not in (2, 3, 4):
            return ""
        for _ in range(count):
            fields = _ENTRY.unpack_from(raw, at)
            flags = fields[-1]
            name, step = _read_name(raw, at, flags, version, name)
            yield IndexRow(name, fields[6], fields[-2].hex(), flags >> 12 & 3)
            at += step
        # The last 20 bytes are the checksum.
        while at + 8 <= len(raw) - 20:
            kind, length = raw[at : at + 4], int.from_bytes(raw[at + 4 : at + 8])
            if kind == b"link" and length >= 20:
                return raw[at + 8 : at + 28].hex()
            at += 8 + length
    except (ValueError, IndexError, error):
        pass
    return ""


def _read_offset(raw: bytes, at: int) -> tuple[int, int]:
    """Read a number of variable length, as pack files write offsets."""
    byte = raw[at]
    number = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = raw[at]
        number = ((number + 1) << 7) | (byte & 0x7F)
    return number, at + 1


def _understood(raw: bytes, at: int) -> bool:
    """Check that no extension changes what the entries mean (the names of those begin with a small letter)."""
    end = len(raw) - 20
    while at + 8 <= end:
        if raw[at] not in _OWN_EXTENSIONS:
            return False
        at += 8 + int.from_bytes(raw[at + 4 : at + 8])
    return at == end


def file_mark(ctime_ns: int, mtime_ns: int, inode: int, size: int) -> tuple[int, ...]:
    """Write what lstat says about a file the way an index keeps it: 32 bits each."""
    times = (*divmod(ctime_ns, 1_000_000_000), *divmod(mtime_ns, 1_000_000_000))
    return tuple(number & 0xFFFFFFFF for number in (*times, inode, size))


def blob_id(content: bytes) -> bytes:
    """Name the object that holds these bytes."""
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).digest()


# As large as a captured file may be by default: what is larger was never recorded by us, and hashing it takes seconds.
LARGEST = 50_000_000


def is_verbatim(path: Path, oid: str) -> bool:
    """Check whether a file (not a link) holds exactly the bytes of a blob; False for what is too large to look at."""
    try:
        found = os.lstat(path)
    except OSError:
        return False
    if not stat.S_ISREG(found.st_mode) or found.st_size > LARGEST:
        return False
    raw = read_plain(path, LARGEST)
    # It grew or was cut while it was read.
    if raw is None or len(raw) != found.st_size:
        return False
    return hashlib.new("sha1" if len(oid) == 40 else "sha256", b"blob %d\0" % len(raw) + raw).hexdigest() == oid

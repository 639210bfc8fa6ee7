"""A file of lines that several processes append to: a line is whole and on disk, or not there at all.

Beside it lies a reserve: space that is kept for the day the disk is full, so that the end of things can be recorded.
The file is locked while it is written, apart from any lock beside it: a lock file can be deleted and then has two
holders, this file cannot without being noticed. Readers need no lock.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gitprun.model.errors import PrunError
from gitprun.system.files import sync_folder, write_whole
from gitprun.system.sharing import shared_mode

try:
    import fcntl
except ImportError:  # Where there is none, the lock beside the file is all there is.
    fcntl = None  # type: ignore[assignment]

# Rows of 500 units that end at once, a kilobyte each: a full disk keeps nobody from writing down how work ended.
RESERVE = 512 << 10
FULL = frozenset({errno.ENOSPC, errno.EDQUOT})
# A row is mostly shorter, so that one read has the last of them.
_BLOCK = 8192
# Every row has a checksum: of so many bytes the last one is part, and no two files have the same by chance.
MARK = 64


class JournalReplaced(PrunError):
    """The file is not the one this process knew, and does not go on from it."""


class Journal:
    """One such file as this process knows it; ``follows`` tells from two first lines whether one replaces the other.

    What was appended through it stays in reach although the file be deleted: the next call puts it back.
    """

    def __init__(self, path: Path, follows: Callable[[bytes, bytes], bool]) -> None:
        self.path, self.follows = path, follows
        self._known: _Known | None = None

    def append(self, record: bytes, *, last: Callable[[bytes], None]) -> bool:
        """Append lines and sync them; returns whether the file was gone and had to be put back.

        ``last`` is shown the last line before, and may object. On OSError, or anything else, the file is as it was.
        """
        with self.opened() as (descriptor, restored):
            size = os.fstat(descriptor).st_size
            if self._known is None or size != self._known.end:
                last(_last_line(descriptor, size))
            if size and os.pread(descriptor, 1, size - 1) != b"\n":
                # A line that a crash tore is closed first.
                record = b"\n" + record
            try:
                _write(descriptor, record)
                _sync(descriptor)
            except BaseException:
                with suppress(OSError):
                    os.ftruncate(descriptor, size)
                    _sync(descriptor)
                raise
            self._know(descriptor)
        return restored

    @contextmanager
    def opened(self) -> Iterator[tuple[int, bool]]:
        """Hold the file open and locked; returns its descriptor, and whether it had to be put back."""
        restored = self.restore()
        while True:
            descriptor, made = _open(self.path)
            try:
                with _flocked(descriptor):
                    if not _is_at(descriptor, self.path):
                        # It was replaced while we waited for it.
                        continue
                    if made:
                        sync_folder(self.path.parent)
                    self._require_same(descriptor)
                    yield descriptor, restored
                    return
            finally:
                os.close(descriptor)

    def restore(self) -> bool:
        """Put the file back if it was deleted although this process wrote to it; returns whether that was so."""
        if self._known is None or os.path.lexists(self.path):
            return False
        self.path.parent.mkdir(parents=True, exist_ok=True)
        temporary = self.path.with_name(f".{self.path.name}.{os.urandom(6).hex()}")
        # Whoever is just writing to what was deleted is waited for.
        with _flocked(self._known.descriptor):
            write_whole(temporary, self._known.content())
        try:
            # Unlike a rename this replaces nothing: of two that put it back at once one is too late, and no line is
            # lost.
            os.link(temporary, self.path)
        except FileExistsError:
            # Another process was quicker, and may have gone on.
            return False
        finally:
            os.unlink(temporary)
        sync_folder(self.path.parent)
        return True

    @property
    def is_known(self) -> bool:
        """Check whether this process has written to the file, so that it can put it back."""
        return self._known is not None

    def forget(self) -> None:
        """Know nothing of the file any more: it was replaced on purpose."""
        self._known = None

    def _know(self, descriptor: int) -> None:
        end = os.fstat(descriptor).st_size
        known = self._known
        if known is None or not os.path.sameopenfile(known.descriptor, descriptor):
            self._known = known = _Known(os.dup(descriptor))
        known.end, known.mark = end, mark_before(descriptor, end)

    def _require_same(self, descriptor: int) -> None:
        """Check that the file holds what this process knows of it."""
        known = self._known
        if known is None:
            return
        if mark_before(descriptor, known.end) == known.mark:
            return
        if not os.path.sameopenfile(known.descriptor, descriptor):
            if self.follows(_first_line(known.descriptor), _first_line(descriptor)):
                self._known = None
                return
            beside = self.path.with_name(f"{self.path.stem}.lost-{os.getpid()}-{os.urandom(3).hex()}{self.path.suffix}")
            write_whole(beside, known.content())
            raise JournalReplaced(
                f"{self.path} was replaced by another file meanwhile", f"what was in it is in {beside} now"
            )
        raise JournalReplaced(
            f"{self.path} was changed by something else meanwhile: what was written is not in it any more",
            "git prun ledger verify tells what is missing",
        )


class _Known:
    """The file as it was last seen: open, so that it can still be read when it has been deleted."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.end, self.mark = 0, b""

    def content(self) -> bytes:
        """Read all of it."""
        return read_open(self.descriptor)

    def __del__(self) -> None:
        with suppress(OSError):
            os.close(self.descriptor)


def _open(path: Path) -> tuple[int, bool]:
    """Open the file, or make it; returns whether it was made."""
    flags = os.O_RDWR | os.O_APPEND | os.O_NOFOLLOW
    try:
        return os.open(path, flags), False
    except FileNotFoundError:
        return os.open(path, flags | os.O_CREAT, shared_mode(path, 0o600)), True


@contextmanager
def _flocked(descriptor: int) -> Iterator[None]:
    if fcntl is None:
        yield
        return
    fcntl.flock(descriptor, fcntl.LOCK_EX)
    try:
        yield
    finally:
        # Not left to the closing: a program forked meanwhile may hold a copy for a moment.
        fcntl.flock(descriptor, fcntl.LOCK_UN)


def _is_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _write(descriptor: int, record: bytes) -> None:
    view = memoryview(record)
    while view:
        view = view[os.write(descriptor, view) :]


def _sync(descriptor: int) -> None:
    os.fdatasync(descriptor) if hasattr(os, "fdatasync") else os.fsync(descriptor)


def read_open(descriptor: int) -> bytes:
    """Read all of an open file, from its start."""
    chunks, at = [], 0
    while chunk := os.pread(descriptor, 1 << 20, at):
        chunks.append(chunk)
        at += len(chunk)
    return b"".join(chunks)


def mark_before(descriptor: int, end: int) -> bytes:
    """Read the (at most MARK) bytes before a place: in a file with checksums they tell it from any other."""
    start = max(0, end - MARK)
    return os.pread(descriptor, end - start, start)


def _first_line(descriptor: int) -> bytes:
    return os.pread(descriptor, _BLOCK, 0).partition(b"\n")[0]


def _last_line(descriptor: int, size: int) -> bytes:
    """Read the last line, with or without its end."""
    found, at = b"", size
    while at > 0 and b"\n" not in found[:-1]:
        start = max(0, at - _BLOCK)
        found, at = os.pread(descriptor, at - start, start) + found, start
    return found.removesuffix(b"\n").rpartition(b"\n")[2]


def ensure_reserve(place: Path, size: int = RESERVE) -> bool:
    """Put space aside, really allocated; returns whether it had to be made. Raises OSError where there is none."""
    try:
        if os.lstat(place).st_size == size:
            return False
    except FileNotFoundError:
        pass
    # Not zeros: a file system may keep those in no space at all.
    write_whole(place, os.urandom(size))
    sync_folder(place.parent)
    return True


def release_reserve(place: Path) -> bool:
    """Free the space; returns whether there was any."""
    try:
        os.unlink(place)
    except OSError:
        return False
    sync_folder(place.parent)
    return True

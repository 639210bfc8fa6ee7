"""The one door to files of our own: whole replacements, synced appends, locks, safe reads, safe removal."""

from __future__ import annotations

import errno
import os
import re
import stat
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gitprun.errors import PrunError

LOCK_TIMEOUT = 120.0
MOST_LINE = 4 << 20
_OPENED_AT_ONCE = 256


class LockBusy(PrunError):
    """Another prun process holds a lock longer than we are willing to wait."""


class UnsafeRemoval(PrunError):
    """A folder is not the one prun made, so it is left alone."""


@contextmanager
def locked(path: Path, *, timeout: float = LOCK_TIMEOUT, doing: str = "") -> Iterator[None]:
    """Hold an exclusive lock between processes and threads; raises LockBusy after ``timeout`` seconds."""
    # Not needed by a command that only reads, and slow to load.
    from filelock import FileLock, Timeout

    path.parent.mkdir(parents=True, exist_ok=True)
    lock = FileLock(str(path), thread_local=False)
    try:
        lock.acquire(timeout=timeout, poll_interval=0.01)
    except Timeout:
        raise LockBusy(
            f"another git prun is busy{' ' + doing if doing else ''} in this repository",
            f"wait for it to end and try again (lock: {path})",
        ) from None
    try:
        yield
    finally:
        lock.release()


def write_whole(path: Path, content: bytes, *, mode: int = 0o600, exact: bool = False) -> None:
    """Replace a file in one step: readers see the old or the new content, never a part.

    The mode is what the umask leaves of ``mode``, unless it is to be ``exact``.
    """
    temporary = path.with_name(f".{path.name}.{os.urandom(6).hex()}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as target:
            target.write(content)
            target.flush()
            if exact:
                os.fchmod(target.fileno(), mode)
            os.fsync(target.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def append_synced(path: Path, record: bytes) -> None:
    """Append one record ending in a newline and sync it; a torn last line of a crash is closed first."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o600)
    try:
        size = os.fstat(descriptor).st_size
        if size and os.pread(descriptor, 1, size - 1) != b"\n":
            record = b"\n" + record
        view = memoryview(record)
        while view:
            view = view[os.write(descriptor, view) :]
        os.fdatasync(descriptor) if hasattr(os, "fdatasync") else os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sync_all(paths: Iterable[str]) -> None:
    """Bring files that exist, and the folders they lie in, to disk; one by one that would wait for each of them."""
    opened: list[int] = []
    folders = set()
    try:
        for path in paths:
            try:
                opened.append(os.open(path, os.O_RDONLY))
            except FileNotFoundError:
                continue
            folders.add(os.path.dirname(path))
            if hasattr(os, "posix_fadvise"):
                # Starts the writing and does not wait for it.
                os.posix_fadvise(opened[-1], 0, 0, os.POSIX_FADV_DONTNEED)
            if len(opened) == _OPENED_AT_ONCE:
                _sync_and_close(opened)
        opened += [os.open(folder, os.O_RDONLY) for folder in folders]
    finally:
        _sync_and_close(opened)


def _sync_and_close(opened: list[int]) -> None:
    while opened:
        descriptor = opened.pop()
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def read_plain(path: Path, limit: int) -> bytes | None:
    """Read a regular file somebody else wrote, at most ``limit`` bytes; None if it is absent or no plain file.

    Follows no link in the last place and never waits on a fifo or a device.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        chunks, left = [], limit
        while left > 0 and (chunk := os.read(descriptor, min(left, 1 << 20))):
            chunks.append(chunk)
            left -= len(chunk)
        return b"".join(chunks)
    finally:
        os.close(descriptor)


def tail(path: Path, limit: int) -> bytes:
    """Read the last ``limit`` bytes of a file; empty if it cannot be read."""
    try:
        with open(path, "rb") as source:
            size = source.seek(0, os.SEEK_END)
            source.seek(max(0, size - limit))
            return source.read(limit)
    except OSError:
        return b""


def read_lines(path: Path, start: int = 0) -> Iterator[bytes]:
    """Give a file's lines from a place on, without ever holding more than 4 MiB of one."""
    with open(path, "rb") as source:
        source.seek(start)
        while line := source.readline(MOST_LINE):
            yield line.rstrip(b"\n")


def folder_identity(path: Path) -> tuple[int, int] | None:
    """Give device and inode of a real folder (not of what a link points to); None if there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None


def remove_tree(path: Path, identity: tuple[int, int]) -> None:
    """Remove a folder that is still the very one recorded as ``identity``; links are unlinked, never followed.

    Works at any depth: inner folders are moved up into the trash folder before they are emptied. Raises
    UnsafeRemoval when another folder stands there now, or when something is mounted inside.
    """
    if folder_identity(path) != identity:
        raise UnsafeRemoval(f"{path} is not the folder prun made", "look at it and remove it yourself")
    mounts = mounts_below(path)
    if mounts:
        raise UnsafeRemoval(f"something is mounted at {mounts[0]}", "unmount it first")
    # Moving a folder to another parent writes to it.
    os.chmod(path, 0o700)
    trash = path.with_name(f".prun-trash-{os.urandom(6).hex()}")
    trash.mkdir(mode=0o700)
    os.rename(path, trash / "0")
    top = os.open(trash, os.O_RDONLY | os.O_DIRECTORY)
    try:
        _empty_trash(top, identity[0], trash)
    finally:
        os.close(top)
    trash.rmdir()


def mounts_below(path: Path) -> list[str]:
    """List the mount points at or below a folder; empty where the system does not tell."""
    try:
        rows = Path("/proc/self/mountinfo").read_bytes().splitlines()
    except OSError:
        return []
    top = os.fsencode(os.path.realpath(path))
    found = []
    for row in rows:
        # Blanks and line ends in a path are written as octal escapes.
        place = re.sub(rb"\\([0-7]{3})", lambda code: bytes([int(code[1], 8)]), row.split(b" ")[4])
        if place == top or place.startswith(top + b"/"):
            found.append(os.fsdecode(place))
    return found


def _empty_trash(top: int, device: int, trash: Path) -> None:
    pending, count = ["0"], 0
    while pending:
        name = pending.pop()
        folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
        try:
            if os.fstat(folder).st_dev != device:
                raise UnsafeRemoval(f"something is mounted inside {trash / name}", "unmount it first")
            with os.scandir(folder) as entries:
                for entry in list(entries):
                    if not entry.is_dir(follow_symlinks=False):
                        os.unlink(entry.name, dir_fd=folder)
                        continue
                    count += 1
                    os.chmod(entry.name, 0o700, dir_fd=folder)
                    try:
                        os.rename(entry.name, str(count), src_dir_fd=folder, dst_dir_fd=top)
                    except OSError as problem:
                        if problem.errno not in (errno.EBUSY, errno.EXDEV):
                            raise
                        raise UnsafeRemoval(
                            f"{entry.name!r} inside {trash / name} is a mount point", "unmount it first"
                        ) from None
                    pending.append(str(count))
        finally:
            os.close(folder)
        os.rmdir(name, dir_fd=top)

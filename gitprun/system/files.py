"""The one door to files of our own: whole replacements, synced appends, locks, safe reads, safe removal."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gitprun.model.errors import PrunError
from gitprun.system.sharing import shared_mode
from gitprun.system.stop import Stop

# Who holds a lock writes a few files; only a machine that stands still takes longer.
LOCK_TIMEOUT = 120.0
# Who waits for a lock hears of a stop within this time.
_LISTEN = 0.25
MOST_LINE = 4 << 20
# What is removed is renamed to this, and a random end, first.
TRASH = ".prun-trash-"
# A process may have 1024 files open by default, and has others of its own.
_OPENED_AT_ONCE = 256


class LockBusy(PrunError):
    """Another prun process holds a lock longer than we are willing to wait."""


class UnsafeRemoval(PrunError):
    """A folder is not the one prun made, so it is left alone."""


class Held:
    """A lock that is held; ``is_ours`` tells whether its file still is the one others will find."""

    def __init__(self, path: Path, descriptor: int | None) -> None:
        self._path, self._descriptor = path, descriptor

    def is_ours(self) -> bool:
        """Check whether the lock's file was neither deleted nor replaced: then nobody else can hold it too."""
        if self._descriptor is None:
            return True
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.stat(self._path))
        except FileNotFoundError:
            return False


@contextmanager
def locked(path: Path, *, timeout: float = LOCK_TIMEOUT, doing: str = "", stop: Stop | None = None) -> Iterator[Held]:
    """Hold an exclusive lock between processes and threads; raises LockBusy after ``timeout`` seconds, or a stop."""
    # Not needed by a command that only reads, and slow to load.
    from filelock import FileLock, Timeout

    lock = FileLock(str(path), thread_local=False, mode=shared_mode(path, 0o644))
    deadline = time.monotonic() + timeout
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            left = max(0.0, deadline - time.monotonic())
            lock.acquire(timeout=left if stop is None else min(left, _LISTEN), poll_interval=0.01)
        except Timeout:
            if stop is not None and not stop.is_set() and time.monotonic() < deadline:
                continue
            raise LockBusy(
                f"another git prun is busy{' ' + doing if doing else ''} in this repository",
                f"wait for it to end and try again (lock: {path})",
            ) from None
        held = Held(path, getattr(getattr(lock, "_context", None), "lock_file_fd", None))
        if held.is_ours():
            break
        # Somebody deleted the file before we had it: what we hold, nobody else will ever look at.
        lock.release()
    try:
        yield held
    finally:
        lock.release()


def write_whole(path: Path, content: bytes, *, mode: int = 0o600, exact: bool = False) -> None:
    """Replace a file in one step: readers see the old or the new content, never a part.

    The mode is what the umask leaves of ``mode``, unless it is to be ``exact``.
    """
    # In the same folder: a rename replaces in one step only within one file system.
    temporary = path.with_name(f".{path.name}.{os.urandom(6).hex()}")
    mode = mode if exact else shared_mode(path, mode)
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode)
    try:
        with os.fdopen(descriptor, "wb") as target:
            target.write(content)
            target.flush()
            # The umask took its bits away when the file was made.
            if exact:
                os.fchmod(target.fileno(), mode)
            os.fsync(target.fileno())
        os.replace(temporary, path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def sync_folder(path: Path) -> None:
    """Bring the names in a folder to disk: a file that was made, renamed or removed is so after a crash too."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as problem:
        # Some file systems keep no folders to sync.
        if problem.errno not in (errno.EINVAL, errno.ENOTSUP):
            raise
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


def folder_identity(path: Path) -> tuple[int, int] | None:
    """Return device and inode of a real folder (not of what a link points to); None if there is none."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISDIR(found.st_mode) else None


def remove_tree(
    path: Path,
    identity: tuple[int, int],
    *,
    room: Path | None = None,
    noted: Callable[[Path, tuple[int, int]], None] | None = None,
) -> None:
    """Remove a folder that is still the very one recorded as ``identity``; links are unlinked, never followed.

    It is renamed into a trash folder first (in ``room``: a folder of the same file system, default the one above),
    of which ``noted`` hears before anything is moved, so that ``empty_trash`` can finish what broke off. Works at
    any depth: inner folders are moved up before they are emptied. Raises UnsafeRemoval, with all as it was, when
    another folder stands there now, or when something is mounted inside.
    """
    _require_same(path, identity)
    require_no_mounts(path)
    trash, top = make_held(room or path.parent, TRASH)
    try:
        if noted is not None:
            noted(trash, _identity_of(os.fstat(top)))
        # Moving a folder to another parent writes to it.
        _loosen(os.fspath(path))
        os.rename(path, "0", dst_dir_fd=top)
        if _identity_of(os.lstat("0", dir_fd=top)) != identity:
            # Somebody put another thing there at the last moment.
            os.rename("0", path, src_dir_fd=top)
            _require_same(path, identity)
        _empty_trash(top, identity[0], trash)
    finally:
        os.close(top)
        with suppress(OSError):
            trash.rmdir()


def empty_trash(trash: Path, identity: tuple[int, int]) -> bool:
    """Finish a removal that broke off; returns False when its process is still at it, or the folder is gone.

    Raises UnsafeRemoval when the trash folder is not the recorded one, or something is mounted inside.
    """
    try:
        top = os.open(trash, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return False
    except OSError:
        raise UnsafeRemoval(f"{trash} is no folder", "look at it and remove it yourself") from None
    try:
        if _identity_of(os.fstat(top)) != identity:
            raise UnsafeRemoval(f"{trash} is not the folder prun made", "look at it and remove it yourself")
        if not _claim(top):
            return False
        require_no_mounts(trash)
        _empty_trash(top, identity[0], trash)
    finally:
        os.close(top)
    trash.rmdir()
    return True


def is_held(trash: Path) -> bool:
    """Check whether somebody is emptying a trash folder right now."""
    try:
        top = os.open(trash, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return False
    try:
        return not _claim(top)
    finally:
        os.close(top)


def require_no_mounts(path: Path) -> None:
    """Refuse a folder in which something is mounted."""
    mounts = mounts_below(path)
    if mounts:
        raise UnsafeRemoval(f"something is mounted at {mounts[0]}", "unmount it first")


def _identity_of(found: os.stat_result) -> tuple[int, int]:
    return found.st_dev, found.st_ino


def _require_same(path: Path, identity: tuple[int, int]) -> None:
    if folder_identity(path) != identity:
        raise UnsafeRemoval(f"{path} is not the folder prun made", "look at it and remove it yourself")


def make_held(room: Path, prefix: str) -> tuple[Path, int]:
    """Make a folder and hold it, so that nobody takes it for a leftover; return it and the descriptor to close."""
    while True:
        made = room / f"{prefix}{os.urandom(6).hex()}"
        made.mkdir(mode=shared_mode(made, 0o700))
        try:
            held = os.open(made, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue
        if _claim(held) and folder_identity(made) == _identity_of(os.fstat(held)):
            return made, held
        # Taken for a leftover before we held it.
        os.close(held)


def _claim(folder: int) -> bool:
    """Hold a folder as long as it is open; returns False when somebody else does. Not all file systems know how."""
    import fcntl

    try:
        fcntl.flock(folder, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return True
    return True


def _loosen(name: str, folder: int | None = None) -> None:
    """Open a folder to its owner, and never through a link that has taken its place."""
    if os.chmod in os.supports_follow_symlinks:
        os.chmod(name, 0o700, dir_fd=folder, follow_symlinks=False)
        return
    # Linux has no chmod that stops at a link; through /proc the very folder that was opened is meant.
    place = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder)
    try:
        os.chmod(f"/proc/self/fd/{place}", 0o700)
    finally:
        os.close(place)


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
    pending = os.listdir(top)
    # A removal that broke off has left numbered folders already.
    count = max((int(name) for name in pending if name.isdecimal()), default=0)
    while pending:
        name = pending.pop()
        try:
            folder = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
        except OSError as problem:
            # ENOTDIR is a file, ELOOP a link: O_NOFOLLOW makes it one.
            if problem.errno not in (errno.ENOTDIR, errno.ELOOP):
                raise
            os.unlink(name, dir_fd=top)
            continue
        try:
            if os.fstat(folder).st_dev != device:
                raise UnsafeRemoval(f"something is mounted inside {trash / name}", "unmount it first")
            with os.scandir(folder) as entries:
                for entry in list(entries):
                    if not entry.is_dir(follow_symlinks=False):
                        os.unlink(entry.name, dir_fd=folder)
                        continue
                    count += 1
                    _loosen(entry.name, folder)
                    try:
                        # Moved up instead of gone into: however deep it is, no path grows and no folder stays open.
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

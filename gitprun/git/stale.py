"""What a git program that died left half done: a lock, or the registration of a worktree without its ``commondir``."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Callable
from pathlib import Path

from gitprun.model.errors import GitFailed

# A lock this old, held by no process, is nobody's; a younger one may be between two writes of a living program.
OLD = 600.0
# A lock is held for milliseconds as a rule; nobody notices a tenth of a second.
PAUSE = 0.1
QUIET = 1.0
COMMONDIR = re.compile(r"failed to read (?P<file>.*worktrees/(?P<name>[^/]+)/commondir)")


def await_free(lock: Path, *, patience: float) -> bool:
    """Wait until a lock is gone; False if it is still there after ``patience`` seconds."""
    until = time.monotonic() + patience
    while os.path.lexists(lock):
        if time.monotonic() >= until:
            return False
        time.sleep(PAUSE)
    return True


def await_letting_go(lock: Path, tree: Path, *, patience: float) -> None:
    """Wait while a lock is there and a git whose caller was killed may hold it, at most ``patience`` seconds."""
    until = time.monotonic() + patience
    while os.path.lexists(lock) and _is_held(lock, tree) and time.monotonic() < until:
        time.sleep(PAUSE)


def set_aside(lock: Path, tree: Path, *, now: float) -> Path | None:
    """Rename a lock that is old and held by nobody, and give its new name; None if it may be somebody's.

    Nobody means: no process has it open, and no git program works in ``tree``. Where that cannot be seen it stays.
    """
    try:
        found = os.lstat(lock)
    except OSError:
        return None
    if now - found.st_mtime < OLD or found.st_uid != os.geteuid() or _is_held(lock, tree):
        return None
    # A name that is taken is a lock that was put aside earlier: nothing is written over.
    number = 1
    while os.path.lexists(aside := lock.with_name(f"{lock.name}.stale-{number}")):
        number += 1
    os.rename(lock, aside)
    return aside


def take_dead_lock(lock: Path) -> bool:
    """Remove the lock of a ref that only prun writes, left by a prun that was killed; False where nobody may have.

    A living prun holds it for the blink of an eye: what stays the same for QUIET seconds, opened by nobody, is dead.
    """
    before = _seen(lock)
    until = time.monotonic() + QUIET
    while before is not None and time.monotonic() < until:
        time.sleep(PAUSE)
        now = _seen(lock)
        if now != before:
            before, until = now, time.monotonic() + QUIET
    try:
        # Looked at once more, since reading the open files of all processes takes a while.
        if before is not None and not is_open(lock) and _seen(lock) == before:
            lock.unlink()
    except OSError:
        return False
    return not os.path.lexists(lock)


def _seen(lock: Path) -> tuple[int, int, int] | None:
    try:
        found = os.lstat(lock)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def is_open(path: Path) -> bool:
    """Check whether a process has a file open; True where that cannot be told."""
    try:
        wanted = os.stat(path)
    except OSError:
        return True
    return _any_process(lambda name: _has_open(name, wanted))


def mend_entry(common: Path, problem: GitFailed, *, now: float) -> str:
    """Finish the registration of a worktree that git complained about, if whoever made it is long gone.

    Gives what was done; empty if nothing was, as the entry is young, or a git program is at work.
    """
    said = COMMONDIR.search(problem.stderr)
    if said is None:
        return ""
    entry = common / "worktrees" / said["name"]
    place = entry / "commondir"
    try:
        # The youngest of them: while git makes an entry it writes one file after the other.
        age = now - max(os.lstat(path).st_mtime for path in (entry, *entry.iterdir()))
        unwritten = not os.path.lexists(place) or os.lstat(place).st_size == 0
        if age < OLD or not unwritten or entry.is_symlink() or _is_held(place, common):
            return ""
        # What git would have written next: an entry always lies two folders below what all worktrees share.
        place.write_bytes(b"../..\n")
    except OSError:
        return ""
    return f"the registration of another worktree, {said['name']!r}, was half written by a program that is gone; mended"


def is_git_in(tree: Path) -> bool:
    """Check whether a git program works in a folder; True where that cannot be told."""
    inside = os.path.realpath(tree)
    return _any_process(lambda name: _works_there(name, inside))


def _is_held(path: Path, tree: Path) -> bool:
    """Check whether a process has a file open, or is a git program in a folder; True where that cannot be told."""
    return is_git_in(tree) or (path.exists() and is_open(path))


def _any_process(judge: Callable[[str], bool]) -> bool:
    """Check whether a process is such a one; True where processes cannot be listed."""
    try:
        processes = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return True
    return not processes or any(map(judge, processes))


def _works_there(process: str, folder: str) -> bool:
    try:
        with open(f"/proc/{process}/comm", "rb") as source:
            if not source.read(64).startswith(b"git"):
                return False
        place = os.readlink(f"/proc/{process}/cwd")
    # Another user's git: where it works cannot be seen, so it may be here.
    except PermissionError:
        return True
    # It ended while we looked.
    except OSError:
        return False
    return place == folder or place.startswith(f"{folder}/")


def _has_open(process: str, wanted: os.stat_result) -> bool:
    try:
        numbers = os.listdir(f"/proc/{process}/fd")
    except OSError:
        return False
    for number in numbers:
        try:
            held = os.stat(f"/proc/{process}/fd/{number}")
        except OSError:
            continue
        if (held.st_dev, held.st_ino) == (wanted.st_dev, wanted.st_ino):
            return True
    return False

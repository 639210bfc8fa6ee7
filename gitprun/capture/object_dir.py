"""A folder of git objects that somebody else could write: looked at from outside, by names and kinds of files."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from gitprun.system.files import folder_identity, mounts_below, read_plain

# Twice as many as objects are brought over at most, since each may lie in a pack as well.
MOST_FILES = 1_000_000
# Git makes two levels (xx/, pack/, info/commit-graphs/); a little room for what a version to come adds.
MOST_FOLDERS = 4
# Ours is one line; only whether it is that very line is asked.
MOST_ALTERNATES = 100_000


def check_object_dir(objects: Path, alternates: bytes) -> str | None:
    """Return why a folder is not plain files and folders that refer to nothing but ``alternates``; None if it is."""
    moved = "the worker changed where its objects lie"
    try:
        if os.path.islink(objects):
            return f"{moved} ({objects.name} is a link)"
        said = read_plain(objects / "info" / "alternates", MOST_ALTERNATES)
        if said != alternates and (said is not None or os.path.lexists(objects / "info" / "alternates")):
            return f"{moved} (info/alternates)"
        if os.path.lexists(objects / "info" / "http-alternates"):
            return f"{moved} (info/http-alternates)"
        mounts = mounts_below(objects)
        if mounts:
            return f"{moved} (something is mounted at {mounts[0]})"
        for count, (entry, depth) in enumerate(_walk(objects), 1):
            place = os.path.relpath(entry.path, objects)
            if count > MOST_FILES:
                return f"the worker's objects are more than {MOST_FILES} files"
            if depth > MOST_FOLDERS:
                return f"folders in the worker's objects lie more than {MOST_FOLDERS} deep ({place})"
            if not entry.is_file(follow_symlinks=False) and not entry.is_dir(follow_symlinks=False):
                return f"{moved} ({place} is no plain file)"
    except OSError as problem:
        return f"the worker's objects cannot be read: {problem.strerror}"
    return None


def plain_files(objects: Path) -> Iterator[os.DirEntry[str]]:
    """Return the plain files in a folder of objects; what lies deeper than objects do is passed over."""
    for entry, _ in _walk(objects):
        if entry.is_file(follow_symlinks=False):
            yield entry


def _walk(objects: Path) -> Iterator[tuple[os.DirEntry[str], int]]:
    queue = [(os.fspath(objects), 1)]
    while queue:
        folder, depth = queue.pop()
        with os.scandir(folder) as entries:
            for entry in entries:
                yield entry, depth
                if entry.is_dir(follow_symlinks=False) and depth <= MOST_FOLDERS:
                    queue.append((entry.path, depth + 1))


def copy_plain(objects: Path, target: Path, most: int) -> None:
    """Copy the plain files of a folder of objects, at most ``most`` bytes; what cannot be read is left out."""
    if folder_identity(objects) is None:
        return
    for count, entry in enumerate(plain_files(objects)):
        size = entry.stat(follow_symlinks=False).st_size
        if size > most or count > MOST_FILES:
            continue
        most -= size
        copy = target / os.path.relpath(entry.path, objects)
        copy.parent.mkdir(parents=True, exist_ok=True)
        with suppress(PermissionError, FileNotFoundError):
            _copy(entry.path, copy)


def _copy(source: str, target: Path) -> None:
    descriptor = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with os.fdopen(descriptor, "rb") as content, open(target, "wb") as out:
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            shutil.copyfileobj(content, out)

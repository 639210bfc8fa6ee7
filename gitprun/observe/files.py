"""Read files somebody else may have written, each only when its stat data changed: mode, digest, content to keep."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

from gitprun.system.content_store import ContentStore
from gitprun.system.files import read_plain

# Nobody's settings are that big; a longer file is told by its size and time, and not kept.
MOST_READ = 64 << 20
# A walk over that many takes a second, and each look walks: more loose refs than that are packed by any gc.
MOST_FILES = 200_000
# Git's own names of refs are far shallower; a worker may have nested folders without end.
DEEPEST = 64
Stat = tuple[int, ...]


def stat_of(path: str) -> Stat | None:
    """Return what changes whenever a path does; None if there is nothing."""
    try:
        found = os.lstat(path)
    except OSError:
        return None
    return found.st_mode, found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


class Reader:
    """Reads files by their whole paths and remembers them; contents go to ``store``, if there is one."""

    def __init__(self, store: ContentStore | None) -> None:
        self.store = store
        self._known: dict[str, tuple[Stat, str]] = {}

    def mark(self, path: str) -> str:
        """Return mode and digest of what is at a path (``100644 SHA``); empty if there is nothing."""
        about = stat_of(path)
        if about is None:
            self._known.pop(path, None)
            return ""
        known = self._known.get(path)
        if known is None or known[0] != about:
            known = (about, self._read(path, about))
            self._known[path] = known
        if stat.S_ISLNK(about[0]):
            # What a link leads to is what runs.
            return f"{known[1]} {self._beyond(path)}".rstrip()
        return known[1]

    def text(self, path: str, limit: int = 10_000) -> str:
        """Read a short text; empty if there is none."""
        return (read_plain(Path(path), limit) or b"").decode("utf-8", "surrogateescape").strip()

    def _read(self, path: str, about: Stat) -> str:
        mode = about[0]
        if stat.S_ISLNK(mode):
            return f"{mode:o} {self._keep(os.fsencode(os.readlink(path)))}"
        if not stat.S_ISREG(mode):
            # A fifo or a device: to open it could wait for ever.
            return f"{mode:o}"
        if about[3] > MOST_READ:
            return f"{mode:o} {about[3]}-{about[4]}"
        content = read_plain(Path(path), MOST_READ)
        return f"{mode:o} {self._keep(content) if content is not None else 'unreadable'}"

    def _beyond(self, path: str) -> str:
        target = os.path.realpath(path)
        about = stat_of(target)
        if about is None or not stat.S_ISREG(about[0]) or about[3] > MOST_READ:
            return ""
        return self.mark(target)

    def _keep(self, content: bytes) -> str:
        # Here, for most commands never digest anything.
        import hashlib

        return self.store.add(content) if self.store is not None else hashlib.sha256(content).hexdigest()


def names_in(folder: str, most: int = MOST_FILES) -> list[str]:
    """List the names in a folder, in order; none where it cannot be read."""
    try:
        return sorted(os.listdir(folder))[:most]
    except OSError:
        return []


def walk(top: str, skip: Callable[[str], bool] = lambda _: False) -> Iterator[str]:
    """Yield the paths of all files below a folder, relative to it; links are given, not followed."""
    pending, count = [("", 0)], 0
    while pending:
        inner, depth = pending.pop()
        try:
            entries = sorted(os.scandir(os.path.join(top, inner)), key=lambda entry: entry.name)
        except OSError:
            continue
        for entry in entries:
            name = f"{inner}{entry.name}"
            if skip(name):
                continue
            if entry.is_dir(follow_symlinks=False):
                if depth < DEEPEST:
                    pending.append((f"{name}/", depth + 1))
                continue
            count += 1
            if count > MOST_FILES:
                return
            yield name

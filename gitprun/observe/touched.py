"""Which paths of a folder may have changed since they were last looked at."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Protocol

from gitprun.capture.screen import BUILD_FOLDERS
from gitprun.capture.tree_scan import READ_BY_GIT
from gitprun.observe.inotify import (
    IN_CREATE,
    IN_IGNORED,
    IN_ISDIR,
    IN_MOVED_FROM,
    IN_MOVED_TO,
    IN_Q_OVERFLOW,
    Inotify,
)

# A walk over that many takes seconds, at every tick that has lost track: beyond it nothing is told.
MAX_FOLDERS = 200_000
# Beyond that, one whole look costs less than as many single ones (and the set would grow without end between ticks).
MAX_TOUCHED = 20_000
# What a build writes is no work, and a tick must not drown in its notices.
_UNWATCHED = frozenset(os.fsencode(name) for name in BUILD_FOLDERS)


class ChangeSource(Protocol):
    """Knows which paths of one folder may have changed; a workspace that keeps its changes apart can be one."""

    def changed(self) -> frozenset[bytes] | None:
        """Return the paths that may have changed since the last call, relative; None: any may have."""
        ...

    def renew(self) -> None:
        """Begin anew: the folder is about to be looked at as a whole."""
        ...

    def follow(self, folder: bytes) -> None:
        """Pay attention to one folder in it from now on; called just before it is listed."""
        ...

    def close(self) -> None:
        """Stop paying attention."""
        ...


class NoNotices:
    """Knows nothing, so that all is looked at each time: right everywhere, and slow."""

    def changed(self) -> frozenset[bytes] | None:
        """Return None: any path may have changed."""
        return None

    def renew(self) -> None:
        """Do nothing."""

    def follow(self, folder: bytes) -> None:
        """Do nothing."""

    def close(self) -> None:
        """Do nothing."""


@dataclass(frozen=True, slots=True)
class FolderSurvey:
    """What lies below a folder: how many files, which of them git would wait for (a fifo named .gitignore),
    which folders are repositories of their own, and, where asked for, the names of all files."""

    files: int
    traps: tuple[bytes, ...] = ()
    nested: tuple[bytes, ...] = ()
    names: tuple[bytes, ...] = ()


def survey(
    top: bytes,
    below: bytes,
    skip: Callable[[bytes], bool],
    follow: Callable[[bytes], None],
    *,
    list_names: bool = False,
) -> FolderSurvey:
    """Walk what lies at ``below`` (empty: all), never through a link, into a repository or into what is skipped.

    Raises OverflowError when there is no end to it.
    """
    traps: list[bytes] = []
    nested: list[bytes] = []
    names: list[bytes] = []
    files, folders, queue = 0, 0, [below]
    while queue:
        folder = queue.pop()
        # First, so that nothing made while we list it goes unnoticed.
        follow(folder)
        try:
            with os.scandir(os.path.join(top, folder) if folder else top) as listing:
                entries = list(listing)
        except OSError:
            continue
        # A repository of its own: what its git does in there is its business, and git status does not go in either.
        if folder and b".git" in {entry.name for entry in entries}:
            nested.append(folder)
            continue
        folders += 1
        if folders > MAX_FOLDERS:
            raise OverflowError(f"more than {MAX_FOLDERS} folders")
        start = folder + b"/" if folder else b""
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                if not skip(start + entry.name):
                    queue.append(start + entry.name)
                continue
            files += 1
            if list_names:
                names.append(start + entry.name)
            # Links to such files are opened by git with O_NOFOLLOW, so they cannot make it wait.
            if entry.name in READ_BY_GIT and not (entry.is_symlink() or entry.is_file(follow_symlinks=False)):
                traps.append(start + entry.name)
    return FolderSurvey(files, tuple(traps), tuple(nested), tuple(names))


class FolderWatcher:
    """Hands out one ``Watched`` a folder and sorts the kernel's notices among them."""

    def __init__(self) -> None:
        self._inotify = Inotify()
        self._places: dict[int, tuple[WatchedFolder, bytes]] = {}

    def source(self, top: bytes, skip: Callable[[bytes], bool]) -> WatchedFolder:
        """Make the source of one folder; what is skipped is not watched."""
        return WatchedFolder(self, top, skip)

    def pump(self) -> None:
        """Take in all notices so far; call it before asking the sources."""
        for notice in self._inotify.read():
            if notice.mask & IN_Q_OVERFLOW:
                # The kernel dropped notices and does not say whose.
                for watched in {watched for watched, _ in self._places.values()}:
                    watched.lose_track()
                continue
            # The folder itself is gone; the number may be given to another one.
            if notice.mask & IN_IGNORED:
                self._places.pop(notice.watch, None)
                continue
            found = self._places.get(notice.watch)
            if found is not None:
                watched, folder = found
                watched.take(folder + b"/" + notice.name if folder else notice.name, notice.mask)

    def add(self, watched: WatchedFolder, folder: bytes) -> None:
        """Watch one folder for a source; raises OSError at the system's limit."""
        number = self._inotify.watch(os.path.join(watched.top, folder) if folder else watched.top)
        if number is not None:
            self._places[number] = (watched, folder)

    def drop(self, watched: WatchedFolder) -> None:
        """Watch nothing for a source any more."""
        for number in [number for number, (owner, _) in self._places.items() if owner is watched]:
            self._inotify.forget(number)
            del self._places[number]

    def close(self) -> None:
        """Close everything."""
        self._inotify.close()
        self._places.clear()


class WatchedFolder:
    """A folder whose changes the kernel tells; asks for a whole look whenever it lost track."""

    def __init__(self, watcher: FolderWatcher, top: bytes, skip: Callable[[bytes], bool]) -> None:
        self.top, self._watcher, self._skip = top, watcher, skip
        self._touched: set[bytes] = set()
        self._new: set[bytes] = set()
        self._lost = True
        self._full = False

    def take(self, path: bytes, mask: int) -> None:
        """Take in one notice."""
        name = path.rpartition(b"/")[2]
        if self._lost or not name or self._skip(path):
            return
        if name == b".git" or name in READ_BY_GIT or (mask & IN_ISDIR and mask & IN_MOVED_FROM):
            # Rules changed, or a folder went away and no notice says what lay in it.
            self._lost = True
        elif mask & IN_ISDIR:
            # What was written into it before we watch it has no notice of its own: it is listed at the next look.
            if mask & (IN_CREATE | IN_MOVED_TO):
                self._new.add(path)
        elif len(self._touched) < MAX_TOUCHED:
            self._touched.add(path)
        else:
            self._lost = True

    def lose_track(self) -> None:
        """Remember that notices were lost."""
        self._lost = True

    def changed(self) -> frozenset[bytes] | None:
        """Return the touched paths, those in new folders among them; None when track was lost."""
        touched, new, lost = self._touched, self._new, self._lost
        self._touched, self._new = set(), set()
        try:
            # Found to be a repository, or with a trap in it: only a whole look knows what that means.
            for folder in () if lost else new:
                found = survey(self.top, folder, self._skip, self.follow, list_names=True)
                lost = lost or bool(found.traps or found.nested)
                touched.update(found.names)
        except OverflowError:
            lost = True
        return None if lost or self._full else frozenset(touched)

    def renew(self) -> None:
        """Forget what was touched: all of it is about to be seen."""
        self._touched, self._new, self._lost = set(), set(), False

    def follow(self, folder: bytes) -> None:
        """Watch one folder; where the system's limit is reached, every look is a whole one from now on."""
        if self._full:
            return
        try:
            self._watcher.add(self, folder)
        except OSError:
            self._full = True
            # Half a folder watched is worth nothing, and other workspaces can use what is freed.
            self._watcher.drop(self)

    def close(self) -> None:
        """Stop watching."""
        self._watcher.drop(self)


def make_skip_rule(apart: Iterable[bytes]) -> Callable[[bytes], bool]:
    """Make the rule for what is neither watched nor walked: git's own folder, what is apart, build folders."""
    own = frozenset({b".git", *apart})

    def skip(path: bytes) -> bool:
        return path in own or path.rpartition(b"/")[2] in _UNWATCHED

    return skip

"""Walk a folder somebody else filled, with lstat only; runs in a child of its own (see ``gitprun.supervisor.child``).

Imported by a bare interpreter, so nothing but ``os``, ``stat`` and ``itertools`` here. Folders are opened by
descriptor, none through a link, so that neither depth nor the length of a path can break the walk.
"""

from __future__ import annotations

import itertools
import os
import stat

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import TypedDict

    class Question(TypedDict):
        """What to walk: the top, what to skip (relative paths), and how deep, how long and how full is too much."""

        top: bytes
        skip: list[bytes]
        depth: int
        length: int
        full: int

    class Found(TypedDict):
        """What lies in a folder beside plain files, as ``TreeScan`` has it; ``cut`` with one word of a reason."""

        repositories: list[bytes]
        specials: list[bytes]
        traps: list[bytes]
        ignore_files: list[bytes]
        attribute_files: list[bytes]
        cut: list[tuple[bytes, str]]
        crowded: list[tuple[bytes, int]]
        entries: int


# Git opens these wherever it finds them, so a fifo of that name would make it wait for ever.
READ_BY_GIT = frozenset({b".gitignore", b".gitattributes", b".gitmodules"})
# What git reads to tell whether a folder is a repository, and which commit is checked out there.
READ_OF_NESTED = (b"HEAD", b"commondir", b"config", b"packed-refs")
# A nested repository with more is no worker's; git reads its HEAD long before that many.
MAX_REFS = 100_000
# So many names of folders fit the memory a child may have, and none of them holds a worker's own files.
MOST_FOLDERS = 200_000
# Never through a link, and never waiting for a fifo that took a folder's place.
OPENED = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_NONBLOCK


class Folder:
    """One open folder on the way down: what is still to be entered, and how much lies in it and below."""

    def __init__(self, descriptor: int, name: bytes) -> None:
        self.descriptor, self.name = descriptor, name
        self.below: list[bytes] = []
        self.count = 0


class TreeWalk:
    """A walk over a whole folder, and what it has found so far: paths as bytes, relative to the top."""

    def __init__(self, question: Question) -> None:
        self.top = question["top"]
        self.skip = frozenset(question["skip"])
        self.depth = question["depth"]
        self.length = question["length"]
        self.full = question["full"]
        self.found: Found = {
            "repositories": [], "specials": [], "traps": [], "ignore_files": [], "attribute_files": [],
            "cut": [], "crowded": [], "entries": 0,
        }  # fmt: skip

    def walk(self) -> Found:
        """Look at everything; returns what was found."""
        stack = [self.enter(os.open(self.top, OPENED), b"")]
        while stack:
            folder = stack[-1]
            if folder.below:
                self.descend(stack, folder.below.pop())
                continue
            stack.pop()
            os.close(folder.descriptor)
            self.found["entries"] += folder.count if not stack else 0
            if folder.count > self.full:
                self.found["crowded"].append((folder.name, folder.count))
            if stack:
                stack[-1].count += folder.count
        return self.found

    def descend(self, stack: list[Folder], name: bytes) -> None:
        """Enter one folder, or cut it off where git could not follow."""
        above = stack[-1]
        path = above.name + b"/" + name if above.name else name
        if len(stack) >= self.depth:
            self.found["cut"].append((path, "deep"))
            return
        if len(self.top) + len(path) > self.length:
            self.found["cut"].append((path, "long"))
            return
        try:
            # By descriptor of the folder above: a worker that renames one meanwhile leads nobody astray.
            stack.append(self.enter(os.open(name, OPENED, dir_fd=above.descriptor), path))
        # A worker may take its own rights away; what git cannot read is told and not silently left out.
        except PermissionError:
            self.found["specials"].append(path)
        except OSError:
            # It was a folder a moment ago: somebody is at work here, and nothing is to be had from it.
            return

    def enter(self, descriptor: int, path: bytes) -> Folder:
        """Read one folder, entry by entry."""
        folder = Folder(descriptor, path)
        try:
            with os.scandir(descriptor) as listing:
                for entry in listing:
                    folder.count += 1
                    self.see(folder, entry)
        except BaseException:
            os.close(descriptor)
            raise
        if len(folder.below) > MOST_FOLDERS:
            # What is in it is listed as one folder, so none of its own is entered.
            folder.below.clear()
            self.found["cut"].append((path, "wide"))
        return folder

    def see(self, folder: Folder, entry: os.DirEntry[str]) -> None:
        """Sort one entry by its kind."""
        own = os.fsencode(entry.name)
        path = folder.name + b"/" + own if folder.name else own
        # Ours, or linked in: neither is the worker's work.
        if path in self.skip:
            return
        found = self.found
        if own == b".git":
            found["repositories"].append(folder.name)
            found["traps"] += traps_of_nested(self.top, path)
        elif entry.is_dir(follow_symlinks=False):
            if len(folder.below) <= MOST_FOLDERS:
                folder.below.append(own)
        elif entry.is_symlink():
            return
        elif not entry.is_file(follow_symlinks=False):
            found["traps" if own in READ_BY_GIT else "specials"].append(path)
        elif own == b".gitignore":
            found["ignore_files"].append(path)
        elif own == b".gitattributes":
            found["attribute_files"].append(path)


def answer(question: Question) -> Found:
    """Look over a folder; the question names it, what to skip, and how deep and long paths may be."""
    return TreeWalk(question).walk()


def traps_of_nested(top: bytes, name: bytes) -> list[bytes]:
    """Find what would hang git in a nested ``.git``: the special file itself, or a pointer to a folder with one."""
    full = os.path.join(top, name)
    try:
        mode = os.lstat(full).st_mode
    except OSError:
        return []
    if stat.S_ISDIR(mode):
        # What is reached through a link is not ours to unlink, but the link is.
        return list(dict.fromkeys(first_link(top, name + b"/" + part) for part in specials_of(full)))
    place = full
    if stat.S_ISREG(mode):
        said = read_pointer(full).removeprefix(b"gitdir:").strip()
        place = os.path.join(os.path.dirname(full), said)
        if b"\0" in place:
            return []
    elif not stat.S_ISLNK(mode):
        return [name]
    return [name] if any(specials_of(place)) else []


def read_pointer(path: bytes) -> bytes:
    """Read a ``.git`` file; empty if it is none."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return b""
    try:
        return os.read(descriptor, 10_000) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    finally:
        os.close(descriptor)


def specials_of(git_dir: bytes) -> Iterator[bytes]:
    """Name what in a git folder is neither file nor folder, as far as git looks for its HEAD."""
    for name in READ_OF_NESTED:
        if is_special(os.path.join(git_dir, name)):
            yield name
    for name, path in walk_refs(git_dir):
        if is_special(path):
            yield name


def walk_refs(git_dir: bytes) -> Iterator[tuple[bytes, bytes]]:
    """List the files below ``refs`` of a git folder, with their paths; follows no link, and ends at MAX_REFS."""
    queue, seen = [b"refs"], 0
    while queue and seen < MAX_REFS:
        folder = queue.pop()
        try:
            with os.scandir(os.path.join(git_dir, folder)) as listing:
                entries = list(itertools.islice(listing, MAX_REFS - seen))
        except OSError:
            continue
        for entry in entries:
            seen += 1
            name = folder + b"/" + entry.name
            if entry.is_dir(follow_symlinks=False):
                queue.append(name)
            else:
                yield name, entry.path


def is_special(path: bytes) -> bool:
    """Check whether opening a path could wait: links are followed, as git does."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def first_link(top: bytes, name: bytes) -> bytes:
    """Return the first component of a path that is a link, or the whole path."""
    parts = name.split(b"/")
    for number in range(1, len(parts)):
        here = b"/".join(parts[:number])
        if os.path.islink(os.path.join(top, here)):
            return here
    return name

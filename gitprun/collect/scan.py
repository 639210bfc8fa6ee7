"""Look over a workspace without opening anything: what in it git must not be let near."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gitprun.errors import PrunError
from gitprun.system.files import read_plain

MAX_DEPTH = 512
MAX_ENTRIES = 5_000_000
MAX_REFS = 100_000
# Git opens these wherever it finds them, so a fifo of that name would make it wait for ever.
READ_BY_GIT = frozenset({b".gitignore", b".gitattributes", b".gitmodules"})
# What git reads to tell whether a folder is a repository, and which commit is checked out there.
READ_OF_NESTED = (b"HEAD", b"commondir", b"config", b"packed-refs")


class ScanProblem(PrunError):
    """A workspace is shaped so that it cannot be captured; it is left as it is."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What a workspace holds beside plain files: paths relative to it, as bytes.

    ``traps`` are what git would wait for: they hold no content and may be unlinked.
    """

    repositories: tuple[bytes, ...] = ()
    specials: tuple[bytes, ...] = ()
    traps: tuple[bytes, ...] = ()
    ignore_files: tuple[bytes, ...] = ()
    entries: int = 0


def scan_workspace(path: Path, skip: frozenset[bytes]) -> Scan:
    """Walk a workspace, not below links or ``skip`` (relative paths); raises ScanProblem when it has no end."""
    top = os.fsencode(path)
    repositories, specials, traps, ignore_files = [], [], [], []
    count, queue = 0, [(b"", 0)]
    while queue:
        folder, depth = queue.pop()
        if depth > MAX_DEPTH:
            raise ScanProblem(
                f"folders are nested more than {MAX_DEPTH} deep in {path}", "look at what the worker made there"
            )
        try:
            with os.scandir(os.path.join(top, folder) if folder else top) as listing:
                entries = list(listing)
        except PermissionError:
            specials.append(folder)
            continue
        count += len(entries)
        if count > MAX_ENTRIES:
            raise ScanProblem(f"more than {MAX_ENTRIES} entries in {path}", "look at what the worker made there")
        for entry in entries:
            name = folder + b"/" + entry.name if folder else entry.name
            if name in skip:
                continue
            if entry.name == b".git":
                repositories.append(folder)
                traps += _traps_of_nested(top, name)
            elif entry.is_dir(follow_symlinks=False):
                queue.append((name, depth + 1))
            elif entry.is_symlink():
                continue
            elif not entry.is_file(follow_symlinks=False):
                (traps if entry.name in READ_BY_GIT else specials).append(name)
            elif entry.name == b".gitignore":
                ignore_files.append(name)
    return Scan(
        tuple(sorted(repositories)), tuple(sorted(specials)), tuple(sorted(traps)), tuple(sorted(ignore_files)), count
    )


def _traps_of_nested(top: bytes, name: bytes) -> list[bytes]:
    """Find what would hang git in a nested ``.git``: the special file itself, or a pointer to a folder with one."""
    full = os.path.join(top, name)
    mode = os.lstat(full).st_mode
    if stat.S_ISDIR(mode):
        # What is reached through a link is not ours to unlink, but the link is.
        return list(dict.fromkeys(_first_link(top, name + b"/" + part) for part in _specials_of(full)))
    place = full
    if stat.S_ISREG(mode):
        said = (read_plain(Path(os.fsdecode(full)), 10_000) or b"").removeprefix(b"gitdir:").strip()
        place = os.path.join(os.path.dirname(full), said)
        if b"\0" in place:
            return []
    elif not stat.S_ISLNK(mode):
        return [name]
    return [name] if any(_specials_of(place)) else []


def _specials_of(git_dir: bytes) -> Iterator[bytes]:
    """Name what in a git folder is neither file nor folder, as far as git looks for its HEAD."""
    for name in READ_OF_NESTED:
        if _is_special(os.path.join(git_dir, name)):
            yield name
    for name, path in walk_refs(git_dir):
        if _is_special(path):
            yield name


def walk_refs(git_dir: bytes) -> Iterator[tuple[bytes, bytes]]:
    """List the files below ``refs`` of a git folder, with their paths; follows no link, and ends at MAX_REFS."""
    queue, seen = [b"refs"], 0
    while queue and seen < MAX_REFS:
        folder = queue.pop()
        try:
            with os.scandir(os.path.join(git_dir, folder)) as listing:
                entries = list(listing)
        except OSError:
            continue
        for entry in entries:
            seen += 1
            name = folder + b"/" + entry.name
            if entry.is_dir(follow_symlinks=False):
                queue.append(name)
            else:
                yield name, entry.path


def _is_special(path: bytes) -> bool:
    """Tell whether opening a path could wait: links are followed, as git does."""
    try:
        mode = os.stat(path).st_mode
    except OSError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _first_link(top: bytes, name: bytes) -> bytes:
    """Give the first component of a path that is a link, or the whole path."""
    parts = name.split(b"/")
    for number in range(1, len(parts)):
        here = b"/".join(parts[:number])
        if os.path.islink(os.path.join(top, here)):
            return here
    return name


def look(path: Path, name: str) -> tuple[int, int, str | None] | None:
    """Give mode, size and link target of one path; None if it is gone."""
    full = os.path.join(path, name)
    try:
        found = os.lstat(full)
        link = os.readlink(full) if stat.S_ISLNK(found.st_mode) else None
    except OSError:
        return None
    return found.st_mode, found.st_size, link

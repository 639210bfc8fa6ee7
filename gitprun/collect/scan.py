"""Look over a workspace without opening anything: what in it git must not be let near."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from gitprun.errors import PrunError

MAX_DEPTH = 512
MAX_ENTRIES = 5_000_000
# Git opens these wherever it finds them, so a fifo of that name would make it wait for ever.
READ_BY_GIT = frozenset({b".gitignore", b".gitattributes", b".gitmodules"})


class ScanProblem(PrunError):
    """A workspace is shaped so that it cannot be captured; it is left as it is."""


@dataclass(frozen=True, slots=True)
class Scan:
    """What a workspace holds beside plain files: paths relative to it, as bytes."""

    repositories: tuple[bytes, ...] = ()
    specials: tuple[bytes, ...] = ()
    traps: tuple[bytes, ...] = ()
    ignore_files: tuple[bytes, ...] = ()
    entries: int = 0


def scan_workspace(path: Path, skip: frozenset[bytes]) -> Scan:
    """Walk a workspace, not below links, nested repositories or ``skip`` (top-level names or relative paths)."""
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
            entries = list(os.scandir(os.path.join(top, folder) if folder else top))
        except PermissionError:
            specials.append(folder)
            continue
        count += len(entries)
        if count > MAX_ENTRIES:
            raise ScanProblem(f"more than {MAX_ENTRIES} entries in {path}", "look at what the worker made there")
        if folder and any(entry.name == b".git" for entry in entries):
            repositories.append(folder)
            continue
        for entry in entries:
            name = folder + b"/" + entry.name if folder else entry.name
            if name in skip:
                continue
            if entry.is_dir(follow_symlinks=False):
                queue.append((name, depth + 1))
            elif entry.name in READ_BY_GIT and not entry.is_symlink() and not entry.is_file(follow_symlinks=False):
                traps.append(name)
            elif entry.name == b".gitignore":
                ignore_files.append(name)
            elif not entry.is_symlink() and not entry.is_file(follow_symlinks=False):
                specials.append(name)
    return Scan(
        tuple(sorted(repositories)), tuple(sorted(specials)), tuple(sorted(traps)), tuple(sorted(ignore_files)), count
    )


def look(path: Path, name: str) -> tuple[int, int, str | None] | None:
    """Give mode, size and link target of one path; None if it is gone."""
    full = os.path.join(path, name)
    try:
        found = os.lstat(full)
        link = os.readlink(full) if stat.S_ISLNK(found.st_mode) else None
    except OSError:
        return None
    return found.st_mode, found.st_size, link

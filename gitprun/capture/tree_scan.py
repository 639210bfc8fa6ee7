"""Look over a workspace without opening anything: what in it git must not be let near."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

from gitprun.capture import tree_walk
from gitprun.capture.tree_walk import READ_BY_GIT, walk_refs
from gitprun.model.errors import PrunError
from gitprun.supervisor.child import ChildFailed, ask

__all__ = ["READ_BY_GIT", "ScanProblem", "TreeScan", "cannot_follow", "look", "scan_workspace", "size_of", "walk_refs"]

# So many parts a path may have: what lies deeper is refused when it crosses, too.
MAX_DEPTH = 512
# What Linux takes for a whole path, and room for git to put something after it.
MAX_PATH = 4000
# So many entries below one folder may be listed one by one; more are left out as that folder.
CROWDED = 100_000
# A million files on a cold disk take a minute; what holds more than that is left as it is.
TIMEOUT = 120.0


class ScanProblem(PrunError):
    """A workspace is shaped so that it cannot be captured; it is left as it is."""


@dataclass(frozen=True, slots=True)
class TreeScan:
    """What a workspace holds beside plain files: paths relative to it, as bytes.

    ``traps`` are what git would wait for: they hold no content and may be unlinked. ``cut`` are the folders git must
    not enter, each with its reason; ``crowded`` those with more than CROWDED entries, and how many, inner ones first.
    """

    repositories: tuple[bytes, ...] = ()
    specials: tuple[bytes, ...] = ()
    traps: tuple[bytes, ...] = ()
    ignore_files: tuple[bytes, ...] = ()
    attribute_files: tuple[bytes, ...] = ()
    cut: tuple[tuple[bytes, str], ...] = ()
    crowded: tuple[tuple[bytes, int], ...] = ()
    entries: int = 0


def scan_workspace(path: Path, skip: frozenset[bytes], *, most: int = 0) -> TreeScan:
    """Walk a workspace in a child, not below links or ``skip`` (relative paths); raises ScanProblem if that fails.

    ``most`` is how many files somebody wants listed at least, whatever we think of it.
    """
    question = {
        "top": os.fsencode(path),
        "skip": list(skip),
        "depth": MAX_DEPTH,
        "length": MAX_PATH,
        "full": max(CROWDED, most),
    }
    # In a child: a tree made to break the walk breaks that one, within a bound of time and memory.
    try:
        found = ask(Path(tree_walk.__file__), question, timeout=TIMEOUT)
    except ChildFailed as problem:
        raise ScanProblem(
            f"{path} could not be looked over: {problem.message}", "look at what the worker made there"
        ) from None
    why = {
        "deep": f"folders nested more than {MAX_DEPTH - 1} deep",
        "long": "its path is too long",
        "wide": f"more than {tree_walk.MOST_FOLDERS} folders in it",
    }
    return TreeScan(
        repositories=tuple(sorted(found["repositories"])),
        specials=tuple(sorted(found["specials"])),
        traps=tuple(sorted(found["traps"])),
        ignore_files=tuple(sorted(found["ignore_files"])),
        attribute_files=tuple(sorted(found["attribute_files"])),
        cut=tuple(sorted((name, why[kind]) for name, kind in found["cut"])),
        crowded=tuple(found["crowded"]),
        entries=found["entries"],
    )


def cannot_follow(reason: str) -> bool:
    """Check whether a folder was left out since git could not follow into it."""
    return reason.endswith((" deep", " folders in it", "git cannot follow")) or reason == "its path is too long"


def look(path: Path, name: str) -> tuple[int, int, str | None] | None:
    """Return mode, size and link target of one path; None if it is gone."""
    full = os.path.join(path, name)
    try:
        found = os.lstat(full)
        link = os.readlink(full) if stat.S_ISLNK(found.st_mode) else None
    except (OSError, ValueError):
        return None
    return found.st_mode, found.st_size, link


def size_of(path: Path, name: str) -> int:
    """Return the size of one path; 0 if it is gone."""
    seen = look(path, name)
    return seen[1] if seen else 0

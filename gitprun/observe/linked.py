"""What a worker wrote through a link into the user's checkout: linked folders, before it began and after it ended.

It is told and holds nothing: what is linked is shared on purpose, and may be changed by the user or other units too.
"""

from __future__ import annotations

import json
import os
import time
from collections import deque
from collections.abc import Iterable, Mapping
from pathlib import Path

from gitprun.ledger.unit_events import UnitWatched
from gitprun.system.files import read_plain, write_whole

# A node_modules of usual size is looked over as a whole in a fifth of a second; of larger ones the outer folders are.
MOST_ENTRIES = 30_000
# On a slow disk no worker waits longer than this for the look.
MOST_SECONDS = 2.0
# So many are named, the rest is counted.
MOST_SHOWN = 20
# 30,000 rows of a path and three numbers are a tenth of that.
MOST_READ = 64 << 20
# What tools write whenever they merely run.
CACHES = frozenset({"__pycache__", ".cache", ".vite", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".turbo"})

# Size, time of the content and of the rest, by path; the size of a link is the length of what it says.
Stamps = Mapping[str, tuple[int, int, int]]


def linked_places(place: Path, provided: Iterable[str]) -> dict[str, str]:
    """Find where the links lead that prun put into a workspace, by their names."""
    return {name: os.path.realpath(place / name) for name in provided if os.path.islink(place / name)}


def look(places: Mapping[str, str]) -> tuple[dict[str, tuple[int, int, int]], bool]:
    """Stamp the files below linked places, the outer ones first; returns too whether it came to the end."""
    stamps: dict[str, tuple[int, int, int]] = {}
    until, pending = time.monotonic() + MOST_SECONDS, deque(places.items())
    while pending:
        name, path = pending.popleft()
        try:
            entries = sorted(os.scandir(path), key=lambda entry: entry.name)
        except NotADirectoryError:
            about = os.stat(path)
            stamps[name] = (about.st_size, about.st_mtime_ns, about.st_ctime_ns)
            continue
        except OSError:
            continue
        for entry in entries:
            if entry.name in CACHES:
                continue
            try:
                if entry.is_dir(follow_symlinks=False):
                    pending.append((f"{name}/{entry.name}", entry.path))
                    continue
                about = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            stamps[f"{name}/{entry.name}"] = (about.st_size, about.st_mtime_ns, about.st_ctime_ns)
        if len(stamps) >= MOST_ENTRIES or time.monotonic() > until:
            return stamps, not pending
    return stamps, True


def compare(before: Stamps, after: Stamps, *, whole: bool) -> list[str]:
    """List the paths that differ; unless both looks came to their ends, only of those that both saw."""
    names = before.keys() | after.keys() if whole else before.keys() & after.keys()
    return sorted(name for name in names if before.get(name) != after.get(name))


def begin_look(file: Path, place: Path, provided: Iterable[str]) -> None:
    """Look before a worker begins, and write that down in ``file``: another process may have to look after its end."""
    file.unlink(missing_ok=True)
    places = linked_places(place, provided)
    if places:
        stamps, whole = look(places)
        write_whole(file, json.dumps({"places": places, "stamps": stamps, "whole": whole}).encode())


def end_look(file: Path) -> UnitWatched | None:
    """Look after a worker ended; return what changed as an event, None where nothing did."""
    said = read_plain(file, MOST_READ)
    if said is None:
        return None
    try:
        record = json.loads(said)
        before = {name: tuple(stamp) for name, stamp in record["stamps"].items()}
        places, whole = record["places"], bool(record["whole"])
    except (ValueError, TypeError, KeyError, AttributeError):
        return UnitWatched(linked_note="what changed behind its links cannot be told: the look before it is lost")
    after, end = look(places)
    file.unlink(missing_ok=True)
    changed = compare(before, after, whole=whole and end)
    if not changed:
        return None
    return UnitWatched(linked=tuple(changed[:MOST_SHOWN]), linked_more=max(0, len(changed) - MOST_SHOWN))

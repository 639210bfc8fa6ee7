"""Who wrote into the user's checkout, as far as that can be told."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitprun.observe.snapshot import GONE, Stamp, UnitReading
from gitprun.system.files import read_plain

MOST_COMPARED = 1 << 20
# The clock of a file system runs a few milliseconds behind.
SLACK = 0.1


@dataclass(frozen=True, slots=True)
class Suspect:
    """A unit with its workspace and the paths it worked on."""

    unit: UnitReading
    folder: Path
    worked_on: frozenset[str]


class Blame:
    """Tells writers of paths and remembers what it found."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Stamp], str] = {}

    def find(self, top: Path, changed: Mapping[str, Stamp], units: Sequence[Suspect]) -> dict[str, str]:
        """Name the writers of changed paths.

        A unit that holds the very same content is the writer; else the one unit whose worker ran when the file
        changed may be, and its name gets a question mark.
        """
        found = {}
        for path, stamp in changed.items():
            if stamp == GONE:
                continue
            key = (path, stamp)
            name = self._known.get(key, "")
            if not name or name.endswith("?"):
                name = _by_content(top / path, path, stamp, units) or _by_time(stamp, units)
                self._known[key] = name
            if name:
                found[path] = name
        return found


def _by_content(file: Path, path: str, stamp: Stamp, units: Sequence[Suspect]) -> str:
    if not 0 < stamp[0] <= MOST_COMPARED:
        return ""
    content: bytes | None = None
    holders = []
    for suspect in units:
        twin = suspect.folder / path
        if path not in suspect.worked_on or not _has_size(twin, stamp[0]):
            continue
        content = content if content is not None else read_plain(file, MOST_COMPARED)
        if content is not None and read_plain(twin, MOST_COMPARED) == content:
            holders.append(suspect.unit.id)
    return holders[0] if len(holders) == 1 else ""


def _has_size(path: Path, size: int) -> bool:
    try:
        found = os.lstat(path)
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size == size


def _by_time(stamp: Stamp, units: Sequence[Suspect]) -> str:
    ran = [suspect.unit.id for suspect in units if _ran_at(suspect.unit, stamp[1] / 1e9)]
    return f"{ran[0]}?" if len(ran) == 1 else ""


def _ran_at(unit: UnitReading, time: float) -> bool:
    if unit.began is None or time < unit.began - SLACK:
        return False
    return unit.ended is None or time <= unit.ended + SLACK

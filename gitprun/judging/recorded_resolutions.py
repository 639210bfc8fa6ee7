"""Resolutions kept by what was in conflict: the same three versions meet the same answer again, wherever it is.

What is forgotten is moved aside and kept, but no merge finds it.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Literal, get_args

from gitprun.ledger.events import Event
from gitprun.ledger.landing_events import ResolveRecorded
from gitprun.system.files import read_plain, write_whole

Take = Literal["main", "unit", "delete"]

TAKES: Final[tuple[Take, ...]] = get_args(Take)
# Bytes of a text a person resolved; files that can be merged at all are far smaller, and one is read at once.
MOST: Final = 64 << 20
_FOLDER = "resolutions"
_FORGOTTEN = "forgotten"
# Only names we write ourselves are moved or removed: others may be in that folder.
_NAME = re.compile(r"(?:[0-9a-f]{40}|none)-[0-9a-f]{40}-[0-9a-f]{40}|choice-[0-9a-f]{64}")


def find_resolution(state: Path, base: str | None, main: str, unit: str) -> bytes | None:
    """Find the text a conflict of three blobs was resolved to; ``base`` is None where both sides added the file."""
    return read_plain(state / _FOLDER / text_name(base, main, unit), MOST)


def keep_resolution(state: Path, base: str | None, main: str, unit: str, text: bytes) -> Path:
    """Keep the text of a conflict of three blobs, and name its file; a later one replaces it."""
    return _write(state / _FOLDER / text_name(base, main, unit), text)


def find_choice(state: Path, path: bytes, versions: Sequence[str | None]) -> Take | None:
    """Find whose version of a path was chosen, or that it goes, in a conflict that is not about content.

    ``versions`` are base, main and unit, each as mode and object id (``"100644 <oid>"``), None where it has none.
    """
    try:
        kept = json.loads(read_plain(state / _FOLDER / choice_name(path, versions), MOST) or b"")
        return next((take for take in TAKES if take == kept["take"]), None)
    # Somebody may have edited the file, or a disk lost its end: then nothing was chosen, and the user is asked anew.
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def keep_choice(state: Path, path: bytes, versions: Sequence[str | None], take: Take) -> Path:
    """Keep whose version of a path was chosen, and name its file; a later choice replaces it."""
    row = {"path": os.fsdecode(path), "versions": list(versions), "take": take}
    return _write(state / _FOLDER / choice_name(path, versions), json.dumps(row).encode())


def version_taken(versions: Sequence[str | None], take: Take) -> str | None:
    """Return the version of a path that was chosen; None where the path goes."""
    _, main, unit = versions
    return main if take == "main" else unit if take == "unit" else None


def text_name(base: str | None, main: str, unit: str) -> str:
    """Name the file that keeps the text of a conflict of three blobs."""
    return f"{base or 'none'}-{main}-{unit}"


def choice_name(path: bytes, versions: Sequence[str | None]) -> str:
    """Name the file that keeps whose version of a path was chosen."""
    # The path is part of it: a choice is about a file at its place, a text about three texts wherever they are.
    mark = hashlib.sha256(b"\0".join((path, *(str(version or "none").encode() for version in versions))))
    return f"choice-{mark.hexdigest()}"


def is_recorded(state: Path, name: str) -> bool:
    """Check whether something is recorded under a name."""
    return (state / _FOLDER / name).is_file()


def forgotten_place(state: Path, name: str) -> Path:
    """Name the file that keeps what was forgotten."""
    return state / _FOLDER / _FORGOTTEN / name


def forget(state: Path, names: Iterable[str]) -> None:
    """Move what is recorded under names aside; what is not there is passed over, so that it can be done again."""
    for name in names:
        # Names come from the ledger; one with a slash in it must not move anything else.
        if _NAME.fullmatch(name) and is_recorded(state, name):
            place = forgotten_place(state, name)
            place.parent.mkdir(exist_ok=True)
            # Moved within one folder's file system: killed at any moment, it is in one place or the other.
            os.replace(state / _FOLDER / name, place)


def recorded_for(events: Iterable[Event], path: str) -> dict[str, str]:
    """Return what was recorded for a path, or for paths in a folder, by the names of the files: the path of each."""
    found: dict[str, str] = {}
    for event in events:
        if isinstance(event.payload, ResolveRecorded):
            rows = event.payload.rows
            # With the slash: "src" does not mean "src2".
            found |= {name: own for own, name in rows if own == path or own.startswith(f"{path}/")}
    return found


def _write(place: Path, content: bytes) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    write_whole(place, content)
    return place

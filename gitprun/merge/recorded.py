"""Resolutions kept by what was in conflict: the same three versions meet the same answer again, wherever it is."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal, get_args

from gitprun.system.files import read_plain, write_whole

Take = Literal["main", "unit", "delete"]

TAKES: Final[tuple[Take, ...]] = get_args(Take)
MOST: Final = 64 << 20
_FOLDER = "resolutions"


def find_resolution(state: Path, base: str | None, main: str, unit: str) -> bytes | None:
    """Find the text a conflict of three blobs was resolved to; ``base`` is None where both sides added the file."""
    return read_plain(_text_place(state, base, main, unit), MOST)


def keep_resolution(state: Path, base: str | None, main: str, unit: str, text: bytes) -> Path:
    """Keep the text of a conflict of three blobs, and name its file; a later one replaces it."""
    return _write(_text_place(state, base, main, unit), text)


def find_choice(state: Path, path: bytes, versions: Sequence[str | None]) -> Take | None:
    """Find whose version of a path was chosen, or that it goes, in a conflict that is not about content.

    ``versions`` are base, main and unit, each as mode and object id (``"100644 <oid>"``), None where it has none.
    """
    try:
        kept = json.loads(read_plain(_choice_place(state, path, versions), MOST) or b"")
        return next((take for take in TAKES if take == kept["take"]), None)
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def keep_choice(state: Path, path: bytes, versions: Sequence[str | None], take: Take) -> Path:
    """Keep whose version of a path was chosen, and name its file; a later choice replaces it."""
    row = {"path": os.fsdecode(path), "versions": list(versions), "take": take}
    return _write(_choice_place(state, path, versions), json.dumps(row).encode())


def version_taken(versions: Sequence[str | None], take: Take) -> str | None:
    """Give the version of a path that was chosen; None where the path goes."""
    _, main, unit = versions
    return main if take == "main" else unit if take == "unit" else None


def _text_place(state: Path, base: str | None, main: str, unit: str) -> Path:
    return state / _FOLDER / f"{base or 'none'}-{main}-{unit}"


def _choice_place(state: Path, path: bytes, versions: Sequence[str | None]) -> Path:
    mark = hashlib.sha256(b"\0".join((path, *(str(version or "none").encode() for version in versions))))
    return state / _FOLDER / f"choice-{mark.hexdigest()}"


def _write(place: Path, content: bytes) -> Path:
    place.parent.mkdir(parents=True, exist_ok=True)
    write_whole(place, content)
    return place

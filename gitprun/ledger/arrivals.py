"""When a result file has landed: rules over what was seen of it, its writer, and a clock that never goes back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from gitprun.model.contract import FIELDS, parse_result

# A file that breaks off inside the contract is given this many quiet windows before it counts as all there is.
PATIENCE = 6.0

# works: a living process is known to write it. ended: its writer is known and gone. unknown: nobody we know of.
WriterState = Literal["works", "ended", "unknown"]


@dataclass(frozen=True, slots=True)
class FileSight:
    """What one look at a file shows."""

    inode: int
    size: int
    mtime_ns: int


@dataclass(frozen=True, slots=True)
class Writer:
    """Who writes a result, as far as that is known.

    ``unit`` is the id its heading must have (empty: not known), ``until_ns`` the wall-clock time after which an
    ended writer cannot have written any more (None: nobody else writes there), ``folder`` where its traces lie,
    ``hopeless`` why no result will ever come (empty: it may).
    """

    state: WriterState = "unknown"
    unit: str = ""
    until_ns: int | None = None
    folder: str = ""
    hopeless: str = ""


@dataclass(frozen=True, slots=True)
class WatchedFile:
    """A file as far as it was watched: the last sight, and since when (monotonic seconds) it has looked like that."""

    sight: FileSight | None = None
    since: float = 0.0


def first_look(sight: FileSight | None, *, now: float, wall: float) -> WatchedFile:
    """Take in a file as it is found at the start.

    How long it has been quiet can only be told by its own time; one that lies ahead of the wall clock tells nothing.
    """
    if sight is None:
        return WatchedFile()
    return WatchedFile(sight, now - max(0.0, wall - sight.mtime_ns / 1e9))


def look_again(before: WatchedFile, sight: FileSight | None, *, now: float) -> WatchedFile:
    """Take in a later look: from the first one on only changes we saw ourselves count, on the monotonic clock."""
    return before if sight == before.sight else WatchedFile(sight, now)


def is_certain(watched: WatchedFile, writer: Writer) -> bool:
    """Check whether a file is known to be finished, because whoever wrote it has ended."""
    sight = watched.sight
    return (
        sight is not None
        # To open a file for writing makes it empty first.
        and sight.size > 0
        and writer.state == "ended"
        and (writer.until_ns is None or sight.mtime_ns <= writer.until_ns)
    )


def is_quiet(watched: WatchedFile, writer: Writer, *, now: float, window: float) -> bool:
    """Check whether a file nobody is known to write looks finished: it is not empty and has not changed for a while."""
    sight = watched.sight
    return sight is not None and sight.size > 0 and writer.state != "works" and now - watched.since >= window


def breaks_off(text: str) -> bool:
    """Check whether a text begins as a result and ends before it has all fields: perhaps more is being written."""
    # Any unit's: the file may be somebody else's result, and is no less complete for that.
    found = parse_result(text, "")
    return bool(found.unit) and any(not found.fields.get(name) for name in FIELDS)

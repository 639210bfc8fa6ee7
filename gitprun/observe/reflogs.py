"""Reflogs as text: what an old one had and a new one lacks, and how the two become one again."""

from __future__ import annotations

import re
from dataclasses import dataclass

# Git itself forgets entries that old (gc.reflogExpireUnreachable).
FORGOTTEN_AFTER = 30 * 86400
# From, to, who, when, where that was on the clock, and after a tab what git said.
_LINE = re.compile(rb"([0-9a-f]{40,64}) ([0-9a-f]{40,64}) .*> (\d+) [-+]\d{4}(?:\t(.*))?")


@dataclass(frozen=True, slots=True)
class ReflogEntry:
    """One line of a reflog: from where to where, when (seconds since 1970), and what git said."""

    old: str
    new: str
    time: int
    said: str


def read_entry(line: bytes) -> ReflogEntry | None:
    """Read one line; None if it is none of git's."""
    found = _LINE.fullmatch(line)
    if found is None:
        return None
    said = (found[4] or b"").decode("utf-8", "replace")
    return ReflogEntry(found[1].decode(), found[2].decode(), int(found[3]), said)


def last_entry(log: bytes) -> ReflogEntry | None:
    """Read the last line of a reflog."""
    return read_entry(log.rstrip(b"\n").rpartition(b"\n")[2])


def lost_lines(before: bytes, after: bytes) -> list[bytes]:
    """List the lines of an old reflog that a new one lacks."""
    if after.startswith(before):
        return []
    # By lines, not by the end: an expiry takes lines out of the middle, and writes the rest anew.
    left = set(map(_bare, after.split(b"\n")))
    return [line for line in before.split(b"\n") if line and _bare(line) not in left]


def _bare(line: bytes) -> bytes:
    """Leave out the tab git puts behind an empty message whenever it writes a reflog anew."""
    return line.rstrip(b"\t ")


def untimely(lines: list[bytes], now: float) -> list[bytes]:
    """Leave out the lines git may have forgotten by itself, for their age."""
    entries = ((line, read_entry(line)) for line in lines)
    return [line for line, entry in entries if entry is None or now - entry.time < FORGOTTEN_AFTER]


def join_logs(before: bytes, now: bytes, without: str = "") -> bytes:
    """Make one log of an old one and what was written since; lines that say ``without`` are ours and left out."""
    old = [line for line in before.split(b"\n") if line]
    known = set(map(_bare, old))
    mark = b"\t" + without.encode()
    new = [line for line in now.split(b"\n") if line and _bare(line) not in known]
    kept = [line for line in new if not (without and line.endswith(mark))]
    return b"".join(line + b"\n" for line in (*old, *kept))

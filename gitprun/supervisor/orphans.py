"""What there is after a supervisor: the record it left, or, where it was killed, what its worker left running."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gitprun.model.units import Exit
from gitprun.supervisor import exit_record, process_tree

RECORD = "exit.json"
KILLED = "the warden process was killed, and the worker with it"
# So many looks in a row have to find nobody: on a busy machine ten were missed by a chain of processes that each start
# the next one and end. They take about a second, and only after a supervisor was killed.
LOOKS = 40


def read_exit(path: Path) -> Exit | None:
    """Read a supervisor's exit record; None if there is none yet (or it cannot be read)."""
    record = read_record(path)
    try:
        return Exit(
            code=record["code"],
            signal=record["signal"],
            reason=record["reason"],
            seconds=float(record["seconds"]),
            detail=str(record["detail"]),
            leftovers=int(record["leftovers"]),
            survivors=tuple(int(pid) for pid, _ in record.get("survivors", ())),
            unproved=str(record.get("unproved", "")),
            dropped=int(record.get("dropped", 0)),
        )
    except (ValueError, KeyError, TypeError):
        return None


def end_orphans(record: Path, mark: str = "", patience: float = 1.0) -> Exit:
    """End what runs on after its supervisor was killed, as far as its mark and its cgroup show it, and say so.

    ``record`` is the folder of the supervisor's files; what it noted there about itself is believed if it goes with
    ``mark``. TERM first, KILL after ``patience`` seconds.
    """
    part = record / (RECORD + exit_record.PART)
    noted = read_record(part)
    own = mark or str(noted.get("mark") or "")
    place = str(noted.get("group") or "")
    group = process_tree.Cgroup(place) if own and place.endswith(f"/prun-{own}") else None
    misses = 0

    def look(_everywhere: bool) -> process_tree.Kin | None:
        nonlocal misses
        found = processes_of(own, group)
        misses = 0 if found or (group and group.is_populated()) else misses + 1
        # One look may miss what starts the next one and ends at once.
        return None if misses > LOOKS else found

    seen, left, proved = process_tree.end_all(
        look, lambda most: time.sleep(min(most, process_tree.SHORT)), patience, group
    )
    if group is not None:
        group.remove()
    if proved:
        # What it says of its worker is true no more.
        part.unlink(missing_ok=True)
    listed = process_tree.list_processes() is not None
    return Exit(
        code=None,
        signal=None,
        reason="stopped",
        seconds=0.0,
        detail=KILLED,
        leftovers=len(seen),
        survivors=tuple(sorted(left)),
        unproved="" if proved and listed else process_tree.UNCAUGHT if listed else process_tree.UNLISTED,
    )


def read_record(path: Path) -> dict[str, Any]:
    """Read a record as plain values; an empty one if it is not there or broken."""
    try:
        found = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def processes_of(mark: str, group: process_tree.Cgroup | None = None) -> process_tree.Kin:
    """Find the living processes a mark was given to or that are in a cgroup, and those they started; never our own."""
    processes = process_tree.list_processes() or {}
    found = process_tree.marked(mark.encode(), processes) | (group.pids() & processes.keys() if group else set())
    # We may run under a worker ourselves, and go on with what we lost.
    above = set(_ancestors(os.getpid(), processes))
    return {pid: processes[pid][1] for pid in (found | process_tree.below(found, processes)) - above}


def _ancestors(pid: int, processes: process_tree.Table) -> Iterator[int]:
    seen: set[int] = set()
    while pid in processes and pid not in seen:
        seen.add(pid)
        yield pid
        pid = processes[pid][0]

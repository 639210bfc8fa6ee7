"""Which workers and supervisors live, told by recorded identity; and codex processes that belong to no unit.

Never a name alone: names only serve to count strays, and nothing here sends a signal.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gitprun.supervisor.process import ProcessIdentity, is_alive

# What runs the script of that name: codex is a program of its own, or one of these with the script.
_RUNTIMES = frozenset({b"node", b"nodejs", b"bun"})
_SCRIPTS = frozenset({b"codex", b"codex.js"})
_MARK = b"PRUN_UNIT="


@dataclass(frozen=True, slots=True)
class Process:
    """One living process: its parent, and whose it is."""

    parent: int
    uid: int


def probe_processes() -> dict[int, Process] | None:
    """List all living processes; None where the system has no /proc."""
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return None
    found = {}
    # One pass over all: children of a supervisor are found without asking it, and a tick asks for twenty.
    for name in names:
        try:
            with open(f"/proc/{name}/stat", "rb") as source:
                fields = source.read().rpartition(b")")[2].split()
            # The dead that wait for their parents are no workers.
            if fields[0] not in (b"Z", b"X"):
                found[int(name)] = Process(int(fields[1]), os.stat(f"/proc/{name}").st_uid)
        except (OSError, IndexError, ValueError):
            continue
    return found or None


def live_identity(who: ProcessIdentity | None) -> ProcessIdentity | None:
    """Return a recorded identity if that very process still runs."""
    return who if who is not None and is_alive(who) else None


def has_worker(supervisor: int, processes: Mapping[int, Process] | None) -> bool:
    """Check whether a living supervisor has a living child; without /proc a living supervisor is taken to have one."""
    return processes is None or any(process.parent == supervisor for process in processes.values())


def count_runaway(processes: Mapping[int, Process] | None, supervisors: Iterable[int]) -> int:
    """Count this user's codex programs that no unit started, and under which we do not run ourselves."""
    if processes is None:
        return 0
    # Where an agent runs git prun, its own codex is above us, and is no stray.
    owned, above = set(supervisors), set(_ancestors(os.getpid(), processes))
    strays = {pid for pid, process in processes.items() if process.uid == os.getuid() and _is_codex(pid)}
    count = 0
    for pid in strays - above:
        line = _ancestors(pid, processes)
        # A launcher and the program it launches are one.
        if not owned.intersection(line) and not strays.intersection(line[1:]) and not _is_marked(pid):
            count += 1
    return count


def _ancestors(pid: int, processes: Mapping[int, Process]) -> list[int]:
    """List a process and those above it, nearest first."""
    line: list[int] = []
    while pid in processes and pid not in line:
        line.append(pid)
        pid = processes[pid].parent
    return line


def _is_codex(pid: int) -> bool:
    return is_codex(_read(pid, "cmdline").split(b"\0"))


def is_codex(argv: list[bytes]) -> bool:
    """Check whether a command line starts codex: the program itself or a script of that name; a mention is none."""
    names = [os.path.basename(word) for word in argv[:2]]
    return names[:1] == [b"codex"] or (len(names) == 2 and names[0] in _RUNTIMES and names[1] in _SCRIPTS)


def _is_marked(pid: int) -> bool:
    """Check whether some git prun started it: the environment of a unit is handed down."""
    return any(row.startswith(_MARK) for row in _read(pid, "environ").split(b"\0"))


def _read(pid: int, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as source:
            # The kernel itself allows command lines of 2 MiB; what says codex stands at their start.
            return source.read(1 << 20)
    except OSError:
        return b""

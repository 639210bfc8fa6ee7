"""Which workers and wardens live, told by recorded identity; and codex processes that belong to no unit.

Never a name alone: names only serve to count strays, and nothing here sends a signal.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gitprun.supervisor.process import ProcessIdentity, is_alive

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
    for name in names:
        try:
            with open(f"/proc/{name}/stat", "rb") as source:
                fields = source.read().rpartition(b")")[2].split()
            if fields[0] not in (b"Z", b"X"):
                found[int(name)] = Process(int(fields[1]), os.stat(f"/proc/{name}").st_uid)
        except (OSError, IndexError, ValueError):
            continue
    return found or None


def read_identity(record: object) -> ProcessIdentity | None:
    """Read a recorded identity; None if there is none."""
    if not isinstance(record, Mapping):
        return None
    try:
        return ProcessIdentity(int(record["pid"]), str(record["start"]), str(record["boot"]))
    except (KeyError, TypeError, ValueError):
        return None


def live_identity(record: object) -> ProcessIdentity | None:
    """Give a recorded identity if that very process still runs."""
    identity = read_identity(record)
    return identity if identity is not None and is_alive(identity) else None


def has_worker(warden: int, processes: Mapping[int, Process] | None) -> bool:
    """Tell whether a living warden has a living child; without /proc a living warden is taken to have one."""
    return processes is None or any(process.parent == warden for process in processes.values())


def count_runaway(processes: Mapping[int, Process] | None, wardens: Iterable[int]) -> int:
    """Count this user's codex programs that no unit started, and under which we do not run ourselves."""
    if processes is None:
        return 0
    owned, above = set(wardens), set(_ancestors(os.getpid(), processes))
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
    """Tell whether a command line starts codex: the program itself or a script of that name; a mention is none."""
    names = [os.path.basename(word) for word in argv[:2]]
    return names[:1] == [b"codex"] or (len(names) == 2 and names[0] in _RUNTIMES and names[1] in _SCRIPTS)


def _is_marked(pid: int) -> bool:
    """Tell whether some git prun started it: the environment of a unit is handed down."""
    return any(row.startswith(_MARK) for row in _read(pid, "environ").split(b"\0"))


def _read(pid: int, name: str) -> bytes:
    try:
        with open(f"/proc/{pid}/{name}", "rb") as source:
            return source.read(1 << 20)
    except OSError:
        return b""

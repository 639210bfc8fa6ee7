"""Who of a worker's processes is still there: while one is, its workspace is neither captured nor taken away."""

from __future__ import annotations

from pathlib import Path

from gitprun.model.units import Exit
from gitprun.supervisor.orphans import RECORD, read_record
from gitprun.supervisor.process import ProcessIdentity, find_marked, is_gone, probe_identity


def living_survivors(folder: Path, ended: Exit | None = None) -> tuple[int, ...]:
    """List the pids of what a worker left and nobody could end, as far as it lives; ``folder`` is its unit's.

    ``ended`` is how the worker ended where no supervisor was left to write that down.
    """
    record = read_record(folder / RECORD)
    here = probe_identity(1)
    living: set[int] = set()
    try:
        for pid, start in record.get("survivors", ()):
            # A pid alone is soon somebody else's: it counts only with its start and this boot.
            if not is_gone(ProcessIdentity(int(pid), str(start), here.boot if here else "")):
                living.add(int(pid))
    except (ValueError, TypeError):
        pass
    mark = str(record.get("mark") or "")
    if record.get("unproved") and mark:
        # Nobody could say then; who bears its mark now can be told.
        living |= {who.pid for who in find_marked(mark)}
    if ended is not None and not record:
        living |= {pid for pid in ended.survivors if probe_identity(pid) is not None}
    return tuple(sorted(living))

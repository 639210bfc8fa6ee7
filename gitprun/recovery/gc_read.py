"""Look at everything that might go: units, folders, logs and refs; nothing is changed by that."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from gitprun.capture.quarantine import list_quarantine, unfinished_rooms
from gitprun.capture.worker_refs import read_worker_refs
from gitprun.git.repo import Repository
from gitprun.ledger.drift_record import open_drifts
from gitprun.ledger.events import RunState, UnitState
from gitprun.ledger.ledger import Ledger, Reading
from gitprun.ledger.lookup import probe_unit
from gitprun.ledger.probe import probe_named
from gitprun.ledger.roster import NAMED, roster
from gitprun.model.errors import PrunError
from gitprun.model.names import PRUN_REFS, is_run_id
from gitprun.observe.keep import keep_folder, own_bytes
from gitprun.observe.tree import may_convert
from gitprun.recovery.gc_plan import DAY, GcInventory, GcScope, Leftover, RunFound, UnitFound
from gitprun.registry.disk import disk_use
from gitprun.registry.find import name_of
from gitprun.registry.guard import lock_of, stands
from gitprun.registry.ignored import FOLDER, list_kept
from gitprun.registry.inventory import count_dirty
from gitprun.registry.orphans import choose_roots, find_orphans, find_trashes
from gitprun.registry.precious import NOTHING, Precious
from gitprun.registry.rest import find_ignored
from gitprun.supervisor.process import is_gone
from gitprun.system.files import folder_identity, is_held
from gitprun.verify.surroundings import BESIDE
from gitprun.workspaces.clone import read_source
from gitprun.workspaces.pins import started_with

GIT_FOLDER = "capture.git"
LOG = "output.log"
_TEMPORARY = re.compile(r"(?P<name>.+)-(?P<pid>[0-9]+)")


def read_found(
    repository: Repository, ledger: Ledger, reading: Reading, roots: Iterable[Path], scope: GcScope
) -> GcInventory:
    """Read all that gc decides upon; workspaces are looked into only where they may go."""
    named, history = roster(reading.events), reading.history
    tops = choose_roots(reading, roots)
    refs = read_refs(repository)
    look = _Look(repository, refs, workspaces=scope.workspaces)
    units = [look.unit(run, unit) for run in history.runs.values() for unit in run.units.values()]
    units += [look.unit(named, unit) for unit in named.units.values()]
    # Dry: only how much it would save is wanted here.
    compaction = ledger.compact(days=scope.keep_for / DAY, dry_run=True)
    state = repository.state
    return GcInventory(
        units=tuple(units),
        runs=tuple(run_found(run) for run in history.runs.values()),
        named=frozenset(named.units),
        trashes=tuple(
            _used(path, is_held(path)) for path in find_trashes(tops, (state, repository.common / "worktrees"))
        ),
        temporaries=tuple(_temporaries(tops, history.runs, named)),
        landing_logs=tuple(_leftover(path) for path in _inside(state / "landing")),
        quarantine=tuple(_leftover(path) for path in unfinished_rooms(repository)),
        snapshots=tuple(_snapshots(repository, reading, named)),
        rejected=tuple(
            Leftover(path=str(kept.place), time=kept.time, size=kept.size) for kept in list_quarantine(repository)
        ),
        kept_files=list_kept(state),
        half_kept=tuple(str(path) for path in sorted((state / FOLDER).glob("*/.*.part-*"))),
        refs=refs,
        orphans=tuple(row.path for row in find_orphans(repository, reading, roots) if row.state == "orphan"),
        ledger_runs=len(compaction.runs),
        ledger_saves=max(0, compaction.size_before - compaction.size_after) if compaction.saves else 0,
    )


def read_refs(repository: Repository) -> tuple[tuple[str, str], ...]:
    """List the refs of prun's with what they hold."""
    rows = repository.git.run("for-each-ref", "--format=%(objectname) %(refname)", PRUN_REFS).text.split("\n")
    return tuple((row[41:], row[:40]) for row in rows if row)


def run_found(run: RunState) -> RunFound:
    """Return what gc needs to know of a run."""
    units = list(run.units.values())
    there = [unit for unit in units if unit.there]
    return RunFound(
        id=run.id,
        states=tuple(unit.state for unit in units),
        workspaces=len(there),
        running=is_running(run),
        ended=run.ended,
    )


def is_running(run: RunState) -> bool:
    """Check whether somebody works on a run, or a worker of it lives; one that broke off can be gone on with."""
    if run.ended is None and (run.coordinator is None or not is_gone(run.coordinator)):
        return True
    return any(unit.live for unit in run.units.values())


class _Look:
    """Looks at units; what is asked for each of them is read once."""

    def __init__(self, repository: Repository, refs: Sequence[tuple[str, str]], *, workspaces: bool) -> None:
        self.repository, self.workspaces = repository, workspaces
        self.pinned = frozenset(oid for _, oid in refs)
        self.converts = may_convert(repository) if workspaces else False
        self.tips = read_source(repository).tips if workspaces else frozenset[str]()
        self.began: dict[str, frozenset[str]] = {}

    def unit(self, run: RunState, unit: UnitState) -> UnitFound:
        """Look at one unit."""
        own = unit.there
        probed = probe_named(unit) if run.id == NAMED else probe_unit(run, unit)
        path = Path(unit.path)
        there = own and stands(unit)
        folder = self.repository.state / "runs" / unit.run / unit.id
        running = probed.live if run.id == NAMED else is_running(run)
        look = there and self.workspaces and not running and run.id != NAMED
        # Each attempt that was put away has a log of its own.
        logs = [place for place in (folder / LOG, *sorted(folder.glob(f"attempt-*/{LOG}"))) if place.is_file()]
        git_folder = folder / GIT_FOLDER
        # While the workspace is there it may be captured once more, for which this folder is needed.
        kept = not own and run.id != NAMED and not probed.live and folder_identity(git_folder) is not None
        return UnitFound(
            name=name_of(unit),
            run=unit.run,
            unit=unit.id,
            kind=unit.workspace,
            state=probed.state,
            path=str(path) if own else "",
            there=there,
            lexists=own and os.path.lexists(path),
            reachable=not own or os.path.lexists(path.parent),
            running=running,
            broken=own and unit.trash is not None,
            locked=lock_of(self.repository, unit) if own else None,
            captured=unit.captured or (unit.workspace == "scratch" and not probed.live),
            dirty=count_dirty(self.repository, unit, converts=self.converts) if look else None,
            unpinned=self.unpinned(unit) if look else None,
            left_out=len(unit.left_out),
            ignored=self.ignored(unit) if look else NOTHING,
            ended=unit.ended if unit.ended is not None else (unit.since if not probed.live else None),
            size=disk_use(path) if look else 0,
            git_folder=str(git_folder) if kept else "",
            git_size=disk_use(git_folder) if kept else 0,
            logs=tuple((str(place), place.stat().st_size) for place in logs),
        )

    def ignored(self, unit: UnitState) -> Precious | None:
        """Find the ignored files of a unit that no tool makes again; None where that cannot be told."""
        try:
            return find_ignored(self.repository, unit)
        except (PrunError, OSError):
            return None

    def unpinned(self, unit: UnitState) -> int | None:
        """Count the commits in a clone that no ref here pins; a worktree's and a scratch folder's are here, or none."""
        if unit.workspace != "clone":
            return 0
        git_dir = Path(unit.path) / ".git"
        if folder_identity(git_dir) is None:
            return None
        base, run = unit.base or "", unit.run
        # Read once for a run: all of its clones began with the same refs.
        if run not in self.began:
            self.began[run] = self.tips | self.pinned | started_with(self.repository, run)
        # What it began with is in the user's repository, whatever its refs say now.
        found = read_worker_refs(git_dir, self.began[run] | {base})
        return None if found.unfinished else len(found.tips)


def _snapshots(repository: Repository, reading: Reading, named: RunState) -> list[Leftover]:
    """Find the snapshots that were taken before workers in linked worktrees began."""
    drifts = open_drifts(reading.events)
    found = []
    for run in reading.history.runs.values():
        folder = keep_folder(repository.state, run.id)
        if folder_identity(folder) is not None:
            awaited = any(one.run == run.id for one in drifts)
            row = Leftover(path=str(folder), time=run.ended or run.started, size=own_bytes(folder), of=run.id)
            found.append(replace(row, used=is_running(run), awaited=awaited))
    for unit in named.units.values():
        folder = keep_folder(repository.state, NAMED, unit.id)
        if folder_identity(folder) is not None:
            name = f"{NAMED}/{unit.id}"
            row = Leftover(path=str(folder), time=unit.since, size=own_bytes(folder), of=name)
            awaited = any(name in one.units for one in drifts)
            found.append(replace(row, used=probe_named(unit).live, awaited=awaited))
    return found


def _leftover(path: Path) -> Leftover:
    try:
        time = os.lstat(path).st_mtime
    except OSError:
        time = 0.0
    return Leftover(path=str(path), time=time, size=disk_use(path))


def _inside(folder: Path) -> list[Path]:
    try:
        # What a link leads to is not ours to remove.
        return sorted(entry for entry in folder.iterdir() if not entry.is_symlink())
    except OSError:
        return []


def _temporaries(tops: Sequence[Path], runs: Mapping[str, RunState], named: RunState) -> list[Leftover]:
    """Find workers' folders for temporary files, and of views; those of runs nobody here knows are somebody else's."""
    found = []
    for top in tops:
        for path in _inside(top / ".tmp"):
            # A view's folder is called like the one for temporary files, with an ending.
            told = _TEMPORARY.fullmatch(path.name.removesuffix(BESIDE))
            # Slashes of a name are written as plus signs.
            if told and folder_identity(path) and told["name"].replace("+", "/") in named.units:
                used = probe_named(named.units[told["name"].replace("+", "/")]).live
                found.append(_used(path, used))
        for folder in _inside(top):
            run = runs.get(folder.name) if is_run_id(folder.name) else None
            for path in _inside(folder / ".tmp") if run is not None else ():
                unit = run.units.get(path.name.removesuffix(BESIDE)) if run else None
                if unit is not None and folder_identity(path):
                    found.append(_used(path, is_running(run) if run else True))
    return found


def _used(path: Path, used: bool) -> Leftover:
    return replace(_leftover(path), used=used)

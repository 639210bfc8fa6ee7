"""One look at everything: the units of some runs, their processes, what they share with the user."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gitprun.git.repo import Repository
from gitprun.ledger.events import RunState
from gitprun.observe.attribution import CheckoutWriters, PossibleAuthor
from gitprun.observe.commits import CommitCounts
from gitprun.observe.flags import Observation, UnitReading, changed_in_checkout
from gitprun.observe.own_changes import OwnChanges
from gitprun.observe.processes import Process, count_runaway, has_worker, live_identity, probe_processes
from gitprun.observe.snapshot import RepositorySnapshot
from gitprun.observe.snapshotter import Snapshotter
from gitprun.observe.touched import FolderWatcher
from gitprun.observe.unit import UnitReader, tip_of
from gitprun.system.clock import Clock

# Every so many looks a workspace is compared as a whole, whatever its source of changes says: notices may be lost on
# file systems that others write too, and ten ticks of a minute are what such a change may go unseen.
WHOLE_EVERY = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to look at.

    ``base`` and ``since`` are what commits are counted from; ``start`` is what was shared when the runs began,
    ``final`` what was when they ended (None: they have not); ``ours`` is what the ledger explains of the changes of
    refs, ``supervisors`` are the living supervisors of all runs.
    """

    runs: Sequence[RunState]
    base: str
    since: RepositorySnapshot | None = None
    start: RepositorySnapshot | None = None
    final: RepositorySnapshot | None = None
    ours: OwnChanges = field(default_factory=OwnChanges)
    supervisors: frozenset[int] = frozenset()


class Probe:
    """Looks again and again; takes no lock, writes nothing. ``attentive``: let the kernel tell what changed."""

    def __init__(
        self, repository: Repository, clock: Clock, *, root: Path | None = None, attentive: bool = True
    ) -> None:
        self.repository, self.clock = repository, clock
        self._watcher = _make_watcher() if attentive else None
        self._root = os.path.realpath(root) if root is not None else ""
        self._repository = Snapshotter(repository, root=root, watcher=self._watcher)
        self._commits = CommitCounts(repository.git)
        self._units = UnitReader(repository, clock, self._commits, self._watcher)
        self._writers = CheckoutWriters()
        self._number = 0

    def close(self) -> None:
        """Stop watching."""
        self._units.close()
        self._repository.close()
        if self._watcher is not None:
            self._watcher.close()

    def look_at_repository(self) -> RepositorySnapshot:
        """Look only at what units share with the user."""
        return self._repository.look_closely(self.clock.now(), whole=False)

    def look(self, wanted: Wanted) -> Observation:
        """Look at everything wanted."""
        # Whole looks take turns, so that no tick is slower than the others.
        now, turn = self.clock.now(), self._number % WHOLE_EVERY
        self._number += 1
        # Notices first: what changes while we look is told at the next tick, and never lost in between.
        if self._watcher is not None:
            self._watcher.pump()
        seen = self._repository.look_closely(now, whole=turn == 0)
        processes = probe_processes()
        units, workers, supervisors = self._look_at_units(wanted, seen, processes, turn)
        tips = [tip_of(unit, seen, self.repository.common) for run in wanted.runs for unit in run.units.values()]
        snapshot = Observation(
            time=now,
            base=wanted.base,
            units=units,
            codex=workers,
            wrap=len(supervisors | _coordinators(wanted.runs)),
            main_commits=self._commits.on_main(wanted.base, wanted.since, seen),
            all_commits=self._commits.everywhere(wanted.base, wanted.since, seen, tips),
            repository=wanted.final or seen,
            start=wanted.start,
            ours=wanted.ours,
            root=self._root,
            runaway=count_runaway(processes, wanted.supervisors),
        )
        return replace(snapshot, writers=self._name_writers(wanted, snapshot))

    def _look_at_units(
        self, wanted: Wanted, seen: RepositorySnapshot, processes: Mapping[int, Process] | None, turn: int
    ) -> tuple[tuple[UnitReading, ...], int, set[int]]:
        """Look at all units; their whole looks are spread over the ticks."""
        sights, workers, supervisors = [], 0, set()
        pairs = [(run, unit) for run in wanted.runs for unit in run.units.values()]
        self._units.forget((unit.run, unit.id) for _, unit in pairs)
        for number, (run, unit) in enumerate(pairs):
            # By identity, never by number alone: the number may be another program's by now.
            supervisor = live_identity(unit.process) if unit.state == "running" else None
            if supervisor is not None:
                supervisors.add(supervisor.pid)
            works = supervisor is not None and has_worker(supervisor.pid, processes)
            workers += works
            sights.append(self._units.look(run, unit, seen, works=works, whole=number % WHOLE_EVERY == turn))
        return tuple(sights), workers, supervisors

    def _name_writers(self, wanted: Wanted, snapshot: Observation) -> dict[str, str]:
        changed = changed_in_checkout(snapshot.start, snapshot.repository)
        checkout = snapshot.repository.checkout if snapshot.repository else None
        if not changed or checkout is None or checkout.dirty is None:
            return {}
        known = {(str(unit.run), str(unit.id)): unit for run in wanted.runs for unit in run.units.values()}
        authors = []
        for sight in snapshot.units:
            unit = known[sight.key]
            author = PossibleAuthor(
                name=sight.id,
                path=unit.path,
                worked_on=frozenset(unit.changed) | frozenset(sight.dirty or ()),
                began=sight.began,
                ended=sight.ended,
            )
            authors.append(author)
        stamps = {path: checkout.dirty[path].stamp for path in changed}
        return self._writers.find(Path(checkout.path), stamps, authors)


def _coordinators(runs: Sequence[RunState]) -> set[int]:
    """Find the living processes that see to runs which are not over, or to a single workspace somebody works in."""
    # A run that is over may have left its record, and its number may be another program's.
    records = [run.coordinator for run in runs if run.ended is None]
    records += [unit.coordinator for run in runs for unit in run.units.values() if unit.live]
    return {found.pid for record in records if (found := live_identity(record)) is not None}


def _make_watcher() -> FolderWatcher | None:
    """Make a watcher, where the system has one to give."""
    try:
        return FolderWatcher()
    except OSError:
        return None

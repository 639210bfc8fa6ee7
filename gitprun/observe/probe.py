"""One look at everything: the units of some runs, their processes, what they share with the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gitprun.git.repo import Repository
from gitprun.ledger.events import RunState
from gitprun.observe.blame import Blame, Suspect
from gitprun.observe.commits import CommitCounts
from gitprun.observe.flags import changed_in_checkout
from gitprun.observe.processes import Process, count_runaway, has_worker, living, probe_processes
from gitprun.observe.shared import SharedReader
from gitprun.observe.snapshot import Shared, Snapshot, UnitReading
from gitprun.observe.touched import Watcher
from gitprun.observe.unit import UnitReader, tip_of
from gitprun.system.clock import Clock

# Every so many looks a workspace is compared as a whole, whatever its source of changes says.
WHOLE_EVERY = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to look at.

    ``base`` and ``since`` are what commits are counted from; ``start`` is what was shared when the runs began,
    ``final`` what was when they ended (None: they have not); ``moves`` are the moves of refs the ledger explains,
    ``branches`` the refs units commit to, ``wardens`` the living wardens of all runs.
    """

    runs: Sequence[RunState]
    base: str
    since: Shared | None = None
    start: Shared | None = None
    final: Shared | None = None
    moves: frozenset[tuple[str, str]] = frozenset()
    branches: frozenset[str] = frozenset()
    wardens: frozenset[int] = frozenset()


class Probe:
    """Looks again and again; takes no lock, writes nothing. ``attentive``: let the kernel tell what changed."""

    def __init__(
        self, repository: Repository, clock: Clock, *, root: Path | None = None, attentive: bool = True
    ) -> None:
        self.repository, self.clock = repository, clock
        self._watcher = _make_watcher() if attentive else None
        self._shared = SharedReader(repository, root, self._watcher)
        self._commits = CommitCounts(repository.git)
        self._units = UnitReader(repository, clock, self._commits, self._watcher)
        self._blame = Blame()
        self._number = 0

    def close(self) -> None:
        """Stop watching."""
        self._units.close()
        self._shared.close()
        if self._watcher is not None:
            self._watcher.close()

    def shared(self) -> Shared:
        """Look only at what is shared."""
        return self._shared.look(self.clock.now())

    def look(self, wanted: Wanted) -> Snapshot:
        """Look at everything wanted."""
        now, turn = self.clock.now(), self._number % WHOLE_EVERY
        self._number += 1
        if self._watcher is not None:
            self._watcher.pump()
        seen = self._shared.look(now, whole=turn == 0)
        processes = probe_processes()
        units, workers, wardens = self._look_at_units(wanted, seen, processes, turn)
        tips = [tip_of(unit, seen.refs, self.repository.common) for run in wanted.runs for unit in run.units.values()]
        snapshot = Snapshot(
            time=now,
            base=wanted.base,
            units=units,
            codex=workers,
            wrap=len(wardens | _coordinators(wanted.runs)),
            main_commits=self._commits.on_main(wanted.base, wanted.since, seen),
            all_commits=self._commits.everywhere(wanted.base, wanted.since, seen, tips),
            shared=wanted.final or seen,
            start=wanted.start,
            moves=wanted.moves,
            branches=wanted.branches,
            runaway=count_runaway(processes, wanted.wardens),
        )
        return replace(snapshot, writers=self._name_writers(wanted, snapshot))

    def _look_at_units(
        self, wanted: Wanted, seen: Shared, processes: Mapping[int, Process] | None, turn: int
    ) -> tuple[tuple[UnitReading, ...], int, set[int]]:
        """Look at all units; their whole looks are spread over the ticks."""
        sights, workers, wardens = [], 0, set()
        pairs = [(run, unit) for run in wanted.runs for unit in run.units.values()]
        self._units.forget((unit.run, unit.id) for _, unit in pairs)
        for number, (run, unit) in enumerate(pairs):
            warden = living(unit.process) if unit.state == "running" else None
            if warden is not None:
                wardens.add(warden.pid)
            works = warden is not None and has_worker(warden.pid, processes)
            workers += works
            sights.append(self._units.look(run, unit, seen.refs, works=works, whole=number % WHOLE_EVERY == turn))
        return tuple(sights), workers, wardens

    def _name_writers(self, wanted: Wanted, snapshot: Snapshot) -> dict[str, str]:
        changed = changed_in_checkout(snapshot)
        checkout = snapshot.shared.checkout if snapshot.shared else None
        if not changed or checkout is None or checkout.dirty is None:
            return {}
        known = {(str(unit.run), str(unit.id)): unit for run in wanted.runs for unit in run.units.values()}
        units = []
        for sight in snapshot.units:
            unit = known[sight.key]
            units.append(Suspect(sight, Path(unit.path), frozenset(unit.changed) | frozenset(sight.dirty or ())))
        stamps = {path: checkout.dirty[path] for path in changed if path in checkout.dirty}
        return self._blame.find(Path(checkout.path), stamps, units)


def _coordinators(runs: Sequence[RunState]) -> set[int]:
    """Find the living processes that see to runs which are not over, or to a single workspace somebody works in."""
    records = [run.coordinator for run in runs if run.ended is None]
    records += [unit.coordinator for run in runs for unit in run.units.values() if unit.live]
    return {found.pid for record in records if (found := living(record)) is not None}


def _make_watcher() -> Watcher | None:
    """Make a watcher, where the system has one to give."""
    try:
        return Watcher()
    except OSError:
        return None

"""Tick after tick: which runs are followed, what they are compared with, when it is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from gitprun.git.repo import Repository
from gitprun.ledger.baseline import BASELINE as PINNED
from gitprun.ledger.events import Event, RunState, fold
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.lookup import find_run, probe_unit
from gitprun.ledger.outcome import succeeded
from gitprun.ledger.probe import probe_named
from gitprun.ledger.roster import NAMED, roster
from gitprun.ledger.unit_events import WorkspaceMade
from gitprun.model.errors import PrunError
from gitprun.observe.flags import FlagLimits, Observation, Tick, judge
from gitprun.observe.own_changes import OwnChanges, last_landings
from gitprun.observe.probe import Probe, Wanted
from gitprun.observe.processes import live_identity
from gitprun.observe.snapshot import BASELINE, FINAL, RepositorySnapshot, record_snapshot, recorded_snapshot
from gitprun.system.clock import Clock, SystemClock

Stamp = tuple[int, ...] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """What to follow: one run, or (None) all that are at work, else the last. ``keep`` drops none that ended."""

    run: str | None = None
    limits: FlagLimits = field(default_factory=FlagLimits)
    keep: bool = False
    attentive: bool = True


class _Scene:
    """What the ledger says, every unit with the state it really has."""

    def __init__(self, events: tuple[Event, ...]) -> None:
        self.events, told = events, fold(events)
        runs = {
            name: run.with_units({key: probe_unit(run, unit) for key, unit in run.units.items()})
            for name, run in told.runs.items()
        }
        self.history = replace(told, runs=runs)
        there = roster(events)
        self.named = there.with_units({key: probe_named(unit) for key, unit in there.units.items()})

    def supervisors(self) -> Iterator[int]:
        """Yield the living supervisors of all that are at work."""
        for run in (*self.history.runs.values(), self.named):
            for unit in run.units.values():
                if unit.live and (found := live_identity(unit.process)) is not None:
                    yield found.pid

    def branches(self) -> frozenset[str]:
        """Name the branches of all named workspaces there ever were: work is committed to them."""
        made = (event.payload for event in self.events if event.run == NAMED)
        return frozenset(f"refs/heads/{one.branch}" for one in made if isinstance(one, WorkspaceMade))


class Monitor:
    """Makes one tick after the other."""

    def __init__(self, repository: Repository, ledger: Ledger, watching: Watching, clock: Clock | None = None) -> None:
        self.repository, self.ledger, self.watching = repository, ledger, watching
        self.clock = clock or SystemClock()
        self.last: Tick | None = None
        self.runs: tuple[RunState, ...] = ()
        self._followed: list[str] = []
        self._judged: tuple[Stamp, bool] = ((), False)
        self._recorded: dict[str, RepositorySnapshot | None] = {}
        self._events: tuple[Stamp, tuple[Event, ...]] = ((), ())
        scene = _Scene(self._read())
        # A name nobody knows is told before anything is watched.
        if watching.run is not None:
            find_run(scene.history, watching.run)
        last = scene.history.last
        root = last.root if last else ""
        self._probe = Probe(repository, self.clock, root=Path(root) if root else None, attentive=watching.attentive)
        # What is shared as it was when nobody worked.
        self._session_start: RepositorySnapshot | None = None
        # A single look (--once) has no earlier one to compare with, and must not take twice as long for it.
        self._calm = self._probe.look_at_repository() if watching.attentive else None
        self.base, self._since = self._begin(self._choose(scene))

    def close(self) -> None:
        """Stop watching."""
        self._probe.close()

    def _read(self) -> tuple[Event, ...]:
        """Read the ledger, unless it says what it said."""
        stamp = self.ledger.stamp()
        if stamp != self._events[0]:
            # A line that is being written changes it once more, and is read then.
            self._events = (stamp, self.ledger.read().events)
        return self._events[1]

    def compare_with_start(self) -> None:
        """Take the start of the run for the look before the first: all that happened since is news."""
        self.last = Tick(Observation(time=0.0, base=self.base, repository=self._since), "", 0, ())

    def tick(self) -> Tick:
        """Look once and judge it by the look before."""
        scene = _Scene(self._read())
        self.runs = self._choose(scene)
        start, final = self._compared_with()
        wanted = Wanted(
            runs=self.runs,
            base=self.base,
            since=self._since,
            start=start,
            final=final,
            ours=OwnChanges(refs=scene.branches(), moves=last_landings(scene.events, start.time if start else 0.0)),
            supervisors=frozenset(scene.supervisors()),
        )
        self.last = judge(self.last, self._probe.look(wanted), self.watching.limits)
        if not any(map(_works, self.runs)):
            # The start of whatever begins next and has no record of its own.
            self._calm = self.last.now.repository
        return self.last

    def _begin(self, runs: tuple[RunState, ...]) -> tuple[str, RepositorySnapshot | None]:
        """Choose what commits are counted from, as long as this monitor lives."""
        # Never another base while this monitor lives: the count of commits would jump without a commit.
        first = next((run for run in runs if run.id != NAMED), None)
        if first is not None:
            return first.base, self._start_of(first)
        bases = [unit.base or "" for run in runs for unit in run.units.values()]
        pinned = self.repository.git.run("rev-parse", "--verify", "--quiet", PINNED, ok=(0, 1, 128)).text
        return pinned or next(filter(None, bases), "") or (self._calm or self._probe.look_at_repository()).head, None

    def _compared_with(self) -> tuple[RepositorySnapshot | None, RepositorySnapshot | None]:
        """Find what was shared when the work at hand began, and, where it is over, what was when it ended.

        A run that is over is judged by how it left things: what the user does afterwards is nobody's business.
        """
        runs = [run for run in self.runs if run.id != NAMED]
        at_work = [run for run in runs if _works(run)]
        if at_work:
            # Of several, the one that began first: nothing that happened since goes untold.
            return self._start_of(at_work[0]), None
        if any(run.id == NAMED and _works(run) for run in self.runs):
            # A user workspace writes no start down: it is how things were when nobody worked.
            self._session_start = self._calm
            return self._session_start, None
        if not runs:
            # What the last one did at its very end is still told.
            start, self._session_start = self._session_start, None
            return start, None
        return self._start_of(runs[0]), recorded_snapshot(self.repository.state, runs[0].id, FINAL)

    def is_over(self) -> bool:
        """Check whether no unit that is followed is at work any more; cheap while the ledger says nothing new."""
        stamp = self.ledger.stamp()
        if stamp != self._judged[0]:
            scene = _Scene(self._read())
            runs = {**scene.history.runs, NAMED: scene.named}
            self._judged = (stamp, not any(_works(runs[run.id]) for run in self.runs if run.id in runs))
        return self._judged[1]

    def all_well(self) -> bool:
        """Check whether every unit seen at the last tick ended well."""
        return all(succeeded(unit.state) or unit.state == "idle" for run in self.runs for unit in run.units.values())

    def _choose(self, scene: _Scene) -> tuple[RunState, ...]:
        """Choose the runs to look at, all named workspaces last; a run that has just ended is shown once more."""
        if self.watching.run is not None:
            return (find_run(scene.history, self.watching.run),)
        runs, named = scene.history.runs, (scene.named,) if scene.named.units else ()
        # One that ended at this very tick is shown with how it ended.
        working: list[str] = [run.id for run in runs.values() if _works(run)]
        shown = [name for name in runs if name in working or name in self._followed]
        if not shown and not any(map(_works, named)):
            shown = list(runs)[-1:]
        self._followed = shown if self.watching.keep else working or shown[-1:]
        return (*(runs[name] for name in shown), *named)

    def _start_of(self, run: RunState) -> RepositorySnapshot | None:
        """Read what was shared when a run began; for one that did not record it, that is now."""
        if run.id not in self._recorded:
            found = recorded_snapshot(self.repository.state, run.id, BASELINE)
            if found is None and _works(run):
                found = self._probe.look_at_repository()
                _record(self.repository, run.id, found)
            self._recorded[run.id] = found
        return self._recorded[run.id]


def is_at_work(ledger: Ledger) -> bool:
    """Check whether any unit of any run, or any named workspace, is at work."""
    scene = _Scene(ledger.read().events)
    return any(map(_works, (*scene.history.runs.values(), scene.named)))


def watch(monitor: Monitor, *, pause: Callable[[], bool], until_done: bool = False) -> Iterator[Tick]:
    """Yield tick after tick until ``pause`` says that it is enough, or (``until_done``) no unit is at work."""
    while True:
        tick = monitor.tick()
        yield tick
        if (until_done and not any(map(_works, monitor.runs))) or pause():
            return


def _works(run: RunState) -> bool:
    return any(unit.live for unit in run.units.values())


def _record(repository: Repository, run: str, found: RepositorySnapshot) -> None:
    try:
        record_snapshot(repository.state, run, BASELINE, found)
    except (OSError, PrunError):
        # Only the next monitor will miss it.
        return

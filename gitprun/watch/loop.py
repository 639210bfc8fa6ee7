"""Tick after tick: which runs are followed, what they are compared with, when it is over."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from gitprun.errors import PrunError
from gitprun.git.repo import Repository
from gitprun.runs.events import Event, History, RunState, fold
from gitprun.runs.ledger import Ledger
from gitprun.runs.lookup import find_run, probe_unit
from gitprun.runs.outcome import succeeded
from gitprun.system.clock import Clock, SystemClock
from gitprun.watch.commits import checked_out
from gitprun.watch.probe import Probe, Wanted
from gitprun.watch.processes import living
from gitprun.watch.rules import Limits, Tick, judge
from gitprun.watch.shared import BASELINE, FINAL, record_shared, recorded_shared
from gitprun.watch.snapshot import Shared, Snapshot


@dataclass(frozen=True, slots=True, kw_only=True)
class Watching:
    """What to follow: one run, or (None) all that are at work, else the last. ``keep`` drops none that ended."""

    run: str | None = None
    limits: Limits = field(default_factory=Limits)
    keep: bool = False
    attentive: bool = True


class Monitor:
    """Makes one tick after the other."""

    def __init__(self, repository: Repository, ledger: Ledger, watching: Watching, clock: Clock | None = None) -> None:
        self.repository, self.ledger, self.watching = repository, ledger, watching
        self.clock = clock or SystemClock()
        self.last: Tick | None = None
        self.runs: tuple[RunState, ...] = ()
        self._followed: list[str] = []
        self._judged: tuple[int, bool] = (-1, False)
        self._recorded: dict[str, Shared | None] = {}
        events = ledger.read().events
        history = fold(events)
        if watching.run is not None:
            find_run(history, watching.run)
        root = str(history.last.facts.get("root") or "") if history.last else ""
        self._probe = Probe(repository, self.clock, root=Path(root) if root else None, attentive=watching.attentive)
        first = self._choose(_really(history))
        if first:
            self.base, self._since = first[0].base, self._start_of(first[0])
        else:
            self._since = self._probe.shared()
            self.base = checked_out(self._since)

    def close(self) -> None:
        """Stop watching."""
        self._probe.close()

    def compare_with_start(self) -> None:
        """Take the start of the run for the look before the first: all that happened since is news."""
        self.last = Tick(Snapshot(time=0.0, base=self.base, shared=self._since), "", 0, ())

    def tick(self) -> Tick:
        """Look once and judge it by the look before."""
        events = self.ledger.read().events
        history = _really(fold(events))
        self.runs = self._choose(history)
        at_work = [run for run in self.runs if _works(run)]
        subject = (at_work or self.runs)[:1]
        start = self._start_of(subject[0]) if subject else None
        # A run that is over is judged by how it left things; what the user does afterwards is his own business.
        final = None if at_work or not subject else recorded_shared(self.repository.state, subject[0].id, FINAL)
        wanted = Wanted(
            runs=self.runs,
            base=self.base,
            since=self._since,
            start=start,
            final=final,
            moves=_moves(events),
            wardens=frozenset(_wardens(history)),
        )
        self.last = judge(self.last, self._probe.look(wanted), self.watching.limits)
        return self.last

    def is_over(self) -> bool:
        """Tell whether no unit that is followed is at work any more; cheap while the ledger says nothing new."""
        size = _size(self.ledger.path)
        if size != self._judged[0]:
            runs = _really(self.ledger.read().history).runs
            self._judged = (size, not any(_works(runs[run.id]) for run in self.runs if run.id in runs))
        return self._judged[1]

    def all_well(self) -> bool:
        """Tell whether every unit seen at the last tick ended well."""
        return all(succeeded(unit.state) for run in self.runs for unit in run.units.values())

    def _choose(self, history: History) -> tuple[RunState, ...]:
        """Choose the runs to look at; one that has just ended is shown once more."""
        if self.watching.run is not None:
            return (find_run(history, self.watching.run),)
        working: list[str] = [run.id for run in history.runs.values() if _works(run)]
        shown = [name for name in history.runs if name in working or name in self._followed]
        if not shown and history.last is not None:
            shown = [history.last.id]
        self._followed = shown if self.watching.keep else working or shown[-1:]
        return tuple(history.runs[name] for name in shown)

    def _start_of(self, run: RunState) -> Shared | None:
        """Read what was shared when a run began; for one that did not record it, that is now."""
        if run.id not in self._recorded:
            found = recorded_shared(self.repository.state, run.id, BASELINE)
            if found is None and _works(run):
                found = self._probe.shared()
                _record(self.repository, run.id, found)
            self._recorded[run.id] = found
        return self._recorded[run.id]


def watch(monitor: Monitor, *, pause: Callable[[], bool], until_done: bool = False) -> Iterator[Tick]:
    """Give tick after tick until ``pause`` says that it is enough, or (``until_done``) no unit is at work."""
    while True:
        tick = monitor.tick()
        yield tick
        if (until_done and not any(map(_works, monitor.runs))) or pause():
            return


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except OSError:
        return 0


def _works(run: RunState) -> bool:
    return any(unit.live for unit in run.units.values())


def _really(history: History) -> History:
    """Give every run with the states its units really have."""
    runs = {
        name: replace(run, units={key: probe_unit(run, unit) for key, unit in run.units.items()})
        for name, run in history.runs.items()
    }
    return replace(history, runs=runs)


def _wardens(history: History) -> Iterator[int]:
    for run in history.runs.values():
        for unit in run.units.values():
            if unit.live and (found := living(unit.facts.get("process"))) is not None:
                yield found.pid


def _moves(events: tuple[Event, ...]) -> frozenset[tuple[str, str]]:
    """Collect the places where landings put branches; one counts from the moment before it moves anything."""
    found = set()
    for event in events:
        for key in ("new", "commit"):
            if event.kind.startswith("landing.") and event.facts.get(key):
                found.add((str(event.facts.get("target", "")), str(event.facts[key])))
    return frozenset(found)


def _record(repository: Repository, run: str, found: Shared) -> None:
    try:
        record_shared(repository.state, run, BASELINE, found)
    except (OSError, PrunError):
        # Only the next monitor will miss it.
        return

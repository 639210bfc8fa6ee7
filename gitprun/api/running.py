"""Runs: started in the background or worked on here, resumed, followed, stopped, their checks asked again."""

from __future__ import annotations

import os
import queue
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gitprun.api.events import LedgerEvent
from gitprun.api.opened import Opened
from gitprun.api.outcomes import Stopped
from gitprun.api.plans import require_approved_plan
from gitprun.api.reading import as_event, read_run
from gitprun.api.stopping import Stop
from gitprun.api.unseen import warn_behind, warn_pruning, warn_units
from gitprun.api.values import RunStatus
from gitprun.ledger.ledger import Ledger
from gitprun.model.errors import OperationRefused, PrunError, UsageProblem
from gitprun.model.names import is_run_id
from gitprun.model.plan import Plan, Settings

if TYPE_CHECKING:
    from gitprun.ledger.events import Event, RunState
    from gitprun.runs.context import Coordinator, RunContext
    from gitprun.runs.dispatch import RunReport
    from gitprun.runs.resume import Occupied, Resumed
    from gitprun.runs.stopping import AtWork

# The ladder takes three times [run] grace (5 s); what the workers did is captured after that.
STOP_PATIENCE = 60.0


def hear_no_event(_event: LedgerEvent) -> None:
    """Let events go unheard."""


def hear_no_progress(_unit: str, _text: str) -> None:
    """Let what workers do go unheard."""


@dataclass(frozen=True, slots=True)
class RunListener:
    """Who hears of a run while it goes on; all are called from threads of the run, one event after the other.

    ``event`` hears what is written down, ``progress`` what a worker just did (unit, words), ``begun`` the run's id, how
    many units it works on, how many at a time and the commit they start from.
    """

    event: Callable[[LedgerEvent], None] = hear_no_event
    progress: Callable[[str, str], None] = hear_no_progress
    begun: Callable[[RunBegun], None] = field(default=lambda _: None)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBegun:
    """A run that begins, or is gone on with: ``over`` units are over, the checks of ``unchecked`` are asked again.

    ``files`` are those from which settings of executors were read again.
    """

    run: str
    units: int
    jobs: int
    base: str
    over: int = 0
    unchecked: int = 0
    files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOutcome:
    """How a run ended: the final state of every unit, in the order of the plan."""

    run: str
    states: Mapping[str, str]

    @property
    def good(self) -> bool:
        """Check whether every unit succeeded and its work is verified."""
        from gitprun.ledger.outcome import succeeded

        return all(map(succeeded, self.states.values()))


def run_plan(
    opened: Opened, plan: Plan, *, source: str = "", stop: Stop | None = None, listener: RunListener | None = None
) -> RunOutcome:
    """Run a plan to its end; raises PrunError before anything was made, also where it needs an approval."""
    from gitprun.runs.dispatch import run_plan as work

    heard = listener or RunListener()
    require_approved_plan(opened, plan)

    def announce(context: RunContext, jobs: int) -> None:
        heard.begun(RunBegun(run=context.run, units=len(plan.units), jobs=jobs, base=context.base))
        try:
            warn_behind(opened, plan)
            warn_pruning(opened)
            warn_units(opened, plan, context.base)
        except PrunError:
            # These are only words: a look at the checkout that does not succeed must not end a run.
            return

    return _outcome(work(opened.repository, plan, _coordinator(opened, heard, stop, announce), plan_source=source))


def _coordinator(
    opened: Opened, listener: RunListener, stop: Stop | None, announce: Callable[[RunContext, int], None]
) -> Coordinator:
    """Return what a run goes on with; its ledger is its own, so that two runs do not hear each other's events."""
    from gitprun.runs.context import Coordinator

    ledger = Ledger(opened.repository.state, opened.ledger.clock)
    ledger.listeners.append(lambda event: listener.event(as_event(event)))
    return Coordinator(
        ledger=ledger,
        stop=stop or Stop(),
        heard=lambda unit, progress: listener.progress(unit, f"{progress.kind}: {progress.text}"),
        announce=announce,
    )


def _outcome(report: RunReport) -> RunOutcome:
    return RunOutcome(run=report.run, states=report.states)


class BackgroundRun:
    """A run that goes on in the background of this process; it ends with the process, and can be gone on with then.

    ``events`` may be read by several at once, each sees all of them. An error that ended the run is raised by ``wait``.
    """

    def __init__(self, opened: Opened, plan: Plan, *, source: str = "") -> None:
        self._stop = Stop()
        self._heard: list[LedgerEvent] = []
        self._news = threading.Condition()
        self._over = False
        self._outcome: RunOutcome | None = None
        self._problem: BaseException | None = None
        self._opened, self._plan, self._source = opened, plan, source
        self._begun: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        # No daemon: a worker's work is captured when it ends, and the interpreter waits for that.
        self._thread = threading.Thread(target=self._work, name="prun-run")
        self._thread.start()
        self.run = self._begun.get() or ""
        if not self.run:
            # Nothing was made: whoever asked is told at once, not when it waits.
            self._thread.join()
            assert self._problem is not None
            raise self._problem

    def _work(self) -> None:
        listener = RunListener(event=self._hear, begun=lambda begun: self._begun.put(begun.run))
        try:
            self._outcome = run_plan(self._opened, self._plan, source=self._source, stop=self._stop, listener=listener)
        except BaseException as problem:
            self._problem = problem
        finally:
            with self._news:
                self._over = True
                self._news.notify_all()
            self._begun.put(None)

    def _hear(self, event: LedgerEvent) -> None:
        with self._news:
            self._heard.append(event)
            self._news.notify_all()

    def events(self) -> Iterator[LedgerEvent]:
        """Yield the events of the run from its first one on, as they come, until it has ended."""
        told = 0
        while True:
            with self._news:
                while len(self._heard) == told and not self._over:
                    self._news.wait()
                fresh, over = self._heard[told:], self._over
            yield from fresh
            told += len(fresh)
            if over and told == len(self._heard):
                return

    def wait(self, timeout: float | None = None) -> RunStatus:
        """Wait until the run has ended and return it; raises TimeoutError, and whatever ended it before its end."""
        self._thread.join(timeout)
        if self._thread.is_alive():
            raise TimeoutError(f"run {self.run} has not ended within {timeout} s")
        if self._problem is not None:
            raise self._problem
        return read_run(self._opened, self.run)

    def stop(self) -> None:
        """Ask the workers to end, and return at once; what they did is captured. Asked again it kills them."""
        self._stop.set()

    @property
    def over(self) -> bool:
        """Check whether the run has ended."""
        return self._over


@dataclass(frozen=True, slots=True, kw_only=True)
class ResumeOptions:
    """How a run is gone on with: ``jobs`` at a time; ``retry`` units again, ``retry_empty`` those without changes too.

    ``watch``: where another process works on it, its progress is followed until it ends.
    """

    jobs: int | None = None
    retry: bool = True
    retry_empty: bool = False
    watch: bool = True


class Onlooker:
    """Follows one run that another process works on; ``past`` are its events so far, ``pid`` who works on it now."""

    def __init__(self, opened: Opened, busy: Occupied) -> None:
        from gitprun.ledger.settings import recall
        from gitprun.runs.follow import Follower

        self.run, self.coordinator = str(busy.run.id), busy.coordinator
        self.units = tuple(unit.id for unit in recall(opened.repository.state, busy.run).units)
        self._follower = Follower(opened.ledger, busy.run.id)
        self.past = [*map(as_event, self._follower.past)]

    @property
    def pid(self) -> int:
        """Return the process that works on it now."""
        return self.coordinator.pid

    def follow(self, stop: Stop, heard: Callable[[LedgerEvent], None]) -> bool:
        """Wait until the run has ended, its coordinator is gone or ``stop`` is set; return whether it has ended."""

        def hear(event: Event) -> None:
            # Kept, so that whoever watches on after a change of hands knows all there is.
            self.past.append(as_event(event))
            heard(self.past[-1])

        return self._follower.follow(self.coordinator, stop, hear) is not None


# Watches until the run ends or its coordinator is gone; returns whether it ended.
Watching = Callable[[Onlooker], bool]


def take_over(opened: Opened, name: str | None, options: ResumeOptions, watching: Watching | None = None) -> Takeover:
    """Make this process the coordinator of a run (the last one); where another one is, follow it with ``watching``.

    Raises Occupied where another process works on it and nobody wants to watch.
    """
    from gitprun.api.settings import find_moved
    from gitprun.runs.resume import Occupied, Over
    from gitprun.runs.resume import take_over as take

    find_moved(opened)
    said = Settings(jobs=options.jobs, retries=None if options.retry else 0)
    onlooker: Onlooker | None = None
    while True:
        try:
            resumed = take(
                opened.repository,
                opened.ledger,
                name,
                said=said,
                retry_empty=options.retry_empty,
                unless_over=onlooker is not None,
            )
            return Takeover(opened, resumed=resumed)
        except Over:
            return Takeover(opened, ended=opened.history().runs[str(name)])
        except Occupied as problem:
            if watching is None or not options.watch:
                raise
            if onlooker is None:
                name, onlooker = problem.run.id, Onlooker(opened, problem)
            onlooker.coordinator = problem.coordinator
        if watching(onlooker):
            return Takeover(opened, ended=opened.history().runs[str(name)])


class Takeover:
    """A run that this process coordinates now, or one that has ended while it was watched."""

    def __init__(self, opened: Opened, *, resumed: Resumed | None = None, ended: RunState | None = None) -> None:
        self._opened, self._resumed, self._ended = opened, resumed, ended
        known = resumed.run if resumed is not None else ended
        assert known is not None
        self.run = str(known.id)

    @property
    def outcome(self) -> RunOutcome | None:
        """Return how the run ended, where another process brought it to its end."""
        if self._ended is None:
            return None
        return RunOutcome(run=self.run, states={unit.id: unit.state for unit in self._ended.units.values()})

    @property
    def units(self) -> tuple[str, ...]:
        """Return the units that are worked on, or whose checks are asked again."""
        if self._resumed is None:
            return ()
        return (*(unit.id for unit in self._resumed.units), *(item.unit.id for item in self._resumed.unchecked))

    def work(self, *, stop: Stop | None = None, listener: RunListener | None = None) -> RunOutcome:
        """Work on what is missing, to the end."""
        from gitprun.runs.resume import resume_run

        heard, resumed = listener or RunListener(), self._resumed
        assert resumed is not None

        def announce(context: RunContext, jobs: int) -> None:
            heard.begun(
                RunBegun(
                    run=context.run,
                    units=len(resumed.items),
                    jobs=jobs,
                    base=context.base,
                    over=len(resumed.states) - len(resumed.items),
                    unchecked=len(resumed.unchecked),
                    files=resumed.files,
                )
            )

        coordinator = _coordinator(self._opened, heard, stop, announce)
        return _outcome(resume_run(self._opened.repository, resumed, coordinator))


def ask_to_stop(
    opened: Opened, name: str | None, *, kill: bool = False, wait: Stop | None = None, seconds: float = STOP_PATIENCE
) -> Stopped:
    """Stop the run at work, the one named, or one unit, from whatever process; what workers did is captured.

    Waits for the end, so many seconds or until ``wait`` is set. Raises OperationRefused where nothing is running.
    """
    from gitprun.runs.stopping import ask_to_stop as ask
    from gitprun.runs.stopping import await_stop, require_not_ours, states_of

    work = _at_work(opened, name)
    require_not_ours(work, os.environ)
    ask(opened.ledger, work, kill=kill)
    ended = await_stop(opened.ledger, work, wait or Stop(), seconds)
    return Stopped(
        run=work.run,
        unit=work.unit or None,
        coordinated=work.coordinator is not None,
        kill=kill,
        ended=ended,
        states=states_of(opened.ledger, work),
    )


def _at_work(opened: Opened, name: str | None) -> AtWork:
    """Find what is meant and at work; raises OperationRefused where nothing is, UsageProblem where several are."""
    from gitprun.ledger.lookup import find_run
    from gitprun.ledger.roster import roster
    from gitprun.registry.find import find_workspace
    from gitprun.runs.stopping import find_at_work, find_run_at_work, find_unit_at_work

    reading = opened.read()
    if name is None:
        found = find_at_work(opened.ledger, reading)
        if not found:
            raise OperationRefused("nothing is running", "git prun status shows what there is")
        if len(found) > 1:
            names = ", ".join(one.name for one in found)
            raise UsageProblem(f"{len(found)} are running: {names}", f"git prun stop {found[0].name}")
        return found[0]
    if is_run_id(name):
        run = find_run(reading.history, name)
        work, what = find_run_at_work(opened.ledger, run), f"run {name}"
    else:
        run, unit = find_workspace(reading.history, roster(reading.events), name)
        work, what = find_unit_at_work(opened.ledger, run, unit), f"{run.id}/{unit.id}"
    if work is None:
        again = f"git prun show {what}" if "/" in what else f"git prun status {name}"
        raise OperationRefused(f"{what} is not running", again)
    return work

"""Units worked on side by side: so many at once, so many of each executor, none before its time."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from gitprun.ledger.stop_requests import StopRequests
from gitprun.ledger.unit_events import UnitWaiting
from gitprun.runs.attempt import Retry
from gitprun.runs.context import RunContext, WorkItem
from gitprun.runs.run_policy import leave_unit, run_unit


class Pool:
    """Works on items, at most ``jobs`` at once beside those whose worker runs already.

    Only the thread that calls ``run`` touches what is in here; the others come back with futures.
    """

    def __init__(self, context: RunContext, jobs: int) -> None:
        self.context, self.jobs = context, jobs
        self.slots = {name: row.jobs or jobs for name, row in context.settings.executors.items()}
        # Until when each executor is left in peace: what its service told one worker holds for all.
        self.peace: dict[str, float] = {}
        self.told: dict[str, float] = {}
        self.pending: list[WorkItem] = []
        self.running: dict[Future[str | Retry], WorkItem] = {}
        # What the service of an executor last said no with.
        self.failure: dict[str, str] = {}
        self.states: dict[str, str] = {}
        self.wake = threading.Event()
        self.contexts: dict[str, RunContext] = {}

    def run(self, items: Sequence[WorkItem]) -> dict[str, str]:
        """Work on all items, in their order as far as they may; returns their final states."""
        self.pending = list(items)
        attached = sum(item.attach for item in items)
        # Before the first worker starts: a request that comes while they start is heard.
        requests = StopRequests(self.context.ledger, self.context.run, [item.unit for item in items])
        self.contexts = {name: replace(self.context, stop=stop) for name, stop in requests.stops.items()}
        with (
            # Each waiting worker needs a thread; those that run already come on top.
            ThreadPoolExecutor(max_workers=self.jobs + attached, thread_name_prefix="prun-unit") as workers,
            requests.followed(self.context.stop, self.wake.set),
        ):
            self._lead(workers)
        return {item.unit.id: self.states[item.unit.id] for item in items}

    def _lead(self, workers: ThreadPoolExecutor) -> None:
        while True:
            # Before the look: what ends from here on wakes the wait below at once.
            self.wake.clear()
            for future in [future for future in self.running if future.done()]:
                self._take_in(self.running.pop(future), future.result())
            for item in [one for one in self.pending if not one.attach and self._context(one).stop.is_set()]:
                self.pending.remove(item)
                why = "stopped while waiting to try again" if item.tried else ""
                self.states[item.unit.id] = leave_unit(self.context, item, why)
            until = self._start(workers)
            if not self.pending and not self.running:
                return
            self.context.clock.sleep_until(until, self.wake)

    def _context(self, item: WorkItem) -> RunContext:
        """Return the context of one unit: it may be asked to stop alone."""
        return self.contexts[item.unit.id]

    def _take_in(self, item: WorkItem, answer: str | Retry) -> None:
        """Take in how an attempt went."""
        unit = item.unit
        if not isinstance(answer, Retry):
            self.states[unit.id] = answer
            return
        # The others of this executor would hear the same; each try costs them, and the service, more time.
        if answer.shared:
            self.peace[unit.executor] = max(self.peace.get(unit.executor, 0.0), answer.until)
            self.failure[unit.executor] = answer.kind
        known = self.context.ledger.read().history.runs[self.context.run].units[unit.id]
        tried = item.tried + 1 if answer.counts else item.tried
        self.pending.append(replace(item, known=known, tried=tried, until=answer.until, attach=False))

    def _start(self, workers: ThreadPoolExecutor) -> float | None:
        """Start what may start now; returns the next time at which more may (None: when something else ends)."""
        now, times = self.context.clock.now(), []
        # A worker that somebody else started takes no slot: it runs already, whatever was asked for now.
        busy = Counter(item.unit.executor for item in self.running.values() if not item.attach)
        for item in list(self.pending):
            name = item.unit.executor
            peace = self.peace.get(name, 0.0)
            time = 0.0 if item.attach else max(item.until, peace)
            if time > now:
                self._tell(item, peace)
                times.append(time)
                continue
            if not item.attach and (busy.total() >= self.jobs or busy[name] >= self.slots.get(name, self.jobs)):
                continue
            self.pending.remove(item)
            busy[name] += not item.attach
            future = workers.submit(run_unit, self._context(item), item)
            self.running[future] = item
            future.add_done_callback(lambda _: self.wake.set())
        # None: nothing waits for a time, so only an end or a request wakes.
        return min(times, default=None)

    def _tell(self, item: WorkItem, peace: float) -> None:
        """Write down that a unit waits for its executor's service, once for each time."""
        unit = item.unit
        if peace <= max(item.until, self.told.get(unit.id, 0.0)):
            return
        self.told[unit.id] = peace
        reason = f"the service of {unit.executor} is at its limit"
        self.context.note(unit, UnitWaiting(until=peace, failure=self.failure[unit.executor], reason=reason))

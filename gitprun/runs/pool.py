"""Units worked on side by side: so many at once, so many of each executor, none before its time."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace

from gitprun.ledger.stop_requests import StopRequests
from gitprun.runs.attempt import Retry
from gitprun.runs.context import RunContext, WorkItem
from gitprun.runs.run_policy import leave_unit, run_unit


class Pool:
    """Works on pieces, at most ``jobs`` at once beside those whose worker runs already.

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
        self.states: dict[str, str] = {}
        self.wake = threading.Event()
        self.contexts: dict[str, RunContext] = {}

    def run(self, pieces: Sequence[WorkItem]) -> dict[str, str]:
        """Work on all pieces, in their order as far as they may; give their final states."""
        self.pending = list(pieces)
        attached = sum(piece.attach for piece in pieces)
        requests = StopRequests(self.context.ledger, self.context.run, [piece.unit for piece in pieces])
        self.contexts = {name: replace(self.context, stop=stop) for name, stop in requests.stops.items()}
        with (
            ThreadPoolExecutor(max_workers=self.jobs + attached, thread_name_prefix="prun-unit") as workers,
            requests.followed(self.context.stop, self.wake.set),
        ):
            self._lead(workers)
        return {piece.unit.id: self.states[piece.unit.id] for piece in pieces}

    def _lead(self, workers: ThreadPoolExecutor) -> None:
        while True:
            self.wake.clear()
            for future in [future for future in self.running if future.done()]:
                self._take_in(self.running.pop(future), future.result())
            for piece in [one for one in self.pending if not one.attach and self._context(one).stop.is_set()]:
                self.pending.remove(piece)
                why = "stopped while waiting to try again" if piece.tried else ""
                self.states[piece.unit.id] = leave_unit(self.context, piece, why)
            until = self._start(workers)
            if not self.pending and not self.running:
                return
            self.context.clock.sleep_until(until, self.wake)

    def _context(self, piece: WorkItem) -> RunContext:
        """Give the context of one unit: it may be asked to stop alone."""
        return self.contexts[piece.unit.id]

    def _take_in(self, piece: WorkItem, answer: str | Retry) -> None:
        """Take in how an attempt went."""
        unit = piece.unit
        if not isinstance(answer, Retry):
            self.states[unit.id] = answer
            return
        if answer.shared:
            self.peace[unit.executor] = max(self.peace.get(unit.executor, 0.0), answer.until)
        known = self.context.ledger.read().history.runs[self.context.run].units[unit.id]
        tried = piece.tried + 1 if answer.counts else piece.tried
        self.pending.append(replace(piece, known=known, tried=tried, until=answer.until, attach=False))

    def _start(self, workers: ThreadPoolExecutor) -> float | None:
        """Start what may start now; give the next time at which more may (None: when something else ends)."""
        now, times = self.context.clock.now(), []
        busy = Counter(piece.unit.executor for piece in self.running.values() if not piece.attach)
        for piece in list(self.pending):
            name = piece.unit.executor
            peace = self.peace.get(name, 0.0)
            time = 0.0 if piece.attach else max(piece.until, peace)
            if time > now:
                self._tell(piece, peace)
                times.append(time)
                continue
            if not piece.attach and (busy.total() >= self.jobs or busy[name] >= self.slots.get(name, self.jobs)):
                continue
            self.pending.remove(piece)
            busy[name] += not piece.attach
            future = workers.submit(run_unit, self._context(piece), piece)
            self.running[future] = piece
            future.add_done_callback(lambda _: self.wake.set())
        return min(times, default=None)

    def _tell(self, piece: WorkItem, peace: float) -> None:
        """Write down that a unit waits for its executor's service, once for each time."""
        unit = piece.unit
        if peace <= max(piece.until, self.told.get(unit.id, 0.0)):
            return
        self.told[unit.id] = peace
        self.context.note(unit, "waiting", until=peace, reason=f"the service of {unit.executor} is at its limit")

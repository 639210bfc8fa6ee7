"""Following a run that another process works on, by what it writes down: until it ends, or that process does."""

from __future__ import annotations

import time
from collections.abc import Callable

from gitprun.ledger.events import Event, RunState
from gitprun.ledger.ledger import Ledger
from gitprun.supervisor.process import POLL, ProcessIdentity, Stop, await_end, is_gone


class Follower:
    """Reads one run's events as they come, each once; ``past`` are those that were there before it came."""

    def __init__(self, ledger: Ledger, run: str) -> None:
        self.ledger, self.run = ledger, run
        self._stamp: tuple[int, ...] | None = ()
        self._ended: RunState | None = None
        self._told = 0
        self.past = self._news()

    def follow(self, who: ProcessIdentity, stop: Stop, heard: Callable[[Event], None]) -> RunState | None:
        """Wait until the run has ended and give it; None when its coordinator is provably gone, or on a stop."""
        while True:
            # Asked before the ledger is read: its last words may be that the run has ended.
            gone = is_gone(who)
            for event in self._news():
                heard(event)
            if self._ended is not None or gone or stop.is_set():
                return self._ended
            # Where the kernel does not tell of ends the time has to be waited for.
            if not await_end(who, POLL):
                time.sleep(POLL)

    def _news(self) -> tuple[Event, ...]:
        """Return the events that came since the last time, if any did."""
        stamp = self.ledger.stamp()
        if stamp is not None and stamp == self._stamp:
            return ()
        self._stamp = stamp
        reading = self.ledger.read()
        own = tuple(event for event in reading.events if event.run == self.run)
        run = reading.history.runs.get(self.run)
        self._ended = run if run is not None and run.ended is not None else None
        # Its own events only grow, also when other parts of the ledger are compacted.
        news, self._told = own[self._told :], len(own)
        return news

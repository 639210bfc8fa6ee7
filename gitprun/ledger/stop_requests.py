"""Requests of ``git prun stop`` as the coordinator of a run hears them: from the ledger, for one unit each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from gitprun.ledger.ledger import Ledger
from gitprun.ledger.unit_events import UnitStopAsked
from gitprun.model.errors import PrunError
from gitprun.model.units import Unit
from gitprun.system.stop import Stop

# Somebody waits for it at another terminal; while the ledger says nothing new a look costs one stat.
POLL = 0.25


class StopRequests:
    """Follows the ledger from a thread of its own; each unit has a stop, which the run's own stop sets too."""

    def __init__(self, ledger: Ledger, run: str, units: Sequence[Unit]) -> None:
        self.ledger, self.run = ledger, run
        self.stops: dict[str, Stop] = {unit.id: Stop() for unit in units}
        # What was asked before is over: a run that is resumed would else stop at once.
        self._seen = len(ledger.read().events)
        self._over = threading.Event()

    @contextmanager
    def followed(self, stop: Stop, wake: Callable[[], None]) -> Iterator[None]:
        """Hear requests while the block runs, of the whole run by ``stop``; ``wake`` is called after each."""

        def all_stop() -> None:
            for one in self.stops.values():
                one.set()
            wake()

        thread = threading.Thread(target=self._follow, args=(wake,), name="prun-stop-requests", daemon=True)
        with stop.heard_by(all_stop):
            thread.start()
            try:
                yield
            finally:
                self._over.set()
                thread.join()

    def _follow(self, wake: Callable[[], None]) -> None:
        stamp = None
        while not self._over.wait(POLL):
            now = self.ledger.stamp()
            if now == stamp:
                continue
            try:
                heard = self._hear()
            except PrunError:
                # Whoever writes to it next says that it cannot be read.
                continue
            # Only once it was read, so that a look that failed is taken again.
            stamp = now
            if heard:
                wake()

    def _hear(self) -> bool:
        """Set the stops of the units that somebody asked to stop since the last look."""
        events = self.ledger.read().events
        # A compacted ledger is shorter: what is old in there was heard before.
        news, self._seen = events[self._seen :], len(events)
        mine = [event for event in news if event.run == self.run and event.unit in self.stops]
        asked = [event for event in mine if isinstance(event.payload, UnitStopAsked)]
        for event in asked:
            self.stops[event.unit].set()
        return bool(asked)

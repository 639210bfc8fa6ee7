"""A request to stop: asked for once, heard by everything that waits; asked again it means without patience."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Stop(threading.Event):
    """A request to stop; ``presses`` counts how often it was asked for.

    Never set in a signal handler: what the handler interrupted may hold these very locks.
    """

    def __init__(self) -> None:
        super().__init__()
        self.presses = 0
        self._listeners: dict[int, Callable[[], None]] = {}
        self._guard = threading.Lock()

    @property
    def urgent(self) -> bool:
        """Check whether the stop was asked for more than once."""
        return self.presses > 1

    def set(self) -> None:
        """Ask everything to stop; calling it again asks again."""
        with self._guard:
            self.presses += 1
            super().set()
            listeners = list(self._listeners.values())
        # Outside of the guard, which a listener that ends its own block has to take.
        for listener in listeners:
            listener()

    @contextmanager
    def heard_by(self, listener: Callable[[], None]) -> Iterator[None]:
        """Call ``listener`` at each request while the block runs, and once at its start if there was one before."""
        key = id(listener)
        with self._guard:
            # Under the guard: a request is either before this or reaches the listener by ``set``, never both.
            self._listeners[key] = listener
            asked = self.is_set()
        try:
            if asked:
                listener()
            yield
        finally:
            with self._guard:
                self._listeners.pop(key, None)


_current: Stop | None = None


def current_stop() -> Stop | None:
    """Return the stop that holds for the whole process now, in whichever thread."""
    return _current


@contextmanager
def stops_everything(stop: Stop) -> Iterator[None]:
    """Make ``stop`` hold for the whole process while the block runs."""
    global _current
    before, _current = _current, stop
    try:
        yield
    finally:
        _current = before

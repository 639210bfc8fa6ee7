"""Is the time up: asked by code that must not be broken off, answered by whoever limits it (see system/limit)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(slots=True)
class Budget:
    """The limit on what runs now: ``is_over`` checks it, ``end`` raises where it is reached, unless it is ``held``."""

    is_over: Callable[[], bool]
    end: Callable[[], None]
    held: int = 0


# Without a limit, time is never up.
BUDGET = Budget(lambda: False, lambda: None)


@contextmanager
def unbroken() -> Iterator[Budget]:
    """Hold the limit back until the block is over, which asks ``is_over`` itself and then ends soon, in any way.

    For a call into C that calls back: what is raised in there is lost, or comes out as something else.
    """
    BUDGET.held += 1
    try:
        yield BUDGET
    finally:
        BUDGET.held -= 1
        # Time may have run out while it was held back.
        BUDGET.end()

"""How long a git program may take, and what a stop means to it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

from gitprun.model.errors import GitStopped, GitTimeout
from gitprun.system.stop import Stop, current_stop

# Whatever writes or reads whole trees: generous for checkouts of large repositories on slow disks. Callers that know
# better say so.
DEFAULT_TIMEOUT = 600.0
# Questions about refs, settings and names take milliseconds; the slowest of them reads every ref from a cold disk.
QUESTION_TIMEOUT = 60.0
# A merge in memory takes a second or two, but the user's merge drivers are programs: some ask a package manager.
MERGE_TIMEOUT = 120.0
# What is started after a stop only tidies up.
TIDY_TIMEOUT = 10.0
# What keeps somebody's work goes on after a stop; asked again, it has this long: enough to index a large tree.
KEEP_TIMEOUT = 60.0
# A stop is noticed within this time, and 4 looks a second cost nothing.
POLL = 0.25

_QUESTIONS = (
    "check-ignore",
    "config",
    "for-each-ref",
    "merge-base",
    "rev-parse",
    "show-ref",
    "symbolic-ref",
    "var",
    "version",
    "worktree list",
)
LIMITS = dict.fromkeys(_QUESTIONS, QUESTION_TIMEOUT) | {"merge-file": MERGE_TIMEOUT, "merge-tree": MERGE_TIMEOUT}

_keeping: ContextVar[bool] = ContextVar("keeping", default=False)


@contextmanager
def keeping_work() -> Iterator[None]:
    """Make the git programs of the block outlive a stop: they save somebody's work, or put something back."""
    token = _keeping.set(True)
    try:
        yield
    finally:
        _keeping.reset(token)


def limit_of(words: Sequence[str]) -> float:
    """Return how many seconds ``git WORDS`` may take where its caller does not say."""
    return LIMITS.get(" ".join(words[:2]), LIMITS.get(words[0] if words else "", DEFAULT_TIMEOUT))


@dataclass(frozen=True, slots=True)
class Heard:
    """What had been heard of a stop at some moment: which one held, and how often it had been asked for."""

    stop: Stop | None
    presses: int

    @classmethod
    def now(cls) -> Heard:
        """Return what is heard at this moment."""
        stop = current_stop()
        return cls(stop, stop.presses if stop else 0)


class GitWait:
    """One wait for a git program: how long it may still take, and whether a stop ends it.

    ``began`` is what had been heard when the program started: a stop between that and the wait ends it, too.
    """

    def __init__(self, shown: tuple[str, ...], timeout: float | None, began: Heard | None = None) -> None:
        self.shown, self.seconds = shown, limit_of(shown) if timeout is None else timeout
        heard = Heard.now()
        if began is not None and began.stop is heard.stop:
            heard = began
        self._stop, self._heard, self._keeps = heard.stop, heard.presses, _keeping.get()
        if self._heard and not self._keeps:
            self.seconds = min(self.seconds, TIDY_TIMEOUT)
        self._until = time.monotonic() + self.seconds

    @property
    def slice(self) -> float:
        """Return how many seconds to wait before ``require_time`` is asked again."""
        return max(0.0, min(POLL, self._until - time.monotonic()))

    @property
    def urgent(self) -> bool:
        """Check whether nobody waits for good manners any more."""
        return self._stop is not None and self._stop.urgent

    def require_time(self) -> None:
        """Raise GitTimeout where the time is over, GitStopped where a stop was asked for since the wait began."""
        presses, now = self._stop.presses if self._stop else 0, time.monotonic()
        if presses > self._heard:
            if not self._keeps:
                raise GitStopped(self.shown, self.seconds)
            self._heard = presses
            if presses > 1:
                self._until = min(self._until, now + KEEP_TIMEOUT)
        if now >= self._until:
            raise GitTimeout(self.shown, self.seconds)

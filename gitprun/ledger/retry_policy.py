"""When a failed worker is tried again: rules over why it failed and what its service said about later."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from gitprun.executors.base import Ending
from gitprun.executors.dates import read_date
from gitprun.model.plan import Settings
from gitprun.model.units import Mode

# An outage that outlives two waits is one that somebody has to hear of.
DEFAULT_RETRIES = 2
# What a service takes to cool off that does not say so, as measured by those who ran many workers at once.
DEFAULT_WAIT = 13 * 60.0
# A usage limit may hold for days: nobody wants a terminal to wait for that.
DEFAULT_LONGEST = 3600.0
# A dropped connection is back sooner than a service that has had enough.
NETWORK_WAIT = 60.0

# What one worker hears of these holds for every other of its executor too.
SHARED_KINDS = frozenset({"503", "429", "usage-limit", "quota", "capacity", "network"})
# Programs of the user's own decide for themselves what their exit code means.
RETRIED_EXECUTORS = frozenset({"codex", "claude"})


@dataclass(frozen=True, slots=True, kw_only=True)
class RetryPolicy:
    """How often and for how long; ``wait`` and ``longest`` in seconds."""

    retries: int = DEFAULT_RETRIES
    wait: float = DEFAULT_WAIT
    longest: float = DEFAULT_LONGEST


def read_retry_policy(settings: Settings) -> RetryPolicy:
    """Read the retry policy from the settings."""
    return RetryPolicy(
        retries=DEFAULT_RETRIES if settings.retries is None else settings.retries,
        wait=settings.retry_wait or DEFAULT_WAIT,
        longest=settings.retry_wait_max or DEFAULT_LONGEST,
    )


@dataclass(frozen=True, slots=True)
class NextTry:
    """Whether a worker is tried again: ``wait`` in seconds (None: it is not), and ``why`` it is not."""

    wait: float | None
    why: str = ""


def kind_of_failure(
    executor: str, mode: Mode, worker: str | None, ending: Ending, *, changed: bool, result: bool
) -> str:
    """Name why a worker has nothing to show; empty where it has.

    ``worker`` is how it was judged alone (None: well), ``changed`` whether it changed anything, ``result`` whether
    it wrote a result of its own. Who ends well with neither has bailed out.
    """
    if worker is not None:
        return ending.kind or ("failed" if worker in ("failed", "rate-limited") else "")
    bailed = executor in RETRIED_EXECUTORS and not result and (mode == "read" or not changed)
    return "bail" if bailed else ""


def judge_next_try(
    patience: RetryPolicy, executor: str, kind: str, ending: Ending, tried: int, now: datetime
) -> NextTry:
    """Check whether and when to try again, ``tried`` times having failed; ``now`` is an aware local time."""
    if executor not in RETRIED_EXECUTORS or kind not in SHARED_KINDS | {"bail"}:
        return NextTry(None)
    if tried > patience.retries:
        return NextTry(None, f"tried {tried} times" if tried > 1 else "")
    wait = _wait_for(patience, kind, ending, now)
    if wait is None:
        return NextTry(None, "not tried again: a quota does not come back by waiting")
    if wait > patience.longest:
        until = datetime.fromtimestamp(now.timestamp() + wait, now.tzinfo)
        return NextTry(None, f"not waited for until {until:%Y-%m-%d %H:%M}")
    return NextTry(wait)


def _wait_for(patience: RetryPolicy, kind: str, ending: Ending, now: datetime) -> float | None:
    if kind == "bail":
        # Nothing outside has to change before one that gave up can try again.
        return 0.0
    # The service's own word comes first: seconds, then a time of day, then what is known by experience.
    if ending.retry_after is not None:
        return max(0.0, ending.retry_after)
    if ending.retry_at and (at := read_date(ending.retry_at, now)) is not None:
        return max(0.0, at.timestamp() - now.timestamp())
    if kind == "network":
        return min(NETWORK_WAIT, patience.wait)
    return None if kind == "quota" else patience.wait

"""What every kind of worker shares: where it works, how it is started, how it says what it does."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from gitprun.executors.limits import FailureKind, ServiceLimit, failure_kind
from gitprun.executors.lines import one_line
from gitprun.model.units import ExecutorSettings, Exit, Unit

ProgressKind = Literal["started", "said", "thinking", "ran", "edited", "waiting", "error", "ended"]
EndingState = Literal["done", "failed", "rate-limited", "unknown"]


@dataclass(frozen=True, slots=True)
class WorkerPaths:
    """Where a worker works, all paths absolute.

    ``cwd`` is its workspace, ``result`` the file it is told to write, ``last_message`` the file a
    program may leave its final message in, ``repository`` the user's own repository, ``temporary`` a folder for
    temporary files of this worker alone (empty: none was made), ``guard`` a command that refuses what a worker must
    not run (empty: there is none).
    """

    cwd: str
    result: str
    last_message: str
    repository: str
    temporary: str = ""
    guard: str = ""


@dataclass(frozen=True, slots=True)
class Launch:
    """One program to start: ``env`` is added to the environment, ``stdin`` is written, then closed.

    ``program`` is what must be found on PATH.
    """

    argv: tuple[str, ...]
    env: tuple[tuple[str, str], ...]
    stdin: bytes
    program: str


@dataclass(frozen=True, slots=True)
class Progress:
    """One thing a worker did; ``text`` is one line of at most 200 characters, no control among them."""

    kind: ProgressKind
    text: str


@dataclass(frozen=True, slots=True)
class Ending:
    """How the work ended, told from the whole output and not from the exit code alone.

    ``reason`` is one line. ``thread`` names the conversation for a resume. ``retry_after`` is in
    seconds, set only where the service stated a length of time, ``retry_at`` the words in which it stated a
    time. ``message`` is the last thing the worker said, word for word; only with ``done`` is it known to be
    complete. ``kind`` says what was wrong with the service or the way to it, empty where that was not it.
    """

    state: EndingState
    reason: str = ""
    thread: str | None = None
    tokens: int | None = None
    retry_after: float | None = None
    message: str = ""
    kind: FailureKind | Literal[""] = ""
    retry_at: str = ""


class Executor(Protocol):
    """One kind of worker; nothing here touches the world."""

    name: str
    default_program: str

    def launch(self, unit: Unit, prompt: str, place: WorkerPaths, settings: ExecutorSettings) -> Launch:
        """Return how to start a worker for one unit."""
        ...

    def state(self, env: Mapping[str, str]) -> tuple[str, ...]:
        """List what a worker keeps outside of its workspace and cannot work without writing: files and folders."""
        ...

    def progress(self, line: bytes) -> Progress | None:
        """Return what one line of output means, None where it means nothing to people; never raises."""
        ...

    def ending(self, lines: Iterable[bytes], outcome: Exit) -> Ending:
        """Return how the work ended, from all lines of output (stderr among them); never raises."""
        ...


def note(kind: ProgressKind, text: str) -> Progress:
    """Make a progress note out of any text."""
    return Progress(kind, one_line(text))


def make_ending(
    state: EndingState, reason: str, limit: ServiceLimit | None, *, thread: str | None, tokens: int | None, message: str
) -> Ending:
    """Make an ending out of what was judged, with the limit it was judged by."""
    return Ending(
        state,
        reason,
        thread,
        tokens,
        limit.retry_after if limit else None,
        message,
        # A worker that ended well may have met a limit on its way, and got over it.
        failure_kind(reason, limit) if state in ("failed", "rate-limited") else "",
        limit.retry_at if limit else "",
    )


def cut_short(outcome: Exit) -> str:
    """Return why a program did not end by itself, empty where it did."""
    if outcome.reason == "timeout":
        return f"stopped after {outcome.seconds:.0f} s, its time limit"
    if outcome.reason == "stopped":
        return "stopped on request"
    if outcome.reason == "stalled":
        return one_line(f"stalled: {outcome.detail}")
    if outcome.reason == "not-started":
        return one_line(f"could not be started: {outcome.detail}".removesuffix(": "))
    if outcome.code is None:
        return f"ended by signal {outcome.signal}" if outcome.signal else "ended without an exit code"
    return ""

"""One attempt of a worker: the pipeline all uses of workers share, and what each use decides for itself (``Policy``).

workspace -> launch -> listen (stall watch) -> exit -> capture -> retry decision -> checks -> end. Each step is written
down before the next begins: who is killed between two leaves a state that says what is missing.
"""

from __future__ import annotations

import re
import threading
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol, Self

from gitprun.executors.base import Ending
from gitprun.ledger.outcome import judge_worker
from gitprun.ledger.retry_policy import SHARED_KINDS, RetryPolicy, judge_next_try, kind_of_failure
from gitprun.ledger.rows import EndingRow
from gitprun.model.units import Exit, Unit
from gitprun.runs.worker import WorkerCall, run_worker
from gitprun.supervisor.process import KILLED, Stop
from gitprun.system.clock import Alarm

# Why an attempt to go on with a thread is followed by one that begins anew.
NO_THREAD = "no-thread"
# Worker's output names it, and it becomes an argument of a command: nothing that could be an option or a path.
_THREAD = re.compile(r"[0-9A-Za-z][0-9A-Za-z-]{7,99}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What the decision about another attempt rests on.

    ``tried`` counts the attempts before this one that failed, ``thread`` is the conversation this one goes on with,
    ``attached`` says that its worker was started by a coordinator that is gone.
    """

    retries: RetryPolicy
    clock: Alarm
    stop: Stop
    tried: int = 0
    thread: str | None = None
    attached: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Worked:
    """How a worker ended; ``state`` is its judgement alone: None where it says it is done, else its unit's state."""

    exit: Exit
    ending: Ending
    state: str | None

    @property
    def reason(self) -> str:
        """Return in one line why it ended, as far as that is known."""
        return (self.exit.reason == "stopped" and self.exit.detail) or self.ending.reason or self.exit.detail


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkFound:
    """What there is of a worker: whether it changed anything, left an operation half done, said a result."""

    changed: bool
    unfinished: bool
    result: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """A worker that is to be tried again, not before ``until``; ``shared`` holds for all workers of its executor.

    ``counts``: it is one of the retries its policy allows; a worker that was lost, or a thread, is nobody's failure.
    """

    until: float
    kind: str
    shared: bool
    counts: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """The retry decision: ``failure`` names what went wrong (empty: nothing), ``retry`` is the next attempt, if any.

    ``why`` says why there is none where that is worth a word; ``reason`` takes the place of what the worker said.
    """

    failure: str
    retry: Retry | None = None
    why: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedEarly:
    """An attempt that ended before a worker was started, in this state."""

    state: str


class Policy(Protocol):
    """One attempt, as one use of workers makes it; the order of its steps is the pipeline's."""

    @property
    def unit(self) -> Unit:
        """Return what is asked of the worker."""
        ...

    @property
    def terms(self) -> Terms:
        """Return what the retry decision rests on."""
        ...

    def begin(self) -> WorkerCall | EndedEarly:
        """Make or open the workspace, and return what is to be started in it."""
        ...

    def watched(self) -> AbstractContextManager[None]:
        """Look at what is the user's before and after the worker."""
        ...

    def read_ending(self, ended: Exit) -> Ending:
        """Read how the work ended out of what the worker printed."""
        ...

    def note_exit(self, worked: Worked) -> None:
        """Write down that, and how, the worker ended."""
        ...

    def capture(self, worked: Worked) -> WorkFound:
        """Keep all the worker did, pinned and written down, whatever comes of it."""
        ...

    def wait(self, worked: Worked, work: WorkFound, decision: Decision) -> None:
        """Write down that another attempt follows, and when."""
        ...

    def conclude(self, worked: Worked, work: WorkFound, decision: Decision) -> str:
        """Have the checks say whether the work is good, end the unit, and return its state."""
        ...


class ForegroundPolicy(Policy, Protocol):
    """One attempt that its caller waits for, with all that follow."""

    def again(self, retry: Retry) -> Self:
        """Return the next attempt."""
        ...

    def give_up(self) -> str:
        """End the unit as its last attempt left it: a stop was asked for while it waited. Return its state."""
        ...


def make_attempt(policy: Policy) -> str | Retry:
    """Make one attempt; return the unit's final state, or when it is to be tried again."""
    call = policy.begin()
    if isinstance(call, EndedEarly):
        return call.state
    # Around the worker alone: what checks or hooks change later is theirs, and judged by other rules.
    with policy.watched():
        ended = run_worker(call)
    return finish_attempt(policy, ended)


def finish_attempt(policy: Policy, ended: Exit) -> str | Retry:
    """Do what follows a worker's end; here an attempt is entered whose coordinator was killed before."""
    ending = policy.read_ending(ended)
    worked = Worked(exit=ended, ending=ending, state=judge_worker(ended, ending.state))
    # Before the capture: a coordinator that is killed in it leaves a unit whose worker is known to be over.
    policy.note_exit(worked)
    # The work first: whatever fails from here on, it is pinned.
    work = policy.capture(worked)
    # Before the checks: who is tried again has nothing yet that a check could be about.
    decision = decide(policy.unit, policy.terms, worked, work)
    if decision.retry is not None:
        policy.wait(worked, work, decision)
        return decision.retry
    return policy.conclude(worked, work, decision)


def make_attempts(policy: ForegroundPolicy) -> str:
    """Make attempts until one is the last, waiting between them where their caller waits; return the final state."""
    while True:
        answer = make_attempt(policy)
        if not isinstance(answer, Retry):
            return answer
        terms, wake = policy.terms, threading.Event()
        with terms.stop.heard_by(wake.set):
            terms.clock.sleep_until(answer.until, wake)
        if terms.stop.is_set():
            return policy.give_up()
        policy = policy.again(answer)


def decide(unit: Unit, terms: Terms, worked: Worked, work: WorkFound) -> Decision:
    """Decide whether, and when, another attempt follows."""
    ended, ending = worked.exit, worked.ending
    failure = kind_of_failure(
        unit.executor,
        unit.mode,
        worked.state,
        ending,
        changed=work.changed or work.unfinished,
        result=work.result,
    )
    # A merge or rebase half done is for a person; a next worker would only bury it.
    if work.unfinished or terms.stop.is_set():
        return Decision(failure=failure)
    now = terms.clock.now()
    # Its supervisor was killed with its coordinator, by a crash or for want of memory: the worker did nothing wrong.
    if terms.attached and ended.detail == KILLED:
        return Decision(failure=failure, retry=Retry(until=now, kind="lost", shared=False, counts=False))
    if terms.thread is not None and ended.reason == "exited" and ended.code != 0 and ending.thread is None:
        # Codex says so before any event: the thread is not there (any more).
        retry = Retry(until=now, kind=NO_THREAD, shared=False, counts=False)
        return Decision(failure=NO_THREAD, retry=retry, reason=f"codex has no thread {terms.thread} any more")
    # Services state times of day, and mean those of the user.
    local = datetime.fromtimestamp(now).astimezone()
    answer = judge_next_try(terms.retries, unit.executor, failure, ending, terms.tried + 1, local)
    if answer.wait is None:
        return Decision(failure=failure, why=answer.why)
    return Decision(failure=failure, retry=Retry(until=now + answer.wait, kind=failure, shared=failure in SHARED_KINDS))


def thread_worth_resuming(unit: Unit, ending: Ending | EndingRow, *, changed: bool) -> str | None:
    """Return the conversation worth going on with: the service cut it off after it had changed something."""
    worth = unit.executor == "codex" and unit.mode == "write" and changed and ending.kind in SHARED_KINDS
    return ending.thread if worth and _THREAD.fullmatch(ending.thread or "") else None

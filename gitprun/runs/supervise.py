"""One attempt at a unit: workspace, worker, capture, checks; each step is in the ledger before the next begins."""

from __future__ import annotations

import traceback
from pathlib import Path

from gitprun.capture.capture import require_ended
from gitprun.executors.base import Ending
from gitprun.ledger.events import ENDED
from gitprun.ledger.outcome import ending_row, exit_row, explain_unit, judge_unit, judge_worker
from gitprun.ledger.retry_policy import SHARED_KINDS, judge_next_try, kind_of_failure
from gitprun.ledger.unit_events import UnitExited, UnitFinished, UnitWaiting
from gitprun.model.errors import PrunError
from gitprun.model.names import Oid
from gitprun.model.units import Exit, Verdict
from gitprun.registry.remove import recall_workspace
from gitprun.registry.survivors import living_survivors
from gitprun.runs.attempts import begin
from gitprun.runs.context import Attempt, Retry, RunContext, WorkItem
from gitprun.runs.finish import collect, keep_result, recall_capture, verify
from gitprun.runs.prepare import note_prepared, prepare
from gitprun.runs.work import rejoin, work
from gitprun.supervisor.process import KILLED
from gitprun.workspaces.base import Workspace
from gitprun.workspaces.clone import read_source
from gitprun.workspaces.pins import started_with

# Why an attempt to go on with a thread is followed by one that begins anew.
NO_THREAD = "no-thread"


def run_unit(context: RunContext, piece: WorkItem) -> str | Retry:
    """Make one attempt at a unit and give its final state, or when it is to be tried again.

    Whatever goes wrong is an event, never an exception lost.
    """
    unit = piece.unit
    try:
        return _rejoin(context, piece) if piece.attach else _attempt(context, piece)
    except PrunError as problem:
        reason, hint = problem.message, problem.hint
    except OSError as problem:
        reason, hint = f"{problem.filename or 'system'}: {problem.strerror or problem}", ""
    except Exception:
        reason, hint = "a bug of git prun; the work is untouched", _report_bug(context.folder(unit))
    try:
        context.end_watch(unit)
        context.note(unit, UnitFinished(final="broken", reason=reason, hint=hint))
    except PrunError:
        # The ledger itself cannot be written: the run's own last event will say so.
        return "broken"
    return "broken"


def _report_bug(folder: Path) -> str:
    report = folder / "bug.txt"
    try:
        report.write_text(traceback.format_exc(), errors="backslashreplace")
    except OSError:
        return ""
    return f"the report is in {report}"


def leave_unit(context: RunContext, piece: WorkItem, why: str = "") -> str:
    """End a unit that is not tried (again), in the state its last attempt left it in."""
    unit, known = piece.unit, piece.known
    if known is None or known.attempt == 0:
        context.note(unit, UnitFinished(final="stopped", reason="stopped before it was started"))
        return "stopped"
    outcome = known.outcome
    if outcome is None and known.state not in ENDED:
        if not why:
            # Lost, and nothing new is known about it.
            return known.state
        outcome = UnitFinished(final="broken")
    outcome = outcome or UnitFinished(final=known.state, reason=known.reason)
    reason = "; ".join(filter(None, (outcome.reason, why)))
    context.note(unit, outcome.into(UnitFinished, reason=reason))
    return outcome.final


def _attempt(context: RunContext, piece: WorkItem) -> str | Retry:
    unit = piece.unit
    if context.stop.is_set():
        return leave_unit(context, piece)
    try:
        attempt, workspace = begin(context, piece)
    except PrunError as problem:
        if piece.known is None or piece.known.attempt == 0:
            raise
        return leave_unit(context, piece, f"not tried again: {problem.message}")
    try:
        if workspace is None:
            workspace = prepare(context, unit, attempt)
        else:
            note_prepared(context, unit, attempt, workspace, 0.0)
    except PrunError:
        # The setup that was ended, or a git that laid out the files.
        if not context.stop.is_set():
            raise
        context.note(unit, UnitFinished(final="stopped", reason="stopped while its workspace was made ready"))
        return "stopped"
    context.begin_watch(unit, workspace)
    ended, ending = work(context, unit, attempt, workspace)
    return _finish(context, piece, attempt, workspace, ended, ending)


def _rejoin(context: RunContext, piece: WorkItem) -> str | Retry:
    """Wait for the worker of a coordinator that is gone, and do what that one would have done."""
    known = piece.known
    assert known is not None
    workspace = recall_workspace(context.repository.state, known)
    attempt = Attempt(
        number=known.attempt,
        base=Oid(str(known.base or context.base)),
        source=read_source(context.repository),
        known=known.earlier_commits | started_with(context.repository, context.run),
        thread=known.thread,
    )
    ended, ending = rejoin(context, piece.unit, known, workspace)
    return _finish(context, piece, attempt, workspace, ended, ending)


def _finish(
    context: RunContext, piece: WorkItem, attempt: Attempt, workspace: Workspace, ended: Exit, ending: Ending
) -> str | Retry:
    """Capture, keep, verify, judge; the unit is over, or waits for its next attempt."""
    unit = piece.unit
    worker = judge_worker(ended, ending.state)
    # First of all: what it changed outside of its workspace must not be taken for somebody else's doing.
    context.end_watch(unit)
    context.note(unit, UnitExited(exit=exit_row(ended), ending=ending_row(ending)))
    # The work first: whatever fails from here on, it is pinned.
    found = recall_capture(piece.known) if piece.attach and piece.known else None
    if found is None and unit.mode == "write":
        require_ended(living_survivors(context.folder(unit), ended))
        found = collect(context, unit, attempt, workspace, worker)
    result, fallback = keep_result(context, unit, workspace, ending, worker)
    verdict = Verdict(state="absent")
    if found is not None and worker is None and not found.unfinished and found.changed:
        verdict = verify(context, unit, attempt, workspace, found)
    unfinished, changed = found.unfinished if found else None, bool(found and found.changed)
    inner = found.inner if found and not changed else ()
    state = judge_unit(
        worker,
        unit.mode,
        changed=changed,
        unfinished=bool(unfinished),
        verdict=verdict.state,
        result=result.valid,
        inner=bool(inner),
    )
    said = (ended.reason == "stopped" and ended.detail) or ending.reason or ended.detail
    outcome = UnitFinished(
        final=state,
        reason=explain_unit(
            state,
            worker,
            said,
            unfinished=unfinished,
            verdict=verdict.reason,
            result=result,
            inner=found.inner if found else (),
        ),
        failure=kind_of_failure(
            unit.executor, unit.mode, worker, ending, changed=changed or bool(unfinished), result=result.valid
        ),
        fallback=fallback,
        result_problems=() if fallback else tuple(result.problems),
    )
    again: Retry | None = None
    if not unfinished:
        outcome, again = _next_try(context, piece, attempt, ended, ending, outcome)
    if again is None:
        context.note(unit, outcome)
        return state
    context.note(unit, UnitWaiting(until=again.until, failure=again.kind, reason=outcome.reason, outcome=outcome))
    return again


def _next_try(
    context: RunContext, piece: WorkItem, attempt: Attempt, ended: Exit, ending: Ending, outcome: UnitFinished
) -> tuple[UnitFinished, Retry | None]:
    """Decide about another attempt; return the outcome, with why there is none where that is worth a word."""
    if context.stop.is_set():
        return outcome, None
    now, kind = context.clock.now(), outcome.failure
    if piece.attach and ended.detail == KILLED:
        return outcome, Retry(until=now, kind="lost", shared=False, counts=False)
    if attempt.thread is not None and ended.reason == "exited" and ended.code != 0 and ending.thread is None:
        # Codex says so before any event: the thread is not there (any more).
        reason = f"codex has no thread {attempt.thread} any more"
        outcome = outcome.into(UnitFinished, failure=NO_THREAD, reason=reason)
        return outcome, Retry(until=now, kind=NO_THREAD, shared=False, counts=False)
    answer = judge_next_try(context.patience, piece.unit.executor, kind, ending, piece.tried + 1, context.now())
    if answer.wait is None:
        reason = "; ".join(filter(None, (outcome.reason, answer.why)))
        return outcome.into(UnitFinished, reason=reason), None
    return outcome, Retry(until=now + answer.wait, kind=kind, shared=kind in SHARED_KINDS)

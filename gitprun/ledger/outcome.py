"""How a unit's run is judged: rules over what its worker, its capture and its checks said."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

from gitprun.executors.lines import one_line
from gitprun.ledger.rows import CheckRow, EndingRow, ExitRow, VerdictRow
from gitprun.model.contract import Result
from gitprun.model.names import RunId
from gitprun.model.prompts import subject_of
from gitprun.model.units import Exit, Mode, Unit, Verdict

if TYPE_CHECKING:
    from gitprun.executors.base import Ending

NO_RESULT = "the worker wrote no result file"


def judge_worker(ended: Exit | ExitRow, state: str) -> str | None:
    """Judge the worker alone: None when it says it is done, else the final state of its unit.

    ``state`` is what the executor read out of the output (``done``, ``failed``, ``rate-limited``, ``unknown``).
    """
    # What ended it goes before what it printed: one that was stopped may have said that it is done.
    if ended.reason == "stopped":
        return "stopped"
    if ended.reason in ("timeout", "stalled"):
        return "timed-out"
    if ended.reason == "not-started":
        return "broken"
    if state == "rate-limited":
        return "rate-limited"
    # An executor that cannot tell from the output leaves it to the exit code.
    if state == "done" or (state == "unknown" and ended.code == 0):
        return None
    return "failed"


def judge_unit(
    worker: str | None,
    mode: Mode,
    *,
    changed: bool,
    unfinished: bool,
    verdict: str,
    result: bool,
    inner: bool = False,
) -> str:
    """Return the final state of a unit whose work, if any, is captured; ``inner``: some of it is in a submodule."""
    if worker is not None:
        return worker
    if unfinished:
        return "failed"
    if mode == "read":
        return "done" if result else "failed"
    if not changed:
        return "unverified" if inner else "empty"
    return "ready" if verdict == "pass" else "unverified"


def explain_unit(
    state: str,
    worker: str | None,
    said: str,
    *,
    unfinished: str | None,
    verdict: str,
    result: Result,
    inner: Sequence[str] = (),
) -> str:
    """Return in one line why a unit is in its final state; ``said`` is why its worker ended, as far as is known."""
    half = f"the worker left a {unfinished} half done: needs a person" if unfinished else ""
    if worker is not None:
        return "; ".join(filter(None, (said, half)))
    if state == "failed":
        return half or (NO_RESULT if result.fallback else f"the result file: {result.problems[0]}")
    if state == "unverified":
        return f"its commits are inside the submodule {inner[0]}, kept and in no tree" if inner else verdict
    return "the worker ended well and changed nothing" if state == "empty" else ""


def commit_message(run: RunId, unit: Unit, worker: str | None, own_commits: Sequence[str]) -> str:
    """Write the message of a unit's commit: what was asked, where it came from, what the worker committed itself."""
    subject = one_line(f"{unit.id}: {subject_of(unit.prompt)}")
    # 72 columns are git's own custom for a subject: log and shortlog show it unbroken.
    subject = subject if len(subject) <= 72 else subject[:71] + "\u2026"
    rows = [f"Unit: {run}/{unit.id}", f"Executor: {unit.executor}"]
    if worker is not None:
        rows.append(f"State: {worker} (kept, not finished)")
    if own_commits:
        # A worker in a loop can make thousands of commits; their refs are kept in any case.
        rows += ["", "The worker's own commits, newest first:", *(f"  {one_line(row)}" for row in own_commits[:50])]
    return subject + "\n\n" + "\n".join(rows) + "\n"


def exit_row(ended: Exit) -> ExitRow:
    """Return an exit as it is written down; what is not usual only where it is so."""
    unusual = {"survivors": ended.survivors, "unproved": ended.unproved, "dropped": ended.dropped}
    row = ExitRow(
        reason=ended.reason,
        code=ended.code,
        signal=ended.signal,
        seconds=round(ended.seconds, 3),
        detail=ended.detail,
        leftovers=ended.leftovers,
    )
    return row.into(ExitRow, **{name: value for name, value in unusual.items() if value})


def ending_row(ending: Ending) -> EndingRow:
    """Return an ending as it is written down: what the worker said last is kept in a file, it may be long."""
    return EndingRow.build(asdict(ending) | {"message": ""})


def verdict_row(verdict: Verdict) -> VerdictRow:
    """Return a verdict as it is written down."""
    checks = tuple(CheckRow.build(asdict(check)) for check in verdict.checks)
    row = VerdictRow(state=verdict.state, reason=verdict.reason, checks=checks)
    return row.into(VerdictRow, confined=verdict.confined) if verdict.confined else row


def describe_exit(ended: ExitRow) -> str:
    """Return in a few words how a worker ended."""
    if ended.reason == "timeout":
        return f"stopped after {ended.seconds:.0f} s (its time limit)"
    if ended.reason == "stopped":
        return "stopped on request"
    if ended.reason == "stalled":
        return f"ended after {ended.seconds:.0f} s: {ended.detail}"
    if ended.reason == "not-started":
        return f"not started: {ended.detail}"
    return f"exit code {ended.code}" if ended.code is not None else f"killed by signal {ended.signal}"


def succeeded(state: str) -> bool:
    """Check whether a final state lets the whole run count as a success."""
    return state in ("ready", "done", "landed")

"""Units of runs: a clone or worktree of its own each, one commit under ``refs/prun/``, checks, a result file."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from gitprun.capture.capture import Capture, capture, require_ended
from gitprun.executors.base import Ending, Launch, WorkerPaths
from gitprun.executors.catalog import require_executor
from gitprun.executors.codex import Codex
from gitprun.git.environment import ceilings
from gitprun.guards.install import claude_guard
from gitprun.guards.shims import guard_environment
from gitprun.ledger.events import ENDED
from gitprun.ledger.outcome import ending_row, exit_row
from gitprun.ledger.stall import was_ended
from gitprun.ledger.unit_events import UnitExited, UnitFinished, UnitStarted, UnitWaiting
from gitprun.model.contract import Result
from gitprun.model.errors import PrunError
from gitprun.model.prompts import assemble_prompt, continue_prompt
from gitprun.model.units import ExecutorSettings, Exit, Unit, Verdict
from gitprun.registry.rest import recall_workspace
from gitprun.registry.survivors import living_survivors
from gitprun.runs.attempt import (
    Decision,
    EndedEarly,
    Policy,
    Retry,
    Terms,
    Worked,
    WorkFound,
    finish_attempt,
    make_attempt,
)
from gitprun.runs.context import Attempt, RunContext, WorkItem, open_unit_capture
from gitprun.runs.finish import Outcome, capture_unit, judge_work, keep_result, needs_checks, recall_capture, verify
from gitprun.runs.next_attempt import begin, recall_attempt
from gitprun.runs.prepare import note_prepared, prepare, temporary_of
from gitprun.runs.worker import (
    KnownWorker,
    WorkerCall,
    WorkerEvents,
    WorkerFiles,
    read_ending,
    rejoin_worker,
)
from gitprun.supervisor.process import ProcessIdentity, ProcessLimits
from gitprun.system.files import write_whole
from gitprun.workspaces.base import OUTBOX, Workspace

ABSENT = Verdict(state="absent")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """What was kept of a worker: the capture (None: it only reads), its result, whether that was salvaged."""

    found: Capture | None
    result: Result
    fallback: bool


@dataclass(slots=True)
class RunUnitPolicy(Policy):
    """One attempt at a unit of a run; ``begin`` or ``rejoin`` says in which workspace."""

    context: RunContext
    item: WorkItem
    _at: tuple[Attempt, Workspace] | None = None
    _kept: _Kept | None = field(default=None)

    @property
    def unit(self) -> Unit:
        """Return the unit."""
        return self.item.unit

    @property
    def terms(self) -> Terms:
        """Return what the retry decision rests on: the run's policy, and how often this process has tried."""
        return Terms(
            retries=self.context.retry_policy,
            clock=self.context.clock,
            stop=self.context.stop,
            tried=self.item.tried,
            thread=self._place[0].thread,
            attached=self.item.attach,
        )

    @property
    def _place(self) -> tuple[Attempt, Workspace]:
        assert self._at is not None, "begun before anything else"
        return self._at

    def begin(self) -> WorkerCall | EndedEarly:
        """Put the attempt before away, make the workspace (or go on in it), and return the worker to start in it."""
        context, item, unit = self.context, self.item, self.unit
        if context.stop.is_set():
            return EndedEarly(state=leave_unit(context, item))
        try:
            attempt, workspace = begin(context, item)
        except PrunError as problem:
            # There is no state of an earlier attempt to leave it in.
            if item.known is None or item.known.attempt == 0:
                raise
            return EndedEarly(state=leave_unit(context, item, f"not tried again: {problem.message}"))
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
            return EndedEarly(state="stopped")
        self._at = attempt, workspace
        return self._call(attempt, workspace)

    def _call(self, attempt: Attempt, workspace: Workspace) -> WorkerCall:
        context, unit = self.context, self.unit
        launch = self._launch(attempt, workspace)
        # As it was sent: where a thread goes on that is one sentence, and not the whole prompt.
        write_whole(context.folder(unit) / "prompt.md", launch.stdin)
        own = {
            "PRUN_RUN": context.run,
            "PRUN_UNIT": unit.id,
            "PRUN_RESULT": str(_result_file(workspace)),
            "PRUN_REPO": context.home,
            "PRUN_BASE": attempt.base,
        }

        def guard(path: str | None) -> dict[str, str]:
            # Only a worktree shares refs with the user, so only its git is to be guarded.
            if workspace.kind != "worktree":
                return {}
            return guard_environment(context.repository, workspace.path, workspace.branch, path)

        return WorkerCall(
            unit=unit,
            launch=launch,
            files=self._files(workspace),
            limits=ProcessLimits(timeout=unit.timeout, grace=context.grace, output_max=context.output_max),
            events=self._events(),
            stalls=context.stalls,
            stop=context.stop,
            # Without a .git there, git must not find a repository around it.
            own=own | ceilings(os.environ, workspace.path),
            guard=guard,
        )

    def _launch(self, attempt: Attempt, workspace: Workspace) -> Launch:
        """Return how the worker is started: with the whole prompt, or where its thread broke off."""
        context, unit = self.context, self.unit
        settings = context.settings.executors.get(unit.executor, ExecutorSettings())
        executor = require_executor(unit.executor)
        place = WorkerPaths(
            cwd=str(workspace.path),
            result=str(_result_file(workspace)),
            last_message=str(context.folder(unit) / "last-message.txt"),
            repository=context.home,
            temporary=str(temporary_of(workspace, unit)),
            guard=claude_guard(),
        )
        prompt = assemble_prompt(unit, settings, verify=context.verify, outbox=OUTBOX)
        launch = executor.launch(unit, prompt, place, settings)
        # Only codex can go on with a thread.
        if attempt.thread is not None and isinstance(executor, Codex):
            return executor.resume(launch, attempt.thread, continue_prompt(unit.id, outbox=OUTBOX))
        return launch

    def _files(self, workspace: Workspace) -> WorkerFiles:
        folder = self.context.folder(self.unit)
        return WorkerFiles(
            cwd=workspace.path,
            output=folder / "output.log",
            record=folder,
            temporary=temporary_of(workspace, self.unit),
        )

    def _events(self) -> WorkerEvents:
        context, unit, log = self.context, self.unit, str(self.context.folder(self.unit) / "output.log")

        def started(who: ProcessIdentity | None, mark: str, launch: Launch) -> None:
            context.note(unit, UnitStarted(process=who, program=launch.argv[0], log=log, mark=mark))

        return WorkerEvents(
            started=started,
            stalled=lambda event: context.note(unit, event),
            heard=lambda said: context.heard(unit.id, said),
        )

    def rejoin(self) -> Exit:
        """Wait for the worker of a coordinator that is gone."""
        context, known = self.context, self.item.known
        assert known is not None
        # As it was written down before the worker started, whatever it has done to the folder since.
        workspace = recall_workspace(context.repository.state, known)
        self._at = recall_attempt(context.repository, context.base, known), workspace
        worker = KnownWorker(
            unit=self.unit,
            supervisor=known.process,
            mark=known.mark,
            stalled=known.stalled is not None,
            was_ended=was_ended(known),
        )
        files = self._files(workspace)
        return rejoin_worker(worker, files, context.grace, self._events(), context.stalls, context.stop)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Look at the user's repository before and after the worker."""
        self.context.begin_watch(self.unit, self._place[1])
        yield
        # First of all: what it changed outside of its workspace must not be taken for somebody else's doing.
        self.context.end_watch(self.unit)

    def read_ending(self, ended: Exit) -> Ending:
        """Read how the work ended; each attempt has an output of its own."""
        return read_ending(self.unit, self.context.folder(self.unit) / "output.log", ended)

    def note_exit(self, worked: Worked) -> None:
        """Write down how the worker ended; what it said last is in its output."""
        # The message may be long, and is the user's to read in the output; the ledger holds what is decided by.
        self.context.note(self.unit, UnitExited(exit=exit_row(worked.exit), ending=ending_row(worked.ending)))

    def capture(self, worked: Worked) -> WorkFound:
        """Make and pin the unit's one commit, and keep its result or salvage one."""
        context, unit, (attempt, workspace) = self.context, self.unit, self._place
        # Captured by the coordinator that was killed after it: the workspace may have changed since.
        found = recall_capture(self.item.known) if self.item.attach and self.item.known else None
        if found is None and unit.mode == "write":
            require_ended(living_survivors(context.folder(unit), worked.exit))
            site = open_unit_capture(context, attempt, workspace, unit.paths)
            found = capture(site, context.run, unit.id)
            capture_unit(context, unit, site, found, worked.state)
        result, fallback = keep_result(context, unit, workspace, worked.ending, worked.state)
        self._kept = _Kept(found=found, result=result, fallback=fallback)
        return WorkFound(
            changed=bool(found and found.changed),
            unfinished=bool(found and found.unfinished),
            result=result.valid,
        )

    def wait(self, worked: Worked, work: WorkFound, decision: Decision) -> None:
        """Write down that the unit waits, and the end it had if it were not tried again."""
        retry = decision.retry
        assert retry is not None
        outcome = self._outcome(worked, decision, ABSENT)
        waiting = UnitWaiting(until=retry.until, failure=retry.kind, reason=outcome.reason, outcome=outcome)
        self.context.note(self.unit, waiting)

    def conclude(self, worked: Worked, work: WorkFound, decision: Decision) -> str:
        """Have the checks say whether the work is good, and end the unit."""
        kept, verdict = self._kept, ABSENT
        assert kept is not None
        # Checks of half the work, or of none, would only cost time and say nothing.
        if needs_checks(kept.found, worked.state):
            assert kept.found is not None
            verdict = verify(self.context, self.unit, *self._place, kept.found)
        outcome = self._outcome(worked, decision, verdict)
        self.context.note(self.unit, outcome)
        return outcome.final

    def _outcome(self, worked: Worked, decision: Decision, verdict: Verdict) -> UnitFinished:
        """Return what the unit came to, as it is written down."""
        kept = self._kept
        assert kept is not None
        outcome: Outcome = judge_work(
            self.unit, worked.state, worked.reason, found=kept.found, verdict=verdict, result=kept.result
        )
        return UnitFinished(
            final=outcome.state,
            reason=decision.reason or "; ".join(filter(None, (outcome.reason, decision.why))),
            failure=decision.failure,
            fallback=kept.fallback,
            result_problems=() if kept.fallback else tuple(kept.result.problems),
        )


def run_unit(context: RunContext, item: WorkItem) -> str | Retry:
    """Make one attempt at a unit and return its final state, or when it is to be tried again.

    Whatever goes wrong is an event, never an exception lost.
    """
    unit, policy = item.unit, RunUnitPolicy(context, item)
    try:
        return _rejoin(policy) if item.attach else make_attempt(policy)
    except PrunError as problem:
        reason, hint = problem.message, problem.hint
    except OSError as problem:
        reason, hint = f"{problem.filename or 'system'}: {problem.strerror or problem}", ""
    except Exception:
        reason, hint = "a bug of git prun; the work is untouched", _report_bug(context.folder(unit))
    try:
        # A worker may have been at work before it broke, and what it changed is found all the same.
        context.end_watch(unit)
        context.note(unit, UnitFinished(final="broken", reason=reason, hint=hint))
    except PrunError:
        # The ledger itself cannot be written: the run's own last event will say so.
        return "broken"
    return "broken"


def _rejoin(policy: RunUnitPolicy) -> str | Retry:
    """Wait for the worker of a coordinator that is gone, and do what that one would have done."""
    ended = policy.rejoin()
    policy.context.end_watch(policy.unit)
    return finish_attempt(policy, ended)


def _report_bug(folder: Path) -> str:
    report = folder / "bug.txt"
    try:
        report.write_text(traceback.format_exc(), errors="backslashreplace")
    except OSError:
        return ""
    return f"the report is in {report}"


def leave_unit(context: RunContext, item: WorkItem, why: str = "") -> str:
    """End a unit that is not tried (again), in the state its last attempt left it in."""
    unit, known = item.unit, item.known
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


def _result_file(workspace: Workspace) -> Path:
    return workspace.path / OUTBOX / "result.md"

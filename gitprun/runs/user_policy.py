"""User workspaces: the work goes onto the user's branch through the user's hooks, in the second seed's words.

Between two attempts nothing of the workspace is taken away: what there is of the work is pinned beside the branch, and
the next worker finds the folder as the last one left it, as it would if the user asked once more.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

from gitprun.capture.capture import Capture, capture, require_ended
from gitprun.capture.context import CaptureContext, index_kept
from gitprun.executors.base import Ending, Launch, WorkerPaths
from gitprun.executors.catalog import require_executor
from gitprun.executors.codex import Codex
from gitprun.git.environment import ceilings
from gitprun.git.refs import read_ref
from gitprun.guards.install import claude_guard
from gitprun.guards.shims import guard_environment
from gitprun.ledger.outcome import ending_row, exit_row, verdict_row
from gitprun.ledger.roster import NAMED
from gitprun.ledger.rows import EarlierRow
from gitprun.ledger.unit_events import (
    UnitExited,
    UnitFinished,
    UnitPreparing,
    UnitStarted,
    UnitVerified,
    UnitVerifying,
    UnitWaiting,
)
from gitprun.model.errors import PrunError
from gitprun.model.prompts import BYPASS, bypass_wanted, continue_prompt, without_bypass
from gitprun.model.units import Exit, Unit
from gitprun.observe.drift_observer import DriftObserver, author_of
from gitprun.observe.linked import begin_look, end_look
from gitprun.registry.fork import fork_of
from gitprun.registry.open_workspace import open_workspace_capture, require_own_branch
from gitprun.runs.attempt import (
    Decision,
    EndedEarly,
    ForegroundPolicy,
    Retry,
    Terms,
    Worked,
    WorkFound,
    thread_worth_resuming,
)
from gitprun.runs.request import Session, close_line, temporary_of
from gitprun.runs.stall_watch import StallEvent, describe_stall, stall_watch_of
from gitprun.runs.user_commit import CommitOutcome, Work, commit_work
from gitprun.runs.user_report import Spoken, report_work, write_message
from gitprun.runs.user_verify import Verified, verify
from gitprun.runs.worker import WorkerCall, WorkerEvents, WorkerFiles, read_ending
from gitprun.supervisor.process import ProcessIdentity, probe_identity
from gitprun.system.files import write_whole
from gitprun.verify.surroundings import surroundings, wish_for_worker
from gitprun.verify.view import view_for

# Of a last message only whether there is one counts here.
MAX_MESSAGE = 4096


@dataclass(slots=True)
class UserWorkspacePolicy(ForegroundPolicy):
    """One attempt in a user workspace; the caller has it for itself (``registry.open_workspace.alone``).

    ``base`` is where the branch was before the first attempt, ``tried`` counts the failed attempts before this one,
    ``thread`` is the conversation it goes on with, ``earlier`` says what became of those before.
    """

    session: Session
    site: CaptureContext
    number: int = 1
    tried: int = 0
    thread: str | None = None
    earlier: tuple[EarlierRow, ...] = ()
    _program: str = ""
    _start: int = 0
    _spoken: Spoken = field(default=Spoken(start=0, end=0))
    _found: Capture | None = None
    _index: ExitStack = field(default_factory=ExitStack)
    _committed: list[bool] = field(default_factory=list)
    _last: tuple[Worked, CommitOutcome] | None = None

    @property
    def unit(self) -> Unit:
        """Return what is asked of the worker."""
        return self.session.request.unit

    @property
    def terms(self) -> Terms:
        """Return what the retry decision rests on: the settings of runs hold here too."""
        session = self.session
        return Terms(
            retries=session.retries, clock=session.clock, stop=session.stop, tried=self.tried, thread=self.thread
        )

    def begin(self) -> WorkerCall | EndedEarly:
        """Write down who works, and return the worker to start in the workspace."""
        session, unit = self.session, self.unit
        preparing = UnitPreparing(
            coordinator=probe_identity(os.getpid()),
            executor=unit.executor,
            mode="write",
            slug=unit.id,
            log=str(session.request.log),
            sandbox=unit.sandbox,
            walled=unit.walled,
        )
        if self.number > 1:
            # The first says nothing of all this: then there is nothing that could be taken for an earlier attempt.
            preparing = preparing.into(UnitPreparing, attempt=self.number, earlier=self.earlier, thread=self.thread)
        session.note(preparing)
        if self.number > 1:
            try:
                require_own_branch(session.repository, session.place)
            except PrunError as problem:
                return EndedEarly(state=self._end(f"not tried again: {problem.message}"))
        now, branch = f"{datetime.now(UTC):%H:%M:%SZ}", self.site.workspace.branch
        session.tell(f"{now} pid={os.getpid()} branch={branch} starting")
        self._start = session.request.log.stat().st_size
        return self._call()

    def _call(self) -> WorkerCall:
        session, unit, path = self.session, self.unit, self.site.workspace.path
        launch = self._launch()
        self._program = launch.argv[0]
        write_whole(session.folder / "prompt.md", launch.stdin)
        own = {"PRUN_RUN": NAMED, "PRUN_UNIT": unit.id, "PRUN_REPO": self._home, "PRUN_BASE": self.site.base}

        def guard(search: str | None) -> dict[str, str]:
            if self.site.workspace.kind != "worktree":
                return {}
            return guard_environment(session.repository, path, self.site.workspace.branch, search)

        return WorkerCall(
            unit=unit,
            launch=launch,
            files=WorkerFiles(
                cwd=path, output=session.request.log, record=session.folder, temporary=temporary_of(session, path)
            ),
            limits=session.request.limits,
            events=self._events(),
            stalls=stall_watch_of(session.request.settings),
            stop=session.stop,
            # Without a .git there, git must not find a repository around it.
            own=own | ceilings(os.environ, path),
            guard=guard,
        )

    def _launch(self) -> Launch:
        """Return how the worker is started: with the prompt, or where its thread broke off."""
        session, unit, executor = self.session, self.unit, require_executor(self.unit.executor)
        path, last = self.site.workspace.path, session.folder / "last-message.txt"
        # That of the worker before must not be taken for this one's.
        last.unlink(missing_ok=True)
        place = WorkerPaths(
            cwd=str(path),
            result="",
            last_message=str(last),
            repository=self._home,
            temporary=str(temporary_of(session, path)),
            guard=claude_guard(),
        )
        prompt = unit.prompt
        if bypass_wanted(unit, session.request.executor) and without_bypass(prompt) == prompt:
            prompt = f"{BYPASS}\n\n{prompt}"
        launch = executor.launch(unit, prompt.rstrip("\n") + "\n", place, session.request.executor)
        if self.thread is not None and isinstance(executor, Codex):
            return executor.resume(launch, self.thread, continue_prompt(unit.id, outbox=None))
        return launch

    def _events(self) -> WorkerEvents:
        session = self.session

        def started(who: ProcessIdentity | None, mark: str, launch: Launch) -> None:
            session.note(UnitStarted(process=who, program=launch.argv[0], mark=mark))

        def stalled(event: StallEvent) -> None:
            session.note(event)
            session.warn(describe_stall(session.place.id, event))

        return WorkerEvents(started=started, stalled=stalled, heard=lambda _said: None)

    @property
    def _home(self) -> str:
        return str(self.session.repository.top or self.session.repository.common)

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Look at the user's repository before and after the worker, and say what changed meanwhile."""
        session, workspace = self.session, self.site.workspace
        # No folder of workspaces is left out of the look: this one may lie anywhere, and so may what is linked of it.
        root = session.repository.home.parent / "\0"
        witness = DriftObserver(session.repository, session.ledger, NAMED, root, session.place.id)
        begin_look(linked := session.folder / "linked.json", workspace.path, workspace.provided)
        note = witness.begin(author_of(NAMED, session.place.id, workspace))
        if note:
            session.warn(note)
        try:
            yield
        finally:
            try:
                looked = end_look(linked)
                for path in looked.linked if looked is not None else ():
                    session.warn(f"changed in your checkout while it ran, through what is linked: {path}")
                for one in witness.end(f"{NAMED}/{session.place.id}"):
                    if one.gate or one.thing.kind == "ref":
                        session.warn(f"changed in your repository while it ran: {one.text}")
            except PrunError as problem:
                session.warn(problem.message)
            witness.close()

    def read_ending(self, ended: Exit) -> Ending:
        """Read how the work ended out of this attempt's part of the log, which all attempts share."""
        session, log = self.session, self.session.request.log
        if ended.reason == "not-started":
            session.warn(f"{self._program} could not be started: {ended.detail}")
        if not log.is_file():
            session.warn(f"{log} is gone: somebody deleted it while the worker ran")
            log.touch()
            self._start = 0
        close_line(log)
        self._spoken = Spoken(start=self._start, end=log.stat().st_size)
        return read_ending(self.unit, log, ended, self._start)

    def note_exit(self, worked: Worked) -> None:
        """Write down how the worker ended, and say so in the seed's words."""
        session, ended = self.session, worked.exit
        session.note(UnitExited(exit=exit_row(ended), ending=ending_row(worked.ending)))
        session.tell(f"exit={ended.shell_code} runtime={ended.seconds:.0f}s")
        if worked.state is not None:
            why = worked.ending.reason or ended.detail or f"exit code {ended.shell_code}"
            session.warn(f"the worker ended as {worked.state}: {why}")
        session.code = ended.shell_code if worked.state is not None else 0

    def capture(self, worked: Worked) -> WorkFound:
        """Capture the workspace; its index is given back unless the work is committed in the end."""
        require_ended(worked.exit.survivors)
        session, site = self.session, self.site
        if site.workspace.kind == "worktree":
            # What the worker committed there itself stays; its work goes on top.
            site = replace(site, onto=read_ref(site.repo, f"refs/heads/{site.workspace.branch}"))
        self.site = site
        with ExitStack() as stack:
            self._committed = stack.enter_context(index_kept(site))
            self._found = found = capture(site, NAMED, session.place.id)
            self._index = stack.pop_all()
        return WorkFound(
            changed=bool(found.changed), unfinished=bool(found.unfinished), result=self._has_spoken(worked.ending)
        )

    def _has_spoken(self, ending: Ending) -> bool:
        """Check whether the worker said anything in the end: who says why it changed nothing has not bailed out."""
        last = self.session.folder / "last-message.txt"
        with suppress(OSError), open(last, "rb") as source:
            return bool(ending.message.strip() or source.read(MAX_MESSAGE).strip())
        return bool(ending.message.strip())

    def wait(self, worked: Worked, work: WorkFound, decision: Decision) -> None:
        """Pin what there is of the work, write down that another attempt follows, and say when."""
        session, retry = self.session, decision.retry
        assert retry is not None
        # Pinned also where failed work is to be committed: this attempt is not the last, and its half would be a
        # commit.
        outcome = self._bring(worked, f"the worker ended as {worked.state or retry.kind}")
        reason = decision.reason or worked.reason
        self._last = worked, outcome
        # The outcome is in the event before: here it would hide what became of the work.
        session.note(UnitWaiting(until=retry.until, failure=retry.kind, reason=reason))
        when = datetime.fromtimestamp(retry.until, UTC)
        session.tell(f"trying again at {when:%H:%M:%SZ} ({retry.kind})")

    def _bring(self, worked: Worked, obstacle: str) -> CommitOutcome:
        """Commit what was captured, or pin it where an obstacle is in the way, and report on it."""
        session, site, found = self.session, self.site, self._found
        assert found is not None
        work = Work(
            site=site,
            name=session.place.id,
            found=found,
            who=session.request.who,
            obstacle=obstacle,
            fork=fork_of(session.repository, session.place, site.base),
            message=lambda parent: write_message(session, site, found, worked, self._spoken, parent),
        )
        with self._index:
            outcome = commit_work(work)
            self._committed.append(outcome.state != "kept")
        report_work(session, site, found, outcome)
        return outcome

    def again(self, retry: Retry) -> UserWorkspacePolicy:
        """Return the next attempt: with the thread where that is worth something, else with the whole prompt."""
        assert self._last is not None
        assert self._found is not None
        worked, outcome = self._last
        changed = bool(self._found.changed) and not self._found.unfinished
        row = EarlierRow(
            attempt=self.number,
            state=worked.state or "empty",
            kind=retry.kind,
            reason=worked.reason,
            base=self.site.base,
            commit=read_ref(self.site.repo, outcome.ref) if outcome.ref else outcome.commit,
            ref=outcome.ref or None,
            folder=str(self.session.folder),
        )
        # The base stays that of the first attempt: what any of them committed itself is the worker's own.
        site = open_workspace_capture(
            self.session.repository, self.session.place, base=self.site.base, settings=self.session.request.settings
        )
        return UserWorkspacePolicy(
            self.session,
            site,
            number=self.number + 1,
            tried=self.tried + retry.counts,
            thread=thread_worth_resuming(self.unit, worked.ending, changed=changed),
            earlier=(*self.earlier, row),
            # What it ends with if it cannot even begin.
            _last=self._last,
        )

    def give_up(self) -> str:
        """End the request as its last attempt left it."""
        return self._end("stopped while waiting to try again")

    def _end(self, why: str) -> str:
        worked = self._last[0] if self._last else None
        state = (worked.state if worked else None) or "failed"
        reason = "; ".join(filter(None, (worked.reason if worked else "", why)))
        self.session.note(UnitFinished(final=state, reason=reason))
        self.session.warn(reason)
        # A stop that came while nothing had failed is no success either.
        self.session.code = self.session.code or 1
        return state

    def conclude(self, worked: Worked, work: WorkFound, decision: Decision) -> str:
        """Commit the work, have it verified in the seed's words, and end the request."""
        session, found, worker = self.session, self._found, worked.state
        assert found is not None
        obstacle = ""
        if found.unfinished:
            obstacle = f"the worker left a {found.unfinished} half done"
        elif worker is not None and not session.request.commit_failed:
            obstacle = f"the worker ended as {worker}"
        outcome = self._bring(worked, obstacle)
        state = worker or _STATES.get(outcome.state, "failed")
        reason = "; ".join(filter(None, (worked.ending.reason if worker is not None else outcome.reason, decision.why)))
        if decision.why:
            session.warn(decision.why)
        if state == "empty" and found.inner:
            state, reason = "unverified", f"its commits are inside the submodule {found.inner[0]}, kept and in no tree"
        if session.stop.is_set():
            # Nobody waits for a verification now.
            session.note(UnitFinished(final=state, reason=reason))
            session.code = session.code or 1
            return state
        # Also after a worker that failed: the seed's line is always the last, and scripts wait for it.
        verified = self._check(found, outcome)
        verdict = verified.verdict.state
        changed = outcome.state in ("committed", "own")
        if state == "ready" and verdict != "pass":
            state, reason = "unverified", verified.verdict.reason
            if verdict == "absent":
                session.warn("nothing proves this work: no check is declared and none was found (POST_VERIFY_CMD)")
        session.note(UnitFinished(final=state, reason=reason))
        if worker is not None or not changed or verdict not in ("pass", "absent"):
            session.code = session.code or 1
        return state

    def _check(self, found: Capture, outcome: CommitOutcome) -> Verified:
        """Verify the workspace as the second seed does, also after a worker that failed or did nothing."""
        session, unit, path = self.session, self.unit, self.site.workspace.path
        request = session.request
        session.note(UnitVerifying())
        # What the branch has from before is looked at again, though nothing came of this worker.
        skip = {"committed": "", "own": "", "earlier": "", "empty": "no changes"}.get(outcome.state, "not committed")
        confinement = wish_for_worker(unit.executor, unit.sandbox, request.verify.sandbox, walled=unit.walled)
        view = view_for(session.repository, request.settings, lambda: found.changed)
        env, temporary = request.executor.env, temporary_of(session, path)
        with surroundings(confinement, path, temporary, {}, env, view=view) as usual:
            around = replace(usual, grace=request.limits.grace, output_max=request.limits.output_max)
            verified = verify(request.verify, path, session.folder, around=around, skip=skip, stop=session.stop)
        session.tell(verified.line)
        noted = UnitVerified(checked=verdict_row(verified.verdict), tree=found.tree)
        notes = verified.verdict.notes
        session.note(noted.into(UnitVerified, check_notes=notes) if notes else noted)
        return verified


# What the work came to, where its worker ended well.
_STATES = {"committed": "ready", "own": "ready", "earlier": "ready", "empty": "empty"}

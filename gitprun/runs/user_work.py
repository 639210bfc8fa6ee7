"""``git prun exec``: one worker in a named workspace, in the foreground; its work is committed there and verified."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from gitprun.capture.capture import Capture, capture, changed_paths, require_ended
from gitprun.capture.context import CaptureContext
from gitprun.capture.preview import list_work
from gitprun.executors.base import Ending, WorkerPaths
from gitprun.executors.catalog import require_executor
from gitprun.git.environment import ceilings
from gitprun.git.layout import require_seen_checkout
from gitprun.git.refs import read_ref
from gitprun.git.repo import Repository
from gitprun.guards.install import claude_guard
from gitprun.guards.shims import guard_environment
from gitprun.ledger.events import UnitState
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.outcome import ending_row, exit_row, judge_worker, verdict_row
from gitprun.ledger.roster import NAMED, flat
from gitprun.ledger.unit_events import (
    UnitCaptured,
    UnitExited,
    UnitFinished,
    UnitPreparing,
    UnitStarted,
    UnitVerified,
    UnitVerifying,
)
from gitprun.model.errors import PrunError
from gitprun.model.names import Oid
from gitprun.model.prompts import BYPASS, bypass_wanted, without_bypass
from gitprun.model.units import Exit
from gitprun.observe.linked import begin_look, end_look
from gitprun.observe.snapshotter import DriftObserver, suspect_of
from gitprun.registry.finish import settle_named
from gitprun.registry.fork import fork_of
from gitprun.registry.site import alone, open_site
from gitprun.runs.listen import read_output
from gitprun.runs.messages import Facts, commit_message
from gitprun.runs.request import Session, WorkerErrand
from gitprun.runs.user_commit import CommitOutcome, Work, commit_work, describe_stat
from gitprun.runs.user_verify import Verified, verify
from gitprun.runs.walls import require_walls, wall_worker
from gitprun.supervisor.process import ProcessIdentity, Stop, probe_identity, run, worker_environment
from gitprun.system.files import write_whole
from gitprun.verify.surroundings import surroundings, wish_for_worker
from gitprun.verify.view import view_for
from gitprun.workspaces.scratch import drop_temporary, make_temporary

LAST = 256_000


def work_in(
    repository: Repository,
    ledger: Ledger,
    place: UnitState,
    errand: WorkerErrand,
    *,
    say: Callable[[str], None],
    warn: Callable[[str], None],
    stop: Stop,
) -> int:
    """Run a worker in a workspace, commit and verify its work, and give the exit code.

    The worker's own code when it failed; else 1 when nothing was committed or the verification is no pass; else 0.
    """
    require_walls(errand.unit)
    require_seen_checkout(repository)
    session = Session(repository, ledger, place, errand, say, warn, stop)
    errand.log.parent.mkdir(parents=True, exist_ok=True)
    with alone(repository, place):
        place = session.place = settle_named(repository, ledger, place)
        site = open_site(repository, place, settings=errand.collect, anew=True)
        left = list_work(site)
        if left:
            warn(f"{place.id} holds uncommitted work already (such as {left[0]}); it will be part of the commit")
        me = probe_identity(os.getpid())
        session.note(
            UnitPreparing(
                coordinator=me,
                executor=errand.unit.executor,
                mode="write",
                slug=errand.unit.id,
                log=str(errand.log),
                sandbox=errand.unit.sandbox,
                walled=errand.unit.walled,
            )
        )
        try:
            return _live(session, site)
        except BaseException as problem:
            reason = problem.message if isinstance(problem, PrunError) else repr(problem)
            session.note(UnitFinished(final="broken", reason=reason))
            raise


def _live(session: Session, site: CaptureContext) -> int:
    errand, branch = session.errand, str(site.workspace.branch)
    session.tell(f"{datetime.now(UTC):%H:%M:%SZ} pid={os.getpid()} branch={branch} starting")
    session.start = errand.log.stat().st_size
    with _watched(session, site):
        ended, ending = _run_worker(session, site)
    worker = judge_worker(ended, ending.state)
    session.note(UnitExited(exit=exit_row(ended), ending=ending_row(ending)))
    session.tell(f"exit={ended.shell_code} runtime={ended.seconds:.0f}s")
    if worker is not None:
        why = ending.reason or ended.detail or f"exit code {ended.shell_code}"
        session.warn(f"the worker ended as {worker}: {why}")
    require_ended(ended.survivors)
    if site.workspace.kind == "worktree":
        # What the worker committed there itself stays; its work goes on top.
        site = replace(site, onto=read_ref(site.repo, f"refs/heads/{branch}"))
    with _uncommitted_stays_news(site) as committed:
        found = capture(site, NAMED, session.place.id)
        outcome = commit_work(_work(session, site, found, ended, worker))
        committed.append(outcome.state != "kept")
    _report(session, site, found, outcome)
    state, code = _judge(worker, outcome, ended), ended.shell_code if worker is not None else 0
    reason = ending.reason if worker is not None else outcome.reason
    if state == "empty" and found.inner:
        state, reason = "unverified", f"its commits are inside the submodule {found.inner[0]}, kept and in no tree"
    if session.stop.is_set():
        # Nobody waits for a verification now.
        session.note(UnitFinished(final=state, reason=reason))
        return code or 1
    session.note(UnitVerifying())
    changed = outcome.state in ("committed", "own")
    # What the branch has from before is looked at again, though nothing came of this worker.
    skip = (
        "" if changed or outcome.state == "earlier" else "no changes" if outcome.state == "empty" else "not committed"
    )
    unit = errand.unit
    wish = wish_for_worker(unit.executor, unit.sandbox, errand.verify.sandbox, walled=unit.walled)
    path, env = site.workspace.path, errand.settings.env
    view = view_for(session.repository, errand.collect, lambda: found.changed)
    with surroundings(wish, path, _temporary(session, path), {}, env, view=view) as around:
        verified = verify(errand.verify, path, session.folder, around=around, skip=skip, stop=session.stop)
    session.tell(verified.line)
    _note_verdict(session, verified, found)
    bad = verified.verdict.state not in ("pass", "absent")
    if state == "ready" and verified.verdict.state != "pass":
        state, reason = "unverified", verified.verdict.reason
        if verified.verdict.state == "absent":
            session.warn("nothing proves this work: no check is declared and none was found (POST_VERIFY_CMD)")
    session.note(UnitFinished(final=state, reason=reason))
    return code or (1 if worker is not None or not changed or bad else 0)


@contextmanager
def _watched(session: Session, site: CaptureContext) -> Iterator[None]:
    """Look at the user's repository before and after the worker, and tell what changed meanwhile."""
    root = session.repository.home.parent / "\0"
    witness = DriftObserver(session.repository, session.ledger, NAMED, root, session.place.id)
    begin_look(linked := session.folder / "linked.json", site.workspace.path, site.workspace.provided)
    note = witness.begin(suspect_of(NAMED, session.place.id, site.workspace))
    if note:
        session.warn(note)
    try:
        yield
    finally:
        try:
            seen = end_look(linked)
            for path in seen.linked if seen is not None else ():
                session.warn(f"changed in your checkout while it ran, through what is linked: {path}")
            for one in witness.end(f"{NAMED}/{session.place.id}"):
                if one.gate or one.thing.kind == "ref":
                    session.warn(f"changed in your repository while it ran: {one.text}")
        except PrunError as problem:
            session.warn(problem.message)
        witness.close()


def _run_worker(session: Session, site: CaptureContext) -> tuple[Exit, Ending]:
    """Start the worker and wait for its end; all it prints goes to the log."""
    errand, unit, folder = session.errand, session.errand.unit, session.folder
    path = site.workspace.path
    executor = require_executor(unit.executor)
    temporary = _temporary(session, path)
    make_temporary(temporary)
    home = str(session.repository.top or session.repository.common)
    last = folder / "last-message.txt"
    last.unlink(missing_ok=True)
    place = WorkerPaths(
        cwd=str(path),
        result="",
        last_message=str(last),
        repository=home,
        temporary=str(temporary),
        guard=claude_guard(),
    )
    prompt = unit.prompt
    if bypass_wanted(unit, errand.settings) and without_bypass(prompt) == prompt:
        prompt = f"{BYPASS}\n\n{prompt}"
    launch = executor.launch(unit, prompt.rstrip("\n") + "\n", place, errand.settings)
    write_whole(folder / "prompt.md", launch.stdin)
    own = {"PRUN_RUN": NAMED, "PRUN_UNIT": unit.id, "PRUN_REPO": home, "PRUN_BASE": site.base}
    # Without a .git there, git must not find a repository around it.
    own |= ceilings(os.environ, path)

    def started(identity: ProcessIdentity | None) -> None:
        session.note(UnitStarted(process=identity, program=launch.argv[0]))

    cell, walled = wall_worker(unit, path, temporary, worker_environment(dict(launch.env)))
    given = worker_environment(walled | dict(launch.env))
    if site.workspace.kind == "worktree":
        own |= guard_environment(session.repository, path, site.workspace.branch, given.get("PATH"))
    try:
        ended = run(
            (*cell.prefix, *launch.argv),
            cwd=path,
            env=given | own,
            stdin=launch.stdin,
            stdout=errand.log,
            timeout=unit.timeout,
            stop=session.stop,
            record=folder,
            started=started,
            confine=cell.confine,
        )
    finally:
        drop_temporary(temporary)
    if ended.reason == "not-started":
        session.warn(f"{launch.argv[0]} could not be started: {ended.detail}")
    if not errand.log.is_file():
        session.warn(f"{errand.log} is gone: somebody deleted it while the worker ran")
        errand.log.touch()
        session.start = 0
    _close_line(errand.log)
    session.end = errand.log.stat().st_size
    return ended, executor.ending(read_output(errand.log, session.start), ended)


def _temporary(session: Session, path: Path) -> Path:
    return path.parents[unit_depth(session.place.id)] / ".tmp" / f"{flat(session.place.id)}-{os.getpid()}"


def unit_depth(name: str) -> int:
    """Count how many folders a name lies below the place of all workspaces, less one."""
    return name.count("/")


@contextmanager
def _uncommitted_stays_news(site: CaptureContext) -> Iterator[list[bool]]:
    """Give the index back as it was unless the block says that the work is committed: what is not stays a change."""
    index = site.workspace.index
    assert index is not None
    before = index.with_name("index.before")
    shutil.copy2(index, before)
    committed: list[bool] = []
    try:
        yield committed
    finally:
        if any(committed):
            before.unlink()
        else:
            os.replace(before, index)


def _close_line(log: Path) -> None:
    """End the worker's last line, so that ours begins one."""
    with open(log, "rb+") as target:
        if target.seek(0, os.SEEK_END):
            target.seek(-1, os.SEEK_END)
            if target.read(1) != b"\n":
                target.write(b"\n")


def _work(session: Session, site: CaptureContext, found: Capture, ended: Exit, worker: str | None) -> Work:
    """Put together what is to be committed, and what speaks against it."""
    # The captured tree is not in the user's repository yet.
    errand, git = session.errand, site.git
    obstacle = ""
    if found.unfinished:
        obstacle = f"the worker left a {found.unfinished} half done"
    elif worker is not None and not errand.commit_failed:
        obstacle = f"the worker ended as {worker}"

    def message(parent: Oid) -> str:
        facts = Facts(
            slug=errand.unit.id,
            prompt=errand.unit.prompt,
            branch=str(site.workspace.branch),
            seconds=ended.seconds,
            code=ended.shell_code,
            pid=os.getpid(),
            timestamp=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
            files=found.changed,
            stat=describe_stat(git, parent, found.tree),
            output=_last_lines(session),
            source=_source(errand),
            own_commits=found.own_commits if site.workspace.kind == "clone" else (),
            failed=worker is not None,
        )
        return commit_message(errand.level, facts)

    fork = fork_of(session.repository, session.place, site.base)
    return Work(
        site=site, name=session.place.id, found=found, who=errand.who, obstacle=obstacle, fork=fork, message=message
    )


def _last_lines(session: Session) -> list[str]:
    """Say in plain lines what the worker did last."""
    log, progress = session.errand.log, require_executor(session.errand.unit.executor).progress
    with open(log, "rb") as source:
        source.seek(max(session.start, session.end - LAST))
        rows = source.read(session.end - source.tell()).split(b"\n")
    return [seen.text for row in rows if (seen := progress(row)) is not None]


def _source(errand: WorkerErrand) -> str:
    unit = errand.unit
    if unit.executor == "command":
        return " ".join(unit.command)
    program = "codex exec" if unit.executor == "codex" else "claude -p"
    return f"{program} ({unit.model or 'default'} {unit.reasoning or 'default'} reasoning)"


def _report(session: Session, site: CaptureContext, found: Capture, outcome: CommitOutcome) -> None:
    """Say what became of the work, in the seed's words where it has any, and write it down."""
    own = f"{outcome.own} commit{'s' if outcome.own != 1 else ''} of the worker's own"
    if outcome.state == "committed":
        session.tell("committed" + (f" (beside {own})" if outcome.own else ""))
    elif outcome.state == "own":
        session.tell(f"committed by the worker itself ({own})")
    elif outcome.state in ("earlier", "empty") and not outcome.own:
        session.tell("no changes detected, skipping commit")
        if outcome.earlier:
            count = f"{outcome.earlier} commit{'s' if outcome.earlier > 1 else ''}"
            session.tell(f"the branch {site.workspace.branch} has {count} from before, verified again")
    else:
        pinned = f"; the work is pinned as {outcome.ref}" if outcome.ref else ""
        beside = f"; {own} stay on the branch" if outcome.own else ""
        session.tell(f"not committed: {outcome.reason}{pinned}{beside}")
    for row in found.left_out[:10]:
        session.warn(f"left out of the commit: {row.path} ({row.reason})")
    for text in (*found.notes, *outcome.notes):
        if not text.startswith("hooks not run"):
            session.warn(text)
    ref = outcome.ref or f"refs/heads/{site.workspace.branch}"
    captured = found.row.into(UnitCaptured, commit=outcome.commit, ref=ref, committed=outcome.state)
    session.note(captured.joined(_since_fork(session, site, found)))


def _since_fork(session: Session, site: CaptureContext, found: Capture) -> UnitCaptured:
    """Return what the workspace changed since its branch forked, not only in this errand."""
    fork = fork_of(session.repository, session.place, site.base)
    if fork == site.base:
        return UnitCaptured()
    changed = tuple(changed_paths(site.store, fork, found.tree))
    return UnitCaptured(changed=changed, files=len(changed))


def _judge(worker: str | None, outcome: CommitOutcome, ended: Exit) -> str:
    if worker is not None:
        return worker
    return {"committed": "ready", "own": "ready", "earlier": "ready", "empty": "empty"}.get(outcome.state, "failed")


def _note_verdict(session: Session, verified: Verified, found: Capture) -> None:
    verdict = verified.verdict
    row = UnitVerified(checked=verdict_row(verdict), tree=found.tree)
    session.note(row.into(UnitVerified, check_notes=verdict.notes) if verdict.notes else row)

"""A unit's worker: started, listened to, waited for; also one that somebody else started."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from gitprun.executors.base import Ending, Launch, Progress, WorkerPaths
from gitprun.executors.catalog import require_executor
from gitprun.executors.codex import Codex
from gitprun.git.environment import ceilings
from gitprun.guards.install import claude_guard
from gitprun.guards.shims import guard_environment
from gitprun.ledger.events import UnitState
from gitprun.ledger.stall import was_ended
from gitprun.ledger.unit_events import UnitStarted
from gitprun.model.prompts import assemble_prompt, continue_prompt
from gitprun.model.units import ExecutorSettings, Exit, Unit
from gitprun.runs.context import Attempt, RunContext
from gitprun.runs.listen import Listener, read_output
from gitprun.runs.stall_watch import Subject
from gitprun.runs.walls import wall_worker
from gitprun.supervisor.process import (
    KILLED,
    ProcessIdentity,
    end_orphans,
    find_warden,
    new_mark,
    read_exit,
    run,
    wait_for_stranger,
    worker_environment,
)
from gitprun.system.files import write_whole
from gitprun.workspaces.base import OUTBOX, Workspace
from gitprun.workspaces.scratch import drop_temporary, make_temporary


def work(context: RunContext, unit: Unit, attempt: Attempt, workspace: Workspace) -> tuple[Exit, Ending]:
    """Start the worker, listen to it, wait for its end."""
    folder = context.folder(unit)
    temporary = temporary_of(workspace, unit)
    # A coordinator that was killed left it there.
    drop_temporary(temporary)
    make_temporary(temporary)
    launch = _launch(context, unit, attempt, workspace, temporary)
    write_whole(folder / "prompt.md", launch.stdin)
    output = folder / "output.log"
    own = {
        "PRUN_RUN": context.run,
        "PRUN_UNIT": unit.id,
        "PRUN_RESULT": str(_result_file(workspace)),
        "PRUN_REPO": _home(context),
        "PRUN_BASE": attempt.base,
    }
    # Without a .git there, git must not find a repository around it.
    own |= ceilings(os.environ, workspace.path)
    cell, walled = wall_worker(unit, workspace.path, temporary, worker_environment(dict(launch.env)))
    given = worker_environment(walled | dict(launch.env))
    if workspace.kind == "worktree":
        own |= guard_environment(context.repository, workspace.path, workspace.branch, given.get("PATH"))
    mark = new_mark()
    subject = _subject(context, unit, workspace, output)

    def started(identity: ProcessIdentity | None) -> None:
        context.note(unit, UnitStarted(process=identity, program=launch.argv[0], log=str(output), mark=mark))
        subject.warden = identity

    try:
        with _attended(context, unit, subject):
            ended = run(
                (*cell.prefix, *launch.argv),
                cwd=workspace.path,
                env=given | own,
                stdin=launch.stdin,
                stdout=output,
                timeout=unit.timeout,
                grace=context.grace,
                stop=context.stop,
                record=folder,
                started=started,
                mark=mark,
                confine=cell.confine,
                output_max=context.output_max,
            )
    finally:
        drop_temporary(temporary)
    ended = _judge_stop(context, ended, subject.ended)
    return ended, _read_ending(unit, output, ended)


def rejoin(context: RunContext, unit: Unit, known: UnitState, workspace: Workspace) -> tuple[Exit, Ending]:
    """Wait for a worker whose coordinator is gone, be it alive or ended; a stop reaches it too."""
    folder = context.folder(unit)
    output = folder / "output.log"
    warden = known.process or find_warden(folder)
    subject = _subject(context, unit, workspace, output)
    subject.warden, subject.stalled = warden, known.stalled is not None
    if warden is not None:
        with _attended(context, unit, subject):
            wait_for_stranger(warden, context.stop)
    drop_temporary(temporary_of(workspace, unit))
    ended = read_exit(folder / "exit.json")
    if ended is None:
        # Before anything is read: what the worker had started may write on.
        ended = end_orphans(folder, known.mark, context.grace)
    ended = _judge_stop(context, ended, subject.ended or was_ended(known))
    return ended, _read_ending(unit, output, ended)


def _subject(context: RunContext, unit: Unit, workspace: Workspace, output: Path) -> Subject:
    """Say what of a worker is watched for a stall."""
    places = (workspace.path, temporary_of(workspace, unit))
    return Subject(output, places, lambda payload: context.note(unit, payload))


@contextmanager
def _attended(context: RunContext, unit: Unit, subject: Subject) -> Iterator[None]:
    """Listen to a worker, and watch it for a stall, while the block runs."""
    executor = require_executor(unit.executor)
    listener = Listener(subject.output, lambda line: _hear(context, unit, executor.progress(line)))
    with listener, context.stalls.watching(subject):
        yield


def _judge_stop(context: RunContext, ended: Exit, stalled: bool) -> Exit:
    """Tell a worker that was ended for its stall from one that was stopped on request."""
    if not stalled or ended.reason != "stopped" or ended.detail == KILLED or context.stop.is_set():
        return ended
    limit = context.stalls.limit
    return replace(ended, reason="stalled", detail=f"no output and no change of a file for {limit:g} s")


def _launch(context: RunContext, unit: Unit, attempt: Attempt, workspace: Workspace, temporary: Path) -> Launch:
    """Say how to start the worker: with the whole prompt, or where its thread broke off."""
    settings = context.settings.executors.get(unit.executor, ExecutorSettings())
    executor = require_executor(unit.executor)
    place = WorkerPaths(
        cwd=str(workspace.path),
        result=str(_result_file(workspace)),
        last_message=str(context.folder(unit) / "last-message.txt"),
        repository=_home(context),
        temporary=str(temporary),
        guard=claude_guard(),
    )
    prompt = assemble_prompt(unit, settings, verify=context.verify, outbox=OUTBOX)
    launch = executor.launch(unit, prompt, place, settings)
    if attempt.thread is not None and isinstance(executor, Codex):
        return executor.resume(launch, attempt.thread, continue_prompt(unit.id, outbox=OUTBOX))
    return launch


def _home(context: RunContext) -> str:
    return str(context.repository.top or context.repository.common)


def _result_file(workspace: Workspace) -> Path:
    return workspace.path / OUTBOX / "result.md"


def temporary_of(workspace: Workspace, unit: Unit) -> Path:
    """Name the folder for temporary files of a unit: its worker's, and its checks' after that."""
    return workspace.path.parent / ".tmp" / unit.id


def _hear(context: RunContext, unit: Unit, progress: Progress | None) -> None:
    if progress is not None:
        context.heard(unit.id, progress)


def _read_ending(unit: Unit, output: Path, ended: Exit) -> Ending:
    if ended.reason in ("stopped", "not-started"):
        # Its end may have come before anybody opened that file. Else one that is not there was deleted.
        with open(output, "ab"):
            pass
    lines = read_output(output) if output.is_file() else iter(())
    return require_executor(unit.executor).ending(lines, ended)

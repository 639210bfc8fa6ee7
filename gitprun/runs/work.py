"""A unit's worker: started, listened to, waited for; also one that somebody else started."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

from gitprun.executors.base import Ending, Launch, Place, Progress
from gitprun.executors.catalog import require_executor
from gitprun.executors.codex import Codex
from gitprun.guards.install import claude_guard
from gitprun.prompts import assemble_prompt, continue_prompt
from gitprun.runs.context import Attempt, RunContext
from gitprun.runs.events import UnitState
from gitprun.runs.listen import Listener
from gitprun.system.files import read_lines, write_whole
from gitprun.system.process import (
    Identity,
    find_warden,
    read_exit,
    run,
    wait_for_stranger,
    worker_environment,
)
from gitprun.units import ExecutorSettings, Exit, Unit
from gitprun.workspaces.base import OUTBOX, Workspace
from gitprun.workspaces.scratch import drop_temporary, make_temporary

# What `run` says of a warden that left no record.
LOST = "the warden process was killed, and the worker with it"


def work(context: RunContext, unit: Unit, attempt: Attempt, workspace: Workspace) -> tuple[Exit, Ending]:
    """Start the worker, listen to it, wait for its end."""
    executor, folder = require_executor(unit.executor), context.folder(unit)
    temporary = _temporary(workspace, unit)
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

    def started(identity: Identity | None) -> None:
        who = asdict(identity) if identity else {}
        context.note(unit, "started", process=who, program=launch.argv[0], log=str(output))

    try:
        with Listener(output, lambda line: _hear(context, unit, executor.progress(line))):
            ended = run(
                launch.argv,
                cwd=workspace.path,
                env=worker_environment(dict(launch.env) | own),
                stdin=launch.stdin,
                stdout=output,
                timeout=unit.timeout,
                grace=context.grace,
                stop=context.stop,
                record=folder,
                started=started,
            )
    finally:
        drop_temporary(temporary)
    return ended, _read_ending(unit, output, ended)


def rejoin(context: RunContext, unit: Unit, known: UnitState, workspace: Workspace) -> tuple[Exit, Ending]:
    """Wait for a worker whose coordinator is gone, be it alive or ended; a stop reaches it too."""
    executor, folder = require_executor(unit.executor), context.folder(unit)
    record, output = known.facts.get("process"), folder / "output.log"
    warden = Identity(**record) if record else find_warden(folder)
    with Listener(output, lambda line: _hear(context, unit, executor.progress(line))):
        if warden is not None:
            wait_for_stranger(warden, context.stop)
    drop_temporary(_temporary(workspace, unit))
    ended = read_exit(folder / "exit.json")
    if ended is None:
        ended = Exit(code=None, signal=None, reason="stopped", seconds=0.0, detail=LOST)
    return ended, _read_ending(unit, output, ended)


def _launch(context: RunContext, unit: Unit, attempt: Attempt, workspace: Workspace, temporary: Path) -> Launch:
    """Say how to start the worker: with the whole prompt, or where its thread broke off."""
    settings = context.settings.executors.get(unit.executor, ExecutorSettings())
    executor = require_executor(unit.executor)
    place = Place(
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


def _temporary(workspace: Workspace, unit: Unit) -> Path:
    return workspace.path.parent / ".tmp" / unit.id


def _hear(context: RunContext, unit: Unit, progress: Progress | None) -> None:
    if progress is not None:
        context.heard(unit.id, progress)


def _read_ending(unit: Unit, output: Path, ended: Exit) -> Ending:
    with open(output, "ab"):
        pass
    return require_executor(unit.executor).ending(read_lines(output), ended)

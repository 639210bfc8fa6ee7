"""One worker: started in its sandbox, listened to, watched for a stall, waited for; also one that others started.

Runs, user workspaces and seed dispatch start theirs here and nowhere else, so that a limit one has all have.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from gitprun.executors.base import Ending, Launch, Progress
from gitprun.executors.catalog import require_executor
from gitprun.model.plan import Settings
from gitprun.model.units import DEFAULT_OUTPUT_MAX, Exit, Unit
from gitprun.runs.listen import Listener, read_output
from gitprun.runs.stall_watch import StallEvent, StallWatch, Subject
from gitprun.runs.worker_sandbox import wall_worker
from gitprun.supervisor.process import (
    DEFAULT_GRACE,
    KILLED,
    ProcessIdentity,
    ProcessLimits,
    ProcessSpec,
    Stop,
    end_orphans,
    find_supervisor,
    new_mark,
    read_exit,
    run,
    wait_for_stranger,
    worker_environment,
)
from gitprun.workspaces.scratch import drop_temporary, make_temporary


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerFiles:
    """Where one worker works (``cwd``), prints (``output``) and has its ``temporary`` files (None: where all do).

    ``record`` is the folder for what its supervisor writes down.
    """

    cwd: Path
    output: Path
    record: Path
    temporary: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerEvents:
    """Who hears of one worker while it works; each is called from whatever thread.

    ``started`` gets its supervisor, its mark and its launch, ``stalled`` that it has stalled or goes on.
    """

    started: Callable[[ProcessIdentity | None, str, Launch], None]
    stalled: Callable[[StallEvent], None]
    heard: Callable[[Progress], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerCall:
    """One worker to be started: how, where, within which limits.

    ``own`` is the environment it has from prun, ``guard`` says by its PATH what keeps its git from the user's refs.
    """

    unit: Unit
    launch: Launch
    files: WorkerFiles
    limits: ProcessLimits
    events: WorkerEvents
    stalls: StallWatch
    stop: Stop
    own: Mapping[str, str] = field(default_factory=dict)
    guard: Callable[[str | None], Mapping[str, str]] = lambda _path: {}


@dataclass(frozen=True, slots=True, kw_only=True)
class KnownWorker:
    """A worker that another process started: its supervisor, its mark, whether it counted as stalled, or was ended."""

    unit: Unit
    supervisor: ProcessIdentity | None
    mark: str
    stalled: bool
    was_ended: bool


def limits_of(unit: Unit, settings: Settings) -> ProcessLimits:
    """Return what bounds a worker: the time its unit has, and what settings say of the rest."""
    return ProcessLimits(
        timeout=unit.timeout,
        grace=settings.grace or DEFAULT_GRACE,
        output_max=settings.output_max or DEFAULT_OUTPUT_MAX,
    )


def run_worker(call: WorkerCall) -> Exit:
    """Start a worker and wait for the end of its whole tree of processes."""
    unit, files, launch = call.unit, call.files, call.launch
    if files.temporary is not None:
        # A coordinator that was killed left it there.
        drop_temporary(files.temporary)
        make_temporary(files.temporary)
    try:
        # As late as can be: what of its executor's state is there decides what the walls let in.
        sandbox, walled = wall_worker(unit, files.cwd, files.temporary, worker_environment(dict(launch.env)))
        given = worker_environment(walled | dict(launch.env))
        # The guards last: whatever the launch says of PATH, they stand in front of it.
        env = given | dict(call.own) | dict(call.guard(given.get("PATH")))
        mark = new_mark()
        subject = _subject(files, call.events)

        def started(identity: ProcessIdentity | None) -> None:
            call.events.started(identity, mark, launch)
            # Known from here on: a stall seen earlier can be said, and not yet be ended.
            subject.supervisor = identity

        with _attended(unit, subject, call.events, call.stalls):
            program = ProcessSpec(
                argv=(*sandbox.prefix, *launch.argv),
                cwd=files.cwd,
                env=env,
                stdin=launch.stdin,
                stdout=files.output,
                mark=mark,
                confine=sandbox.confine,
            )
            ended = run(program, call.limits, stop=call.stop, record=files.record, started=started)
    finally:
        if files.temporary is not None:
            drop_temporary(files.temporary)
    return _name_stall(ended, subject.ended, call.stop, call.stalls)


def rejoin_worker(
    known: KnownWorker, files: WorkerFiles, grace: float, events: WorkerEvents, stalls: StallWatch, stop: Stop
) -> Exit:
    """Wait for a worker whose coordinator is gone, be it alive or ended; a stop reaches it too."""
    # It may have been started by a coordinator that was killed before it could write that down.
    supervisor = known.supervisor or find_supervisor(files.record)
    subject = _subject(files, events)
    subject.supervisor, subject.stalled = supervisor, known.stalled
    if supervisor is not None:
        with _attended(known.unit, subject, events, stalls):
            wait_for_stranger(supervisor, stop)
    if files.temporary is not None:
        drop_temporary(files.temporary)
    ended = read_exit(files.record / "exit.json")
    if ended is None:
        # Before anything is read: what the worker had started may write on.
        ended = end_orphans(files.record, known.mark, grace)
    return _name_stall(ended, subject.ended or known.was_ended, stop, stalls)


def read_ending(unit: Unit, output: Path, ended: Exit, start: int = 0) -> Ending:
    """Read out of its output from ``start`` (in bytes) on how a worker's work ended."""
    if ended.reason in ("stopped", "not-started"):
        # Its end may have come before anybody opened that file. Else one that is not there was deleted.
        with open(output, "ab"):
            pass
    lines = read_output(output, start) if output.is_file() else iter(())
    return require_executor(unit.executor).ending(lines, ended)


def _subject(files: WorkerFiles, events: WorkerEvents) -> Subject:
    """Return what of a worker is watched for a stall."""
    places = (files.cwd, *([files.temporary] if files.temporary is not None else []))
    return Subject(files.output, places, events.stalled)


@contextmanager
def _attended(unit: Unit, subject: Subject, events: WorkerEvents, stalls: StallWatch) -> Iterator[None]:
    """Listen to a worker, and watch it for a stall, while the block runs."""
    executor = require_executor(unit.executor)

    def hear(line: bytes) -> None:
        progress = executor.progress(line)
        if progress is not None:
            events.heard(progress)

    with Listener(subject.output, hear), stalls.watching(subject):
        yield


def _name_stall(ended: Exit, stalled: bool, stop: Stop, stalls: StallWatch) -> Exit:
    """Distinguish a worker that was ended for its stall from one that was stopped on request."""
    # A stop that was asked for as well is the better reason.
    if not stalled or ended.reason != "stopped" or ended.detail == KILLED or stop.is_set():
        return ended
    detail = f"no output and no change of a file for {stalls.limit:g} s"
    return replace(ended, reason="stalled", detail=detail)

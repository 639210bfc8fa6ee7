"""Seed dispatch: a worker without a run, its state folder and its result file, in the first seed's protocol."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final, cast, get_args

from gitprun.executors.base import Ending, Launch, WorkerPaths
from gitprun.executors.catalog import require_executor
from gitprun.guards.install import claude_guard
from gitprun.ledger.retry_policy import RetryPolicy, read_retry_policy
from gitprun.model.errors import UsageProblem
from gitprun.model.names import nearest
from gitprun.model.plan import Settings
from gitprun.model.tables import parse_duration
from gitprun.model.units import DEFAULT_TIMEOUT, ExecutorSettings, Exit, Sandbox, Unit
from gitprun.registry.state_folder import (
    list_state_dirs,
    make_state_dir,
    place_of,
    read_line,
    read_state_dir,
    write_identity,
    write_line,
    write_record,
)
from gitprun.runs.attempt import Decision, ForegroundPolicy, Retry, Terms, Worked, WorkFound, make_attempts
from gitprun.runs.dispatch_result import FinalizedUnit, finalize_unit, has_content, last_message
from gitprun.runs.stall_watch import StallEvent, describe_stall, stall_watch_of
from gitprun.runs.worker import WorkerCall, WorkerEvents, WorkerFiles, limits_of, read_ending
from gitprun.supervisor.process import Stop, probe_identity, worker_environment
from gitprun.supervisor.programs import with_program
from gitprun.system.clock import Alarm, SteadyClock

# Both are the seed's: its callers count on them.
DEFAULT_SANDBOX: Final = "danger-full-access"
DEFAULT_REASONING: Final = "xhigh"
# No limit, in a number that a file can hold.
NO_LIMIT = 10 * 365 * 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchVariables:
    """What the seed's environment variables say about a worker; ``timeout`` in seconds."""

    sandbox: Sandbox = DEFAULT_SANDBOX
    reasoning: str = DEFAULT_REASONING
    isolate: bool = True
    program: str | None = None
    scratch: str | None = None
    timeout: float = DEFAULT_TIMEOUT


def read_variables(environment: Mapping[str, str]) -> DispatchVariables:
    """Read the seed's environment variables; raises UsageProblem that names the one that is wrong."""
    said = {name: environment.get(name) or "" for name in VARIABLES}
    sandbox = said["CODEX_DISPATCH_SANDBOX"] or DEFAULT_SANDBOX
    if sandbox not in get_args(Sandbox):
        meant = nearest(sandbox, get_args(Sandbox))
        raise UsageProblem(
            f"CODEX_DISPATCH_SANDBOX cannot be {sandbox!r}",
            f"one of: {', '.join(get_args(Sandbox))}" + (f" (meant {meant}?)" if meant else ""),
        )
    return DispatchVariables(
        sandbox=cast(Sandbox, sandbox),
        reasoning=said["CODEX_DISPATCH_REASONING"] or DEFAULT_REASONING,
        isolate=said["CODEX_DISPATCH_ISOLATE_MCP"].lower() != "off",
        program=said["CODEX_BIN"] or None,
        scratch=said["PRUN_SCRATCH_CWD"] or None,
        timeout=read_limit(said["CODEX_DISPATCH_TIMEOUT"], "CODEX_DISPATCH_TIMEOUT"),
    )


VARIABLES = (
    "CODEX_BIN",
    "CODEX_DISPATCH_SANDBOX",
    "CODEX_DISPATCH_REASONING",
    "CODEX_DISPATCH_ISOLATE_MCP",
    "CODEX_DISPATCH_TIMEOUT",
    "PRUN_SCRATCH_CWD",
)


def read_limit(text: str, name: str) -> float:
    """Read a time limit in seconds: that of a plan's units where it is empty, none if it is 0; raises UsageProblem."""
    if not text.strip():
        return DEFAULT_TIMEOUT
    if not text.strip("0 "):
        return NO_LIMIT
    seconds = parse_duration(text)
    if seconds is None:
        raise UsageProblem(f"{name}: invalid duration {text!r}", 'write seconds, or "90s", "40m", "1h30m"; 0 is off')
    return seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchSpec:
    """One worker to be dispatched without a run.

    State folders are made in ``base``, ``caller`` is the folder they are named by, ``scratch`` where the worker works
    (None: a folder of its own). ``project`` are the settings around it: limits, stalls, retries. ``retry`` says whether
    it is tried again at all: the seed's caller hears of each failure and decides itself.
    """

    unit: Unit
    executor: ExecutorSettings
    result: Path
    base: Path
    caller: str
    scratch: Path | None = None
    project: Settings = field(default_factory=Settings)
    retry: bool = False

    @property
    def retries(self) -> RetryPolicy:
        """Return how often the worker is tried again."""
        policy = read_retry_policy(self.project)
        return policy if self.retry else replace(policy, retries=0)


@dataclass(slots=True)
class DispatchPolicy(ForegroundPolicy):
    """One attempt in a state folder; ``announce`` hears that before the first worker starts, ``say`` what to know."""

    request: DispatchSpec
    stop: Stop
    announce: Callable[[Path], None]
    say: Callable[[str], None]
    clock: Alarm = field(default_factory=SteadyClock)
    tried: int = 0
    _at: tuple[Path, Path] | None = None
    _start: int = 0
    _ended: Exit | None = None

    @property
    def unit(self) -> Unit:
        """Return what is asked of the worker."""
        return self.request.unit

    @property
    def terms(self) -> Terms:
        """Return what the retry decision rests on."""
        return Terms(retries=self.request.retries, clock=self.clock, stop=self.stop, tried=self.tried)

    @property
    def folder(self) -> Path:
        """Return the state folder."""
        assert self._at is not None, "begun before anything else"
        return self._at[0]

    def begin(self) -> WorkerCall:
        """Make the state folder (once) and return the worker to start."""
        request, unit = self.request, self.unit
        first = self._at is None
        if self._at is None:
            self._at = self._make_folders()
        folder, cwd = self._at
        # That of the attempt before must not be taken for this one's.
        (folder / "last-message.txt").unlink(missing_ok=True)
        place = WorkerPaths(
            cwd=str(cwd),
            result=str(request.result),
            last_message=str(folder / "last-message.txt"),
            repository=str(cwd),
            guard=claude_guard(),
        )
        settings = with_program(unit.executor, request.executor, worker_environment({}).get("PATH"))
        launch = require_executor(unit.executor).launch(unit, unit.prompt, place, settings)
        if first:
            self._write_down(launch)
        output = folder / "tail"
        # The seed's one output file holds all attempts; only the last one tells how it ended.
        self._start = output.stat().st_size if output.exists() else 0
        return WorkerCall(
            unit=unit,
            launch=launch,
            files=WorkerFiles(cwd=cwd, output=output, record=folder),
            limits=limits_of(unit, request.project),
            events=WorkerEvents(
                started=lambda who, _mark, _launch: write_identity(folder, "warden.json", who),
                stalled=self._note_stall,
                heard=lambda _said: None,
            ),
            stalls=stall_watch_of(request.project),
            stop=self.stop,
            own={"PRUN_UNIT": unit.id, "PRUN_RESULT": str(request.result)},
        )

    def _make_folders(self) -> tuple[Path, Path]:
        """Check the result's path and make the folders: the state folder, and where the worker works."""
        request = self.request
        before = _require_result_path(request.result)
        # Before anything is made: two writers of one result, and nobody could tell whose it is.
        _require_nobody_else(request.base, request.result)
        _make(request.result.parent, "the folder of the result file")
        if request.scratch is not None:
            _make(request.scratch, "the working folder")
        folder = make_state_dir(request.base, request.caller, request.unit.id)
        write_line(folder, "pre-mtime", str(int(before)))
        return folder, request.scratch or _make(folder / "work", "the working folder")

    def _write_down(self, launch: Launch) -> None:
        """Write down what is about to be started, and who we are; then the result of an earlier run can go."""
        folder, unit, me = self.folder, self.unit, probe_identity(os.getpid())
        asked = {"unit": unit.id, "executor": unit.executor, "cwd": str(self._cwd), "argv": list(launch.argv)}
        write_record(folder, "dispatch.json", asked | {"dispatcher": asdict(me) if me else None})
        write_line(folder, "dispatch-pid", str(os.getpid()))
        write_line(folder, "timestamp", str(int(time.time())))
        # From here on whoever waits for this result knows that somebody is at work on it, so the old one can go.
        write_line(folder, "result-file", str(self.request.result))
        if (aside := _rotate(self.request.result)) is not None:
            said = "was there already; it is no result of this run and was moved to"
            self.say(f"{self.request.result} {said} {aside}")
        # The seed's one line: whoever reads it may rely on all the files above.
        self.announce(folder)

    @property
    def _cwd(self) -> Path:
        assert self._at is not None
        return self._at[1]

    def _note_stall(self, event: StallEvent) -> None:
        write_record(self.folder, "stall.json", event.stalled.as_json() if event.stalled is not None else {})
        self.say(describe_stall(self.unit.id, event))

    def watched(self) -> AbstractContextManager[None]:
        """Look at nothing: no repository need be there, and none is touched."""
        return nullcontext()

    def read_ending(self, ended: Exit) -> Ending:
        """Read how the work ended; one that never began says so where its output would be."""
        output = self.folder / "tail"
        with open(output, "ab") as target:
            if ended.reason == "not-started":
                target.write(f"git prun dispatch: {ended.detail}\n".encode(errors="replace"))
        return read_ending(self.unit, output, ended, self._start)

    def note_exit(self, worked: Worked) -> None:
        """Remember how the worker ended; its supervisor has written that down in the state folder already."""
        self._ended = worked.exit

    def capture(self, worked: Worked) -> WorkFound:
        """Look whether there is a result; all the rest is in the state folder as it came."""
        found = has_content(self.request.result) or bool(last_message(read_state_dir(self.folder), worked.ending))
        return WorkFound(changed=False, unfinished=False, result=found)

    def wait(self, worked: Worked, work: WorkFound, decision: Decision) -> None:
        """Write down, and say, that another attempt follows: nothing is salvaged before the last one."""
        retry = decision.retry
        assert retry is not None
        write_record(self.folder, "waiting.json", {"until": retry.until, "failure": retry.kind})
        when = datetime.fromtimestamp(retry.until, UTC)
        why = f" ({worked.reason})" if worked.reason else ""
        self.say(f"{self.unit.id} ended with exit code {worked.exit.shell_code}{why}; trying again at {when:%H:%M:%SZ}")

    def again(self, retry: Retry) -> DispatchPolicy:
        """Return the next attempt, in the same state folder."""
        self.tried += retry.counts
        return self

    def give_up(self) -> str:
        """End the unit as its last attempt left it; ``dispatch_unit`` sees to its result in any case."""
        return "stopped"

    def conclude(self, worked: Worked, work: WorkFound, decision: Decision) -> str:
        """Return how the unit ended; nothing checks its work but whoever gathers it."""
        if decision.why:
            self.say(f"{self.unit.id}: {decision.why}")
        return worked.state or ("done" if work.result else "failed")

    def finalize(self) -> FinalizedUnit:
        """See to the result file and write down what came of the unit."""
        return finalize_unit(self.folder, self._ended, self._start)


def dispatch_unit(policy: DispatchPolicy) -> FinalizedUnit:
    """Run one worker to its end and see to its result file; raises UsageProblem before anything was started."""
    make_attempts(policy)
    return policy.finalize()


def _require_result_path(result: Path) -> float:
    """Refuse a result path that is no file; returns the time of a file that is there already, or 0."""
    try:
        found = result.stat()
    except OSError:
        return 0.0
    if not stat.S_ISREG(found.st_mode):
        raise UsageProblem(f"the result file {result} is not a file", "name a file that is written anew")
    return found.st_mtime


def _require_nobody_else(base: Path, result: Path) -> None:
    """Refuse a result file another worker is still writing: neither would know whose it is."""
    for path in list_state_dirs(base):
        if place_of(read_line(path, "result-file")) == place_of(str(result)) and read_state_dir(path).alive:
            raise UsageProblem(
                f"another worker is still at work on {result} (state folder {path})",
                "give each unit a result file of its own, or wait for that one to end",
            )


def _make(folder: Path, what: str) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise UsageProblem(f"{what} {folder} cannot be made: {problem.strerror}") from None
    return folder


def _rotate(result: Path) -> Path | None:
    """Move a result that is there already aside, so that it is never taken for this run's."""
    if not has_content(result):
        return None
    # Older ones stay beside it: whose they are is not known here.
    number = 1
    while os.path.lexists(aside := result.with_name(f"{result.name}.stale-{number}")):
        number += 1
    try:
        os.rename(result, aside)
    except OSError as problem:
        raise UsageProblem(f"the old {result} cannot be moved aside: {problem.strerror}", "remove it") from None
    return aside

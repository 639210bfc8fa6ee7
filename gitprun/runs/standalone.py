"""One unit without a run: a worker, its output in a state folder, its result file, as the first seed dispatched it."""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, cast, get_args

from gitprun.executors.base import Launch, WorkerPaths
from gitprun.executors.catalog import require_executor
from gitprun.guards.install import claude_guard
from gitprun.model.errors import UsageProblem
from gitprun.model.names import nearest
from gitprun.model.tables import parse_duration
from gitprun.model.units import DEFAULT_TIMEOUT, ExecutorSettings, Sandbox, Unit
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
from gitprun.runs.finalize import FinalizedUnit, has_content, settle
from gitprun.supervisor.process import Stop, probe_identity, run, worker_environment
from gitprun.supervisor.programs import with_program

DEFAULT_SANDBOX: Final = "danger-full-access"
DEFAULT_REASONING: Final = "xhigh"
# No limit, in a number that a file can hold.
NO_LIMIT = 10 * 365 * 86400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Wishes:
    """What the seed's environment variables say about a worker; ``timeout`` in seconds."""

    sandbox: Sandbox = DEFAULT_SANDBOX
    reasoning: str = DEFAULT_REASONING
    isolate: bool = True
    program: str | None = None
    scratch: str | None = None
    timeout: float = DEFAULT_TIMEOUT


def read_wishes(environment: Mapping[str, str]) -> Wishes:
    """Read the seed's environment variables; raises UsageProblem that names the one that is wrong."""
    said = {name: environment.get(name) or "" for name in VARIABLES}
    sandbox = said["CODEX_DISPATCH_SANDBOX"] or DEFAULT_SANDBOX
    if sandbox not in get_args(Sandbox):
        meant = nearest(sandbox, get_args(Sandbox))
        raise UsageProblem(
            f"CODEX_DISPATCH_SANDBOX cannot be {sandbox!r}",
            f"one of: {', '.join(get_args(Sandbox))}" + (f" (meant {meant}?)" if meant else ""),
        )
    return Wishes(
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
        raise UsageProblem(f"{name} is no duration: {text!r}", 'write seconds, or "90s", "40m", "1h30m"; 0 is off')
    return seconds


def dispatch_unit(
    unit: Unit,
    settings: ExecutorSettings,
    result: Path,
    *,
    base: Path,
    caller: str,
    scratch: Path | None,
    stop: Stop,
    announce: Callable[[Path], None],
    say: Callable[[str], None],
) -> FinalizedUnit:
    """Run one worker to its end and see to its result file; raises UsageProblem before anything was started.

    ``announce`` hears the state folder before the worker starts, ``say`` everything a person should know.
    """
    before = _require_result_path(result)
    _require_nobody_else(base, result)
    _make(result.parent, "the folder of the result file")
    if scratch is not None:
        _make(scratch, "the working folder")
    folder = make_state_dir(base, caller, unit.id)
    cwd = scratch or _make(folder / "work", "the working folder")
    place = WorkerPaths(
        cwd=str(cwd),
        result=str(result),
        last_message=str(folder / "last-message.txt"),
        repository=str(cwd),
        guard=claude_guard(),
    )
    settings = with_program(unit.executor, settings, worker_environment({}).get("PATH"))
    launch = require_executor(unit.executor).launch(unit, unit.prompt, place, settings)
    _write_down(folder, unit, launch, cwd)
    write_line(folder, "pre-mtime", str(int(before)))
    # From here on whoever waits for this result knows that somebody is at work on it, so the old one can go.
    write_line(folder, "result-file", str(result))
    if (aside := _rotate(result)) is not None:
        say(f"{result} was there already; it is no result of this run and was moved to {aside}")
    announce(folder)
    ended = run(
        launch.argv,
        cwd=cwd,
        env=worker_environment(dict(launch.env) | {"PRUN_UNIT": unit.id, "PRUN_RESULT": str(result)}),
        stdin=launch.stdin,
        stdout=folder / "tail",
        timeout=unit.timeout,
        stop=stop,
        record=folder,
        started=lambda warden: write_identity(folder, "warden.json", warden),
    )
    with open(folder / "tail", "ab") as output:
        if ended.reason == "not-started":
            output.write(f"git prun dispatch: {ended.detail}\n".encode(errors="replace"))
    return settle(folder, ended)


def _write_down(folder: Path, unit: Unit, launch: Launch, cwd: Path) -> None:
    """Write down what is about to be started, and who we are."""
    me = probe_identity(os.getpid())
    asked = {"unit": unit.id, "executor": unit.executor, "cwd": str(cwd), "argv": list(launch.argv)}
    write_record(folder, "dispatch.json", asked | {"dispatcher": asdict(me) if me else None})
    write_line(folder, "dispatch-pid", str(os.getpid()))
    write_line(folder, "timestamp", str(int(time.time())))


def _require_result_path(result: Path) -> float:
    """Refuse a result path that is no file; gives the time of a file that is there already, or 0."""
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
    number = 1
    while os.path.lexists(aside := result.with_name(f"{result.name}.stale-{number}")):
        number += 1
    try:
        os.rename(result, aside)
    except OSError as problem:
        raise UsageProblem(f"the old {result} cannot be moved aside: {problem.strerror}", "remove it") from None
    return aside

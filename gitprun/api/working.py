"""One worker at a time: in a workspace of the user's own, or outside of any repository, and waiting for its result."""

from __future__ import annotations

import os
import shlex
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gitprun.api.opened import Opened, hear_no_line
from gitprun.api.settings import require_approved, settings_of
from gitprun.api.stopping import Stop
from gitprun.api.ticks import GatherDone
from gitprun.api.unseen import warn_absent
from gitprun.model.errors import PlanError, PrunError, UsageProblem
from gitprun.model.units import ExecutorSettings, Unit

if TYPE_CHECKING:
    from gitprun.ledger.events import UnitState
    from gitprun.model.plan import Settings
    from gitprun.runs.dispatch_unit import DispatchVariables
    from gitprun.runs.request import WorkerRequest

# What the seed asks of codex where nobody says otherwise; its model is gone from the service, so that is codex's own.
REASONING = "high"
# Waiting shorter than this would only keep a processor busy.
LEAST_POLL = 0.02
# How results are waited for, as the seed's scripts do: an hour in all, a look every five seconds, ten seconds of quiet.
TIMEOUT, POLL, WINDOW = 3600.0, 5.0, 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkRequest:
    """What a worker is to do in a workspace; ``slug`` names the piece of work.

    Whatever is None is as the ``environment`` says (COMMIT_LEVEL, CODEX_MODEL, CODEX_REASONING, POST_VERIFY_CMD,
    POST_VERIFY_TESTS), else ``prun.toml``. ``log`` is the folder for the worker's output, ``commit_failed`` commits a
    failed worker's work too. Quiet for as long as ``stall`` says counts as stalled (None: ``[run] stall``); ``retry``
    tries a worker its service failed again, as runs do.
    """

    name: str
    slug: str
    prompt: str
    executor: str | None = None
    command: str | None = None
    model: str | None = None
    reasoning: str | None = None
    sandbox: str | None = None
    timeout: str | None = None
    stall: str | None = None
    retry: bool = True
    bypass: bool = True
    commit_failed: bool = False
    log: Path | None = None
    environment: Mapping[str, str] | None = None


class NoSuchWorkspace(PrunError):
    """There is no workspace of that name, or its folder is gone."""


def work_in(
    opened: Opened, asked: WorkRequest, stop: Stop | None = None, line: Callable[[str], None] = hear_no_line
) -> int:
    """Run a worker in a workspace of the user's own, commit its work there and verify it; return the exit code.

    The worker's own code when it failed; else 1 when nothing was committed or it does not verify; else 0. Raises
    NoSuchWorkspace.
    """
    from gitprun.registry.open_workspace import WorkspaceGone
    from gitprun.runs.request import Session
    from gitprun.runs.user_work import work_in as work

    unit = require_workspace(opened, asked.name)
    request = _worker_request(opened, asked)
    setup = unit.setup
    if setup in ("not run", "failed"):
        opened.warn(f"the setup of {asked.name}: {setup}")
    warn_absent(opened, Path(unit.path), request.unit.prompt)
    try:
        return work(
            Session(
                repository=opened.repository,
                ledger=opened.ledger,
                place=unit,
                request=request,
                say=line,
                warn=opened.warn,
                stop=stop or Stop(),
            )
        )
    except WorkspaceGone as problem:
        raise NoSuchWorkspace(problem.message, problem.hint) from None


def require_workspace(opened: Opened, name: str) -> UnitState:
    """Find a workspace of the user's own by its name; raises NoSuchWorkspace."""
    from gitprun.ledger.roster import roster
    from gitprun.model.escapes import shell_word

    unit = roster(opened.ledger.read().events).units.get(name)
    if unit is None:
        raise NoSuchWorkspace(f"there is no workspace {name}", f"make it first: git prun new {shell_word(name)} BRANCH")
    return unit


def _worker_request(opened: Opened, asked: WorkRequest) -> WorkerRequest:
    """Put together what is asked: the request first, then the environment, then ``prun.toml``."""
    from gitprun.git.refs import read_signatures
    from gitprun.model.plan import DEFAULT_VERIFY_TIMEOUT
    from gitprun.model.powers import started_by
    from gitprun.runs.dispatch import require_programs
    from gitprun.runs.messages import read_level
    from gitprun.runs.request import WorkerRequest
    from gitprun.runs.user_verify import PostVerify
    from gitprun.supervisor.process import worker_environment
    from gitprun.supervisor.programs import with_program

    settings, repository = settings_of(opened), opened.repository
    environment = asked.environment or {}
    unit = _unit(asked, environment)
    # What makes a workspace ready was asked for when it was made.
    require_approved(opened, (one for one in started_by(settings.powers, {unit.executor}) if one.name != "setup"))
    require_programs((unit,), dict(settings.executors), repository.top or repository.common)
    configured = settings.executors.get(unit.executor, ExecutorSettings())
    return WorkerRequest(
        unit=unit,
        executor=with_program(unit.executor, configured, worker_environment({}).get("PATH")),
        level=read_level(environment.get("COMMIT_LEVEL", "")),
        verify=PostVerify(
            checks=environment.get("POST_VERIFY_CMD", ""),
            tests=environment.get("POST_VERIFY_TESTS", ""),
            declared=settings.verify,
            timeout=settings.verify_timeout or DEFAULT_VERIFY_TIMEOUT,
            sandbox=settings.verify_sandbox,
        ),
        commit_failed=asked.commit_failed,
        log=(asked.log or repository.state / "logs") / f"{asked.name}.log",
        who=read_signatures(repository.git),
        settings=_said(asked).over(settings),
    )


def _said(asked: WorkRequest) -> Settings:
    """Read what is asked for otherwise than ``[run]`` of prun.toml says."""
    from gitprun.model.plan import Settings
    from gitprun.model.tables import parse_duration

    stall = parse_duration(asked.stall) if asked.stall is not None else None
    if asked.stall is not None and not stall:
        raise UsageProblem(f"--stall: invalid duration {asked.stall!r}", 'write seconds, or "90s", "40m", "1h30m"')
    return Settings(stall=stall, retries=None if asked.retry else 0)


def _unit(asked: WorkRequest, environment: Mapping[str, str]) -> Unit:
    """Make the unit; what a plan file would refuse is refused here in the same words."""
    from gitprun.model.plan import Settings, parse_unit
    from gitprun.model.tables import Table
    from gitprun.runs.dispatch_unit import NO_LIMIT

    try:
        command = shlex.split(asked.command) if asked.command is not None else None
    except ValueError as problem:
        raise UsageProblem(f"--command cannot be split into words: {problem}", "close every quote") from None
    executor = asked.executor or ("command" if command else "codex")
    codex = executor == "codex"
    reasoning = asked.reasoning or (environment.get("CODEX_REASONING") or REASONING if codex else None)
    model = asked.model or (environment.get("CODEX_MODEL") if codex else None)
    rows = {"id": asked.slug, "prompt": asked.prompt, "executor": executor, "command": command}
    rows |= {"timeout": asked.timeout, "model": model or None, "reasoning": reasoning, "sandbox": asked.sandbox}
    known = {key: value for key, value in rows.items() if value is not None}
    unit = parse_unit(Table(known, "the command line"), lambda _: "", Settings())
    if asked.timeout is None:
        unit = replace(unit, timeout=NO_LIMIT)
    return unit if asked.bypass else replace(unit, bypass=False)


def read_prompt_file(start: Path, path: str) -> str:
    """Read a prompt from a file; a relative path is meant from ``start``. Raises PlanError."""
    from gitprun.system.config import read_prompt

    return read_prompt(start / path, shown=path)


@dataclass(frozen=True, slots=True, kw_only=True)
class DispatchRequest:
    """One worker on one prompt, outside of any run; what the ``environment`` says are the seed's variables.

    ``start`` is the folder that relative paths are meant from, ``result_file`` is written by the worker.
    ``retry`` tries a worker its service failed again, as runs do; the seed's caller hears of each failure, and decides.
    """

    start: Path
    prompt_file: str
    result_file: str
    unit: str
    executor: str = "codex"
    model: str | None = None
    timeout: str | None = None
    retry: bool = False
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Dispatched:
    """How a worker ended: the exit code a shell would see, why, and what its result is (``problem``: it has none).

    ``killed``: its supervisor was killed, and the worker with it, though nobody asked.
    """

    unit: str
    code: int
    reason: str
    problem: str
    fallback: bool
    killed: bool


def dispatch(
    asked: DispatchRequest,
    *,
    stop: Stop,
    announce: Callable[[str, Path], None],
    tell: Callable[[str], None],
) -> Dispatched:
    """Run one worker and see to it that its result file is written; no repository is needed, none is touched.

    ``announce`` hears the unit and its state folder before the worker starts. Raises UsageProblem before that.
    """
    from gitprun.registry.state_folder import state_base
    from gitprun.runs.dispatch_unit import DispatchPolicy, DispatchSpec, dispatch_unit, read_variables

    start, wishes = asked.start, read_variables(asked.environment)
    unit, executor, project = _dispatched_unit(asked, wishes)
    spec = DispatchSpec(
        unit=unit,
        executor=executor,
        result=(start / asked.result_file).absolute(),
        base=state_base(asked.environment),
        caller=_caller(start, asked.environment),
        scratch=(start / wishes.scratch).absolute() if wishes.scratch else None,
        project=project,
        retry=asked.retry,
    )
    done = dispatch_unit(DispatchPolicy(spec, stop, lambda path: announce(unit.id, path), tell))
    return Dispatched(
        unit=unit.id,
        code=done.ended.shell_code,
        reason=done.ending.reason,
        problem=done.problem,
        fallback=done.fallback,
        killed=done.ended.reason == "stopped",
    )


def _dispatched_unit(asked: DispatchRequest, wishes: DispatchVariables) -> tuple[Unit, ExecutorSettings, Settings]:
    """Make the unit, and the settings of its executor and around it: the environment wins over ``prun.toml``."""
    from gitprun.model.names import parse_unit_id
    from gitprun.runs.dispatch_unit import read_limit

    try:
        name, prompt = parse_unit_id(asked.unit, "--unit-id"), read_prompt_file(asked.start, asked.prompt_file)
    except PlanError as problem:
        raise UsageProblem(problem.message, problem.hint) from None
    limit = read_limit(asked.timeout, "--timeout") if asked.timeout is not None else wishes.timeout
    codex = asked.executor == "codex"
    own = _program(asked.start, wishes.program) if codex else None
    project = _configured(asked.start, asked.executor, own)
    configured = project.executors.get(asked.executor, ExecutorSettings())
    settings = replace(configured, program=own or configured.program, isolate=configured.isolate and wishes.isolate)
    unit = Unit(
        id=name,
        prompt=prompt,
        executor=asked.executor,
        model=asked.model,
        timeout=limit,
        sandbox=wishes.sandbox,
        # Without isolation the user's own configuration says how hard to think.
        reasoning=wishes.reasoning if codex and settings.isolate else None,
    )
    return unit, settings, project


def _configured(start: Path, executor: str, own: str | None) -> Settings:
    """Read what ``prun.toml`` says, where there is a repository around; ``own``: not of the executor's program."""
    from gitprun.git.repo import find_repository
    from gitprun.model.plan import Settings
    from gitprun.system.config import read_settings
    from gitprun.workspaces.trust import require_trusted

    try:
        repository = find_repository(start)
    except PrunError:
        return Settings()
    settings = read_settings(repository.top)
    asked = (power for power in settings.powers if power.executor == executor)
    require_trusted(repository, (power for power in asked if not (own and power.name == "program")))
    return settings


def _program(start: Path, program: str | None) -> str | None:
    """Take a program named by a relative path from the folder of the caller, not of the worker."""
    return str(start / program) if program and os.sep in program else program


def _caller(start: Path, environment: Mapping[str, str]) -> str:
    """Name the folder as ``pwd`` in the calling shell does."""
    named = environment.get("PWD", "")
    try:
        return named if os.path.isabs(named) and os.path.samefile(named, start) else str(start)
    except OSError:
        return str(start)


def last_lines(output: Path, lines: int, size: int) -> list[str]:
    """Return the last lines of a worker's output as a person would have read them; ``size`` bytes are read."""
    from gitprun.executors.compact import readable_output
    from gitprun.system.files import tail

    return readable_output(tail(output, size)).rstrip("\n").split("\n")[-lines:]


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherRequest:
    """Which result files to wait for, and how: ``timeout`` in all, ``poll`` between looks, ``window`` of quiet.

    ``units`` says whose results they must be: one for all, or one for each; all times are seconds.
    """

    files: tuple[str, ...]
    units: tuple[str, ...] = ()
    timeout: float = TIMEOUT
    poll: float = POLL
    window: float = WINDOW
    environment: Mapping[str, str]


def require_results(asked: GatherRequest) -> None:
    """Raise UsageProblem for what can never become a result."""
    if len(asked.units) not in (0, 1, len(asked.files)):
        count = len(asked.units)
        raise UsageProblem(f"got {count} --unit-id for {len(asked.files)} files", "give one, or one per file")
    for path in asked.files:
        if os.path.isdir(path):
            raise UsageProblem(f"{path} is a folder", "name the result files themselves")


def gather(
    asked: GatherRequest,
    *,
    arrived: Callable[[GatherDone], None],
    tell: Callable[[str], None],
    wait: Callable[[float], bool] | None = None,
) -> int:
    """Wait until every result file has landed; ``arrived`` hears of each. Return how many are missing at the end."""
    from gitprun.registry.state_folder import state_base
    from gitprun.runs.gather import Arrival, GatherCalls, Pace
    from gitprun.runs.gather import gather as wait_for
    from gitprun.runs.writers import Writers
    from gitprun.system.clock import SystemClock

    def hear(arrival: Arrival) -> None:
        result = arrival.result
        arrived(
            GatherDone(
                path=arrival.path,
                unit=result.unit,
                fallback=result.fallback,
                valid=result.valid,
                problems=tuple(result.problems),
                fields=dict(result.fields),
                certain=arrival.certain,
                state_dir=arrival.folder or None,
            )
        )

    return wait_for(
        list(asked.files),
        Pace(timeout=asked.timeout, poll=max(LEAST_POLL, asked.poll), window=asked.window),
        GatherCalls(
            writers=Writers(state_base(asked.environment)),
            clock=SystemClock(),
            wait=wait or threading.Event().wait,
            arrived=hear,
            say=tell,
        ),
        asked.units,
    )

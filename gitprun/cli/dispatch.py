"""``git prun dispatch``: one unit without a run, in the words of the first seed's ``dispatch-task``."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitprun.cli.console import age, put, safe, say, size_text
from gitprun.cli.seed import SeedCommand
from gitprun.model.units import ExecutorSettings, Unit

if TYPE_CHECKING:
    from gitprun.model.plan import Settings
    from gitprun.runs.dispatch_unit import DispatchVariables

SHOWN_LINES = 80
SHOWN_BYTES = 256_000
# Often enough for whoever wonders whether it hangs, seldom enough for a log of hours.
LIFE_EVERY = 60.0
USAGE = "Usage: git prun dispatch --prompt-file <path> --result-file <path> --unit-id <id>"
EPILOG = """\b
Environment: CODEX_BIN, CODEX_DISPATCH_SANDBOX (danger-full-access), CODEX_DISPATCH_REASONING (xhigh),
CODEX_DISPATCH_ISOLATE_MCP=off, CODEX_DISPATCH_TIMEOUT (seconds, 3600; 0: off), PRUN_SCRATCH_CWD, TMPDIR.
"""


@click.command(cls=SeedCommand, usage=USAGE, epilog=EPILOG)
@click.option("--prompt-file", required=True, type=click.Path(), help="The file with the prompt, given on stdin.")
@click.option("--result-file", required=True, type=click.Path(), help="The file the worker writes its result to.")
@click.option("--unit-id", required=True, help="The name of the unit: letters, digits, _ and -.")
@click.option("--executor", type=click.Choice(["codex", "claude"]), default="codex", help="Who works (codex).")
@click.option("--model", help="The model the worker uses.")
@click.option("--timeout", help='The time limit, such as "40m" (1h; 0: none); wins over CODEX_DISPATCH_TIMEOUT.')
@click.option("--retry", is_flag=True, help="Try again, as runs do, a worker its service failed.")
@click.pass_context
def dispatch(ctx: click.Context, /, prompt_file: str, result_file: str, unit_id: str, **given: Any) -> int:
    """Run one worker on one prompt, outside of any run, and see to it that its result file is written.

    Prints exactly one line, STATE-DIR and a folder: there `tail` grows with the worker's output. A worker that
    writes no result has its output salvaged under a FALLBACK header. No repository is needed, none is touched.

    Exit codes: the worker's own, 124 for the time limit, 128 + signal, 2 for wrong usage.
    """
    from gitprun.cli.signals import signals_stop
    from gitprun.registry.state_folder import state_base
    from gitprun.runs.dispatch_unit import DispatchPolicy, DispatchSpec, dispatch_unit, read_variables
    from gitprun.supervisor.process import Stop

    start: Path = ctx.obj
    variables, stop = read_variables(os.environ), Stop()
    unit, executor, project = _unit(start, prompt_file, unit_id, variables, given)
    request = DispatchSpec(
        unit=unit,
        executor=executor,
        result=(start / result_file).absolute(),
        base=state_base(os.environ),
        caller=_caller(start),
        scratch=(start / variables.scratch).absolute() if variables.scratch else None,
        project=project,
        retry=given["retry"],
    )
    folders: list[Path] = []
    over = threading.Event()

    def announce(path: Path) -> None:
        folders.append(path)
        put(f"STATE-DIR {path}")
        threading.Thread(target=show_life, args=(unit.id, path / "tail", over), daemon=True).start()

    with signals_stop(stop) as caught, ending(over):
        settled = dispatch_unit(DispatchPolicy(request, stop, announce, _tell))
    # Nobody asked it to stop: its warden was killed, and the worker with it.
    killed = 137 if settled.ended.reason == "stopped" else settled.ended.shell_code
    code = 128 + caught[0] if caught else killed
    if settled.problem:
        _tell(settled.problem)
    kind = "no result" if settled.problem else "salvaged result" if settled.fallback else "result"
    why = f" ({settled.ending.reason})" if settled.ending.reason else ""
    _tell(f"{unit.id} ended with exit code {code}{why}; {kind} in {start / result_file}")
    _show_end(folders[0] / "tail")
    return code or (1 if settled.problem else 0)


def _unit(
    start: Path, prompt_file: str, unit_id: str, variables: DispatchVariables, given: dict[str, Any]
) -> tuple[Unit, ExecutorSettings, Settings]:
    """Make the unit, and the settings of its executor and around it: the environment wins over ``prun.toml``."""
    from gitprun.model.errors import PlanError, UsageProblem
    from gitprun.model.names import parse_unit_id
    from gitprun.runs.dispatch_unit import read_limit
    from gitprun.system.config import read_prompt

    try:
        name, prompt = parse_unit_id(unit_id, "--unit-id"), read_prompt(start / prompt_file, shown=prompt_file)
    except PlanError as problem:
        raise UsageProblem(problem.message, problem.hint) from None
    limit = read_limit(given["timeout"], "--timeout") if given["timeout"] is not None else variables.timeout
    codex = given["executor"] == "codex"
    own = _program(start, variables.program) if codex else None
    project = _configured(start, given["executor"], own)
    configured = project.executors.get(given["executor"], ExecutorSettings())
    settings = replace(
        configured,
        program=own or configured.program,
        isolate=configured.isolate and variables.isolate,
    )
    unit = Unit(
        id=name,
        prompt=prompt,
        executor=given["executor"],
        model=given["model"],
        timeout=limit,
        sandbox=variables.sandbox,
        # Without isolation the user's own configuration says how hard to think.
        reasoning=variables.reasoning if codex and settings.isolate else None,
    )
    return unit, settings, project


def show_life(unit: str, output: Path, over: threading.Event, every: float = LIFE_EVERY) -> None:
    """Say now and then that a worker is still at work, and what has come of it, until it is ``over``."""
    began = time.monotonic()
    while not over.wait(every):
        try:
            found = output.stat()
            quiet = max(0.0, time.time() - found.st_mtime)
            said = (
                f"{size_text(found.st_size)} of output, the last {age(quiet)} ago" if found.st_size else "no output yet"
            )
        except OSError:
            said = "no output yet"
        _tell(f"{unit} is at work for {age(time.monotonic() - began)}: {said}")


@contextmanager
def ending(over: threading.Event) -> Iterator[None]:
    """Let those who wait for an end hear of it, however it comes."""
    try:
        yield
    finally:
        over.set()


def _tell(text: str) -> None:
    say(f"git prun dispatch: {safe(text)}")


def _configured(start: Path, executor: str, own: str | None) -> Settings:
    """Read what ``prun.toml`` says, where there is a repository around; ``own``: not of the executor's program."""
    from gitprun.git.repo import find_repository
    from gitprun.model.errors import PrunError
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


def _caller(start: Path) -> str:
    """Name the folder as ``pwd`` in the calling shell does."""
    named = os.environ.get("PWD", "")
    try:
        return named if os.path.isabs(named) and os.path.samefile(named, start) else str(start)
    except OSError:
        return str(start)


def _show_end(output: Path) -> None:
    """Print the last lines of the worker's output to stderr."""
    from gitprun.executors.compact import readable_output
    from gitprun.system.files import tail

    lines = readable_output(tail(output, SHOWN_BYTES)).rstrip("\n").split("\n")[-SHOWN_LINES:]
    for line in lines:
        say(line)

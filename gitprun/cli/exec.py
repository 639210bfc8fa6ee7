"""``git prun exec``: one worker in a named workspace, in the words of the second seed's ``codex-wrapper``."""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitprun.cli.console import hint, put, safe, say, warn
from gitprun.cli.options import Here
from gitprun.cli.places import find_moved, log_root, project, require_trust
from gitprun.model.errors import PlanError, UsageProblem
from gitprun.model.escapes import shell_word
from gitprun.model.units import ExecutorSettings, Unit

if TYPE_CHECKING:
    from gitprun.model.plan import Settings
    from gitprun.runs.request import WorkerRequest

EXIT_MISSING = 2
MOST_PROMPT = 64_000_000
# What the seed asks of codex where nobody says otherwise; its model is gone from the service, so that is codex's own.
REASONING = "high"
EPILOG = """\b
Environment: COMMIT_LEVEL (3: all, 2: figures, 1: one line), CODEX_MODEL, CODEX_REASONING (high), POST_VERIFY_CMD,
POST_VERIFY_TESTS (shell text), PROJECT_DIR, MONITOR_ROOT (logs/NAME.log lies there).
"""


class PromptLast(click.Command):
    """A command whose last argument is a prompt, which may well begin with a dash."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Take an argument of several words for the prompt, whatever it begins with."""
        taking = {name for option in self.params for name in option.opts if not getattr(option, "is_flag", False)}
        for at, word in enumerate(args):
            if word == "--":
                break
            if re.match(r"-\S*\s", word) and "=" not in word.split()[0] and (at == 0 or args[at - 1] not in taking):
                return super().parse_args(ctx, [*args[:at], *args[at + 1 :], "--", word])
        return super().parse_args(ctx, args)


@click.command("exec", cls=PromptLast, epilog=EPILOG)
@click.argument("name")
@click.argument("slug")
@click.argument("prompt", required=False)
@click.option("--prompt-file", type=click.Path(), help="Read the prompt from this file.")
@click.option("--executor", help="Who works: codex, claude or command (codex).")
@click.option("--command", metavar="WORDS", help='The command of executor command, such as "sh worker.sh".')
@click.option("--model", help="The model the worker uses; wins over CODEX_MODEL.")
@click.option("--reasoning", help="How hard codex thinks; wins over CODEX_REASONING.")
@click.option(
    "--sandbox", help="What the worker may do: read-only, workspace-write (the default of codex) or danger-full-access."
)
@click.option("--timeout", help='The time limit, such as "40m" (none).')
@click.option("--stall", help='Quiet for so long counts as stalled, such as "10m" ([run] stall in prun.toml).')
@click.option("--no-retry", is_flag=True, help="Do not try again, whatever the service said.")
@click.option("--no-bypass", is_flag=True, help="Do not begin the prompt with the bypass prefix.")
@click.option("--commit-failed", is_flag=True, help="Commit a failed worker's work too, marked FAILED.")
@click.pass_context
def execute(ctx: click.Context, /, name: str, slug: str, prompt: str | None, **given: Any) -> int:
    """Run a worker with PROMPT (- reads it from stdin) in the workspace NAME, commit its work there and verify it.

    Status lines go to stdout, the worker's output to a log (git prun events reads it). The commit goes onto the
    workspace's branch through your hooks; the work of a worker that failed is pinned beside it.

    A worker its service failed (503, 429, no capacity, no network) is tried again, at most twice.

    Exit codes: the worker's own if it failed, 1 if nothing was committed or it does not verify, 2 if there is no such
    workspace, 128 + signal.
    """
    from gitprun.cli.signals import signals_stop
    from gitprun.cli.unseen import warn_absent
    from gitprun.ledger.roster import roster
    from gitprun.registry.open_workspace import WorkspaceGone
    from gitprun.runs.request import Session
    from gitprun.runs.user_work import work_in
    from gitprun.supervisor.process import Stop

    place = project(ctx)
    find_moved(place)
    unit = roster(place.ledger.read().events).units.get(name)
    if unit is None:
        say(f"[wrapper {safe(slug)}] ERROR: there is no workspace {safe(name)}")
        hint(f"make it first: git prun new {shell_word(name)} BRANCH")
        return EXIT_MISSING
    request, stop = _request(place, name, slug, _read_prompt(place, prompt, given["prompt_file"]), given), Stop()
    if unit.facts.get("setup") in ("not run", "failed"):
        warn(f"the setup of {name}: {unit.facts['setup']}")
    if place.repository.top is not None:
        warn_absent(place.repository.top, Path(str(unit.facts["path"])), request.unit.prompt)
    try:
        with signals_stop(stop) as caught:
            code = work_in(
                Session(
                    repository=place.repository,
                    ledger=place.ledger,
                    place=unit,
                    request=request,
                    say=lambda text: put(safe(text)),
                    warn=lambda text: warn(safe(text)),
                    stop=stop,
                )
            )
    except WorkspaceGone as problem:
        say(f"[wrapper {safe(slug)}] ERROR: {safe(problem.message)}")
        hint(safe(problem.hint))
        return EXIT_MISSING
    return 128 + caught[0] if caught else code


def _read_prompt(place: Here, prompt: str | None, prompt_file: str | None) -> str:
    from gitprun.system.config import read_prompt

    if (prompt is None) == (prompt_file is None):
        raise UsageProblem(
            "a prompt is missing" if prompt is None else "PROMPT and --prompt-file cannot be given together",
            'git prun exec NAME SLUG "PROMPT", or - for stdin, or --prompt-file FILE',
        )
    if prompt_file is not None:
        return read_prompt(place.start / prompt_file, shown=prompt_file)
    if prompt != "-":
        return prompt or ""
    raw = sys.stdin.buffer.read(MOST_PROMPT)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as problem:
        raise PlanError(f"the prompt on stdin is not UTF-8: byte 0x{raw[problem.start]:02x}", "convert it") from None


def _request(place: Here, name: str, slug: str, prompt: str, given: Mapping[str, Any]) -> WorkerRequest:
    """Put together what is asked: options first, then the environment, then ``prun.toml``."""
    from gitprun.git.refs import read_signatures
    from gitprun.model.plan import DEFAULT_VERIFY_TIMEOUT
    from gitprun.model.powers import started_by
    from gitprun.runs.dispatch import require_programs
    from gitprun.runs.messages import read_level
    from gitprun.runs.request import WorkerRequest
    from gitprun.runs.user_verify import PostVerify
    from gitprun.supervisor.process import worker_environment
    from gitprun.supervisor.programs import with_program
    from gitprun.system.config import read_settings

    settings = read_settings(place.repository.top)
    unit = _unit(slug, prompt, given, os.environ)
    # What makes a workspace ready was asked for when it was made.
    require_trust(place, (one for one in started_by(settings.powers, {unit.executor}) if one.name != "setup"))
    require_programs((unit,), dict(settings.executors), place.repository.top or place.repository.common)
    return WorkerRequest(
        unit=unit,
        executor=with_program(
            unit.executor,
            settings.executors.get(unit.executor, ExecutorSettings()),
            worker_environment({}).get("PATH"),
        ),
        level=read_level(os.environ.get("COMMIT_LEVEL", "")),
        verify=PostVerify(
            checks=os.environ.get("POST_VERIFY_CMD", ""),
            tests=os.environ.get("POST_VERIFY_TESTS", ""),
            declared=settings.verify,
            timeout=settings.verify_timeout or DEFAULT_VERIFY_TIMEOUT,
            sandbox=settings.verify_sandbox,
        ),
        commit_failed=given["commit_failed"],
        log=log_root(place.start, place.repository.state) / "logs" / f"{name}.log",
        who=read_signatures(place.repository.git),
        settings=_said(given).over(settings),
    )


def _said(given: Mapping[str, Any]) -> Settings:
    """Read the options that say what ``[run]`` of prun.toml says otherwise."""
    from gitprun.model.plan import Settings
    from gitprun.model.tables import parse_duration

    stall = given["stall"] and parse_duration(given["stall"])
    if given["stall"] is not None and not stall:
        raise UsageProblem(f"--stall: invalid duration {given['stall']!r}", 'write seconds, or "90s", "40m", "1h30m"')
    return Settings(stall=stall, retries=0 if given["no_retry"] else None)


def _unit(slug: str, prompt: str, given: Mapping[str, Any], environment: Mapping[str, str]) -> Unit:
    """Make the unit; what a plan file would refuse is refused here in the same words."""
    from gitprun.model.plan import Settings, parse_unit
    from gitprun.model.tables import Table
    from gitprun.runs.dispatch_unit import NO_LIMIT

    try:
        command = shlex.split(given["command"]) if given["command"] is not None else None
    except ValueError as problem:
        raise UsageProblem(f"--command cannot be split into words: {problem}", "close every quote") from None
    executor = given["executor"] or ("command" if command else "codex")
    codex = executor == "codex"
    reasoning = given["reasoning"] or (environment.get("CODEX_REASONING") or REASONING if codex else None)
    model = given["model"] or (environment.get("CODEX_MODEL") if codex else None)
    rows = {"id": slug, "prompt": prompt, "executor": executor, "command": command, "timeout": given["timeout"]}
    rows |= {"model": model or None, "reasoning": reasoning, "sandbox": given["sandbox"]}
    known = {key: value for key, value in rows.items() if value is not None}
    unit = parse_unit(Table(known, "the command line"), lambda _: "", Settings())
    if given["timeout"] is None:
        unit = replace(unit, timeout=NO_LIMIT)
    return replace(unit, bypass=False) if given["no_bypass"] else unit

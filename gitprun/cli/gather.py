"""``git prun gather``: wait until result files have landed, in the words of the first seed's ``gather``."""

from __future__ import annotations

import os
from pathlib import Path

import click

from gitprun.api.ticks import GatherDone, GatherStart, GatherTimeout
from gitprun.api.working import POLL, TIMEOUT, WINDOW, GatherRequest, require_results
from gitprun.api.working import gather as wait_for
from gitprun.cli.console import hint, put_json, safe, say
from gitprun.cli.options import json_option
from gitprun.cli.seed import SeedCommand
from gitprun.model.errors import UsageProblem
from gitprun.model.exit_codes import EXIT_NOT_YET

USAGE = "Usage: git prun gather <result-file> [<result-file> ...]"
EPILOG = """\b
Environment: AGENT_CONFIG_GATHER_TIMEOUT (3600), PRUN_GATHER_POLL (5), PRUN_GATHER_STABLE_WINDOW (10), in seconds.
"""


class GatherCommand(SeedCommand):
    """What the seed's scripts say of wrong usage."""

    usage = USAGE


@click.command(cls=GatherCommand, epilog=EPILOG)
@click.argument("files", metavar="RESULT-FILE...", nargs=-1, required=True, type=click.Path())
@click.option("--unit-id", "units", multiple=True, metavar="ID", help="Whose result it must be: once, or for each.")
@click.option("--strict", is_flag=True, help="Exit 1 if a result is a FALLBACK or does not follow the contract.")
@json_option
@click.pass_context
def gather(ctx: click.Context, files: tuple[str, ...], units: tuple[str, ...], strict: bool, as_json: bool) -> int:
    """Wait until every RESULT-FILE has landed; print DONE and its path as each does.

    A result has landed when its writer, a worker of dispatch or run, has ended; where nobody is known to write it,
    when it is not empty and has not changed for the stable window.

    Exit codes: 0 all landed, 2 not in time or wrong usage, 1 with --strict for a result that is no good.
    """
    start: Path = ctx.obj
    asked = GatherRequest(
        files=tuple(os.path.join(start, file) for file in files),
        units=units,
        timeout=_number("AGENT_CONFIG_GATHER_TIMEOUT", TIMEOUT),
        poll=_number("PRUN_GATHER_POLL", POLL),
        window=_number("PRUN_GATHER_STABLE_WINDOW", WINDOW),
        environment=os.environ,
    )
    require_results(asked)
    good = True

    def arrived(done: GatherDone) -> None:
        nonlocal good
        good = good and done.valid
        if as_json:
            put_json("gather-done", done)
            return
        _put(b"DONE " + os.fsencode(done.path))
        if done.fallback:
            say(f"git prun gather: {safe(done.path)} is a FALLBACK: review it, or dispatch the unit again")
        elif done.problems:
            say(f"git prun gather: {safe(done.path)}: {safe('; '.join(done.problems))}")

    if as_json:
        put_json("gather-start", GatherStart(count=len(files), timeout=asked.timeout))
    else:
        _put(f"GATHER-START count={len(files)} timeout={_seconds(asked.timeout)}s".encode())
    remaining = wait_for(asked, arrived=arrived, tell=lambda text: say(f"git prun gather: {safe(text)}"))
    if remaining:
        if as_json:
            put_json("gather-timeout", GatherTimeout(remaining=remaining))
        else:
            _put(b"TIMEOUT remaining=%d" % remaining)
        return EXIT_NOT_YET
    if strict and not good:
        hint("a result is no good: read it, then dispatch its unit again or accept its work")
    return 1 if strict and not good else 0


def _number(name: str, default: float) -> float:
    """Read one of the seed's environment variables."""
    text = os.environ.get(name, "").strip()
    try:
        value = float(text) if text else default
    except ValueError:
        value = -1.0
    # A billion seconds are thirty years: more is a slip of the keyboard, and infinity would wait for ever.
    if not 0 <= value < 1e9:
        raise UsageProblem(f"{name}: invalid number of seconds {text!r}")
    return value


def _seconds(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)


def _put(line: bytes) -> None:
    """Write one line of the protocol as it stands: a path may be no UTF-8."""
    click.echo(line)

"""``git prun gather``: wait until result files have landed, in the words of the first seed's ``gather``."""

from __future__ import annotations

import json
import os
import threading
from pathlib import Path

import click

from gitprun.cli.console import hint, safe, say
from gitprun.cli.options import json_option
from gitprun.cli.seed import SeedCommand
from gitprun.runs.gather import POLL, TIMEOUT, WINDOW, Arrival, Pace

EXIT_NOT_YET = 2
# Waiting shorter than this would only keep a processor busy.
LEAST_POLL = 0.02
USAGE = "Usage: git prun gather <result-file> [<result-file> ...]"
EPILOG = """\b
Environment: AGENT_CONFIG_GATHER_TIMEOUT (3600), PRUN_GATHER_POLL (5), PRUN_GATHER_STABLE_WINDOW (10), in seconds.
"""


@click.command(cls=SeedCommand, usage=USAGE, epilog=EPILOG)
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
    from gitprun.registry.state_folder import state_base
    from gitprun.runs.gather import GatherCalls
    from gitprun.runs.gather import gather as wait_for
    from gitprun.runs.writers import Writers
    from gitprun.system.clock import SystemClock

    start: Path = ctx.obj
    paths = [os.path.join(start, file) for file in files]
    _require_files(paths, units)
    pace = _pace()
    good = True

    def arrived(arrival: Arrival) -> None:
        nonlocal good
        good = good and arrival.result.valid
        if as_json:
            _put_json({"event": "done", **_row(arrival)})
            return
        _put(b"DONE " + os.fsencode(arrival.path))
        if arrival.result.fallback:
            say(f"git prun gather: {safe(arrival.path)} is a FALLBACK: review it, or dispatch the unit again")
        elif arrival.result.problems:
            say(f"git prun gather: {safe(arrival.path)}: {safe('; '.join(arrival.result.problems))}")

    if as_json:
        _put_json({"event": "start", "count": len(paths), "timeout": pace.timeout})
    else:
        _put(f"GATHER-START count={len(paths)} timeout={_seconds(pace.timeout)}s".encode())
    remaining = wait_for(
        paths,
        pace,
        GatherCalls(
            writers=Writers(state_base(os.environ)),
            clock=SystemClock(),
            wait=threading.Event().wait,
            arrived=arrived,
            say=lambda text: say(f"git prun gather: {safe(text)}"),
        ),
        units,
    )
    if remaining:
        if as_json:
            _put_json({"event": "timeout", "remaining": remaining})
        else:
            _put(b"TIMEOUT remaining=%d" % remaining)
        return EXIT_NOT_YET
    if strict and not good:
        hint("a result is no good: read it, then dispatch its unit again or accept its work")
    return 1 if strict and not good else 0


def _require_files(paths: list[str], units: tuple[str, ...]) -> None:
    """Refuse what can never become a result."""
    from gitprun.model.errors import UsageProblem

    if len(units) not in (0, 1, len(paths)):
        raise UsageProblem(f"--unit-id is given {len(units)} times for {len(paths)} files", "once, or once for each")
    for path in paths:
        if os.path.isdir(path):
            raise UsageProblem(f"{path} is a folder", "name the result files themselves")


def _pace() -> Pace:
    """Read the seed's environment variables."""
    return Pace(
        timeout=_number("AGENT_CONFIG_GATHER_TIMEOUT", TIMEOUT),
        poll=max(LEAST_POLL, _number("PRUN_GATHER_POLL", POLL)),
        window=_number("PRUN_GATHER_STABLE_WINDOW", WINDOW),
    )


def _row(arrival: Arrival) -> dict[str, object]:
    result = arrival.result
    return {
        "path": arrival.path,
        "unit": result.unit,
        "fallback": result.fallback,
        "valid": result.valid,
        "problems": list(result.problems),
        "fields": dict(result.fields),
        "certain": arrival.certain,
        "state_dir": arrival.folder or None,
    }


def _number(name: str, default: float) -> float:
    from gitprun.model.errors import UsageProblem

    text = os.environ.get(name, "").strip()
    try:
        value = float(text) if text else default
    except ValueError:
        value = -1.0
    if not 0 <= value < 1e9:
        raise UsageProblem(f"{name} is no number of seconds: {text!r}")
    return value


def _seconds(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)


def _put(line: bytes) -> None:
    """Write one line of the protocol as it stands: a path may be no UTF-8."""
    click.echo(line)


def _put_json(row: dict[str, object]) -> None:
    click.echo(json.dumps(row))

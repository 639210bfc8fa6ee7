"""``git prun remove`` and ``git prun clean``: take workspaces away, keep the work."""

from __future__ import annotations

import json
from dataclasses import asdict

import click

from gitprun.cli.console import safe, say, warn
from gitprun.cli.options import here, json_option
from gitprun.errors import PrunError, UsageProblem
from gitprun.runs.lookup import find_run, find_unit


@click.command()
@click.argument("unit_names", metavar="UNIT...", nargs=-1, required=True)
@click.option("--discard-left-out", is_flag=True, help="Let files go that are in no commit (they are listed by show).")
@json_option
@click.pass_context
def remove(ctx: click.Context, unit_names: tuple[str, ...], discard_left_out: bool, as_json: bool) -> int:
    """Remove the workspaces of UNITs; their commits stay pinned in the repository."""
    place = here(ctx)
    history = place.history()
    units = [find_unit(history, name) for name in unit_names]
    return _remove(ctx, [(history.runs[u.run], u) for u in units], discard_left_out, as_json)


@click.command()
@click.argument("run_name", metavar="[RUN]", required=False)
@click.option("--all", "every", is_flag=True, help="Clean all runs, not only the last one.")
@click.option("--discard-left-out", is_flag=True, help="Let files go that are in no commit (they are listed by show).")
@json_option
@click.pass_context
def clean(ctx: click.Context, run_name: str | None, every: bool, discard_left_out: bool, as_json: bool) -> int:
    """Remove the workspaces of all units of the last run (or of RUN) whose work is over; commits stay pinned."""
    from gitprun.runs.remove import removable

    if every and run_name:
        raise UsageProblem("--all and a run cannot be given together")
    history = here(ctx).history()
    if not history.runs:
        say("nothing has been run in this repository yet")
        return 0
    runs = list(history.runs.values()) if every else [find_run(history, run_name)]
    return _remove(ctx, [(run, unit) for run in runs for unit in removable(run)], discard_left_out, as_json)


def _remove(ctx: click.Context, units: list, discard: bool, as_json: bool) -> int:  # type: ignore[type-arg]
    from gitprun.runs.remove import remove_workspace

    place, code = here(ctx), 0
    rows = []
    for run, unit in units:
        try:
            removal = remove_workspace(place.repository, place.ledger, run, unit, discard_left_out=discard)
        except PrunError as problem:
            code = 1
            rows.append({"run": unit.run, "unit": unit.id, "removed": False, "reason": problem.message})
            if not as_json:
                warn(
                    f"{unit.run}/{unit.id} is left alone: {safe(problem.message)}"
                    + (f" ({problem.hint})" if problem.hint else "")
                )
            continue
        rows.append(asdict(removal))
        if as_json:
            continue
        if removal.removed:
            say(f"removed {safe(removal.path)}")
            if removal.saved:
                say(f"  what was still in it is pinned as {removal.saved}")
            if removal.ignored:
                say(f"  ignored files went with it: {safe(', '.join(removal.ignored[:10]))}")
        else:
            say(f"{unit.run}/{unit.id}: {removal.reason}")
    if as_json:
        click.echo(json.dumps({"workspaces": rows}))
    return code

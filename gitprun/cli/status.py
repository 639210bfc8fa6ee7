"""``git prun status``: every unit of a run with its state, age, files, verdict and branch."""

from __future__ import annotations

import json
import time
from typing import Any

import click

from gitprun.cli.console import age, coloured, safe, say, table
from gitprun.cli.options import here, json_option
from gitprun.names import short, unit_branch
from gitprun.runs.events import RunState, UnitState
from gitprun.runs.lookup import find_run, probe_unit


@click.command()
@click.argument("run_name", metavar="[RUN]", required=False)
@click.option("--all", "every", is_flag=True, help="Show all runs, not only the last one.")
@json_option
@click.pass_context
def status(ctx: click.Context, run_name: str | None, every: bool, as_json: bool) -> None:
    """Show the state of every unit of the last run (or of RUN)."""
    place = here(ctx)
    history = place.history()
    if not history.runs and run_name is None:
        if as_json:
            click.echo(json.dumps({"runs": []}))
        else:
            say("nothing has been run in this repository yet (git prun run plan.toml)")
        return
    runs = list(history.runs.values()) if every else [find_run(history, run_name)]
    now = time.time()
    if as_json:
        click.echo(json.dumps({"runs": [run_rows(run, now) for run in runs]}))
        return
    for run in runs:
        click.echo(f"run {run.id}  base {short(run.base)}  workspaces {safe(str(run.facts.get('root', '')))}/{run.id}")
        click.echo(render_units(run, now))


def run_rows(run: RunState, now: float) -> dict[str, Any]:
    """Give a run as plain values."""
    return {
        "run": run.id,
        "base": run.base,
        "started": run.started,
        "ended": run.ended,
        "root": run.facts.get("root"),
        "units": [unit_row(probe_unit(run, unit), now) for unit in run.units.values()],
    }


def unit_row(unit: UnitState, now: float) -> dict[str, Any]:
    """Give a unit as plain values."""
    return {
        "id": unit.id,
        "run": unit.run,
        "state": unit.state,
        "reason": unit.facts.get("reason", ""),
        "age": round(now - unit.since, 3),
        "seconds": (unit.facts.get("exit") or {}).get("seconds"),
        "executor": unit.facts.get("executor"),
        "mode": unit.facts.get("mode"),
        "files": unit.facts.get("files"),
        "outside": unit.facts.get("outside", []),
        "left_out": unit.facts.get("left_out", []),
        "fallback": unit.facts.get("fallback"),
        "verdict": unit.verdict,
        "branch": unit_branch(unit.run, unit.id) if unit.commit else None,
        "commit": unit.commit,
        "ref": unit.facts.get("ref"),
        "workspace": None if unit.facts.get("removed") else unit.facts.get("path"),
    }


def render_units(run: RunState, now: float) -> str:
    """Lay out the units of a run as a table."""
    rows = []
    for known in run.units.values():
        unit = probe_unit(run, known)
        files = unit.facts.get("files")
        rows.append(
            [
                unit.id,
                coloured(unit.state),
                age(now - unit.since),
                "-" if files is None else str(files),
                unit.verdict or "-",
                unit_branch(unit.run, unit.id) if unit.commit else "-",
                safe(flags(unit)),
            ]
        )
    return table(["unit", "state", "age", "files", "verdict", "branch", "note"], rows)


def flags(unit: UnitState) -> str:
    """Say in one line what about a unit deserves a look."""
    said = [str(unit.facts["reason"])] if unit.facts.get("reason") and unit.state != "landed" else []
    if unit.facts.get("outside"):
        said.append(f"{len(unit.facts['outside'])} outside its paths")
    if unit.facts.get("left_out"):
        said.append(f"{len(unit.facts['left_out'])} left out")
    if unit.facts.get("fallback"):
        said.append("no result file")
    if unit.facts.get("kept"):
        said.append("own commits kept")
    if unit.facts.get("verify_changed"):
        said.append(f"verify changed {len(unit.facts['verify_changed'])} files")
    if unit.state == "lost":
        said.append("nobody works on it any more")
    return "; ".join(said)

"""``git prun status``: every unit of a run with its state, age, files, verdict and branch."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from gitprun.cli.console import age, clock_time, coloured, hint, put, put_json, safe, say, table
from gitprun.cli.options import here, json_option
from gitprun.model.errors import UsageProblem
from gitprun.model.lists import join_few
from gitprun.model.names import short
from gitprun.model.units import LIVE

if TYPE_CHECKING:
    from gitprun.api.rows import HeldStatus, LeftOutPath, NamedStatus
    from gitprun.api.values import RunStatus, UnitStatus, WorkerExit

# In the order in which people ask for them: what is done, what failed, what still goes on.
ORDER = ("ready", "unverified", "empty", "done", "failed", "timed-out", "stopped", "rate-limited", "broken", "landed")
NO_RESULT = "the worker wrote no result file"


@click.command()
@click.argument("run_name", metavar="[RUN]", required=False)
@click.option("--all", "every", is_flag=True, help="Show all runs, not only the last one.")
@json_option
@click.pass_context
def status(ctx: click.Context, run_name: str | None, every: bool, as_json: bool) -> None:
    """Show the state of every unit of the last run (or of RUN)."""
    if every and run_name is not None:
        raise UsageProblem("--all and a run cannot be given together", "leave one of them out")
    # What results claim is in the JSON only, and takes a file a unit to find out.
    found = here(ctx).status(run_name, every=every, claims=as_json)
    if as_json:
        put_json("status", found)
        return
    if not found.runs and not found.named and not found.held:
        say("nothing has been run in this repository yet")
        hint("git prun run plan.toml")
        return
    now = time.time()
    for run in found.runs:
        put(f"{headline(run, now)}; base {short(run.base)}; workspaces {safe(run.root or '')}/{run.id}")
        put(render_units(run))
        say_drift(run)
        if any(unit.state == "lost" for unit in run.units):
            hint(f"lost means that the process of the run is gone; git prun run --resume {run.id} goes on with it")
    if found.named:
        put(render_named(found.named))
    if found.held:
        put(render_holds(found.held))


def render_holds(holds: Sequence[HeldStatus]) -> str:
    """Lay out what the last landing of branches said that did not land, and the command that goes on with each."""
    rows = [
        [
            safe(one.name),
            safe(one.onto),
            coloured(one.state),
            safe(f"{one.moved} moved since: {one.reason}" if one.moved else one.reason),
            safe(one.next),
        ]
        for one in holds
    ]
    return f"did not land:\n{table(['branch', 'on', 'state', 'why', 'next'], rows)}"


def headline(run: RunStatus, now: float) -> str:
    """Return in a few words how a run stands: its units by state, and for how long it went on."""
    states = Counter(unit.state for unit in run.units)
    ranks = {state: rank for rank, state in enumerate((*ORDER, *LIVE, "lost"))}
    # A state of a later version comes last.
    counts = ", ".join(f"{states[state]} {state}" for state in sorted(states, key=lambda name: ranks.get(name, 99)))
    going = any(unit.live for unit in run.units)
    took = f", {'for' if going else 'in'} {age((run.ended or now) - run.started)}" if going or run.ended else ""
    return f"run {run.id}: {counts or 'no units'}{took}"


def say_drift(run: RunStatus) -> None:
    """Say how to answer what changed in the user's repository while units ran."""
    held = [unit.name for unit in run.units if unit.drift_shown is not None and unit.drift_shown.holds]
    if held:
        hint(f"git prun undo --drift {held[0]} puts it back; with --accept it stays, and the unit may land")


def render_units(run: RunStatus) -> str:
    """Lay out the units of a run as a table."""
    rows = [
        [
            unit.id,
            coloured(unit.state),
            age(unit.age),
            "-" if unit.files is None else str(unit.files),
            unit.verdict or "-",
            unit.branch or "-",
            safe(flags(unit)),
        ]
        for unit in run.units
    ]
    return table(["unit", "state", "age", "files", "verdict", "branch", "note"], rows)


def describe_stall(unit: UnitStatus) -> str:
    """Return for how long nothing has come of a worker; empty where something does."""
    if unit.stalled is None:
        return ""
    return f"stalled {age(unit.stalled)}" + (f" ({unit.stall})" if unit.stall else "")


def flags(unit: UnitStatus) -> str:
    """Return in one line what about a unit deserves a look, the most pressing first."""
    said = [unit.reason] if unit.reason and unit.state != "landed" else []
    if unit.state == "waiting":
        said.insert(0, f"until {clock_time(unit.until)}")
    elif unit.attempt > 1:
        said.append(f"attempt {unit.attempt}")
    said += filter(None, [describe_stall(unit)])
    if unit.drift_shown is not None and unit.drift_shown.shown:
        said.append(unit.drift_shown.text)
    if unit.outside:
        said.append(f"{len(unit.outside)} outside its paths (such as {unit.outside[0]})")
    if unit.gate:
        said.append(f"changes its own check: {join_few(unit.gate)}")
    said += _left_out(unit.left_out)
    if unit.fallback and NO_RESULT not in said:
        said.append("no result file")
    if unit.result_problems and unit.state in ("ready", "unverified", "empty"):
        said.append("the result file does not follow the contract")
    said += _left_running(unit.exit)
    said += _kept(unit)
    if unit.verify_changed:
        touched = unit.verify_changed
        said.append(f"verify changed {len(touched)} tracked file{'s' if len(touched) > 1 else ''} ({touched[0]})")
    if unit.reverted_by:
        said.append(f"reverted by {short(unit.reverted_by)}")
    if unit.state == "lost":
        said.append("nobody works on it any more")
    return "; ".join(said)


def _left_out(rows: Sequence[LeftOutPath]) -> list[str]:
    return [f"{len(rows)} left out (such as {rows[0].path})"] if rows else []


def _left_running(ended: WorkerExit | None) -> list[str]:
    """Return in words what a worker left running, and what came of that."""
    if ended is None:
        return []
    said = []
    if ended.survivors:
        said.append(f"still running, could not be ended: {', '.join(map(str, ended.survivors))}")
    elif ended.unproved:
        said.append(f"not known whether anything of it still runs: {ended.unproved}")
    if ended.leftovers:
        said.append(f"{ended.leftovers} process{'es' if ended.leftovers > 1 else ''} left behind, ended")
    return said


def _kept(unit: UnitStatus) -> list[str]:
    """Return in words what of a unit is pinned beside its commit."""
    names = (row.ref.removeprefix("refs/prun/kept/").split("/", 2)[-1] for row in unit.kept)
    kinds = {"staged": "staged content kept", "submodule": "commits in a submodule kept"}
    return list(dict.fromkeys(kinds.get(name.partition("/")[0], "own commits kept") for name in names))


def render_named(units: Sequence[NamedStatus]) -> str:
    """Lay out workspaces of the user's own as a table under a title."""
    rows = [
        [
            unit.name,
            coloured(unit.state),
            age(unit.age),
            "-" if unit.files is None else str(unit.files),
            unit.verdict or "-",
            safe(unit.branch or "-"),
            safe(_note(unit)),
        ]
        for unit in units
    ]
    head = ["workspace", "state", "age", "files", "verdict", "branch", "note"]
    return f"named workspaces:\n{table(head, rows)}"


def _note(unit: NamedStatus) -> str:
    """Return in one line what about a workspace deserves a look, else where it is."""
    said = [unit.reason] if unit.reason else []
    if unit.setup in ("not run", "failed"):
        said.append(f"setup {unit.setup}")
    said += _left_out(unit.left_out)
    if unit.state == "lost":
        said.append("nobody works on it any more")
    return "; ".join(said) or unit.path or ""

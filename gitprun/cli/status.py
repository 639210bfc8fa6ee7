"""``git prun status``: every unit of a run with its state, age, files, verdict and branch."""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from gitprun.cli.console import age, clock_time, coloured, hint, put, safe, say, table
from gitprun.cli.named import named_rows, render_named
from gitprun.cli.options import here, json_option
from gitprun.cli.unpinned import warn_unpinned
from gitprun.landing.holds import read_holds
from gitprun.ledger.events import ENDED, LIVE, RunState, UnitState
from gitprun.ledger.held import HeldBranch
from gitprun.ledger.lookup import find_run, probe_unit
from gitprun.ledger.outcome import NO_RESULT
from gitprun.ledger.probe import probe_named
from gitprun.ledger.record import plain
from gitprun.ledger.review import read_claims
from gitprun.ledger.roster import roster
from gitprun.ledger.rows import ExitRow
from gitprun.ledger.stall import stalled_for
from gitprun.model.errors import UsageProblem
from gitprun.model.names import short, unit_branch
from gitprun.model.units import join_few


@click.command()
@click.argument("run_name", metavar="[RUN]", required=False)
@click.option("--all", "every", is_flag=True, help="Show all runs, not only the last one.")
@json_option
@click.pass_context
def status(ctx: click.Context, run_name: str | None, every: bool, as_json: bool) -> None:
    """Show the state of every unit of the last run (or of RUN)."""
    place = here(ctx)
    reading = place.read()
    history = reading.history
    named = [probe_named(unit) for unit in roster(reading.events).units.values()] if run_name is None else []
    holds = read_holds(place.repository, history, reading.events)
    if not history.runs and run_name is None and not named and not holds and not as_json:
        say("nothing has been run in this repository yet")
        hint("git prun run plan.toml")
        return
    if every and run_name is not None:
        raise UsageProblem("--all and a run cannot be given together", "leave one of them out")
    every = every or not history.runs
    runs = list(history.runs.values()) if every and run_name is None else [find_run(history, run_name)]
    now = time.time()
    warn_unpinned(place.repository, runs, reading.events)
    if as_json:
        more = {"named": named_rows(named, now)} if named else {}
        told = [hold_row(one) for one in _of_runs(holds, runs, run_name)]
        shown = [run_rows(run, now, place.repository.state) for run in runs]
        put(json.dumps({"runs": shown, **more, **({"held": told} if told else {})}))
        return
    for run in (probe_run(run) for run in runs):
        put(f"{headline(run, now)}; base {short(run.base)}; workspaces {safe(run.root)}/{run.id}")
        put(render_units(run, now))
        lost = [unit for unit in run.units.values() if unit.state == "lost"]
        say_drift(run)
        if lost:
            hint(f"lost means that the process of the run is gone; git prun run --resume {run.id} goes on with it")
    if named:
        put(render_named(named, now))
    if held := _of_runs(holds, runs, run_name):
        put(render_holds(held))


def _of_runs(holds: Sequence[HeldBranch], runs: Sequence[RunState], run_name: str | None) -> list[HeldBranch]:
    """Choose what is held of the runs that are shown, and of branches made elsewhere unless one run is asked for."""
    own = {f"{run.id}/{unit}" for run in runs for unit in run.units}
    return [one for one in holds if one.name in own or (run_name is None and one.name == one.branch)]


def render_holds(holds: Sequence[HeldBranch]) -> str:
    """Lay out what the last landing of branches said that did not land, and the command that goes on with each."""
    rows = [
        [
            safe(one.name),
            safe(one.onto),
            coloured(one.state),
            safe(f"{one.moved} moved since: {one.reason}" if one.moved else one.reason),
            safe(one.next_step),
        ]
        for one in holds
    ]
    return f"did not land:\n{table(['branch', 'on', 'state', 'why', 'next'], rows)}"


def hold_row(one: HeldBranch) -> dict[str, Any]:
    """Return as plain values what the last landing of a branch said."""
    keys = ("branch", "name", "target", "state", "reason", "moved", "time", "command", "log")
    found = [{"path": path, "reason": reason} for path, reason in one.findings]
    return {key: getattr(one, key) for key in keys} | {"findings": found, "next": one.next_step}


def probe_run(run: RunState) -> RunState:
    """Give a run with the states its units really have."""
    return run.with_units({name: probe_unit(run, unit) for name, unit in run.units.items()})


def headline(run: RunState, now: float) -> str:
    """Say in a few words how a run stands: its units by state, and for how long it went on."""
    states = Counter(unit.state for unit in run.units.values())
    ranks = {state: rank for rank, state in enumerate((*ENDED, *LIVE, "lost"))}
    counts = ", ".join(f"{states[state]} {state}" for state in sorted(states, key=lambda name: ranks.get(name, 99)))
    going = any(unit.live for unit in run.units.values())
    took = f", {'for' if going else 'in'} {age((run.ended or now) - run.started)}" if going or run.ended else ""
    return f"run {run.id}: {counts or 'no units'}{took}"


def run_rows(run: RunState, now: float, state: Path) -> dict[str, Any]:
    """Give a run as plain values; ``state`` is the repository's prun folder."""
    units = [probe_unit(run, unit) for unit in run.units.values()]
    return {
        "run": run.id,
        "base": run.base,
        "started": run.started,
        "ended": run.ended,
        "root": run.root or None,
        "units": [{**unit_row(unit, now), "claims": list(read_claims(state, unit))} for unit in units],
    }


def say_drift(run: RunState) -> None:
    """Say how to answer what changed in the user's repository while units ran."""
    held = [unit.id for unit in run.units.values() if unit.drift is not None and unit.drift.holds]
    if held:
        hint(f"git prun undo --drift {run.id}/{held[0]} puts it back; with --accept it stays, and the unit may land")


def unit_row(unit: UnitState, now: float) -> dict[str, Any]:
    """Give a unit as plain values."""
    return {
        "id": unit.id,
        "run": unit.run,
        "state": unit.state,
        "reason": unit.reason,
        "kind": unit.failure,
        "attempt": unit.attempt,
        "earlier": plain(unit.earlier),
        "until": unit.until if unit.state == "waiting" else None,
        "stalled": None if (stalled := stalled_for(unit, now)) is None else round(stalled, 3),
        "age": round(now - unit.since, 3),
        "seconds": unit.exit.seconds if unit.exit is not None else None,
        "executor": unit.executor or None,
        "mode": unit.mode or None,
        "files": unit.files,
        "outside": plain(unit.outside or ()),
        "left_out": plain(unit.left_out),
        "fallback": unit.fallback,
        "drift": plain(unit.drift),
        "verdict": unit.verdict,
        "branch": unit_branch(unit.run, unit.id) if unit.commit else None,
        "commit": unit.commit,
        "ref": unit.ref,
        "workspace": unit.path if unit.there else None,
    }


def render_units(run: RunState, now: float) -> str:
    """Lay out the units of a run, as they are given, as a table."""
    rows = []
    for unit in run.units.values():
        files = unit.files
        rows.append(
            [
                unit.id,
                coloured(unit.state),
                age(now - unit.since),
                "-" if files is None else str(files),
                unit.verdict or "-",
                unit_branch(unit.run, unit.id) if unit.commit else "-",
                safe(flags(unit, now)),
            ]
        )
    return table(["unit", "state", "age", "files", "verdict", "branch", "note"], rows)


def _left_running(ended: ExitRow) -> list[str]:
    """Say what a worker left running, and what came of that."""
    said = []
    if ended.survivors:
        said.append(f"still running, could not be ended: {', '.join(map(str, ended.survivors))}")
    elif ended.unproved:
        said.append(f"not known whether anything of it still runs: {ended.unproved}")
    if ended.leftovers:
        said.append(f"{ended.leftovers} process{'es' if ended.leftovers > 1 else ''} left behind, ended")
    return said


def describe_stall(unit: UnitState, now: float) -> str:
    """Say for how long nothing has come of a worker; empty where something does."""
    seconds = stalled_for(unit, now)
    if seconds is None or unit.stalled is None:
        return ""
    reason = unit.stalled.hint or unit.stalled.last
    return f"stalled {age(seconds)}" + (f" ({reason})" if reason else "")


def flags(unit: UnitState, now: float | None = None) -> str:
    """Say in one line what about a unit deserves a look."""
    said = [unit.reason] if unit.reason and unit.state != "landed" else []
    if unit.state == "waiting":
        said.insert(0, f"until {clock_time(unit.until)}")
    elif unit.attempt > 1:
        said.append(f"attempt {unit.attempt}")
    said += filter(None, [describe_stall(unit, time.time() if now is None else now)])
    if unit.drift is not None and unit.drift.shown:
        said.append(unit.drift.text)
    if unit.outside:
        said.append(f"{len(unit.outside)} outside its paths (such as {unit.outside[0]})")
    if unit.gate:
        said.append(f"changes its own check: {join_few(unit.gate)}")
    if unit.left_out:
        said.append(f"{len(unit.left_out)} left out (such as {unit.left_out[0].path})")
    if unit.fallback and NO_RESULT not in said:
        said.append("no result file")
    if unit.result_problems and unit.state in ("ready", "unverified", "empty"):
        said.append("the result file does not follow the contract")
    said += _left_running(unit.exit) if unit.exit is not None else []
    said += _kept(unit)
    if unit.verify_changed:
        touched = unit.verify_changed
        said.append(f"verify changed {len(touched)} tracked file{'s' if len(touched) > 1 else ''} ({touched[0]})")
    if unit.undone is not None and unit.undone.way == "reverted":
        said.append(f"reverted by {short(unit.undone.by)}")
    if unit.state == "lost":
        said.append("nobody works on it any more")
    return "; ".join(said)


def _kept(unit: UnitState) -> list[str]:
    """Say what of a unit is pinned beside its commit."""
    names = (name.removeprefix("refs/prun/kept/").split("/", 2)[-1] for name, _ in unit.kept)
    kinds = {"staged": "staged content kept", "submodule": "commits in a submodule kept"}
    return list(dict.fromkeys(kinds.get(name.partition("/")[0], "own commits kept") for name in names))

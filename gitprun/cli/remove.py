"""``git prun remove`` and ``git prun clean``: take workspaces away, keep the work."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from gitprun.cli.console import hint, put, safe, say, warn
from gitprun.cli.options import Here, here, json_option
from gitprun.cli.places import find_moved
from gitprun.ledger.events import RunState, UnitState
from gitprun.ledger.lookup import find_run
from gitprun.ledger.roster import NAMED, roster
from gitprun.model.errors import PrunError, UsageProblem
from gitprun.registry.find import name_of

if TYPE_CHECKING:
    from gitprun.registry.remove import Removal

SHOWN = 10


@click.command()
@click.argument("unit_names", metavar="UNIT...", nargs=-1, required=True)
@click.option("--discard-left-out", is_flag=True, help="Let files go that are in no commit (they are listed by show).")
@json_option
@click.pass_context
def remove(ctx: click.Context, unit_names: tuple[str, ...], discard_left_out: bool, as_json: bool) -> int:
    """Remove the workspaces of UNITs, or those made by git prun new; their commits stay pinned in the repository."""
    from gitprun.registry.find import find_workspace

    place = here(ctx)
    find_moved(place)
    reading = place.read()
    history, named = reading.history, roster(reading.events)
    found = [find_workspace(history, named, name) for name in unit_names]
    return _remove(place, found, discard_left_out, as_json)


@click.command()
@click.argument("run_name", metavar="[RUN]", required=False)
@click.option("--all", "every", is_flag=True, help="Clean all runs, not only the last one.")
@click.option("--discard-left-out", is_flag=True, help="Let files go that are in no commit (they are listed by show).")
@json_option
@click.pass_context
def clean(ctx: click.Context, run_name: str | None, every: bool, discard_left_out: bool, as_json: bool) -> int:
    """Remove the workspaces of all units of the last run (or of RUN) whose work is over; commits stay pinned."""
    from gitprun.registry.remove import removable

    if every and run_name:
        raise UsageProblem("--all and a run cannot be given together", "leave one of them out")
    place = here(ctx)
    find_moved(place)
    history = place.history()
    every = every or not history.runs
    runs = list(history.runs.values()) if every and run_name is None else [find_run(history, run_name)]
    return _remove(place, [(run, unit) for run in runs for unit in removable(run)], discard_left_out, as_json)


def _remove(place: Here, units: Sequence[tuple[RunState, UnitState]], discard: bool, as_json: bool) -> int:
    code = 0
    rows: list[dict[str, Any]] = []
    done: list[str] = []
    if not units and not as_json:
        say("there is no workspace to remove")
    for run, unit in units:
        try:
            removal = _take_away(place, run, unit, discard=discard)
        except (PrunError, OSError) as problem:
            code = 1
            reason, advice = (problem.message, problem.hint) if isinstance(problem, PrunError) else (str(problem), "")
            rows.append({"run": unit.run, "unit": unit.id, "removed": False, "reason": reason, "hint": advice})
            if not as_json:
                warn(f"{unit.run}/{unit.id} is left alone: {safe(reason)}")
            if advice and not as_json:
                hint(safe(advice))
            continue
        rows.append(asdict(removal))
        if not as_json:
            _say(name_of(unit), removal)
        if removal.removed and (removal.saved or (unit.commit and run.id != NAMED)):
            done.append(name_of(unit))
    if as_json:
        put(json.dumps({"workspaces": rows}))
    elif done:
        hint(f"the work stays: git prun rescue {safe(done[0])} makes a branch of it, git prun rescue --list shows all")
    return code


def _take_away(place: Here, run: RunState, unit: UnitState, *, discard: bool) -> Removal:
    from gitprun.registry.remove import remove_workspace
    from gitprun.registry.remove_user_workspace import remove_user_workspace

    if run.id == NAMED:
        return remove_user_workspace(place.repository, place.ledger, unit, discard_left_out=discard)
    return remove_workspace(place.repository, place.ledger, run, unit, discard_left_out=discard)


def _say(name: str, removal: Removal) -> None:
    """Say what became of one workspace."""
    if not removal.removed:
        say(f"{name}: {removal.reason}")
        return
    say(f"removed {safe(removal.path)}" if not removal.reason else f"{safe(name)} is forgotten: {safe(removal.reason)}")
    if removal.saved:
        say(f"  what was still in it is pinned as {removal.saved}")
    say_ignored(name, removal.kept, removal.kept_files, removal.discarded)
    for entry in removal.stashed:
        say(f"  your stash still has what was stashed there: {safe(entry)}")


def say_ignored(name: str, kept: str, files: Sequence[str], gone: Sequence[str]) -> None:
    """Say what became of the ignored files of a workspace; what a tool makes again is not worth a word."""
    if files:
        more = f" and {len(files) - SHOWN} more" if len(files) > SHOWN else ""
        say(f"  ignored files are kept for 30 days: {safe(', '.join(files[:SHOWN]))}{more} (in {safe(kept)})")
        hint(f"git prun rescue --ignored {safe(name)} --into FOLDER brings them back")
    if gone:
        say(f"  ignored files went with it: {safe(', '.join(gone[:SHOWN]))}")

"""``git prun stop``: stop a run, a unit or a worker in a named workspace, from any terminal."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import click

from gitprun.cli.console import hint, put, safe, say
from gitprun.cli.options import Here, here, json_option
from gitprun.cli.signals import signals_stop
from gitprun.model.errors import OperationRefused, UsageProblem
from gitprun.model.escapes import shell_word
from gitprun.model.names import is_run_id

if TYPE_CHECKING:
    from gitprun.runs.stopping import AtWork

EXIT_NOT_YET = 2
# The ladder takes three times [run] grace (5 s); what the workers did is captured after that.
PATIENCE = 60.0


@click.command()
@click.argument("name", metavar="[UNIT|RUN]", required=False)
@click.option("--kill", is_flag=True, help="Kill the workers at once, as a second Ctrl-C does; their work is kept.")
@json_option
@click.pass_context
def stop(ctx: click.Context, name: str | None, kill: bool, as_json: bool) -> int:
    """Stop the run at work, RUN, or only UNIT: its worker is ended, what it did is captured.

    The same as Ctrl-C at the terminal of the run; with UNIT the other units go on. Where nobody coordinates the run any
    more its workers are ended, and git prun run --resume captures their work. Waits a minute for the end.

    Exit codes: 0 it has ended, 1 nothing is running, 2 it has not ended yet.
    """
    from gitprun.runs.stopping import ask_to_stop, await_stop, require_not_ours, states_of
    from gitprun.system.stop import Stop

    place = here(ctx)
    work = _find(place, name)
    require_not_ours(work, os.environ)
    waiting = Stop()
    with signals_stop(waiting, quiet=True) as caught:
        ask_to_stop(place.ledger, work, kill=kill)
        ended = await_stop(place.ledger, work, waiting, PATIENCE)
    states = states_of(place.ledger, work)
    if as_json:
        row = {"run": work.run, "unit": work.unit or None, "coordinated": work.coordinator is not None}
        put(json.dumps(row | {"kill": kill, "ended": ended, "states": states}))
    else:
        _render(work, states, ended=ended, kill=kill)
    if ended:
        return 0
    return 128 + caught[0] if caught else EXIT_NOT_YET


def _find(place: Here, name: str | None) -> AtWork:
    """Find what is meant and at work; raises Refused where nothing is, UsageProblem where it is not the only one."""
    from gitprun.ledger.lookup import find_run
    from gitprun.ledger.roster import roster
    from gitprun.registry.find import find_workspace
    from gitprun.runs.stopping import find_at_work, find_run_at_work, find_unit_at_work

    reading = place.read()
    if name is None:
        found = find_at_work(place.ledger, reading)
        if not found:
            raise OperationRefused("nothing is running", "git prun status shows what there is")
        if len(found) > 1:
            names = ", ".join(safe(one.name) for one in found)
            raise UsageProblem(f"{len(found)} are running: {names}", f"git prun stop {safe(found[0].name)}")
        return found[0]
    if is_run_id(name):
        run = find_run(reading.history, name)
        work, what = find_run_at_work(place.ledger, run), f"run {name}"
    else:
        run, unit = find_workspace(reading.history, roster(reading.events), name)
        work, what = find_unit_at_work(place.ledger, run, unit), f"{run.id}/{unit.id}"
    if work is None:
        raise OperationRefused(
            f"{safe(what)} is not running", f"git prun show {what}" if "/" in what else f"git prun status {name}"
        )
    return work


def _render(work: AtWork, states: dict[str, str], *, ended: bool, kill: bool) -> None:
    what = safe(work.name if work.unit else f"run {work.run}")
    for unit, state in states.items():
        put(f"{safe(unit)}: {state}")
    if not ended:
        say(f"{what} was asked to stop and has not ended yet")
        hint(f"git prun stop {'' if kill else '--kill '}{shell_word(work.name)}")
    elif work.coordinator is None:
        say(f"{what}: nobody coordinated it; its workers have ended")
        again = f"run --resume {work.run}" if work.run != "named" else f"collect {safe(work.unit)}"
        hint(f"git prun {again} captures their work")
    else:
        say(f"{what} has ended")
        if not work.unit and "stopped" in states.values():
            hint(f"git prun run --resume {work.run} goes on with it")

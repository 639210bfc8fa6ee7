"""``git prun collect``: capture a unit that is over once more, with what was left out and is wanted after all."""

from __future__ import annotations

import json

import click

from gitprun.cli.console import hint, put, safe, say
from gitprun.cli.options import here, json_option
from gitprun.cli.places import find_moved
from gitprun.cli.signals import signals_stop
from gitprun.model.errors import Interrupted
from gitprun.model.names import short


@click.command()
@click.argument("unit_name", metavar="UNIT")
@click.option("--include", "include", metavar="PATTERN", multiple=True, help="Take in left-out paths like this one.")
@json_option
@click.pass_context
def collect(ctx: click.Context, unit_name: str, include: tuple[str, ...], as_json: bool) -> int:
    """Capture the workspace of UNIT (or RUN/UNIT) once more, and verify the new commit; the old one stays pinned.

    Brings what git prun show lists as left out and a PATTERN matches (as in the paths of a plan), and what changed
    since. What git itself refuses, and links that leave the workspace, stay out. Exit code 1 if nothing is new.
    """
    from gitprun.ledger.roster import roster
    from gitprun.registry.find import find_workspace
    from gitprun.runs.recapture import recapture
    from gitprun.supervisor.process import Stop

    place, stop = here(ctx), Stop()
    find_moved(place)
    reading = place.read()
    run, unit = find_workspace(reading.history, roster(reading.events), unit_name)
    with signals_stop(stop) as caught:
        found = recapture(place.repository, place.ledger, run, unit, include, stop=stop)
    name = f"{unit.run}/{unit.id}"
    if as_json:
        row = {"run": unit.run, "unit": unit.id, "commit": found.commit, "before": found.before, "state": found.state}
        stays = [{"path": path, "reason": reason} for path, reason in found.stays_out]
        put(json.dumps({**row, "kept": found.kept, "brought": list(found.brought), "stays_out": stays}))
    else:
        for path in found.brought[:50]:
            put(safe(path))
        if len(found.brought) > 50:
            put(f"... and {len(found.brought) - 50} more")
        for path, reason in found.stays_out[:50]:
            say(f"stays out: {safe(path)}: {safe(reason)}")
        if not found.brought:
            say(f"nothing new in {name}")
            hint(f"git prun show {name} lists what is left out")
        else:
            say(
                f"{name} is {found.state} at {short(found.commit or '')}"
                + (f" ({safe(found.reason)})" if found.reason else "")
            )
            if found.kept:
                say(f"  the commit it had is pinned as {found.kept}")
    if caught:
        raise Interrupted(caught[0], f"stopped; {name} is collected, its checks are not over", f"git prun show {name}")
    return 0 if found.brought else 1

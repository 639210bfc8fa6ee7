"""``git prun collect``: capture a unit that is over once more, with what was left out and is wanted after all."""

from __future__ import annotations

import click

from gitprun.api.outcomes import Collected
from gitprun.api.stopping import Stop
from gitprun.cli.console import hint, put, put_json, safe, say
from gitprun.cli.options import here, json_option
from gitprun.cli.signals import signals_stop
from gitprun.model.errors import Interrupted
from gitprun.model.names import short

# What is more than a screen or two nobody reads here; show has all of it.
SHOWN = 50


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
    repo, stop = here(ctx), Stop()
    with signals_stop(stop) as caught:
        found = repo.collect(unit_name, include, stop=stop)
    if as_json:
        put_json("collect", found)
    else:
        _render(found)
    if caught:
        name = found.name
        raise Interrupted(caught[0], f"stopped; {name} is collected, its checks are not over", f"git prun show {name}")
    return 0 if found.brought else 1


def _render(found: Collected) -> None:
    for path in found.brought[:SHOWN]:
        put(safe(path))
    if len(found.brought) > SHOWN:
        put(f"... and {len(found.brought) - SHOWN} more")
    for row in found.stays_out[:SHOWN]:
        say(f"stays out: {safe(row.path)}: {safe(row.reason)}")
    if not found.brought:
        say(f"nothing new in {found.name}")
        hint(f"git prun show {found.name} lists what is left out")
        return
    reason = f" ({safe(found.reason)})" if found.reason else ""
    say(f"{found.name} is {found.state} at {short(found.commit or '')}{reason}")
    if found.kept:
        say(f"  the commit it had is pinned as {found.kept}")

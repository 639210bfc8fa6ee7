"""``git prun diff``: what a unit changed, while it works too."""

from __future__ import annotations

import sys

import click

from gitprun.cli.console import put, say, write_bytes
from gitprun.cli.options import Here
from gitprun.cli.show import unit_at
from gitprun.ledger.events import LIVE, UnitState, base_of
from gitprun.model.errors import OperationRefused
from gitprun.model.escapes import safe_text


@click.command()
@click.argument("unit_name", metavar="UNIT")
@click.option("--stat", "stat", is_flag=True, help="Show only the numbers of changed lines.")
@click.option("--name-only", is_flag=True, help="Show only the paths.")
@click.pass_context
def diff(ctx: click.Context, unit_name: str, stat: bool, name_only: bool) -> None:
    """Show what UNIT (or RUN/UNIT) changed, from its base to its commit; of a unit at work what it has by now.

    A file that holds control characters is shown with them written out, and is binary in a patch that is piped.
    """
    place, unit = unit_at(ctx, unit_name)
    shape = ("--stat",) if stat else ("--name-only",) if name_only else ()
    if unit.commit is not None:
        found = _read(place, unit, shape)
    elif unit.state in (*LIVE, "lost"):
        found = _read_live(place, unit, shape)
    else:
        raise OperationRefused(
            f"{unit.run}/{unit.id} has no commit ({unit.state})", f"git prun show {unit.run}/{unit.id}"
        )
    if shape and found:
        put(safe_text(found.decode("utf-8", "replace")).rstrip("\n"))
    elif found:
        write_bytes(found)


def _read(place: Here, unit: UnitState, shape: tuple[str, ...]) -> bytes:
    from gitprun.git.patch import read_difference

    base = base_of(place.history().runs[unit.run], unit)
    return read_difference(place.repository.git, base, str(unit.commit), *shape, colour=sys.stdout.isatty())


def _read_live(place: Here, unit: UnitState, shape: tuple[str, ...]) -> bytes:
    """Read what lies in the workspace now, without a trace."""
    from gitprun.git.patch import read_difference
    from gitprun.landing.temporary_objects import aside
    from gitprun.landing.working_tree import NotSeen, read_work

    run = place.history().runs[unit.run]
    with aside(place.repository) as room:
        try:
            tip = read_work(room, run, unit)
        except NotSeen as problem:
            raise OperationRefused(
                f"{unit.run}/{unit.id} is {unit.state}: {problem.message}", f"git prun show {unit.run}/{unit.id}"
            ) from None
        say(f"{unit.run}/{unit.id} is {unit.state}: this is what it has by now")
        return read_difference(room.git, base_of(run, unit), tip, *shape, colour=sys.stdout.isatty())

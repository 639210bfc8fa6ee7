"""``git prun diff``: what a unit changed, while it works too."""

from __future__ import annotations

import sys

import click

from gitprun.cli.console import put, write_bytes
from gitprun.cli.options import here
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
    shape = ("--stat",) if stat else ("--name-only",) if name_only else ()
    found = here(ctx).diff(unit_name, *shape, colour=sys.stdout.isatty())
    if shape and found:
        put(safe_text(found.decode("utf-8", "replace")).rstrip("\n"))
    elif found:
        write_bytes(found)

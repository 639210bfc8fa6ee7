"""``git prun trust``: approve what ``prun.toml`` says of programs, commands and sandboxes, key by key."""

from __future__ import annotations

import click

from gitprun.api.settings import approve_settings
from gitprun.cli.console import put, safe, say
from gitprun.cli.options import here


@click.command()
@click.option("--yes", "-y", is_flag=True, help="Do not ask.")
@click.pass_context
def trust(ctx: click.Context, yes: bool) -> int:
    """Show which keys of prun.toml name programs, commands or walls and are not approved yet, and approve them.

    prun.toml is a file of the repository: anybody's branch may change it. So such a key counts only once you have
    approved what it says, in this repository; when it says something else it is asked anew. What you name yourself,
    in a plan or on the command line, needs no approval, and neither do the commands of [run] verify.
    """
    done = approve_settings(here(ctx).opened, yes=yes)
    for row in done.approved:
        put(f"approved: {safe(row)}")
    if not done.approved:
        all_is = "everything in prun.toml that asks for it is approved"
        say(all_is if done.asks else "prun.toml names nothing to approve")
    return 0

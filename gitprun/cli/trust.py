"""``git prun trust``: approve what ``prun.toml`` says of programs, commands and walls, key by key."""

from __future__ import annotations

import click

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
    from gitprun.cli.places import require_trust
    from gitprun.system.config import read_settings
    from gitprun.workspaces.trust import show_power, untrusted

    place = here(ctx)
    powers = read_settings(place.repository.top).powers
    left = untrusted(place.repository, powers)
    require_trust(place, left, yes=yes)
    for power in left:
        put(f"approved: {safe(show_power(power))}")
    if not left:
        said = (
            "everything in prun.toml that asks for it is approved" if powers else "prun.toml names nothing to approve"
        )
        say(said)
    return 0

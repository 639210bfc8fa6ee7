"""``git prun ledger``: show the events everything is computed from, and hold them against what is there."""

from __future__ import annotations

import click

from gitprun.cli.console import put, put_json, safe, say
from gitprun.cli.options import here, json_option


@click.group()
def ledger() -> None:
    """Show the ledger, the file of events every state is computed from, or verify it."""


@ledger.command()
@json_option
@click.pass_context
def verify(ctx: click.Context, as_json: bool) -> int:
    """Compare the ledger with the refs and the disk, and say what is not as it should be, and what to do.

    Every row, every captured commit, every ref under refs/prun, landings and workspaces are looked at; nothing is
    changed. Exit code 1 when something is lost; notes alone are no loss. 128 when the ledger cannot be read.
    """
    found = here(ctx).check_ledger()
    if as_json:
        put_json("ledger", found)
        return 0 if found.ok else 1
    for one in found.findings:
        put(safe(f"{one.level}: {one.what}: {one.problem}" + (f" ({one.todo})" if one.todo else "")))
    counts = f"{found.rows} rows, {found.runs} runs, {found.units} units, {found.refs} refs, {found.landings} landings"
    notes = len(found.findings) - found.lost
    said = f"{found.lost} lost, {notes} note{'s' if notes != 1 else ''}" if found.findings else "all is there"
    put(f"{counts}, {found.workspaces} workspaces: {said}")
    return 0 if found.ok else 1


@ledger.command()
@click.option("--run", "run", metavar="RUN", help="Only the events of this run.")
@click.option("--archived", is_flag=True, help="Also those that git prun gc put into the archive, first.")
@click.pass_context
def show(ctx: click.Context, run: str | None, archived: bool) -> None:
    """Print the events as JSON, one a line, as programs read them."""
    some = False
    for event in here(ctx).events(archived=archived):
        some = True
        if run is None or event.run == run:
            put_json("event", event)
    if not some:
        say("nothing has been written down in this repository yet")

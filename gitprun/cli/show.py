"""``git prun show``, ``diff`` and ``log``: look at one unit."""

from __future__ import annotations

import json
import sys
import time

import click

from gitprun.cli.console import coloured, safe, write_bytes
from gitprun.cli.options import Here, here, json_option
from gitprun.cli.status import unit_row
from gitprun.errors import Refused
from gitprun.names import short, unit_branch
from gitprun.runs.events import UnitState
from gitprun.runs.lookup import find_unit, probe_unit
from gitprun.runs.outcome import describe_exit
from gitprun.system.files import read_plain, tail

TAIL = 64_000
MAX_SHOWN = 16_000_000


def _unit(ctx: click.Context, name: str) -> tuple[Here, UnitState]:
    place = here(ctx)
    history = place.history()
    unit = find_unit(history, name)
    return place, probe_unit(history.runs[unit.run], unit)


@click.command()
@click.argument("unit_name", metavar="UNIT")
@json_option
@click.pass_context
def show(ctx: click.Context, unit_name: str, as_json: bool) -> None:
    """Show all that is known about UNIT (or RUN/UNIT): state, commit, files, checks, result."""
    place, unit = _unit(ctx, unit_name)
    folder = place.repository.state / "runs" / unit.run / unit.id
    result = (read_plain(folder / "result.md", MAX_SHOWN) or b"").decode("utf-8", "replace")
    if as_json:
        click.echo(json.dumps({**unit_row(unit, time.time()), "facts": dict(unit.facts), "result": result}))
        return
    facts = unit.facts
    rows = [
        ("unit", f"{unit.run}/{unit.id}"),
        ("state", coloured(unit.state) + (f" ({safe(facts['reason'])})" if facts.get("reason") else "")),
        ("executor", f"{facts.get('executor', '-')} ({facts.get('mode', '-')})"),
        (
            "worker",
            describe_exit(facts["exit"]) + f" after {facts['exit']['seconds']:.1f} s" if facts.get("exit") else "-",
        ),
        ("commit", f"{short(unit.commit)}  {unit_branch(unit.run, unit.id)}" if unit.commit else "-"),
        ("workspace", "removed" if facts.get("removed") else safe(str(facts.get("path", "-")))),
        ("output", str(folder / "output.log")),
    ]
    for name, value in rows:
        click.echo(f"{name + ':':<11}{value}")
    _section("changed", facts.get("changed", ()))
    _section("outside its paths", facts.get("outside", ()))
    _section("left out (still in the workspace)", [f"{r['path']}: {r['reason']}" for r in facts.get("left_out", ())])
    _section("kept beside the commit", [f"{ref} {short(oid)}" for ref, oid in facts.get("kept", ())])
    _section("the worker's own commits", facts.get("own_commits", ()))
    checks = facts.get("verdict", {}).get("checks", ())
    _section("checks", [f"{c['state']}: {c['command']} ({c['seconds']:.1f} s) {c['reason']}".rstrip() for c in checks])
    _section("notes", [*facts.get("notes", ()), *facts.get("collect_notes", ())])
    if result:
        click.echo("\nresult:")
        write_bytes("".join(f"  {line}\n" for line in result.rstrip("\n").split("\n")).encode())


def _section(title: str, rows: object) -> None:
    shown = [safe(str(row)) for row in rows] if isinstance(rows, list | tuple) else []
    if shown:
        click.echo(f"\n{title}:")
        for row in shown[:200]:
            click.echo(f"  {row}")
        if len(shown) > 200:
            click.echo(f"  ... and {len(shown) - 200} more")


@click.command()
@click.argument("unit_name", metavar="UNIT")
@click.option("--stat", "stat", is_flag=True, help="Show only the numbers of changed lines.")
@click.option("--name-only", is_flag=True, help="Show only the paths.")
@click.pass_context
def diff(ctx: click.Context, unit_name: str, stat: bool, name_only: bool) -> None:
    """Show what UNIT (or RUN/UNIT) changed, from its base to its commit."""
    place, unit = _unit(ctx, unit_name)
    if unit.commit is None:
        raise Refused(f"{unit.run}/{unit.id} has no commit ({unit.state})", f"git prun show {unit.run}/{unit.id}")
    base = place.history().runs[unit.run].base
    shape = ["--stat"] if stat else ["--name-only"] if name_only else ["--patch"]
    colour = "--color=always" if sys.stdout.isatty() else "--color=never"
    pinned = ["--no-ext-diff", "--no-textconv", "--src-prefix=a/", "--dst-prefix=b/", "--binary", colour]
    answer = place.repository.git.run("diff", *pinned, *shape, base, unit.commit, "--")
    write_bytes(answer.out)


@click.command()
@click.argument("unit_name", metavar="UNIT")
@click.option("--all", "whole", is_flag=True, help="Print all of it, not only the end.")
@click.option("--verify", "verification", is_flag=True, help="Print the output of the checks instead.")
@click.option("--prompt", "prompt", is_flag=True, help="Print the prompt that was sent instead.")
@click.option("--events", "events", is_flag=True, help="Print the unit's events from the ledger instead.")
@click.pass_context
def log(ctx: click.Context, unit_name: str, whole: bool, verification: bool, prompt: bool, events: bool) -> None:
    """Show what the worker of UNIT (or RUN/UNIT) printed: the end of it, or all."""
    place, unit = _unit(ctx, unit_name)
    folder = place.repository.state / "runs" / unit.run / unit.id
    if events:
        for event in place.ledger.read().events:
            if (event.run, event.unit) == (unit.run, unit.id):
                click.echo(json.dumps({"t": event.time, "kind": event.kind, **event.facts}))
        return
    if verification:
        paths = [
            folder.joinpath(check["log"]) for check in unit.facts.get("verdict", {}).get("checks", ()) if check["log"]
        ]
    else:
        paths = [folder / ("prompt.md" if prompt else "output.log")]
    for path in paths:
        if whole or prompt:
            with open(path, "rb") as source:
                while chunk := source.read(1 << 20):
                    write_bytes(chunk)
        else:
            write_bytes(tail(path, TAIL))

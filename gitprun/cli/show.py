"""``git prun show`` and ``log``: look at one unit."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterator

import click

from gitprun.api.details import RejectedCommit, UnitDetails
from gitprun.api.events import UnitEvent
from gitprun.api.reading import Output, find_output, read_unit_events
from gitprun.api.rows import EarlierAttempt, HeldStatus, LeftOutPath
from gitprun.cli.console import coloured, put, put_fields, put_json, safe, say, section, write_bytes
from gitprun.cli.options import here, json_option
from gitprun.cli.status import describe_stall
from gitprun.model.escapes import safe_text
from gitprun.model.names import short

# The end of an output that fits on a few screens, and takes no time to read.
TAIL = 64_000
TITLES = {"held": "changes what is run here", "named": "changes what starts programs elsewhere"}


@click.command()
@click.argument("unit_name", metavar="UNIT")
@json_option
@click.pass_context
def show(ctx: click.Context, unit_name: str, as_json: bool) -> None:
    """Show all that is known about UNIT (or RUN/UNIT): state, commit, files, checks, result."""
    unit = here(ctx).details(unit_name)
    if as_json:
        put_json("unit", unit)
        return
    put_fields((*_rows(unit), *(_held_rows(unit.landing) if unit.landing is not None else ())))
    for title, rows in _sections(unit):
        section(title, rows)
    if unit.result:
        put("\nresult:")
        put("\n".join(f"  {line}" for line in safe_text(unit.result).rstrip("\n").split("\n")))


def _sections(unit: UnitDetails) -> Iterator[tuple[str, Iterator[str] | tuple[str, ...]]]:
    """Yield what takes a line each, with its title."""
    yield "changed", unit.changed
    yield "outside its paths", unit.outside
    for grade, title in TITLES.items():
        yield title, (f"{touch.path} ({touch.what})" for touch in unit.trust if touch.grade == grade)
    yield "changes its own check", unit.gate
    drift = unit.drift_shown
    whose = "by its worker" if drift is not None and drift.sure else "while it ran"
    yield f"changed in your repository {whose}", drift.lines if drift is not None else ()
    yield "changed in your checkout while it ran, through what is linked", unit.linked
    yield "left out (still in the workspace)", map(_left_out, unit.left_out)
    yield "rejected (kept in quarantine)", map(_rejected, unit.rejected)
    yield "kept beside the commit", (f"{row.ref} {short(row.commit)}" for row in unit.kept)
    yield "earlier attempts", map(_earlier, unit.earlier)
    yield "the worker's own commits", unit.own_commits
    yield "checks", (f"{c.state}: {c.command} ({c.seconds:.1f} s) {c.reason}".rstrip() for c in unit.checks)
    yield "changed by the checks", unit.verify_changed
    yield "about the checks", unit.check_notes
    yield "the result does not follow the contract", unit.result_problems
    yield "the result does not agree with what was found", unit.claims
    yield "notes", unit.notes


def _rows(unit: UnitDetails) -> list[tuple[str, str]]:
    """List what takes one line each."""
    reason, ended = f" ({safe(unit.reason)})" if unit.reason else "", unit.exit
    rows = [
        ("unit", unit.name),
        ("state", coloured(unit.state) + reason),
        ("executor", f"{unit.executor or '-'} ({unit.mode or '-'})"),
        ("worker", safe(f"{ended.words} after {ended.seconds:.1f} s") if ended else "-"),
        ("commit", f"{short(unit.commit)}  {unit.branch}" if unit.commit else "-"),
        ("verdict", unit.verdict or "-"),
        *([("confined", safe(unit.confined))] if unit.confined else []),
        ("workspace", "removed" if unit.removed else safe(unit.path or "-")),
        ("output", safe(unit.log or "-")),
    ]
    if unit.commit and unit.workspace_kind == "worktree":
        # There is no branch to switch to.
        rows.append(("to look", f"git switch --detach {unit.branch}"))
    if stall := describe_stall(unit):
        rows.insert(2, ("stalled", safe(stall.removeprefix("stalled "))))
    if ended and ended.dropped:
        rows.append(("dropped", f"{ended.dropped / 1e6:.1f} MB of output, out of its middle ([run] output_max)"))
    if unit.earlier:
        rows.insert(3, ("attempt", _attempts(unit)))
    if unit.hint and not unit.live:
        rows.insert(2, ("hint", safe(unit.hint)))
    return rows


def _held_rows(hold: HeldStatus) -> list[tuple[str, str]]:
    said = f"{hold.state} on {hold.onto}: {hold.reason}" + (f" ({hold.moved} moved since)" if hold.moved else "")
    return [("landing", safe(said)), ("next", safe(hold.next))]


def _left_out(row: LeftOutPath) -> str:
    """Return in words what is in no commit, why, and how large it is."""
    large = f"{row.size / 1e3:.0f} kB" if row.size < 10_000_000 else f"{row.size / 1e6:.0f} MB"
    shown = f"{row.size} bytes" if row.size < 10_000 else large
    return f"{row.path}: {row.reason}" + (f" ({shown})" if row.size else "")


def _rejected(row: RejectedCommit) -> str:
    """Return in words which of the worker's own commits was not taken over, and where it is kept."""
    return f"{row.name} {short(row.oid)}: {row.reason}" + (f" ({row.place})" if row.place else "")


def _earlier(row: EarlierAttempt) -> str:
    """Return in words what one earlier attempt came to, and where it is kept."""
    kept = f"; kept as {row.ref}" if row.ref else ""
    return f"{row.attempt}: {row.state} ({row.reason or row.kind or '-'}){kept}; output in {row.folder}"


def _attempts(unit: UnitDetails) -> str:
    """Return in words which attempt this is, and why the ones before it ended."""
    earlier = [f"{row.attempt}: {row.kind or row.state}" for row in unit.earlier]
    return f"{unit.attempt} (before it {safe(', '.join(earlier))})"


@click.command()
@click.argument("unit_name", metavar="UNIT")
@click.option("--all", "whole", is_flag=True, help="Print all of it, not only the end.")
@click.option("--verify", "verification", is_flag=True, help="Print the output of the checks instead.")
@click.option("--prompt", "prompt", is_flag=True, help="Print the prompt that was sent instead.")
@click.option("--events", "events", is_flag=True, help="Print the unit's events from the ledger instead.")
@click.pass_context
def log(ctx: click.Context, unit_name: str, whole: bool, verification: bool, prompt: bool, events: bool) -> None:
    """Show what the worker of UNIT (or RUN/UNIT) printed: the end of it, or all."""
    opened = here(ctx).opened
    if events:
        for event in read_unit_events(opened, unit_name):
            put_json("unit-event", UnitEvent(t=event.t, kind=event.kind), **event.facts)
        return
    what = "checks" if verification else "prompt" if prompt else "output"
    for found in find_output(opened, unit_name, what):
        _print(found, whole or prompt)


def _print(found: Output, whole: bool) -> None:
    """Print a file, or its end, from the start of a line."""
    with open(found.path, "rb") if found.path.is_file() else gzip.open(found.packed) as source:
        size = source.seek(0, os.SEEK_END)
        source.seek(0)
        if size == 0:
            say("(it printed nothing)")
        if size > TAIL and not whole:
            source.seek(size - TAIL)
            source.readline(TAIL)
            say(f"(the last {TAIL // 1000} kB of {size / 1e6:.1f} MB; --all prints everything)")
            if source.tell() >= size:
                source.seek(size - TAIL)
        # What was dropped of an output that still grows is a hole in its file, which reads as zeros.
        about = os.fstat(source.fileno())
        holes = about.st_blocks * 512 < about.st_size
        # By lines, so that no control sequence is cut in two.
        while chunk := source.readline(1 << 20):
            if not holes or chunk.count(0) < len(chunk):
                write_bytes(chunk)

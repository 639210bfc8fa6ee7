"""``git prun show`` and ``log``: look at one unit."""

from __future__ import annotations

import gzip
import json
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from gitprun.cli.console import coloured, put, safe, say, write_bytes
from gitprun.cli.options import Here, here, json_option
from gitprun.cli.status import describe_stall, hold_row, unit_row
from gitprun.landing.holds import read_holds
from gitprun.landing.surface import TITLES, Touch
from gitprun.ledger.events import UnitState
from gitprun.ledger.held import HeldBranch
from gitprun.ledger.lookup import find_unit, probe_unit
from gitprun.ledger.outcome import describe_exit
from gitprun.ledger.review import read_claims
from gitprun.model.errors import OperationRefused
from gitprun.model.escapes import safe_text
from gitprun.model.names import short, unit_branch
from gitprun.system.files import read_plain

TAIL = 64_000
MAX_SHOWN = 16_000_000


def unit_at(ctx: click.Context, name: str) -> tuple[Here, UnitState]:
    """Find the repository, and the unit of a name with the state it really has."""
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
    place, unit = unit_at(ctx, unit_name)
    hold, touches = _hold(place, unit), _touches(place, unit)
    folder = place.repository.state / "runs" / unit.run / unit.id
    result = (read_plain(folder / "result.md", MAX_SHOWN) or b"").decode("utf-8", "replace")
    claims = read_claims(place.repository.state, unit)
    if as_json:
        row = {**unit_row(unit, time.time()), "claims": list(claims)}
        landing = hold_row(hold) if hold is not None else None
        put(
            json.dumps(
                {
                    **row,
                    "landing": landing,
                    "trust": [touch.as_json() for touch in touches],
                    "facts": dict(unit.facts),
                    "result": result,
                }
            )
        )
        return
    for name, value in (*_rows(unit), *(_held_rows(hold) if hold is not None else ())):
        put(f"{name + ':':<11}{value}")
    facts = unit.facts
    _section("changed", facts.get("changed", ()))
    _section("outside its paths", facts.get("outside", ()))
    for grade, title in TITLES.items():
        _section(title, [touch.words for touch in touches if touch.grade == grade])
    _section("changes its own check", facts.get("gate", ()))
    drift = facts.get("drift") or {}
    whose = "by its worker" if drift.get("sure") else "while it ran"
    _section(f"changed in your repository {whose}", drift.get("lines", ()))
    more = facts.get("linked_more") or 0
    linked = [*facts.get("linked", ()), *([f"... and {more} more"] if more else ())]
    _section("changed in your checkout while it ran, through what is linked", linked)
    _section("left out (still in the workspace)", [_left_out(row) for row in facts.get("left_out", ())])
    _section("rejected (kept in quarantine)", [_rejected(row) for row in facts.get("rejected", ())])
    _section("kept beside the commit", [f"{ref} {short(oid)}" for ref, oid in facts.get("kept", ())])
    _section("earlier attempts", [_earlier(row) for row in facts.get("earlier", ())])
    _section("the worker's own commits", facts.get("own_commits", ()))
    checks = (facts.get("verdict") or {}).get("checks", ())
    _section("checks", [f"{c['state']}: {c['command']} ({c['seconds']:.1f} s) {c['reason']}".rstrip() for c in checks])
    _section("changed by the checks", facts.get("verify_changed", ()))
    _section("about the checks", facts.get("check_notes", ()))
    _section("the result does not follow the contract", facts.get("result_problems", ()))
    _section("the result does not agree with what was found", claims)
    unseen = [facts[name] for name in ("drift_note", "linked_note") if facts.get(name)]
    _section("notes", [*facts.get("notes", ()), *facts.get("collect_notes", ()), *unseen])
    if result:
        put("\nresult:")
        put("\n".join(f"  {line}" for line in safe_text(result).rstrip("\n").split("\n")))


def _rows(unit: UnitState) -> list[tuple[str, str]]:
    """List the facts that take one line each."""
    facts, name = unit.facts, f"{unit.run}/{unit.id}"
    reason = f" ({safe(str(facts['reason']))})" if facts.get("reason") else ""
    ended = facts.get("exit")
    rows = [
        ("unit", name),
        ("state", coloured(unit.state) + reason),
        ("executor", f"{facts.get('executor', '-')} ({facts.get('mode', '-')})"),
        ("worker", safe(f"{describe_exit(ended)} after {ended['seconds']:.1f} s") if ended else "-"),
        ("commit", f"{short(unit.commit)}  {unit_branch(unit.run, unit.id)}" if unit.commit else "-"),
        ("verdict", unit.verdict or "-"),
        *_walls(facts),
        ("workspace", "removed" if facts.get("removed") else safe(str(facts.get("path", "-")))),
        ("output", safe(str(facts.get("log", "-")))),
    ]
    if unit.commit and facts.get("workspace") == "worktree":
        # There is no branch to switch to.
        rows.append(("to look", f"git switch --detach {unit_branch(unit.run, unit.id)}"))
    if stall := describe_stall(unit, time.time()):
        rows.insert(2, ("stalled", safe(stall.removeprefix("stalled "))))
    if ended and ended.get("dropped"):
        rows.append(("dropped", f"{ended['dropped'] / 1e6:.1f} MB of output, out of its middle ([run] output_max)"))
    if facts.get("earlier"):
        rows.insert(3, ("attempt", _attempts(facts)))
    if facts.get("hint") and not unit.live:
        rows.insert(2, ("hint", safe(str(facts["hint"]))))
    return rows


def _hold(place: Here, unit: UnitState) -> HeldBranch | None:
    """Find what the last landing of a unit said, if it did not land."""
    holds = read_holds(place.repository, place.history(), place.ledger.read().events)
    return next((one for one in reversed(holds) if one.name == f"{unit.run}/{unit.id}"), None)


def _touches(place: Here, unit: UnitState) -> tuple[Touch, ...]:
    """Find what a unit changes of what starts programs."""
    from gitprun.landing.touched import read_unit_touches
    from gitprun.system.config import read_settings

    protected = read_settings(place.repository.top).protected or ()
    run = place.history().runs[unit.run]
    return read_unit_touches(place.repository, run, [unit], protected).get(unit.id, ())


def _held_rows(hold: HeldBranch) -> list[tuple[str, str]]:
    said = f"{hold.state} on {hold.onto}: {hold.reason}" + (f" ({hold.moved} moved since)" if hold.moved else "")
    return [("landing", safe(said)), ("next", safe(hold.next_step))]


def _walls(facts: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Say within which walls the checks ran, if any ran."""
    said = str((facts.get("verdict") or {}).get("confined") or "")
    return [("confined", safe(said))] if said else []


def _left_out(row: Mapping[str, Any]) -> str:
    """Say what is in no commit, why, and how large it is."""
    size = int(row.get("size") or 0)
    large = f"{size / 1e3:.0f} kB" if size < 10_000_000 else f"{size / 1e6:.0f} MB"
    shown = f"{size} bytes" if size < 10_000 else large
    return f"{row['path']}: {row['reason']}" + (f" ({shown})" if size else "")


def _rejected(row: Mapping[str, Any]) -> str:
    """Say which of the worker's own commits was not taken over, and where it is kept."""
    return f"{row['name']} {short(row['oid'])}: {row['reason']}" + (f" ({row['place']})" if row.get("place") else "")


def _earlier(row: Mapping[str, Any]) -> str:
    """Say what one earlier attempt came to, and where it is kept."""
    kept = f"; kept as {row['ref']}" if row.get("ref") else ""
    return f"{row['attempt']}: {row['state']} ({row['reason'] or row['kind'] or '-'}){kept}; output in {row['folder']}"


def _attempts(facts: Mapping[str, Any]) -> str:
    """Say which attempt this is, and why the ones before it ended."""
    earlier = [f"{row['attempt']}: {row['kind'] or row['state']}" for row in facts.get("earlier", ())]
    return f"{facts.get('attempt')} (before it {safe(', '.join(earlier))})"


def _section(title: str, rows: object) -> None:
    shown = [safe(str(row)) for row in rows] if isinstance(rows, list | tuple) else []
    if shown:
        put(f"\n{title}:")
        for row in shown[:200]:
            put(f"  {row}")
        if len(shown) > 200:
            put(f"  ... and {len(shown) - 200} more")


@click.command()
@click.argument("unit_name", metavar="UNIT")
@click.option("--all", "whole", is_flag=True, help="Print all of it, not only the end.")
@click.option("--verify", "verification", is_flag=True, help="Print the output of the checks instead.")
@click.option("--prompt", "prompt", is_flag=True, help="Print the prompt that was sent instead.")
@click.option("--events", "events", is_flag=True, help="Print the unit's events from the ledger instead.")
@click.pass_context
def log(ctx: click.Context, unit_name: str, whole: bool, verification: bool, prompt: bool, events: bool) -> None:
    """Show what the worker of UNIT (or RUN/UNIT) printed: the end of it, or all."""
    place, unit = unit_at(ctx, unit_name)
    folder = place.repository.state / "runs" / unit.run / unit.id
    if events:
        from gitprun.ledger.archive import read_archived

        rows = place.ledger.read().events
        for event in (*read_archived(place.ledger.path.parent, rows[0] if rows else None), *rows):
            if (event.run, event.unit) == (unit.run, unit.id):
                put(json.dumps({"t": event.time, "kind": event.kind, **event.facts}))
        return
    name = f"{unit.run}/{unit.id}"
    if verification:
        checks = (unit.facts.get("verdict") or {}).get("checks", ())
        paths = [Path(check["log"]) for check in checks if check["log"]]
        if not paths:
            raise OperationRefused(
                f"no check of {name} was run ({unit.verdict or unit.state})", f"git prun show {name}"
            )
    else:
        paths = [folder / ("prompt.md" if prompt else "output.log")]
        if not _is_there(paths[0]) and not unit.facts.get("process"):
            raise OperationRefused(f"the worker of {name} was not started ({unit.state})", f"git prun show {name}")
    gone = [path for path in paths if not _is_there(path)]
    if gone:
        raise OperationRefused(
            f"{gone[0]} is gone: somebody deleted it", f"git prun show {name} tells what is still known"
        )
    for path in paths:
        _print(path, whole or prompt)


def _is_there(path: Path) -> bool:
    return path.is_file() or packed(path).is_file()


def packed(path: Path) -> Path:
    """Name what an old log is compressed to."""
    return path.with_name(f"{path.name}.gz")


def _print(path: Path, whole: bool) -> None:
    """Print a file, or its end, from the start of a line."""
    with open(path, "rb") if path.is_file() else gzip.open(packed(path)) as source:
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

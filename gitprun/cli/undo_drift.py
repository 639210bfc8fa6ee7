"""``git prun undo --drift``: put back what changed in your repository while a worker ran, or let it be."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from gitprun.cli.console import clock_time, hint, put, safe, say, table, warn
from gitprun.cli.options import Here, here
from gitprun.ledger.drift_record import Drift, open_drifts, texts
from gitprun.model.escapes import shell_word

if TYPE_CHECKING:
    from gitprun.recovery.undo_drift import DriftReport, UndoItem


def undo_drift(
    ctx: click.Context, name: str, *, accept: bool, only: Sequence[str], dry_run: bool, as_json: bool
) -> int:
    """Put back or accept, and print what came of it; gives the exit code."""
    from gitprun.recovery.undo_drift import accept as let_be
    from gitprun.recovery.undo_drift import put_back

    place = _place(ctx)
    if accept:
        report = let_be(place.repository, place.ledger, name)
    else:
        report = put_back(place.repository, place.ledger, name, only=only, dry_run=dry_run)
    if as_json:
        put(json.dumps(report.as_json() | {"dry_run": dry_run}))
    else:
        _render(report, dry_run=dry_run)
    return 0 if report.is_done else 1


def _place(ctx: click.Context) -> Here:
    """Find the repository, also where a worker left settings or a HEAD that git cannot read."""
    from gitprun.git.repo import NoRepository
    from gitprun.ledger.ledger import Ledger
    from gitprun.observe.snapshotter import find_damaged

    try:
        return here(ctx)
    except NoRepository:
        found = find_damaged(ctx.obj)
        if found is None:
            raise
        warn(f"git cannot read {safe(str(found.common))}; it is looked at by hand")
        return Here(start=ctx.obj, repository=found, ledger=Ledger(found.state))


def _render(report: DriftReport, *, dry_run: bool) -> None:
    units = safe(", ".join(report.units))
    for item in report.items:
        put(f"{_standing(item, report, dry_run=dry_run)}: {safe(item.finding.text)}" + _because(item, report))
    for note in report.notes:
        say(f"left as it is: {safe(note)}")
    if report.brought:
        say(f"{report.brought} object files were brought back")
    if report.accepted:
        say(f"accepted; it keeps {units} from landing no more")
    elif not report.is_done:
        hint("do what is said, then the same command again; --accept lets the rest stay as it is")
    elif not dry_run:
        say(f"nothing of it keeps {units} from landing any more")
    if report.notes and not report.accepted:
        hint("--only NAME puts back one of those, too")


def _standing(item: UndoItem, report: DriftReport, *, dry_run: bool) -> str:
    if report.accepted:
        return "accepted"
    word = {"put-back": "put back", "left": "left alone", "refused": "not put back"}[item.outcome.state]
    return f"would be {word}" if dry_run else word


def _because(item: UndoItem, report: DriftReport) -> str:
    return f": {safe(item.outcome.why)}" if item.outcome.why and not report.accepted else ""


def show_drifts(events: Sequence[Any]) -> None:
    """Print what changed while workers ran and waits for an answer."""
    found = open_drifts(events)
    if not found:
        return
    rows = [
        [
            safe(", ".join(drift.units)) if not number else "",
            clock_time(drift.time) if not number else "",
            safe(text),
        ]
        for drift in found
        for number, text in enumerate(texts(drift)[:20])
    ]
    put("\nchanged in your repository while workers ran:")
    put(table(["unit", "seen", "what"], rows))
    hint(f"git prun undo --drift {shell_word(found[0].units[0])} puts it back; with --accept it stays as it is")


def drift_rows(events: Sequence[Any]) -> list[dict[str, Any]]:
    """Give the open drifts as plain values."""
    return [_row(drift) for drift in open_drifts(events)]


def _row(drift: Drift) -> dict[str, Any]:
    findings = [one.as_json() | {"text": one.text} for one in drift.open]
    return {"run": drift.run, "id": drift.id, "units": list(drift.units), "sure": drift.sure, "findings": findings}

"""What workers changed of the user's repository: listed, put back, or accepted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gitprun.api.opened import Opened
from gitprun.api.undone import DriftChange, DriftItem, DriftUndone, OpenDrift

if TYPE_CHECKING:
    from gitprun.ledger.drift_findings import DriftFinding
    from gitprun.ledger.events import Event
    from gitprun.recovery.undo_drift import DriftReport


def undo_drift(opened: Opened, name: str, *, only: Sequence[str] = (), dry_run: bool = False) -> DriftUndone:
    """Put back what changed while a unit ran, from what was kept before it started.

    ``only`` names refs, config, hooks, or single things. What was changed again since is left alone, files of checkouts
    are never touched. Raises NothingFound.
    """
    from gitprun.recovery.undo_drift import put_back

    return _undone(put_back(opened.repository, opened.ledger, name, only=only, dry_run=dry_run), dry_run=dry_run)


def accept_drift(opened: Opened, name: str) -> DriftUndone:
    """Have it stay as it is, so that the unit may land; raises NothingFound."""
    from gitprun.recovery.undo_drift import accept

    return _undone(accept(opened.repository, opened.ledger, name), dry_run=False)


def _undone(report: DriftReport, *, dry_run: bool) -> DriftUndone:
    from gitprun.ledger.drift_findings import describe

    return DriftUndone(
        units=report.units,
        items=tuple(
            DriftItem(
                kind=item.finding.thing.kind,
                name=item.finding.thing.name,
                old=item.finding.thing.old,
                new=item.finding.thing.new,
                gate=item.finding.gate,
                file=item.finding.thing.file,
                why=item.finding.why,
                by=item.finding.by,
                text=describe(item.finding.thing),
                words=item.finding.text,
                drift=item.drift,
                state=item.outcome.state,
                because=item.outcome.why,
            )
            for item in report.items
        ),
        notes=report.notes,
        objects=report.brought,
        accepted=report.accepted,
        dry_run=dry_run,
    )


def open_drifts_of(events: Sequence[Event]) -> tuple[OpenDrift, ...]:
    """Return what changed while workers ran and waits for an answer."""
    from gitprun.ledger.drift_record import open_drifts, texts

    return tuple(
        OpenDrift(
            run=drift.run,
            id=drift.id,
            units=drift.units,
            sure=drift.sure,
            findings=tuple(map(_change, drift.open)),
            time=drift.time,
            texts=tuple(texts(drift)),
        )
        for drift in open_drifts(events)
    )


def _change(one: DriftFinding) -> DriftChange:
    thing = one.thing
    return DriftChange(
        kind=thing.kind,
        name=thing.name,
        old=thing.old,
        new=thing.new,
        gate=one.gate,
        file=thing.file,
        why=one.why,
        by=one.by,
        text=one.text,
    )

"""One unit looked at closely, copied into the value that is published: the one place that does so."""

from __future__ import annotations

from pathlib import Path

from gitprun.api.details import CheckOutcome, RejectedCommit, TrustTouch, UnitDetails, check_outcomes
from gitprun.api.rows import HeldStatus
from gitprun.api.schema import plain
from gitprun.api.units import fill
from gitprun.ledger.events import UnitState


def unit_details(
    unit: UnitState, now: float, state: Path, *, landing: HeldStatus | None, trust: tuple[TrustTouch, ...], result: str
) -> UnitDetails:
    """Return all that is known of a unit; ``result`` is the text of its result file."""
    more = f"... and {unit.linked_more} more" if unit.linked_more else ""
    return fill(
        UnitDetails,
        unit,
        now,
        state,
        landing=landing,
        trust=trust,
        facts=plain(unit.as_json()),
        result=result,
        path=unit.path or "",
        removed=unit.removed,
        log=unit.log or "",
        workspace_kind=unit.workspace or "",
        checks=checks_of(unit),
        changed=unit.changed,
        linked=(*unit.linked, *filter(None, [more])),
        rejected=tuple(
            RejectedCommit(name=row.name, oid=row.oid, reason=row.reason, place=row.place) for row in unit.rejected
        ),
        own_commits=unit.own_commits,
        check_notes=unit.check_notes,
        notes=(*unit.notes, *unit.collect_notes, *filter(None, (unit.drift_note, unit.linked_note))),
    )


def checks_of(unit: UnitState) -> tuple[CheckOutcome, ...]:
    """Return what the checks of a unit said, in the order in which they ran."""
    return check_outcomes(unit.checked.checks if unit.checked is not None else ())

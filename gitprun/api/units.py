"""Units and runs as the ledger has them, copied into the values that are published: the one place that does so."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from gitprun.api.schema import to_json
from gitprun.api.values import RunStatus, UnitStatus, WorkerExit
from gitprun.ledger.events import RunState, UnitState
from gitprun.ledger.held import HeldBranch
from gitprun.ledger.lookup import probe_unit
from gitprun.ledger.outcome import describe_exit
from gitprun.ledger.review import read_claims
from gitprun.ledger.rows import DriftRow, EarlierRow, ExitRow
from gitprun.ledger.stall import stalled_for
from gitprun.model.names import unit_branch

if TYPE_CHECKING:
    from gitprun.api.details import TrustTouch
    from gitprun.api.outcomes import ReviewedResult
    from gitprun.api.rows import EarlierAttempt, HeldStatus, LeftOutPath, NamedStatus, PinnedRef, UnitDrift
    from gitprun.ledger.review import Review

_Status = TypeVar("_Status", bound=UnitStatus)


def run_status(run: RunState, now: float, state: Path, *, claims: bool = True) -> RunStatus:
    """Return a run with the states its units really have; ``state`` is the repository's prun folder.

    Without ``claims`` the result files are not read: they are many, and a list of units does not show them.
    """
    units = (probe_unit(run, unit) for unit in run.units.values())
    return RunStatus(
        run=run.id,
        base=run.base,
        started=run.started,
        ended=run.ended,
        root=run.root,
        units=tuple(unit_status(unit, now, state, claims=claims) for unit in units),
    )


def unit_status(unit: UnitState, now: float, state: Path, *, claims: bool = True) -> UnitStatus:
    """Return a unit, whose ``state`` is taken as it is."""
    return fill(UnitStatus, unit, now, state, claims=claims)


def fill(
    cls: type[_Status], unit: UnitState, now: float, state: Path, *, claims: bool = True, **more: object
) -> _Status:
    """Copy what lists show of a unit into a value; ``more`` are fields that only ``cls`` has."""
    seconds, stall, undone = stalled_for(unit, now), unit.stalled, unit.undone
    return cls(
        id=unit.id,
        run=unit.run,
        state=unit.state,
        reason=unit.reason,
        kind=unit.failure,
        attempt=unit.attempt,
        earlier=tuple(map(_earlier, unit.earlier)),
        until=unit.until if unit.state == "waiting" else None,
        stalled=None if seconds is None else round(seconds, 3),
        age=round(now - unit.since, 3),
        seconds=unit.exit.seconds if unit.exit is not None else None,
        executor=unit.executor or None,
        mode=unit.mode or None,
        files=unit.files,
        outside=unit.outside or (),
        left_out=_left_out(unit),
        fallback=unit.fallback,
        drift=to_json(unit.drift.as_json()) if unit.drift is not None else None,
        verdict=unit.verdict,
        branch=unit_branch(unit.run, unit.id) if unit.commit else None,
        commit=unit.commit,
        ref=unit.ref or None,
        workspace=None if unit.removed else unit.path or None,
        claims=tuple(read_claims(state, unit)) if claims else (),
        hint=unit.hint,
        stall=stall.hint or stall.last if stall is not None and seconds is not None else "",
        gate=unit.gate,
        verify_changed=unit.verify_changed,
        result_problems=unit.result_problems,
        kept=_kept(unit),
        exit=_exit(unit.exit),
        retry_after=unit.ending.retry_after if unit.ending is not None else None,
        # What was moved off is in no history any more, and deserves no word.
        reverted_by=undone.by if undone is not None and undone.way == "reverted" else "",
        drift_shown=_drift(unit.drift),
        confined=unit.checked.confined if unit.checked is not None else "",
        **more,
    )


def named_status(unit: UnitState, now: float) -> NamedStatus:
    """Return a workspace of the user's own, whose ``state`` is taken as it is."""
    from gitprun.api.rows import NamedStatus

    return NamedStatus(
        name=unit.id,
        state=unit.state,
        reason=unit.reason,
        age=round(now - unit.since, 3),
        verdict=unit.verdict,
        path=unit.path,
        branch=unit.branch,
        workspace=unit.workspace,
        base=unit.base,
        setup=unit.setup or None,
        commit=unit.commit,
        ref=unit.ref,
        files=unit.files,
        outcome=unit.committed or None,
        log=unit.log or None,
        left_out=_left_out(unit),
    )


def held_status(one: HeldBranch) -> HeldStatus:
    """Return what the last landing of a branch said."""
    from gitprun.api.rows import HeldStatus, PathReason

    return HeldStatus(
        branch=one.branch,
        name=one.name,
        target=one.target,
        state=one.state,
        reason=one.reason,
        moved=one.moved,
        time=one.time,
        command=one.command,
        log=one.log,
        findings=tuple(PathReason(path=path, reason=reason) for path, reason in one.findings),
        next=one.next_step,
    )


def reviewed(one: Review, trust: tuple[TrustTouch, ...] = ()) -> ReviewedResult:
    """Copy what became of a unit's result; ``trust`` is what it changes of what starts programs."""
    from gitprun.api.outcomes import ReviewedResult

    return ReviewedResult(
        run=one.run,
        unit=one.unit,
        state=one.state,
        result=one.kind,
        reason=one.reason,
        state_dir=one.folder,
        fields=one.fields,
        claims=one.claims,
        outside=one.outside,
        trust=trust,
    )


def _kept(unit: UnitState) -> tuple[PinnedRef, ...]:
    if not unit.kept:
        return ()
    from gitprun.api.rows import PinnedRef

    return tuple(PinnedRef(ref=ref, commit=commit) for ref, commit in unit.kept)


def _left_out(unit: UnitState) -> tuple[LeftOutPath, ...]:
    if not unit.left_out:
        return ()
    from gitprun.api.rows import LeftOutPath

    return tuple(LeftOutPath(path=row.path, reason=row.reason, size=row.size) for row in unit.left_out)


def _earlier(row: EarlierRow) -> EarlierAttempt:
    from gitprun.api.rows import EarlierAttempt

    return EarlierAttempt(
        attempt=row.attempt,
        state=row.state,
        reason=row.reason,
        kind=row.kind,
        ref=row.ref,
        folder=row.folder,
        base=row.base or "",
        commit=row.commit or "",
    )


def _exit(said: ExitRow | None) -> WorkerExit | None:
    if said is None:
        return None
    return WorkerExit(
        words=describe_exit(said),
        reason=said.reason,
        code=said.code,
        signal=said.signal,
        seconds=said.seconds,
        leftovers=said.leftovers,
        survivors=said.survivors,
        unproved=said.unproved,
        dropped=said.dropped,
    )


def _drift(said: DriftRow | None) -> UnitDrift | None:
    if said is None:
        return None
    from gitprun.api.rows import UnitDrift

    return UnitDrift(text=said.text, lines=said.lines, holds=said.holds, sure=said.sure, shown=said.shown)

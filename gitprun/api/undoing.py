"""Landings taken back and brought back, and the list of all of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gitprun.api.opened import Opened
from gitprun.api.settings import MergeRequest, landing_options, settings_of
from gitprun.api.stopping import Stop
from gitprun.api.undone import LandedMerge, LandingHistory, PastLanding, Undone, UndoneBranch

if TYPE_CHECKING:
    from gitprun.landing.plan import LandingOptions
    from gitprun.landing.undo_plan import Landed, UndoReport
    from gitprun.ledger.events import Event


def undo(
    opened: Opened,
    name: str | None = None,
    *,
    redo: bool = False,
    asked: MergeRequest | None = None,
    stop: Stop | None = None,
) -> Undone:
    """Take the last landing back, or the one that is named: its number, a merge commit, a branch or a unit.

    ``redo`` brings back what was taken back, checked as ``asked`` says.
    """
    from gitprun.git.command import require_git
    from gitprun.landing.undo import UndoRequest
    from gitprun.landing.undo import undo as take_back

    wanted = asked or MergeRequest()
    require_git(opened.start)

    def checking(runs: Sequence[str]) -> LandingOptions:
        known = opened.history().runs
        told = [known[run] for run in dict.fromkeys(runs) if run in known]
        return landing_options(opened, settings_of(opened), wanted, told)

    report = take_back(
        opened.repository,
        opened.ledger,
        UndoRequest(name=name, redo=redo, dry_run=wanted.dry_run, options=checking),
        stop=stop,
    )
    return _undone_of(report, dry_run=wanted.dry_run)


def _undone_of(report: UndoReport, *, dry_run: bool) -> Undone:
    from gitprun.landing.plan import News

    return Undone(
        landing=report.landing,
        target=report.target,
        old=report.old,
        new=report.new,
        way=report.way,
        items=tuple(
            UndoneBranch(branch=one.branch, commit=one.commit, run=one.run, unit=one.unit, by=one.by)
            for one in report.items
        ),
        notes=tuple(map(str, report.notes)),
        dry_run=dry_run,
        forgotten=report.forgotten,
        news=tuple(str(note) for note in report.notes if isinstance(note, News)),
    )


def landings(opened: Opened) -> LandingHistory:
    """Return all landings, the oldest first, and what workers changed that waits for an answer."""
    from gitprun.api.drift import open_drifts_of
    from gitprun.landing.undo_plan import read_landings

    events: Sequence[Event] = opened.read().events
    return LandingHistory(landings=tuple(map(_past, read_landings(events))), drifts=open_drifts_of(events))


def _past(one: Landed) -> PastLanding:
    merges = tuple(
        LandedMerge(
            branch=row.branch,
            commit=row.commit,
            tip=row.tip,
            run=row.run,
            unit=row.unit,
            undone=row.undone,
            by=row.by,
        )
        for row in one.merges
    )
    return PastLanding(
        number=one.number,
        time=one.time,
        target=one.target,
        old=one.old,
        new=one.new,
        merges=merges,
        after=one.after,
    )

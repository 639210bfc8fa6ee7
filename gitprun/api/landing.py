"""Bringing work home: branches that land, and what is copied of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gitprun.api.landings import LandedBranch, Landing, LandingVerdict
from gitprun.api.opened import Opened
from gitprun.api.refusals import UnitReason
from gitprun.api.settings import MergeRequest, landing_options, require_findings, settings_of
from gitprun.api.stopping import Stop
from gitprun.model.errors import OperationRefused, UsageProblem
from gitprun.model.findings import IN_PLACE
from gitprun.model.lists import join_few
from gitprun.model.names import is_run_id
from gitprun.model.units import Verdict

if TYPE_CHECKING:
    from gitprun.api.outcomes import ReviewedResult
    from gitprun.landing.guard import AskedAhead
    from gitprun.landing.plan import LandingItem, LandingReport
    from gitprun.ledger.events import History
    from gitprun.ledger.held import HeldBranch
    from gitprun.ledger.review import Review


def merge(opened: Opened, names: Sequence[str], asked: MergeRequest, stop: Stop | None = None) -> Landing:
    """Land what the names mean: units, runs, branches; nothing means every verified unit of the last run.

    What does not land is in the value, with the reason. Raises OperationRefused where nothing can be tried at all.
    """
    if asked.accept_drops and not asked.strategy:
        raise UsageProblem("--accept-drops says nothing without -X", "write -X ours or -X theirs with it")
    ahead = _ask_ahead(opened)
    try:
        return _merge(opened, names, asked, ahead, stop or Stop())
    finally:
        ahead.git.forget()


def _ask_ahead(opened: Opened) -> AskedAhead:
    """Have git look at the checkout while the rest of us is still being loaded."""
    from gitprun.landing.guard import HEAD, STATUS, AskedAhead, index_stamp

    # Before anything is asked: what changes from here on makes the answers worthless.
    ahead = AskedAhead(opened.repository.git, index_stamp(opened.repository.git_dir))
    git = ahead.git
    if opened.repository.top is not None:
        git.ask_ahead(*STATUS)
    for question in (HEAD, ("worktree", "list", "--porcelain", "-z"), ("config", "--list", "-z")):
        git.ask_ahead(*question)
    for name in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        git.ask_ahead("var", name)
    return ahead


def _merge(opened: Opened, names: Sequence[str], asked: MergeRequest, ahead: AskedAhead, stop: Stop) -> Landing:
    from gitprun.api.unpinned import warn_unpinned
    from gitprun.git.command import require_git
    from gitprun.landing.choose import choose
    from gitprun.landing.engine import land
    from gitprun.landing.guard import hold_back
    from gitprun.workspaces.rulebook import require_own_attributes

    repository = opened.repository
    require_git(opened.start)
    require_findings(opened, asked.allow_suspect)
    if repository.trusted.is_dir():
        from gitprun.observe.safe_mode import require_trusted_config

        require_trusted_config(repository)
    require_own_attributes(repository)
    reading = opened.read()
    history = reading.history
    settings = settings_of(opened)
    chosen = choose(repository, history, names, allow_unverified=asked.allow_unverified)
    warn_unpinned(opened, [history.runs[run] for run in chosen.runs], reading.events)
    refuse = asked.complete or bool(settings.require_results)
    aside = _review(opened, history, names, refuse=refuse)
    options = landing_options(opened, settings, asked, [history.runs[run] for run in chosen.runs])
    for text in chosen.ahead:
        opened.warn(text)
    report = land(
        repository,
        opened.ledger,
        hold_back(chosen.candidates, reading.events),
        options,
        stop=stop,
        say=opened.news,
        ahead=ahead,
    )
    settled = all(item.state in IN_PLACE for item in report.items)
    missed = bool(names and chosen.skipped) or (not report.items and bool(chosen.skipped))
    return landing_of(
        report,
        skipped=tuple(UnitReason(unit=name, reason=reason) for name, reason in chosen.skipped),
        without_result=aside,
        all_in=settled and not missed,
        ahead=chosen.ahead,
    )


def _review(opened: Opened, history: History, names: Sequence[str], *, refuse: bool) -> tuple[ReviewedResult, ...]:
    """Name the units of whole runs that have no result of their own; with ``refuse`` their run does not land."""
    from gitprun.ledger.lookup import find_run

    wanted = names or (find_run(history, None).id,)
    runs = [history.runs[name] for name in dict.fromkeys(wanted) if is_run_id(name) and name in history.runs]
    if not runs:
        return ()
    from gitprun.api.units import reviewed
    from gitprun.ledger.review import incomplete, review_run

    found: list[Review] = []
    for run in runs:
        reviews = review_run(opened.repository.state, run)
        without = incomplete(reviews)
        found += without
        if without:
            few = join_few(review.unit for review in without)
            what = "has no result of its own" if len(without) == 1 else "have no results of their own"
            opened.warn(f"{few} of {run.id} {what}; git prun reconcile {run.id} says why")
        if without and refuse:
            raise OperationRefused(
                f"nothing was landed: {len(without)} of {len(reviews)} units of {run.id} have no result of their own",
                f"git prun run --resume {run.id} runs the failed ones again; units that are named land as they are",
            )
    return tuple(reviewed(one) for one in found)


def landing_of(
    report: LandingReport,
    *,
    skipped: tuple[UnitReason, ...] = (),
    without_result: tuple[ReviewedResult, ...] = (),
    all_in: bool = True,
    ahead: tuple[str, ...] = (),
) -> Landing:
    """Copy what a landing came to; ``ahead`` are notes that were told before it began."""
    from gitprun.landing.holds import held_branches
    from gitprun.landing.plan import News

    held = {one.branch: one for one in held_branches(report)}
    return Landing(
        target=report.target,
        old=report.old,
        new=report.new,
        items=tuple(_landed(item, held.get(item.candidate.branch)) for item in report.items),
        verdict=_verdict(report.verdict),
        notes=(*ahead, *map(str, report.notes)),
        skipped=skipped,
        without_result=without_result,
        all_in=all_in,
        news=tuple(str(note) for note in report.notes if isinstance(note, News)),
        ahead=ahead,
    )


def _landed(item: LandingItem, held: HeldBranch | None) -> LandedBranch:
    candidate = item.candidate
    return LandedBranch(
        branch=candidate.branch,
        tip=candidate.tip,
        run=candidate.run,
        unit=candidate.unit,
        state=item.state,
        commit=item.commit,
        reason=item.reason,
        conflicts=item.conflicts,
        resolved=item.resolved,
        suspects=item.suspects,
        accept=item.accept,
        verdict=_verdict(item.verdict),
        next=held.next_step if held is not None else "",
        acceptance=held.acceptance if held is not None else "",
        opens=held is not None and held.opens,
    )


def _verdict(verdict: Verdict | None) -> LandingVerdict | None:
    if verdict is None:
        return None
    from gitprun.api.details import check_outcomes

    return LandingVerdict(
        state=verdict.state,
        checks=check_outcomes(verdict.checks),
        reason=verdict.reason,
        confined=verdict.confined,
        notes=verdict.notes,
        gate=verdict.gate,
    )

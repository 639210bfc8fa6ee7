"""Branches merged in memory with their target, and what compilers and linters say of that and of neither side."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gitprun.api.opened import Opened
from gitprun.api.outcomes import DifferenceChecked, MergeCompared, NewMessage
from gitprun.api.settings import MergeRequest, find_moved, landing_options, settings_of
from gitprun.api.stopping import Stop
from gitprun.model.errors import OperationRefused
from gitprun.model.findings import EVERY_FINDING, Compared

if TYPE_CHECKING:
    from gitprun.landing.context import LandingContext
    from gitprun.landing.plan import Candidate, LandingOptions


def compare(
    opened: Opened, name: str | None = None, *, approve: bool = False, stop: Stop | None = None
) -> DifferenceChecked:
    """Return what tools say of a unit, the units of a run (the last one) or a branch, each merged with the target.

    The target is the branch that is checked out. ``approve`` says that what ``prun.toml`` names may count.
    """
    from gitprun.git.command import require_git
    from gitprun.landing.choose import choose
    from gitprun.landing.guard import read_target

    require_git(opened.start)
    find_moved(opened)
    history = opened.history()
    chosen = choose(opened.repository, history, [name] if name is not None else [], allow_unverified=True)
    if not chosen.candidates:
        said = "; ".join(f"{unit}: {reason}" for unit, reason in chosen.skipped)
        raise OperationRefused(f"nothing to compare{f': {said}' if said else ''}", "git prun status lists the units")
    asked, runs = MergeRequest(approve=approve, allow_unverified=True), [history.runs[run] for run in chosen.runs]
    options = landing_options(opened, settings_of(opened), asked, runs)
    # Whatever else is suspect: what is asked is what compilers say of it.
    options = replace(options, verify_difference=True, allow_suspect=EVERY_FINDING[:1])
    target, rows = read_target(opened.repository, None), list[MergeCompared]()
    for candidate in chosen.candidates:
        if stop is not None and stop.is_set():
            break
        rows.append(_compare(opened, candidate, options, stop))
    return DifferenceChecked(target=target.branch, branches=tuple(rows))


def _look(site: LandingContext, candidate: Candidate) -> Compared | str:
    """Return what tools say of a branch merged with the target, or why there is no merge."""
    from gitprun.git.trees import tree_of
    from gitprun.landing.combine import combine
    from gitprun.landing.plan import LandingItem, Proposed

    tip = site.target.tip
    bases = site.ancestry.bases(tip, candidate.tip)
    if not bases:
        return f"it shares no history with {site.target.branch}"
    combined = combine(site, tip, candidate, bases, None)
    if isinstance(combined, LandingItem):
        return combined.reason
    proposed = Proposed(
        candidate=candidate, tip=tip, base=bases[0], before=tree_of(site.repo, tip), tree=combined.tree, step=()
    )
    return Compared() if site.difference is None else site.difference(site, proposed)


def _compare(opened: Opened, candidate: Candidate, options: LandingOptions, stop: Stop | None) -> MergeCompared:
    from gitprun.landing.engine import open_alone

    with open_alone(opened.repository, candidate, options, stop) as site:
        found = _look(site, candidate)
        # What else a landing would say of it is not what was asked.
        notes = tuple(text for text in site.notes if not text.startswith(f"{candidate.branch}: "))
    known = Compared() if isinstance(found, str) else found
    reason = found if isinstance(found, str) else "; ".join(known.unchecked)
    state = "fail" if known.suspects else "could-not-run" if reason else "pass" if known.asked else "absent"
    return MergeCompared(
        branch=candidate.branch,
        commit=candidate.tip,
        verdict=state,
        reason=reason,
        tools=known.asked,
        messages=tuple(NewMessage(path=one.path, text=one.reason) for one in known.suspects),
        notes=notes,
    )

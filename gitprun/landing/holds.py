"""What landings held back: written down when it is found, and compared with the branches as they are now."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.ledger.events import Event, History
from gitprun.ledger.held import MOST_FINDINGS, MOST_WORDS, HeldBranch, held_row, read_held
from gitprun.ledger.ledger import Ledger
from gitprun.model.errors import PrunError

if TYPE_CHECKING:
    from gitprun.landing.plan import LandingItem, LandingReport


def remember_held(ledger: Ledger, report: LandingReport) -> LandingReport:
    """Write down which branches a landing did not take, and why; the landing stands even where that cannot be done."""
    rows = [(held_row(one), "", "") for one in held_branches(report)]
    try:
        if rows:
            ledger.append_all(rows)
    # A full disk, say: the branch has moved, and calling that a failure would make the user do it again.
    except PrunError as problem:
        return replace(report, notes=(*report.notes, f"what did not land is not remembered: {problem.message}"))
    return report


def read_holds(repository: Repository, history: History, events: Iterable[Event]) -> tuple[HeldBranch, ...]:
    """Return what landings held back and is still to land, in order; with what moved since, where anything did."""
    known = list(read_held(events).values())
    if not known:
        return ()
    tips = _read_tips(repository.git, known)
    found = []
    for one in known:
        tip, main = _unit_tip(history, one) or tips.get(one.branch), tips.get(one.target)
        # What has landed by another way, or is gone, keeps nobody waiting.
        if tip is None or main is None or (main != one.main and _contains(repository.git, main, tip)):
            continue
        moved = [name for name, now, then in ((one.onto, main, one.main), (one.name, tip, one.tip)) if now != then]
        found.append(replace(one, moved=" and ".join(moved)))
    return tuple(found)


def find_hold(holds: Iterable[HeldBranch], branch: str, target: str) -> HeldBranch | None:
    """Return what the last landing of a branch on a target said."""
    return next((one for one in holds if (one.branch, one.target) == (branch, target)), None)


def _unit_tip(history: History, held: HeldBranch) -> str | None:
    """Return the commit of a unit as it is captured now; None for other branches."""
    run, _, unit = held.name.partition("/")
    if held.name == held.branch or run not in history.runs or unit not in history.runs[run].units:
        return None
    return history.runs[run].units[unit].commit


def _read_tips(git: Git, held: Sequence[HeldBranch]) -> dict[str, str]:
    """Resolve targets and branches at once; what is no branch any more may be a tag or a commit."""
    names = dict.fromkeys([*(one.target for one in held), *(one.branch for one in held)])
    # The questions go to git a line each; a name with a blank or a line end would be two.
    plain = [name for name in names if name and not any(sign in name for sign in " \n\t")]
    # The branch before all else of that name: a tag may be called the same.
    asked = "".join(f"refs/heads/{name}^{{commit}}\n{name}^{{commit}}\n" for name in plain)
    rows = git.run("cat-file", "--batch-check=%(objectname)", stdin=asked.encode("utf-8", "surrogateescape")).text
    answers = [row if " " not in row else "" for row in rows.split("\n")]
    pairs = zip(plain, answers[::2], answers[1::2], strict=False)
    return {name: one or other for name, one, other in pairs if one or other}


def _contains(git: Git, main: str, tip: str) -> bool:
    return git.run("merge-base", "--is-ancestor", tip, main, ok=(0, 1, 128)).code == 0


def held_branches(report: LandingReport) -> tuple[HeldBranch, ...]:
    """Return the branches a landing did not take and that somebody has to do something about.

    Those that wait for a drift to be settled are not among them: the drift itself is remembered, until it is.
    """
    # Inside, for those who only read what is held need not load how branches land.
    from gitprun.model.findings import IN_PLACE

    # Nobody has to do anything about these, or another branch is the reason.
    passed_over = (*IN_PLACE, "empty", "not-tried")
    wanted = (item for item in report.items if item.state not in passed_over and not item.candidate.drift)
    return tuple(_held(report, item) for item in wanted)


def _held(report: LandingReport, item: LandingItem) -> HeldBranch:
    candidate = item.candidate
    found = [(one.path, one.kind) for one in item.conflicts] + [(one.path, one.reason) for one in item.suspects]
    checks = item.verdict.checks if item.verdict is not None else ()
    failed = next((check for check in checks if check.state != "pass"), None)
    return HeldBranch(
        branch=candidate.branch,
        tip=candidate.tip,
        target=report.target,
        # What landed beside it is part of what it was found on.
        main=report.new,
        state=item.state,
        reason=item.reason[:MOST_WORDS],
        name=f"{candidate.run}/{candidate.unit}" if candidate.unit else candidate.branch,
        findings=tuple((path[:MOST_WORDS], why[:MOST_WORDS]) for path, why in found[:MOST_FINDINGS]),
        accept=item.accept[:MOST_FINDINGS],
        command=failed.command[:MOST_WORDS] if failed is not None else "",
        log=failed.log if failed is not None else "",
    )

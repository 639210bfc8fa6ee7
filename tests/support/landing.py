"""Short ways to ask for a landing in tests."""

from __future__ import annotations

from typing import Any

from gitprun.landing.engine import land
from gitprun.landing.plan import Candidate, LandingOptions, LandingReport
from gitprun.ledger.events import Event
from tests.support.repos import Repo

GREEN = ("true",)


def candidate(repo: Repo, branch: str, **facts: Any) -> Candidate:
    """Take a branch as it is now."""
    return Candidate(branch=branch, tip=repo.oid(branch), **facts)


def land_branches(repo: Repo, *branches: str | Candidate, **options: Any) -> LandingReport:
    """Land branches, unchecked unless ``verify`` is given."""
    given = {"no_verify": "verify" not in options, **options}
    chosen = [one if isinstance(one, Candidate) else candidate(repo, one) for one in branches]
    return land(repo.repository, repo.ledger, chosen, LandingOptions(**given))


def states(report: LandingReport) -> dict[str, str]:
    """Give the state of each branch."""
    return {item.candidate.branch: item.state for item in report.items}


def landing_events(repo: Repo) -> list[str]:
    """List what the ledger says about what landed, in short."""
    kinds = ("landing.started", "landing.landed", "landing.undone", "landing.redone", "landing.finished")
    return [_short(event) for event in repo.ledger.read().events if event.kind in kinds]


def _short(event: Event) -> str:
    return " ".join(
        [
            event.kind,
            *(str(event.payload.as_json()[name]) for name in ("branch", "outcome") if name in event.payload.as_json()),
        ]
    )

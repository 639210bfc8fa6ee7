"""Commits of a unit's base that would come along: it was begun where the target has not been (yet, or any more)."""

from __future__ import annotations

from gitprun.landing.context import LandingContext
from gitprun.landing.plan import Candidate
from gitprun.model.names import Oid

# What --accept takes for it in a row of the ledger; on a command line it is --with-base.
BASE = "base"
SHOWN = 3


def read_along(site: LandingContext, tip: Oid, candidate: Candidate) -> tuple[str, ...]:
    """List the commits of a candidate's base that ``tip`` lacks, as ``ID SUBJECT``, the oldest first."""
    base = candidate.base
    if not base or base in site.ancestry.bases(tip, candidate.tip):
        return ()
    # Of a base that the branch has left since, nothing comes along but what both share.
    shared = site.git.run("merge-base", base, candidate.tip, ok=(0, 1, 128)).text.partition("\n")[0]
    if not shared:
        return ()
    words = ("rev-list", "--reverse", "--topo-order", "--no-commit-header", "--format=%h %s", shared, "--not", tip)
    rows = site.git.run(*words).out.decode("utf-8", "replace")
    return tuple(rows.split("\n")[:-1])


def describe_along(site: LandingContext, tip: Oid, candidate: Candidate) -> str:
    """Say which commits of its base a candidate would bring with it; empty where it brings none."""
    found = read_along(site, tip, candidate)
    if not found:
        return ""
    words = ("for-each-ref", "--count=1", "--format=%(refname:short)", f"--contains={candidate.base}", "refs/heads")
    branch = site.git.run(*words, ok=(0, 128)).text
    of = f" (of {branch})" if branch else ""
    many = f"{len(found)} commits" if len(found) > 1 else "1 commit"
    more = f" and {len(found) - SHOWN} more" if len(found) > SHOWN else ""
    return f"brings {many} of its base{of} that {site.target.branch} does not have: {'; '.join(found[:SHOWN])}{more}"

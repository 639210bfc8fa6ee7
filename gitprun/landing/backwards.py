"""What a branch would take away by landing, or leave away: one answer for a landing and for those who only look."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from gitprun.git.trees import TreeChange, parents_of, tree_of
from gitprun.landing.conflicts_committed import find_markers
from gitprun.landing.context import LandingContext
from gitprun.landing.plan import Candidate
from gitprun.model.findings import Suspect
from gitprun.model.names import Oid, short

if TYPE_CHECKING:
    from gitprun.landing.older import TakenBack


def look_back(site: LandingContext, candidate: Candidate, tree: Oid) -> TakenBack:
    """Look for work of others that a branch lost in merges of its own, or takes back although it has it.

    ``tree`` is what it brings: its own, or one that was mended.
    """
    from gitprun.landing.older import Back, find_all_taken_back

    target, tip = site.target.tip, candidate.tip
    bases, first = site.ancestry.bases(target, tip), candidate.base or candidate.made
    back = Back(target=target, bases=bases, tip=tip, tree=tree, first=first)
    return find_all_taken_back(site.merging, site.past, back)


def find_branch_faults(
    site: LandingContext,
    candidate: Candidate,
    changes: Sequence[TreeChange],
    merged: Oid,
    known: Collection[str] = (),
) -> TakenBack:
    """Look at what a branch does as a whole, whatever it meets: what it takes back, conflicts that it committed.

    ``changes`` are its own since the merge base, ``merged`` is the tree it would land as. Of paths in
    ``known`` something worse is told already than that conflict markers are left in them.
    """
    seen = look_back(site, candidate, merged if candidate.mended else tree_of(site.repo, candidate.tip))
    marked = find_markers(site.git, site.trees, candidate.tip, changes, merged)
    return add_markers(seen, marked, known)


def add_markers(seen: TakenBack, marked: Sequence[Suspect], known: Collection[str]) -> TakenBack:
    """Add files with markers to what a branch takes back, but for those of which something worse is told."""
    told = {*known, *(one.path for one in seen.suspects)}
    return replace(seen, suspects=(*seen.suspects, *(one for one in marked if one.path not in told)))


def describe_reverted(site: LandingContext, candidate: Candidate) -> str:
    """Say what the target has of a branch and took back since, and how it comes back; empty where there is nothing.

    What somebody has mended by hand is what he wants.
    """
    if candidate.mended:
        return ""
    from gitprun.landing.reverts import Asking, find_reverted

    target = site.target
    asking = Asking(
        name=candidate.branch,
        tip=candidate.tip,
        target=target.tip,
        ref=target.ref,
        places=site.ancestry.places(candidate.tip),
        ledger=candidate.reverted,
    )
    found = find_reverted(site.past, asking)
    if found is None:
        return ""
    by = short(found.by)
    known = any(row.by == found.by for row in candidate.reverted)
    merge = "-m 1 " if len(parents_of(site.repo, found.by)) > 1 else ""
    back = f"git prun undo --redo {by}" if known else f"git revert {merge}{by}"
    return f"{target.branch} had it: {found}; {back} brings it back"

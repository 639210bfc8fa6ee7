"""Merges one on top of the other, as a value: what became of each branch, and what all of them come to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gitprun.git.store import store_of
from gitprun.git.trees import tree_of
from gitprun.landing.build import Built, build_merge
from gitprun.landing.context import LandingContext
from gitprun.landing.plan import Candidate, LandingItem, plan_order, plan_safe_order
from gitprun.model.findings import IN_PLACE, LandedState
from gitprun.model.names import Oid
from gitprun.model.units import Verdict

# For fewer branches the two questions more cost what they save.
READ_AHEAD_FROM = 3


@dataclass(frozen=True, slots=True)
class Batch:
    """What became of all candidates in order, the merges that are part of it, and the verdict on the last of them."""

    items: tuple[LandingItem, ...] = ()
    taken: tuple[Built, ...] = ()
    verdict: Verdict | None = None

    def tip(self, site: LandingContext) -> Oid:
        """Return the last merge, or the target as it was."""
        return self.taken[-1].commit if self.taken else site.target.tip

    def and_item(self, item: LandingItem) -> Batch:
        """Add a branch that is not part of it."""
        return replace(self, items=(*self.items, item))

    def and_built(self, built: Built) -> Batch:
        """Add a merge."""
        return replace(self, items=(*self.items, built.item), taken=(*self.taken, built))


def build_batch(site: LandingContext, ordered: Sequence[Candidate], batch: Batch | None = None) -> Batch:
    """Merge candidates one on top of the other, on top of what a batch has already."""
    batch = batch or Batch()
    # A batch that goes on from earlier merges has read its branches before.
    if not batch.taken:
        _read_ahead(site, ordered)
    for number, candidate in enumerate(ordered):
        built = build_merge(site, batch.tip(site), candidate)
        if isinstance(built, Built):
            batch = batch.and_built(built)
            continue
        batch = batch.and_item(built)
        if not site.options.keep_going and built.state not in IN_PLACE:
            return leave_out(batch, ordered[number + 1 :], candidate)
    return batch


def _read_ahead(site: LandingContext, ordered: Sequence[Candidate]) -> None:
    """Read at once what the merges would read one by one: each branch's commit, and the folders that it changed."""
    store = store_of(site.repo)
    if store is None or len(ordered) < READ_AHEAD_FROM:
        return
    store.read_ahead([site.target.tip, *(one.tip for one in ordered)])
    bases = [(site.ancestry.bases(site.target.tip, one.tip), one.tip) for one in ordered]
    pairs = [(found[0], tip) for found, tip in bases if found]
    store.read_ahead(base for base, _ in pairs if base != site.target.tip)
    site.trees.read_ahead((tree_of(site.repo, base), tree_of(site.repo, tip)) for base, tip in pairs)


def leave_out(batch: Batch, rest: Sequence[Candidate], cause: Candidate) -> Batch:
    """Add the branches that are not tried because one before them could not land."""
    reason = f"not tried: {cause.branch} could not land before it"
    return replace(
        batch,
        items=(*batch.items, *(LandingItem(candidate=one, state="not-tried", reason=reason) for one in rest)),
    )


def set_aside(batch: Batch, state: LandedState, reason: str, verdict: Verdict | None) -> Batch:
    """Take every branch out of a batch again."""
    taken = {built.item.candidate for built in batch.taken}
    # All of them are red only where the target was: what was checked says nothing about any one.
    own = None if state == "red" else verdict
    items = (
        replace(item, state=state, reason=reason, commit="", verdict=own) if item.candidate in taken else item
        for item in batch.items
    )
    return Batch(tuple(items), (), verdict)


def order_branches(site: LandingContext, candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Put ancestors first; then as given, as captured, or so that as many as possible get along."""
    contained = site.ancestry.contained()
    ordered = plan_order(candidates, contained, by_time=site.options.order == "captured")
    if site.options.order != "safe" or len(ordered) < 2:
        return ordered
    paths: dict[str, set[bytes]] = {}
    for one in ordered:
        base = site.git.run("merge-base", site.target.tip, one.tip, ok=(0, 1)).text.partition("\n")[0]
        changes = site.trees.compare(tree_of(site.repo, base), tree_of(site.repo, one.tip)) if base else ()
        paths[one.branch] = {change.path for change in changes}
    partners = {one: [other for other in paths if other != one and paths[one] & paths[other]] for one in paths}
    names = plan_safe_order({name: len(found) for name, found in paths.items()}, partners, list(paths))
    # Ancestors once more: the safe order knows nothing of who builds on whom.
    return plan_order(sorted(ordered, key=lambda one: names.index(one.branch)), contained)

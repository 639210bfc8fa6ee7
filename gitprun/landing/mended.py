"""Suspects that have a mend: landed with it where the checks are red without it and green with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from gitprun.landing.batch import Batch
from gitprun.landing.build import Built, build_merge
from gitprun.landing.context import LandingContext
from gitprun.landing.plan import LandingItem, News
from gitprun.landing.prove import Proof
from gitprun.model.findings import EVERY_FINDING


@dataclass(frozen=True, slots=True)
class Mending:
    """The mends of one landing: tried one after the other, on top of what is green."""

    site: LandingContext
    proof: Proof
    say: Callable[[str], None]

    def land(self, batch: Batch) -> Batch:
        """Return a batch with the merges that their mend turned from red to green."""
        for item in [one for one in batch.items if one.mendable]:
            built = self._try(batch, item)
            if isinstance(built, Built):
                items = tuple(built.item if one is item else one for one in batch.items)
                verdict = self.proof.check(built.commit)
                batch = replace(batch, items=items, taken=(*batch.taken, built), verdict=verdict)
            else:
                batch = replace(batch, items=tuple(built if one is item else one for one in batch.items))
        return batch

    def _try(self, batch: Batch, item: LandingItem) -> Built | LandingItem:
        """Build a branch with its mend, or say in its item why the mend does not land."""
        candidate, tip, site = item.candidate, batch.tip(self.site), self.site
        # As git merged it: only to be checked, so nothing is said of it and no hook asked.
        options = replace(site.options, allow_suspect=EVERY_FINDING[:1])
        plain = build_merge(replace(site, options=options, notes=[]), tip, candidate, trial=True)
        mended = build_merge(replace(site, mending=True), tip, candidate)
        if not isinstance(plain, Built) or not isinstance(mended, Built):
            return item
        self.say(f"verifying {candidate.branch} without its mend and with it")
        before = self.proof.check(plain.commit)
        # Green without it: then the mend is not what is missing, and somebody has to look.
        if before.state != "fail":
            why = "its checks are green without" if before.state == "pass" else f"not proved: {before.reason}"
            return _left(item, f"not mended: {why}")
        after = self.proof.check(mended.commit)
        if after.state != "pass":
            return _left(item, f"not mended: {after.reason} with the mend, too")
        words = "; ".join(dict.fromkeys(one.mend for one in item.suspects))
        site.note(News(f"{candidate.branch}: landed mended ({words}): red without it ({before.reason}), green with it"))
        return mended


def _left(item: LandingItem, why: str) -> LandingItem:
    return replace(item, reason=f"{item.reason}; {why}")

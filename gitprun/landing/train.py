"""Many branches as one train: built in memory, checked as a whole, split where it is red until the rest is green."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gitprun.landing.batch import Batch, build_batch, leave_out, set_aside
from gitprun.landing.build import Built, build_merge
from gitprun.landing.context import LandingContext
from gitprun.landing.plan import Candidate, LandingItem, News
from gitprun.landing.prove import Proof
from gitprun.model.findings import IN_PLACE, LandedState
from gitprun.model.names import Oid
from gitprun.model.units import Verdict

# How often a branch that made the train red is tried with other proved texts before it is set aside.
# Each costs a whole check of the tree.
OTHER_TEXTS = 3


@dataclass(frozen=True, slots=True)
class Train:
    """A train on its way; ``ordered`` are all who asked to be part of it."""

    site: LandingContext
    proof: Proof
    ordered: tuple[Candidate, ...]
    say: Callable[[str], None]

    def prove(self, batch: Batch) -> Batch:
        """Check the merged tree; what it says decides which branches stay in the batch."""
        site, branch = self.site, self.site.target.branch
        if site.options.one_by_one:
            return self._one_by_one()
        self.say("verifying the merged tree" if not site.options.no_verify else "running the after commands")
        verdict = self.proof.check(batch.tip(site))
        if self._is_good(verdict):
            return self._note_unproved(replace(batch, verdict=verdict))
        found = "red" if verdict.state == "fail" else "not proved"
        found = "green only by what it changed of its checks" if verdict.gate else found
        self.say(f"the merged tree is {found}; verifying {branch} without it")
        # Before any halving: where the target itself is red, no branch can be told from another by its checks.
        before = self.proof.check(site.target.tip)
        unfit = self._unfit(before, verdict)
        if unfit is not None:
            return self._set_aside(batch, unfit, verdict)
        return self._note_unproved(self._split(batch, verdict))

    def _unfit(self, before: Verdict, verdict: Verdict) -> tuple[LandedState, str] | None:
        """Return state and reason of all branches where the target itself, in the very same surroundings, is no better.

        Then nobody can be blamed: what the branches add to it is not what the checks speak of.
        """
        if before.state == "fail":
            return "red", f"{self.site.target.branch} was red before: {before.reason}"
        if verdict.state != "fail" and before.state != "pass":
            return "unverified", f"the merged tree is not proved: {verdict.reason}"
        return None

    def _set_aside(self, batch: Batch, unfit: tuple[LandedState, str], verdict: Verdict) -> Batch:
        """Take all out of the batch; who made it green by changing its checks is told so, whatever the target is."""
        taken = {built.item.candidate for built in batch.taken}
        aside, own = set_aside(batch, *unfit, verdict), self.proof.own_check
        items = (
            own.hold(item.candidate, verdict)
            if item.candidate in taken and own.touches(item.candidate, verdict)
            else item
            for item in aside.items
        )
        return replace(aside, items=tuple(items))

    def _is_good(self, verdict: Verdict) -> bool:
        return verdict.state == "pass" or (verdict.state != "fail" and self.site.options.allow_unverified)

    def _note_unproved(self, batch: Batch) -> Batch:
        if batch.taken and batch.verdict is not None and batch.verdict.state != "pass":
            self.site.note(f"landed without proof: {batch.verdict.reason}")
        return batch

    def _split(self, batch: Batch, verdict: Verdict) -> Batch:
        """Find the first branch with which it turns red, set it aside, build the rest anew; until all is green."""
        site, good = self.site, Batch()
        while True:
            waiting = batch.taken[len(good.taken) :]
            place, verdict, last = self._find_culprit(waiting, verdict)
            culprit = waiting[place]
            # Items before it hold branches that were never part of the train as well: those stay where they are.
            rank = batch.items.index(culprit.item)
            good = Batch(batch.items[:rank], batch.taken[: len(good.taken) + place], last or good.verdict)
            candidate = culprit.item.candidate
            other = self._try_other_texts(good, culprit)
            good = good.and_item(self._aside(good, candidate, verdict)) if other is None else good.and_built(other)
            rest = self.ordered[self.ordered.index(candidate) + 1 :]
            if other is None and not site.options.keep_going:
                return leave_out(good, rest, candidate)
            if other is not None:
                good = replace(good, verdict=self.proof.check(other.commit))
            # The rest anew, on what is good: every merge after the culprit had it below.
            batch = build_batch(site, rest, good)
            # Nothing else could be merged, so there is nothing new to check.
            if len(batch.taken) == len(good.taken):
                return replace(batch, verdict=good.verdict or verdict)
            self.say(f"verifying the {len(batch.taken)} others without {candidate.branch}")
            verdict = self.proof.check(batch.tip(site))
            if self._is_good(verdict):
                return replace(batch, verdict=verdict)

    def _find_culprit(self, waiting: Sequence[Built], verdict: Verdict) -> tuple[int, Verdict, Verdict | None]:
        """Halve: the train is good before ``waiting`` and bad with all of it. Returns the first bad one, what it was
        found to be, and the verdict of the one before it if that was checked."""
        low, high, last = 0, len(waiting), None
        while high - low > 1:
            middle = (low + high) // 2
            self.say(f"verifying the first {middle} of {len(waiting)} branches")
            found = self.proof.check(waiting[middle - 1].commit)
            if self._is_good(found):
                low, last = middle, found
            else:
                high, verdict = middle, found
        return low, verdict, last

    def _try_other_texts(self, good: Batch, culprit: Built) -> Built | None:
        """Build a branch with other texts the resolvers proved as well; returns the first one that is green."""
        candidate, tip = culprit.item.candidate, good.tip(self.site)
        # No resolver had a part in it, so there is no other text.
        if not culprit.item.resolved:
            return None
        # Once with all proved texts asked for, only to learn how many there are; it is no landing yet.
        full = build_merge(self.site, tip, candidate, picks={}, trial=True)
        if not isinstance(full, Built):
            return None
        for picks in list(_other_picks(full.offers))[:OTHER_TEXTS]:
            built = build_merge(self.site, tip, candidate, picks=picks)
            # The same tree would get the same answer.
            if not isinstance(built, Built) or built.tree == culprit.tree:
                continue
            self.say(f"verifying {candidate.branch} with another proved text")
            if self._is_good(self.proof.check(built.commit)):
                won = ", ".join(f"{one.path} ({one.resolver})" for one in built.item.resolved)
                self.site.note(News(f"{candidate.branch}: green with the next proved text: {won}"))
                return built
        return None

    def _aside(self, good: Batch, candidate: Candidate, verdict: Verdict) -> LandingItem:
        if verdict.state != "fail":
            reason = f"the merged tree is not proved: {verdict.reason}"
            return LandingItem(candidate=candidate, state="unverified", reason=reason, verdict=verdict)
        if verdict.gate:
            return self.proof.own_check.hold(candidate, verdict)
        reason = self._blame(good, candidate, verdict)
        return LandingItem(candidate=candidate, state="red", reason=reason, verdict=verdict)

    def _blame(self, good: Batch, candidate: Candidate, verdict: Verdict) -> str:
        """Name the failing check and, for a branch that is green by itself, with whom it was found red."""
        tip, branch = self.site.target.tip, self.site.target.branch
        # Red by itself: nobody else is to blame.
        if not good.taken or not self._is_green_after(tip, candidate):
            return f"{verdict.reason} (on top of {branch})"
        low, high = 0, len(good.taken)
        while high - low > 1:
            middle = (low + high) // 2
            if self._is_green_after(good.taken[middle - 1].commit, candidate):
                low = middle
            else:
                high = middle
        partner = good.taken[high - 1].item.candidate
        # The others before it may have their share: only the two by themselves tell.
        pair = good.taken[0].commit if high == 1 else self._commit_after(tip, partner)
        if pair is not None and not self._is_green_after(pair, candidate):
            return f"{verdict.reason} (it is green by itself, red together with {partner.branch})"
        names = ", ".join(one.item.candidate.branch for one in good.taken[:high])
        return f"{verdict.reason} (it is green by itself and with {partner.branch}, red on top of {names})"

    def _commit_after(self, tip: Oid, candidate: Candidate) -> Oid | None:
        built = build_merge(self.site, tip, candidate, trial=True)
        return built.commit if isinstance(built, Built) else None

    def _is_green_after(self, tip: Oid, candidate: Candidate) -> bool:
        commit = self._commit_after(tip, candidate)
        # It cannot even be merged there, so it was not found red there.
        if commit is None:
            return True
        self.say(f"verifying {candidate.branch} with fewer others")
        return self._is_good(self.proof.check(commit))

    def _one_by_one(self) -> Batch:
        """Take branch after branch, each only if the target stays green with it."""
        site, batch = self.site, Batch()
        for number, candidate in enumerate(self.ordered):
            built = build_merge(site, batch.tip(site), candidate)
            if isinstance(built, Built):
                self.say(f"verifying {candidate.branch} on top of {len(batch.taken)} others")
                verdict = self.proof.check(built.commit)
                if not self._is_good(verdict):
                    # Once the first branch is in, the target is known to be green.
                    unfit = None if batch.taken else self._unfit(self.proof.check(site.target.tip), verdict)
                    if unfit is not None:
                        return self._set_aside(build_batch(site, self.ordered[number:], batch), unfit, verdict)
                    other = self._try_other_texts(batch, built)
                    built = other or self._aside(batch, candidate, verdict)
                    batch = replace(batch, verdict=batch.verdict or verdict)
                if isinstance(built, Built):
                    batch = replace(batch.and_built(built), verdict=self.proof.check(built.commit))
                    continue
            batch = batch.and_item(built)
            if not site.options.keep_going and built.state not in IN_PLACE:
                return leave_out(batch, self.ordered[number + 1 :], candidate)
        return self._note_unproved(batch)


def _other_picks(offers: Mapping[bytes, int]) -> Iterator[dict[bytes, int]]:
    """Return which other texts to take: at one path after the other, and then at all of them."""
    several = {path: count for path, count in offers.items() if count > 1}
    for path, count in several.items():
        # 0 is the text that was tried already.
        for number in range(1, count):
            yield {path: number}
    # All combinations would be a check each; one more is what the limit leaves.
    if len(several) > 1:
        yield dict.fromkeys(several, 1)

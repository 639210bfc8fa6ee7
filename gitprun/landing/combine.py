"""The tree of one merge: by git where both sides meet, judged in any case, and what keeps a branch from landing so."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from gitprun.git.trees import TreeChange, TreeMerge, merge_trees, replace_blobs, tree_of
from gitprun.judging.judge import Judge
from gitprun.judging.judged import Judged, Means, Sides
from gitprun.landing.context import LandingContext
from gitprun.landing.disjoint import merge_apart
from gitprun.landing.plan import Candidate, LandingItem, News
from gitprun.landing.taken_back import find_branch_faults
from gitprun.model.errors import GitStopped, PrunError
from gitprun.model.findings import MergeState, ResolvedPath, accepts, are_mendable, describe_suspects
from gitprun.model.names import Oid


@dataclass(frozen=True, slots=True, kw_only=True)
class Combined:
    """A merged tree; ``brought`` is what the unit changed since the base, ``united`` which of it the main side did too.

    ``offers`` counts the texts that were proved for a path, where it was asked for all of them.
    """

    tree: Oid
    item: LandingItem
    brought: tuple[TreeChange, ...]
    united: frozenset[bytes] = frozenset()
    offers: Mapping[bytes, int] = field(default_factory=dict)


def combine(
    site: LandingContext, tip: Oid, candidate: Candidate, bases: Sequence[Oid], picks: Mapping[bytes, int] | None
) -> Combined | LandingItem:
    """Merge a candidate into ``tip`` as a tree; returns the item that says why not where that cannot land."""
    trees, several, mended = site.trees, len(bases) > 1, Oid(candidate.mended)
    base, main, unit = (tree_of(site.repo, commit) for commit in (bases[0], tip, candidate.tip))
    by_main, by_unit = site.since(base, main), trees.compare(base, unit)
    # Git need not be started for sides that have no path in common; what somebody mended is a merge of its own.
    made = None if several or mended else merge_apart(trees, by_main, by_unit)
    merge = TreeMerge(made, True) if made is not None else merge_trees(site.merging(), tip, mended or candidate.tip)
    sides = Sides(
        base=base,
        main=main,
        unit=unit,
        by_main=by_main.changes,
        by_unit={change.path: change for change in by_unit},
        names={tip: site.target.branch, candidate.tip: candidate.branch},
        several_bases=lambda: several and not mended,
        by_hand=bool(mended),
    )
    judged = judge_of(site, mended=bool(mended), picks=picks).judge(merge, sides)
    _note(site, candidate, judged, 0 if mended or not several else len(bases))
    if judged.tree is None:
        return _conflict(site, tip, candidate, judged)
    # Lines that a hotspot drops were asked for by name; those of -X are whatever happened to conflict.
    lost = [one for one in judged.resolved if one.dropped and one.path in judged.forced]
    if lost and not site.options.accept_drops:
        reason = _drops(site.options.strategy or "", lost)
        return LandingItem(candidate=candidate, state="drops", reason=reason, resolved=judged.resolved)
    # Told once: markers in a file that is suspect already are no second finding.
    known = [one.path for one in judged.suspects]
    judged = _mend(site, judged) if site.mending else judged
    assert judged.tree is not None
    seen = find_branch_faults(site, candidate, by_unit, judged.tree, known)
    for text in seen.told:
        site.note(f"{candidate.branch}: {text}")
    suspects = (*judged.suspects, *seen.suspects)
    resolved = (*judged.resolved, *judged.replaced)
    item = LandingItem(candidate=candidate, state="would-land", resolved=resolved, suspects=suspects)
    item = let_suspects_pass(site, item)
    if item.state == "suspect":
        return item
    # What was mended need not be as the unit brought it.
    shared = {*by_main.changes, *judged.mended} if site.mending else by_main.changes
    united = frozenset(change.path for change in by_unit if mended or change.path in shared)
    return Combined(tree=judged.tree, item=item, brought=by_unit, united=united, offers=judged.offers)


def let_suspects_pass(site: LandingContext, item: LandingItem) -> LandingItem:
    """Return an item as it is where all that is suspect was accepted, which is noted; else it is held for the rest."""
    left = tuple(one for one in item.suspects if not accepts(site.options.allow_suspect, one))
    if left:
        return replace(item, state="suspect", reason=describe_suspects(left), suspects=left)
    if item.suspects:
        branch = item.candidate.branch
        site.note(f"{branch}: landed although it is suspect: {describe_suspects(item.suspects)}")
    return item


def _mend(site: LandingContext, judged: Judged) -> Judged:
    """Return a merge with the mends of all that is suspect; as it was where one of them has none."""
    if judged.tree is None or not are_mendable(judged.suspects):
        return judged
    tree = replace_blobs(site.repo, judged.tree, judged.mended)
    words = {one.path: one.mend for one in judged.suspects}
    made = tuple(ResolvedPath(path=path, resolver=f"mended: {said}") for path, said in words.items())
    return replace(judged, tree=tree, resolved=(*judged.resolved, *made), suspects=())


def judge_of(site: LandingContext, *, mended: bool = False, picks: Mapping[bytes, int] | None = None) -> Judge:
    """Return the judge of merges into the target of a landing, or of one that is only looked ahead at."""

    options = site.options
    means = Means(hotspots=options.hotspots, strategy=options.strategy, state=site.state, picks=picks)

    def further() -> Means:
        from gitprun.judging.rerere import read_rerere

        return replace(means, rerere=read_rerere(site.git, site.state.parent))

    # A driver had no part in what somebody mended by hand.
    attributes = None if mended else site.attributes
    judging = replace(means, further=further)
    return Judge(trees=site.trees, means=judging, checkout=site.target.checkout, attributes=attributes)


def _note(site: LandingContext, candidate: Candidate, judged: Judged, bases: int) -> None:
    """Tell the user what was found on the way; ``bases`` are the merge bases, where there are several."""
    branch = candidate.branch
    for note in judged.notes:
        site.note(f"{branch}: {note}")
    if bases and judged.state is not MergeState.CONFLICT:
        site.note(News(f"{branch}: {bases} merge bases (criss-cross), merged by git alone"))
    for one in judged.unchecked:
        site.note(f"{branch}: {one.paths}: not checked: {one.reason}")
    for made in judged.replaced:
        site.note(News(f"{branch}: git's own merge of {made.path} was faulty, so {made.resolver} made another one"))


def _drops(strategy: str, lost: Sequence[ResolvedPath]) -> str:
    files = f"{len(lost)} path{'' if len(lost) == 1 else 's'}"
    return f"-X {strategy} would drop lines of {files}; look at them, then --accept-drops lands it"


def _conflict(site: LandingContext, tip: Oid, candidate: Candidate, judged: Judged) -> LandingItem:
    against = site.target.branch
    if tip != site.target.tip:
        # Would it land alone? Then it is a branch before it that it does not get along with.
        try:
            alone = merge_trees(site.merging(), site.target.tip, candidate.tip).clean
        except GitStopped:
            raise
        except PrunError:
            alone = False
        against = "what lands before it" if alone else against
    count = len(judged.conflicts)
    reason = f"conflicts with {against} in {count} path{'' if count == 1 else 's'}"
    return LandingItem(candidate=candidate, state="conflict", reason=reason, conflicts=judged.conflicts)

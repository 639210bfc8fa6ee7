"""The tree of one merge: by git where both sides meet, settled where they conflict, audited in any case."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from gitprun.git.trees import TreeChange, TreeMerge, merge_trees, show_path, tree_of
from gitprun.judging.locks import meet_in_locks
from gitprun.landing.conflicts_committed import find_markers
from gitprun.landing.context import LandingContext
from gitprun.landing.disjoint import Since, merge_apart
from gitprun.landing.plan import Candidate, LandingItem, News
from gitprun.landing.settings import judge_drivers
from gitprun.landing.taken_back import look_back
from gitprun.model.errors import GitStopped, PrunError
from gitprun.model.findings import ResolvedPath, Suspect, accepts, describe_suspects
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
    """Merge a candidate into ``tip`` as a tree; gives the item that says why not where that cannot land."""
    trees, several = site.trees, len(bases) > 1
    base, main, unit = (tree_of(site.repo, commit) for commit in (bases[0], tip, candidate.tip))
    by_main, by_unit = site.since(base, main), trees.compare(base, unit)
    mended = Oid(candidate.mended)
    made = None if several or mended else merge_apart(trees, by_main, by_unit)
    merge = TreeMerge(made, True) if made is not None else merge_trees(site.merging(), tip, mended or candidate.tip)
    combined = Combined(
        tree=merge.tree,
        item=LandingItem(candidate=candidate, state="would-land"),
        brought=by_unit,
        united=frozenset(change.path for change in by_unit if mended or change.path in by_main.changes),
    )
    if made is None and not mended:
        sides, odd = (base, main, unit), list[Suspect]()
        for said in judge_drivers(site.attributes, trees, merge, sides, combined.united):
            if isinstance(said, Suspect):
                odd.append(said)
            else:
                site.note(f"{candidate.branch}: {said}")
        combined = _with(combined, suspects=tuple(odd))
    if not merge.clean:
        settled = _settle(site, tip, combined, merge, picks, several_bases=several and not mended)
        if isinstance(settled, LandingItem):
            return settled
        combined = settled
    if several and not mended:
        site.note(News(f"{candidate.branch}: {len(bases)} merge bases (criss-cross), merged by git alone"))
    if made is None or _may_clash(by_main.changes, by_unit):
        combined = _audit(site, combined, by_main, unit, several_bases=several)
    tree = combined.tree if mended else unit
    seen = look_back(site, candidate, tree)
    combined = _with(combined, suspects=(*combined.item.suspects, *seen.suspects))
    marked = find_markers(site.git, trees, candidate.tip, by_unit, combined.tree)
    known = {one.path for one in combined.item.suspects}
    marked = tuple(one for one in marked if one.path not in known)
    combined = _with(combined, suspects=(*combined.item.suspects, *marked))
    for text in seen.told:
        site.note(f"{candidate.branch}: {text}")
    suspects = combined.item.suspects
    left = [one for one in suspects if not accepts(site.options.allow_suspect, one)]
    if left:
        return replace(combined.item, state="suspect", reason=describe_suspects(left), suspects=tuple(left))
    if suspects:
        site.note(f"{candidate.branch}: landed although it is suspect: {describe_suspects(suspects)}")
    return combined


def _settle(
    site: LandingContext,
    tip: Oid,
    combined: Combined,
    merge: TreeMerge,
    picks: Mapping[bytes, int] | None,
    *,
    several_bases: bool,
) -> Combined | LandingItem:
    from gitprun.judging.conflicts import Means, settle_conflicts
    from gitprun.judging.rerere import read_rerere

    options, candidate = site.options, combined.item.candidate
    means = Means(
        hotspots=options.hotspots,
        strategy=options.strategy,
        state=site.state,
        picks=picks,
        rerere=read_rerere(site.git, site.state.parent),
    )
    settled = settle_conflicts(site.repo, merge, means, several_bases=several_bases)
    if settled.refused is not None:
        return _conflict(site, tip, candidate, merge, settled.refused)
    for note in settled.notes:
        site.note(f"{candidate.branch}: {note}")
    combined = replace(_with(combined, resolved=settled.resolved), tree=settled.tree, offers=settled.offers)
    forced = {show_path(path) for path in settled.forced}
    lost = [one for one in settled.resolved if one.dropped and one.path in forced]
    if lost and not options.accept_drops:
        return replace(combined.item, state="drops", reason=_drops(options.strategy or "", lost))
    return combined


def _audit(site: LandingContext, combined: Combined, by_main: Since, unit: Oid, *, several_bases: bool) -> Combined:
    from gitprun.judging.audit import MergedTree, audit_merge

    # Where somebody has mended a file, no resolver writes another one over it.
    changed = {*by_main.changes, *(change.path for change in combined.brought)}
    by_hand = changed if combined.item.candidate.mended else set()
    merged = MergedTree(
        base=by_main.base,
        main=by_main.tree,
        unit=unit,
        tree=combined.tree,
        by_main=by_main.changes,
        by_unit=combined.brought,
        known=frozenset(combined.offers) | by_hand,
        several_bases=several_bases,
    )
    audited, branch = audit_merge(site.trees, merged, site.state), combined.item.candidate.branch
    for paths, why in audited.unjudged:
        site.note(f"{branch}: {paths}: not checked: {why}")
    for one in audited.resolved:
        site.note(News(f"{branch}: git's own merge of {one.path} was faulty, so {one.resolver} made another one"))
    item = combined.item
    suspects = (*item.suspects, *audited.suspects)
    combined = _with(combined, resolved=(*item.resolved, *audited.resolved), suspects=suspects)
    return replace(combined, tree=audited.tree)


def _with(combined: Combined, **facts: Any) -> Combined:
    return replace(combined, item=replace(combined.item, **facts))


def _may_clash(by_main: Mapping[bytes, TreeChange], by_unit: Sequence[TreeChange]) -> bool:
    """Tell whether different files might clash by what they mean: new migrations, a manifest and its lock."""
    if any(change.added for change in by_unit) and any(change.added for change in by_main.values()):
        return True
    return meet_in_locks(by_main, (change.path for change in by_unit))


def _drops(strategy: str, lost: Sequence[ResolvedPath]) -> str:
    files = f"{len(lost)} path{'' if len(lost) == 1 else 's'}"
    return f"-X {strategy} would drop lines of {files}; look at them, then --accept-drops lands it"


def _conflict(
    site: LandingContext, tip: Oid, candidate: Candidate, merge: TreeMerge, refused: dict[bytes, str]
) -> LandingItem:
    from gitprun.judging.conflicts import list_conflicts

    names = {tip: site.target.branch, candidate.tip: candidate.branch}
    conflicts = list_conflicts(merge, refused, names, site.target.checkout)
    against = site.target.branch
    if tip != site.target.tip:
        try:
            alone = merge_trees(site.merging(), site.target.tip, candidate.tip).clean
        except GitStopped:
            raise
        except PrunError:
            alone = False
        against = "what lands before it" if alone else against
    count = len(conflicts)
    reason = f"conflicts with {against} in {count} path{'' if count == 1 else 's'}"
    return LandingItem(candidate=candidate, state="conflict", reason=reason, conflicts=conflicts)

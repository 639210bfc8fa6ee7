"""What a landing would hold of the branches of a forecast: the same barriers, over the trees merged to see."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass

from gitprun.git.refs import Signature
from gitprun.git.repo import Checkout
from gitprun.git.trees import GITLINK, TreeChange, tree_of
from gitprun.git.walk import Trees
from gitprun.judging.drivers import find_attributes
from gitprun.judging.submodules import find_unknown
from gitprun.landing.barriers import Hold, list_holds
from gitprun.landing.context import LandingContext, Memory
from gitprun.landing.guard import LocalChanges, Target
from gitprun.landing.hooks import HookRoom, Hooks
from gitprun.landing.installed import places_of, read_live
from gitprun.landing.merge_bases import Ancestry
from gitprun.landing.past import Past
from gitprun.landing.plan import Candidate, LandingOptions, Proposed
from gitprun.landing.settings import read_merge_settings
from gitprun.landing.taken_back import describe_reverted, find_branch_faults
from gitprun.landing.temporary_objects import TemporaryObjects
from gitprun.landing.touched import describe_named
from gitprun.model.errors import PrunError
from gitprun.model.findings import Suspect, describe_suspects
from gitprun.model.names import Oid

# A forecast writes no commit, and must not fail where the user has no name set.
_NOBODY = Signature("git-prun", "git-prun", 0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Barred:
    """What holds a branch (None: nothing), and what it changes that is only named.

    ``suspect`` and ``refused`` say what of others' work it takes back, and what of its own would stay away, or
    cannot be had here (a submodule's commit).
    """

    hold: Hold | None = None
    named: str = ""
    suspect: str = ""
    refused: str = ""


def forecast_site(
    room: TemporaryObjects,
    trees: Trees,
    target: Target,
    checkouts: tuple[Checkout, ...],
    candidates: Sequence[Candidate],
    options: LandingOptions,
) -> LandingContext:
    """Return what a landing would know, for those who only look: whatever is written goes aside, no hook runs."""
    git, repository = room.git, room.repository
    settings = read_merge_settings(git)
    # Hooks may be taken from any checkout (core.hooksPath may be relative), so all of them count.
    tops = (target.checkout, repository.top, *(one.path for one in checkouts if not one.bare))
    places = places_of(repository.common, settings, target.checkout or git.cwd, tops)
    old_tree = tree_of(room.repo, target.tip)
    return LandingContext(
        git=git,
        merging=lambda: git,
        repo=room.repo,
        trees=trees,
        state=repository.state,
        target=target,
        old_tree=old_tree,
        local=LocalChanges(),
        settings=settings,
        hooks=Hooks(places.hooks, ()),
        room=_no_room,
        attributes=find_attributes(lambda: git, trees, target.checkout, repository.common, target.tip, settings),
        live=functools.cache(lambda: read_live(trees, old_tree, places, settings, options.protected)),
        who=(_NOBODY, _NOBODY),
        checkouts=checkouts,
        options=options,
        memory=Memory(),
        ancestry=Ancestry(git, room.repo, target.tip, [one.tip for one in candidates]),
        past=Past(git, trees),
    )


def _no_room() -> HookRoom:
    raise PrunError("a forecast runs no hooks")


def look_ahead(
    site: LandingContext, candidate: Candidate, own: Sequence[TreeChange], base: Oid | None, merged: Oid | None
) -> Barred:
    """Ask the barriers about one branch, which changed ``own`` since ``base``.

    ``merged`` is its merge with the target, where that was made; else what it changed is put on the target, and where
    that does not fit (they conflict) it is looked at by itself.
    """
    tip = site.target.tip
    bases = (base,) if base is not None else site.ancestry.bases(tip, candidate.tip)
    if not bases:
        return Barred()
    place, before, tree = tree_of(site.repo, bases[0]), site.old_tree, tree_of(site.repo, candidate.tip)
    # Not merged because nothing meets: its changes fit the target as they are.
    if merged is None and base is not None:
        merged = tree if place == before else site.trees.apply(before, own)
    if merged is None:
        before, merged = place, tree
    # Begun at the very target: what the merge changes is what the branch changed, and need not be compared again.
    step = own if merged == tree and before == place and base is not None else site.trees.compare(before, merged)
    proposed = Proposed(candidate=candidate, tip=tip, base=bases[0], before=before, tree=merged, step=step)
    moved = [change for change in step if GITLINK in (change.old_mode, change.new_mode)]
    diverged = (Suspect(path="", reason=candidate.diverged),) if candidate.diverged else ()
    seen = (*diverged, *find_branch_faults(site, candidate, own, merged).suspects)
    return Barred(
        hold=list_holds(site, proposed),
        named=describe_named(site.trees, step, site.live()),
        suspect=describe_suspects(seen) if seen else "",
        refused=describe_reverted(site, candidate) or find_unknown(site.target.checkout, moved),
    )

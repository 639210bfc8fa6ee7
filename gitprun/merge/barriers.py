"""What a merge would do that somebody has to let pass first: rules over one merged tree, all asked before any check."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from gitprun.git.trees import Change
from gitprun.merge.cuts import find_cuts
from gitprun.merge.deletions import DELETIONS, describe_deletions
from gitprun.merge.plan import Candidate, LandingItem
from gitprun.merge.site import Site
from gitprun.names import Oid


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposed:
    """A merge about to be made: ``candidate`` into the commit ``tip``.

    ``base`` is their merge base, ``before`` the tree of ``tip``, ``tree`` the merged one, ``step`` what differs
    between these two.
    """

    candidate: Candidate
    tip: Oid
    base: Oid
    before: Oid
    tree: Oid
    step: Sequence[Change]


@dataclass(frozen=True, slots=True)
class Hold:
    """Why a merge is held ("it ..."), and what ``accept`` has to name for it to pass."""

    reason: str
    accept: tuple[str, ...]


Barrier = Callable[[Site, Proposed], Iterator[Hold]]


def hold_deletions(site: Site, proposed: Proposed) -> Iterator[Hold]:
    """Hold what deletes much of the target."""
    deletes = describe_deletions(site.trees, proposed.before, proposed.step, site.options.max_deleted)
    if deletes and DELETIONS not in site.options.accept:
        yield Hold(f"it {deletes}", (DELETIONS,))


def hold_cuts(site: Site, proposed: Proposed) -> Iterator[Hold]:
    """Hold what takes away a file, or most of it, that a policy keeps."""
    changed = [change.path for change in proposed.step if not change.added]
    found = find_cuts(site.trees, proposed.step, site.options.hotspots, site.attributes.of(changed))
    if not found:
        return
    from gitprun.merge.own_check import covers, literal

    for path, words in found:
        name = path.decode("utf-8", "surrogateescape")
        if not covers(site.options.accept, name) and name not in literal(proposed.candidate.fence):
            yield Hold(f"it {words}", (name,))


BARRIERS: tuple[Barrier, ...] = (hold_deletions, hold_cuts)


def find_holds(site: Site, proposed: Proposed) -> LandingItem | None:
    """Return the item that holds a merge for everything somebody has to let pass; None where nothing is in its way."""
    holds = [hold for barrier in BARRIERS for hold in barrier(site, proposed)]
    if not holds:
        return None
    accept = dict.fromkeys(word for hold in holds for word in hold.accept)
    reason = "; ".join(hold.reason for hold in holds)
    return LandingItem(candidate=proposed.candidate, state="held", reason=reason, accept=tuple(accept))

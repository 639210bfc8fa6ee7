"""Work outside the paths a unit was given: what of it lands, and who let it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from gitprun.git.trees import TreeChange, parents_of, show_path, tree_of
from gitprun.judging.hotspots import is_common
from gitprun.landing.context import LandingContext
from gitprun.landing.own_check import covers
from gitprun.landing.plan import Candidate, News
from gitprun.ledger.rows import AcceptedRow
from gitprun.model.globs import outside_fence
from gitprun.model.lists import join_few
from gitprun.model.names import Oid

# The word of LandingItem.accept for it; no path.
OUTSIDE: Final = "outside"


@dataclass(frozen=True, slots=True)
class Outside:
    """What a unit changed outside its fence: ``held`` keeps it from landing, ``common`` (files of all) is told."""

    held: tuple[str, ...] = ()
    common: tuple[str, ...] = ()


def sort_outside(changed: Iterable[str], fence: Collection[str]) -> Outside:
    """Return which of the changed paths lie outside a fence; without a fence none does."""
    found = sorted(outside_fence(tuple(changed), tuple(fence)))
    return Outside(
        tuple(path for path in found if not is_common(path)), tuple(path for path in found if is_common(path))
    )


def describe_outside(paths: Collection[str]) -> str:
    """Return which paths a unit changed that are not its own."""
    return f"changes {join_few(_shown(path) for path in paths)} outside its paths"


def _shown(path: str) -> str:
    return show_path(path.encode("utf-8", "surrogateescape"))


def find_outside(site: LandingContext, candidate: Candidate, before: Oid, step: Sequence[TreeChange]) -> Outside:
    """Return what a merge brings of a unit's own work outside its fence.

    ``before`` is the tree merged into, ``step`` what differs from it once it is merged. What the target has already is
    nobody's to hold; what it moved elsewhere arrives under another name than the unit knew, and counts.
    """
    base = _own_base(site, candidate) if candidate.fence else None
    if base is None:
        return Outside()
    arriving, tip = {change.path for change in step}, tree_of(site.repo, candidate.tip)

    def arrives(path: str) -> bool:
        name = path.encode("utf-8", "surrogateescape")
        moved = site.trees.find(before, name) is None and site.trees.find(tip, name) is not None
        return name in arriving or moved

    return sort_outside(filter(arrives, site.touched(base, candidate.tip)), candidate.fence)


def allowed_by(site: LandingContext, path: str) -> str:
    """Return which option lets a path outside the fence land; empty if none does."""
    if site.options.allow_outside:
        return "--allow-outside"
    return "--accept" if covers(site.options.accept, path) else ""


def outside_rows(
    site: LandingContext, candidate: Candidate, merge: Oid, step: Sequence[TreeChange]
) -> tuple[AcceptedRow, ...]:
    """Return for the ledger what a merge commit brings from outside a unit's fence, and who let it."""
    found = find_outside(site, candidate, tree_of(site.repo, parents_of(site.repo, merge)[0]), step)
    held = (AcceptedRow(path=path, accepted=allowed_by(site, path)) for path in found.held)
    return (*held, *(AcceptedRow(path=path, accepted="hotspot") for path in found.common))


def tell_outside(candidate: Candidate, rows: Sequence[AcceptedRow]) -> Iterator[str]:
    """Yield what lands from outside a unit's fence, a line each: let pass by the user, or a file of all units."""
    let = [row.path for row in rows if row.accepted != "hotspot"]
    common = [row.path for row in rows if row.accepted == "hotspot"]
    if let:
        yield f"{candidate.branch} {describe_outside(let)}"
    if common:
        yield News(f"{candidate.branch} {describe_outside(common)}, as any unit may")


def _own_base(site: LandingContext, candidate: Candidate) -> Oid | None:
    """Return the tree a unit's work began at: commits of its base that the target lacks are not its work."""
    # The usual case, told without git: a unit's capture is one commit on its base.
    if candidate.base in parents_of(site.repo, candidate.tip):
        return tree_of(site.repo, candidate.base)
    # A worker may have rebased its branch: then its recorded base is no ancestor any more.
    for commit in (candidate.base, *site.ancestry.bases(site.target.tip, candidate.tip)[:1]):
        if commit and site.git.run("merge-base", "--is-ancestor", commit, candidate.tip, ok=(0, 1, 128)).code == 0:
            return tree_of(site.repo, commit)
    return None

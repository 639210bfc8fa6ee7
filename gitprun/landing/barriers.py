"""What a merge would do that somebody has to let pass first: rules over one merged tree, all asked before any check."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from gitprun.landing.context import LandingContext
from gitprun.landing.deletions import DELETIONS, describe_deletions, find_cuts
from gitprun.landing.fence import OUTSIDE, allowed_by, describe_outside, find_outside
from gitprun.landing.own_check import accept_words
from gitprun.landing.plan import Candidate, LandingItem, Proposed
from gitprun.landing.surface import TITLES, describe
from gitprun.landing.touched import accepted_by, find_touches, unaccepted
from gitprun.model.lists import listed
from gitprun.model.names import Oid


@dataclass(frozen=True, slots=True)
class Hold:
    """Why a merge is held ("it ..."), and what ``accept`` has to name for it to pass."""

    reason: str
    accept: tuple[str, ...]


Barrier = Callable[[LandingContext, Proposed], Iterator[Hold]]


def hold_deletions(site: LandingContext, proposed: Proposed) -> Iterator[Hold]:
    """Hold what deletes much of the target."""
    deletes = describe_deletions(site.trees, proposed.before, proposed.step, site.options.max_deleted)
    if deletes and DELETIONS not in site.options.accept:
        yield Hold(f"it {deletes}", (DELETIONS,))


def hold_surface(site: LandingContext, proposed: Proposed) -> Iterator[Hold]:
    """Hold what changes programs of the user, or what starts them, where nobody accepted it by name."""
    touches = find_touches(site.trees, proposed.step, site.live())
    held = unaccepted(touches, site.options, proposed.candidate)
    if held:
        yield Hold(f"it {TITLES['held']}: {describe(held)}", accept_words([one.path for one in held]))


def hold_cuts(site: LandingContext, proposed: Proposed) -> Iterator[Hold]:
    """Hold what takes away a file, or most of it, that a policy keeps."""
    # What is new has no earlier lines a policy could keep; asking attributes for it may cost a program.
    changed = [change.path for change in proposed.step if not change.added]
    found = find_cuts(site.trees, proposed.step, site.options.hotspots, site.attributes.of(changed))
    for path, words in found:
        name = path.decode("utf-8", "surrogateescape")
        if not accepted_by(name, site.options, proposed.candidate):
            yield Hold(f"it {words}", (name,))


def hold_base(site: LandingContext, proposed: Proposed) -> Iterator[Hold]:
    """Hold what brings commits of its base that the target does not have."""
    brings = describe_along(site, proposed.tip, proposed.candidate)
    if brings and site.options.with_base:
        site.note(f"{proposed.candidate.branch} {brings}")
    elif brings:
        yield Hold(f"it {brings}", (BASE,))


def hold_outside(site: LandingContext, proposed: Proposed) -> Iterator[Hold]:
    """Hold what a unit changed outside the paths it was given."""
    found = find_outside(site, proposed.candidate, proposed.before, proposed.step)
    held = [path for path in found.held if not allowed_by(site, path)]
    if held:
        yield Hold(f"it {describe_outside(held)}", (OUTSIDE,))


BARRIERS: tuple[Barrier, ...] = (hold_deletions, hold_surface, hold_outside, hold_base, hold_cuts)


def list_holds(site: LandingContext, proposed: Proposed) -> Hold | None:
    """Return everything that holds a merge as one; None where nothing is in its way."""
    # All are asked although one is enough: whoever accepts one should not meet the next at the next try.
    holds = [hold for barrier in BARRIERS for hold in barrier(site, proposed)]
    if not holds:
        return None
    accept = dict.fromkeys(word for hold in holds for word in hold.accept)
    return Hold("; ".join(hold.reason for hold in holds), tuple(accept))


def find_holds(site: LandingContext, proposed: Proposed) -> LandingItem | None:
    """Return the item that holds a merge for everything somebody has to let pass; None where nothing is in its way."""
    hold = list_holds(site, proposed)
    if hold is None:
        return None
    return LandingItem(candidate=proposed.candidate, state="held", reason=hold.reason, accept=hold.accept)


# What --accept takes for it in a row of the ledger; on a command line it is --with-base.
BASE = "base"


def read_along(site: LandingContext, tip: Oid, candidate: Candidate) -> tuple[str, ...]:
    """List the commits of a candidate's base that ``tip`` lacks, as ``ID SUBJECT``, the oldest first."""
    base = candidate.base
    # The common case: the unit began at a commit the target has.
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
    """Return which commits of its base a candidate would bring with it; empty where it brings none."""
    found = read_along(site, tip, candidate)
    if not found:
        return ""
    # Any branch that holds the base tells whose work would come along.
    words = ("for-each-ref", "--count=1", "--format=%(refname:short)", f"--contains={candidate.base}", "refs/heads")
    branch = site.git.run(*words, ok=(0, 128)).text
    of = f" (of {branch})" if branch else ""
    many = f"{len(found)} commits" if len(found) > 1 else "1 commit"
    return f"brings {many} of its base{of} that {site.target.branch} does not have: {listed(found, between='; ')}"

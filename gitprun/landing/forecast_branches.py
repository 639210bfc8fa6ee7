"""Which branches a forecast looks at: those that would ask to land, and units at work as they are now."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from gitprun.git.trees import Objects, tree_of
from gitprun.git.walk import Trees
from gitprun.landing.conflicts_committed import find_jj_conflict
from gitprun.landing.forecast_plan import Branch
from gitprun.landing.guard import Target
from gitprun.landing.merge_bases import New
from gitprun.landing.plan import Candidate, LandingOptions
from gitprun.landing.temporary_objects import TemporaryObjects
from gitprun.ledger.events import History, base_of
from gitprun.ledger.lookup import find_unit, probe_unit
from gitprun.model.names import Oid, parse_oid, unit_branch
from gitprun.model.plan import MAX_DELETED
from gitprun.model.units import LIVE

if TYPE_CHECKING:
    from gitprun.judging.hotspots import Hotspot


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What to look at: ``names`` as for a landing, ``every`` local branch, ``into`` the target (any commit-ish).

    None stands for the branch checked out.

    ``checks`` are the commands a landing would run (none: those detected), ``max_deleted`` what it lets one delete,
    ``protected`` globs of paths it holds.
    """

    names: Sequence[str] = ()
    every: bool = False
    into: str | None = None
    hotspots: tuple[Hotspot, ...] = ()
    checks: tuple[str, ...] = ()
    max_deleted: float = MAX_DELETED
    protected: tuple[str, ...] = ()

    @property
    def options(self) -> LandingOptions:
        """Return the landing that is looked ahead at."""
        return LandingOptions(
            into=self.into,
            dry_run=True,
            verify=self.checks or None,
            hotspots=self.hotspots,
            max_deleted=self.max_deleted,
            protected=self.protected,
        )


def find_branches(
    room: TemporaryObjects,
    history: History,
    asked: Asked,
    target: Target,
    left_out: list[tuple[str, str]],
    candidates: dict[str, Candidate],
) -> list[Branch]:
    """Find what is meant: finished work by its commit, live work as it is now, branches by their tip.

    ``candidates`` gets what would ask to land, by name.
    """
    found: list[Branch] = []
    from gitprun.landing.choose import choose, read_made

    if asked.names or not asked.every:
        # Unverified ones as well: a forecast is asked while the work goes on.
        chosen = choose(room.repository, history, asked.names, allow_unverified=True)
        found += map(_as_branch, chosen.candidates)
        candidates |= {one.branch: one for one in chosen.candidates}
        for label, reason in chosen.skipped:
            seen = _look_at_live(room, history, label)
            if isinstance(seen, Candidate):
                # A commit in the ledger is captured work: it looks the same, and is not going to change.
                live = not history.runs[seen.run].units[seen.unit].commit
                found.append(replace(_as_branch(seen), live=live))
                candidates[seen.branch] = seen
            else:
                left_out.append((label, seen or reason))
    if asked.every:
        words = ("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads")
        for row in room.git.run(*words).text.splitlines():
            oid, _, ref = row.partition(" ")
            # The target cannot be landed on itself.
            if ref != target.ref:
                name = ref.removeprefix("refs/heads/")
                one = Candidate(branch=name, tip=parse_oid(oid), made=read_made(room.repository, name))
                # A unit that was named knows more of the branch than its name does.
                candidates.setdefault(one.branch, one)
                found.append(_as_branch(one))
    return found


def _look_at_live(room: TemporaryObjects, history: History, label: str) -> Candidate | str:
    """Take a unit that is not over as it is now; returns why where it cannot be read, or nothing if it is over."""
    from gitprun.landing.working_tree import NotSeen, read_work

    known = find_unit(history, label)
    run = history.runs[known.run]
    unit = probe_unit(run, known)
    # A lost unit's workspace may still hold what was written there.
    if unit.state not in (*LIVE, "lost"):
        return ""
    try:
        tip = parse_oid(unit.commit) if unit.commit else read_work(room, run, unit)
    except NotSeen as problem:
        return f"{unit.state}: {problem.message}"
    return Candidate(
        branch=unit_branch(unit.run, unit.id),
        tip=tip,
        run=unit.run,
        unit=unit.id,
        fence=unit.fence,
        base=base_of(run, unit),
    )


def _as_branch(candidate: Candidate) -> Branch:
    return Branch(name=candidate.branch, tip=candidate.tip, run=candidate.run, unit=candidate.unit)


def drop_contained(
    repo: Objects, target: Target, new: New, found: Sequence[Branch], left_out: list[tuple[str, str]]
) -> list[Branch]:
    """Leave out what the target has, what is no work but a conflict, and every further name of a commit."""
    known, trees = tree_of(repo, target.tip), Trees(repo)
    kept: dict[Oid, Branch] = {}
    for branch in found:
        if branch.tip not in new:
            left_out.append((branch.name, f"{target.branch} has its commits"))
        elif (jj := find_jj_conflict(trees, Candidate(branch=branch.name, tip=branch.tip), known)) is not None:
            left_out.append((branch.name, jj.reason))
        # Two names of one commit would be a pair that gets along with itself.
        elif kept.setdefault(branch.tip, branch).name != branch.name:
            left_out.append((branch.name, f"the same commit as {kept[branch.tip].name}"))
    return list(kept.values())

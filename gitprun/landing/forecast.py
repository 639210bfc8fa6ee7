"""Forecast: which branches get along with each other and with the target, found out without landing any."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gitprun.git.batch import compare_many, merge_many
from gitprun.git.command import Git
from gitprun.git.repo import Checkout, Repository, read_checkouts, resolve_commit
from gitprun.git.trees import Objects, TreeChange, TreeMerge, read_bases, tree_of
from gitprun.git.walk import Trees
from gitprun.judging.judged import Sides
from gitprun.judging.shared_folders import may_clash, meeting_places
from gitprun.landing.forecast_branches import Asked, drop_contained, find_branches
from gitprun.landing.forecast_plan import (
    BAD,
    Branch,
    Forecast,
    Meeting,
    PathForecast,
    Reach,
    folders_left,
    list_paths_of,
    partners_of,
    plan_meetings,
)
from gitprun.landing.guard import BRANCHES, Target, read_target
from gitprun.landing.history import explain_unrelated
from gitprun.landing.merge_bases import MergeBases, New, bases_of, find_forks, read_new
from gitprun.landing.plan import Candidate, plan_safe_order
from gitprun.landing.squashed import Fork, find_holder
from gitprun.landing.temporary_objects import TemporaryObjects, aside
from gitprun.landing.undo_plan import taken_out
from gitprun.ledger.events import History
from gitprun.model.findings import MergeState
from gitprun.model.names import Oid
from gitprun.verify.gate_changes import describe
from gitprun.verify.put_back import read_gate_changes

if TYPE_CHECKING:
    from gitprun.judging.judge import Judge
    from gitprun.landing.context import LandingContext

# Stands for the target among the numbers of branches.
TARGET = -1
# So many merges for one git program: it starts once for them, and the first are judged while others are made.
AT_A_TIME = 64
# Git is mostly waited for: one program works while the answers of the other are judged.
AT_ONCE = 2
_Changes = Mapping[bytes, TreeChange]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pairs:
    """What the pairs are made of: branches by number, and what each changed since it forked from the target."""

    git: Git
    repo: Objects
    common: Path
    target: Target
    branches: Sequence[Branch]
    forks: MergeBases
    changes: Sequence[_Changes] = ()
    since: Mapping[Oid, _Changes] = field(default_factory=dict)

    def tip(self, number: int) -> Oid:
        """Return the commit of a branch, or of the target."""
        return self.target.tip if number == TARGET else self.branches[number].tip

    def name(self, number: int) -> str:
        """Return the name of a branch, or of the target."""
        return self.target.branch if number == TARGET else self.branches[number].name


def forecast(repository: Repository, history: History, asked: Asked) -> Forecast:
    """Merge in memory whatever could meet, and tell what comes of it; nothing of the user's changes, no lock is taken.

    Live units are looked at as they are now. What is in the target already, or cannot be read, is left out and said.
    """
    checkouts = read_checkouts(repository.git)
    target = _find_target(repository, asked.into, checkouts)
    # Merging writes objects; here they go where nobody looks, and away at the end.
    with aside(repository) as room:
        # It is asked for when all is merged, and git has it by then.
        room.git.ask_ahead("config", "--list", "-z")
        left_out: list[tuple[str, str]] = []
        candidates: dict[str, Candidate] = {}
        found = find_branches(room, history, asked, target, left_out, candidates)
        new = read_new(room.git, target.tip, [branch.tip for branch in found])
        # Before anything is compared: with the pairs the work grows by the square.
        branches = drop_contained(room.repo, target, new, found, left_out)
        ground = _read_ground(room, target, branches, new)
        wanted = _plan_pairs(ground)
        with _merge_all(room, ground, wanted) as merges:
            # The resolvers and all that lands are read while git works.
            from gitprun.landing.barred import forecast_site
            from gitprun.landing.combine import judge_of

            trees, gone = Trees(room.repo), taken_out(history)
            candidates = {name: replace(one, reverted=gone) for name, one in candidates.items()}
            site = forecast_site(room, trees, target, checkouts, tuple(candidates.values()), asked.options)
            judge = judge_of(site)
            met = [(pair, *_meet(judge, ground, pair, merge)) for pair, merge in merges]
            known = {pair[1]: _say_held(trees, ground, pair[1]) for pair, one, _ in met if _stands_out(pair, one)}
            merged = {pair[1]: tree for pair, _, tree in met if pair[0] == TARGET}
            looked = _look_at_each(site, ground, asked, candidates, merged)
    # What the target has by another name conflicts with itself; that is no news about the branch.
    settled = {number for number, said in known.items() if said}
    left_out += [(ground.name(number), known[number]) for number in sorted(settled)]
    met = [row for row in met if settled.isdisjoint(row[0])]
    looked = tuple(branch for number, branch in enumerate(looked) if number not in settled)
    meetings = tuple(meeting for pair, meeting, _ in met if pair[0] != TARGET)
    against = tuple(meeting for pair, meeting, _ in met if pair[0] == TARGET)
    sizes = {branch.name: branch.paths for branch in looked}
    # The target itself is a partner that nobody can be moved away from.
    order = plan_safe_order(sizes, partners_of((*against, *meetings)), list(sizes))
    return Forecast(
        target=target.ref,
        tip=target.tip,
        branches=looked,
        meetings=meetings,
        against=against,
        order=order,
        left_out=tuple(left_out),
    )


def _find_target(repository: Repository, into: str | None, checkouts: tuple[Checkout, ...]) -> Target:
    """Return the branch to look at landing on; any other commit-ish serves as well, for nothing moves."""
    if into is None:
        return read_target(repository, None, repository.git, checkouts)
    tip, ref = resolve_commit(repository.git, into), BRANCHES + into.removeprefix(BRANCHES)
    known = repository.git.run("show-ref", "--verify", "--quiet", ref, ok=(0, 1, 128)).code == 0
    return read_target(repository, into, repository.git, checkouts) if known else Target(ref=into, tip=tip)


def _stands_out(pair: tuple[int, int], meeting: Meeting) -> bool:
    return pair[0] == TARGET and meeting.state in BAD


def _say_held(trees: Trees, ground: _Pairs, number: int) -> str:
    """Return in words since when the target has the work of a branch by another name; empty if it has not."""
    base, tip, target = ground.forks.places[number], ground.tip(number), ground.target
    changes = tuple(ground.changes[number].values())
    if base is None:
        return ""
    found = find_holder(ground.git, lambda: ground.git, trees, Fork(base, target.tip, tip), changes)
    return found.told(target.branch) if found else ""


@contextmanager
def _merge_all(
    room: TemporaryObjects, ground: _Pairs, wanted: Sequence[tuple[int, int]]
) -> Iterator[Iterable[tuple[tuple[int, int], TreeMerge | str]]]:
    """Have pairs merged, some at a time, so that git works on the next ones while these are judged."""
    parts = [wanted[at : at + AT_A_TIME] for at in range(0, len(wanted), AT_A_TIME)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            tips = [[(ground.tip(one), ground.tip(other)) for one, other in part] for part in parts]
            answers = pool.map(lambda pairs: merge_many(room.git, pairs), tips)
            yield (row for part, merges in zip(parts, answers, strict=True) for row in zip(part, merges, strict=True))
        finally:
            # An error while judging, or Ctrl-C: merges that wait must not be made first.
            pool.shutdown(cancel_futures=True)


def _read_ground(room: TemporaryObjects, target: Target, branches: Sequence[Branch], new: New) -> _Pairs:
    """Read with one program what every branch changed since it forked, and the target since then."""
    forks = find_forks(room.git, new, [branch.tip for branch in branches])
    places = list(dict.fromkeys(place for place in forks.places if place))
    tree = {oid: tree_of(room.repo, oid) for oid in (*places, *forks.tips, target.tip)}
    own = [(tree[place], tree[tip]) for place, tip in zip(forks.places, forks.tips, strict=True) if place]
    # One program for all comparisons, so the answers come in the order of the questions.
    seen = iter(compare_many(room.git, [*own, *((tree[place], tree[target.tip]) for place in places)]))
    changes = [_by_path(next(seen)) if place else {} for place in forks.places]
    return _Pairs(
        git=room.git,
        repo=room.repo,
        common=room.repository.common,
        target=target,
        branches=[replace(one, paths=len(changed)) for one, changed in zip(branches, changes, strict=True)],
        forks=forks,
        changes=changes,
        since={place: _by_path(next(seen)) for place in places},
    )


def _look_at_each(
    site: LandingContext,
    ground: _Pairs,
    asked: Asked,
    known: Mapping[str, Candidate],
    merged: Mapping[int, Oid | None],
) -> tuple[Branch, ...]:
    """Return of each branch what it changes of its checks, and what would hold it; ``merged`` is it with the target."""
    from gitprun.landing.barred import look_ahead

    looked = []
    for number, branch in enumerate(ground.branches):
        place, changes = ground.forks.places[number], tuple(ground.changes[number].values())
        gate = ""
        if place is not None:
            base, tip = tree_of(ground.repo, place), tree_of(ground.repo, branch.tip)
            gate = describe(read_gate_changes(site.trees, base, tip, asked.checks, changes))
        seen = look_ahead(site, known[branch.name], changes, place, merged.get(number))
        hold = seen.hold
        looked.append(
            replace(
                branch,
                gate=gate,
                named=seen.named,
                suspect=seen.suspect,
                refused=seen.refused,
                held=hold.reason if hold is not None else "",
                accept=hold.accept if hold is not None else (),
            )
        )
    return tuple(looked)


def _by_path(changes: Sequence[TreeChange]) -> _Changes:
    return {change.path: change for change in changes}


def _plan_pairs(ground: _Pairs) -> list[tuple[int, int]]:
    """Choose the pairs to merge: those that can meet, and all of a branch that forks nowhere, or in several places.

    What a branch does to the target's newer commits is a matter between the two, not of another that has them.
    """
    forks = ground.forks
    reaches = {number: _reach(ground, number, ground.changes[number]) for number in range(len(forks.tips))}
    wanted = plan_meetings(reaches)
    for number, place in enumerate(forks.places):
        # Where a branch forks nowhere, or in several places, what it changed is not known: it may meet any other.
        if place is None:
            wanted |= {(min(number, other), max(number, other)) for other in (TARGET, *reaches) if other != number}
    for place, changed in ground.since.items():
        # Each is compared with what the target changed since that very place.
        here = {number: reaches[number] for number in reaches if forks.places[number] == place}
        met = plan_meetings({**here, TARGET: _reach(ground, TARGET, changed)})
        wanted |= {pair for pair in met if pair[0] == TARGET}
    # A branch that contains another one meets its own work there.
    return sorted(wanted - forks.stacked)


def _reach(ground: _Pairs, side: int, changed: _Changes) -> Reach:
    removed = [change.path for change in changed.values() if change.removed]
    gone = frozenset(folder for folder in folders_left(removed) if not _has(ground.repo, ground.tip(side), folder))
    added = frozenset(path for path, change in changed.items() if change.added)
    # Two new migrations in one folder clash though they share no path, and so do a manifest and its lock.
    return Reach(frozenset(changed) | meeting_places(changed), added, gone)


def _has(repo: Objects, commit: Oid, folder: bytes) -> bool:
    """Check whether a commit has a folder; a name that is no UTF-8 counts as gone, so that it is looked at."""
    try:
        return bool(repo[tree_of(repo, commit)][os.fsdecode(folder)])  # type: ignore[index]
    except (KeyError, UnicodeEncodeError):
        return False


def _meet(judge: Judge, ground: _Pairs, pair: tuple[int, int], merge: TreeMerge | str) -> tuple[Meeting, Oid | None]:
    """Return what two come to, and the tree they make together, where they make one."""
    one, other = pair if pair[0] != TARGET else (pair[1], TARGET)
    # The target is the side that is landed on.
    names = {ground.tip(number): ground.name(number) for number in pair}
    if isinstance(merge, str):
        why, tips = "", [ground.tip(number) for number in pair]
        # Git's word where two histories share nothing; why that is so, git does not say.
        if "unrelated" in merge:
            why = explain_unrelated(ground.git, ground.common, tips[0], tips[1], ground.name(pair[1]))
        problem = PathForecast(path="", kind="unmergeable", detail=merge, reasons=(why,) if why else ())
        return Meeting(
            one=ground.name(one), other=ground.name(other), state=MergeState.CONFLICT, paths=(problem,)
        ), None
    judged = judge.judge(merge, _read_sides(judge.trees, ground, pair, merge, names))
    paths = list_paths_of(judged)
    return Meeting(one=ground.name(one), other=ground.name(other), state=judged.state, paths=paths), judged.tree


def _read_sides(
    trees: Trees, ground: _Pairs, pair: tuple[int, int], merge: TreeMerge, names: Mapping[Oid, str]
) -> Sides:
    """Return what two sides changed, each since it forked from the target, or the target since then."""
    one, other = pair
    main, unit = (tree_of(ground.repo, ground.tip(number)) for number in pair)
    place, plain = ground.forks.places[other], all(ground.forks.places[n] for n in pair if n != TARGET)
    by_main = ground.changes[one] if one != TARGET else ground.since[place] if place else {}
    by_unit = ground.changes[other]
    if plain and merge.clean and not may_clash(by_main, by_unit):
        # Mostly so, and then nobody asks what their merge bases are.
        bases: tuple[Oid, ...] = (place,) if place else ()
    elif one == TARGET:
        bases = (place,) if place else read_bases(ground.git, ground.repo, ground.tip(one), ground.tip(other))
    else:
        # Two branches may meet further back than where the second one forked.
        bases = bases_of(ground.git, ground.repo, ground.forks, one, other)
    base = tree_of(ground.repo, bases[0])
    if not plain:
        # No one place to count from was found for all branches at once.
        by_main, by_unit = (_by_path(trees.compare(base, tree)) for tree in (main, unit))
    return Sides(
        base=base,
        main=main,
        unit=unit,
        by_main=by_main,
        by_unit=by_unit,
        names=names,
        several_bases=lambda: len(bases) > 1,
    )

"""Forecast: which branches get along with each other and with the target, found out without landing any."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from gitprun.git.batch import compare_many, merge_many
from gitprun.git.command import Git
from gitprun.git.repo import Checkout, Repository, read_checkouts, resolve_commit
from gitprun.git.trees import Change, Objects, TreeMerge, tree_of
from gitprun.git.walk import Trees
from gitprun.merge.aside import Aside, aside
from gitprun.merge.forecast_plan import (
    Branch,
    Forecast,
    Meeting,
    PathForecast,
    Reach,
    folders_left,
    partners_of,
    plan_meetings,
)
from gitprun.merge.forks import Forks, New, find_forks, has_one_base, read_new
from gitprun.merge.guard import BRANCHES, Target, read_target
from gitprun.merge.order import plan_safe_order
from gitprun.merge.plan import Candidate, LandingOptions
from gitprun.names import Oid, parse_oid, unit_branch
from gitprun.plan import MAX_DELETED
from gitprun.runs.events import LIVE, History, base_of
from gitprun.runs.lookup import find_unit, probe_unit
from gitprun.verify.gate_changes import describe
from gitprun.verify.put_back import read_gate_changes

if TYPE_CHECKING:
    from gitprun.merge.hotspots import Hotspot
    from gitprun.merge.judge import Judge
    from gitprun.merge.site import Site

# Stands for the target among the numbers of branches.
TARGET = -1
# So many merges for one git program, and so many programs.
AT_A_TIME = 64
AT_ONCE = 2
_Changes = Mapping[bytes, Change]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Ground:
    """What the pairs are made of: branches by number, and what each changed since it forked from the target."""

    git: Git
    repo: Objects
    target: Target
    branches: Sequence[Branch]
    forks: Forks
    changes: Sequence[_Changes] = ()
    since: Mapping[Oid, _Changes] = field(default_factory=dict)

    def tip(self, number: int) -> Oid:
        """Give the commit of a branch, or of the target."""
        return self.target.tip if number == TARGET else self.branches[number].tip

    def name(self, number: int) -> str:
        """Give the name of a branch, or of the target."""
        return self.target.branch if number == TARGET else self.branches[number].name


def forecast(repository: Repository, history: History, asked: Asked) -> Forecast:
    """Merge in memory whatever could meet, and tell what comes of it; nothing of the user's changes, no lock is taken.

    Live units are looked at as they are now. What is in the target already, or cannot be read, is left out and said.
    """
    checkouts = read_checkouts(repository.git)
    target = _find_target(repository, asked.into, checkouts)
    with aside(repository) as room:
        # It is asked for when all is merged, and git has it by then.
        room.git.ask_ahead("config", "--list", "-z")
        left_out: list[tuple[str, str]] = []
        candidates: dict[str, Candidate] = {}
        found = _find_branches(room, history, asked, target, left_out, candidates)
        new = read_new(room.git, target.tip, [branch.tip for branch in found])
        branches = _drop_contained(target, new, found, left_out)
        ground = _read_ground(room, target, branches, new)
        wanted = _plan_pairs(ground)
        with _merge_all(room, ground, wanted) as merges:
            # The resolvers and all that lands are read while git works.
            from gitprun.merge.barred import forecast_site
            from gitprun.merge.judge import Judge

            trees = Trees(room.repo)
            judge = Judge(trees=trees, state=repository.state, hotspots=asked.hotspots, checkout=target.checkout)
            met = [(pair, *_meet(judge, ground, pair, merge)) for pair, merge in merges]
            merged = {pair[1]: tree for pair, _, tree in met if pair[0] == TARGET}
            site = forecast_site(room, trees, target, checkouts, tuple(candidates.values()), asked.options)
            looked = _look_at_each(site, ground, asked, candidates, merged)
    meetings = tuple(meeting for pair, meeting, _ in met if pair[0] != TARGET)
    against = tuple(meeting for pair, meeting, _ in met if pair[0] == TARGET)
    sizes = {branch.name: branch.paths for branch in ground.branches}
    order = plan_safe_order(sizes, partners_of((*against, *meetings)), [branch.name for branch in ground.branches])
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
        return read_target(repository, None, checkouts=checkouts)
    tip, ref = resolve_commit(repository.git, into), BRANCHES + into.removeprefix(BRANCHES)
    known = repository.git.run("show-ref", "--verify", "--quiet", ref, ok=(0, 1, 128)).code == 0
    return read_target(repository, into, checkouts=checkouts) if known else Target(ref=into, tip=tip)


@contextmanager
def _merge_all(
    room: Aside, ground: _Ground, wanted: Sequence[tuple[int, int]]
) -> Iterator[Iterable[tuple[tuple[int, int], TreeMerge | str]]]:
    """Have pairs merged, some at a time, so that git works on the next ones while these are judged."""
    parts = [wanted[at : at + AT_A_TIME] for at in range(0, len(wanted), AT_A_TIME)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        try:
            tips = [[(ground.tip(one), ground.tip(other)) for one, other in part] for part in parts]
            answers = pool.map(lambda pairs: merge_many(room.git, pairs), tips)
            yield (row for part, merges in zip(parts, answers, strict=True) for row in zip(part, merges, strict=True))
        finally:
            pool.shutdown(cancel_futures=True)


def _find_branches(
    room: Aside,
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
    if asked.names or not asked.every:
        from gitprun.merge.choose import choose

        chosen = choose(room.repository, history, asked.names, allow_unverified=True)
        found += map(_as_branch, chosen.candidates)
        candidates |= {one.branch: one for one in chosen.candidates}
        for label, reason in chosen.skipped:
            seen = _look_at_live(room, history, label)
            if isinstance(seen, Candidate):
                live = not history.runs[seen.run].units[seen.unit].commit
                found.append(replace(_as_branch(seen), live=live))
                candidates[seen.branch] = seen
            else:
                left_out.append((label, seen or reason))
    if asked.every:
        words = ("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads")
        for row in room.git.run(*words).text.splitlines():
            oid, _, ref = row.partition(" ")
            if ref != target.ref:
                one = Candidate(branch=ref.removeprefix("refs/heads/"), tip=parse_oid(oid))
                candidates.setdefault(one.branch, one)
                found.append(_as_branch(one))
    return found


def _look_at_live(room: Aside, history: History, label: str) -> Candidate | str:
    """Take a unit that is not over as it is now; give the reason where it cannot be read, or nothing if it is over."""
    from gitprun.merge.live import NotSeen, read_work

    known = find_unit(history, label)
    run = history.runs[known.run]
    unit = probe_unit(run, known)
    if unit.state not in (*LIVE, "lost"):
        return ""
    try:
        tip = parse_oid(unit.commit) if unit.commit else read_work(room, run, unit)
    except NotSeen as problem:
        return f"{unit.state}: {problem.message}"
    fence = tuple(map(str, dict(unit.facts.get("spec") or {}).get("paths") or ()))
    name, base = unit_branch(unit.run, unit.id), base_of(run, unit)
    return Candidate(branch=name, tip=tip, run=unit.run, unit=unit.id, fence=fence, base=base)


def _as_branch(candidate: Candidate) -> Branch:
    return Branch(name=candidate.branch, tip=candidate.tip, run=candidate.run, unit=candidate.unit)


def _drop_contained(target: Target, new: New, found: Sequence[Branch], left_out: list[tuple[str, str]]) -> list[Branch]:
    """Leave out what the target has, and every further name of a commit."""
    kept: dict[Oid, Branch] = {}
    for branch in found:
        if branch.tip not in new:
            left_out.append((branch.name, f"{target.branch} has its commits"))
        elif kept.setdefault(branch.tip, branch).name != branch.name:
            left_out.append((branch.name, f"the same commit as {kept[branch.tip].name}"))
    return list(kept.values())


def _read_ground(room: Aside, target: Target, branches: Sequence[Branch], new: New) -> _Ground:
    """Read with one program what every branch changed since it forked, and the target since then."""
    forks = find_forks(room.git, new, [branch.tip for branch in branches])
    places = list(dict.fromkeys(place for place in forks.places if place))
    tree = {oid: tree_of(room.repo, oid) for oid in (*places, *forks.tips, target.tip)}
    own = [(tree[place], tree[tip]) for place, tip in zip(forks.places, forks.tips, strict=True) if place]
    seen = iter(compare_many(room.git, [*own, *((tree[place], tree[target.tip]) for place in places)]))
    changes = [_by_path(next(seen)) if place else {} for place in forks.places]
    return _Ground(
        git=room.git,
        repo=room.repo,
        target=target,
        branches=[replace(one, paths=len(changed)) for one, changed in zip(branches, changes, strict=True)],
        forks=forks,
        changes=changes,
        since={place: _by_path(next(seen)) for place in places},
    )


def _look_at_each(
    site: Site,
    ground: _Ground,
    asked: Asked,
    known: Mapping[str, Candidate],
    merged: Mapping[int, Oid | None],
) -> tuple[Branch, ...]:
    """Say of each branch what it changes of its checks, and what would hold it; ``merged`` is it with the target."""
    from gitprun.merge.barred import look_ahead

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
                held=hold.reason if hold is not None else "",
                accept=hold.accept if hold is not None else (),
            )
        )
    return tuple(looked)


def _by_path(changes: Sequence[Change]) -> _Changes:
    return {change.path: change for change in changes}


def _plan_pairs(ground: _Ground) -> list[tuple[int, int]]:
    """Choose the pairs to merge: those that can meet, and all of a branch that forks nowhere, or in several places.

    What a branch does to the target's newer commits is a matter between the two, not of another that has them.
    """
    forks = ground.forks
    reaches = {number: _reach(ground, number, ground.changes[number]) for number in range(len(forks.tips))}
    wanted = plan_meetings(reaches)
    for number, place in enumerate(forks.places):
        if place is None:
            wanted |= {(min(number, other), max(number, other)) for other in (TARGET, *reaches) if other != number}
    for place, changed in ground.since.items():
        here = {number: reaches[number] for number in reaches if forks.places[number] == place}
        met = plan_meetings({**here, TARGET: _reach(ground, TARGET, changed)})
        wanted |= {pair for pair in met if pair[0] == TARGET}
    return sorted(wanted - forks.stacked)


def _reach(ground: _Ground, side: int, changed: _Changes) -> Reach:
    removed = [change.path for change in changed.values() if change.removed]
    gone = frozenset(folder for folder in folders_left(removed) if not _has(ground.repo, ground.tip(side), folder))
    added = frozenset(path for path, change in changed.items() if change.added)
    # Two new migrations in one folder clash though they share no path.
    twins = _migration_folders(changed) if added else frozenset()
    return Reach(frozenset(changed) | twins, added, gone)


def _migration_folders(changed: _Changes) -> frozenset[bytes]:
    from gitprun.merge.audit import new_migrations

    return frozenset(folder + b"/" for folder in new_migrations(changed.values()).values())


def _has(repo: Objects, commit: Oid, folder: bytes) -> bool:
    """Tell whether a commit has a folder; a name that is no UTF-8 counts as gone, so that it is looked at."""
    try:
        return bool(repo[tree_of(repo, commit)][os.fsdecode(folder)])  # type: ignore[index]
    except (KeyError, UnicodeEncodeError):
        return False


def _meet(judge: Judge, ground: _Ground, pair: tuple[int, int], merge: TreeMerge | str) -> tuple[Meeting, Oid | None]:
    """Tell what two come to, and the tree they make together, where they make one."""
    one, other = pair if pair[0] != TARGET else (pair[1], TARGET)
    # The target is the side that is landed on.
    names = {ground.tip(number): ground.name(number) for number in pair}
    if isinstance(merge, str):
        problem = PathForecast(path="", kind="unmergeable", detail=merge)
        return Meeting(one=ground.name(one), other=ground.name(other), state="conflict", paths=(problem,)), None
    from gitprun.merge.judge import Sides

    place = ground.forks.places[pair[1]]
    if pair[0] == TARGET:
        main, one_base = (ground.since[place] if place else {}), place is not None
    else:
        main = ground.changes[pair[0]]
        one_base = merge.clean or has_one_base(ground.git, ground.repo, ground.forks, *pair)
    sides = Sides(
        base=tree_of(ground.repo, place or ground.tip(pair[0])),
        main=tree_of(ground.repo, ground.tip(pair[0])),
        unit=tree_of(ground.repo, ground.tip(pair[1])),
        by_main=main,
        by_unit=ground.changes[pair[1]],
        names=names,
        one_base=one_base,
    )
    state, paths, tree = judge.judge(merge, sides)
    return Meeting(one=ground.name(one), other=ground.name(other), state=state, paths=paths), tree

"""Where branches fork from a target, which of them build on each other, and what each alone has: read in one walk."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gitprun.git.command import Git
from gitprun.git.trees import Objects, read_bases
from gitprun.model.names import Oid, parse_oid

# Commits that the target does not have, with their parents.
New = Mapping[str, tuple[Oid, ...]]


@dataclass(frozen=True, slots=True)
class MergeBases:
    """Branches by their place in the list.

    ``places`` holds the one merge base of each with the target (None: there are several, or none), ``stacked`` the
    pairs of which one branch contains the other, ``shared`` those with a commit in common that the target lacks.
    """

    tips: Sequence[Oid]
    places: Sequence[Oid | None]
    stacked: frozenset[tuple[int, int]]
    shared: frozenset[tuple[int, int]]


def find_forks(git: Git, dag: New, tips: Sequence[Oid]) -> MergeBases:
    """Find where distinct tips, none of which is in the target, fork from it; ``dag`` is what it lacks."""
    own = [_reach(dag, tip) for tip in tips]
    places = [_fork_of(git, dag, commits) for commits in own]
    number_of = {tip: number for number, tip in enumerate(tips)}
    by_commit: dict[str, list[int]] = {}
    stacked: set[tuple[int, int]] = set()
    for number, commits in enumerate(own):
        for commit in commits:
            by_commit.setdefault(commit, []).append(number)
            inner = number_of.get(Oid(commit), number)
            if inner != number:
                stacked.add((min(inner, number), max(inner, number)))
    # Branches that share one commit mostly share many: each group once, not once for each of its commits.
    crowds = {tuple(numbers) for numbers in by_commit.values() if len(numbers) > 1}
    shared = {(one, other) for crowd in crowds for one in crowd for other in crowd if one < other}
    return MergeBases(tips, places, frozenset(stacked), frozenset(shared))


def bases_of(git: Git, repo: Objects, forks: MergeBases, one: int, other: int) -> tuple[Oid, ...]:
    """Return all merge bases of two branches; git is asked only where their forks do not tell."""
    first, second = forks.places[one], forks.places[other]
    if first and second and (one, other) not in forks.shared:
        # Of two places in one line the older one is all that both have.
        if first == second or repo.descendant_of(second, first):
            return (first,)
        if repo.descendant_of(first, second):
            return (second,)
    return read_bases(git, repo, forks.tips[one], forks.tips[other])


def read_new(git: Git, target: Oid, tips: Sequence[Oid]) -> New:
    """Read the commits that the target does not have, with their parents."""
    if not tips:
        return {}
    # By stdin: the ids of a thousand branches may not fit on a command line.
    asked = "".join(f"{tip}\n" for tip in (*tips, f"^{target}"))
    listing = git.run("rev-list", "--parents", "--stdin", stdin=asked.encode()).text
    rows = (line.split(" ") for line in listing.split("\n"))
    return {commit: tuple(map(Oid, parents)) for commit, *parents in rows if commit}


def _reach(dag: New, tip: Oid) -> frozenset[str]:
    """Return a tip and what it builds on, as far as the target has none of it."""
    # By a list: a chain of thousands of commits is deeper than Python recurses.
    seen, waiting = set[str](), [tip]
    while waiting:
        commit = waiting.pop()
        if commit in dag and commit not in seen:
            seen.add(commit)
            waiting += dag[commit]
    return frozenset(seen)


def _fork_of(git: Git, dag: New, commits: frozenset[str]) -> Oid | None:
    """Return the one commit of the target's history that a branch builds on; None if there are several, or none."""
    places = {parent for commit in commits for parent in dag.get(commit, ()) if parent not in dag}
    if len(places) > 1:
        # One that merged the target now and then builds on the last of them.
        places = {parse_oid(row) for row in git.run("merge-base", "--independent", *sorted(places)).text.split()}
    return places.pop() if len(places) == 1 else None


class Ancestry:
    """The commits that branches (``tips``) have and a target has not."""

    def __init__(self, git: Git, repo: Objects, target: Oid, tips: Sequence[Oid]) -> None:
        self.git, self.repo = git, repo
        self._target, self._tips = target, list(dict.fromkeys(tips))

    # Looked at when somebody asks: a forecast seldom does.
    @functools.cached_property
    def _parents(self) -> New:
        return read_new(self.git, self._target, self._tips)

    @functools.cached_property
    def _own(self) -> dict[Oid, frozenset[str]]:
        return {tip: _reach(self._parents, tip) for tip in self._tips}

    @functools.cached_property
    def _owners(self) -> Counter[str]:
        return Counter(commit for own in self._own.values() for commit in own)

    def bases(self, tip: Oid, unit: Oid) -> tuple[Oid, ...]:
        """List the best common ancestors of a branch and a train that left from the target; none: unrelated."""
        own = self._own.get(unit, frozenset())
        # Else a branch before it in the train may have brought some of its commits.
        if own and all(self._owners[commit] == 1 for commit in own):
            # Nothing of it can have come in with another branch: it joins the train where it left the target.
            places = self.places(unit)
            if len(places) == 1:
                return tuple(places)
        return read_bases(self.git, self.repo, tip, unit)

    def places(self, unit: Oid) -> frozenset[Oid]:
        """Name the commits of the target's history that a branch goes on from: itself, where it has no other."""
        own = self._own.get(unit, frozenset())
        found = {parent for commit in own for parent in self._parents[commit] if parent not in own}
        return frozenset(found if own else {unit})

    def contained(self) -> set[tuple[Oid, Oid]]:
        """List the pairs (ancestor, descendant) among the branches; those the target has already are of no account."""
        return {
            (Oid(one), Oid(other))
            for other, own in self._own.items()
            for one in own
            if one != other and one in self._own
        }

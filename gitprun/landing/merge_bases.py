"""Where branches fork from a target, and which of them build on each other: one walk over what the target lacks."""

from __future__ import annotations

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
    asked = "".join(f"{tip}\n" for tip in (*tips, f"^{target}"))
    listing = git.run("rev-list", "--parents", "--stdin", stdin=asked.encode()).text
    rows = (line.split(" ") for line in listing.split("\n"))
    return {commit: tuple(map(Oid, parents)) for commit, *parents in rows if commit}


def _reach(dag: New, tip: Oid) -> frozenset[str]:
    seen, queue = {str(tip)}, [tip]
    while queue:
        for parent in dag.get(queue.pop(), ()):
            if parent in dag and parent not in seen:
                seen.add(parent)
                queue.append(parent)
    return frozenset(seen)


def _fork_of(git: Git, dag: New, commits: frozenset[str]) -> Oid | None:
    """Give the one commit of the target's history that a branch builds on; None if there are several, or none."""
    places = {parent for commit in commits for parent in dag.get(commit, ()) if parent not in dag}
    if len(places) > 1:
        # One that merged the target now and then builds on the last of them.
        places = {parse_oid(row) for row in git.run("merge-base", "--independent", *sorted(places)).text.split()}
    return places.pop() if len(places) == 1 else None

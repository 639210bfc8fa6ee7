"""Who descends from whom among the branches of a landing: one look at what the target does not have."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Mapping, Sequence

from gitprun.git.command import Git
from gitprun.git.trees import Objects, read_bases
from gitprun.model.names import Oid


class Ancestry:
    """The commits that branches (``tips``) have and a target has not."""

    def __init__(self, git: Git, repo: Objects, target: Oid, tips: Sequence[Oid]) -> None:
        self.git, self.repo = git, repo
        self._target, self._tips = target, list(dict.fromkeys(tips))

    # Looked at when somebody asks: a forecast seldom does.
    @functools.cached_property
    def _parents(self) -> Mapping[str, Sequence[str]]:
        return _read_parents(self.git, self._target, self._tips)

    @functools.cached_property
    def _own(self) -> dict[Oid, frozenset[str]]:
        return {tip: self._reach(tip) for tip in self._tips}

    @functools.cached_property
    def _owners(self) -> Counter[str]:
        return Counter(commit for own in self._own.values() for commit in own)

    def _reach(self, tip: str) -> frozenset[str]:
        seen, waiting = set[str](), [tip]
        while waiting:
            commit = waiting.pop()
            if commit in self._parents and commit not in seen:
                seen.add(commit)
                waiting += self._parents[commit]
        return frozenset(seen)

    def bases(self, tip: Oid, unit: Oid) -> tuple[Oid, ...]:
        """List the best common ancestors of a branch and a train that left from the target; none: unrelated."""
        own = self._own.get(unit, frozenset())
        if own and all(self._owners[commit] == 1 for commit in own):
            # Nothing of it can have come in with another branch: it joins the train where it left the target.
            places = self.places(unit)
            if len(places) == 1:
                return tuple(places)
        return read_bases(self.git, self.repo, tip, unit)

    def places(self, unit: Oid) -> frozenset[Oid]:
        """Name the commits of the target's history that a branch goes on from: itself, where it has no other."""
        own = self._own.get(unit, frozenset())
        found = {Oid(parent) for commit in own for parent in self._parents[commit] if parent not in own}
        return frozenset(found if own else {unit})

    def contained(self) -> set[tuple[Oid, Oid]]:
        """List the pairs (ancestor, descendant) among the branches; those the target has already are of no account."""
        return {
            (Oid(one), Oid(other))
            for other, own in self._own.items()
            for one in own
            if one != other and one in self._own
        }


def _read_parents(git: Git, target: Oid, tips: Sequence[Oid]) -> Mapping[str, Sequence[str]]:
    if not tips:
        return {}
    asked = "".join(f"{tip}\n" for tip in (*tips, f"^{target}"))
    rows = git.run("rev-list", "--parents", "--stdin", stdin=asked.encode()).text.splitlines()
    return {commit: parents for commit, *parents in (row.split(" ") for row in rows)}

"""Landed work of a branch that its target took back again: for git it is in, so what is new on the branch lands alone.

What was taken back is found by the ledger, by the line that ``git revert`` writes, and by content: a commit of the
target that changes exactly the other way round what a merge of the branch had changed.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

from gitprun.git.trees import ABSENT, TreeChange, show_path, tree_of
from gitprun.landing.past import Chain, Past, Version, is_inverse, reverted_commits
from gitprun.landing.undo_plan import TakenOut
from gitprun.model.lists import listed
from gitprun.model.names import Oid, short

# So many commits of a branch that its target has are looked at. One with more is a main line itself.
MOST_OWN = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """A branch that asks to land: it joins the history of the target (a commit, and its full ref) at ``places``.

    ``ledger`` is what the ledger says was taken back, or brought back, in order.
    """

    name: str
    tip: Oid
    target: Oid
    ref: str
    places: Collection[Oid]
    ledger: Sequence[TakenOut] = ()


@dataclass(frozen=True, slots=True)
class Reverted:
    """A commit (a merge, mostly) that brought work of a branch, the one that took it back, and what is missing."""

    commit: Oid
    by: Oid
    paths: tuple[str, ...]

    def __str__(self) -> str:
        return f"{short(self.by)} took {short(self.commit)} back, so that {listed(self.paths)} would stay away"


def find_reverted(past: Past, branch: Asking) -> Reverted | None:
    """Find work of a branch that the target has in its history and took back since; None if there is none.

    What the branch itself knows of (it has the commit that took it back) is its own decision. So is what was brought
    back since, or is there in another way.
    """
    chain = past.chain(branch.target, branch.places)
    # The target has nothing that the branch has not: nothing can have been taken back.
    if not chain.newer:
        return None
    own = _landed(past, branch, chain)
    line = past.line(branch.target) if own else {}
    # A merge whose second parent is the branch's own commit brought it in.
    merges = {commit for commit, parents in line.items() if not own.isdisjoint(parents[1:])}
    merges |= _of_its_name(past, branch, chain)
    taken = _follow(past, branch, chain, own, merges) if own or merges else {}
    for commit, by in taken.items():
        paths = tuple(show_path(path) for path in _missing(past, branch, commit))
        if paths:
            return Reverted(commit, by, paths)
    return None


def _landed(past: Past, branch: Asking, chain: Chain) -> set[Oid]:
    """Return the commits of a branch's own that the target has, reached by no first-parent commit of the target."""
    # It left the target's own line and was never merged: nothing of it has landed.
    if set(branch.places) == {chain.joint}:
        return set()
    line = past.line(branch.target)
    found, waiting = set[Oid](), list(branch.places)
    while waiting and len(found) < MOST_OWN:
        commit = waiting.pop()
        if commit not in found and commit not in line:
            found.add(commit)
            waiting += past.parents(commit)
    return found


def _of_its_name(past: Past, branch: Asking, chain: Chain) -> set[Oid]:
    """Return the merges that a branch has since it was moved on to them (then they are where it left), by its name.

    Those of other names are what it was built on, as any branch is.
    """
    rows = [row for row in branch.ledger if row.branch == branch.name and row.target == branch.ref]
    ids = {name for _, message in past.messages(branch.target, branch.places) for name in reverted_commits(message)}
    if not branch.name or (not rows and not ids):
        return set()
    # The whole name: "fix" stands in the subject of "fix-2" and of "hotfix", too.
    named = re.compile(rf"(?<![\w.-]){re.escape(branch.name)}(?![\w./-])")
    found = set()
    for commit, parents in past.line(branch.target).items():
        if commit in chain.newer or len(parents) < 2:
            continue
        said = any(commit.startswith(one) for one in ids) and named.search(past.message(commit).partition("\n")[0])
        if said or any(row.commit == commit for row in rows):
            found.add(commit)
    return found


def _follow(past: Past, branch: Asking, chain: Chain, own: set[Oid], merges: set[Oid]) -> dict[Oid, Oid]:
    """Go through what the target has and the branch has not, oldest first; returns what is taken back in the end."""
    brought = own | merges
    ledger = {row.by: (Oid(row.commit), not row.redone) for row in branch.ledger if row.target == branch.ref}
    steps, newer = [past.step(commit) for commit in merges], {*chain.newer}
    taken: dict[Oid, Oid] = {}
    effects: dict[Oid, tuple[Oid, bool]] = {}
    for commit, message in past.messages(branch.target, branch.places):
        effect = ledger.get(commit)
        for name in reverted_commits(message) if effect is None else ():
            # A message may cut the id short, by hand or by a server.
            whole = next((one for one in brought if one.startswith(name)), None)
            # The revert of a revert brings back what the first one took.
            turned = next((effects[one] for one in effects if one.startswith(name)), None)
            effect = (whole, True) if whole else (turned[0], not turned[1]) if turned else effect
        if effect is None and commit in newer:
            step = past.step(commit)
            effect = next(((one.commit, True) for one in steps if is_inverse(step, one)), None)
            # The same change once more (picked, or applied by hand) settles it as well.
            again = ((one.commit, False) for one in steps if one.commit in taken and step.changes == one.changes)
            effect = effect or next(again, None)
        if commit in merges:
            # It was merged again since, as it was then: whoever did so settled it.
            taken.clear()
        if effect is not None and effect[0] in brought:
            effects[commit] = effect
            taken.pop(effect[0], None)
            if effect[1]:
                taken[effect[0]] = commit
    return taken


def _missing(past: Past, branch: Asking, commit: Oid) -> Iterator[bytes]:
    """List the files of which the branch has more than the version from before a commit, and the target no such."""
    trees, repo = past.trees, past.trees.repo
    there, own = tree_of(repo, branch.target), tree_of(repo, branch.tip)
    for change in past.step(commit).changes:
        now, mine = trees.find(there, change.path), trees.find(own, change.path)
        old, new = ((mode, oid) if mode != ABSENT else None for mode, oid in _versions(change))
        # There in either form nothing is missing; and what the branch has not either is not its to miss.
        if now not in (mine, new) and mine != old:
            yield change.path


def _versions(change: TreeChange) -> tuple[Version, Version]:
    return (change.old_mode, change.old), (change.new_mode, change.new)

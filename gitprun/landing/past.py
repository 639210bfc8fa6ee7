"""What the last commits of a target did, one first parent after the other, and which of them a branch has."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gitprun.git.command import Git
from gitprun.git.trees import TreeChange, parents_of, tree_of
from gitprun.git.walk import Trees
from gitprun.model.errors import PrunError
from gitprun.model.names import Oid

# How far back the work of others is looked for: the trees of each commit and its parent have to be compared.
MOST = 300
# A branch seldom is further behind; beyond that nobody waits for the answer.
FURTHEST = 20_000
# Ten times MOST: each step holds all that its commit changed, and a forecast asks about many branches.
_KEPT = 3_000


@dataclass(frozen=True, slots=True)
class Chain:
    """The first-parent commits of a target, newest first: those a branch has not, and the first that it has."""

    newer: tuple[Oid, ...]
    joint: Oid | None


class Past:
    """The first-parent history of targets; what was read is remembered, since many branches left at one place."""

    def __init__(self, git: Git, trees: Trees) -> None:
        self.git, self.trees = git, trees
        self._chains: dict[tuple[Oid, frozenset[Oid]], Chain] = {}
        self._rows: dict[Oid, list[tuple[Oid, Oid]]] = {}
        self._steps: dict[Oid, FirstParentStep] = {}
        self._messages: dict[tuple[Oid, frozenset[Oid]], list[tuple[Oid, str]]] = {}
        self._lines: dict[Oid, dict[Oid, tuple[Oid, ...]]] = {}

    def chain(self, target: Oid, known: Collection[Oid]) -> Chain:
        """Split the first-parent commits of a target by whether they are in the history of ``known``."""
        if target in known:
            return Chain((), target)
        key = target, frozenset(known)
        if key not in self._chains:
            rows = self._list("--parents", target, *(f"^{one}" for one in sorted(known)))
            # The oldest commit the branch lacks has the first one that it has as its parent.
            joint = Oid(rows[-1][1]) if rows and len(rows[-1]) > 1 else None
            self._chains[key] = Chain(tuple(Oid(row[0]) for row in rows), joint)
        return self._chains[key]

    def line(self, target: Oid) -> dict[Oid, tuple[Oid, ...]]:
        """Return all first-parent commits of a target with their parents, newest first."""
        if target not in self._lines:
            rows = self._list("--parents", f"--max-count={FURTHEST}", target)
            self._lines[target] = {Oid(commit): tuple(map(Oid, parents)) for commit, *parents in rows}
        return self._lines[target]

    def messages(self, target: Oid, known: Collection[Oid]) -> list[tuple[Oid, str]]:
        """Return all commits that a target has and ``known`` have not, oldest first, with their messages."""
        key = target, frozenset(known)
        if key not in self._messages:
            # Between NULs, for a message may hold anything else.
            words = ("--topo-order", "--reverse", "-z", "--no-show-signature", "--format=%H%n%B")
            rows = self.git.run("log", *words, target, *(f"^{one}" for one in sorted(known))).text.split("\0")
            parts = (row.partition("\n") for row in rows if row)
            self._messages[key] = [(Oid(commit), message) for commit, _, message in parts]
        return self._messages[key]

    def message(self, commit: Oid) -> str:
        """Return what the message of a commit says."""
        return self.git.run("log", "-1", "--no-show-signature", "--format=%B", commit).text

    def steps(self, start: Oid) -> tuple[FirstParentStep, ...]:
        """Return the last steps that led to a commit, newest first; one without a parent is none."""
        if start not in self._rows:
            words = (f"--max-count={MOST + 1}", "--no-commit-header", "--format=%H %T")
            self._rows[start] = [(Oid(commit), Oid(tree)) for commit, tree in self._list(*words, start)]
        rows = self._rows[start]
        pairs = [(commit, old, new) for (commit, new), (_, old) in pairwise(rows)]
        wanted = [(old, new) for commit, old, new in pairs if commit not in self._steps]
        if wanted:
            self.trees.read_ahead(wanted)
        return tuple(self._step(*pair) for pair in pairs)

    def step(self, commit: Oid) -> FirstParentStep:
        """Return what one commit changed of its first parent; of one without, nothing is known."""
        parents = self.parents(commit)
        if not parents:
            return FirstParentStep(commit, ())
        try:
            return self._step(commit, tree_of(self.trees.repo, parents[0]), tree_of(self.trees.repo, commit))
        except (PrunError, KeyError):
            return FirstParentStep(commit, ())

    def parents(self, commit: Oid) -> tuple[Oid, ...]:
        """Return the parents of a commit; of one that a shallow history does not hold, nothing is known."""
        try:
            return parents_of(self.trees.repo, commit)
        except (PrunError, KeyError):
            return ()

    def between(self, joint: Oid, first: str) -> Sequence[Oid]:
        """Return the first-parent commits up to ``joint`` that the history of ``first`` has not, newest first.

        None where that commit is not there any more.
        """
        if first == joint:
            return ()
        return self.chain(joint, (Oid(first),)).newer

    def _step(self, commit: Oid, old: Oid, new: Oid) -> FirstParentStep:
        found = self._steps.get(commit)
        if found is None:
            if len(self._steps) >= _KEPT:
                # All at once: a walk goes on from where it is, so what is old is seldom asked again.
                self._steps.clear()
            found = self._steps[commit] = FirstParentStep(commit, self.trees.compare(old, new))
        return found

    def _list(self, *words: str) -> list[list[str]]:
        # A commit that a reflog names may be gone.
        answer = self.git.run("rev-list", "--first-parent", *words, ok=(0, 128))
        return [row.split(" ") for row in answer.text.splitlines()] if answer.code == 0 else []


# Git itself shortens ids to seven digits or more; shorter ones may be words.
_ID = re.compile(r"\b[0-9a-f]{7,40}\b")
# Whole words and their forms: "background" and "undone work" speak of something else.
_WORD = re.compile(r"\b(?:revert|back(?:s|ed|ing)? ?out\b|roll(?:s|ed|ing)? ?back\b|undo(?:es|ing)?\b)", re.IGNORECASE)
# Git's own sentence, and the server's: both write it so.
_REVERTS = re.compile(r"This reverts commit ([0-9a-f]{7,40})")
# Mode and object id of a path.
Version = tuple[str, Oid]


@dataclass(frozen=True, slots=True)
class FirstParentStep:
    """One first-parent commit of a target, and what it changed."""

    commit: Oid
    changes: tuple[TreeChange, ...]


@dataclass(frozen=True, slots=True)
class Reversal:
    """The paths of one step to which a branch gives the version from before it.

    ``whole`` says that these are all the step modified or deleted, or all that it added where it did nothing else.
    """

    commit: Oid
    paths: tuple[bytes, ...]
    whole: bool


def find_reversals(steps: Iterable[FirstParentStep], given: Mapping[bytes, Version]) -> tuple[Reversal, ...]:
    """Find the steps of which a branch takes something back; ``given`` are the versions of all paths it changed."""
    found = []
    for step in steps:
        paths = tuple(one.path for one in step.changes if given.get(one.path) == (one.old_mode, one.old))
        if not paths:
            continue
        # Who takes back a change mostly leaves the files it added alone, or deletes them for other reasons.
        weighty = [one.path for one in step.changes if not one.added] or [one.path for one in step.changes]
        found.append(Reversal(step.commit, paths, set(weighty) <= set(paths)))
    return tuple(found)


def is_inverse(step: FirstParentStep, other: FirstParentStep) -> bool:
    """Check whether a step takes back exactly what another one did."""
    return bool(step.changes) and step.changes == tuple(map(_turned, other.changes))


def _turned(change: TreeChange) -> TreeChange:
    return TreeChange(change.path, change.new_mode, change.old_mode, change.new, change.old)


def names_commit(message: str, commit: str) -> bool:
    """Check whether a message names a commit by its id."""
    return any(commit.startswith(found) for found in _ID.findall(message))


def speaks_of_reverting(message: str) -> bool:
    """Check whether a message says that something is taken back."""
    return _WORD.search(message) is not None


def reverted_commits(message: str) -> list[str]:
    """Return the ids (or beginnings of them) of the commits a message says it reverts, as git words it."""
    return _REVERTS.findall(message)

"""What of a target's steps a branch takes back, and whether it says so; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from gitprun.git.trees import TreeChange
from gitprun.model.names import Oid

_ID = re.compile(r"\b[0-9a-f]{7,40}\b")
_WORD = re.compile(r"\b(?:revert|back(?:s|ed|ing)? ?out\b|roll(?:s|ed|ing)? ?back\b|undo(?:es|ing)?\b)", re.IGNORECASE)
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

"""What a merge comes to, and what is found of each path: settled, in conflict, or suspect; as values."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal


class MergeState(StrEnum):
    """What a merge comes to, of a file or of a whole tree; the values are the words that forecasts print.

    CLEAN: git merges it, and nothing is wrong with that. UNITED: each conflict has a resolver, or a resolver made
    another text where git's was faulty. SUSPECT: there is a text, and something is wrong with it that neither side
    has. CONFLICT: a person has to decide.
    """

    CLEAN = "clean"
    UNITED = "settled"
    SUSPECT = "suspect"
    CONFLICT = "conflict"

    @property
    def lands(self) -> bool:
        """Check whether it lands without a person."""
        return self in (MergeState.CLEAN, MergeState.UNITED)


# What comes of a branch that asks to land.
LandedState = Literal[
    "landed",
    "would-land",
    "conflict",
    "already-contained",
    "nothing-to-merge",
    "unrelated",
    "unverified",
    "red",
    "refused",
    "empty",
    "suspect",
    "drops",
    "held",
    "not-tried",
]
# What keeps nobody waiting: it is in, or there was nothing to bring in.
IN_PLACE: tuple[LandedState, ...] = ("landed", "would-land", "already-contained", "nothing-to-merge")

# The kind of a conflict that a branch brings along: no merge of it opens anything.
UNRESOLVED = "unresolved in jj"


# The word for every finding, where findings are accepted by name.
EVERY_FINDING = ("all", ".")


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspect:
    """One path that was merged without a conflict, and what is wrong with it that neither side has.

    ``path`` is empty where the branch as a whole is suspect. ``mend`` says what would mend it by the letter, where
    anything would: no proof, but what the checks may be asked about.
    """

    path: str
    reason: str
    mend: str = ""

    def __str__(self) -> str:
        return f"{self.path}: {self.reason}" if self.path else self.reason


def are_mendable(suspects: Sequence[Suspect]) -> bool:
    """Check whether all that is suspect of a merge has a mend."""
    return bool(suspects) and all(one.mend for one in suspects)


@dataclass(frozen=True, slots=True)
class Compared:
    """What compilers say of a merge and of neither side, the tools that looked at it, and why others did not."""

    suspects: tuple[Suspect, ...] = ()
    asked: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()


def accepts(allowed: Collection[str], suspect: Suspect) -> bool:
    """Check whether a finding was accepted: by its path, word for word as it is printed, or with all others."""
    return any(word in (suspect.path or suspect.reason, str(suspect), *EVERY_FINDING) for word in allowed)


def describe_suspects(suspects: Sequence[Suspect]) -> str:
    """Return what is suspect in a line: the first finding, and how many more there are."""
    more = len(suspects) - 1
    return f"{suspects[0]}" + (f" (and {more} more)" if more else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class ConflictPath:
    """One path git could not merge: the kind of conflict, and git's own words.

    ``reason`` says why nothing settled it. Where it is empty ``resolver`` names what would, and the path is only left
    because another one of its branch could not be settled.
    """

    path: str
    kind: str
    detail: str
    resolver: str = ""
    reason: str = ""

    @property
    def would_settle(self) -> bool:
        """Check whether it would be settled if it were the only one."""
        return bool(self.resolver)


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedPath:
    """One conflicted path a resolver settled: the lines it brought to the main side, and those it dropped."""

    path: str
    resolver: str
    added: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()


# Why a unit is not proved, where asking its checks again may help.
CHECK_AGAIN = ("its checks could not run", "it was never verified")

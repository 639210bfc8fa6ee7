"""What is published of a look ahead: what a landing would meet."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gitprun.api.schema import OPTIONAL

ForecastState = Literal["clean", "settled", "suspect", "conflict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastPath:
    """A path at which two branches meet: ``resolver`` names who would settle it, else ``reasons`` say why nobody does.

    ``dropped`` counts the lines that a policy would leave out.
    """

    path: str
    kind: str
    detail: str
    resolver: str
    reasons: tuple[str, ...]
    dropped: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastPair:
    """What becomes of two branches (``other`` may be the target) if both land."""

    one: str
    other: str
    state: ForecastState
    paths: tuple[ForecastPath, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastBranch:
    """One branch of a forecast; ``live``: it is work not committed yet, ``paths`` is how many it changes.

    ``gate`` says what it changes of its own checks, ``named`` what may start programs elsewhere, ``suspect``,
    ``refused`` and ``held`` why a landing would not take it, ``accept`` what would have to be accepted then and
    ``accept_flags`` the options of ``git prun merge`` that do.
    """

    name: str
    tip: str
    run: str
    unit: str
    live: bool
    paths: int
    gate: str
    named: str
    suspect: str
    refused: str
    held: str
    accept: tuple[str, ...]
    accept_flags: str = field(default="", metadata=OPTIONAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class NameReason:
    """What was not looked at, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ForecastCounts:
    """How many pairs there are, how many were merged to see, how many have nothing in common, and how they fare."""

    pairs: int
    compared: int
    pruned: int
    suspect: int
    conflict: int
    settled: int
    clean: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingForecast:
    """What would happen if branches landed on ``target``.

    ``pairs`` were merged to see, ``against`` meet the target's own changes; ``order`` is the one in which most lands.
    """

    target: str
    tip: str
    branches: tuple[ForecastBranch, ...]
    pairs: tuple[ForecastPair, ...]
    against: tuple[ForecastPair, ...]
    order: tuple[str, ...]
    left_out: tuple[NameReason, ...]
    counts: ForecastCounts

    @property
    def bad(self) -> tuple[ForecastPair, ...]:
        """Return the pairs that no resolver settles, those with the target first."""
        return tuple(one for one in (*self.against, *self.pairs) if one.state in ("suspect", "conflict"))

    @property
    def good(self) -> bool:
        """Check whether all of it would land."""
        return not self.bad and not any(one.held or one.suspect or one.refused for one in self.branches)

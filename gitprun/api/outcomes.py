"""What is published of acting on runs and units: reviewing, stopping, checking again, capturing again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gitprun.api.details import TrustTouch
from gitprun.api.rows import PathReason
from gitprun.api.schema import OPTIONAL, PRIVATE

ResultState = Literal["valid", "invalid", "fallback", "missing", "pending"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewedResult:
    """What became of one unit's result file: ``reason`` says why it cannot be used, ``state_dir`` holds its traces."""

    run: str
    unit: str
    state: str
    result: ResultState
    reason: str
    state_dir: str
    fields: Mapping[str, str]
    claims: tuple[str, ...]
    outside: tuple[str, ...]
    trust: tuple[TrustTouch, ...] = field(default=(), metadata=OPTIONAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reconciled:
    """Whether every unit of a run has a result of its own that follows the contract."""

    run: str
    complete: bool
    units: tuple[ReviewedResult, ...]

    @property
    def incomplete(self) -> tuple[ReviewedResult, ...]:
        """Return the units that have none."""
        return tuple(unit for unit in self.units if unit.result != "valid")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stopped:
    """What was asked to stop, and whether it has ended: ``states`` are those of its units by now.

    ``coordinated`` is false where the process of the run was gone, so that its workers were ended instead.
    """

    run: str
    unit: str | None
    coordinated: bool
    kill: bool
    ended: bool
    states: Mapping[str, str]

    @property
    def name(self) -> str:
        """Return what ``git prun stop`` takes it by."""
        return f"{self.run}/{self.unit}" if self.unit else self.run


@dataclass(frozen=True, slots=True, kw_only=True)
class StateBefore:
    """What a unit was before its checks were run again."""

    state: str
    verdict: str


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitChecked:
    """What running the checks of one unit again came to; ``where`` is workspace or pristine, ``logs`` their output.

    Without ``recorded`` they were stopped, and the unit stays what it was.
    """

    run: str
    unit: str
    commit: str | None
    before: StateBefore
    state: str
    verdict: str
    reason: str
    where: Literal["workspace", "pristine"]
    recorded: bool
    logs: tuple[str, ...]
    notes: tuple[str, ...]
    why: str = field(default="", metadata=PRIVATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunChecked:
    """What running the checks of units of one run again came to."""

    run: str
    units: tuple[UnitChecked, ...]

    @property
    def passed(self) -> bool:
        """Check whether there was something to check, and all of it passed."""
        return bool(self.units) and all(unit.verdict == "pass" for unit in self.units)


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitChecked:
    """What the checks say of one commit in a pristine place; nothing of it is written down."""

    name: str
    commit: str
    verdict: str
    reason: str
    logs: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def passed(self) -> bool:
        """Check whether all checks passed."""
        return self.verdict == "pass"


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMessage:
    """What a compiler or linter says of a merge and of neither parent: the path, and its words after its name."""

    path: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeCompared:
    """What tools say of one branch merged with the target, and of neither: ``tools`` are those that were asked.

    ``verdict`` is ``pass`` (nothing), ``fail``, ``could-not-run`` (``reason`` says why nobody knows), or ``absent``:
    there is no language of which both sides changed files.
    """

    branch: str
    commit: str
    verdict: str
    reason: str
    tools: tuple[str, ...]
    messages: tuple[NewMessage, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DifferenceChecked:
    """What tools say of branches merged with ``target``, each by itself; nothing of it is written down."""

    target: str
    branches: tuple[MergeCompared, ...]

    @property
    def passed(self) -> bool:
        """Check whether there is nothing new, as far as both sides changed files of one language."""
        return all(one.verdict in ("pass", "absent") for one in self.branches)


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What capturing a unit once more brought: the new commit and the one before, which ``kept`` pins now."""

    run: str
    unit: str
    commit: str | None
    before: str | None
    state: str
    kept: str
    brought: tuple[str, ...]
    stays_out: tuple[PathReason, ...]
    reason: str = field(default="", metadata=PRIVATE)

    @property
    def name(self) -> str:
        """Return what every command takes the unit by."""
        return f"{self.run}/{self.unit}"

"""What is published of landings: what landed, what did not and why."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gitprun.api.schema import OPTIONAL, PRIVATE

if TYPE_CHECKING:
    from gitprun.api.details import CheckOutcome
    from gitprun.api.outcomes import ReviewedResult
    from gitprun.api.refusals import UnitReason
    from gitprun.model.findings import ConflictPath, LandedState, ResolvedPath, Suspect


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingVerdict:
    """What the checks said of the tree of a landing; ``confined`` names the walls they ran within, or ``none: why``."""

    state: str
    checks: tuple[CheckOutcome, ...]
    reason: str = ""
    confined: str = ""
    notes: tuple[str, ...] = ()
    gate: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LandedBranch:
    """What came of one branch: ``tip`` asked to land, ``commit`` is its merge commit (empty: there is none).

    ``accept`` is what of it would have to be accepted. ``next`` is the command that goes on with a branch that did not
    land, ``acceptance`` the one that lands it as it is, ``opens`` says that ``git prun resolve`` has something to open.
    """

    branch: str
    tip: str
    run: str
    unit: str
    state: LandedState
    commit: str = ""
    reason: str = ""
    conflicts: tuple[ConflictPath, ...] = ()
    resolved: tuple[ResolvedPath, ...] = ()
    suspects: tuple[Suspect, ...] = ()
    accept: tuple[str, ...] = ()
    verdict: LandingVerdict | None = field(default=None, metadata=OPTIONAL)
    next: str = field(default="", metadata=OPTIONAL)
    acceptance: str = field(default="", metadata=OPTIONAL)
    opens: bool = field(default=False, metadata=OPTIONAL)

    @property
    def name(self) -> str:
        """Return what every command takes it by."""
        return f"{self.run}/{self.unit}" if self.unit else self.branch

    @property
    def mendable(self) -> bool:
        """Check whether all that is suspect of it has a mend."""
        from gitprun.model.findings import are_mendable

        return self.state == "suspect" and are_mendable(self.suspects)


@dataclass(frozen=True, slots=True, kw_only=True)
class Landing:
    """What a landing did, or with a dry run would do: ``target`` (a full ref) went from ``old`` to ``new``.

    ``skipped`` are units that did not ask to land, ``without_result`` those of whole runs without a result of their
    own. ``all_in``: all that was asked for is in.
    """

    target: str
    old: str
    new: str
    items: tuple[LandedBranch, ...]
    verdict: LandingVerdict | None
    notes: tuple[str, ...]
    skipped: tuple[UnitReason, ...] = ()
    without_result: tuple[ReviewedResult, ...] = ()
    all_in: bool = True
    # Which of the notes only say how it went, and which were told before anything was moved.
    news: tuple[str, ...] = field(default=(), metadata=PRIVATE)
    ahead: tuple[str, ...] = field(default=(), metadata=PRIVATE)

    @property
    def landed(self) -> tuple[LandedBranch, ...]:
        """Return the branches that landed, or would."""
        return tuple(item for item in self.items if item.state in ("landed", "would-land"))

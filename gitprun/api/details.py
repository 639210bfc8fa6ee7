"""What is published of one unit looked at closely: its checks, what of its work was not taken, its result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from gitprun.api.rows import HeldStatus
from gitprun.api.schema import OPTIONAL, Json
from gitprun.api.values import UnitStatus

if TYPE_CHECKING:
    from gitprun.ledger.rows import CheckRow
    from gitprun.model.units import CheckResult


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckOutcome:
    """What one check said: ``state`` is pass, fail or could-not-run; it took ``seconds``, ``log`` is its output."""

    command: str
    state: str
    code: int | None = None
    seconds: float = 0.0
    log: str = ""
    reason: str = ""
    changed: tuple[str, ...] = ()
    flaky: bool = False


def check_outcomes(rows: Iterable[CheckRow | CheckResult]) -> tuple[CheckOutcome, ...]:
    """Copy what checks said, as the ledger has it or as they just ran."""
    return tuple(
        CheckOutcome(
            command=row.command,
            state=row.state,
            code=row.code,
            seconds=row.seconds,
            log=row.log or "",
            reason=row.reason,
            changed=row.changed,
            flaky=row.flaky,
        )
        for row in rows
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class RejectedCommit:
    """A commit of a worker that was not taken over; ``place`` is the folder that keeps it."""

    name: str
    oid: str
    reason: str
    place: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrustTouch:
    """A path that a unit changes and that may start programs: ``held`` here, or only ``named`` for elsewhere."""

    path: str
    what: str
    grade: Literal["held", "named"]


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitDetails(UnitStatus):
    """All that is known of one unit: what its last landing said, its result, the facts of the ledger as they are.

    ``path`` is where its workspace is or was, ``log`` its output, ``workspace_kind`` clone or worktree; ``checks`` are
    those of its verdict. ``changed`` lists its paths, ``own_commits`` what its worker committed itself, ``rejected``
    what of that was not taken over, ``linked`` what changed in the checkout through what is linked.
    """

    landing: HeldStatus | None = None
    trust: tuple[TrustTouch, ...] = ()
    facts: Mapping[str, Json] = field(default_factory=dict)
    result: str = ""
    path: str = field(default="", metadata=OPTIONAL)
    removed: bool = field(default=False, metadata=OPTIONAL)
    log: str = field(default="", metadata=OPTIONAL)
    workspace_kind: str = field(default="", metadata=OPTIONAL)
    checks: tuple[CheckOutcome, ...] = field(default=(), metadata=OPTIONAL)
    changed: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    linked: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    rejected: tuple[RejectedCommit, ...] = field(default=(), metadata=OPTIONAL)
    own_commits: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    check_notes: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    notes: tuple[str, ...] = field(default=(), metadata=OPTIONAL)

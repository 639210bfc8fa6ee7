"""What is published of runs and units: frozen values, which are the JSON documents of the same names too."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gitprun.api.schema import OPTIONAL
from gitprun.model.units import LIVE

if TYPE_CHECKING:
    from gitprun.api.rows import EarlierAttempt, HeldStatus, LeftOutPath, NamedStatus, PinnedRef, UnitDrift
    from gitprun.api.schema import Json


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerExit:
    """How a worker ended; ``words`` says it for people, ``seconds`` is how long it ran.

    ``leftovers`` counts the processes it left running, which were ended; ``survivors`` are those that would not end,
    ``unproved`` says why it is not known whether there are any; ``dropped`` counts the bytes of output too many.
    """

    words: str
    reason: str
    code: int | None
    signal: int | None
    seconds: float
    leftovers: int = 0
    survivors: tuple[int, ...] = ()
    unproved: str = ""
    dropped: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitStatus:
    """One unit of a run as it is now; times are seconds, ``age`` since its state began, ``until`` since 1970.

    ``reason`` says why it is in its ``state``, ``kind`` of what sort a failure was, ``hint`` how to go on.
    ``stalled`` is for how long nothing has come of its worker (null: something does), ``stall`` what it may wait for.
    ``verdict`` is empty before its checks ran. ``commit`` pins its work, which ``branch`` and ``ref`` name;
    ``workspace`` is the folder, null once it is removed. ``outside`` are paths changed outside of its own,
    ``gate`` what it changed of its checks, ``verify_changed`` the tracked files its checks rewrote, ``kept`` what is
    pinned beside the commit, ``claims`` where its result disagrees with what was found. ``drift`` is as the ledger
    has it, ``drift_shown`` the same in words. ``confined`` says within which walls its checks ran.
    """

    id: str
    run: str
    state: str
    reason: str = ""
    kind: str = ""
    attempt: int = 0
    earlier: tuple[EarlierAttempt, ...] = ()
    until: float | None = None
    stalled: float | None = None
    age: float = 0.0
    seconds: float | None = None
    executor: str | None = None
    mode: str | None = None
    files: int | None = None
    outside: tuple[str, ...] = ()
    left_out: tuple[LeftOutPath, ...] = ()
    fallback: bool | None = None
    drift: Json = None
    verdict: str = ""
    branch: str | None = None
    commit: str | None = None
    ref: str | None = None
    workspace: str | None = None
    claims: tuple[str, ...] = ()
    hint: str = field(default="", metadata=OPTIONAL)
    stall: str = field(default="", metadata=OPTIONAL)
    gate: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    verify_changed: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    result_problems: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    kept: tuple[PinnedRef, ...] = field(default=(), metadata=OPTIONAL)
    exit: WorkerExit | None = field(default=None, metadata=OPTIONAL)
    retry_after: float | None = field(default=None, metadata=OPTIONAL)
    reverted_by: str = field(default="", metadata=OPTIONAL)
    drift_shown: UnitDrift | None = field(default=None, metadata=OPTIONAL)
    confined: str = field(default="", metadata=OPTIONAL)

    @property
    def name(self) -> str:
        """Return what every command takes it by: ``RUN/UNIT``."""
        return f"{self.run}/{self.id}"

    @property
    def live(self) -> bool:
        """Check whether something is still to be done for it in its run."""
        return self.state in LIVE


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStatus:
    """One run with its units; ``started`` and ``ended`` are seconds since 1970, ``root`` the folder of workspaces."""

    run: str
    base: str
    started: float
    ended: float | None
    root: str | None
    units: tuple[UnitStatus, ...]

    @property
    def id(self) -> str:
        """Return the run's id."""
        return self.run


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Runs with their units, the user's own workspaces, and what the last landings held."""

    runs: tuple[RunStatus, ...]
    named: tuple[NamedStatus, ...] = field(default=(), metadata=OPTIONAL)
    held: tuple[HeldStatus, ...] = field(default=(), metadata=OPTIONAL)

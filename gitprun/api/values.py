"""What is published of runs and units: frozen values, which are the JSON documents of the same names too."""

from __future__ import annotations

from dataclasses import dataclass, field

from gitprun.api.schema import OPTIONAL, Json


@dataclass(frozen=True, slots=True, kw_only=True)
class PathReason:
    """A path, and what is to be said about it."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOutPath:
    """A path of a workspace that is in no commit, and why; ``size`` is in bytes."""

    path: str
    reason: str
    size: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedRef:
    """A ref below ``refs/prun/kept/`` and the commit it pins."""

    ref: str
    commit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierAttempt:
    """What an attempt before the last one came to; ``ref`` pins its ``commit``, ``folder`` holds its output."""

    attempt: int
    state: str
    reason: str = ""
    kind: str = ""
    ref: str | None = None
    folder: str = ""
    base: str = field(default="", metadata=OPTIONAL)
    commit: str = field(default="", metadata=OPTIONAL)


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
class UnitDrift:
    """What changed in the user's repository while a unit ran.

    ``holds``: the unit does not land before that is answered. ``sure``: it is known to have been its worker.
    ``shown``: it deserves a word in a list of units; ``text`` is that word, ``lines`` all of it.
    """

    text: str
    lines: tuple[str, ...] = ()
    holds: bool = False
    sure: bool = False
    shown: bool = False


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


# The states of units that are not over, in the order in which they are gone through.
LIVE = ("queued", "waiting", "preparing", "running", "collecting", "verifying")


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldStatus:
    """What the last landing said of a branch that did not land on ``target`` (a full ref).

    ``next`` is the command that goes on from here; ``moved`` says what moved since, so that it may be so no more.
    """

    branch: str
    name: str
    target: str
    state: str
    reason: str
    moved: str
    time: float
    command: str
    log: str
    findings: tuple[PathReason, ...]
    next: str

    @property
    def onto(self) -> str:
        """Return the short name of the target."""
        return self.target.removeprefix("refs/heads/")


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
class NamedStatus:
    """One workspace of the user's own (``git prun new``); ``age`` is in seconds since its state began."""

    name: str
    state: str
    reason: str
    age: float
    verdict: str
    path: str | None
    branch: str | None
    workspace: str | None
    base: str | None
    setup: str | None
    commit: str | None
    ref: str | None
    files: int | None
    outcome: str | None
    log: str | None
    left_out: tuple[LeftOutPath, ...] = field(default=(), metadata=OPTIONAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """Runs with their units, the user's own workspaces, and what the last landings held."""

    runs: tuple[RunStatus, ...]
    named: tuple[NamedStatus, ...] = field(default=(), metadata=OPTIONAL)
    held: tuple[HeldStatus, ...] = field(default=(), metadata=OPTIONAL)

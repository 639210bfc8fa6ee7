"""What values of units are made of: paths, attempts, pins, drift; workspaces of your own, branches that are held."""

from __future__ import annotations

from dataclasses import dataclass, field

from gitprun.api.schema import OPTIONAL


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

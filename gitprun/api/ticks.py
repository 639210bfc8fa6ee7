"""What is published of watching and waiting, line by line: ticks of the monitor, results that have landed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from gitprun.api.schema import PRIVATE


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorFlag:
    """One thing to know of a tick: ``text`` stands on the line, ``unit`` and ``about`` say more."""

    flag: str
    text: str
    unit: str | None
    about: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitoredUnit:
    """One unit of a tick: commits past its base, files that differ from there, seconds since it last did anything."""

    run: str
    unit: str
    state: str
    commits: int | None
    dirty: int | None
    quiet: float


@dataclass(frozen=True, slots=True, kw_only=True)
class MonitorTick:
    """One look at what is at work; ``time`` is in seconds since 1970, ``line`` the same for people.

    ``procs`` counts living workers (``codex``) and supervisors with coordinators (``wrap``), ``commits`` those of the
    main branch and of all units, ``streak`` the ticks with this ``note``.
    """

    time: float
    base: str
    procs: Mapping[str, int]
    commits: Mapping[str, int | None]
    note: str
    streak: int
    flags: tuple[MonitorFlag, ...]
    units: tuple[MonitoredUnit, ...]
    line: str
    headline: str = field(default="", metadata=PRIVATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherStart:
    """Waiting begins: for how many result files, and for how many seconds at most."""

    event: Literal["start"] = "start"
    count: int
    timeout: float


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherDone:
    """A result file has landed; ``certain``: its writer is known to have ended, not only that it is quiet."""

    event: Literal["done"] = "done"
    path: str
    unit: str
    fallback: bool
    valid: bool
    problems: tuple[str, ...]
    fields: Mapping[str, str]
    certain: bool
    state_dir: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GatherTimeout:
    """The time was up with so many result files missing."""

    event: Literal["timeout"] = "timeout"
    remaining: int

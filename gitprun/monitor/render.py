"""How ticks are written: one line each for people, one object each for programs."""

from __future__ import annotations

from datetime import UTC, datetime

from gitprun.ledger.roster import NAMED
from gitprun.observe.flags import Observation, Tick, UnitReading


def clock_time(time: float) -> str:
    """Write a time of day as ``HH:MM:SSZ``."""
    return datetime.fromtimestamp(time, UTC).strftime("%H:%M:%SZ")


def startup_line(now: float, baseline: str, interval: float, *, notify: bool) -> str:
    """Write the first line."""
    return f"[startup {clock_time(now)}] baseline={baseline} interval={interval:g}s notify={'on' if notify else 'off'}"


def shutdown_line(now: float, reason: str = "") -> str:
    """Write the last line."""
    return f"[shutdown {clock_time(now)}] monitor stopping" + (f": {reason}" if reason else "")


def tick_line(tick: Tick) -> str:
    """Write one tick."""
    summary = " ".join(f"{name}={_count(unit.commits)}c/{_dirty(unit)}d" for name, unit in named_units(tick.now))
    return f"{clock_time(tick.now.time)}  {headline(tick)}  :: {summary}".rstrip()


def headline(tick: Tick) -> str:
    """Write what a tick says beside its time and its units; parts are two blanks apart."""
    now = tick.now
    flags = f"[{','.join(flag.text for flag in tick.flags)}]" if tick.flags else ""
    # Programs read this line since the seed: its parts, their order and the two blanks stay.
    parts = (
        f"procs=codex:{now.codex}/wrap:{now.wrap}",
        f"commits=main:{_count(now.main_commits)}/all:{_count(now.all_commits)}",
        f"({tick.note})",
        flags,
    )
    return "  ".join(filter(None, parts))


def named_units(now: Observation) -> list[tuple[str, UnitReading]]:
    """Name the units; the run goes before the name where several runs have units."""
    # User workspaces belong to no run, so their names never need one.
    several = len({unit.run for unit in now.units} - {NAMED}) > 1
    return [(f"{unit.run}/{unit.id}" if several and unit.run != NAMED else unit.id, unit) for unit in now.units]


def _count(number: int | None) -> str:
    return "?" if number is None else str(number)


def _dirty(unit: UnitReading) -> str:
    # What could not be looked at is never shown as clean.
    return "?" if unit.dirty is None else str(len(unit.dirty))

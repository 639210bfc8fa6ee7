"""What is at work, looked at tick after tick; reads only: takes no lock, ends no process."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gitprun.api.opened import Opened
from gitprun.api.stopping import Stop
from gitprun.api.ticks import MonitoredUnit, MonitorFlag, MonitorTick

if TYPE_CHECKING:
    from gitprun.observe.flags import Tick

# Somebody may have started a run a moment ago: it says so in the ledger within a second, on a busy machine within ten.
AWAITED = 10.0
# A ledger that did not change is one stat: so often is no work, and nobody notices the delay.
LOOK_AGAIN = 0.1


@dataclass(frozen=True, slots=True, kw_only=True)
class WatchRequest:
    """What to watch: one ``run``, or (None) all that are at work.

    A flag is raised after ``streak`` ticks with the same note and after ``stalled_after`` quiet seconds. ``once``: one
    tick, compared with the start of the run; ``until_done``: none that ended is dropped.
    """

    run: str | None = None
    streak: int = 3
    stalled_after: float = 600.0
    once: bool = False
    until_done: bool = False


class Watcher:
    """Looks at what is at work; ``base`` is the commit that is compared with."""

    def __init__(self, opened: Opened, asked: WatchRequest) -> None:
        from gitprun.monitor.loop import Monitor, Watching
        from gitprun.observe.flags import FlagLimits

        limits = FlagLimits(asked.streak, asked.stalled_after)
        watching = Watching(run=asked.run, limits=limits, keep=asked.until_done, attentive=not asked.once)
        self._asked = asked
        self._monitor = Monitor(opened.repository, opened.ledger, watching)
        self.base = self._monitor.base
        if asked.once:
            self._monitor.compare_with_start()

    def look(self) -> MonitorTick:
        """Look once."""
        return tick_of(self._monitor.tick())

    def ticks(self, pause: Callable[[], bool]) -> Iterator[MonitorTick]:
        """Yield tick after tick; ``pause`` waits for the next and returns whether to end."""
        from gitprun.monitor.loop import watch

        for tick in watch(self._monitor, pause=pause, until_done=self._asked.until_done):
            yield tick_of(tick)

    @property
    def over(self) -> bool:
        """Check whether no unit is at work any more."""
        return self._monitor.is_over()

    @property
    def good(self) -> bool:
        """Check whether all units ended well."""
        return self._monitor.all_well()

    def close(self) -> None:
        """Give back what looking holds."""
        self._monitor.close()


@contextlib.contextmanager
def watching(opened: Opened, asked: WatchRequest) -> Iterator[Watcher]:
    """Watch while the block runs."""
    watcher = Watcher(opened, asked)
    try:
        yield watcher
    finally:
        watcher.close()


def await_run(opened: Opened, stop: Stop, seconds: float = AWAITED) -> bool:
    """Wait until a run is at work; return whether one is."""
    from gitprun.monitor.loop import is_at_work

    deadline, stamp = time.monotonic() + seconds, None
    while not stop.is_set():
        before, stamp = stamp, opened.ledger.stamp()
        # Read only where something was written since: a large ledger ten times a second is work.
        if (stamp is None or stamp != before) and is_at_work(opened.ledger):
            return True
        if time.monotonic() >= deadline:
            return False
        stop.wait(LOOK_AGAIN)
    return False


def tick_of(tick: Tick) -> MonitorTick:
    """Copy one look, with the line that people read."""
    from gitprun.monitor.render import headline, tick_line

    now = tick.now
    return MonitorTick(
        time=now.time,
        base=now.base,
        procs={"codex": now.codex, "wrap": now.wrap},
        commits={"main": now.main_commits, "all": now.all_commits},
        note=tick.note,
        streak=tick.streak,
        flags=tuple(
            MonitorFlag(flag=flag.name, text=flag.text, unit=flag.unit or None, about=flag.about) for flag in tick.flags
        ),
        units=tuple(
            MonitoredUnit(
                run=unit.run,
                unit=unit.id,
                state=unit.state,
                commits=unit.commits,
                dirty=None if unit.dirty is None else len(unit.dirty),
                quiet=round(unit.quiet, 1),
            )
            for unit in now.units
        ),
        line=tick_line(tick),
        headline=headline(tick),
    )


def log_root(start: Path, state: Path, named: str) -> Path:
    """Return the folder with ``logs/`` and ``baseline.sha``: the one named, else the repository's prun folder."""
    return (start / Path(named).expanduser()).absolute() if named else state


def startup_line(now: float, baseline: str, interval: float, *, notify: bool) -> str:
    """Return the first line of the monitor."""
    from gitprun.monitor.render import startup_line as line

    return line(now, baseline, interval, notify=notify)


def shutdown_line(now: float, reason: str = "") -> str:
    """Return the last line of the monitor."""
    from gitprun.monitor.render import shutdown_line as line

    return line(now, reason)


def clock_time(when: float) -> str:
    """Return a time of day as the monitor writes it, ``HH:MM:SSZ``."""
    from gitprun.monitor.render import clock_time as text

    return text(when)


def find_notify(title: str) -> Callable[[str, str], None] | None:
    """Find the platform's notifier, which takes a body and a subtitle; None where there is none."""
    from gitprun.monitor.notify import find_notifier, notify

    words = find_notifier()
    return None if words is None else lambda body, subtitle: notify(words(body, title, subtitle))

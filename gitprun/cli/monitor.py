"""``git prun monitor``: one line a tick about what the units do, with flags for what deserves a look."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from gitprun.cli.console import hint, put, safe, say
from gitprun.cli.options import Here, json_option
from gitprun.cli.places import log_root, project
from gitprun.cli.signals import signals_stop
from gitprun.model.errors import UsageProblem

if TYPE_CHECKING:
    from gitprun.observe.flags import Tick
    from gitprun.supervisor.process import Stop

TITLE = "git prun"
SHOWN = 5
EXIT_NOT_YET = 2
# Somebody may have started a run a moment ago: it says so in the ledger within a second, on a busy machine within ten.
AWAITED = 10.0
LOOK_AGAIN = 0.1
# What these are about stands on the line already.
PLAIN = ("silent-edit", "agent-done-committed")
EPILOG = """\b
HH:MM:SSZ  procs=codex:N/wrap:M  commits=main:X/all:Y  (note)  [flags]  :: unit=Ac/Dd ...
  codex  living workers; wrap  living wardens and coordinators
  Ac     commits of the unit past the base; Dd  files that differ from there
references/monitor.md says when each flag is raised and what to do about it.
"""


@click.command(epilog=EPILOG)
@click.argument("run_name", metavar="[RUN]", required=False)
@click.option(
    "--interval",
    type=click.FloatRange(min=0.1),
    default=60.0,
    show_default=True,
    envvar="CODEX_MONITOR_INTERVAL",
    show_envvar=True,
    help="Seconds between two ticks.",
)
@click.option("--once", is_flag=True, help="Print one tick, compared with the start of the run.")
@click.option(
    "--until-done", is_flag=True, help="End when no unit is at work: 0 if all ended well, else 1; 2 without a run."
)
@click.option(
    "--streak",
    type=click.IntRange(min=2),
    default=3,
    show_default=True,
    envvar="CONSEC_WARN_AT",
    show_envvar=True,
    help="Flag so many ticks with the same note.",
)
@click.option(
    "--stalled-after",
    type=click.FloatRange(min=1),
    default=600.0,
    show_default=True,
    envvar="PRUN_STALL_THRESHOLD",
    show_envvar=True,
    help="Flag a worker after so many seconds without output or change of a file.",
)
@click.option("--notify/--no-notify", default=None, help="Notify on the desktop (default: on a terminal).")
@json_option
@click.pass_context
def monitor(
    ctx: click.Context,
    /,
    run_name: str | None,
    interval: float,
    once: bool,
    until_done: bool,
    streak: int,
    stalled_after: float,
    notify: bool | None,
    as_json: bool,
) -> int:
    """Watch the units of RUN (default: of every run at work) and print one line a tick.

    Reads only: takes no lock, ends no process. Runs until it is stopped (exit code 0), or with --until-done until
    the units have ended (stopped before that: 130 or 143; no run at work within 10 s: 2).
    """
    from gitprun.monitor.loop import Monitor, Watching, watch
    from gitprun.monitor.render import shutdown_line, startup_line
    from gitprun.observe.flags import FlagLimits
    from gitprun.supervisor.process import Stop

    if once and until_done:
        raise UsageProblem("--once and --until-done cannot be given together", "leave one of them out")
    place, stop = project(ctx), Stop()
    if until_done and run_name is None and (code := await_run(place, stop)):
        return code
    watching = Watching(run=run_name, limits=FlagLimits(streak, stalled_after), keep=until_done, attentive=not once)
    screen = Screen(place, as_json=as_json, tell=choose_notifier(notify))
    frame = say if as_json else put
    with contextlib.closing(Monitor(place.repository, place.ledger, watching)) as watched:
        if once:
            watched.compare_with_start()
            screen.show(watched.tick())
            return 0
        frame(startup_line(time.time(), watched.base, interval, notify=screen.tell is not None))
        with signals_stop(stop, quiet=True) as caught:
            over = watched.is_over if until_done else None
            for tick in watch(watched, pause=lambda: wait(stop, interval, over), until_done=until_done):
                screen.show(tick)
        done = until_done and watched.is_over()
        frame(shutdown_line(time.time(), "no unit is at work" if done else ""))
        if done:
            return 0 if watched.all_well() else 1
    # Being stopped is the one end an endless monitor has; one that waits for an end was cut short.
    return 128 + caught[0] if until_done and caught else 0


def await_run(place: Here, stop: Stop) -> int:
    """Wait until a run is at work; gives the exit code where none comes, or we are asked to stop."""
    from gitprun.monitor.loop import is_at_work

    deadline, stamp = time.monotonic() + AWAITED, None
    with signals_stop(stop, quiet=True) as caught:
        while not stop.is_set():
            before, stamp = stamp, place.ledger.stamp()
            if (stamp is None or stamp != before) and is_at_work(place.ledger):
                return 0
            if time.monotonic() >= deadline:
                say("no run")
                last = place.history().last
                hint(f"git prun status {last.id} shows the last one" if last else "git prun run PLAN starts one")
                return EXIT_NOT_YET
            stop.wait(LOOK_AGAIN)
    return 128 + caught[0]


def wait(stop: Stop, seconds: float, over: Callable[[], bool] | None) -> bool:
    """Wait for the next tick; true when we are asked to stop, false early when ``over`` says so."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        if stop.wait(left if over is None else min(left, 0.5)):
            return True
        if over is not None and over():
            return False
    return stop.is_set()


Tell = Callable[[str, str], None]


def choose_notifier(wanted: bool | None) -> Tell | None:
    """Find out whether and how to notify; the seed's own switch keeps working."""
    from gitprun.monitor.notify import find_notifier, notify

    if wanted is None:
        wanted = sys.stdout.isatty() and not os.environ.get("CODEX_MONITOR_NO_OSASCRIPT")
    words = find_notifier() if wanted else None
    title = os.environ.get("NOTIFY_TITLE") or TITLE
    return None if words is None else lambda body, subtitle: notify(words(body, title, subtitle))


class Screen:
    """Where ticks go: standard output, monitor.log, the desktop when something is new."""

    def __init__(self, place: Here, *, as_json: bool, tell: Tell | None) -> None:
        self.place, self.as_json, self.tell = place, as_json, tell
        self.before: Tick | None = None

    def show(self, tick: Tick) -> None:
        """Show one tick."""
        from gitprun.monitor.render import clock_time, headline, tick_line, tick_row

        before, self.before = self.before, tick
        line = tick_line(tick)
        put(json.dumps(tick_row(tick)) if self.as_json else line)
        known = before.flags if before else ()
        for flag in tick.flags:
            if flag.about and flag not in known and not self.as_json and flag.name not in PLAIN:
                more = f" and {len(flag.about) - SHOWN} more" if len(flag.about) > SHOWN else ""
                say(f"  {flag.text}: {safe(', '.join(flag.about[:SHOWN]))}{more}")
        self._keep(line)
        news = before is None or (before.note, before.flags) != (tick.note, tick.flags)
        if self.tell is not None and news:
            self.tell(headline(tick), clock_time(tick.now.time))

    def _keep(self, line: str) -> None:
        """Append the line to the log; that this fails is no reason to stop watching."""
        folder = log_root(self.place.start, self.place.repository.state) / "logs"
        with contextlib.suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            with open(folder / "monitor.log", "a", encoding="utf-8") as log:
                log.write(line + "\n")

"""``git prun monitor``: one line a tick about what the units do, with flags for what deserves a look."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from collections.abc import Callable

import click

from gitprun.api.repo import Repo
from gitprun.api.stopping import Stop
from gitprun.api.ticks import MonitorTick
from gitprun.api.watching import (
    WatchRequest,
    await_run,
    clock_time,
    find_notify,
    log_root,
    shutdown_line,
    startup_line,
    watching,
)
from gitprun.cli.console import hint, put, put_json, safe, say
from gitprun.cli.options import json_option, project
from gitprun.cli.signals import signals_stop
from gitprun.model.errors import UsageProblem
from gitprun.model.exit_codes import EXIT_NOT_YET
from gitprun.model.lists import listed

TITLE = "git prun"
# What a flag is about fits on a line so far.
SHOWN = 5
# Often enough to notice soon that nobody is at work any more, seldom enough to cost nothing.
LOOK_AGAIN = 0.5
# What these are about stands on the line already.
PLAIN = ("silent-edit", "agent-done-committed")
EPILOG = """\b
HH:MM:SSZ  procs=codex:N/wrap:M  commits=main:X/all:Y  (note)  [flags]  :: unit=Ac/Dd ...
  codex  living workers; wrap  living supervisors and coordinators
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
    *,
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
    if once and until_done:
        raise UsageProblem("--once and --until-done cannot be given together", "leave one of them out")
    repo, stop = project(ctx), Stop()
    if until_done and run_name is None and (code := _await_run(repo, stop)):
        return code
    asked = WatchRequest(run=run_name, streak=streak, stalled_after=stalled_after, once=once, until_done=until_done)
    screen = Screen(repo, as_json=as_json, tell=choose_notifier(notify))
    frame = say if as_json else put
    with watching(repo.opened, asked) as watched:
        if once:
            screen.show(watched.look())
            return 0
        frame(startup_line(time.time(), watched.base, interval, notify=screen.tell is not None))
        with signals_stop(stop, quiet=True) as caught:
            over = (lambda: watched.over) if until_done else None
            for tick in watched.ticks(lambda: wait(stop, interval, over)):
                screen.show(tick)
        done = until_done and watched.over
        frame(shutdown_line(time.time(), "no unit is at work" if done else ""))
        if done:
            return 0 if watched.good else 1
    # Being stopped is the one end an endless monitor has; one that waits for an end was cut short.
    return 128 + caught[0] if until_done and caught else 0


def _await_run(repo: Repo, stop: Stop) -> int:
    """Wait until a run is at work; return the exit code where none comes, or we are asked to stop."""
    with signals_stop(stop, quiet=True) as caught:
        if await_run(repo.opened, stop):
            return 0
    if caught:
        return 128 + caught[0]
    say("no run")
    runs = repo.runs()
    hint(f"git prun status {runs[-1].id} shows the last one" if runs else "git prun run PLAN starts one")
    return EXIT_NOT_YET


def wait(stop: Stop, seconds: float, over: Callable[[], bool] | None) -> bool:
    """Wait for the next tick; return True when we are asked to stop, False early when ``over`` says so."""
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        if stop.wait(left if over is None else min(left, LOOK_AGAIN)):
            return True
        if over is not None and over():
            return False
    return stop.is_set()


Tell = Callable[[str, str], None]


def choose_notifier(wanted: bool | None) -> Tell | None:
    """Find out whether and how to notify; the seed's own switch keeps working."""
    if wanted is None:
        wanted = sys.stdout.isatty() and not os.environ.get("CODEX_MONITOR_NO_OSASCRIPT")
    return find_notify(os.environ.get("NOTIFY_TITLE") or TITLE) if wanted else None


class Screen:
    """Where ticks go: standard output, monitor.log, the desktop when something is new."""

    def __init__(self, repo: Repo, *, as_json: bool, tell: Tell | None) -> None:
        opened = repo.opened
        self.folder = log_root(opened.start, opened.repository.state, os.environ.get("MONITOR_ROOT", "")) / "logs"
        self.as_json, self.tell = as_json, tell
        self.before: MonitorTick | None = None

    def show(self, tick: MonitorTick) -> None:
        """Show one tick."""
        before, self.before = self.before, tick
        if self.as_json:
            put_json("tick", tick)
        else:
            put(tick.line)
        known = before.flags if before else ()
        for flag in tick.flags:
            if flag.about and flag not in known and not self.as_json and flag.flag not in PLAIN:
                say(f"  {flag.text}: {safe(listed(flag.about, SHOWN))}")
        self._keep(tick.line)
        news = before is None or (before.note, before.flags) != (tick.note, tick.flags)
        if self.tell is not None and news:
            self.tell(tick.headline, clock_time(tick.time))

    def _keep(self, line: str) -> None:
        """Append the line to the log; that this fails is no reason to stop watching."""
        with contextlib.suppress(OSError):
            self.folder.mkdir(parents=True, exist_ok=True)
            with open(self.folder / "monitor.log", "a", encoding="utf-8") as log:
                log.write(line + "\n")

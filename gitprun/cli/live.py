"""Live progress of a run: one line a unit on a terminal, plain lines elsewhere, events for programs."""

from __future__ import annotations

import json
import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gitprun.cli.console import COLOURS, age, clock_time, note_output, safe, said_above, say
from gitprun.executors.base import Progress
from gitprun.ledger.events import STATES, Event, UnitState, step
from gitprun.ledger.stall import stalled_for
from gitprun.ledger.unit_events import (
    UnitFinished,
    UnitMoving,
    UnitPreparing,
    UnitStalled,
    UnitStarted,
    UnitVerifying,
    UnitWaiting,
)
from gitprun.model.names import RunId, UnitId
from gitprun.model.units import Unit

if TYPE_CHECKING:
    from rich.console import Group

IDLE = ("queued", "waiting")
SHOWN = (UnitWaiting, UnitPreparing, UnitStarted, UnitVerifying, UnitFinished)


class Watch:
    """What is known while a run goes on, fed by its events and by what its workers say."""

    def __init__(
        self, units: Sequence[Unit], *, as_json: bool, on_interrupt: str = "Ctrl-C stops them, keeps their work"
    ) -> None:
        self.as_json, self.on_interrupt = as_json, on_interrupt
        self.deaf = False
        self.live = not as_json and sys.stderr.isatty()
        self.began = time.time()
        self.states: dict[str, UnitState] = {}
        self.order = [unit.id for unit in units]
        self.said: dict[str, str] = {}
        self.lock = threading.Lock()

    def on_event(self, event: Event) -> None:
        """Take in one event of the ledger (from any thread); that nobody can be told is no reason to stop working."""
        with self.lock:
            self._step(event)
            if self.as_json:
                self._write(event)
            elif not self.live:
                self._plain(event)

    def take_in(self, event: Event) -> None:
        """Take in one event that happened before anybody looked, and say nothing about it."""
        with self.lock:
            self._step(event)

    def _step(self, event: Event) -> None:
        if event.unit:
            before = self.states.get(event.unit) or UnitState(
                id=UnitId(event.unit), run=RunId(event.run), since=event.time
            )
            self.states[event.unit] = step(before, event)

    def _write(self, event: Event) -> None:
        if self.deaf:
            return
        row = {
            "t": event.time,
            "kind": event.kind,
            "run": event.run,
            "unit": event.unit,
            "facts": event.payload.as_json(),
        }
        try:
            note_output()
            sys.stdout.write(json.dumps(row) + "\n")
            sys.stdout.flush()
        except (OSError, ValueError):
            self.deaf = True

    def _plain(self, event: Event) -> None:
        clock = time.strftime("%H:%M:%S", time.localtime(event.time))
        one = event.payload
        if isinstance(one, UnitStalled | UnitMoving):
            stall = one.stalled
            what = f"stalled, nothing has come of it for {age(stall.quiet)}" if stall else "goes on"
            say(f"{clock} {event.unit}: {what}" + ("; it is ended" if stall and stall.ends else ""))
        if isinstance(one, SHOWN):
            state = self.states[event.unit].state
            if isinstance(one, UnitWaiting):
                state = f"waiting until {clock_time(one.until)}"
            reason = one.reason if isinstance(one, UnitWaiting | UnitFinished) else ""
            say(f"{clock} {event.unit}: {state}" + (f" ({safe(reason)})" if reason else ""))

    def on_progress(self, unit: str, progress: Progress) -> None:
        """Take in what a worker just did."""
        with self.lock:
            self.said[unit] = f"{progress.kind}: {safe(progress.text)}"

    @contextmanager
    def shown(self) -> Iterator[None]:
        """Draw the lines while the block runs, if there is a terminal."""
        if not self.live:
            yield
            return
        # Drawing costs 50 ms to load; nobody pays for it without a terminal.
        from rich.console import Console
        from rich.live import Live
        from rich.text import Text

        console = Console(stderr=True, highlight=False)

        def draw() -> Group:
            return self.render(console.size.height - 2)

        screen = Live(get_renderable=draw, console=console, refresh_per_second=4, transient=True)
        screen.start()
        try:
            # A text as long as its line is left to the terminal to break, as everywhere.
            with said_above(lambda text: console.print(Text.from_ansi(text), soft_wrap=True)):
                yield
        finally:
            # A terminal that was closed meanwhile takes no last words.
            with suppress(OSError):
                screen.stop()

    def render(self, room: int = 40) -> Group:
        """Draw one line a unit; where there is no room for all, those that are worked on come first."""
        from rich.console import Group
        from rich.table import Table
        from rich.text import Text

        now = time.time()
        table = Table(box=None, pad_edge=False, show_header=False, expand=True)
        table.add_column(max_width=30, no_wrap=True, overflow="ellipsis")
        table.add_column(min_width=max(map(len, STATES)), no_wrap=True)
        table.add_column(min_width=5, no_wrap=True)
        table.add_column(ratio=1, no_wrap=True, overflow="ellipsis")
        with self.lock:
            states = [self.states[name] for name in self.order if name in self.states]
            said = dict(self.said)
        shown = states
        if len(states) > room:
            shown = sorted(states, key=lambda unit: not unit.live or unit.state in IDLE)[: max(room, 1)]
        over = sum(not unit.live for unit in states)
        for unit in shown:
            last = unit.reason if not unit.live else said.get(unit.id, "")
            if (stalled := stalled_for(unit, now)) is not None:
                last = f"stalled {age(stalled)}: {last}"
            if unit.state == "waiting":
                last = f"until {clock_time(unit.until)}: {unit.reason}"
            # Text, not markup: what a worker says must not be read as instructions for the screen.
            table.add_row(
                Text(unit.id),
                Text(unit.state, style=COLOURS.get(unit.state, "")),
                Text(age(now - unit.since)),
                Text(safe(last), style="dim"),
            )
        head = Text(
            f"{over} of {len(self.order)} units over, {age(now - self.began)} ({self.on_interrupt})",
            no_wrap=True,
            overflow="ellipsis",
        )
        return Group(table, head)

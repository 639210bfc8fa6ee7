"""Live progress of a run: one line a unit on a terminal, plain lines elsewhere, events for programs."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

from gitprun.api.events import LedgerEvent
from gitprun.api.progress import STATES, Moving, begin, move_on
from gitprun.cli.console import COLOURS, age, clock_time, put_json, safe, said_above, say

if TYPE_CHECKING:
    from rich.console import Group

IDLE = ("queued", "waiting")
SHOWN = ("unit.waiting", "unit.preparing", "unit.started", "unit.verifying")


class Watch:
    """What is known while a run goes on, fed by its events and by what its workers say."""

    def __init__(
        self, units: Sequence[str], *, as_json: bool, on_interrupt: str = "Ctrl-C stops them, keeps their work"
    ) -> None:
        self.as_json, self.on_interrupt = as_json, on_interrupt
        self.deaf = False
        self.live = not as_json and sys.stderr.isatty()
        self.began = time.time()
        self.states: dict[str, Moving] = {}
        self.order = list(units)
        self.said: dict[str, str] = {}
        self.lock = threading.Lock()

    def on_event(self, event: LedgerEvent) -> None:
        """Take in one event of the ledger (from any thread); that nobody can be told is no reason to stop working."""
        with self.lock:
            self._step(event)
            if self.as_json:
                self._write(event)
            elif not self.live:
                self._plain(event)

    def take_in(self, event: LedgerEvent) -> None:
        """Take in one event that happened before anybody looked, and say nothing about it."""
        with self.lock:
            self._step(event)

    def _step(self, event: LedgerEvent) -> None:
        if event.unit:
            before = self.states.get(event.unit) or begin(event)
            self.states[event.unit] = move_on(before, event)

    def _write(self, event: LedgerEvent) -> None:
        if self.deaf:
            return
        try:
            put_json("event", event)
        except (OSError, ValueError):
            self.deaf = True

    def _plain(self, event: LedgerEvent) -> None:
        clock = time.strftime("%H:%M:%S", time.localtime(event.t))
        unit = self.states.get(event.unit)
        if unit is None:
            return
        if event.kind in ("unit.stalled", "unit.moving"):
            quiet = unit.quiet
            what = "goes on" if quiet is None else f"stalled, nothing has come of it for {age(quiet)}"
            say(f"{clock} {event.unit}: {what}" + ("; it is ended" if unit.ends else ""))
        if event.kind in SHOWN or event.kind == "unit.finished":
            state = unit.state
            if event.kind == "unit.waiting":
                state = f"waiting until {clock_time(unit.until)}"
            # Only what this event says: what an earlier one said is no reason for this state.
            reason = event.facts.get("reason") or ""
            say(f"{clock} {event.unit}: {state}" + (f" ({safe(str(reason))})" if reason else ""))

    def on_progress(self, unit: str, text: str) -> None:
        """Take in what a worker just did."""
        with self.lock:
            self.said[unit] = safe(text)

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
            if (stalled := unit.stalled(now)) is not None:
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

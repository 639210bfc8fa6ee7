"""``git prun run --resume`` where another process is at it already: its progress is shown until the run ends."""

from __future__ import annotations

from gitprun.cli.console import say
from gitprun.cli.live import Watch
from gitprun.cli.options import Here
from gitprun.cli.signals import signals_stop
from gitprun.ledger.events import RunState
from gitprun.ledger.settings import recall
from gitprun.model.errors import Interrupted
from gitprun.runs.follow import Follower
from gitprun.runs.resume import Occupied
from gitprun.supervisor.process import Stop


class Onlooker:
    """Shows one run from now on, whichever process works on it; a signal ends only the looking."""

    def __init__(self, place: Here, run: RunState, *, as_json: bool) -> None:
        self.run, self.as_json = run.id, as_json
        units = recall(place.repository.state, run).units
        self.follower = Follower(place.ledger, run.id)
        self.screen = Watch(units, as_json=as_json, on_interrupt="Ctrl-C ends the watching only")
        for event in self.follower.past:
            self.screen.take_in(event)

    def watch(self, busy: Occupied) -> RunState | None:
        """Show what happens until the run ends, and give it then; None when its coordinator is gone before."""
        pid = busy.coordinator.pid
        stop = Stop()
        with signals_stop(stop, quiet=True) as caught:
            if not self.as_json:
                say(f"run {self.run}: process {pid} works on it; watching (Ctrl-C ends the watching only)")
            with self.screen.shown():
                ended = self.follower.follow(busy.coordinator, stop, self.screen.on_event)
        if ended is not None:
            return ended
        if caught:
            raise Interrupted(
                caught[0],
                f"run {self.run} goes on: only the watching was ended",
                f"git prun run --resume {self.run} watches it again",
            )
        if not self.as_json:
            say(f"run {self.run}: process {pid} is gone")
        return None

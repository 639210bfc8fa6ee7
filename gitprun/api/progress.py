"""Units as their events come, one after the other: for whoever shows a run while it goes on."""

from __future__ import annotations

from dataclasses import dataclass

from gitprun.api.events import LedgerEvent
from gitprun.ledger.events import STATES, Event, UnitState, step
from gitprun.ledger.kinds import read_payload
from gitprun.ledger.stall import stalled_for
from gitprun.model.names import RunId, UnitId

__all__ = ["STATES", "Moving", "begin", "move_on"]


@dataclass(frozen=True, slots=True)
class Moving:
    """One unit by the events that came until now; times are in seconds since 1970."""

    known: UnitState

    @property
    def id(self) -> str:
        """Return its name."""
        return self.known.id

    @property
    def state(self) -> str:
        """Return its state."""
        return self.known.state

    @property
    def live(self) -> bool:
        """Check whether something is still to be done for it."""
        return self.known.live

    @property
    def since(self) -> float:
        """Return when its state began."""
        return self.known.since

    @property
    def reason(self) -> str:
        """Return why it is in its state, as far as that was said."""
        return self.known.reason

    @property
    def until(self) -> float | None:
        """Return until when it waits."""
        return self.known.until

    @property
    def quiet(self) -> float | None:
        """Return for how many seconds nothing had come of its worker when that was noticed; None once it goes on."""
        return self.known.stalled.quiet if self.known.stalled is not None else None

    @property
    def ends(self) -> bool:
        """Check whether its worker is ended because nothing comes of it."""
        return self.known.stalled is not None and self.known.stalled.ends

    def stalled(self, now: float) -> float | None:
        """Return for how many seconds nothing has come of its worker; None while something does."""
        return stalled_for(self.known, now)


def begin(event: LedgerEvent) -> Moving:
    """Return a unit of which this is the first event."""
    return Moving(UnitState(id=UnitId(event.unit), run=RunId(event.run), since=event.t))


def move_on(unit: Moving, event: LedgerEvent) -> Moving:
    """Move a unit on by one event; what nobody can read changes nothing."""
    payload = read_payload(event.kind, dict(event.facts))
    return unit if payload is None else Moving(step(unit.known, Event(payload, event.t, event.run, event.unit)))

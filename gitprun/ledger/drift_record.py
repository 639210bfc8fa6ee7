"""Drift as the ledger tells it: what was found, while which units ran, and what became of it since."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from gitprun.ledger.drift_findings import DriftFinding, finding_of, rank, summarize
from gitprun.ledger.events import Event
from gitprun.ledger.house_events import DriftSettled
from gitprun.ledger.rows import DriftRow
from gitprun.ledger.unit_events import DriftFound, DriftOver, Payload

# What an event lists; the rest is in the file it names.
MOST_LISTED = 1000
# Printed while a run goes on: more would push everything else off the screen.
MOST_SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Drift:
    """What changed in one stretch of time; ``units`` are those that ran then, ``sure`` that they are known to have
    done it. ``settled`` holds the keys of what was put back or accepted since; ``more`` counts what is not listed,
    ``place`` names the file that lists everything.
    """

    run: str
    id: str
    units: tuple[str, ...]
    time: float
    findings: tuple[DriftFinding, ...]
    sure: bool = False
    more: int = 0
    place: str = ""
    settled: frozenset[str] = frozenset()
    accepted: bool = False

    @property
    def open(self) -> tuple[DriftFinding, ...]:
        """List what still keeps the units from landing."""
        if self.accepted:
            return ()
        return tuple(one for one in self.findings if one.gate and one.thing.key not in self.settled)

    @property
    def is_open(self) -> bool:
        """Check whether anything is left to be decided."""
        return bool(self.open)

    @property
    def who(self) -> str:
        """Return in words whose doing it is, as far as that is known."""
        names = ", ".join(self.units)
        return f"done by {names}" if self.sure else f"changed while {names} ran"


def drift_found(drift: Drift) -> DriftFound:
    """Return what is written down of a drift: an event of no run's own, so that it outlives what is condensed."""
    shown = sorted(drift.findings, key=rank)[:MOST_LISTED]
    return DriftFound(
        drift=DriftRow(
            id=drift.id,
            units=drift.units,
            sure=drift.sure,
            findings=tuple(one.row for one in shown),
            more=len(drift.findings) - len(shown),
            place=drift.place,
            text=render_drift(drift),
            lines=tuple(texts(drift)[:MOST_SHOWN]),
            holds=any(one.gate for one in drift.findings),
            # News of branches is shown even where it holds nobody up: a commit of the user's looks like that, too.
            shown=any(rank(one) < 3 for one in drift.findings),
        )
    )


def render_drift(drift: Drift) -> str:
    """Return in one line what a drift is about."""
    found = drift.open or drift.findings
    whose = "its worker changed your repository" if drift.sure else "your repository changed while it ran"
    return f"{whose}: {summarize(found)}"


def read_drifts(events: Iterable[Event]) -> tuple[Drift, ...]:
    """Return all drifts there were, in their order."""
    found: dict[tuple[str, str], Drift] = {}
    for event in events:
        one = event.payload
        if isinstance(one, DriftFound) and one.drift is not None:
            found.setdefault((event.run, one.drift.id), _read(event, one.drift))
        elif isinstance(one, DriftSettled) and (event.run, one.id) in found:
            found[event.run, one.id] = _settle(found[event.run, one.id], one)
    return tuple(found.values())


def _read(event: Event, row: DriftRow) -> Drift:
    return Drift(
        run=event.run,
        id=row.id,
        units=row.units,
        time=event.time,
        findings=tuple(map(finding_of, row.findings)),
        sure=row.sure,
        more=row.more,
        place=row.place,
    )


def _settle(drift: Drift, settled: DriftSettled) -> Drift:
    if settled.how == "accepted" and not settled.key:
        # Accepted as a whole; with a key only that one thing was.
        return replace(drift, accepted=True)
    return replace(drift, settled=drift.settled | {settled.key})


def open_drifts(events: Iterable[Event]) -> tuple[Drift, ...]:
    """List the drifts that keep units from landing."""
    return tuple(one for one in read_drifts(events) if one.is_open)


def awaits(events: Iterable[Event], run: str, unit: str = "") -> bool:
    """Check whether a drift of a run (or of one of its workspaces) is still open, so that what was kept is needed."""
    mine = f"{run}/{unit}"
    return any(one.run == run and (not unit or mine in one.units) for one in open_drifts(events))


def over_rows(events: Iterable[Event], drifts: Iterable[Drift]) -> list[tuple[Payload, str, str]]:
    """Return the events that tell units that nothing holds them up any more; ``drifts`` are those looked at."""
    waiting = {unit for drift in open_drifts(events) for unit in drift.units}
    # A unit may wait for another drift still: only who waits for none is told.
    calm = dict.fromkeys((drift.run, unit) for drift in drifts for unit in drift.units if unit not in waiting)
    return [(DriftOver(drift=None), run, unit.partition("/")[2]) for run, unit in calm]


def gates(events: Iterable[Event]) -> dict[str, str]:
    """Return for each unit (``RUN/UNIT``) that must not land why that is."""
    found: dict[str, list[Drift]] = {}
    for drift in open_drifts(events):
        for name in drift.units:
            found.setdefault(name, []).append(drift)
    return {name: _gate(name, drifts) for name, drifts in found.items()}


def _gate(name: str, drifts: list[Drift]) -> str:
    shown = name.removeprefix("named/")
    findings = tuple(one for drift in drifts for one in drift.open)
    others = sorted({other for drift in drifts for other in drift.units if not drift.sure} - {name})
    beside = f" (so did {', '.join(others)})" if others else ""
    whose = (
        "its worker changed your repository"
        if all(d.sure for d in drifts)
        else (f"your repository changed while it ran{beside}")
    )
    way = f"git prun undo --drift {shown} puts it back, with --accept it stays as it is"
    return f"{whose}: {summarize(findings)}; {way}"


def texts(drift: Drift) -> list[str]:
    """Describe all that was found, what counts first."""
    ranked = sorted(drift.findings, key=rank)
    return [one.text for one in ranked]

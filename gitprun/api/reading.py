"""What is known: the state of runs and units, one unit closely, its output, the events of the ledger."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gitprun.api.opened import Opened
from gitprun.api.units import held_status, named_status, reviewed, run_status, unit_status
from gitprun.api.unpinned import warn_unpinned
from gitprun.api.values import RunStatus, Status, UnitStatus
from gitprun.ledger.events import Event, History, RunState, UnitState, base_of
from gitprun.ledger.lookup import find_run, find_unit, probe_unit
from gitprun.model.errors import OperationRefused
from gitprun.model.lists import listed
from gitprun.model.units import LIVE

if TYPE_CHECKING:
    from gitprun.api.details import TrustTouch, UnitDetails
    from gitprun.api.events import LedgerEvent
    from gitprun.api.outcomes import Reconciled

# What is read of a result file at most: it is shown whole, and nobody reads more of one.
MOST_RESULT = 16_000_000
# A prompt is at most what `git prun exec` takes from stdin.
MOST_PROMPT = 64_000_000


def read_status(opened: Opened, run_name: str | None = None, *, every: bool = False, claims: bool = True) -> Status:
    """Return the last run (or the one named, or ``every`` one), and without a name all that belongs to no run.

    Without ``claims`` no result file is read. Raises NotKnown for a run that is not there; nothing at all is no
    error: the value is empty then.
    """
    from gitprun.landing.holds import read_holds
    from gitprun.ledger.probe import probe_named
    from gitprun.ledger.roster import roster

    reading = opened.read()
    history = reading.history
    named = [probe_named(unit) for unit in roster(reading.events).units.values()] if run_name is None else []
    holds = read_holds(opened.repository, history, reading.events)
    if run_name is None and (every or not history.runs):
        runs = list(history.runs.values())
    else:
        runs = [find_run(history, run_name)]
    now = time.time()
    warn_unpinned(opened, runs, reading.events)
    own = {f"{run.id}/{unit}" for run in runs for unit in run.units}
    # Of one run only what is held of it; without a name branches made elsewhere, too.
    held = [one for one in holds if one.name in own or (run_name is None and one.name == one.branch)]
    return Status(
        runs=tuple(run_status(run, now, opened.repository.state, claims=claims) for run in runs),
        named=tuple(named_status(unit, now) for unit in named),
        held=tuple(held_status(one) for one in held),
    )


def read_runs(opened: Opened) -> tuple[RunStatus, ...]:
    """Return all runs, the oldest first."""
    now = time.time()
    return tuple(run_status(run, now, opened.repository.state) for run in opened.history().runs.values())


def read_run(opened: Opened, name: str | None) -> RunStatus:
    """Return a run, by default the last one; raises NotKnown."""
    return run_status(find_run(opened.history(), name), time.time(), opened.repository.state)


def read_unit(opened: Opened, name: str) -> UnitStatus:
    """Return the unit of a name, ``RUN/UNIT`` or ``UNIT`` of the newest run that has it; raises NotKnown."""
    _, unit = find(opened, name)
    return unit_status(unit, time.time(), opened.repository.state)


def find(opened: Opened, name: str) -> tuple[RunState, UnitState]:
    """Find a unit with the state it really has, and its run."""
    return _find_in(opened.history(), name)


def _find_in(history: History, name: str) -> tuple[RunState, UnitState]:
    unit = find_unit(history, name)
    run = history.runs[unit.run]
    return run, probe_unit(run, unit)


def read_details(opened: Opened, name: str) -> UnitDetails:
    """Return all that is known of a unit; raises NotKnown."""
    from gitprun.api.closely import unit_details
    from gitprun.landing.holds import read_holds
    from gitprun.system.files import read_plain

    reading = opened.read()
    history = reading.history
    run, unit = _find_in(history, name)
    holds = read_holds(opened.repository, history, reading.events)
    own = f"{unit.run}/{unit.id}"
    hold = next((one for one in reversed(holds) if one.name == own), None)
    result = read_plain(folder_of(opened, unit) / "result.md", MOST_RESULT) or b""
    return unit_details(
        unit,
        time.time(),
        opened.repository.state,
        landing=held_status(hold) if hold is not None else None,
        trust=read_touches(opened, run, [unit]).get(unit.id, ()),
        result=result.decode("utf-8", "replace"),
    )


def folder_of(opened: Opened, unit: UnitState) -> Path:
    """Return the folder that keeps prompt, output and result of a unit."""
    return opened.repository.state / "runs" / unit.run / unit.id


def read_touches(opened: Opened, run: RunState, units: Sequence[UnitState]) -> dict[str, tuple[TrustTouch, ...]]:
    """Find what units change of what starts programs."""
    from gitprun.api.details import TrustTouch
    from gitprun.landing.touched import read_unit_touches
    from gitprun.system.config import read_settings

    protected = read_settings(opened.repository.top).protected or ()
    found = read_unit_touches(opened.repository, run, tuple(units), protected)
    return {
        unit: tuple(TrustTouch(path=one.path, what=one.what, grade=one.grade) for one in touches)
        for unit, touches in found.items()
    }


def review(opened: Opened, run_name: str | None, *, strict: bool = False) -> Reconciled:
    """Check that every unit of a run has a result of its own that follows the contract.

    With ``strict`` a result that disagrees with what was found, or a unit that left its paths, is no good either.
    """
    from gitprun.api.outcomes import Reconciled
    from gitprun.ledger.review import incomplete, review_run

    run = find_run(opened.history(), run_name)
    reviews = review_run(opened.repository.state, run)
    touches = read_touches(opened, run, tuple(run.units.values()))
    good = not incomplete(reviews) and not (strict and any(one.claims or one.outside for one in reviews))
    units = tuple(reviewed(one, touches.get(one.unit, ())) for one in reviews)
    return Reconciled(run=run.id, complete=good, units=units)


@dataclass(frozen=True, slots=True)
class Output:
    """A file a worker or check wrote; ``packed`` is where it is once it was compressed."""

    path: Path
    packed: Path

    @property
    def is_there(self) -> bool:
        """Check whether it is there, compressed or not."""
        return self.path.is_file() or self.packed.is_file()


def find_output(opened: Opened, name: str, what: str = "output") -> tuple[Output, ...]:
    """Find what the worker of a unit printed (``output``), its ``prompt`` or what its ``checks`` printed.

    Raises OperationRefused where there is none.
    """
    from gitprun.api.closely import checks_of

    _, unit = find(opened, name)
    name = f"{unit.run}/{unit.id}"
    if what == "checks":
        paths = [Path(check.log) for check in checks_of(unit) if check.log]
        if not paths:
            raise OperationRefused(
                f"no check of {name} was run ({unit.verdict or unit.state})", f"git prun show {name}"
            )
    else:
        paths = [folder_of(opened, unit) / ("prompt.md" if what == "prompt" else "output.log")]
    found = tuple(Output(path, path.with_name(f"{path.name}.gz")) for path in paths)
    if what != "checks" and not found[0].is_there and not unit.process:
        raise OperationRefused(f"the worker of {name} was not started ({unit.state})", f"git prun show {name}")
    gone = [one.path for one in found if not one.is_there]
    if gone:
        raise OperationRefused(
            f"{gone[0]} is gone: somebody deleted it", f"git prun show {name} tells what is still known"
        )
    return found


def read_prompt_sent(opened: Opened, name: str) -> bytes:
    """Return the prompt the worker of a unit was sent; raises OperationRefused where it was not started."""
    from gitprun.system.files import read_plain

    _, unit = find(opened, name)
    sent = read_plain(folder_of(opened, unit) / "prompt.md", MOST_PROMPT)
    if sent is None:
        raise OperationRefused(
            f"the worker of {unit.run}/{unit.id} was not started ({unit.state})",
            "git prun prompt --plan PLAN UNIT prints what would be sent",
        )
    return sent


def read_unit_events(opened: Opened, name: str) -> Iterator[LedgerEvent]:
    """Yield the events of one unit, those in the archive first."""
    reading = opened.read()
    _, unit = _find_in(reading.history, name)
    told = _told(opened, reading.events, archived=True)
    return (one for one in told if (one.run, one.unit) == (unit.run, unit.id))


def read_events(opened: Opened, *, archived: bool = False) -> Iterator[LedgerEvent]:
    """Yield the events of the ledger, with ``archived`` those first that were compacted away."""
    yield from _told(opened, opened.read().events, archived=archived)


def _told(opened: Opened, events: Sequence[Event], *, archived: bool) -> Iterator[LedgerEvent]:
    from gitprun.ledger.archive import read_archived

    older = read_archived(opened.ledger.path.parent, events[0] if events else None) if archived else ()
    for event in (*older, *events):
        yield as_event(event)


def as_event(event: Event) -> LedgerEvent:
    """Copy an event of the ledger."""
    from gitprun.api.events import LedgerEvent
    from gitprun.api.schema import plain

    return LedgerEvent(
        t=event.time, kind=event.kind, run=event.run, unit=event.unit, facts=plain(event.payload.as_json())
    )


def read_diff(opened: Opened, name: str, *shape: str, colour: bool = False) -> bytes:
    """Return what a unit changed as git writes it, from its base to its commit, else to what its workspace has now.

    ``shape`` are options of ``git diff`` (``--stat``, ``--name-only``). Raises OperationRefused where there is nothing
    to compare.
    """
    from gitprun.git.patch import read_difference

    run, unit = find(opened, name)
    name = f"{unit.run}/{unit.id}"
    if unit.commit is not None:
        return read_difference(opened.repository.git, base_of(run, unit), unit.commit, *shape, colour=colour)
    if unit.state not in (*LIVE, "lost"):
        raise OperationRefused(f"{name} has no commit ({unit.state})", f"git prun show {name}")
    from gitprun.landing.temporary_objects import aside
    from gitprun.landing.working_tree import NotSeen, read_work

    # Into an object directory that goes away again: looking leaves no trace.
    with aside(opened.repository) as room:
        try:
            tip = read_work(room, run, unit)
        except NotSeen as problem:
            raise OperationRefused(f"{name} is {unit.state}: {problem.message}", f"git prun show {name}") from None
        opened.news(f"{name} is {unit.state}: this is what it has by now")
        return read_difference(room.git, base_of(run, unit), tip, *shape, colour=colour)


def describe_touches(touches: Sequence[TrustTouch]) -> str:
    """Return in one line what is touched; empty where nothing is."""
    # As many as a line holds; git prun show lists all of them.
    return listed(touches, show=lambda touch: f"{touch.path} ({touch.what})")


def describe_outside(paths: Sequence[str]) -> str:
    """Return in one line which paths lie outside of those a unit was given."""
    from gitprun.landing.fence import describe_outside as describe

    return describe(tuple(paths))

"""What happens to runs, to what prun keeps, and to the ledger itself; a class for each kind of event."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import ClassVar

from gitprun.ledger.record import NOTHING
from gitprun.ledger.rows import StopRow, SummedUnit
from gitprun.ledger.unit_events import Payload
from gitprun.model.units import VerifySandbox
from gitprun.supervisor.process import ProcessIdentity


class RunStarted(Payload):
    """A run begins; ``names`` are its units, ``verify`` its checks (None: they are looked for)."""

    kind = "run.started"
    # ``units`` are the states of a run's units, so the names it was started with need another word.
    on_disk: ClassVar[Mapping[str, str]] = {"names": "units"}

    base: str = ""
    root: str = ""
    jobs: int | None = None
    plan: str = ""
    verify: tuple[str, ...] | None = None
    verify_sandbox: VerifySandbox | None = None
    names: tuple[str, ...] = ()
    version: str = ""
    coordinator: ProcessIdentity | None = None


class RunResumed(Payload):
    """Another process goes on with a run, and with the units ``again``."""

    kind = "run.resumed"

    coordinator: ProcessIdentity | None = None
    again: tuple[str, ...] = ()


class RunStopAsked(Payload):
    """Somebody asked for the run to stop."""

    kind = "run.stop-asked"

    stop: StopRow | None = None


class RunFinished(Payload):
    """A run is over; ``states`` are the final ones of its units."""

    kind = "run.finished"

    states: Mapping[str, str] = MappingProxyType({})


class RunSummed(Payload):
    """A run as one row of a compacted ledger; ``more``: rows of it stand between this one and its ``RunSummedEnd``."""

    kind = "run.summed"

    started: float = 0.0
    ended: float | None = None
    base: str = ""
    facts: Mapping[str, object] = NOTHING
    units: tuple[SummedUnit, ...] = ()
    more: bool = False


class RunSummedEnd(Payload):
    """Where the last row of a run stood before the ledger was compacted."""

    kind = "run.summed-end"


class DriftSettled(Payload):
    """What became of one thing that had changed (``key``; none: of all of them); ``ref`` is at ``value`` now."""

    kind = "drift.settled"

    id: str = ""
    key: str = ""
    how: str = ""
    ref: str = ""
    value: str = ""


class DriftUndoing(Payload):
    """Things that had changed are about to be put back."""

    kind = "drift.undoing"

    id: str = ""
    keys: tuple[str, ...] = ()


class VerifyPassed(Payload):
    """A tree was found green, checked in a certain ``way``, by a certain process."""

    kind = "verify.passed"

    # A tree says nothing by itself: other commands, walls or views are another ``way``.
    tree: str = ""
    way: str = ""
    by: str = ""


class TrashKept(Payload):
    """What the ref ``source`` held is pinned as ``ref``."""

    kind = "trash.kept"
    # ``from`` is a keyword of Python's.
    on_disk: ClassVar[Mapping[str, str]] = {"source": "from"}

    of: str = ""
    source: str = ""
    ref: str = ""
    commit: str = ""
    why: str = ""


class TrashFiles(Payload):
    """Ignored files of a workspace are about to be copied to ``folder``; ``files`` are the first of them."""

    kind = "trash.files"

    of: str = ""
    folder: str = ""
    files: tuple[str, ...] = ()
    size: int = 0


class RescueRestored(Payload):
    """What the ref ``ref`` pinned is in a branch or a folder again; ``new``: it was not there before."""

    kind = "rescue.restored"

    ref: str = ""
    commit: str = ""
    branch: str = ""
    folder: str = ""
    new: bool = True


class GcStepped(Payload):
    """A step of ``git prun gc`` is about to be done."""

    kind = "gc.step"

    step: str = ""
    what: str = ""
    why: str = ""
    size: int = 0
    of: str = ""
    oid: str = ""


class GcDone(GcStepped):
    """A step of ``git prun gc`` was done, or hindered by ``problem``."""

    kind = "gc.done"

    problem: str = ""


class LedgerCompacted(Payload):
    """The first row of a compacted ledger: how often it was, and what went this time."""

    kind = "ledger.compacted"

    number: int = 0
    rows: int = 0
    runs: tuple[str, ...] = ()


class LedgerReserve(Payload):
    """The space kept for the ends of what was begun was given up on a full disk, or made again."""

    kind = "ledger.reserve"

    state: str = ""
    error: str = ""
    kinds: tuple[str, ...] = ()


class LedgerRestored(Payload):
    """The ledger had been deleted, and was written anew."""

    kind = "ledger.restored"

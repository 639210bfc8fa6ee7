"""What the facts of events are made of: records inside of them, one class each."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from gitprun.ledger.record import TypedRecord
from gitprun.model.units import was_confined
from gitprun.supervisor.process import ProcessIdentity

# A folder's device and inode.
Identity = tuple[int, int]


class SpecRow(TypedRecord):
    """What was asked of a unit, but for its prompt, which lies in a file."""

    id: str = ""
    executor: str = ""
    command: tuple[str, ...] = ()
    mode: str = ""
    workspace: str = ""
    paths: tuple[str, ...] = ()
    timeout: float = 0.0
    model: str | None = None
    reasoning: str | None = None
    sandbox: str = ""
    bypass: bool | None = None
    walled: bool = False

    @property
    def confined(self) -> bool:
        """Check whether the worker was held to its workspace."""
        return was_confined(self.executor, self.sandbox, self.walled)


class ExitRow(TypedRecord):
    """How a worker's program ended; ``survivors``, ``unproved`` and ``dropped`` only where it was so."""

    seconds: float
    reason: str = "exited"
    code: int | None = None
    signal: int | None = None
    detail: str = ""
    leftovers: int = 0
    survivors: tuple[int, ...] = ()
    unproved: str = ""
    dropped: int = 0


class EndingRow(TypedRecord):
    """How a worker's work ended, as its executor read it out of the output."""

    state: str = ""
    reason: str = ""
    thread: str | None = None
    tokens: int | None = None
    retry_after: float | None = None
    message: str = ""
    kind: str = ""
    retry_at: str = ""


class CheckRow(TypedRecord):
    """What one command of a verification said."""

    command: str
    state: str
    seconds: float
    reason: str
    code: int | None = None
    log: str = ""
    changed: tuple[str, ...] = ()
    flaky: bool = False


class VerdictRow(TypedRecord):
    """What a verification came to."""

    state: str
    reason: str = ""
    checks: tuple[CheckRow, ...] = ()
    confined: str = ""


class EarlierRow(TypedRecord):
    """An attempt that another one followed; ``ref`` pins what it had captured, ``folder`` keeps its traces."""

    attempt: int
    state: str
    folder: str
    kind: str = ""
    reason: str = ""
    base: str | None = None
    commit: str | None = None
    ref: str | None = None


class LeftOutRow(TypedRecord):
    """A path that is not part of the captured work."""

    path: str
    reason: str
    size: int = 0


class RejectedRow(TypedRecord):
    """A tip that was not taken over from a workspace; ``place`` is the quarantine that keeps it."""

    name: str
    oid: str
    reason: str
    place: str = ""


class FindingRow(TypedRecord):
    """One thing that changed in the user's repository while a worker ran."""

    kind: str
    name: str
    old: str
    new: str
    gate: bool
    file: str = ""
    why: str = ""
    by: tuple[str, ...] = ()


class DriftRow(TypedRecord):
    """What changed while ``units`` ran; ``lines`` and ``text`` are for people, ``place`` lists everything."""

    id: str
    units: tuple[str, ...] = ()
    sure: bool = False
    findings: tuple[FindingRow, ...] = ()
    more: int = 0
    place: str = ""
    text: str = ""
    lines: tuple[str, ...] = ()
    holds: bool = False
    shown: bool = False


class LockRow(TypedRecord):
    """Why a workspace is locked."""

    reason: str = ""


class MoveRow(TypedRecord):
    """From where a workspace is being moved, and where to."""

    # ``from`` is a keyword of Python's.
    on_disk: ClassVar[Mapping[str, str]] = {"source": "from", "target": "to"}

    source: str = ""
    target: str = ""


class LeavingRow(TypedRecord):
    """What was saved of a folder before it goes: ``saved`` is a ref, ``kept_files`` a folder of ignored files."""

    saved: str | None = None
    ignored: tuple[str, ...] = ()
    kept_files: str = ""


class ResetRow(TypedRecord):
    """A workspace that is being filled anew from ``to``; ``identity`` is there once the folder ``fresh`` is whole."""

    to: str
    fresh: str
    copy: tuple[str, ...] = ()
    link: tuple[str, ...] = ()
    identity: Identity | None = None
    notes: tuple[str, ...] = ()
    old: str | None = None
    leaving: LeavingRow | None = None


class StallRow(TypedRecord):
    """For how many seconds nothing had come of a worker: ``quiet`` of anything, ``output`` and ``files`` apart.

    ``since`` is that moment on the wall clock, ``ends`` tells that the worker was ended for it.
    """

    quiet: float = 0.0
    since: float | None = None
    output: float = 0.0
    files: float | None = None
    ends: bool = False
    last: str = ""
    hint: str = ""


class StopRow(TypedRecord):
    """Who asked for a stop, and whether of the hard kind."""

    kill: bool = False
    by: ProcessIdentity | None = None


class ResolvedRow(TypedRecord):
    """A path whose conflict a resolver settled; ``added`` are lines that neither side had."""

    path: str = ""
    resolver: str = ""
    added: tuple[object, ...] = ()


class DroppedRow(TypedRecord):
    """Lines of a path that the merge does not have, although a branch brought them."""

    path: str = ""
    lines: tuple[object, ...] = ()


class SuspectRow(TypedRecord):
    """What was found wrong with a path, and landed all the same because the user said so."""

    path: str = ""
    reason: str = ""


class PresentRow(TypedRecord):
    """Whether what a branch brought is in the tree that landed: ``whole`` counts paths that are as it had them."""

    whole: int = 0
    united: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


class AcceptedRow(TypedRecord):
    """A path that needed somebody's word to land, what it was about, and whose word that was."""

    path: str
    accepted: str | None = None
    what: str | None = None
    grade: str | None = None
    old: str | None = None
    new: str | None = None


class AfterRow(TypedRecord):
    """The commit of what the after commands made."""

    commit: str = ""
    commands: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()


class SummedUnit(TypedRecord):
    """One unit of a run that was written down as a whole; ``facts`` are all that its events said."""

    id: str
    state: str
    since: float
    facts: Mapping[str, object]
    started: float | None = None
    ended: float | None = None

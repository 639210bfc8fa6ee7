"""What happens to the branches of the user: landings, what is taken back, and resolutions; a class for each kind."""

from __future__ import annotations

from typing import ClassVar

from gitprun.ledger.record import TypedRecord
from gitprun.ledger.rows import AcceptedRow, AfterRow, DroppedRow, PresentRow, ResolvedRow, SuspectRow
from gitprun.ledger.unit_events import Payload


class MergeFacts(TypedRecord):
    """One branch in a landing: its merge ``commit``, its ``tip``, and what had to be said about it."""

    branch: str = ""
    commit: str = ""
    tip: str = ""
    resolved: tuple[ResolvedRow, ...] = ()
    dropped: tuple[DroppedRow, ...] = ()
    suspects: tuple[SuspectRow, ...] = ()
    present: PresentRow | None = None
    gate: tuple[AcceptedRow, ...] = ()
    trust: tuple[AcceptedRow, ...] = ()
    outside: tuple[AcceptedRow, ...] = ()
    with_base: tuple[str, ...] = ()


class LandingRow(MergeFacts):
    """One branch that is about to land; ``run`` and ``unit`` are empty for one of the user's own."""

    # Without these nobody could tell what a landing that was cut off had meant to move.
    needed: ClassVar[tuple[str, ...]] = ("branch", "commit", "tip")

    run: str = ""
    unit: str = ""


class UndoRow(TypedRecord):
    """One merge that is about to be taken (or brought) back, by the commit ``by``.

    ``state`` is what its unit was before it landed.
    """

    branch: str
    commit: str
    tip: str
    run: str = ""
    unit: str = ""
    by: str = ""
    state: str = ""


class Ends(Payload):
    """A branch (a full ref) and the commits it is moved between."""

    target: str = ""
    old: str = ""
    new: str = ""


class LandingStarted(Ends):
    """A branch is about to move; ``checkout`` is the folder that follows it, if any."""

    kind = "landing.started"
    # After a kill the branch is held against these two to tell whether it moved.
    needed: ClassVar[tuple[str, ...]] = ("target", "old", "new")

    checkout: str = ""
    branches: tuple[str, ...] = ()
    order: str = ""
    landings: tuple[LandingRow, ...] = ()
    after: AfterRow | None = None


class LandingFinished(Ends):
    """A landing is over; ``outcome`` is landed, not-moved or taken-back."""

    kind = "landing.finished"

    outcome: str = ""


class LandingLanded(MergeFacts, Payload):
    """One branch landed on ``target``."""

    kind = "landing.landed"

    target: str = ""


class UndoFacts(Payload):
    """One merge that was taken or brought back; ``way`` is moved, reverted or redone."""

    way: str = ""
    target: str = ""
    branch: str = ""
    commit: str = ""
    tip: str = ""
    by: str = ""
    state: str = ""


class LandingUndone(UndoFacts):
    """A merge was taken back."""

    kind = "landing.undone"


class LandingRedone(UndoFacts):
    """A merge that had been reverted is in again."""

    kind = "landing.redone"


class LandingHeld(Payload):
    """A branch did not land; ``of`` is what the user calls it where that is not its name."""

    kind = "landing.held"

    branch: str = ""
    tip: str = ""
    target: str = ""
    main: str = ""
    state: str = ""
    reason: str = ""
    of: str = ""
    findings: tuple[tuple[str, str], ...] = ()
    accept: tuple[str, ...] = ()
    command: str = ""
    log: str = ""


class LandingDeepened(Payload):
    """The history of a shallow clone is about to be fetched."""

    kind = "landing.deepened"

    remote: str = ""
    branches: tuple[str, ...] = ()


class UndoStarted(Ends):
    """A branch is about to be put back, or merges in it to be reverted or brought again.

    ``forgets`` are recorded resolutions (the path, the name of the file) that the landing used.
    """

    kind = "undo.started"
    # After a kill the branch is held against these two to tell whether it was put back.
    needed: ClassVar[tuple[str, ...]] = ("target", "old", "new")

    checkout: str = ""
    way: str = ""
    landing: int = 0
    landings: tuple[UndoRow, ...] = ()
    forgets: tuple[tuple[str, str], ...] = ()


class UndoFinished(Ends):
    """An undo is over; ``outcome`` is done, not-moved or taken-back."""

    kind = "undo.finished"

    outcome: str = ""


class ResolutionFacts(Payload):
    """Which branch is resolved, onto what; ``of`` names the unit, for this is no step of the unit's own."""

    branch: str = ""
    target: str = ""
    main: str = ""
    tip: str = ""
    of: str = ""


class ResolveStarted(ResolutionFacts):
    """A workspace was opened to decide about ``paths``."""

    kind = "resolve.started"

    why: str = ""
    workspace: str = ""
    paths: tuple[str, ...] = ()


class ResolveRecorded(ResolutionFacts):
    """Decisions are about to be recorded: ``rows`` are paths with the names of the files that keep them."""

    kind = "resolve.recorded"

    rows: tuple[tuple[str, str], ...] = ()


class ResolveFinished(ResolutionFacts):
    """A resolution is over."""

    kind = "resolve.finished"

    outcome: str = ""


class ResolveForgotten(Payload):
    """Recorded decisions are about to be moved aside."""

    kind = "resolve.forgotten"

    by: str = ""
    rows: tuple[tuple[str, str], ...] = ()

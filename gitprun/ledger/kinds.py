"""All kinds of events there are, and what each says."""

from __future__ import annotations

from collections.abc import Mapping

from gitprun.ledger import house_events as house
from gitprun.ledger import landing_events as landing
from gitprun.ledger import unit_events as unit
from gitprun.ledger.record import Facts, OddFact
from gitprun.ledger.unit_events import Payload

KINDS: Mapping[str, type[Payload]] = {
    "run.started": house.RunStarted,
    "run.resumed": house.RunResumed,
    "run.stop-asked": house.RunStopAsked,
    "run.finished": house.RunFinished,
    "run.summed": house.RunSummed,
    "run.summed-end": house.RunSummedEnd,
    "unit.queued": unit.UnitQueued,
    "unit.waiting": unit.UnitWaiting,
    "unit.preparing": unit.UnitPreparing,
    "unit.prepared": unit.UnitPrepared,
    "unit.started": unit.UnitStarted,
    "unit.watched": unit.UnitWatched,
    "unit.stalled": unit.UnitStalled,
    "unit.moving": unit.UnitMoving,
    "unit.stop-asked": unit.UnitStopAsked,
    "unit.exited": unit.UnitExited,
    "unit.captured": unit.UnitCaptured,
    "unit.verifying": unit.UnitVerifying,
    "unit.verified": unit.UnitVerified,
    "unit.rechecked": unit.UnitRechecked,
    "unit.finished": unit.UnitFinished,
    "workspace.made": unit.WorkspaceMade,
    "workspace.setup": unit.WorkspaceSetup,
    "workspace.locked": unit.WorkspaceLocked,
    "workspace.unlocked": unit.WorkspaceUnlocked,
    "workspace.moving": unit.WorkspaceMoving,
    "workspace.moved": unit.WorkspaceMoved,
    "workspace.resetting": unit.WorkspaceResetting,
    "workspace.swapping": unit.WorkspaceSwapping,
    "workspace.kept": unit.WorkspaceKept,
    "workspace.removing": unit.WorkspaceRemoving,
    "workspace.removed": unit.WorkspaceRemoved,
    "drift.found": unit.DriftFound,
    "drift.over": unit.DriftOver,
    "drift.settled": house.DriftSettled,
    "drift.undoing": house.DriftUndoing,
    "landing.started": landing.LandingStarted,
    "landing.landed": landing.LandingLanded,
    "landing.finished": landing.LandingFinished,
    "landing.undone": landing.LandingUndone,
    "landing.redone": landing.LandingRedone,
    "landing.held": landing.LandingHeld,
    "landing.deepened": landing.LandingDeepened,
    "undo.started": landing.UndoStarted,
    "undo.finished": landing.UndoFinished,
    "resolve.started": landing.ResolveStarted,
    "resolve.recorded": landing.ResolveRecorded,
    "resolve.finished": landing.ResolveFinished,
    "resolve.forgotten": landing.ResolveForgotten,
    "verify.passed": house.VerifyPassed,
    "trash.kept": house.TrashKept,
    "trash.files": house.TrashFiles,
    "rescue.restored": house.RescueRestored,
    "gc.step": house.GcStepped,
    "gc.done": house.GcDone,
    "ledger.compacted": house.LedgerCompacted,
    "ledger.reserve": house.LedgerReserve,
    "ledger.restored": house.LedgerRestored,
}


def read_payload(kind: str, facts: Facts) -> Payload | None:
    """Return what an event says; a fact of another shape than it must have counts as not said.

    What is not known here is kept, that of a kind of a version to come too: a state takes from it what it knows. None
    where something is missing that the event is nothing without.
    """
    known = KINDS.get(kind)
    if known is None:
        # Under its own name, so that who passes it on passes on what it was.
        return Payload.read(facts).into(Payload, kind=kind)
    try:
        return known.read(facts)
    except OddFact:
        return None

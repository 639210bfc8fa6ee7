"""What happens to units and workspaces, a class for each kind of event; a unit's state is the sum of what they say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from gitprun.ledger.record import TypedRecord
from gitprun.ledger.rows import (
    DriftRow,
    EarlierRow,
    EndingRow,
    ExitRow,
    Identity,
    LeavingRow,
    LeftOutRow,
    LockRow,
    MoveRow,
    RejectedRow,
    ResetRow,
    SpecRow,
    StallRow,
    StopRow,
    VerdictRow,
)
from gitprun.supervisor.process import ProcessIdentity


class Payload(TypedRecord):
    """What an event says; ``kind`` is the name of the event on disk."""

    kind: ClassVar[str] = ""


class UnitPart(Payload):
    """What an event of a unit or a workspace says: each field stays true until another event says otherwise."""


class Errand(UnitPart):
    """Who does a piece of work, how, and in whose care."""

    executor: str = ""
    mode: str = ""
    coordinator: ProcessIdentity | None = None
    slug: str = ""
    log: str = ""
    sandbox: str = ""
    walled: bool = False


class PlaceFacts(UnitPart):
    """A folder to work in: ``path``, what it stands on and what it was filled with.

    ``workspace`` is clone, worktree or scratch; ``branch`` is None where it is on no branch; ``provided`` are the
    paths that were put in beside what the commit holds.
    """

    # Without all of these nobody can tell which folder is meant.
    together: ClassVar[tuple[str, ...]] = ("path", "workspace", "identity")

    workspace: str = ""
    path: str = ""
    identity: Identity | None = None
    # File systems give inode numbers out again: only with the btime do they name one folder for good.
    birth: int | None = None
    branch: str | None = None
    base: str | None = None
    provided: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class UnitQueued(Errand):
    """A run has this unit to do."""

    kind = "unit.queued"

    spec: SpecRow | None = None


class UnitPreparing(Errand, PlaceFacts):
    """An attempt begins; nothing the one before it said holds any more, but what was asked for.

    ``thread`` is the conversation it goes on with, in the workspace that is there.
    """

    kind = "unit.preparing"

    attempt: int = 0
    earlier: tuple[EarlierRow, ...] = ()
    thread: str | None = None


class UnitPrepared(PlaceFacts):
    """The workspace of an attempt is there; it took so many ``seconds``."""

    kind = "unit.prepared"

    seconds: float = 0.0


class UnitStarted(UnitPart):
    """The worker runs; ``mark`` is in the environment of all it starts."""

    kind = "unit.started"

    # A pid alone may be somebody else's by the time it is read: it is kept with start time and boot.
    process: ProcessIdentity | None = None
    program: str = ""
    log: str = ""
    mark: str = ""


class UnitExited(UnitPart):
    """The worker ended."""

    kind = "unit.exited"

    # How the program ended, and what its executor read out of the output: the two may disagree.
    exit: ExitRow | None = None
    ending: EndingRow | None = None


class UnitCaptured(UnitPart):
    """All a worker did is in one commit, or there was nothing; ``committed`` says so of a named workspace.

    ``kept`` are refs and commits beside it, ``inner`` submodules with commits of their own, ``stray`` a branch of
    the worker's that is not in it, ``gate`` what it changes of its own checks.
    """

    kind = "unit.captured"
    # `outcome` on disk is a record where a unit waits, and a word here: the fields need names of their own.
    on_disk: ClassVar[Mapping[str, str]] = {"committed": "outcome", "checked": "verdict"}

    tree: str | None = None
    changed: tuple[str, ...] = ()
    files: int | None = None
    left_out: tuple[LeftOutRow, ...] = ()
    kept: tuple[tuple[str, str], ...] = ()
    own_commits: tuple[str, ...] = ()
    rejected: tuple[RejectedRow, ...] = ()
    unfinished: str | None = None
    stray: str = ""
    collect_notes: tuple[str, ...] = ()
    inner: tuple[str, ...] = ()
    # None before it was looked at: for a workspace of the user's nothing is outside.
    outside: tuple[str, ...] | None = None
    gate: tuple[str, ...] = ()
    commit: str | None = None
    ref: str | None = None
    branch_note: str = ""
    committed: str = ""
    # A capture made anew takes the verdict of the old one back.
    checked: VerdictRow | None = None


class UnitVerifying(UnitPart):
    """The checks of a unit begin."""

    kind = "unit.verifying"


class UnitVerified(UnitPart):
    """The checks came to a verdict on ``tree``; ``verify_changed`` are the paths they changed in the workspace."""

    kind = "unit.verified"
    # ``verdict`` is a property of a unit's state, so the field cannot be called that.
    on_disk: ClassVar[Mapping[str, str]] = {"checked": "verdict"}

    checked: VerdictRow | None = None
    # A verdict counts for this tree, and for no other one.
    tree: str | None = None
    verify_changed: tuple[str, ...] = ()
    check_notes: tuple[str, ...] = ()
    verify_in: str = ""


class UnitRechecked(UnitPart):
    """The checks could not be asked again; the verdict stays."""

    kind = "unit.rechecked"

    check_notes: tuple[str, ...] = ()


class UnitFinished(UnitPart):
    """The unit is over, in its ``final`` state; ``failure`` names what kept its worker from a result."""

    kind = "unit.finished"
    # ``state`` is where a unit stands now; what it ended in is a fact beside it.
    on_disk: ClassVar[Mapping[str, str]] = {"final": "state"}

    final: str = ""
    reason: str = ""
    hint: str = ""
    failure: str = ""
    fallback: bool | None = None
    result_problems: tuple[str, ...] = ()


class UnitWaiting(UnitPart):
    """An attempt is over, or the first one not begun: the next begins at ``until``.

    ``outcome`` is how the unit ends if there is none. ``failure`` is not said where it waits for its service alone.
    """

    kind = "unit.waiting"

    until: float = 0.0
    failure: str = ""
    reason: str = ""
    outcome: UnitFinished | None = None


class UnitWatched(UnitPart):
    """What a look around a worker found, besides drift: of what is linked into its workspace, or that it was none."""

    kind = "unit.watched"

    drift_note: str = ""
    linked: tuple[str, ...] = ()
    linked_more: int = 0
    linked_note: str = ""


class UnitStalled(UnitPart):
    """Nothing has come of the worker for too long."""

    kind = "unit.stalled"

    stalled: StallRow | None = None


class UnitMoving(UnitPart):
    """Something comes of the worker again."""

    kind = "unit.moving"

    # Written as null, which takes back what ``unit.stalled`` said.
    stalled: StallRow | None = None


class UnitStopAsked(UnitPart):
    """Somebody asked for the unit to stop."""

    kind = "unit.stop-asked"

    stop: StopRow | None = None


class WorkspaceMade(PlaceFacts):
    """A named workspace is there, or there anew; ``adopted``: the user had made it."""

    kind = "workspace.made"
    needed: ClassVar[tuple[str, ...]] = ("path", "workspace", "identity", "branch")

    setup: str = ""
    adopted: bool = False


class WorkspaceSetup(UnitPart):
    """How the setup of a named workspace went: done, failed or not run."""

    kind = "workspace.setup"

    setup: str = ""


class WorkspaceLocked(UnitPart):
    """A workspace is locked against its removal."""

    kind = "workspace.locked"

    lock: LockRow | None = None


class WorkspaceUnlocked(UnitPart):
    """A workspace is not locked any more."""

    kind = "workspace.unlocked"

    # Null: the lock that was written down before does not hold any more.
    lock: LockRow | None = None


class WorkspaceMoving(UnitPart):
    """A workspace is about to be moved."""

    kind = "workspace.moving"

    moving: MoveRow | None = None


class WorkspaceMoved(UnitPart):
    """A workspace is at ``path`` now."""

    kind = "workspace.moved"

    path: str = ""
    # Null: the move is over, so none is gone on with after a kill.
    moving: MoveRow | None = None


class WorkspaceResetting(UnitPart):
    """A fresh folder is about to be made beside a named workspace."""

    kind = "workspace.resetting"

    reset: ResetRow | None = None


class WorkspaceSwapping(UnitPart):
    """The fresh folder is whole and about to take the place of the old one."""

    kind = "workspace.swapping"

    reset: ResetRow | None = None


class WorkspaceKept(UnitPart):
    """A reset was given up: the workspace is as it was."""

    kind = "workspace.kept"

    # Null: nothing is left of the reset that a later command would have to finish.
    reset: ResetRow | None = None


class WorkspaceRemoving(UnitPart, LeavingRow):
    """A folder is about to go; ``trash`` is where it waits for that meanwhile, with its device and inode."""

    kind = "workspace.removing"

    trash: tuple[str, int, int] | None = None


class WorkspaceRemoved(UnitPart):
    """A workspace is gone."""

    kind = "workspace.removed"

    removed: bool = False


class DriftFound(UnitPart):
    """The user's repository changed while workers ran; the event is of one of them, or of none."""

    kind = "drift.found"

    drift: DriftRow | None = None


class DriftOver(UnitPart):
    """Nothing that changed holds the unit up any more."""

    kind = "drift.over"

    drift: DriftRow | None = None


class UnitFacts(
    UnitQueued,
    UnitPreparing,
    UnitPrepared,
    UnitStarted,
    UnitExited,
    UnitCaptured,
    UnitVerified,
    UnitRechecked,
    UnitWaiting,
    UnitFinished,
    UnitWatched,
    UnitStalled,
    UnitStopAsked,
    WorkspaceSetup,
    WorkspaceLocked,
    WorkspaceMoved,
    WorkspaceResetting,
    WorkspaceRemoving,
    WorkspaceRemoved,
    DriftFound,
):
    """All that events say of a unit."""

    kind: ClassVar[str] = ""
    on_disk: ClassVar[Mapping[str, str]] = {**UnitFinished.on_disk, **UnitCaptured.on_disk}

    adopted: bool = False

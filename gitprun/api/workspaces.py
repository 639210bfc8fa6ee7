"""What is published of workspaces and of what is kept: listed, made, adopted, removed, pinned, brought back."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gitprun.api.schema import OPTIONAL, PRIVATE


@dataclass(frozen=True, slots=True, kw_only=True)
class OrphanedWorkspace:
    """A folder that looks like a workspace and that no row of the ledger knows."""

    name: str
    run: str
    unit: str
    kind: str
    state: str
    path: str
    there: bool
    branch: str | None
    base: str | None
    since: float | None
    locked: str | None
    ahead: int | None
    dirty: int | None
    size: int | None
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceStatus(OrphanedWorkspace):
    """One workspace; ``state`` is its unit's, ``orphan`` (nobody knows it) or ``yours`` (a worktree prun never made).

    ``there``: its folder is the one prun made; ``ahead`` counts commits of its own, ``dirty`` files that are in no
    commit of prun's (null: that cannot be told), ``size`` is in bytes, ``since`` in seconds since 1970, ``age`` in
    seconds.
    """

    age: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspaces:
    """All workspaces: of units, the user's own, and those that only the disk or git knows."""

    workspaces: tuple[WorkspaceStatus, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class NewWorkspace:
    """A workspace that was made; ``provided`` was copied or linked into it, ``setup`` says how making it ready went."""

    name: str
    path: str
    branch: str
    base: str
    workspace: str
    provided: tuple[str, ...]
    notes: tuple[str, ...]
    setup: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptedWorkspace:
    """A folder that was taken in; ``saved`` pins what is in no commit there, ``own`` counts commits of its own."""

    name: str
    path: str
    branch: str
    base: str
    workspace: str
    saved: str | None
    kept: tuple[str, ...]
    notes: tuple[str, ...]
    own: int = field(default=0, metadata=PRIVATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class MovedWorkspace:
    """A workspace that was moved by hand and is known again."""

    name: str
    path: str
    moved: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class ResetWorkspace:
    """A workspace that was filled anew from ``base``: ``saved`` and ``trash`` pin what it held.

    ``kept`` is the folder in which ignored files lie that no tool makes again, ``kept_files`` names them; ``discarded``
    are those that went all the same, as was asked for.
    """

    name: str
    base: str
    path: str
    branch: str
    saved: str | None
    trash: str | None
    ignored: tuple[str, ...]
    kept: str
    kept_files: tuple[str, ...]
    discarded: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedWorkspace:
    """What became of one workspace: removed or not and why, what was pinned before, which ignored files are kept.

    ``stashed`` are entries of the user's stash that were made there.
    """

    run: str
    unit: str
    path: str = field(default="", metadata=OPTIONAL)
    removed: bool
    saved: str | None = None
    ignored: tuple[str, ...] = ()
    kept: str = ""
    kept_files: tuple[str, ...] = ()
    discarded: tuple[str, ...] = ()
    stashed: tuple[str, ...] = ()
    reason: str = ""
    hint: str = field(default="", metadata=OPTIONAL)
    failed: bool = field(default=False, metadata=OPTIONAL)
    pinned: bool = field(default=False, metadata=PRIVATE)

    @property
    def name(self) -> str:
        """Return the name people use for it: ``RUN/UNIT``, or its own."""
        return self.unit if self.run == "named" else f"{self.run}/{self.unit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class RemovedWorkspaces:
    """What became of the workspaces that were to go."""

    workspaces: tuple[RemovedWorkspace, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbageStep:
    """One thing that goes, or would: a path or ref, why that is safe, its bytes, and what kept it from being done.

    ``kept`` is the folder in which ignored files of a workspace are kept.
    """

    kind: str
    what: str
    why: str
    size: int
    of: str
    oid: str
    done: bool
    problem: str
    kept: str = field(default="", metadata=OPTIONAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbageStay:
    """One thing that stays although one might expect it to go."""

    what: str
    why: str
    hint: str


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbageCollected:
    """What was removed because nobody needs it, or with a dry run would be; ``size`` and ``freed`` are in bytes."""

    dry_run: bool
    steps: tuple[GarbageStep, ...]
    stays: tuple[GarbageStay, ...]
    size: int
    freed: int

    @property
    def good(self) -> bool:
        """Check whether all that was tried was done."""
        return not any(step.problem for step in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class PinLabel:
    """What is pinned: ``kind`` is captured, kept, attempt, base, trash, undone, resolve, baseline or other.

    ``source`` is the ref something in the trash was pinned by before, ``day`` since when it is there, ``name`` whose
    work it is.
    """

    kind: str
    run: str
    unit: str
    channel: str
    source: str
    day: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PinnedWork:
    """One pinned commit: when it was made (seconds since 1970), what it says, how many files it changes, their bytes.

    ``whole`` is false where its objects are not all there.
    """

    ref: str
    commit: str
    label: PinLabel
    time: float
    subject: str
    files: int
    size: int
    whole: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class QuarantinedWork:
    """Work of a worker that was not taken over, and why; ``path`` is the folder that keeps it, ``size`` in bytes."""

    path: str
    run: str
    unit: str
    reason: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class IgnoredFiles:
    """Ignored files that were kept of one workspace: whose they were, since which day, where they lie."""

    name: str
    day: str
    folder: str
    paths: tuple[str, ...]
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Pinned:
    """All that is pinned, and what is kept that no ref pins."""

    pinned: tuple[PinnedWork, ...]
    orphans: tuple[OrphanedWorkspace, ...]
    rejected: tuple[QuarantinedWork, ...]
    files: tuple[IgnoredFiles, ...] = field(default=(), metadata=OPTIONAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptIgnored:
    """The ignored files that are kept."""

    ignored: tuple[IgnoredFiles, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredRef:
    """What was brought back: the ref it came from, the branch or the folder it is in now, whether that is ``new``."""

    ref: str
    commit: str
    branch: str
    folder: str
    new: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredWork:
    """All that was brought back."""

    restored: tuple[RestoredRef, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RestoredFiles:
    """The folders into which ignored files were copied."""

    restored: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerProblemFound:
    """One thing that is not as the ledger says: ``lost``, or only worth a ``note``; ``todo`` may be empty."""

    level: Literal["lost", "note"]
    what: str
    problem: str
    todo: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerChecked:
    """What was looked at, in numbers, and what was found; ``ok``: nothing is lost."""

    ok: bool
    rows: int
    runs: int
    units: int
    refs: int
    landings: int
    workspaces: int
    findings: tuple[LedgerProblemFound, ...]

    @property
    def lost(self) -> int:
        """Return how many things are lost."""
        return sum(one.level == "lost" for one in self.findings)

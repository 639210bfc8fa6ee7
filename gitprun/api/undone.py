"""What is published of landings that are over or stuck: taken back, put back, open for a person."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from gitprun.api.schema import OPTIONAL, PRIVATE, Json


@dataclass(frozen=True, slots=True, kw_only=True)
class UndoneBranch:
    """One branch taken (or brought) back; ``by`` is the commit that did so, empty where the target was moved."""

    branch: str
    commit: str
    run: str
    unit: str
    by: str

    @property
    def name(self) -> str:
        """Return what every command takes it by."""
        return f"{self.run}/{self.unit}" if self.unit else self.branch


@dataclass(frozen=True, slots=True, kw_only=True)
class Undone:
    """What an undo did, or with a dry run would do: ``target`` went from ``old`` to ``new``.

    ``forgotten`` are paths resolved by hand, which are asked about anew.
    """

    landing: int
    target: str
    old: str
    new: str
    way: Literal["moved", "reverted", "redone"]
    items: tuple[UndoneBranch, ...]
    notes: tuple[str, ...]
    dry_run: bool
    forgotten: tuple[str, ...] = field(default=(), metadata=OPTIONAL)
    news: tuple[str, ...] = field(default=(), metadata=PRIVATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class LandedMerge:
    """One merge of a landing; ``undone`` says how it was taken back (empty: it stands), ``by`` the commit of that."""

    branch: str
    commit: str
    tip: str
    run: str
    unit: str
    undone: str
    by: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PastLanding:
    """One landing that came to its end; ``time`` is in seconds since 1970, ``old`` and ``new`` where its target was.

    ``after`` is the commit of generated files on top, if any.
    """

    number: int
    time: float
    target: str
    old: str
    new: str
    merges: tuple[LandedMerge, ...]
    after: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftChange:
    """One difference in the user's repository: ``gate`` keeps units from landing, ``text`` says it in words."""

    kind: str
    name: str
    old: str
    new: str
    gate: bool
    text: str
    file: str = field(default="", metadata=OPTIONAL)
    why: str = field(default="", metadata=OPTIONAL)
    by: tuple[str, ...] = field(default=(), metadata=OPTIONAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenDrift:
    """What changed while ``units`` ran and waits for an answer; ``texts`` says it, ``time`` is when it was seen."""

    run: str
    id: str
    units: tuple[str, ...]
    sure: bool
    findings: tuple[DriftChange, ...]
    time: float = field(default=0.0, metadata=PRIVATE)
    texts: tuple[str, ...] = field(default=(), metadata=PRIVATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class LandingHistory:
    """All landings, the oldest first, and what workers changed that waits for an answer."""

    landings: tuple[PastLanding, ...]
    drifts: tuple[OpenDrift, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftItem(DriftChange):
    """What came of one difference: ``state`` is put-back, left or refused, ``because`` says why."""

    drift: str
    state: Literal["put-back", "left", "refused"]
    because: str
    words: str = field(default="", metadata=PRIVATE)


@dataclass(frozen=True, slots=True, kw_only=True)
class DriftUndone:
    """What putting back did, or with a dry run would do; ``objects`` counts the object files brought back."""

    units: tuple[str, ...]
    items: tuple[DriftItem, ...]
    notes: tuple[str, ...]
    objects: int
    accepted: bool
    dry_run: bool

    @property
    def done(self) -> bool:
        """Check whether nothing is left that waits for an answer."""
        return all(item.state != "refused" for item in self.items)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenResolution:
    """One branch that is open for a person: ``why`` it did not land, ``paths`` wait for a decision."""

    branch: str
    target: str
    main: str
    tip: str
    why: str
    workspace: str
    paths: tuple[str, ...]
    of: str = field(default="", metadata=OPTIONAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenResolutions:
    """All branches that are open."""

    resolutions: tuple[OpenResolution, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedPath:
    """One path of an opened branch; ``textual``: a text settles it, ``detail`` says what is wrong where it looks so."""

    path: str
    kind: str
    textual: bool
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedBranch:
    """A branch that was opened: in ``workspace`` its files wait, ``report`` is the file that says what about."""

    branch: str
    label: str
    why: str
    conflict: bool
    reason: str
    workspace: str
    report: str
    paths: tuple[OpenedPath, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SettledPath:
    """A path of a conflict that a resolver settles."""

    path: str
    resolver: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvingIntent:
    """What a unit on one of the sides was asked for, and what it says it did."""

    side: str
    unit: str
    prompt: str
    result: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolutionReport:
    """Everything somebody needs to know who is to resolve a branch.

    ``paths`` are those in question with their sides and places in conflict; ``reason``, ``command`` and ``output`` tell
    of a check that failed; ``continue`` is the command that takes the finished files back.
    """

    branch: str
    label: str
    target: str
    workspace: str
    name: str
    why: str
    paths: tuple[ReportedFile, ...]
    reason: str
    command: str
    output: str
    intents: tuple[ResolvingIntent, ...]
    settled: tuple[SettledPath, ...]
    verify: tuple[str, ...]
    proceed: str = field(metadata={"key": "continue"})


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedFile:
    """One path in question: why no resolver settled it, and the commits on either side that changed it.

    ``sides`` are its versions, ``places`` those in conflict as far as they are shown (``more`` are not), ``changes``
    what either side did where no place tells it, ``lines`` those of the merged file that a finding speaks of.
    """

    path: str
    kind: str
    detail: str
    refused: str
    textual: bool
    sides: tuple[Json, ...]
    places: tuple[Json, ...]
    more: int
    changes: tuple[Json, ...]
    lines: tuple[Json, ...]
    policy: str
    main_commits: tuple[str, ...]
    unit_commits: tuple[str, ...]

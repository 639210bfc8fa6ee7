"""What may go, and why that is safe: rules over what was read, and nothing else. What is not provably safe stays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from gitprun.ledger.events import ENDED
from gitprun.model.escapes import shell_word
from gitprun.model.names import TRASH_REFS
from gitprun.recovery.catalog import days_in_trash, read_label
from gitprun.registry.precious import NOTHING, KeptFiles, Precious

# In seconds.
DAY = 86400.0
# A month: who misses something of a run asks within days, and logs of a month fit on any disk.
KEEP_DAYS = 30.0
# Smaller ones gain nothing: a file takes whole blocks, and reading them compressed takes a command more.
LARGE_LOG = 64 << 10
# Nothing of these is waiting to be landed or tried again.
SPENT = frozenset({"landed", "done", "empty"})

StepKind = Literal[
    "removal", "registration", "workspace", "trash-folder", "temporary", "git-folder", "log", "landing-log", "base-pin",
    "trash-ref", "quarantine", "ledger", "snapshot", "tips-pin", "kept-files",
]  # fmt: skip
# In this order things go: what pins work before what it pinned from, refs last.
ORDER: tuple[StepKind, ...] = (
    "removal", "registration", "workspace", "trash-folder", "temporary", "git-folder", "log", "landing-log",
    "snapshot", "quarantine", "tips-pin", "base-pin", "trash-ref", "kept-files",
    "ledger",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class UnitFound:
    """A unit or named workspace as it was found. ``path`` is empty where it has no workspace (any more).

    ``there``: its folder is the very one prun made. ``reachable``: the folder above it is there. ``running``: somebody
    works in its run, or in it. ``dirty`` and ``unpinned`` count files and commits that are pinned nowhere (None: that
    cannot be told), ``left_out`` what its capture left out. ``git_folder`` is where it was captured with (size; 0:
    there is none), ``logs`` are large outputs with their sizes.
    """

    name: str
    run: str
    unit: str
    kind: str
    state: str
    path: str = ""
    there: bool = False
    lexists: bool = False
    reachable: bool = True
    running: bool = False
    broken: bool = False
    locked: str | None = None
    captured: bool = False
    dirty: int | None = None
    unpinned: int | None = None
    left_out: int = 0
    ignored: Precious | None = NOTHING
    ended: float | None = None
    size: int = 0
    git_folder: str = ""
    git_size: int = 0
    logs: tuple[tuple[str, int], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Leftover:
    """A folder or file: when it was last changed (seconds since 1970), its size, whether somebody uses it.

    ``awaited``: somebody may still want to have things put back from it; ``of`` is the run it belongs to.
    """

    path: str
    time: float
    size: int
    used: bool = False
    awaited: bool = False
    of: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFound:
    """A run: its units' states, whether one of them has a workspace, whether somebody works on it, when it ended."""

    id: str
    states: tuple[str, ...]
    workspaces: int
    running: bool
    ended: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class GcInventory:
    """Everything gc looks at, as it was when it looked."""

    units: tuple[UnitFound, ...] = ()
    runs: tuple[RunFound, ...] = ()
    named: frozenset[str] = frozenset()
    trashes: tuple[Leftover, ...] = ()
    temporaries: tuple[Leftover, ...] = ()
    landing_logs: tuple[Leftover, ...] = ()
    quarantine: tuple[Leftover, ...] = ()
    snapshots: tuple[Leftover, ...] = ()
    rejected: tuple[Leftover, ...] = ()
    refs: tuple[tuple[str, str], ...] = ()
    kept_files: tuple[KeptFiles, ...] = ()
    half_kept: tuple[str, ...] = ()
    orphans: tuple[str, ...] = ()
    ledger_runs: int = 0
    ledger_saves: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class GcStep:
    """One thing that goes: what (a path or a ref), why that is safe, how many bytes it takes, whose it is."""

    kind: StepKind
    what: str
    why: str
    size: int = 0
    of: str = ""
    oid: str = ""


@dataclass(frozen=True, slots=True)
class Stay:
    """One thing that stays although one might expect it to go, and why."""

    what: str
    why: str
    hint: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class GcPlan:
    """What goes, in order, and what stays."""

    steps: tuple[GcStep, ...]
    stays: tuple[Stay, ...]

    @property
    def size(self) -> int:
        """Add up what the steps free at most, in bytes."""
        return sum(step.size for step in self.steps)


@dataclass(frozen=True, slots=True, kw_only=True)
class GcScope:
    """What gc was asked for: logs and trash older than ``keep_for`` seconds, and whether ``workspaces`` go as well."""

    keep_for: float = KEEP_DAYS * DAY
    workspaces: bool = False


def plan_gc(found: GcInventory, scope: GcScope, *, now: float) -> GcPlan:
    """Decide what may go.

    Workspaces go only when they are asked for, and only those of which every file and commit is pinned.
    """
    keep_for, workspaces = scope.keep_for, scope.workspaces
    steps: list[GcStep] = []
    stays: list[Stay] = []
    for unit in found.units:
        for row in _of_unit(unit, now - keep_for, workspaces):
            if isinstance(row, GcStep):
                steps.append(row)
            else:
                stays.append(row)
    steps += _of_folders(found, now - keep_for)
    steps += _of_refs(found, now, keep_for)
    stays += [
        Stay(path, "nobody knows it", f"git prun workspace adopt {shell_word(str(path))}") for path in found.orphans
    ]
    stays += [
        Stay(row.path, "work that was rejected when it was to be taken over", "git prun rescue --list")
        for row in found.rejected
    ]
    if found.ledger_saves > 0:
        runs = f"{found.ledger_runs} run{'s' if found.ledger_runs != 1 else ''} that ended long ago"
        what = runs if found.ledger_runs else "what is long over"
        why = f"says the same in fewer lines ({what}); what went is kept compressed"
        steps.append(GcStep(kind="ledger", what="ledger.jsonl", why=why, size=found.ledger_saves))
    steps += _of_kept_files(found, now, keep_for)
    ranks = {kind: rank for rank, kind in enumerate(ORDER)}
    return GcPlan(steps=tuple(sorted(steps, key=lambda step: ranks[step.kind])), stays=tuple(stays))


def _of_unit(unit: UnitFound, before: float, workspaces: bool) -> Iterator[GcStep | Stay]:
    # A user workspace is idle between requests, and never ends by itself.
    over = unit.state in ENDED or (unit.run == "named" and unit.state == "idle")
    if unit.path and not unit.running:
        yield from _of_place(unit, over, workspaces)
    if unit.git_folder and not unit.path and not unit.running and over:
        why = "it served to capture a workspace that is gone; what was captured is pinned"
        yield GcStep(kind="git-folder", what=unit.git_folder, why=why, size=unit.git_size, of=unit.name)
    if over and not unit.running and unit.ended is not None and unit.ended < before:
        for path, size in unit.logs:
            if size >= LARGE_LOG:
                why = "its unit ended long ago; it is compressed, and git prun log reads it as before"
                yield GcStep(kind="log", what=path, why=why, size=size, of=unit.name)


def _of_place(unit: UnitFound, over: bool, workspaces: bool) -> Iterator[GcStep | Stay]:
    """Decide over the workspace of a unit nobody works in."""
    if unit.broken:
        why = "its removal broke off; what was in it was pinned before that"
        yield GcStep(kind="removal", what=unit.path, why=why, size=unit.size, of=unit.name)
    elif not unit.lexists:
        yield from _of_gone(unit, over)
    elif workspaces and unit.run != "named":
        yield _of_workspace(unit)


def _of_gone(unit: UnitFound, over: bool) -> Iterator[GcStep | Stay]:
    if not unit.reachable:
        yield Stay(unit.path, "the folder above it is gone too: perhaps a disk that is not mounted")
    elif unit.locked is not None:
        yield Stay(unit.path, "it is gone, but locked" + (f": {unit.locked}" if unit.locked else ""))
    elif unit.run == "named":
        yield Stay(
            unit.path, f"the folder of the workspace {unit.name} is gone",
            f"git prun remove {unit.name} forgets it; git prun new {unit.name} BRANCH --resume makes it anew",
        )  # fmt: skip
    elif over:
        why = "its folder is gone already; commits that only its registration knows are pinned first"
        yield GcStep(kind="registration", what=unit.path, why=why, of=unit.name)


def _of_workspace(unit: UnitFound) -> GcStep | Stay:
    """Remove a workspace only where nothing in it is the only copy of anything."""
    ignored = unit.ignored or NOTHING
    reasons = (
        (not unit.there, "it is not the folder prun made"),
        (unit.locked is not None, "it is locked" + (f": {unit.locked}" if unit.locked else "")),
        (unit.state not in ENDED, f"its unit is {unit.state}"),
        (not unit.captured, "its work was never captured"),
        (unit.dirty is None, "what changed in it since cannot be told"),
        (bool(unit.dirty), f"files in it that are in no commit: {unit.dirty}"),
        (unit.left_out > 0, f"paths in it that were left out of its commit: {unit.left_out}"),
        (unit.unpinned is None, "its commits cannot be told"),
        (bool(unit.unpinned), f"commits in it that are pinned nowhere: {unit.unpinned}"),
        (unit.ignored is None, "its ignored files cannot be told"),
        (not ignored.is_small, f"it holds much that is ignored and that no tool makes again: {ignored.text}"),
    )
    for true, why in reasons:
        if true:
            return Stay(unit.path, why, f"git prun remove {unit.name}")
    why = f"{unit.name} is {unit.state}, and every file and commit of it is pinned"
    if ignored.paths:
        why += f"; ignored files are kept for 30 days: {ignored.text}"
    return GcStep(kind="workspace", what=unit.path, why=why, size=unit.size, of=unit.name)


def _of_folders(found: GcInventory, before: float) -> Iterator[GcStep]:
    for row in found.trashes:
        if not row.used:
            why = "the rest of a folder that was being removed; what was in it was pinned before"
            yield GcStep(kind="trash-folder", what=row.path, why=why, size=row.size)
    for row in found.temporaries:
        if not row.used:
            why = "temporary files of a worker that is gone"
            yield GcStep(kind="temporary", what=row.path, why=why, size=row.size)
    for row in found.landing_logs:
        if row.time < before:
            yield GcStep(kind="landing-log", what=row.path, why="the log of an old verification", size=row.size)
    for row in found.snapshots:
        if not row.used and (not row.awaited or row.time < before):
            since = "what was changed there was not put back for long" if row.awaited else "nothing is to be put back"
            why = f"a snapshot of your repository from when {row.of} began; {since}"
            yield GcStep(kind="snapshot", what=row.path, why=why, size=row.size, of=row.of)
    for row in found.quarantine:
        if not row.used:
            why = "objects a dead process was taking over; they lie in their workspace still"
            yield GcStep(kind="quarantine", what=row.path, why=why, size=row.size)


def _of_refs(found: GcInventory, now: float, keep_for: float) -> Iterator[GcStep]:
    over = {run.id: _is_over(run, now - keep_for) for run in found.runs}
    for ref, oid in found.refs:
        label = read_label(ref)
        if ref.startswith(TRASH_REFS):
            days = days_in_trash(label.day, now)
            # A day that cannot be read keeps it for ever, rather than letting it go at once.
            if days is not None and days > keep_for / DAY:
                yield GcStep(kind="trash-ref", what=ref, why=f"in the trash for {days} days", oid=oid)
        elif label.channel == "tips":
            run = next((run for run in found.runs if run.id == label.run), None)
            # Of a run that no ledger knows nobody can tell who still borrows from it.
            alone = run is not None and not run.running and not run.workspaces and run.ended is not None
            if label.unit not in found.named if label.run == "named" else alone:
                why = f"no clone of {label.name} is left that could need it"
                yield GcStep(kind="tips-pin", what=ref, why=why, of=f"named/{label.unit}" if label.unit else label.run)
        elif label.kind == "base" and not label.channel:
            spent = label.unit not in found.named if label.run == "named" else over.get(label.run, False)
            if spent:
                whose = label.unit if label.run == "named" else f"run {label.run}"
                why = f"{whose} has no workspace and nothing to land; it goes to the trash first"
                yield GcStep(kind="base-pin", what=ref, why=why, oid=oid)


def _of_kept_files(found: GcInventory, now: float, keep_for: float) -> Iterator[GcStep]:
    for row in found.kept_files:
        days = days_in_trash(row.day, now)
        if days is not None and days > keep_for / DAY:
            why = f"ignored files of a workspace that was removed {days} days ago"
            yield GcStep(kind="kept-files", what=row.folder, why=why, size=row.size, of=row.name)
    for path in found.half_kept:
        days = days_in_trash(path.split("/")[-2], now)
        # A copy that began before midnight may still go on.
        if days is not None and days > 1:
            why = "a copy of ignored files that broke off; the removal was not done then"
            yield GcStep(kind="kept-files", what=path, why=why)


def _is_over(run: RunFound, before: float) -> bool:
    # What may still be worked on, or captured again, may still need its base.
    if run.running or run.workspaces or run.ended is None:
        return False
    if all(state in SPENT for state in run.states):
        return True
    # What was captured and is not landed may still be merged, however old it is.
    waits = {"ready", "unverified"} & set(run.states)
    return run.ended < before and not waits

"""What is kept and for how long: pinned work brought back, what nobody needs removed, the ledger checked."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING

from gitprun.api.opened import Opened
from gitprun.api.settings import find_moved, known_roots
from gitprun.api.workspaces import (
    GarbageCollected,
    GarbageStay,
    GarbageStep,
    IgnoredFiles,
    KeptIgnored,
    LedgerChecked,
    LedgerProblemFound,
    OrphanedWorkspace,
    PinLabel,
    Pinned,
    PinnedWork,
    QuarantinedWork,
    RestoredFiles,
    RestoredRef,
    RestoredWork,
)
from gitprun.ledger.house_events import RescueRestored
from gitprun.model.errors import PrunError, UsageProblem

if TYPE_CHECKING:
    from gitprun.recovery.gc import Done, GcReport
    from gitprun.recovery.gc_plan import GcPlan, GcStep
    from gitprun.recovery.rescue import PinnedCommit
    from gitprun.registry.precious import KeptFiles

# Long enough to come back from a holiday and find what was let go the day before it.
KEEP_FOR = "30d"


def read_pinned(opened: Opened, names: Sequence[str] = ()) -> Pinned:
    """Return what is pinned, by names or all of it; with all of it what no ref pins, too. No ledger is needed."""
    from gitprun.capture.quarantine import list_quarantine
    from gitprun.recovery.rescue import choose, list_pinned
    from gitprun.registry.ignored import list_kept

    pinned = list_pinned(opened.repository)
    if names:
        return Pinned(pinned=tuple(map(_pinned, choose(pinned, names))), orphans=(), rejected=())
    rejected = tuple(
        QuarantinedWork(path=str(row.place), run=row.run, unit=row.unit, reason=row.reason, size=row.size)
        for row in list_quarantine(opened.repository)
    )
    return Pinned(
        pinned=tuple(map(_pinned, pinned)),
        orphans=_orphans(opened),
        rejected=rejected,
        files=tuple(map(_ignored, list_kept(opened.repository.state))),
    )


def _pinned(one: PinnedCommit) -> PinnedWork:
    label = PinLabel(**asdict(one.label), name=one.label.name)
    known = {row.name: getattr(one, row.name) for row in fields(one) if row.name != "label"}
    return PinnedWork(label=label, **known)


def _ignored(one: KeptFiles) -> IgnoredFiles:
    return IgnoredFiles(name=one.name, day=one.day, folder=str(one.folder), paths=tuple(one.paths), size=one.size)


def _orphans(opened: Opened) -> tuple[OrphanedWorkspace, ...]:
    """Find folders nobody knows; where the ledger cannot be read, they cannot be told from workspaces."""
    from gitprun.api.unpinned import warn_unpinned
    from gitprun.registry.orphans import find_orphans

    try:
        reading = opened.read()
        found = find_orphans(opened.repository, reading, known_roots(opened))
        warn_unpinned(opened, tuple(reading.history.runs.values()), reading.events)
    except (PrunError, OSError) as problem:
        opened.warn(f"workspaces were not looked for: {problem}")
        return ()
    rows = (row for row in found if row.state == "orphan")
    return tuple(OrphanedWorkspace(**{one.name: getattr(row, one.name) for one in fields(row)}) for row in rows)


def restore(
    opened: Opened, names: Sequence[str], *, branch: str | None = None, folder: str | None = None
) -> RestoredWork:
    """Bring pinned work back as branches, which never replace one, or as files in a new ``folder``."""
    from gitprun.recovery.rescue import choose, list_pinned, only_captured, restore_branches, restore_files

    if branch and folder:
        raise UsageProblem("--to and --into cannot be given together", "leave one of them out")
    chosen = choose(list_pinned(opened.repository), names)
    if folder is not None:
        done = restore_files(opened.repository, chosen, Path(os.path.abspath(opened.start / folder)))
    else:
        chosen = only_captured(chosen) if branch and len(names) == 1 else chosen
        done = restore_branches(opened.repository, chosen, to=branch)
    try:
        rows = [(RescueRestored.build(asdict(one)), "", "") for one in done]
        if rows:
            opened.ledger.append_all(rows)
    except (PrunError, OSError) as problem:
        # A ledger that cannot be written hinders nobody: the work is back already.
        opened.warn(f"not written down: {problem}")
    return RestoredWork(
        restored=tuple(
            RestoredRef(ref=one.ref, commit=one.commit, branch=one.branch, folder=str(one.folder), new=one.new)
            for one in done
        )
    )


def kept_ignored(opened: Opened, names: Sequence[str] = ()) -> KeptIgnored:
    """Return the ignored files that are kept of removed workspaces, by names or all."""
    from gitprun.registry.ignored import choose_kept, list_kept

    kept = list_kept(opened.repository.state)
    return KeptIgnored(ignored=tuple(map(_ignored, choose_kept(kept, names) if names else kept)))


def restore_ignored(opened: Opened, names: Sequence[str], folder: str) -> RestoredFiles:
    """Copy ignored files that are kept into a new folder."""
    from gitprun.registry.ignored import choose_kept, list_kept, restore_kept

    kept = list_kept(opened.repository.state)
    chosen = choose_kept(kept, names) if names else kept
    done = restore_kept(chosen, Path(os.path.abspath(opened.start / folder)))
    return RestoredFiles(restored=tuple(map(str, done)))


def hear_no_plan(_planned: GarbageCollected) -> None:
    """Let what is planned go unheard."""


def collect_garbage(
    opened: Opened,
    *,
    older_than: str = KEEP_FOR,
    workspaces: bool = False,
    dry_run: bool = False,
    planned: Callable[[GarbageCollected], None] = hear_no_plan,
) -> GarbageCollected:
    """Remove what nobody needs: rests of what broke off, old logs, spent pins, old trash, and workspaces if asked.

    ``planned`` hears what goes before anything does. Nothing that is the only copy of anything ever goes.
    """
    from gitprun.git.command import require_git
    from gitprun.recovery.gc import collect_garbage as collect
    from gitprun.recovery.gc_plan import GcScope

    keep_for = parse_age(older_than)
    require_git(opened.start)
    find_moved(opened)
    opened.read()
    report = collect(
        opened.repository,
        opened.ledger,
        known_roots(opened),
        GcScope(keep_for=keep_for, workspaces=workspaces),
        dry_run=dry_run,
        announce=lambda plan: planned(_collected(plan, None, dry_run=dry_run)),
    )
    return _collected(report.plan, report, dry_run=dry_run)


def parse_age(text: str) -> float:
    """Return the seconds of a length of time, which may have days: 30d, 1d12h, 90m; raises UsageProblem."""
    from gitprun.model.tables import parse_duration

    # Five digits are three centuries: more is a slip of the keyboard.
    found = re.fullmatch(r"(?:([0-9]{1,5})d)?(.*)", text.strip())
    days, rest = (found[1], found[2].strip()) if found else (None, text)
    more = parse_duration(rest) if rest else (0.0 if days is not None else None)
    if more is None:
        raise UsageProblem(f"--older-than: invalid age {text!r}", "such as 30d, 12h or 90m")
    return int(days or 0) * 86400.0 + more


def _collected(plan: GcPlan, report: GcReport | None, *, dry_run: bool) -> GarbageCollected:
    done = {(one.step.kind, one.step.what): one for one in report.done} if report is not None else {}
    return GarbageCollected(
        dry_run=dry_run,
        steps=tuple(_step(step, done.get((step.kind, step.what))) for step in plan.steps),
        stays=tuple(GarbageStay(what=stay.what, why=stay.why, hint=stay.hint) for stay in plan.stays),
        size=plan.size,
        freed=report.freed if report is not None else 0,
    )


def _step(step: GcStep, one: Done | None) -> GarbageStep:
    return GarbageStep(
        kind=step.kind,
        what=step.what,
        why=step.why,
        size=step.size,
        of=step.of,
        oid=step.oid,
        done=one is not None and not one.problem,
        problem=one.problem if one is not None else "",
        kept=str(one.kept) if one is not None else "",
    )


def check_ledger(opened: Opened) -> LedgerChecked:
    """Compare the ledger with the refs and the disk; raises LedgerProblem where it cannot be read."""
    from gitprun.recovery.ledger_check import check_ledger as check

    found = check(opened.repository, opened.ledger, known_roots(opened))
    findings = tuple(
        LedgerProblemFound(level=one.level, what=one.what, problem=one.problem, todo=one.todo) for one in found.findings
    )
    return LedgerChecked(
        ok=not found.lost,
        rows=found.rows,
        runs=found.runs,
        units=found.units,
        refs=found.refs,
        landings=found.landings,
        workspaces=found.workspaces,
        findings=findings,
    )

"""Ask the checks of a captured unit again: the verdict and what follows from it are written at once, or not at all."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, cast

from gitprun.capture.capture import Capture, CaptureContext, capture, require_ended
from gitprun.git.refs import open_repository
from gitprun.git.repo import Repository
from gitprun.git.trees import tree_of
from gitprun.ledger.events import RunState, UnitState, base_of
from gitprun.ledger.outcome import explain_unit, judge_unit, judge_worker
from gitprun.ledger.review import read_result_text, unit_folder
from gitprun.ledger.unit_events import UnitFinished, UnitVerified
from gitprun.model.contract import parse_result
from gitprun.model.errors import PrunError
from gitprun.model.names import Oid
from gitprun.model.units import Exit, ExitReason, Unit, Verdict
from gitprun.registry.remove import recall_workspace
from gitprun.registry.survivors import living_survivors
from gitprun.runs.context import Attempt, RunContext, open_site
from gitprun.runs.finish import ask_checks
from gitprun.system.files import folder_identity
from gitprun.workspaces.clone import read_source
from gitprun.workspaces.pins import started_with

Where = Literal["workspace", "pristine"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rechecked:
    """What asking again came to; ``where`` the checks ran, and ``why`` that was not the workspace.

    ``state`` is the unit's now. Without ``recorded`` it is the one it had: the checks were stopped.
    """

    unit: UnitState
    verdict: Verdict
    state: str
    reason: str
    where: Where
    why: str = ""
    recorded: bool = False
    notes: tuple[str, ...] = ()


def is_checkable(unit: UnitState) -> bool:
    """Check whether another verdict can change what a unit is: its worker ended well, and its work is captured."""
    ended = unit.exit is not None and worker_state(unit) is None
    return ended and unit.commit is not None and unit.state in ("ready", "unverified") and not unit.unfinished


def could_not_run(unit: UnitState) -> bool:
    """Check whether a unit waits for a verdict that its checks could not give, or were stopped before."""
    return unit.state == "unverified" and unit.verdict == "could-not-run" and is_checkable(unit)


def recheck(context: RunContext, run: RunState, known: UnitState, spec: Unit) -> Rechecked:
    """Run the checks of a unit again, in its workspace if that is as it was captured, else on its commit alone.

    The caller keeps everybody else from the unit. On a request to stop everything stays as it was.
    """
    assert known.commit is not None
    repository, commit = context.repository, Oid(known.commit)
    require_ended(living_survivors(unit_folder(repository.state, known)))
    tree = Oid(tree_of(open_repository(repository.common), commit))
    site, found, why = _workspace_of(context, run, known, tree)
    logs = _free_folder(context.folder(spec))
    verdict, noted = ask_checks(context, spec, tree, commit, site=site, found=found, logs=logs)
    where: Where = "pristine" if site is None or noted.verify_in == "pristine" else "workspace"
    said = known.reason
    notes = noted.check_notes
    if context.stop.is_set():
        return Rechecked(unit=known, verdict=verdict, state=known.state, reason=said, where=where, why=why, notes=notes)
    result = parse_result(read_result_text(unit_folder(repository.state, known)), spec.id)
    state = judge_unit(None, spec.mode, changed=True, unfinished=False, verdict=verdict.state, result=result.valid)
    reason = explain_unit(state, None, "", unfinished=None, verdict=verdict.reason, result=result)
    # One write: whoever is killed now leaves the old verdict or the new one, and what goes with it.
    finished = UnitFinished(final=state, reason=reason, hint="")
    context.ledger.append_all(
        [
            (UnitVerified(check_notes=(), verify_in="").joined(noted), context.run, spec.id),
            (finished, context.run, spec.id),
        ]
    )
    return Rechecked(
        unit=known, verdict=verdict, state=state, reason=reason, where=where, why=why, recorded=True, notes=notes
    )


def _workspace_of(
    context: RunContext, run: RunState, known: UnitState, tree: Oid
) -> tuple[CaptureContext | None, Capture | None, str]:
    """Return the workspace of a unit if it is there and holds exactly this tree; else say why it does not serve."""
    if not known.there or known.identity is None or folder_identity(Path(known.path)) != known.identity:
        return None, None, "its workspace is gone"
    try:
        workspace = recall_workspace(context.repository.state, known)
        site = open_site(context, attempt_of(context.repository, run, known), workspace)
        with index_kept(site):
            found = capture(site, context.run, known.id)
    except (PrunError, OSError) as problem:
        said = problem.message if isinstance(problem, PrunError) else str(problem.strerror)
        return None, None, f"its workspace cannot be used: {said}"
    if found.tree != tree:
        return None, None, "its workspace was changed since"
    return site, found, ""


def _free_folder(folder: Path) -> Path:
    """Return a folder for logs that is not there yet: an old verdict keeps the logs it speaks of."""
    number = 2
    while os.path.lexists(free := folder / f"checked-{number}"):
        number += 1
    return free


def attempt_of(repository: Repository, run: RunState, unit: UnitState) -> Attempt:
    """Return what the last attempt at a unit started from, with all its commits known."""
    own = {unit.commit} if unit.commit else set()
    base = Oid(base_of(run, unit))
    known = unit.earlier_commits | own | started_with(repository, run.id)
    return Attempt(number=unit.attempt, base=base, source=read_source(repository), known=known)


@contextmanager
def index_kept(site: CaptureContext) -> Iterator[list[bool]]:
    """Give the index back as it was, unless the block says that what it staged is committed."""
    index = site.workspace.index
    assert index is not None
    before = index.with_name("index.before")
    shutil.copy2(index, before)
    brought: list[bool] = []
    try:
        yield brought
    finally:
        if brought:
            before.unlink()
        else:
            os.replace(before, index)


def worker_state(unit: UnitState) -> str | None:
    """Judge the worker of a unit alone, by what is written down of its end."""
    record, ending = unit.exit, unit.ending
    assert record is not None
    ended = Exit(
        code=record.code,
        signal=record.signal,
        reason=cast("ExitReason", record.reason),
        seconds=record.seconds,
        detail=record.detail,
    )
    return judge_worker(ended, ending.state or "unknown" if ending is not None else "unknown")

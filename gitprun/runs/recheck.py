"""Ask the checks of a captured unit again: the verdict and what follows from it are written at once, or not at all."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gitprun.capture.capture import Capture, CaptureContext, capture, require_ended
from gitprun.capture.context import index_kept
from gitprun.git.refs import open_repository
from gitprun.git.trees import tree_of
from gitprun.ledger.events import RunState, UnitState
from gitprun.ledger.outcome import judge_worker
from gitprun.ledger.review import read_result_text, unit_folder
from gitprun.ledger.unit_events import UnitFinished, UnitVerified
from gitprun.model.contract import parse_result
from gitprun.model.errors import PrunError
from gitprun.model.names import Oid
from gitprun.model.units import Unit, Verdict
from gitprun.registry.rest import recall_workspace
from gitprun.registry.survivors import living_survivors
from gitprun.runs.context import RunContext, open_unit_capture
from gitprun.runs.finish import WorkToCheck, ask_checks, judge_work, recall_capture
from gitprun.runs.next_attempt import recall_attempt
from gitprun.system.files import folder_identity

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
    # It may still write: a verdict on a workspace that changes says nothing.
    require_ended(living_survivors(unit_folder(repository.state, known)))
    tree = Oid(tree_of(open_repository(repository.common), commit))
    site, found, why = _workspace_of(context, run, known, tree)
    logs = _free_folder(context.folder(spec))
    verdict, noted = ask_checks(context, spec, WorkToCheck(tree=tree, commit=commit, site=site, found=found), logs)
    where: Where = "pristine" if site is None or noted.verify_in == "pristine" else "workspace"
    said = known.reason
    notes = noted.check_notes
    # A check that was ended says nothing; the old verdict stays as it is.
    if context.stop.is_set():
        return Rechecked(unit=known, verdict=verdict, state=known.state, reason=said, where=where, why=why, notes=notes)
    result = parse_result(read_result_text(unit_folder(repository.state, known)), spec.id)
    # Only whole work of a worker that ended well comes here: what was captured of it has not changed since.
    outcome = judge_work(spec, None, "", found=recall_capture(known) or found, verdict=verdict, result=result)
    # One write: whoever is killed now leaves the old verdict or the new one, and what goes with it.
    finished = UnitFinished(final=outcome.state, reason=outcome.reason, hint="")
    context.ledger.append_all(
        [
            (UnitVerified(check_notes=(), verify_in="").joined(noted), context.run, spec.id),
            (finished, context.run, spec.id),
        ]
    )
    return Rechecked(
        unit=known,
        verdict=verdict,
        state=outcome.state,
        reason=outcome.reason,
        where=where,
        why=why,
        recorded=True,
        notes=notes,
    )


def _workspace_of(
    context: RunContext, run: RunState, known: UnitState, tree: Oid
) -> tuple[CaptureContext | None, Capture | None, str]:
    """Return the workspace of a unit if it is there and holds exactly this tree; else say why it does not serve."""
    if not known.there or known.identity is None or folder_identity(Path(known.path)) != known.identity:
        return None, None, "its workspace is gone"
    try:
        workspace = recall_workspace(context.repository.state, known)
        site = open_unit_capture(context, recall_attempt(context.repository, run.base, known), workspace)
        with index_kept(site):
            # Only a look: what it stages is nowhere committed.
            found = capture(site, context.run, known.id)
    except (PrunError, OSError) as problem:
        said = problem.message if isinstance(problem, PrunError) else str(problem.strerror)
        return None, None, f"its workspace cannot be used: {said}"
    # Somebody worked on in there: a verdict on that would be taken for one on the commit.
    if found.tree != tree:
        return None, None, "its workspace was changed since"
    return site, found, ""


def _free_folder(folder: Path) -> Path:
    """Return a folder for logs that is not there yet: an old verdict keeps the logs it speaks of."""
    number = 2
    while os.path.lexists(free := folder / f"checked-{number}"):
        number += 1
    return free


def worker_state(unit: UnitState) -> str | None:
    """Judge the worker of a unit alone, by what is written down of its end."""
    assert unit.exit is not None
    return judge_worker(unit.exit, (unit.ending.state if unit.ending is not None else "") or "unknown")

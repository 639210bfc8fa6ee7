"""Capture a unit that is over once more, with what was left out and is asked for; then it is verified as before."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

from gitprun.capture.capture import Capture, CaptureContext, capture, changed_paths, require_ended
from gitprun.capture.classification import included
from gitprun.capture.context import index_kept
from gitprun.git.refs import move_ref, read_ref
from gitprun.git.repo import Repository
from gitprun.git.trees import tree_of
from gitprun.ledger.events import RunState, UnitState
from gitprun.ledger.house_events import RunFinished, RunResumed
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.review import read_result_text, unit_folder
from gitprun.ledger.roster import NAMED
from gitprun.ledger.settings import Remembered, recall, reread_executors
from gitprun.ledger.unit_events import UnitFinished
from gitprun.model.contract import parse_result
from gitprun.model.errors import OperationRefused
from gitprun.model.names import ZERO, Oid, RunId, kept_ref, unit_ref
from gitprun.model.plan import Settings
from gitprun.model.units import Unit, Verdict
from gitprun.registry.find import held, name_of, require_workspace
from gitprun.registry.rest import recall_workspace
from gitprun.registry.survivors import living_survivors
from gitprun.runs.context import Attempt, Coordinator, RunContext, RunStart, open_unit_capture
from gitprun.runs.dispatch import make_context
from gitprun.runs.finish import Outcome, capture_unit, judge_work, needs_checks, verify
from gitprun.runs.next_attempt import recall_attempt
from gitprun.runs.recheck import worker_state
from gitprun.runs.resume import require_alone
from gitprun.supervisor.process import Stop, probe_identity
from gitprun.system.files import locked
from gitprun.workspaces.root import open_root

NOTHING_SAID = Settings()


@dataclass(frozen=True, slots=True, kw_only=True)
class Recaptured:
    """What a second capture brought: new paths in the commit, what stays out although asked for, where both lie."""

    commit: Oid | None
    before: Oid | None
    kept: str = ""
    brought: tuple[str, ...] = ()
    stays_out: tuple[tuple[str, str], ...] = ()
    state: str = ""
    reason: str = ""


def recapture(
    repository: Repository, ledger: Ledger, run: RunState, unit: UnitState, include: Sequence[str], *, stop: Stop
) -> Recaptured:
    """Capture the workspace of a unit that is over once more, with the left-out paths that ``include`` matches.

    The commit it had stays pinned. Raises OperationRefused, with everything as it was, where that cannot be.
    """
    require_workspace(unit)
    _require_over(unit)
    with held(repository, run, unit):
        # While a process of the worker's lives it may write between the capture and the checks.
        require_ended(living_survivors(unit_folder(repository.state, unit)))
        kept = recall(repository.state, run)
        spec = next((one for one in kept.units if one.id == unit.id), None)
        if spec is None:
            raise OperationRefused(f"what {name_of(unit)} was asked for is not known", f"git prun show {name_of(unit)}")
        context = open_context(repository, ledger, run, kept, stop)
        attempt = recall_attempt(repository, run.base, unit)
        site = open_unit_capture(context, attempt, recall_workspace(repository.state, unit), spec.paths)
        site = replace(site, include=tuple(include))
        with index_kept(site) as bring:
            found = capture(site, run.id, unit.id)
            before = read_ref(site.repo, unit_ref(run.id, unit.id))
            old = tree_of(site.repo, before or site.base)
            stays = tuple((row.path, row.reason) for row in found.left_out if _asked(site, row.path))
            # Nothing new: no event, no second commit, and the verdict it has stays good.
            if found.tree == old:
                return Recaptured(commit=before, before=before, stays_out=stays, state=unit.state)
            brought = changed_paths(site.store, Oid(old), found.tree)
            with coordinated(ledger, repository, run, "collecting a unit again"):
                # Before the unit's own name moves on: a landing may have been made from it.
                pinned = _keep_old(site, run, unit, before)
                # From here on it goes as an attempt does: its capture, its checks, its end.
                commit = capture_unit(context, spec, site, found, worker_state(unit), again=True)
                bring.append(True)
                outcome = _judge(context, spec, unit, attempt, site, found)
    return Recaptured(
        commit=commit,
        before=before,
        kept=pinned,
        brought=brought,
        stays_out=stays,
        state=outcome.state,
        reason=outcome.reason,
    )


def _require_over(unit: UnitState) -> None:
    name = name_of(unit)
    if unit.run == NAMED:
        raise OperationRefused(
            f"{name} is a named workspace", "add and commit there what you want: it is on a branch of yours"
        )
    # A second commit would be on no branch, and never land by itself.
    if unit.state == "landed":
        raise OperationRefused(f"{name} has landed", f"take what you need from {unit.path}")
    if unit.workspace not in ("clone", "worktree"):
        raise OperationRefused(f"{name} only reads, so there is nothing to collect", f"git prun show {name}")
    if not unit.exit:
        raise OperationRefused(f"the worker of {name} never came to its end", f"git prun run --resume {unit.run}")


def open_context(
    repository: Repository, ledger: Ledger, run: RunState, kept: Remembered, stop: Stop, said: Settings = NOTHING_SAID
) -> RunContext:
    """Put together what the units of a run shared, as it was asked for then; ``said`` wins over that."""
    settings, _ = reread_executors(kept, repository.top)
    settings = said.over(settings)
    root = open_root(repository, str(run.root or settings.root or ""))
    start = RunStart(base=Oid(run.base), revision=kept.revision, root=root)
    return make_context(repository, settings, Coordinator(ledger=ledger, stop=stop), RunId(run.id), start)


def _asked(site: CaptureContext, path: str) -> bool:
    # A folder that was left out is written with a slash or a star; what lies in it may be asked for, too.
    return included(site, path.rstrip("/*")) or included(site, path.rstrip("*") + "x")


@contextmanager
def coordinated(ledger: Ledger, repository: Repository, run: RunState, doing: str) -> Iterator[None]:
    """Be the coordinator of the run meanwhile, so that nobody else goes on with it; raises Occupied if one is there."""
    with locked(repository.state / "locks" / "run.lock", doing=doing):
        require_alone(ledger.read().history.runs[run.id])
        me = probe_identity(os.getpid())
        ledger.append(RunResumed(coordinator=me, again=()), run=run.id)
    try:
        yield
    finally:
        states = {str(one.id): one.state for one in ledger.read().history.runs[run.id].units.values()}
        ledger.append(RunFinished(states=states), run=run.id)


def _keep_old(site: CaptureContext, run: RunState, unit: UnitState, old: Oid | None) -> str:
    """Pin the commit the unit has had, under the first number that is free."""
    if old is None:
        return ""
    for number in itertools.count(1):
        name = kept_ref(run.id, unit.id, f"collected-{number}")
        there = read_ref(site.repo, name)
        if there is None:
            move_ref(site.repo, name, old, ZERO, "prun: kept before it was collected again")
        if there in (None, old):
            return name
    raise AssertionError("numbers do not end")


def _judge(
    context: RunContext, spec: Unit, unit: UnitState, attempt: Attempt, site: CaptureContext, found: Capture
) -> Outcome:
    """Verify the new commit as the run would, and end the unit anew."""
    worker, verdict = worker_state(unit), Verdict(state="absent")
    if needs_checks(found, worker):
        verdict = verify(context, spec, attempt, site.workspace, found)
    result = parse_result(read_result_text(unit_folder(context.repository.state, unit)), spec.id)
    said = unit.reason
    outcome = judge_work(spec, worker, said, found=found, verdict=verdict, result=result)
    context.note(spec, UnitFinished(final=outcome.state, reason=outcome.reason, hint=""))
    return outcome

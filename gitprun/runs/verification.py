"""Ask the checks again, when something outside of the work has changed: of units, or of any commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from gitprun.git.repo import Repository
from gitprun.landing.plan import checking_options
from gitprun.landing.prove import landing_checks
from gitprun.ledger.events import RunState, UnitState
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.lookup import probe_unit
from gitprun.ledger.settings import Remembered
from gitprun.model.errors import OperationRefused
from gitprun.model.names import Oid, short
from gitprun.model.plan import Settings
from gitprun.model.units import Verdict
from gitprun.registry.find import held, name_of
from gitprun.runs.recapture import coordinated, open_context
from gitprun.runs.recheck import Rechecked, is_checkable, recheck
from gitprun.supervisor.process import Stop
from gitprun.verify.pristine import CheckContext, check_commit
from gitprun.verify.surroundings import wish_for_landing
from gitprun.workspaces.root import open_root


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitVerdict:
    """What the checks say of one commit in a pristine place; nothing of it is written down."""

    name: str
    commit: Oid
    verdict: Verdict
    notes: tuple[str, ...] = ()


def missing_verdicts(run: RunState, *, everything: bool) -> list[UnitState]:
    """List the units of a run whose checks can be asked again: those without a pass, or all of them."""
    units = [unit for unit in run.units.values() if is_checkable(unit)]
    return [unit for unit in units if everything or unit.verdict != "pass"]


def require_checkable(run: RunState, unit: UnitState) -> None:
    """Raise OperationRefused where asking the checks of a unit again cannot say anything about it, with the reason."""
    name, known = name_of(unit), probe_unit(run, unit)
    if known.live:
        raise OperationRefused(f"{name} is still {known.state}", f"wait for it; git prun status {unit.run} shows it")
    if known.state == "lost":
        raise OperationRefused(f"{name} was left by its coordinator", f"git prun run --resume {unit.run}")
    if unit.commit is None:
        raise OperationRefused(f"{name} is {unit.state} and has no commit to check", f"git prun show {name}")
    if unit.unfinished:
        raise OperationRefused(f"the worker of {name} left a {unit.unfinished} half done", f"finish it in {unit.path}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RecheckRequest:
    """Units of a run whose checks are asked again; ``kept`` is what the run was asked for, ``said`` wins over that."""

    run: RunState
    units: Sequence[UnitState]
    kept: Remembered
    said: Settings


def verify_units(
    repository: Repository,
    ledger: Ledger,
    request: RecheckRequest,
    *,
    stop: Stop,
    heard: Callable[[Rechecked], None],
) -> list[Rechecked]:
    """Run the checks of units of a run again, one after the other; ``heard`` is told each answer.

    Raises OperationRefused where somebody works on one, or on the run.
    """
    run, specs = request.run, {unit.id: unit for unit in request.kept.units}
    answers: list[Rechecked] = []
    # Else somebody could resume the run while its units are checked.
    with coordinated(ledger, repository, run, "asking the checks of a run again"):
        context = open_context(repository, ledger, run, request.kept, stop, request.said)
        for unit in request.units:
            # What was not asked keeps the verdict it had.
            if stop.is_set():
                break
            if unit.id not in specs:
                raise OperationRefused(
                    f"what {name_of(unit)} was asked for is not known", f"git prun show {name_of(unit)}"
                )
            with held(repository, run, unit):
                answer = recheck(context, run, unit, specs[unit.id])
            answers.append(answer)
            heard(answer)
    return answers


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitToCheck:
    """A commit, the ``name`` it is known by, and the ``branch`` that is checked out where it is checked.

    ``confined`` says whether anything of it came from a worker that was held to its workspace.
    """

    name: str
    branch: str
    commit: Oid
    confined: bool


def verify_commit(repository: Repository, asked: CommitToCheck, settings: Settings, *, stop: Stop) -> CommitVerdict:
    """Check a commit as a landing would, in a pristine place."""
    commit = asked.commit
    notes: list[str] = []
    root = open_root(repository, settings.root)
    confinement = wish_for_landing(asked.confined, settings.verify_sandbox)
    plan = landing_checks(checking_options(settings), confinement, asked.branch)
    logs = repository.state / "verify" / short(commit)
    try:
        context = CheckContext(repository=repository, top=root, logs=logs, stop=stop, note=notes.append)
        verdict = check_commit(context, commit, plan)
    finally:
        with suppress(OSError):
            # Made for this alone, where nothing else is in it.
            root.rmdir()
    return CommitVerdict(name=asked.name, commit=commit, verdict=verdict, notes=tuple(dict.fromkeys(notes)))

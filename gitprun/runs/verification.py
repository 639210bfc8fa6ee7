"""Ask the checks again, when something outside of the work has changed: of units, or of any commit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from gitprun.git.repo import Repository
from gitprun.ledger.events import RunState, UnitState
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.lookup import probe_unit
from gitprun.ledger.settings import Remembered
from gitprun.model.errors import OperationRefused
from gitprun.model.names import Oid, short
from gitprun.model.plan import Settings
from gitprun.model.units import Verdict
from gitprun.registry.find import held, name_of
from gitprun.runs.dispatch import open_root
from gitprun.runs.recapture import coordinated, open_context
from gitprun.runs.recheck import Rechecked, is_checkable, recheck
from gitprun.supervisor.process import Stop
from gitprun.verify.pristine import check_commit, plan_checks
from gitprun.verify.surroundings import wish_for_landing


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


def verify_units(
    repository: Repository,
    ledger: Ledger,
    run: RunState,
    units: Sequence[UnitState],
    *,
    kept: Remembered,
    said: Settings,
    stop: Stop,
    heard: Callable[[Rechecked], None],
) -> list[Rechecked]:
    """Run the checks of units of a run again, one after the other; ``heard`` is told each answer.

    ``said`` wins over what the run was asked for. Raises OperationRefused where somebody works on one, or on the run.
    """
    specs = {unit.id: unit for unit in kept.units}
    answers: list[Rechecked] = []
    with coordinated(ledger, repository, run, "asking the checks of a run again"):
        context = open_context(repository, ledger, run, kept, stop, said)
        for unit in units:
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


def verify_commit(
    repository: Repository, name: str, branch: str, commit: Oid, *, settings: Settings, confined: bool, stop: Stop
) -> CommitVerdict:
    """Check a commit as a landing would, in a pristine place; ``branch`` is checked out there.

    ``confined`` says whether anything of it came from a worker that was held to its workspace.
    """
    notes: list[str] = []
    root = open_root(repository, settings.root)
    plan = plan_checks(
        settings,
        wish_for_landing(confined, settings.verify_sandbox),
        branch,
        settings.verify or (),
        settings.setup or (),
    )
    logs = repository.state / "verify" / short(commit)
    try:
        verdict = check_commit(repository, commit, plan, top=root, logs=logs, stop=stop, note=notes.append)
    finally:
        with suppress(OSError):
            # Made for this alone, where nothing else is in it.
            root.rmdir()
    return CommitVerdict(name=name, commit=commit, verdict=verdict, notes=tuple(dict.fromkeys(notes)))

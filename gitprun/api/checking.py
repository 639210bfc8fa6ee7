"""Work looked at again: its checks asked once more, its workspace captured once more."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from gitprun.api.opened import Opened
from gitprun.api.outcomes import Collected, CommitChecked, RunChecked, StateBefore, UnitChecked
from gitprun.api.rows import PathReason
from gitprun.api.settings import approved, checks_of_run, find_moved, is_branch, settings_of
from gitprun.api.stopping import Stop
from gitprun.ledger.events import RunState, UnitState
from gitprun.ledger.roster import roster
from gitprun.model.errors import UsageProblem
from gitprun.model.names import Oid, is_run_id, unit_branch
from gitprun.model.plan import Settings
from gitprun.model.units import Verdict

if TYPE_CHECKING:
    from gitprun.ledger.ledger import Reading
    from gitprun.runs.recheck import Rechecked


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRequest:
    """Which checks to run again: ``commands`` instead of those that are declared, all within ``timeout`` ("20m").

    ``everything``: of a run, also the units that have a pass. ``approve`` says that what ``prun.toml`` names may run.
    """

    commands: tuple[str, ...] = ()
    timeout: str | None = None
    everything: bool = False
    approve: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class NothingToCheck:
    """Nothing of a run can be checked again: with ``passed`` because all of it has a pass."""

    run: str
    passed: bool


def hear_no_unit(_checked: UnitChecked) -> None:
    """Let answers go unheard until all are there."""


def verify(
    opened: Opened,
    name: str | None = None,
    asked: CheckRequest | None = None,
    *,
    stop: Stop | None = None,
    heard: Callable[[UnitChecked], None] = hear_no_unit,
) -> RunChecked | CommitChecked | NothingToCheck:
    """Run the checks of a unit again, of the units of a run (the last one) without a pass, or of any commit.

    ``heard`` is told the answer for each unit as it comes. With a ``stop`` that was set the value is what was checked.
    """
    wanted, halt = asked or CheckRequest(), stop or Stop()
    said = _said(wanted)
    find_moved(opened)
    reading = opened.read()
    history = reading.history
    if name is None or (is_run_id(name) and name in history.runs):
        from gitprun.landing.choose import require_one_meaning
        from gitprun.ledger.lookup import find_run
        from gitprun.runs.recheck import is_checkable
        from gitprun.runs.verification import missing_verdicts

        run = find_run(history, name)
        if name is not None:
            require_one_meaning(opened.repository.git, name, "a run")
        units = missing_verdicts(run, everything=wanted.everything)
        if not units:
            return NothingToCheck(run=run.id, passed=any(is_checkable(unit) for unit in run.units.values()))
        return _verify_units(opened, run, units, said, halt, heard)
    if wanted.everything:
        raise UsageProblem("--all is for a run", f"git prun verify --all, or git prun verify {name}")
    return _verify_one(opened, reading, name, said, wanted, halt, heard)


def _said(asked: CheckRequest) -> Settings:
    """Read what is said about checks."""
    from gitprun.runs.dispatch_unit import read_limit

    if any(not command.strip() for command in asked.commands):
        raise UsageProblem("--verify must not be empty", "leave it out to run the checks of the unit")
    timeout = read_limit(asked.timeout, "--timeout") if asked.timeout is not None else None
    return Settings(verify=asked.commands or None, verify_timeout=timeout)


def _verify_one(
    opened: Opened,
    reading: Reading,
    name: str,
    said: Settings,
    asked: CheckRequest,
    stop: Stop,
    heard: Callable[[UnitChecked], None],
) -> RunChecked | CommitChecked:
    """Check the unit, else the branch of a workspace of the user's own, else the commit that a name means."""
    from gitprun.git.repo import resolve_commit
    from gitprun.landing.choose import require_one_meaning
    from gitprun.ledger.lookup import NotKnown, find_unit
    from gitprun.runs.recheck import is_checkable

    try:
        unit: UnitState | None = find_unit(reading.history, name)
    except NotKnown:
        unit = None
    if unit is None:
        own = roster(reading.events).units.get(name)
        revision = f"refs/heads/{own.branch}" if own is not None and own.branch else name
        commit = resolve_commit(opened.repository.git, revision)
        return _verify_commit(opened, revision.removeprefix("refs/heads/"), commit, None, said, asked, stop)
    require_one_meaning(opened.repository.git, name, "a unit")
    run = reading.history.runs[unit.run]
    if is_checkable(unit) or unit.commit is None or unit.live:
        return _verify_units(opened, run, [unit], said, stop, heard)
    # It landed, or its worker failed: whatever the checks say, that is what it stays.
    return _verify_commit(opened, unit_branch(unit.run, unit.id), Oid(unit.commit), run, said, asked, stop)


def _verify_units(
    opened: Opened,
    run: RunState,
    units: Sequence[UnitState],
    said: Settings,
    stop: Stop,
    heard: Callable[[UnitChecked], None],
) -> RunChecked:
    from gitprun.ledger.settings import recall
    from gitprun.runs.verification import RecheckRequest, require_checkable, verify_units

    for unit in units:
        require_checkable(run, unit)
    kept = recall(opened.repository.state, run)
    if kept.settings.verify is None:
        # It was asked for no particular check then: what is declared since is what the user wants to know.
        said = said.over(Settings(verify=settings_of(opened).verify))
    rows: list[UnitChecked] = []

    def take_in(answer: Rechecked) -> None:
        rows.append(_checked(answer))
        heard(rows[-1])

    request = RecheckRequest(run=run, units=units, kept=kept, said=said)
    verify_units(opened.repository, opened.ledger, request, stop=stop, heard=take_in)
    return RunChecked(run=run.id, units=tuple(rows))


def _checked(answer: Rechecked) -> UnitChecked:
    unit = answer.unit
    return UnitChecked(
        run=unit.run,
        unit=unit.id,
        commit=unit.commit,
        before=StateBefore(state=unit.state, verdict=unit.verdict),
        state=answer.state,
        verdict=answer.verdict.state,
        reason=answer.verdict.reason,
        where=answer.where,
        recorded=answer.recorded,
        logs=_logs(answer.verdict),
        notes=(*([answer.why] if answer.why else []), *answer.notes),
        why=answer.why,
    )


def _verify_commit(
    opened: Opened, name: str, commit: Oid, run: RunState | None, said: Settings, asked: CheckRequest, stop: Stop
) -> CommitChecked:
    """Check a commit that is no unit's, or of one that is over."""
    from gitprun.landing.plan import Candidate
    from gitprun.landing.prove import came_confined
    from gitprun.runs.verification import CommitToCheck, verify_commit

    settings = said.over(settings_of(opened))
    if settings.verify is None and (declared := checks_of_run(run)):
        settings = Settings(verify=declared).over(settings)
    settings = approved(opened, settings, yes=asked.approve)
    # Read anew: the commit was found after the first reading, and this decides about walls.
    confined = came_confined([Candidate(branch=name, tip=commit)], opened.ledger.read().events)
    branch = name if is_branch(opened, name) else "prun-verify"
    answer = verify_commit(
        opened.repository,
        CommitToCheck(name=name, branch=branch, commit=commit, confined=confined),
        settings,
        stop=stop,
    )
    return CommitChecked(
        name=name,
        commit=commit,
        verdict=answer.verdict.state,
        reason=answer.verdict.reason,
        logs=_logs(answer.verdict),
        notes=answer.notes,
    )


def _logs(verdict: Verdict) -> tuple[str, ...]:
    """Return where the output of the checks is, that of those that decided first."""
    decided = [check for check in verdict.checks if check.state == verdict.state]
    others = [check for check in verdict.checks if check.state != verdict.state]
    return tuple(check.log for check in (*decided, *others) if check.log)


def collect(opened: Opened, name: str, include: Sequence[str] = (), *, stop: Stop | None = None) -> Collected:
    """Capture the workspace of a unit once more, with left-out paths that ``include`` matches, and verify that."""
    from gitprun.registry.find import find_workspace
    from gitprun.runs.recapture import recapture

    find_moved(opened)
    reading = opened.read()
    run, unit = find_workspace(reading.history, roster(reading.events), name)
    found = recapture(opened.repository, opened.ledger, run, unit, include, stop=stop or Stop())
    return Collected(
        run=unit.run,
        unit=unit.id,
        commit=found.commit,
        before=found.before,
        state=found.state,
        kept=found.kept,
        brought=found.brought,
        stays_out=tuple(PathReason(path=path, reason=reason) for path, reason in found.stays_out),
        reason=found.reason,
    )

"""``git prun verify``: run checks again, of units that have no pass yet, or of any commit."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import click

from gitprun.cli.console import hint, put, safe, say
from gitprun.cli.options import Here, here, json_option
from gitprun.cli.places import find_moved
from gitprun.model.errors import Interrupted, UsageProblem
from gitprun.model.names import is_run_id, short
from gitprun.model.plan import Settings

if TYPE_CHECKING:
    from gitprun.ledger.events import RunState, UnitState
    from gitprun.model.names import Oid
    from gitprun.model.units import Verdict
    from gitprun.runs.recheck import Rechecked


@click.command()
@click.argument("name", metavar="[UNIT|RUN|BRANCH]", required=False)
@click.option("--all", "everything", is_flag=True, help="Of a run, also the units that have a pass.")
@click.option("--verify", "commands", multiple=True, metavar="COMMAND", help="Run this check instead (repeatable).")
@click.option("--timeout", help='The time all checks of one commit share, such as "20m".')
@click.option("--yes", is_flag=True, help="Approve what prun.toml says (git prun trust), now and from now on.")
@json_option
@click.pass_context
def verify(ctx: click.Context, /, name: str | None, as_json: bool, **given: Any) -> int:
    """Run the checks of a UNIT again, or of all units of a RUN (the last one) that have work and no pass.

    They run in the unit's workspace, or on its commit alone where that is gone or was changed since; the unit becomes
    ready or unverified. Of a BRANCH, or any other commit, the verdict is told and not kept. A landing checks again in
    any case.

    Exit code 0 if all checks pass, 1 if one is red or could not run.
    """
    place = here(ctx)
    said = _said(given)
    find_moved(place)
    history = place.history()
    if name is None or (is_run_id(name) and name in history.runs):
        from gitprun.landing.choose import require_one_meaning
        from gitprun.ledger.lookup import find_run
        from gitprun.runs.verification import missing_verdicts

        run = find_run(history, name)
        if name is not None:
            require_one_meaning(place.repository.git, name, "a run")
        units = missing_verdicts(run, everything=given["everything"])
        return _nothing(run) if not units and not as_json else _units(place, run, units, said, given, as_json=as_json)
    if given["everything"]:
        raise UsageProblem("--all is for a run", f"git prun verify --all, or git prun verify {safe(name)}")
    return _one(place, name, said, given, as_json=as_json)


def _said(given: dict[str, Any]) -> Settings:
    """Read what the command line says about checks."""
    from gitprun.runs.dispatch_unit import read_limit

    if any(not command.strip() for command in given["commands"]):
        raise UsageProblem("--verify must not be empty", "leave it out to run the checks of the unit")
    timeout = read_limit(given["timeout"], "--timeout") if given["timeout"] is not None else None
    return Settings(verify=tuple(given["commands"]) or None, verify_timeout=timeout)


def _nothing(run: RunState) -> int:
    """Say why there is nothing to check again in a run; return the exit code: 0 only if all that is there passed."""
    from gitprun.runs.recheck import is_checkable

    passed = [unit for unit in run.units.values() if is_checkable(unit)]
    if passed:
        say(f"nothing to check in {run.id}: every unit whose work is captured has a pass")
        hint(f"git prun verify --all {run.id} checks them again")
        return 0
    say(f"nothing to check in {run.id}: no unit has work that waits for a verdict")
    hint(f"git prun status {run.id} shows its units; git prun verify HEAD checks a commit")
    return 1


def _one(place: Here, name: str, said: Settings, given: dict[str, Any], *, as_json: bool) -> int:
    """Check the unit, else the branch of a named workspace, else the commit that a name means."""
    from gitprun.git.repo import resolve_commit
    from gitprun.landing.choose import require_one_meaning
    from gitprun.ledger.lookup import NotKnown, find_unit
    from gitprun.ledger.roster import roster
    from gitprun.model.names import Oid, unit_branch
    from gitprun.runs.recheck import is_checkable

    reading = place.read()
    try:
        unit: UnitState | None = find_unit(reading.history, name)
    except NotKnown:
        unit = None
    if unit is None:
        own = roster(reading.events).units.get(name)
        revision = f"refs/heads/{own.facts['branch']}" if own is not None and own.facts.get("branch") else name
        commit = resolve_commit(place.repository.git, revision)
        return _commit(place, revision.removeprefix("refs/heads/"), commit, None, said, given, as_json=as_json)
    require_one_meaning(place.repository.git, name, "a unit")
    run = reading.history.runs[unit.run]
    if is_checkable(unit) or unit.commit is None or unit.live:
        return _units(place, run, [unit], said, given, as_json=as_json)
    # It landed, or its worker failed: whatever the checks say, that is what it stays.
    branch = unit_branch(unit.run, unit.id)
    return _commit(place, branch, Oid(unit.commit), run, said, given, as_json=as_json)


def _units(
    place: Here, run: RunState, units: list[UnitState], said: Settings, given: dict[str, Any], *, as_json: bool
) -> int:
    from gitprun.cli.signals import signals_stop
    from gitprun.ledger.settings import recall
    from gitprun.runs.verification import RecheckRequest, require_checkable, verify_units
    from gitprun.supervisor.process import Stop
    from gitprun.system.config import read_settings

    for unit in units:
        require_checkable(run, unit)
    kept, now, stop = recall(place.repository.state, run), read_settings(place.repository.top), Stop()
    if kept.settings.verify is None:
        # It was asked for no particular check then: what is declared since is what the user wants to know.
        said = said.over(Settings(verify=now.verify))
    rows: list[dict[str, Any]] = []

    def heard(answer: Rechecked) -> None:
        rows.append(_row(answer))
        if not as_json:
            _show(answer)

    with signals_stop(stop) as caught:
        request = RecheckRequest(run=run, units=units, kept=kept, said=said)
        answers = verify_units(place.repository, place.ledger, request, stop=stop, heard=heard)
    if as_json:
        put(json.dumps({"run": run.id, "units": rows}))
    if caught:
        raise Interrupted(
            caught[0],
            "stopped; what was not checked to its end keeps the verdict it had",
            f"git prun status {run.id} shows it",
        )
    return 0 if answers and all(answer.verdict.state == "pass" for answer in answers) else 1


def _commit(
    place: Here, name: str, commit: Oid, run: RunState | None, said: Settings, given: dict[str, Any], *, as_json: bool
) -> int:
    """Check a commit that is no unit's, or of one that is over."""
    from gitprun.cli.landing import approved
    from gitprun.cli.signals import signals_stop
    from gitprun.landing.plan import Candidate
    from gitprun.landing.prove import came_confined
    from gitprun.runs.verification import CommitToCheck, verify_commit
    from gitprun.supervisor.process import Stop
    from gitprun.system.config import read_settings

    settings, stop = said.over(read_settings(place.repository.top)), Stop()
    if settings.verify is None and run is not None and run.facts.get("verify"):
        settings = Settings(verify=tuple(run.facts["verify"])).over(settings)
    settings = approved(place, settings, yes=given["yes"])
    confined = came_confined([Candidate(branch=name, tip=commit)], place.ledger.read().events)
    git = place.repository.git
    is_branch = git.run("show-ref", "--verify", "--quiet", f"refs/heads/{name}", ok=(0, 1, 128)).code == 0
    with signals_stop(stop) as caught:
        branch = name if is_branch else "prun-verify"
        asked = CommitToCheck(name=name, branch=branch, commit=commit, confined=confined)
        answer = verify_commit(place.repository, asked, settings, stop=stop)
    if caught:
        raise Interrupted(caught[0], f"stopped; nothing is known of {safe(name)}")
    if as_json:
        row = {"name": name, "commit": commit, "verdict": answer.verdict.state, "reason": answer.verdict.reason}
        put(json.dumps({**row, "logs": _logs(answer.verdict), "notes": list(answer.notes)}))
    else:
        put(f"{safe(name)} at {short(commit)}: {_told(answer.verdict)}, in a pristine place")
        _show_rest(answer.verdict, answer.notes)
    return 0 if answer.verdict.state == "pass" else 1


def _row(answer: Rechecked) -> dict[str, Any]:
    unit = answer.unit
    return {
        "run": unit.run,
        "unit": unit.id,
        "commit": unit.commit,
        "before": {"state": unit.state, "verdict": unit.verdict},
        "state": answer.state,
        "verdict": answer.verdict.state,
        "reason": answer.verdict.reason,
        "where": answer.where,
        "recorded": answer.recorded,
        "logs": _logs(answer.verdict),
        "notes": [*([answer.why] if answer.why else []), *answer.notes],
    }


def _show(answer: Rechecked) -> None:
    name = f"{answer.unit.run}/{answer.unit.id}"
    if not answer.recorded:
        say(f"{name} stays {answer.state}: its checks were stopped")
        return
    where = "in its workspace" if answer.where == "workspace" else "on its commit alone, in a pristine place"
    why = f" ({safe(answer.why)})" if answer.why else ""
    put(f"{name} is {answer.state}: {_told(answer.verdict)}, {where}{why}")
    _show_rest(answer.verdict, answer.notes)


def _told(verdict: Verdict) -> str:
    reason = f" ({safe(verdict.reason)})" if verdict.reason else ""
    return f"{verdict.state}{reason}"


def _show_rest(verdict: Verdict, notes: tuple[str, ...]) -> None:
    logs = _logs(verdict)
    if verdict.state != "pass" and logs:
        put(f"  log: {safe(logs[0])}")
    for text in notes:
        say(f"  note: {safe(text)}")


def _logs(verdict: Verdict) -> list[str]:
    """List where the output of the checks is, that of those that decided first."""
    decided = [check for check in verdict.checks if check.state == verdict.state]
    others = [check for check in verdict.checks if check.state != verdict.state]
    return [check.log for check in (*decided, *others) if check.log]

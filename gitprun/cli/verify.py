"""``git prun verify``: run checks again, of units that have no pass yet, or of any commit."""

from __future__ import annotations

import click

from gitprun.api.checking import CheckRequest, NothingToCheck, hear_no_unit
from gitprun.api.checking import verify as run_checks
from gitprun.api.comparing import compare
from gitprun.api.opened import Opened
from gitprun.api.outcomes import CommitChecked, RunChecked, UnitChecked
from gitprun.api.stopping import Stop
from gitprun.cli.console import hint, put, put_json, safe, say
from gitprun.cli.options import here, json_option
from gitprun.cli.signals import signals_stop
from gitprun.model.errors import Interrupted, UsageProblem
from gitprun.model.names import short

# What a comparison comes to, by its verdict.
SAID = {
    "pass": "nothing is said of the merge alone",
    "fail": "said of the merge, and of neither side",
    "could-not-run": "not checked",
    "absent": "both sides changed no files of one language",
}


@click.command()
@click.argument("name", metavar="[UNIT|RUN|BRANCH]", required=False)
@click.option("--all", "everything", is_flag=True, help="Of a run, also the units that have a pass.")
@click.option("--verify", "commands", multiple=True, metavar="COMMAND", help="Run this check instead (repeatable).")
@click.option("--difference", is_flag=True, help="Ask compilers what they say of its merge, and of neither side.")
@click.option("--timeout", help='The time all checks of one commit share, such as "20m".')
@click.option("--yes", is_flag=True, help="Approve what prun.toml says (git prun trust), now and from now on.")
@json_option
@click.pass_context
def verify(
    ctx: click.Context,
    /,
    *,
    name: str | None,
    everything: bool,
    commands: tuple[str, ...],
    difference: bool,
    timeout: str | None,
    yes: bool,
    as_json: bool,
) -> int:
    """Run the checks of a UNIT again, or of all units of a RUN (the last one) that have work and no pass.

    They run in the unit's workspace, or on its commit alone where that is gone or was changed since; the unit becomes
    ready or unverified. Of a BRANCH, or any other commit, the verdict is told and not kept. A landing checks again in
    any case.

    With --difference it is merged with your branch in memory, and javac, tsc, go vet, ruff or pyflakes, and cargo check
    look at the merge and at both sides of it. What they say of the merge alone is shown.

    Exit code 0 if all checks pass, 1 if one is red or could not run.
    """
    opened, stop = here(ctx).opened, Stop()
    if difference:
        if everything or commands or timeout:
            raise UsageProblem("--difference goes without --all, --verify and --timeout", "no check is run with it")
        return _compare(opened, name, stop, approve=yes, as_json=as_json)
    asked = CheckRequest(commands=commands, timeout=timeout, everything=everything, approve=yes)
    with signals_stop(stop) as caught:
        answer = run_checks(opened, name, asked, stop=stop, heard=hear_no_unit if as_json else _show)
    match answer:
        case NothingToCheck():
            return _nothing(answer, as_json=as_json)
        case CommitChecked():
            if caught:
                raise Interrupted(caught[0], f"stopped; nothing is known of {safe(answer.name)}")
            _render_commit(answer, as_json=as_json)
            return 0 if answer.passed else 1
    if as_json:
        put_json("verify", answer)
    if caught:
        raise Interrupted(
            caught[0],
            "stopped; what was not checked to its end keeps the verdict it had",
            f"git prun status {answer.run} shows it",
        )
    return 0 if answer.passed else 1


def _compare(opened: Opened, name: str | None, stop: Stop, *, approve: bool, as_json: bool) -> int:
    with signals_stop(stop) as caught:
        answer = compare(opened, name, approve=approve, stop=stop)
    if caught:
        raise Interrupted(caught[0], "stopped; nothing is known of what was not compared to its end")
    if as_json:
        put_json("verify-difference", answer)
        return 0 if answer.passed else 1
    for one in answer.branches:
        tools = f", by {', '.join(one.tools)}" if one.tools else ""
        put(f"{safe(one.branch)} merged with {safe(answer.target)}: {SAID[one.verdict]}{tools}")
        for message in one.messages:
            put(f"  {safe(message.path)}: {safe(message.text)}")
        for text in (*([one.reason] if one.reason else ()), *one.notes):
            say(f"  note: {safe(text)}")
    return 0 if answer.passed else 1


def _nothing(answer: NothingToCheck, *, as_json: bool) -> int:
    """Return why there is nothing to check again in a run; return the exit code: 0 only if all that is there passed."""
    if as_json:
        put_json("verify", RunChecked(run=answer.run, units=()))
        return 1
    if answer.passed:
        say(f"nothing to check in {answer.run}: every unit whose work is captured has a pass")
        hint(f"git prun verify --all {answer.run} checks them again")
        return 0
    say(f"nothing to check in {answer.run}: no unit has work that waits for a verdict")
    hint(f"git prun status {answer.run} shows its units; git prun verify HEAD checks a commit")
    return 1


def _render_commit(answer: CommitChecked, *, as_json: bool) -> None:
    if as_json:
        put_json("verify-commit", answer)
        return
    put(f"{safe(answer.name)} at {short(answer.commit)}: {_told(answer)}, in a pristine place")
    _show_rest(answer, answer.notes)


def _show(answer: UnitChecked) -> None:
    name = f"{answer.run}/{answer.unit}"
    if not answer.recorded:
        say(f"{name} stays {answer.state}: its checks were stopped")
        return
    where = "in its workspace" if answer.where == "workspace" else "on its commit alone, in a pristine place"
    why = f" ({safe(answer.why)})" if answer.why else ""
    put(f"{name} is {answer.state}: {_told(answer)}, {where}{why}")
    # Why it was not the workspace is said already.
    _show_rest(answer, answer.notes[1:] if answer.why else answer.notes)


def _told(answer: UnitChecked | CommitChecked) -> str:
    reason = f" ({safe(answer.reason)})" if answer.reason else ""
    return f"{answer.verdict}{reason}"


def _show_rest(answer: UnitChecked | CommitChecked, notes: tuple[str, ...]) -> None:
    if answer.verdict != "pass" and answer.logs:
        put(f"  log: {safe(answer.logs[0])}")
    for text in notes:
        say(f"  note: {safe(text)}")

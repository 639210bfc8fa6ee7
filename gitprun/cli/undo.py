"""``git prun undo``: take a landing back, or bring it back again; put back what a worker changed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from gitprun.cli.console import clock_time, hint, put, safe, say, table
from gitprun.cli.options import Here, here, json_option
from gitprun.landing.undo_plan import Landed, Merge, read_landings
from gitprun.model.errors import Interrupted, UsageProblem
from gitprun.model.escapes import shell_word
from gitprun.model.names import short

if TYPE_CHECKING:
    from gitprun.landing.plan import LandingOptions
    from gitprun.landing.undo import UndoReport
    from gitprun.ledger.events import Event


@click.command()
@click.argument("landing", required=False)
@click.option("--list", "listing", is_flag=True, help="List all landings, and what workers changed of yours.")
@click.option("--redo", is_flag=True, help="Bring back what an undo took back.")
@click.option("--verify", multiple=True, metavar="COMMAND", help="A check of what is brought back (repeatable).")
@click.option("--no-verify", is_flag=True, help="Do not check what is brought back.")
@click.option("--yes", "-y", is_flag=True, help="Approve what prun.toml says (git prun trust), now and from now on.")
@click.option("--drift", metavar="UNIT", help="Put back what changed in your repository while UNIT ran.")
@click.option("--accept", is_flag=True, help="With --drift: let it stay as it is, so that UNIT may land.")
@click.option(
    "--only",
    multiple=True,
    metavar="WHAT",
    help="With --drift: refs, config, hooks, or the name of one thing (repeatable).",
)
@click.option("--dry-run", "-n", is_flag=True, help="Say what would happen; change nothing.")
@json_option
@click.pass_context
def undo(ctx: click.Context, /, landing: str | None, listing: bool, redo: bool, **given: Any) -> int:
    """Take the last landing back, or LANDING: its number, a merge commit, a branch or a unit.

    Where nothing came after it and no remote has it, the branch moves back; --redo moves it on again, as long as
    nothing else came. Else revert commits take it out; --redo, or naming the revert, brings that back.

    With --drift: put back refs, settings, hooks and reflogs that changed while UNIT ran, from what was kept before
    it started. Files of your checkouts are never touched; what you changed again since is left alone.
    """
    dry_run, as_json, drift = bool(given["dry_run"]), bool(given["as_json"]), given["drift"]
    if drift is not None:
        if landing or listing or redo or (given["accept"] and (dry_run or given["only"])):
            raise UsageProblem(
                "--drift goes with --only and --dry-run, or with --accept, and with --json",
                "git prun undo --drift UNIT",
            )
        from gitprun.cli.undo_drift import undo_drift

        return undo_drift(ctx, drift, accept=given["accept"], only=given["only"], dry_run=dry_run, as_json=as_json)
    if given["accept"] or given["only"]:
        raise UsageProblem("--accept and --only are for --drift", "git prun undo --drift UNIT")
    from gitprun.cli.signals import signals_stop
    from gitprun.git.command import require_git
    from gitprun.landing.undo import UndoRequest
    from gitprun.landing.undo import undo as take_back
    from gitprun.supervisor.process import Stop

    place = here(ctx)
    if listing:
        if landing or redo or dry_run:
            raise UsageProblem("--list goes with nothing but --json", "leave the rest out")
        show(place.read().events, as_json=as_json)
        return 0
    require_git(place.start)
    stop = Stop()
    with signals_stop(stop) as caught:
        report = take_back(
            place.repository,
            place.ledger,
            UndoRequest(name=landing, redo=redo, dry_run=dry_run, options=lambda runs: _options(place, given, runs)),
            stop=stop,
        )
    if as_json:
        put(json.dumps(report.as_json() | {"dry_run": dry_run}))
    else:
        render(report, dry_run=dry_run)
    if caught:
        raise Interrupted(caught[0])
    return 0


def _options(place: Here, given: Mapping[str, Any], runs: Sequence[str]) -> LandingOptions:
    """Return how what is brought back is checked."""
    from gitprun.cli.landing import landing_options
    from gitprun.system.config import read_settings

    known = place.history().runs
    told = [known[run] for run in dict.fromkeys(runs) if run in known]
    return landing_options(place, read_settings(place.repository.top), given, told)


def show(events: Sequence[Event], *, as_json: bool) -> None:
    """Print all landings, the last one first, and what workers changed that waits for an answer."""
    from gitprun.cli.undo_drift import drift_rows, show_drifts

    landings = read_landings(events)
    if as_json:
        rows = [{**asdict(one), "merges": [asdict(m) for m in one.merges]} for one in landings]
        put(json.dumps({"landings": rows, "drifts": drift_rows(events)}))
        return
    _show_landings(landings)
    show_drifts(events)


def _show_landings(landings: Sequence[Landed]) -> None:
    if not landings:
        say("nothing has landed through git prun here")
        return
    rows = [
        [
            str(landing.number) if not number else "",
            clock_time(landing.time) if not number else "",
            safe(landing.target.removeprefix("refs/heads/")) if not number else "",
            short(one.commit),
            safe(one.branch),
            standing(one),
        ]
        for landing in reversed(landings)
        for number, one in enumerate(landing.merges)
    ]
    put(table(["landing", "when", "on", "commit", "branch", "now"], rows))


def standing(one: Merge) -> str:
    """Say what became of one merge."""
    if one.undone == "reverted":
        return f"reverted by {short(one.by)}"
    return "taken back" if one.undone else "landed"


def render(report: UndoReport, *, dry_run: bool) -> None:
    """Print what was done (or would be), and how to go on."""
    branch = safe(report.target.removeprefix("refs/heads/"))
    would = "would be " if dry_run else ""
    done = {"moved": "taken back", "reverted": "reverted", "redone": "brought back"}[report.way]
    for one in report.items:
        by = f" by {short(one.by)}" if one.by and not dry_run else ""
        put(f"{safe(one.branch)}: {would}{done}{by}")
    from gitprun.cli.merge_words import say_notes

    say_notes(report.notes)
    if report.forgotten:
        is_or_would = "would be" if dry_run else "is"
        paths = safe(", ".join(report.forgotten))
        say(f"the resolution of {paths} {is_or_would} forgotten: the next merge asks anew")
    say(f"{branch} {'would be' if dry_run else 'is now'} at {short(report.new)} (was {short(report.old)})")
    if dry_run:
        return
    names = [shell_word(f"{one.run}/{one.unit}" if one.unit else one.branch) for one in report.items]
    if report.way == "moved" and report.forgotten:
        hint(f"git prun resolve {names[0]} opens the conflict again")
    elif report.way == "moved":
        hint(f"git prun merge {' '.join(names)} lands it again")
    elif report.way == "reverted":
        hint(f"git prun undo --redo {report.landing} brings it back; a merge of the same commits would not")

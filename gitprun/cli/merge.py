"""``git prun merge``: land verified units and branches made elsewhere."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitprun.cli.console import coloured, safe, say, table, warn
from gitprun.cli.options import Here, here, json_option
from gitprun.errors import Refused
from gitprun.merge.plan import LandingOptions, LandingReport
from gitprun.names import is_run_id, short
from gitprun.plan import DEFAULT_VERIFY_TIMEOUT

if TYPE_CHECKING:
    from gitprun.runs.events import History
    from gitprun.runs.review import Review

GOOD = ("landed", "would-land", "already-contained", "nothing-to-merge")


@click.command()
@click.argument("names", metavar="[UNIT|RUN|BRANCH]...", nargs=-1)
@click.option("--into", metavar="BRANCH", help="Land on this branch (default: the one checked out).")
@click.option("-m", "--message", help="The merge message; {branch} in it stands for the branch.")
@click.option(
    "--allow-unverified", is_flag=True, help="Land what no check has proved, and failed units that are named."
)
@click.option("--verify", multiple=True, metavar="COMMAND", help="A check the merged tree must pass (repeatable).")
@click.option("--no-verify", is_flag=True, help="Do not check the merged tree.")
@click.option("--strict", is_flag=True, help="Land nothing while a unit of the run has no result of its own.")
@click.option("--dry-run", "-n", is_flag=True, help="Say what would happen; change nothing.")
@json_option
@click.pass_context
def merge(ctx: click.Context, /, names: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """Land branches with --no-ff merges: every verified unit of the last run, or the UNITs, RUNs and BRANCHes named.

    A branch that conflicts is set aside with its conflicting paths named, and the others land. A RUN that is named
    lands only if each of its units has a result of its own. Exit code 0 only if everything asked for is in.
    """
    return land_names(here(ctx), names, as_json=as_json, complete=given.pop("strict") or bool(names), **given)


def land_names(place: Here, names: Sequence[str], *, as_json: bool, **given: Any) -> int:
    """Land what the names mean and print what came of it; gives the exit code."""
    from gitprun.cli.signals import signals_stop
    from gitprun.config import read_settings
    from gitprun.errors import Interrupted
    from gitprun.git.command import require_git
    from gitprun.merge.choose import choose
    from gitprun.merge.engine import land
    from gitprun.merge.hotspots import parse_hotspots
    from gitprun.system.process import Stop

    require_git(place.start)
    history = place.history()
    settings = read_settings(place.repository.top)
    chosen = choose(place.repository, history, names, allow_unverified=bool(given.get("allow_unverified")))
    aside = _review(place, history, names, refuse=bool(given.get("complete") or settings.require_results))
    declared = [history.runs[run].facts.get("verify") for run in chosen.runs]
    verify = given.get("verify") or settings.verify or next((tuple(v) for v in declared if v), None)
    options = LandingOptions(
        into=given.get("into"),
        message=given.get("message"),
        allow_unverified=bool(given.get("allow_unverified")),
        no_verify=bool(given.get("no_verify")),
        dry_run=bool(given.get("dry_run")),
        verify=tuple(verify) if verify else None,
        hotspots=parse_hotspots(list(settings.hotspots), settings.hotspot_source or "prun.toml"),
        copy=settings.copy or (),
        link=settings.link or (),
        setup=_trusted_setup(place, settings.setup or ()),
        root=str((place.repository.home / Path(settings.root).expanduser()).resolve()) if settings.root else "",
        verify_timeout=settings.verify_timeout or DEFAULT_VERIFY_TIMEOUT,
    )
    stop = Stop()
    with signals_stop(stop) as caught:
        report = land(
            place.repository,
            place.ledger,
            chosen.candidates,
            options,
            stop=stop,
            say=(lambda _: None) if as_json else say,
        )
    if as_json:
        skipped = [{"unit": name, "reason": reason} for name, reason in chosen.skipped]
        results = [review.as_json() for review in aside]
        click.echo(json.dumps({**report.as_json(), "skipped": skipped, "without_result": results}))
    else:
        render(report, chosen.skipped)
    if caught:
        raise Interrupted(caught[0])
    good = all(item.state in GOOD for item in report.items)
    named = [name for name, _ in chosen.skipped] if names else []
    return 0 if good and not named and (report.items or not chosen.skipped) else 1


def _trusted_setup(place: Here, commands: tuple[str, ...]) -> tuple[str, ...]:
    """Give the setup commands for the verification, or none where the user has not let them run."""
    from gitprun.workspaces.trust import is_trusted

    if is_trusted(place.repository, commands):
        return commands
    warn("the setup commands of prun.toml were never let run, so the verification goes without them")
    return ()


def _review(place: Here, history: History, names: Sequence[str], *, refuse: bool) -> tuple[Review, ...]:
    """Name the units of whole runs that have no result of their own; with ``refuse`` their run does not land."""
    from gitprun.runs.lookup import find_run
    from gitprun.runs.review import incomplete, review_run

    wanted = names or (find_run(history, None).id,)
    runs = [history.runs[name] for name in dict.fromkeys(wanted) if is_run_id(name) and name in history.runs]
    found: list[Review] = []
    for run in runs:
        reviews = review_run(place.repository.state, run)
        without = incomplete(reviews)
        found += without
        for review in without:
            warn(
                f"{review.run}/{review.unit} has no result of its own: {safe(review.reason)}; see {safe(review.folder)}"
            )
        if without and refuse:
            raise Refused(
                f"nothing was landed: {len(without)} of {len(reviews)} units of {run.id} have no result of their own",
                f"git prun run --resume {run.id} runs the failed ones again; units that are named land as they are",
            )
    return tuple(found)


def render(report: LandingReport, skipped: Sequence[tuple[str, str]]) -> None:
    """Print a table of what landed and what did not, then the conflicts and what resolvers did."""
    rows = []
    for item in report.items:
        commit = short(item.commit) if item.commit else "-"
        rows.append([item.candidate.branch, coloured(item.state), commit, safe(item.reason)])
    rows += [[f"prun/{name}", coloured("skipped"), "-", safe(reason)] for name, reason in skipped]
    if rows:
        click.echo(table(["branch", "state", "commit", "note"], rows))
    else:
        say("nothing asks to land")
    for item in report.items:
        name = item.candidate.branch
        for conflict in item.conflicts:
            why = f" (no resolver settled it: {safe(conflict.resolver)})" if conflict.resolver else ""
            detail = re.sub(r"^CONFLICT \([^)]*\): ", "", conflict.detail)
            click.echo(f"{name}: conflict in {safe(conflict.path)}: {safe(conflict.kind)}: {safe(detail)}{why}")
        for resolved in item.resolved:
            added = len(resolved.added)
            click.echo(f"{name}: {safe(resolved.path)} united ({resolved.resolver}), {added} lines added")
            for line in resolved.dropped:
                click.echo(f"  dropped by policy: {safe(line)}")
    for note in report.notes:
        warn(safe(note))
    if report.new != report.old:
        say(f"{report.target.removeprefix('refs/heads/')} is now at {short(report.new)} (was {short(report.old)})")

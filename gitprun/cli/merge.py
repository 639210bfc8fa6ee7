"""``git prun merge``: land verified units and branches made elsewhere."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from gitprun.cli.console import put, safe, say, warn
from gitprun.cli.landing import landing_options, require_findings, suspect_option
from gitprun.cli.options import Here, here, json_option
from gitprun.model.errors import OperationRefused, UsageProblem
from gitprun.model.names import is_run_id
from gitprun.model.units import join_few

if TYPE_CHECKING:
    from gitprun.landing.choose import Chosen
    from gitprun.landing.guard import AskedAhead
    from gitprun.landing.plan import LandingOptions
    from gitprun.ledger.events import History
    from gitprun.ledger.review import Review
    from gitprun.model.plan import Settings


@click.command()
@click.argument("names", metavar="[UNIT|RUN|BRANCH]...", nargs=-1)
@click.option("--into", metavar="BRANCH", help="Land on this branch (default: the one checked out).")
@click.option("-m", "--message", help="The merge message; {branch} in it stands for the branch.")
@click.option(
    "--order",
    type=click.Choice(["given", "safe", "captured"]),
    default="given",
    show_default=True,
    help="As given (units: as in the plan); those first that share no file with others; or as they were captured.",
)
@click.option("--verify", multiple=True, metavar="COMMAND", help="A check the merged tree must pass (repeatable).")
@click.option("--no-verify", is_flag=True, help="Do not check the merged tree.")
@click.option(
    "--batch/--one-by-one",
    "batch",
    default=True,
    help="Check all of them together and split what is red (default), or each on top of the others.",
)
@click.option(
    "--keep-going/--no-keep-going",
    default=True,
    help="Land what can land (default), or nothing after the first branch that cannot.",
)
@click.option(
    "--favor",
    multiple=True,
    metavar="PATH=POLICY",
    help="Settle what no resolver can in PATH: ours, theirs, union, higher-version or renumber (repeatable).",
)
@click.option(
    "-X",
    "strategy",
    type=click.Choice(["ours", "theirs"]),
    help="Give whatever conflict is left to one side; every line that would be lost is listed.",
)
@click.option(
    "--accept",
    multiple=True,
    metavar="PATH",
    help="Let a branch change PATH (a file or folder) of its checks or of what runs here, or delete much: deletions.",
)
@click.option("--accept-drops", is_flag=True, help="Land what loses lines by -X.")
@click.option("--allow-outside", is_flag=True, help="Land what a unit changed outside of its paths.")
@click.option("--with-base", is_flag=True, help="Land the commits of the base, too, that the target does not have.")
@click.option("--deepen", is_flag=True, help="Fetch the history that a shallow clone lacks, if a branch needs it.")
@suspect_option
@click.option(
    "--allow-unverified", is_flag=True, help="Land what no check has proved, and failed units that are named."
)
@click.option("--strict", is_flag=True, help="Land nothing while a unit of the run has no result of its own.")
@click.option("--yes", "-y", is_flag=True, help="Approve what prun.toml says (git prun trust), now and from now on.")
@click.option("--dry-run", "-n", is_flag=True, help="Say what would happen; change nothing.")
@json_option
@click.pass_context
def merge(ctx: click.Context, /, names: tuple[str, ...], as_json: bool, **given: Any) -> int:
    """Land branches with --no-ff merges: every verified unit of the last run, or the UNITs, RUNs and BRANCHes named.

    A branch that conflicts, looks wrong or turns the target red is set aside with the reason, and the others land. A
    RUN that is named lands only if each of its units has a result of its own. Exit code 0 only if all asked for is in.
    """
    given["one_by_one"] = not given.pop("batch")
    if given["accept_drops"] and not given["strategy"]:
        raise UsageProblem("--accept-drops says nothing without -X", "write -X ours or -X theirs with it")
    return land_names(here(ctx), names, as_json=as_json, complete=given.pop("strict") or bool(names), **given)


def land_names(place: Here, names: Sequence[str], *, as_json: bool, **given: Any) -> int:
    """Land what the names mean and print what came of it; gives the exit code."""
    ahead = _ask_ahead(place)
    try:
        return _land_names(place, names, ahead, as_json=as_json, **given)
    finally:
        ahead.git.forget()


def _ask_ahead(place: Here) -> AskedAhead:
    """Let git look at the checkout while the rest of us is still being loaded."""
    from gitprun.landing.guard import HEAD, STATUS, AskedAhead, index_stamp

    # Before anything is asked: what changes from here on makes the answers worthless.
    ahead = AskedAhead(place.repository.git, index_stamp(place.repository.git_dir))
    git = ahead.git
    if place.repository.top is not None:
        git.ask_ahead(*STATUS)
    for question in (HEAD, ("worktree", "list", "--porcelain", "-z"), ("config", "--list", "-z")):
        git.ask_ahead(*question)
    for name in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        git.ask_ahead("var", name)
    return ahead


def _land_names(place: Here, names: Sequence[str], ahead: AskedAhead, *, as_json: bool, **given: Any) -> int:
    from gitprun.cli.merge_words import render
    from gitprun.cli.signals import signals_stop
    from gitprun.cli.unpinned import warn_unpinned
    from gitprun.git.command import require_git
    from gitprun.landing.choose import choose
    from gitprun.landing.engine import land
    from gitprun.landing.guard import hold_back
    from gitprun.landing.plan import SETTLED
    from gitprun.model.errors import Interrupted
    from gitprun.supervisor.process import Stop
    from gitprun.system.config import read_settings
    from gitprun.workspaces.rulebook import require_own_attributes

    require_git(place.start)
    require_findings(place, given.get("allow_suspect") or ())
    if place.repository.trusted.is_dir():
        from gitprun.observe.safe_mode import require_trusted_config

        require_trusted_config(place.repository)
    require_own_attributes(place.repository)
    reading = place.read()
    history = reading.history
    settings = read_settings(place.repository.top)
    chosen = choose(place.repository, history, names, allow_unverified=bool(given.get("allow_unverified")))
    warn_unpinned(place.repository, [history.runs[run] for run in chosen.runs], reading.events)
    aside = _review(place, history, names, refuse=bool(given.get("complete") or settings.require_results))
    options = _options(place, history, settings, chosen, given)
    if not as_json:
        for text in chosen.ahead:
            warn(safe(text))
    stop = Stop()
    with signals_stop(stop) as caught:
        report = land(
            place.repository,
            place.ledger,
            hold_back(chosen.candidates, reading.events),
            options,
            stop=stop,
            say=(lambda _: None) if as_json else say,
            ahead=ahead,
        )
    if as_json:
        skipped = [{"unit": name, "reason": reason} for name, reason in chosen.skipped]
        results = [review.as_json() for review in aside]
        told = {**report.as_json(), "notes": [*chosen.ahead, *report.notes]}
        put(json.dumps({**told, "skipped": skipped, "without_result": results}))
    else:
        render(report, chosen.skipped)
    if caught:
        raise Interrupted(caught[0])
    good = all(item.state in SETTLED for item in report.items)
    named = [name for name, _ in chosen.skipped] if names else []
    return 0 if good and not named and (report.items or not chosen.skipped) else 1


def _options(
    place: Here, history: History, settings: Settings, chosen: Chosen, given: dict[str, Any]
) -> LandingOptions:
    """Put together what the command line, prun.toml and the runs say."""
    from gitprun.judging.hotspots import parse_favor

    options = landing_options(place, settings, given, [history.runs[run] for run in chosen.runs])
    # The last row that matches a path wins.
    return replace(options, hotspots=(*options.hotspots, *map(parse_favor, given.get("favor") or ())))


def _review(place: Here, history: History, names: Sequence[str], *, refuse: bool) -> tuple[Review, ...]:
    """Name the units of whole runs that have no result of their own; with ``refuse`` their run does not land."""
    from gitprun.ledger.lookup import find_run

    wanted = names or (find_run(history, None).id,)
    runs = [history.runs[name] for name in dict.fromkeys(wanted) if is_run_id(name) and name in history.runs]
    if not runs:
        return ()
    from gitprun.ledger.review import incomplete, review_run

    found: list[Review] = []
    for run in runs:
        reviews = review_run(place.repository.state, run)
        without = incomplete(reviews)
        found += without
        if without:
            names = join_few(review.unit for review in without)
            what = "has no result of its own" if len(without) == 1 else "have no results of their own"
            warn(f"{names} of {run.id} {what}; git prun reconcile {run.id} says why")
        if without and refuse:
            raise OperationRefused(
                f"nothing was landed: {len(without)} of {len(reviews)} units of {run.id} have no result of their own",
                f"git prun run --resume {run.id} runs the failed ones again; units that are named land as they are",
            )
    return tuple(found)

"""``git prun merge``: land verified units and branches made elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import click

from gitprun.api.repo import Repo
from gitprun.api.settings import MergeRequest, Order
from gitprun.cli.console import put_json
from gitprun.cli.landing_output import render_landing, suspect_option
from gitprun.cli.options import here, json_option
from gitprun.model.errors import Interrupted, UsageProblem


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
@click.option("--mend", is_flag=True, help="Land what looks wrong mended, if checks are red without and green with it.")
@click.option(
    "--allow-unverified", is_flag=True, help="Land what no check has proved, and failed units that are named."
)
@click.option("--strict", is_flag=True, help="Land nothing while a unit of the run has no result of its own.")
@click.option("--yes", "-y", is_flag=True, help="Approve what prun.toml says (git prun trust), now and from now on.")
@click.option("--dry-run", "-n", is_flag=True, help="Say what would happen; change nothing.")
@json_option
@click.pass_context
def merge(
    ctx: click.Context,
    /,
    *,
    names: tuple[str, ...],
    into: str | None,
    message: str | None,
    order: Order,
    verify: tuple[str, ...],
    no_verify: bool,
    batch: bool,
    keep_going: bool,
    favor: tuple[str, ...],
    strategy: Literal["ours", "theirs"] | None,
    accept: tuple[str, ...],
    accept_drops: bool,
    allow_outside: bool,
    with_base: bool,
    deepen: bool,
    allow_suspect: tuple[str, ...],
    mend: bool,
    allow_unverified: bool,
    strict: bool,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> int:
    """Land branches with --no-ff merges: every verified unit of the last run, or the UNITs, RUNs and BRANCHes named.

    A branch that conflicts, looks wrong or turns the target red is set aside with the reason, and the others land. A
    RUN that is named lands only if each of its units has a result of its own. Exit code 0 only if all asked for is in.
    """
    if accept_drops and not strategy:
        raise UsageProblem("--accept-drops says nothing without -X", "write -X ours or -X theirs with it")
    asked = MergeRequest(
        into=into,
        message=message,
        order=order,
        verify=verify,
        no_verify=no_verify,
        one_by_one=not batch,
        keep_going=keep_going,
        favor=favor,
        strategy=strategy,
        accept=accept,
        accept_drops=accept_drops,
        allow_outside=allow_outside,
        allow_suspect=allow_suspect,
        mend=mend,
        allow_unverified=allow_unverified,
        with_base=with_base,
        deepen=deepen,
        # Who names a run means all of it; who names none means what is there.
        complete=strict or bool(names),
        approve=yes,
        dry_run=dry_run,
    )
    return land_names(here(ctx, quiet=as_json), names, asked, as_json=as_json)


def land_names(repo: Repo, names: Sequence[str], asked: MergeRequest, *, as_json: bool) -> int:
    """Land what the names mean and print what came of it; return the exit code."""
    from gitprun.api.stopping import Stop
    from gitprun.cli.signals import signals_stop

    stop = Stop()
    with signals_stop(stop) as caught:
        landing = repo.merge(names, asked, stop=stop)
    if as_json:
        put_json("merge", landing)
    else:
        render_landing(landing)
    if caught:
        raise Interrupted(caught[0])
    return 0 if landing.all_in else 1

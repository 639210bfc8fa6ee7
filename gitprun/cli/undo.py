"""``git prun undo``: take a landing back, or bring it back again; put back what a worker changed."""

from __future__ import annotations

from collections.abc import Sequence

import click

from gitprun.api.settings import MergeRequest
from gitprun.api.undone import LandedMerge, LandingHistory, PastLanding, Undone
from gitprun.cli.console import clock_time, hint, put, put_json, safe, say, table
from gitprun.cli.landing_output import say_notes
from gitprun.cli.options import here, json_option
from gitprun.model.errors import Interrupted, UsageProblem
from gitprun.model.escapes import shell_word
from gitprun.model.names import short


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
def undo(
    ctx: click.Context,
    /,
    *,
    landing: str | None,
    listing: bool,
    redo: bool,
    verify: tuple[str, ...],
    no_verify: bool,
    yes: bool,
    drift: str | None,
    accept: bool,
    only: tuple[str, ...],
    dry_run: bool,
    as_json: bool,
) -> int:
    """Take the last landing back, or LANDING: its number, a merge commit, a branch or a unit.

    Where nothing came after it and no remote has it, the branch moves back; --redo moves it on again, as long as
    nothing else came. Else revert commits take it out; --redo, or naming the revert, brings that back.

    With --drift: put back refs, settings, hooks and reflogs that changed while UNIT ran, from what was kept before
    it started. Files of your checkouts are never touched; what you changed again since is left alone.
    """
    if drift is not None:
        if landing or listing or redo or (accept and (dry_run or only)):
            raise UsageProblem(
                "--drift goes with --only and --dry-run, or with --accept, and with --json",
                "git prun undo --drift UNIT",
            )
        from gitprun.cli.undo_drift import undo_drift

        return undo_drift(ctx, drift, accept=accept, only=only, dry_run=dry_run, as_json=as_json)
    if accept or only:
        raise UsageProblem("--accept and --only are for --drift", "git prun undo --drift UNIT")
    if listing:
        if landing or redo or dry_run:
            raise UsageProblem("--list goes with nothing but --json", "leave the rest out")
        show(here(ctx).landings(), as_json=as_json)
        return 0
    from gitprun.api.stopping import Stop
    from gitprun.cli.signals import signals_stop

    asked = MergeRequest(verify=verify, no_verify=no_verify, approve=yes, dry_run=dry_run)
    repo, stop = here(ctx), Stop()
    with signals_stop(stop) as caught:
        done = repo.undo(landing, redo=redo, asked=asked, stop=stop)
    if as_json:
        put_json("undo", done)
    else:
        render(done)
    if caught:
        raise Interrupted(caught[0])
    return 0


def show(history: LandingHistory, *, as_json: bool) -> None:
    """Print all landings, the last one first, and what workers changed that waits for an answer."""
    if as_json:
        put_json("landings", history)
        return
    from gitprun.cli.undo_drift import show_drifts

    _show_landings(history.landings)
    show_drifts(history.drifts)


def _show_landings(landings: Sequence[PastLanding]) -> None:
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


def standing(one: LandedMerge) -> str:
    """Return in words what became of one merge."""
    if one.undone == "reverted":
        return f"reverted by {short(one.by)}"
    return "taken back" if one.undone else "landed"


def render(done: Undone) -> None:
    """Print what was done (or would be), and how to go on."""
    dry_run, branch = done.dry_run, safe(done.target.removeprefix("refs/heads/"))
    would = "would be " if dry_run else ""
    what = {"moved": "taken back", "reverted": "reverted", "redone": "brought back"}[done.way]
    for one in done.items:
        by = f" by {short(one.by)}" if one.by and not dry_run else ""
        put(f"{safe(one.branch)}: {would}{what}{by}")
    say_notes(done.notes, done.news)
    if done.forgotten:
        is_or_would = "would be" if dry_run else "is"
        paths = safe(", ".join(done.forgotten))
        say(f"the resolution of {paths} {is_or_would} forgotten: the next merge asks anew")
    say(f"{branch} {'would be' if dry_run else 'is now'} at {short(done.new)} (was {short(done.old)})")
    if dry_run:
        return
    names = [shell_word(one.name) for one in done.items]
    if done.way == "moved" and done.forgotten:
        hint(f"git prun resolve {names[0]} opens the conflict again")
    elif done.way == "moved":
        hint(f"git prun merge {' '.join(names)} lands it again")
    elif done.way == "reverted":
        hint(f"git prun undo --redo {done.landing} brings it back; a merge of the same commits would not")

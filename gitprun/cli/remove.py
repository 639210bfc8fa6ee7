"""``git prun remove`` and ``git prun clean``: take workspaces away, keep the work."""

from __future__ import annotations

from collections.abc import Sequence

import click

from gitprun.api.places import clean as clean_run
from gitprun.api.workspaces import RemovedWorkspace, RemovedWorkspaces
from gitprun.cli.console import hint, put_json, safe, say, warn
from gitprun.cli.options import here, json_option
from gitprun.model.errors import UsageProblem
from gitprun.model.lists import listed

# Names of files that make one line; the folder they are kept in has all of them.
SHOWN = 10


@click.command()
@click.argument("unit_names", metavar="UNIT...", nargs=-1, required=True)
@click.option("--discard-left-out", is_flag=True, help="Let files go that are in no commit (they are listed by show).")
@json_option
@click.pass_context
def remove(ctx: click.Context, unit_names: tuple[str, ...], discard_left_out: bool, as_json: bool) -> int:
    """Remove the workspaces of UNITs, or those made by git prun new; their commits stay pinned in the repository."""
    done = here(ctx).remove_workspaces(unit_names, discard_left_out=discard_left_out)
    return _render(done, as_json=as_json)


@click.command()
@click.argument("run_name", metavar="[RUN]", required=False)
@click.option("--all", "every", is_flag=True, help="Clean all runs, not only the last one.")
@click.option("--discard-left-out", is_flag=True, help="Let files go that are in no commit (they are listed by show).")
@json_option
@click.pass_context
def clean(ctx: click.Context, run_name: str | None, every: bool, discard_left_out: bool, as_json: bool) -> int:
    """Remove the workspaces of all units of the last run (or of RUN) whose work is over; commits stay pinned."""
    if every and run_name:
        raise UsageProblem("--all and a run cannot be given together", "leave one of them out")
    done = clean_run(here(ctx).opened, run_name, every=every, discard_left_out=discard_left_out)
    return _render(done, as_json=as_json)


def _render(done: RemovedWorkspaces, *, as_json: bool) -> int:
    """Print what became of each; return the exit code: 0 only if nothing was left alone."""
    failed = any(one.failed for one in done.workspaces)
    if as_json:
        put_json("remove", done)
        return 1 if failed else 0
    if not done.workspaces:
        say("there is no workspace to remove")
    for one in done.workspaces:
        _say(one)
    pinned = [one.name for one in done.workspaces if one.pinned]
    if pinned:
        first = safe(pinned[0])
        hint(f"the work stays: git prun rescue {first} makes a branch of it, git prun rescue --list shows all")
    return 1 if failed else 0


def _say(one: RemovedWorkspace) -> None:
    """Say what became of one workspace."""
    if one.failed:
        warn(f"{one.run}/{one.unit} is left alone: {safe(one.reason)}")
        if one.hint:
            hint(safe(one.hint))
        return
    if not one.removed:
        say(f"{one.name}: {one.reason}")
        return
    say(f"removed {safe(one.path)}" if not one.reason else f"{safe(one.name)} is forgotten: {safe(one.reason)}")
    if one.saved:
        say(f"  what was still in it is pinned as {one.saved}")
    say_ignored(one.name, one.kept, one.kept_files, one.discarded)
    for entry in one.stashed:
        say(f"  your stash still has what was stashed there: {safe(entry)}")


def say_ignored(name: str, kept: str, files: Sequence[str], gone: Sequence[str]) -> None:
    """Say what became of the ignored files of a workspace; what a tool makes again is not worth a word."""
    if files:
        say(f"  ignored files are kept for 30 days: {safe(listed(files, SHOWN))} (in {safe(kept)})")
        hint(f"git prun rescue --ignored {safe(name)} --into FOLDER brings them back")
    if gone:
        say(f"  ignored files went with it: {safe(', '.join(gone[:SHOWN]))}")

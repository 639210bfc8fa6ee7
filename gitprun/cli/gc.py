"""``git prun gc``: say what may go and why that is safe, then remove it."""

from __future__ import annotations

import click

from gitprun.api.keeping import KEEP_FOR, collect_garbage, hear_no_plan
from gitprun.api.workspaces import GarbageCollected
from gitprun.cli.console import hint, put, put_json, safe, say, size_text, table, warn
from gitprun.cli.options import here, json_option


@click.command()
@click.option("--dry-run", "-n", is_flag=True, help="Say what would go; change nothing.")
@click.option("--older-than", "age", default=KEEP_FOR, metavar="AGE", help="How old trash and logs must be (30d, 12h).")
@click.option("--workspaces", is_flag=True, help="Also workspaces of which every file and commit is pinned.")
@json_option
@click.pass_context
def gc(ctx: click.Context, dry_run: bool, age: str, workspaces: bool, as_json: bool) -> int:
    """Remove data that is no longer needed: rests of what broke off, old logs, spent pins, trash of over 30 days.

    Nothing that is the only copy of anything ever goes. Each line says why it is safe.
    """
    done = collect_garbage(
        here(ctx).opened,
        older_than=age,
        workspaces=workspaces,
        dry_run=dry_run,
        planned=hear_no_plan if as_json else render,
    )
    if as_json:
        put_json("gc", done)
    else:
        _render_end(done, workspaces=workspaces)
    return 0 if done.good else 1


def render(plan: GarbageCollected) -> None:
    """Print what goes, and what stays although one might expect it to go."""
    if not plan.steps:
        say("nothing to prune")
    else:
        rows = [[step.kind, size_text(step.size), safe(step.what), safe(step.why)] for step in plan.steps]
        put(table(["what", "size", "which", "why it is safe"], rows))
    for stay in plan.stays:
        say(f"stays: {safe(stay.what)}: {safe(stay.why)}")


def _render_end(done: GarbageCollected, *, workspaces: bool) -> None:
    for step in done.steps:
        if step.problem:
            warn(f"{safe(step.what)} stays: {safe(step.problem)}")
        if step.kept:
            say(f"{safe(step.of)}: ignored files are kept for 30 days in {safe(step.kept)}")
            hint(f"git prun rescue --ignored {safe(step.of)} --into FOLDER brings them back")
    if done.dry_run and done.steps:
        say(f"{size_text(done.size)} would go; nothing was changed")
    elif any(step.done or step.problem for step in done.steps):
        say(f"freed {size_text(done.freed)}")
    if done.stays:
        hint("git prun workspace list shows workspaces, git prun rescue what is pinned")
    if not workspaces:
        hint("workspaces are kept; use --workspaces to remove those whose contents are pinned")

"""``git prun gc``: say what may go and why that is safe, then let it go."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from gitprun.cli.console import hint, put, safe, say, size_text, table, warn
from gitprun.cli.options import here, json_option
from gitprun.model.errors import UsageProblem

if TYPE_CHECKING:
    from gitprun.recovery.gc import GcReport
    from gitprun.recovery.gc_plan import GcPlan


@click.command()
@click.option("--dry-run", "-n", is_flag=True, help="Say what would go; change nothing.")
@click.option("--older-than", "age", default="30d", metavar="AGE", help="How old trash and logs must be (30d, 12h).")
@click.option("--workspaces", is_flag=True, help="Also workspaces of which every file and commit is pinned.")
@json_option
@click.pass_context
def gc(ctx: click.Context, dry_run: bool, age: str, workspaces: bool, as_json: bool) -> int:
    """Let go what nobody needs: rests of what broke off, old logs, spent pins, the trash of more than 30 days.

    Nothing that is the only copy of anything ever goes. Each line says why it is safe.
    """
    from gitprun.cli.places import find_moved, known_roots
    from gitprun.git.command import require_git
    from gitprun.recovery.gc import collect_garbage
    from gitprun.recovery.gc_plan import GcScope

    keep_for = _seconds(age)
    place = here(ctx)
    require_git(place.start)
    find_moved(place)
    place.read()
    report = collect_garbage(
        place.repository,
        place.ledger,
        known_roots(place),
        GcScope(keep_for=keep_for, workspaces=workspaces),
        dry_run=dry_run,
        announce=(lambda plan: None) if as_json else render,
    )
    if as_json:
        put(json.dumps(_as_json(report, dry_run=dry_run)))
    else:
        _render_end(report, dry_run=dry_run, workspaces=workspaces)
    return 1 if any(one.problem for one in report.done) else 0


def _seconds(text: str) -> float:
    """Read a length of time, which may have days: 30d, 1d12h, 90m; 0d is none at all."""
    from gitprun.model.tables import parse_duration

    found = re.fullmatch(r"(?:([0-9]{1,5})d)?(.*)", text.strip())
    days, rest = (found[1], found[2].strip()) if found else (None, text)
    more = parse_duration(rest) if rest else (0.0 if days is not None else None)
    if more is None:
        raise UsageProblem(f"--older-than {text!r} is no length of time", "such as 30d, 12h or 90m")
    return int(days or 0) * 86400.0 + more


def render(plan: GcPlan) -> None:
    """Print what goes, and what stays although one might expect it to go."""
    if not plan.steps:
        say("there is nothing to let go")
    else:
        rows = [[step.kind, size_text(step.size), safe(step.what), safe(step.why)] for step in plan.steps]
        put(table(["what", "size", "which", "why it is safe"], rows))
    for stay in plan.stays:
        say(f"stays: {safe(stay.what)}: {safe(stay.why)}")


def _render_end(report: GcReport, *, dry_run: bool, workspaces: bool) -> None:
    for one in report.done:
        if one.problem:
            warn(f"{safe(one.step.what)} stays: {safe(one.problem)}")
        if one.kept:
            say(f"{safe(one.step.of)}: ignored files are kept for 30 days in {safe(one.kept)}")
            hint(f"git prun rescue --ignored {safe(one.step.of)} --into FOLDER brings them back")
    if dry_run and report.plan.steps:
        say(f"{size_text(report.plan.size)} would go; nothing was changed")
    elif report.done:
        say(f"freed {size_text(report.freed)}")
    if report.plan.stays:
        hint("git prun workspace list shows workspaces, git prun rescue what is pinned")
    if not workspaces:
        hint("workspaces stay; --workspaces lets those go of which all is pinned")


def _as_json(report: GcReport, *, dry_run: bool) -> dict[str, object]:
    problems = {(one.step.kind, one.step.what): one for one in report.done}
    steps = []
    for step in report.plan.steps:
        one = problems.get((step.kind, step.what))
        steps.append(
            asdict(step) | {"done": one is not None and not one.problem, "problem": one.problem if one else ""}
        )
    stays = [asdict(stay) for stay in report.plan.stays]
    return {"dry_run": dry_run, "steps": steps, "stays": stays, "size": report.plan.size, "freed": report.freed}

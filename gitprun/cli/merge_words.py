"""What ``git prun merge`` says when it is done."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

import click

from gitprun.cli.console import coloured, hint, safe, say, table, warn
from gitprun.merge.plan import WOULD_SETTLE, LandingItem, LandingReport
from gitprun.names import short


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
        _render_item(item)
    if any(item.state == "conflict" for item in report.items):
        hint("git prun resolve BRANCH opens a conflict in a workspace of its own, with a brief")
    for item in report.items:
        if item.state == "held" and item.accept:
            options = " ".join(f"--accept {shlex.quote(safe(one))}" for one in item.accept)
            name = item.candidate.unit or item.candidate.branch
            hint(f"git prun merge {shlex.quote(safe(name))} {options} lands it as it is")
    for note in report.notes:
        warn(safe(note))
    if report.new != report.old:
        say(f"{report.target.removeprefix('refs/heads/')} is now at {short(report.new)} (was {short(report.old)})")


def _render_item(item: LandingItem) -> None:
    name = item.candidate.branch
    for conflict in item.conflicts:
        why = ""
        if conflict.resolver:
            left = "" if conflict.resolver.endswith(WOULD_SETTLE) else "no resolver settled it: "
            why = f" ({left}{safe(conflict.resolver)})"
        detail = re.sub(r"^CONFLICT \([^)]*\): ", "", conflict.detail)
        click.echo(f"{name}: conflict in {safe(conflict.path)}: {safe(conflict.kind)}: {safe(detail)}{why}")
    for suspect in item.suspects:
        click.echo(f"{name}: look at {safe(suspect.path)}: {safe(suspect.reason)}")
    done = "would unite" if item.state == "drops" else "united"
    for resolved in item.resolved:
        added = len(resolved.added)
        lines = f"{added} line{'' if added == 1 else 's'} added"
        click.echo(f"{name}: {safe(resolved.path)} {done} ({resolved.resolver}), {lines}")
        for line in resolved.dropped:
            click.echo(f"  {'would be ' if item.state == 'drops' else ''}dropped by policy: {safe(line)}")

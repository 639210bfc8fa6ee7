"""What ``git prun merge`` says when it is done."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from gitprun.cli.console import coloured, hint, put, safe, say, table, warn
from gitprun.landing.holds import held_branches
from gitprun.landing.plan import LandingItem, LandingReport, News
from gitprun.ledger.held import HeldBranch
from gitprun.model.names import short

# Each is a command to paste; more of them push the table out of sight.
MOST_HINTS = 3


def render(report: LandingReport, skipped: Sequence[tuple[str, str]], *, advise: bool = True) -> None:
    """Print a table of what landed and what did not, then the conflicts and what resolvers did, and how to go on."""
    rows = []
    for item in report.items:
        commit = short(item.commit) if item.commit else "-"
        rows.append([item.candidate.branch, coloured(item.state), commit, safe(item.reason)])
    rows += [[f"prun/{name}", coloured("skipped"), "-", safe(reason)] for name, reason in skipped]
    if rows:
        put(table(["branch", "state", "commit", "note"], rows))
    else:
        say("nothing asks to land")
    for item in report.items:
        _render_item(item)
    if advise:
        _advise(held_branches(report))
    say_notes(report.notes)
    if report.new != report.old:
        say(f"{report.target.removeprefix('refs/heads/')} is now at {short(report.new)} (was {short(report.old)})")


def say_notes(notes: Iterable[str]) -> None:
    """Say what a landing or an undo notes: how it went, or what should not be missed."""
    for note in notes:
        (say if isinstance(note, News) else warn)(safe(note))


def _advise(held: Sequence[HeldBranch]) -> None:
    """Name the command that goes on, for the first few branches that did not land."""
    told = [one for one in held if one.opens or one.accept]
    for one in told[:MOST_HINTS]:
        if one.next_step == one.acceptance:
            hint(safe(f"{one.acceptance} lands it as it is"))
            continue
        opens = {"suspect": "it to be mended", "red": "the merged files to be mended", "held": "it to be mended"}
        what = opens.get(one.state, "the conflict in a workspace of its own")
        instead = f"; {one.acceptance} lands it as it is" if one.acceptance else ""
        hint(safe(f"{one.next_step} opens {what}{instead}"))
    if len(told) > MOST_HINTS:
        hint(f"git prun status lists the {len(told) - MOST_HINTS} others with the command for each")


def _render_item(item: LandingItem) -> None:
    name = item.candidate.branch
    for conflict in item.conflicts:
        why = f" (no resolver settled it: {safe(conflict.reason)})" if conflict.reason else ""
        why = f" ({safe(conflict.resolver)} would settle it)" if conflict.would_settle else why
        detail = re.sub(r"^CONFLICT \([^)]*\): ", "", conflict.detail)
        put(f"{name}: conflict in {safe(conflict.path)}: {safe(conflict.kind)}: {safe(detail)}{why}")
    for suspect in item.suspects:
        if not suspect.path and suspect.reason == item.reason:
            # It is about the branch as a whole, and the table says it.
            continue
        put(f"{name}: look at {safe(str(suspect))}")
    done = "would unite" if item.state == "drops" else "united"
    for resolved in item.resolved:
        added = len(resolved.added)
        lines = f", {added} line{'' if added == 1 else 's'} added" if added else ""
        put(f"{name}: {safe(resolved.path)} {done} ({resolved.resolver}){lines}")
        for line in resolved.dropped:
            put(f"  {'would be ' if item.state == 'drops' else ''}dropped by policy: {safe(line)}")

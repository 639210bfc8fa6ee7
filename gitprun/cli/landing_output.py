"""What a landing is told as, for every command that lands: a table, the conflicts, how to go on."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Sequence

import click

from gitprun.api.landings import LandedBranch, Landing
from gitprun.cli.console import coloured, hint, put, safe, say, table, warn
from gitprun.model.escapes import shell_word
from gitprun.model.names import short

# Each is a command to paste; more of them push the table out of sight.
MOST_HINTS = 3

# Without a word it means every finding, as it always did.
suspect_option = click.option(
    "--allow-suspect",
    multiple=True,
    is_flag=False,
    flag_value="all",
    metavar="[PATH]",
    help="Land what looks wrong in PATH, as it was printed (repeatable); all, or no PATH: whatever it is.",
)


def render_landing(landing: Landing, *, advise: bool = True) -> None:
    """Print a table of what landed and what did not, then the conflicts and what resolvers did, and how to go on."""
    rows = [
        [item.branch, coloured(item.state), short(item.commit) if item.commit else "-", safe(item.reason)]
        for item in landing.items
    ]
    rows += [[f"prun/{one.unit}", coloured("skipped"), "-", safe(one.reason)] for one in landing.skipped]
    if rows:
        put(table(["branch", "state", "commit", "note"], rows))
    else:
        say("nothing to land")
    for item in landing.items:
        _render_item(item)
    if advise:
        _advise(landing.items)
    say_notes((note for note in landing.notes if note not in landing.ahead), landing.news)
    if landing.new != landing.old:
        say(f"{landing.target.removeprefix('refs/heads/')} is now at {short(landing.new)} (was {short(landing.old)})")


def say_notes(notes: Iterable[str], news: Collection[str]) -> None:
    """Say what a landing or an undo notes: how it went (``news``), or what should not be missed."""
    for note in notes:
        (say if note in news else warn)(safe(note))


def _advise(items: Sequence[LandedBranch]) -> None:
    """Name the command that goes on, for the first few branches that did not land."""
    told = [one for one in items if one.next and (one.opens or one.accept)]
    for one in told[:MOST_HINTS]:
        if one.next == one.acceptance:
            hint(safe(f"{one.acceptance} lands it as it is"))
            continue
        opens = {"suspect": "it to be mended", "red": "the merged files to be mended", "held": "it to be mended"}
        what = opens.get(one.state, "the conflict in a workspace of its own")
        instead = f"; {one.acceptance} lands it as it is" if one.acceptance else ""
        hint(safe(f"{one.next} opens {what}{instead}"))
    mendable = [one for one in items if one.mendable]
    if mendable:
        names = " ".join(shell_word(one.name) for one in mendable[:MOST_HINTS])
        hint(safe(f"git prun merge --mend {names} lands it mended, if its checks are red without and green with it"))
    if len(told) > MOST_HINTS:
        hint(f"git prun status lists the {len(told) - MOST_HINTS} others with the command for each")


def _render_item(item: LandedBranch) -> None:
    name = item.branch
    for conflict in item.conflicts:
        why = f" (no resolver settled it: {safe(conflict.reason)})" if conflict.reason else ""
        why = f" ({safe(conflict.resolver)} would settle it)" if conflict.would_settle else why
        detail = re.sub(r"^CONFLICT \([^)]*\): ", "", conflict.detail)
        put(f"{name}: conflict in {safe(conflict.path)}: {safe(conflict.kind)}: {safe(detail)}{why}")
    for suspect in item.suspects:
        if not suspect.path and suspect.reason == item.reason:
            # It is about the branch as a whole, and the table says it.
            continue
        mend = f" (mend: {safe(suspect.mend)})" if suspect.mend else ""
        put(f"{name}: look at {safe(str(suspect))}{mend}")
    done = "would unite" if item.state == "drops" else "united"
    for resolved in item.resolved:
        added = len(resolved.added)
        lines = f", {added} line{'' if added == 1 else 's'} added" if added else ""
        put(f"{name}: {safe(resolved.path)} {done} ({resolved.resolver}){lines}")
        for line in resolved.dropped:
            put(f"  {'would be ' if item.state == 'drops' else ''}dropped by policy: {safe(line)}")

"""``git prun undo --drift``: put back what changed in your repository while a worker ran, or let it be."""

from __future__ import annotations

from collections.abc import Sequence

import click

from gitprun.api.undone import DriftItem, DriftUndone, OpenDrift
from gitprun.cli.console import clock_time, hint, put, put_json, safe, say, table
from gitprun.cli.options import here
from gitprun.model.escapes import shell_word

# So many lines of one unit fit on a screen; show lists all of them.
MOST_TEXTS = 20


def undo_drift(
    ctx: click.Context, name: str, *, accept: bool, only: Sequence[str], dry_run: bool, as_json: bool
) -> int:
    """Put back or accept, and print what came of it; return the exit code."""
    repo = here(ctx, damaged=True)
    done = repo.accept_drift(name) if accept else repo.undo_drift(name, only=only, dry_run=dry_run)
    if as_json:
        put_json("undo-drift", done)
    else:
        _render(done)
    return 0 if done.done else 1


def _render(done: DriftUndone) -> None:
    units = safe(", ".join(done.units))
    for item in done.items:
        because = f": {safe(item.because)}" if item.because and not done.accepted else ""
        put(f"{_standing(item, done)}: {safe(item.words)}{because}")
    for note in done.notes:
        say(f"left as it is: {safe(note)}")
    if done.objects:
        say(f"{done.objects} object files were brought back")
    if done.accepted:
        say(f"accepted; {units} can land now")
    elif not done.done:
        hint("do what is said, then the same command again; --accept lets the rest stay as it is")
    elif not done.dry_run:
        say(f"nothing of it keeps {units} from landing any more")
    if done.notes and not done.accepted:
        hint("--only NAME puts back one of those, too")


def _standing(item: DriftItem, done: DriftUndone) -> str:
    if done.accepted:
        return "accepted"
    word = {"put-back": "put back", "left": "left alone", "refused": "not put back"}[item.state]
    return f"would be {word}" if done.dry_run else word


def show_drifts(drifts: Sequence[OpenDrift]) -> None:
    """Print what changed while workers ran and waits for an answer."""
    if not drifts:
        return
    rows = [
        [
            safe(", ".join(drift.units)) if not number else "",
            clock_time(drift.time) if not number else "",
            safe(text),
        ]
        for drift in drifts
        for number, text in enumerate(drift.texts[:MOST_TEXTS])
    ]
    put("\nchanged in your repository while workers ran:")
    put(table(["unit", "seen", "what"], rows))
    hint(f"git prun undo --drift {shell_word(drifts[0].units[0])} puts it back; with --accept it stays as it is")

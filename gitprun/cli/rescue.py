"""``git prun rescue``: list everything that is pinned, and bring it back."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitprun.cli.console import clock_time, hint, put, safe, say, size_text, table, warn
from gitprun.cli.options import Here, here, json_option
from gitprun.model.errors import PrunError, UsageProblem

if TYPE_CHECKING:
    from gitprun.capture.quarantine import RejectedWork
    from gitprun.recovery.rescue import PinnedCommit, Restored
    from gitprun.registry.find import WorkspaceRecord


MOST_SHOWN = 20


@click.command()
@click.argument("names", metavar="[UNIT|REF|all]...", nargs=-1)
@click.option("--list", "listing", is_flag=True, help="List what is pinned, and restore nothing.")
@click.option("--to", "branch", metavar="BRANCH", help="The branch to make (default: rescue/<unit>).")
@click.option("--ignored", "ignored", is_flag=True, help="Ignored files kept of removed workspaces, for 30 days.")
@click.option("--into", "folder", metavar="FOLDER", type=click.Path(), help="Write the files into this new folder.")
@json_option
@click.pass_context
def rescue(
    ctx: click.Context,
    names: tuple[str, ...],
    listing: bool,
    branch: str | None,
    ignored: bool,
    folder: str | None,
    as_json: bool,
) -> int:
    """List all that is pinned, or bring it back: as branches, which never replace one, or as files.

    UNIT is a unit or a named workspace (all that is kept of it), REF a ref or commit. No ledger is needed: the refs
    tell everything.
    """
    from gitprun.recovery.rescue import choose, list_pinned, only_captured, restore_branches, restore_files

    if branch and folder:
        raise UsageProblem("--to and --into cannot be given together", "leave one of them out")
    if branch and ignored:
        raise UsageProblem("ignored files come back as files, not as a branch", "--into FOLDER instead of --to")
    if not names and (branch or folder):
        raise UsageProblem("what is to be brought back is missing", "git prun rescue --list shows what there is")
    place = here(ctx)
    if ignored:
        return _rescue_ignored(place, names, None if listing else folder, as_json=as_json)
    pinned = list_pinned(place.repository)
    if listing or not names:
        chosen = choose(pinned, names) if names else pinned
        _show(place, chosen, as_json=as_json, whole=not names)
        return 0
    chosen = choose(pinned, names)
    if folder is not None:
        done = restore_files(place.repository, chosen, Path(os.path.abspath(place.start / folder)))
    else:
        chosen = only_captured(chosen) if branch and len(names) == 1 else chosen
        done = restore_branches(place.repository, chosen, to=branch)
    _note(place, done)
    if as_json:
        put(json.dumps({"restored": [asdict(one) for one in done]}))
        return 0
    for one in done:
        where = f"branch {one.branch}" if one.branch else one.folder
        put(f"{safe(where)}{'' if one.new else ' (there already)'}  {one.commit[:10]}  {safe(one.ref)}")
    if any(one.branch for one in done):
        hint("git switch BRANCH shows it; git diff HEAD...BRANCH what it changes")
    return 0


def _rescue_ignored(place: Here, names: tuple[str, ...], folder: str | None, *, as_json: bool) -> int:
    from gitprun.registry.ignored import choose_kept, list_kept, restore_kept

    kept = list_kept(place.repository.state)
    chosen = choose_kept(kept, names) if names else kept
    if folder is not None:
        done = restore_kept(chosen, Path(os.path.abspath(place.start / folder)))
        put(json.dumps({"restored": list(done)}) if as_json else "\n".join(map(safe, done)))
        return 0
    if as_json:
        put(json.dumps({"ignored": [asdict(one) for one in chosen]}))
        return 0
    for one in chosen:
        put(f"{safe(one.name)}  {one.day}  {size_text(one.size)}  {safe(one.folder)}")
        for path in one.paths[:MOST_SHOWN]:
            put(f"  {safe(path)}")
        if len(one.paths) > MOST_SHOWN:
            put(f"  ... and {len(one.paths) - MOST_SHOWN} more")
    if chosen:
        hint(f"git prun rescue --ignored {safe(chosen[-1].name)} --into FOLDER copies them into a new folder")
    else:
        say("no ignored files are kept here")
    return 0


def _note(place: Here, done: tuple[Restored, ...]) -> None:
    """Write down what was brought back; a ledger that cannot be written hinders nobody."""
    try:
        rows = [("rescue.restored", "", "", asdict(one)) for one in done]
        if rows:
            place.ledger.append_all(rows)
    except (PrunError, OSError) as problem:
        warn(f"not written down: {safe(str(problem))}")


def _show(place: Here, chosen: tuple[PinnedCommit, ...], *, as_json: bool, whole: bool) -> None:
    orphans, kept = _others(place) if whole else ((), ())
    if as_json:
        put(json.dumps(_as_json(chosen, orphans, kept)))
        return
    shown = [one for one in chosen if one.label.kind not in ("base", "baseline", "other") or not whole]
    from gitprun.registry.ignored import list_kept

    files = list_kept(place.repository.state) if whole else ()
    if not shown and not orphans and not kept and not files:
        say("nothing is pinned here")
        return
    if shown:
        rows = [
            [
                one.label.kind,
                safe(one.label.name) or "-",
                clock_time(one.time) if one.whole else "-",
                str(one.files),
                size_text(one.size),
                safe(one.ref.removeprefix("refs/prun/")),
                safe(one.subject),
            ]
            for one in shown
        ]
        put(table(["kind", "of", "date", "files", "size", "ref", "subject"], rows))
    for room in kept:
        put(f"rejected  {safe(room.run)}/{safe(room.unit)}  {size_text(room.size)}  {room.place}: {safe(room.reason)}")
    for one in files:
        put(f"ignored   {safe(one.name)}  {one.day}  {size_text(one.size)}  {safe(one.folder)}")
    for orphan in orphans:
        put(f"orphan    {orphan.kind}  {safe(orphan.path)}")
    if shown:
        hint("git prun rescue UNIT makes branches rescue/UNIT; --into FOLDER writes the files")
    if files:
        hint("git prun rescue --ignored lists ignored files that are kept; --into FOLDER copies them")
    if orphans:
        hint("git prun workspace adopt PATH takes an orphan in")


def _others(place: Here) -> tuple[tuple[WorkspaceRecord, ...], tuple[RejectedWork, ...]]:
    """Find what no ref pins; where the ledger cannot be read, workspaces are not told from orphans."""
    from gitprun.capture.quarantine import list_quarantine
    from gitprun.cli.places import known_roots
    from gitprun.cli.unpinned import warn_unpinned
    from gitprun.registry.orphans import find_orphans

    kept = list_quarantine(place.repository)
    try:
        reading = place.read()
        found = find_orphans(place.repository, reading, known_roots(place))
        warn_unpinned(place.repository, reading.history.runs.values(), reading.events)
    except (PrunError, OSError) as problem:
        warn(f"workspaces were not looked for: {safe(str(problem))}")
        return (), kept
    return tuple(row for row in found if row.state == "orphan"), kept


def _as_json(
    chosen: tuple[PinnedCommit, ...], orphans: tuple[WorkspaceRecord, ...], kept: tuple[RejectedWork, ...]
) -> dict[str, Any]:
    return {
        "pinned": [asdict(one) | {"label": asdict(one.label) | {"name": one.label.name}} for one in chosen],
        "orphans": [asdict(row) for row in orphans],
        "rejected": [
            {"path": str(row.place), "run": row.run, "unit": row.unit, "reason": row.reason, "size": row.size}
            for row in kept
        ],
    }

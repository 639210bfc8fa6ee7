"""``git prun workspace``: which workspaces there are, and what can be done with one beside working in it."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from gitprun.cli.console import age, coloured, hint, put, safe, say, size_text, table, warn
from gitprun.cli.options import Here, here, json_option
from gitprun.cli.places import find_moved, known_roots
from gitprun.cli.remove import say_ignored
from gitprun.ledger.ledger import Reading

if TYPE_CHECKING:
    from gitprun.ledger.events import RunState, UnitState
    from gitprun.registry.find import WorkspaceRecord


@click.group()
def workspace() -> None:
    """List, lock, move, adopt and reset workspaces; git prun new makes one, git prun remove takes it away."""


@workspace.command("list")
@click.option("--sizes", is_flag=True, help="Show how much room each takes (walks through all files).")
@json_option
@click.pass_context
def list_all(ctx: click.Context, sizes: bool, as_json: bool) -> None:
    """List all workspaces: of units, named ones, and those that only the disk or git knows."""
    from gitprun.registry.inventory import read_places

    place = here(ctx)
    find_moved(place)
    places = read_places(place.repository, place.read(), known_roots(place), sizes=sizes)
    now = time.time()
    if as_json:
        rows = [asdict(row) | {"age": None if row.since is None else round(now - row.since, 3)} for row in places]
        put(json.dumps({"workspaces": rows}))
        return
    if not places:
        say("there is no workspace")
        return
    put(render_places(places, now, sizes=sizes))
    if any(row.state == "orphan" for row in places):
        hint("nobody knows the orphans; git prun workspace adopt PATH takes one in")


def render_places(places: Sequence[WorkspaceRecord], now: float, *, sizes: bool) -> str:
    """Lay out workspaces as a table."""
    head = ["workspace", "kind", "state", "age", "ahead", "dirty", *(["size"] if sizes else []), "path"]
    rows = []
    for row in places:
        notes = [f"locked: {row.locked}" if row.locked else "locked"] if row.locked is not None else []
        notes += [row.note] if row.note else []
        rows.append(
            [
                safe(row.name) or "-",
                row.kind,
                coloured(row.state),
                "-" if row.since is None else age(now - row.since),
                "-" if row.ahead is None else str(row.ahead),
                "-" if row.dirty is None else str(row.dirty),
                *([size_text(row.size or 0)] if sizes else []),
                safe(row.path + (f" ({'; '.join(notes)})" if notes else "")),
            ]
        )
    return table(head, rows)


def _find(place: Here, name: str) -> tuple[Reading, RunState, UnitState]:
    from gitprun.ledger.roster import roster
    from gitprun.registry.find import find_workspace

    find_moved(place)
    reading = place.read()
    return reading, *find_workspace(reading.history, roster(reading.events), name)


@workspace.command()
@click.argument("name", metavar="WORKSPACE")
@click.option("--reason", default="", help="Why, in one line; shown wherever the lock is in the way.")
@click.pass_context
def lock(ctx: click.Context, name: str, reason: str) -> None:
    """Lock WORKSPACE: no command of prun removes, moves or resets it; of a linked worktree git does not either."""
    from gitprun.registry.lock import lock_workspace

    place = here(ctx)
    _, _, unit = _find(place, name)
    lock_workspace(place.repository, place.ledger, unit, reason)
    say(f"locked {safe(str(unit.facts['path']))}")


@workspace.command()
@click.argument("name", metavar="WORKSPACE")
@click.pass_context
def unlock(ctx: click.Context, name: str) -> None:
    """Unlock WORKSPACE."""
    from gitprun.registry.lock import unlock_workspace

    place = here(ctx)
    _, _, unit = _find(place, name)
    unlock_workspace(place.repository, place.ledger, unit)
    say(f"unlocked {safe(str(unit.facts['path']))}")


@workspace.command()
@click.argument("name", metavar="WORKSPACE")
@click.argument("path", type=click.Path())
@click.pass_context
def move(ctx: click.Context, name: str, path: str) -> None:
    """Move WORKSPACE to PATH, which must not exist, on the same file system; git's registration follows."""
    from gitprun.registry.find import held, workspaces_of
    from gitprun.registry.move import move_workspace
    from gitprun.registry.reset import recover_workspace

    place = here(ctx)
    reading, run, unit = _find(place, name)
    others = [str(other.facts["path"]) for _, other in workspaces_of(reading)]
    target = Path(os.path.abspath(place.start / path))
    with held(place.repository, run, unit):
        if unit.run == "named":
            unit = recover_workspace(place.repository, place.ledger, unit)
        moved = move_workspace(place.repository, place.ledger, unit, target, others=others)
    say(f"moved to {safe(str(moved))}")


@workspace.command()
@click.argument("path", type=click.Path())
@click.option("--as", "name", help="The name of the workspace (default: that of its folder).")
@click.option("--branch", help="The branch here that a clone's commits come to (default: its own, if it is free).")
@json_option
@click.pass_context
def adopt(ctx: click.Context, path: str, name: str | None, branch: str | None, as_json: bool) -> None:
    """Take the folder PATH in as a named workspace: a linked worktree, or a clone of this repository without a remote.

    What is in it is captured and pinned first; it stays where and as it is. A workspace that was moved by hand is known
    again.
    """
    from gitprun.git.command import require_git
    from gitprun.registry.adopt import adopt as take_in
    from gitprun.registry.find import name_of
    from gitprun.registry.inventory import count_own
    from gitprun.registry.move import follow_moved

    place = here(ctx)
    require_git(place.start)
    target = Path(os.path.abspath(place.start / path))
    moved = follow_moved(place.repository, place.ledger, target)
    if moved is not None:
        say(f"{safe(name_of(moved))} was moved to {safe(str(moved.facts['path']))}, which is written down now")
        if as_json:
            put(json.dumps({"name": moved.id, "path": moved.facts["path"], "moved": True}))
        return
    adopted = take_in(place.repository, place.ledger, target, name=name, branch=branch)
    facts: dict[str, Any] = {key: adopted.unit.facts[key] for key in ("path", "branch", "base", "workspace")}
    if as_json:
        more = {"saved": adopted.saved, "kept": list(adopted.kept), "notes": list(adopted.notes)}
        put(json.dumps({"name": adopted.unit.id, **facts, **more}))
        return
    own = count_own(place.repository, adopted.unit, str(facts["base"]))
    has = f", with {own} commit{'s' if own > 1 else ''} of its own" if own else ""
    say(f"took in {safe(str(facts['path']))} as {adopted.unit.id}, on branch {safe(str(facts['branch']))}{has}")
    if adopted.saved:
        say(f"  what is in no commit there is pinned as {adopted.saved}")
    for ref in adopted.kept:
        say(f"  kept {safe(ref)}")
    for note in adopted.notes:
        warn(safe(note))


@workspace.command()
@click.argument("name", metavar="WORKSPACE")
@click.option("--to", "revision", default="HEAD", help="The commit to begin at (default: the one you are on).")
@click.option("--discard-left-out", is_flag=True, help="Let files go that are in no commit (they are listed by show).")
@json_option
@click.pass_context
def reset(ctx: click.Context, name: str, revision: str, discard_left_out: bool, as_json: bool) -> None:
    """Fill the named WORKSPACE anew from a commit, its branch with it; what it held is pinned first."""
    from gitprun.cli.new import provisions
    from gitprun.git.command import require_git
    from gitprun.ledger.roster import NAMED
    from gitprun.model.errors import OperationRefused
    from gitprun.registry.reset import reset_user_workspace
    from gitprun.system.config import read_settings

    place = here(ctx)
    require_git(place.start)
    _, run, unit = _find(place, name)
    if run.id != NAMED:
        raise OperationRefused(
            f"{unit.run}/{unit.id} is a unit of a run, and the workspace of a unit is never used again",
            f"git prun run --resume {unit.run} makes what is missing anew; git prun new makes a workspace of your own",
        )
    from gitprun.workspaces.base import Provision

    copy, link = provisions(place, read_settings(place.repository.top), os.environ)
    done = reset_user_workspace(
        place.repository,
        place.ledger,
        unit,
        revision,
        discard_left_out=discard_left_out,
        provision=Provision(copy=copy, link=link),
    )
    if as_json:
        put(json.dumps({"name": unit.id, **asdict(done)}))
        return
    say(f"{unit.id} is at {done.base[:10]} now, on branch {safe(done.branch)} ({safe(done.path)})")
    if done.saved:
        say(f"  what was in no commit is pinned as {done.saved}")
    if done.trash:
        say(f"  where its branch was is kept for 30 days as {safe(done.trash)}")
    say_ignored(unit.id, done.kept, done.kept_files, done.discarded)
    for note in done.notes:
        warn(safe(note))

"""``git prun workspace``: which workspaces there are, and what can be done with one beside working in it."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from gitprun.api import places
from gitprun.api.workspaces import MovedWorkspace, WorkspaceStatus
from gitprun.cli.console import age, coloured, hint, put, put_json, safe, say, size_text, table, warn
from gitprun.cli.options import here, json_option
from gitprun.cli.remove import say_ignored
from gitprun.model.escapes import shell_word


@click.group()
def workspace() -> None:
    """List, lock, move, adopt and reset workspaces; git prun new makes one, git prun remove takes it away."""


@workspace.command("list")
@click.option("--sizes", is_flag=True, help="Show how much room each takes (walks through all files).")
@json_option
@click.pass_context
def list_all(ctx: click.Context, sizes: bool, as_json: bool) -> None:
    """List all workspaces: of units, named ones, and those that only the disk or git knows."""
    found = here(ctx).workspaces(sizes=sizes)
    if as_json:
        put_json("workspaces", found)
        return
    if not found.workspaces:
        say("there is no workspace")
        return
    put(render_places(found.workspaces, sizes=sizes))
    orphans = [row.path for row in found.workspaces if row.state == "orphan"]
    if orphans:
        hint(f"orphaned workspaces; run 'git prun workspace adopt {shell_word(orphans[0])}' to register one")


def render_places(rows: Sequence[WorkspaceStatus], *, sizes: bool) -> str:
    """Lay out workspaces as a table."""
    head = ["workspace", "kind", "state", "age", "ahead", "dirty", *(["size"] if sizes else []), "path"]
    return table(head, [_row(row, sizes=sizes) for row in rows])


def _row(row: WorkspaceStatus, *, sizes: bool) -> list[str]:
    notes = [f"locked: {row.locked}" if row.locked else "locked"] if row.locked is not None else []
    notes += [row.note] if row.note else []
    return [
        safe(row.name) or "-",
        row.kind,
        coloured(row.state),
        "-" if row.age is None else age(row.age),
        "-" if row.ahead is None else str(row.ahead),
        "-" if row.dirty is None else str(row.dirty),
        *([size_text(row.size or 0)] if sizes else []),
        safe(row.path + (f" ({'; '.join(notes)})" if notes else "")),
    ]


@workspace.command()
@click.argument("name", metavar="WORKSPACE")
@click.option("--reason", default="", help="Why, in one line; shown wherever the lock is in the way.")
@click.pass_context
def lock(ctx: click.Context, name: str, reason: str) -> None:
    """Lock WORKSPACE: no command of prun removes, moves or resets it; of a linked worktree git does not either."""
    say(f"locked {safe(places.lock(here(ctx).opened, name, reason))}")


@workspace.command()
@click.argument("name", metavar="WORKSPACE")
@click.pass_context
def unlock(ctx: click.Context, name: str) -> None:
    """Unlock WORKSPACE."""
    say(f"unlocked {safe(places.unlock(here(ctx).opened, name))}")


@workspace.command()
@click.argument("name", metavar="WORKSPACE")
@click.argument("path", type=click.Path())
@click.pass_context
def move(ctx: click.Context, name: str, path: str) -> None:
    """Move WORKSPACE to PATH, which must not exist, on the same file system; git's registration follows."""
    say(f"moved to {safe(str(places.move(here(ctx).opened, name, path)))}")


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
    done = here(ctx).adopt_workspace(path, name=name, branch=branch)
    if as_json:
        put_json("adopt-moved" if isinstance(done, MovedWorkspace) else "adopt", done)
    if as_json or isinstance(done, MovedWorkspace):
        return
    has = f", with {done.own} commit{'s' if done.own > 1 else ''} of its own" if done.own else ""
    say(f"took in {safe(done.path)} as {done.name}, on branch {safe(done.branch)}{has}")
    if done.saved:
        say(f"  what is in no commit there is pinned as {done.saved}")
    for ref in done.kept:
        say(f"  kept {safe(ref)}")
    for note in done.notes:
        warn(safe(note))


@workspace.command()
@click.argument("name", metavar="WORKSPACE")
@click.option("--to", "revision", default="HEAD", help="The commit to begin at (default: the one you are on).")
@click.option("--discard-left-out", is_flag=True, help="Let files go that are in no commit (they are listed by show).")
@json_option
@click.pass_context
def reset(ctx: click.Context, name: str, revision: str, discard_left_out: bool, as_json: bool) -> None:
    """Fill the named WORKSPACE anew from a commit, its branch with it; what it held is pinned first."""
    opened = here(ctx).opened
    done = places.reset(opened, name, revision, discard_left_out=discard_left_out, environment=os.environ)
    if as_json:
        put_json("reset", done)
        return
    say(f"{done.name} is at {done.base[:10]} now, on branch {safe(done.branch)} ({safe(done.path)})")
    if done.saved:
        say(f"  what was in no commit is pinned as {done.saved}")
    if done.trash:
        say(f"  where its branch was is kept for 30 days as {safe(done.trash)}")
    say_ignored(done.name, done.kept, done.kept_files, done.discarded)
    for note in done.notes:
        warn(safe(note))

"""From one attempt at a unit of a run to the next: the old one is pinned and put away, the new one begins afresh.

It goes on in the same workspace, with the same thread, only where that is worth something.
"""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from gitprun.git.refs import delete_ref, move_ref, open_repository, read_ref
from gitprun.git.repo import Repository, resolve_commit
from gitprun.ledger.events import UnitState
from gitprun.ledger.rows import EarlierRow, EndingRow
from gitprun.ledger.unit_events import UnitPreparing
from gitprun.model.errors import PrunError
from gitprun.model.names import ZERO, Oid, RunId, UnitId, kept_ref, unit_branch, unit_ref
from gitprun.model.units import Unit
from gitprun.registry.remove import take_away
from gitprun.registry.rest import recall_workspace
from gitprun.registry.trash import keep_in_trash
from gitprun.runs.attempt import thread_worth_resuming
from gitprun.runs.context import Attempt, RunContext, WorkItem
from gitprun.runs.prepare import placed
from gitprun.system.files import folder_identity, remove_tree
from gitprun.workspaces.base import Workspace, workspace_path
from gitprun.workspaces.clone import read_source
from gitprun.workspaces.pins import started_with
from gitprun.workspaces.worktree import remove_worktree

# What belongs to one attempt alone, in the folder of a unit.
FILES = ("output.log", "prompt.md", "result.md", "last-message.txt", "exit.json", "setup.log", "bug.txt")


def begin(context: RunContext, item: WorkItem) -> tuple[Attempt, Workspace | None]:
    """Begin an attempt; returns the workspace too where it goes on in the one that is there.

    Raises PrunError where the attempt before cannot be put away without losing something: it stays as it is.
    """
    unit, known = item.unit, item.known
    if known is None or known.attempt == 0:
        attempt = Attempt(number=1, base=context.base, source=context.source)
        context.note(unit, UnitPreparing(attempt=1))
        return attempt, None
    # The number first: it names what is pinned and put away, so that a second try after a kill does the same again.
    number, thread = known.attempt + 1, thread_to_resume(unit, known)
    earlier = (*known.earlier, retire(context, unit, known, keep_workspace=thread is not None))
    repo = open_repository(context.repository.common)
    if thread is not None:
        base = Oid(known.base or context.base)
    else:
        # What has landed meanwhile is in it: another try on the old base could only conflict.
        base = _current_base(context)
        # The base of this attempt is no ref's of the user's any more once that branch moves on.
        if base != context.base:
            name = kept_ref(context.run, unit.id, f"base-{number}")
            move_ref(repo, name, base, read_ref(repo, name) or ZERO, "prun: base of a later attempt")
    commits = frozenset(row.commit for row in earlier if row.commit)
    if thread is not None:
        commits |= started_with(context.repository, context.run)
    # The rules all share stay those the run began with: a worker that still works may have added some.
    first = context.source
    source = replace(read_source(context.repository), exclude=first.exclude, attributes=first.attributes)
    attempt = Attempt(number=number, base=base, source=source, known=commits, thread=thread)
    if thread is None:
        context.note(unit, UnitPreparing(attempt=number, earlier=earlier))
        return attempt, None
    workspace = recall_workspace(context.repository.state, known)
    # Written down at once: somebody's work lies in there.
    context.note(unit, placed(workspace, base).into(UnitPreparing, attempt=number, earlier=earlier, thread=thread))
    return attempt, workspace


def recall_attempt(repository: Repository, base: str, known: UnitState) -> Attempt:
    """Return what the last attempt at a unit started from, with all its commits known; ``base`` is its run's."""
    own = {known.commit} if known.commit else set()
    return Attempt(
        number=known.attempt,
        base=Oid(str(known.base or base)),
        source=read_source(repository),
        known=known.earlier_commits | own | started_with(repository, known.run),
        thread=known.thread,
    )


def _current_base(context: RunContext) -> Oid:
    """Resolve what the run started from once more; where it is gone, the commit it was then."""
    try:
        return resolve_commit(context.repository.git, context.revision)
    except PrunError:
        return context.base


def thread_to_resume(unit: Unit, known: UnitState) -> str | None:
    """Return the conversation worth going on with, as far as its workspace is still there."""
    changed = bool(known.changed) and not known.unfinished
    thread = thread_worth_resuming(unit, known.ending or EndingRow(), changed=changed)
    if thread is None or not (known.path and known.identity):
        return None
    return thread if folder_identity(Path(known.path)) == known.identity else None


def retire(context: RunContext, unit: Unit, known: UnitState, *, keep_workspace: bool) -> EarlierRow:
    """Put an attempt away: its work pinned under a name of its own, its workspace removed, its files set apart.

    Every step can be taken twice, for a coordinator may be killed between any two.
    """
    # First: taking it away captures once more what was written after the capture, and refuses where that cannot be
    # kept.
    if not keep_workspace:
        if known.path:
            take_away(context.repository, context.ledger, known, keep_all=True)
        else:
            _clear_half_made(context, unit)
    # Then the pin: while it moves, the commit is under its old name or under both.
    ref = _pin(context, known)
    folder = context.folder(unit)
    # Last: until the work is safe the files of the attempt say what it was.
    aside = folder / f"attempt-{known.attempt}"
    for name in FILES:
        if (folder / name).exists():
            aside.mkdir(exist_ok=True)
            os.replace(folder / name, aside / name)
    outcome = known.outcome or known
    return EarlierRow(
        attempt=known.attempt,
        state=outcome.final or known.state,
        kind=outcome.failure,
        reason=outcome.reason,
        base=known.base,
        commit=known.commit,
        ref=ref,
        folder=str(aside),
    )


def _pin(context: RunContext, known: UnitState) -> str | None:
    """Move the pin of a captured commit from the unit's name to that of the attempt."""
    repo, run, unit = open_repository(context.repository.common), known.run, known.id
    own = unit_ref(run, unit)
    # What was captured right before its coordinator was killed is in no event.
    commit = known.commit or read_ref(repo, own)
    if commit is None:
        return None
    name = kept_ref(run, unit, f"attempt-{known.attempt}")
    before = read_ref(repo, name)
    if before != commit:
        if before is not None:
            why = "another commit took its name"
            keep_in_trash(context.repository, context.ledger, name, before, why=why, of=f"{run}/{unit}")
        move_ref(repo, name, Oid(commit), before or ZERO, "prun: an earlier attempt")
    # By now another process may have captured something else under this name.
    if read_ref(repo, own) == commit:
        delete_ref(repo, own, Oid(commit))
    return name


def _clear_half_made(context: RunContext, unit: Unit) -> None:
    """Remove what a coordinator was killed over while making it: no worker has ever been in there."""
    path = workspace_path(context.root, RunId(context.run), UnitId(unit.id))
    identity = folder_identity(path)
    if unit.mode == "write" and unit.workspace == "worktree":
        remove_worktree(context.repository, path, identity or (0, 0))
        repo, name = open_repository(context.repository.common), f"refs/heads/{unit_branch(context.run, unit.id)}"
        at = read_ref(repo, name)
        # Only while nobody went on with it.
        if at is not None and at in (context.base, _current_base(context)):
            delete_ref(repo, name, at)
    elif identity is not None:
        remove_tree(path, identity)

"""Make the workspace of one attempt at a unit, with everything its worker finds in it."""

from __future__ import annotations

import errno
import os
import time
from dataclasses import replace
from pathlib import Path

from gitprun.capture.preview import noting_setup
from gitprun.ledger.unit_events import PlaceFacts, UnitPrepared
from gitprun.model.errors import PrunError
from gitprun.model.names import Oid, unit_branch
from gitprun.model.units import Unit
from gitprun.observe.safe_mode import require_trusted_config
from gitprun.runs.context import Attempt, RunContext, open_unit_capture
from gitprun.runs.worker_sandbox import require_walls
from gitprun.supervisor.process import worker_environment
from gitprun.system.btime import folder_birth
from gitprun.system.files import remove_tree
from gitprun.verify.back_references import describe_back_references
from gitprun.verify.check import run_setup
from gitprun.verify.surroundings import Surroundings
from gitprun.verify.view import view_for
from gitprun.workspaces.base import Provision, Workspace, WorkspaceProblem, make_outbox, workspace_path
from gitprun.workspaces.clone import make_clone
from gitprun.workspaces.furnish import furnish
from gitprun.workspaces.pins import pin_source
from gitprun.workspaces.rulebook import SharedRules
from gitprun.workspaces.scratch import make_scratch
from gitprun.workspaces.worktree import make_detached, remove_worktree


def prepare(context: RunContext, unit: Unit, attempt: Attempt) -> Workspace:
    """Make the workspace and everything the worker finds in it; on failure nothing of it is left."""
    began = time.monotonic()
    require_walls(unit)
    # A worker that ran before may have changed what the user's git starts; the checkout below would run it.
    require_trusted_config(context.repository)
    context.folder(unit).mkdir(parents=True, exist_ok=True)
    path = workspace_path(context.root, context.run, unit.id)
    if unit.mode == "read":
        workspace = make_scratch(path)
    elif unit.workspace == "worktree":
        # On no branch: its work is named by the ref it is captured to, and by nothing that could be taken for that.
        workspace = make_detached(context.repository, path, attempt.base)
    else:
        # Before the clone: what it borrows must not be collected as garbage while it is made.
        source = pin_source(context.repository, context.run, attempt.source, attempt.base)
        workspace = make_clone(source, path, attempt.base, unit_branch(context.run, unit.id))
    try:
        workspace = _furnish(context, unit, attempt, workspace)
        note_prepared(context, unit, attempt, workspace, round(time.monotonic() - began, 3))
    except (PrunError, OSError) as problem:
        # No worker has seen it, so there is nothing to capture; the next attempt needs the place.
        _take_back(context, workspace)
        if isinstance(problem, PrunError):
            raise
        raise WorkspaceProblem(
            f"the workspace {path} could not be filled: {problem.filename}: {problem.strerror}",
            "free some space, then run again" if problem.errno in (errno.ENOSPC, errno.EDQUOT) else "",
        ) from None
    return workspace


def note_prepared(context: RunContext, unit: Unit, attempt: Attempt, workspace: Workspace, seconds: float) -> None:
    """Write down the workspace an attempt works in."""
    context.note(unit, placed(workspace, attempt.base).into(UnitPrepared, seconds=seconds))


def placed(workspace: Workspace, base: Oid) -> PlaceFacts:
    """Return a workspace as it is written down."""
    return PlaceFacts(
        base=base,
        workspace=workspace.kind or "scratch",
        path=str(workspace.path),
        identity=workspace.identity,
        birth=folder_birth(workspace.path),
        branch=workspace.branch,
        provided=workspace.provided,
        notes=workspace.notes,
    )


def temporary_of(workspace: Workspace, unit: Unit) -> Path:
    """Return the folder for temporary files of a unit: its worker's, and its checks' after that."""
    # Beside the workspaces of the run, so that nothing in it is taken for work.
    return workspace.path.parent / ".tmp" / unit.id


def _furnish(context: RunContext, unit: Unit, attempt: Attempt, workspace: Workspace) -> Workspace:
    """Put in what the settings ask for, put aside the fresh index, make it ready for work."""
    settings, folder = context.settings, context.folder(unit)
    if workspace.kind is not None:
        provision = Provision(copy=settings.copy or (), link=settings.link or ())
        # One worker's rule in the files all share must say nothing to those that start after it.
        rules = SharedRules(attempt.source.exclude, attempt.source.attributes)
        workspace = furnish(context.repository, workspace, folder, attempt.base, provision, rules)
        if workspace.provided:
            leads = describe_back_references(view_for(context.repository, settings), os.environ)
            workspace = replace(workspace, notes=(*workspace.notes, *leads))
    # Before setup: a command of it may look at the workspace, and find it as the worker will.
    make_outbox(workspace.path)
    if workspace.kind is not None and settings.setup:
        with noting_setup(open_unit_capture(context, attempt, workspace, unit.paths), fresh=True) as made:
            run_setup(
                workspace.path,
                settings.setup,
                log=folder / "setup.log",
                stop=context.stop,
                around=Surroundings(env=worker_environment({}), grace=context.grace, output_max=context.output_max),
            )
        if made:
            note = f"setup changed {len(made)} file{'s' if len(made) > 1 else ''} (such as {made[0]})"
            note += "; what is still so at the end is no work of the unit"
            workspace = replace(workspace, notes=(*workspace.notes, note))
    return workspace


def _take_back(context: RunContext, workspace: Workspace) -> None:
    """Remove a workspace no worker has seen."""
    if workspace.kind == "worktree":
        remove_worktree(context.repository, workspace.path, workspace.identity)
    else:
        remove_tree(workspace.path, workspace.identity)

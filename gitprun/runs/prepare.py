"""Make the workspace of one attempt at a unit, with everything its worker finds in it."""

from __future__ import annotations

import errno
import os
import time
from dataclasses import replace
from typing import Any

from gitprun.drift.caution import require_calm
from gitprun.errors import PrunError
from gitprun.names import Oid, unit_branch
from gitprun.runs.context import Attempt, RunContext, modified, open_site
from gitprun.runs.walls import require_walls
from gitprun.system.birth import folder_birth
from gitprun.system.files import remove_tree
from gitprun.system.process import worker_environment
from gitprun.units import Unit
from gitprun.verify.leads import tell_leads
from gitprun.verify.surroundings import Surroundings
from gitprun.verify.view import view_for
from gitprun.workspaces.base import Workspace, WorkspaceProblem, make_outbox, workspace_path
from gitprun.workspaces.clone import make_clone
from gitprun.workspaces.furnish import furnish
from gitprun.workspaces.pins import pin_source
from gitprun.workspaces.scratch import make_scratch
from gitprun.workspaces.setup import run_setup
from gitprun.workspaces.worktree import make_detached, remove_worktree


def prepare(context: RunContext, unit: Unit, attempt: Attempt) -> Workspace:
    """Make the workspace and everything the worker finds in it; on failure nothing of it is left."""
    began = time.monotonic()
    require_walls(unit)
    require_calm(context.repository)
    context.folder(unit).mkdir(parents=True, exist_ok=True)
    path = workspace_path(context.root, context.run, unit.id)
    if unit.mode == "read":
        workspace = make_scratch(path)
    elif unit.workspace == "worktree":
        # On no branch: its work is named by the ref it is captured to, and by nothing that could be taken for that.
        workspace = make_detached(context.repository, path, attempt.base)
    else:
        source = pin_source(context.repository, context.run, attempt.source, attempt.base)
        workspace = make_clone(source, path, attempt.base, unit_branch(context.run, unit.id))
    try:
        workspace = _furnish(context, unit, attempt, workspace)
        note_prepared(context, unit, attempt, workspace, round(time.monotonic() - began, 3))
    except (PrunError, OSError) as problem:
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
    context.note(unit, "prepared", **workspace_facts(workspace, attempt.base), seconds=seconds)


def workspace_facts(workspace: Workspace, base: Oid) -> dict[str, Any]:
    """Write a workspace down for the ledger."""
    return {
        "base": base,
        "workspace": workspace.kind or "scratch",
        "path": str(workspace.path),
        "identity": list(workspace.identity),
        "birth": folder_birth(workspace.path),
        "branch": workspace.branch,
        "provided": list(workspace.provided),
        "notes": list(workspace.notes),
    }


def _furnish(context: RunContext, unit: Unit, attempt: Attempt, workspace: Workspace) -> Workspace:
    """Put in what the settings ask for, put aside the fresh index, make it ready for work."""
    settings, folder = context.settings, context.folder(unit)
    if workspace.kind is not None:
        copy, link = settings.copy or (), settings.link or ()
        workspace = furnish(context.repository, workspace, folder, attempt.base, copy, link)
        if workspace.provided:
            leads = tell_leads(view_for(context.repository, settings), os.environ)
            workspace = replace(workspace, notes=(*workspace.notes, *leads))
    make_outbox(workspace.path)
    if workspace.kind is not None and settings.setup:
        run_setup(
            workspace.path,
            settings.setup,
            log=folder / "setup.log",
            stop=context.stop,
            around=Surroundings(env=worker_environment({}), grace=context.grace, output_max=context.output_max),
        )
        touched = sorted(modified(open_site(context, attempt, workspace)))
        if touched:
            note = f"setup changed {len(touched)} tracked files (such as {touched[0]}), which count as changed"
            workspace = replace(workspace, notes=(*workspace.notes, note))
    return workspace


def _take_back(context: RunContext, workspace: Workspace) -> None:
    """Remove a workspace no worker has seen."""
    if workspace.kind == "worktree":
        remove_worktree(context.repository, workspace.path, workspace.identity)
    else:
        remove_tree(workspace.path, workspace.identity)

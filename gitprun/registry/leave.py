"""What a named workspace leaves behind: captured and pinned, then its folder taken away."""

from __future__ import annotations

import itertools
import os
from dataclasses import replace
from pathlib import Path

from gitprun.capture.capture import Capture, CommitText, commit_capture
from gitprun.capture.context import CaptureContext
from gitprun.git.refs import open_repository, read_ref, read_signatures
from gitprun.git.repo import Repository
from gitprun.git.trees import tree_of
from gitprun.ledger.events import UnitState
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.roster import NAMED
from gitprun.ledger.rows import LeavingRow
from gitprun.ledger.unit_events import WorkspaceRemoving
from gitprun.model.errors import OperationRefused
from gitprun.model.names import Oid, kept_ref
from gitprun.registry.guard import identity_of
from gitprun.registry.open_workspace import open_workspace_capture, pin_name, stands_on
from gitprun.registry.rest import Rest, RestRules, capture_rest, keep_rest
from gitprun.system.files import remove_tree
from gitprun.workspaces.worktree import remove_worktree


def take_folder(repository: Repository, ledger: Ledger, unit: UnitState, leaving: LeavingRow) -> None:
    """Remove the folder of a workspace and its registration; the ledger knows before where the rest lies."""
    path, identity = Path(unit.path), identity_of(unit)

    # Heard before anything moves: a removal that is killed is gone on with by this row.
    def note(trash: Path, found: tuple[int, int]) -> None:
        ledger.append(leaving.into(WorkspaceRemoving, trash=(str(trash), *found)), run=NAMED, unit=unit.id)

    if not os.path.lexists(path):
        ledger.append(leaving.into(WorkspaceRemoving, trash=None), run=NAMED, unit=unit.id)
    if unit.workspace == "worktree":
        remove_worktree(repository, path, identity, noted=note)
    elif os.path.lexists(path):
        remove_tree(path, identity, noted=note)


def known_leaving(unit: UnitState) -> Rest:
    """Return what a removal that broke off had saved."""
    return Rest(saved=unit.saved, ignored=tuple(unit.ignored))


def save_user_workspace(repository: Repository, ledger: Ledger, unit: UnitState, *, discard: bool) -> Rest:
    """Pin what is in no commit yet, refuse over what cannot be pinned, and keep ignored work beside it."""
    site = open_workspace_capture(repository, unit, base=_base(repository, unit))
    advice = f"git prun remove --discard-left-out {unit.id}"
    found, going = capture_rest(site, NAMED, unit.id, advice=advice, discard=discard)
    # It could not be captured, and was to go all the same.
    if found is None:
        return Rest()
    provided = site.workspace.provided
    rest = keep_rest(repository, ledger, unit, going, provided, RestRules(advice=advice, discard=discard))
    return replace(rest, saved=_pin_rest(site, unit, found))


def _base(repository: Repository, unit: UnitState) -> Oid:
    """Find the commit to compare with, also where the branch is gone or another one is checked out."""
    try:
        return stands_on(repository, unit)
    except OperationRefused:
        return pinned_commit(repository, unit)


def pinned_commit(repository: Repository, unit: UnitState) -> Oid:
    """Return the commit that is pinned for a workspace."""
    pinned = read_ref(open_repository(repository.common), pin_name(unit.id))
    # The pin may be gone; where it was made from is the next best to compare with.
    return pinned or Oid(unit.base or "")


def _pin_rest(site: CaptureContext, unit: UnitState, found: Capture) -> str | None:
    """Pin the work that is in no commit, unless an attempt that was pinned holds the very same."""
    if not found.changed:
        return None
    message = f"{unit.id}: left in the workspace when it was removed\n\nWorkspace: {unit.id}\n"
    # Attempts are numbered without gaps, so the first that is missing ends them.
    attempts = (kept_ref(NAMED, unit.id, f"attempt-{number}") for number in itertools.count(1))
    for ref in itertools.takewhile(lambda ref: read_ref(site.repo, ref) is not None, attempts):
        old = read_ref(site.repo, ref)
        if old is not None and tree_of(site.repo, old) == found.tree:
            return ref
    for number in itertools.count(1):
        ref = kept_ref(NAMED, unit.id, f"left-in-workspace-{number}")
        if read_ref(site.repo, ref) is None:
            commit_capture(site, found, ref, CommitText(message=message, who=read_signatures(site.repository.git)))
            return ref
    raise AssertionError("numbers do not end")

"""Take a named workspace away: captured first, pinned where it is in no commit, its branch left to the user."""

from __future__ import annotations

import shutil
from pathlib import Path

from gitprun.git.refs import delete_ref, move_ref, open_repository, read_ref
from gitprun.git.repo import Repository
from gitprun.ledger.events import UnitState
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.review import unit_folder
from gitprun.ledger.roster import NAMED
from gitprun.ledger.unit_events import WorkspaceRemoved
from gitprun.model.names import ZERO, Oid, kept_ref
from gitprun.registry.guard import finish_removal, require_lonely, require_not_locked, require_ours
from gitprun.registry.leave import known_leaving, pinned_commit, save_user_workspace, take_folder
from gitprun.registry.open_workspace import alone, pin_gone, pin_name
from gitprun.registry.remove import Removal, removal_of, stash_entries
from gitprun.registry.reset import recover_workspace
from gitprun.workspaces.pins import unpin_source


def remove_user_workspace(
    repository: Repository, ledger: Ledger, unit: UnitState, *, discard_left_out: bool = False
) -> Removal:
    """Remove a named workspace, not its branch.

    Raises OperationRefused, with all as it was, when something would be lost.
    """
    with alone(repository, unit):
        unit = recover_workspace(repository, ledger, unit)
        path = Path(unit.path)
        finish_removal(unit, unit.id)
        # After a removal that broke off was finished: what stands there now is the workspace, or somebody else's
        # folder.
        there = require_ours(unit, unit.id)
        require_not_locked(repository, unit, unit.id)
        if there:
            require_lonely(repository, path)
        elif unit.workspace == "worktree":
            # Its files are gone already; its commits are not.
            pin_gone(repository, unit.id, path, str(unit.branch), pinned_commit(repository, unit))
        leaving = (
            save_user_workspace(repository, ledger, unit, discard=discard_left_out) if there else known_leaving(unit)
        )
        stashed = stash_entries(repository, unit)
        # While its pin is still there: with the folder goes the last that named this commit, unless a branch has it.
        base = _keep_commit(repository, unit)
        take_folder(repository, ledger, unit, leaving.row)
        ledger.append(WorkspaceRemoved(removed=True), run=NAMED, unit=unit.id)
        if base is not None:
            delete_ref(open_repository(repository.common), pin_name(unit.id), base)
        # Nothing borrows what the clone started with any more.
        unpin_source(repository, f"{NAMED}/{unit.id}")
        folder, parts = unit_folder(repository.state, unit), unit.id.split("/")
        shutil.rmtree(folder, ignore_errors=True)
    _tidy_parents(folder, len(parts) - 1)
    if path.parts[-len(parts) - 1 :] == (NAMED, *parts):
        # Of a place the user chose for it, nothing is ours.
        _tidy_parents(path, len(parts))
    return removal_of(unit, path, leaving, stashed, there=there)


def _keep_commit(repository: Repository, unit: UnitState) -> Oid | None:
    """Keep the commit the workspace stands on reachable, where no branch holds it; returns where its pin is now."""
    repo = open_repository(repository.common)
    pinned = read_ref(repo, pin_name(unit.id))
    if pinned is None:
        return None
    held = repository.git.run("for-each-ref", "--count=1", f"--contains={pinned}", "refs/heads", "refs/remotes").out
    if not held:
        ref = kept_ref(NAMED, unit.id, f"stood-on-{pinned[:12]}")
        if read_ref(repo, ref) is None:
            move_ref(repo, ref, pinned, ZERO, "prun: kept when its workspace was removed")
    return pinned


def _tidy_parents(path: Path, depth: int) -> None:
    """Remove so many folders above a path, and the next, as long as they are empty."""
    for folder in list(path.parents)[: depth + 1]:
        try:
            folder.rmdir()
        except OSError:
            return

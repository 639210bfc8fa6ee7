"""Move a workspace: one rename on one file system, and git's registration with it; a kill in between is mended."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from gitprun.git.repo import Repository, read_checkouts
from gitprun.ledger.events import UnitState
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.review import unit_folder
from gitprun.ledger.rows import MoveRow
from gitprun.ledger.unit_events import WorkspaceMoved, WorkspaceMoving
from gitprun.model.errors import OperationRefused
from gitprun.registry.find import held, name_of, require_workspace, workspaces_of
from gitprun.registry.guard import (
    finish_removal,
    identity_of,
    require_lonely,
    require_not_locked,
    require_ours,
    stands,
    within,
)
from gitprun.registry.orphans import choose_roots, list_folders
from gitprun.system.btime import folder_birth
from gitprun.system.files import folder_identity
from gitprun.workspaces.gitdir import borrows_elsewhere, follow_alternates, own_git
from gitprun.workspaces.worktree import admin_folder, relocate_worktree


def move_workspace(
    repository: Repository, ledger: Ledger, unit: UnitState, target: Path, *, others: Iterable[str] = ()
) -> Path:
    """Move a workspace nobody is at work in to ``target``; returns its real path. ``others`` are workspaces too.

    Raises OperationRefused, with all as it was, where that cannot be one rename, or would put it where it does
    not belong.
    """
    name = name_of(unit)
    require_workspace(unit)
    unit = recover_move(repository, ledger, unit)
    finish_removal(unit, name)
    path = Path(unit.path)
    if not require_ours(unit, name):
        raise OperationRefused(f"the folder {path} of {name} is gone", "there is nothing to move")
    require_not_locked(repository, unit, name)
    require_lonely(repository, path)
    target = _require_target(repository, path, target, others)
    if unit.workspace == "worktree":
        _require_movable(repository, path)
    moving = MoveRow(source=str(path), target=str(target))
    # Before the rename: from here on either place is the workspace, whatever kills us.
    ledger.append(WorkspaceMoving(moving=moving), run=unit.run, unit=unit.id)
    try:
        os.rename(path, target)
    except OSError as problem:
        # The event before said that it moves; this one says that it did not.
        _note_moved(ledger, unit, path)
        raise OperationRefused(
            f"{path} cannot be renamed to {target}: {problem.strerror}", "it is where it was"
        ) from None
    recover_move(repository, ledger, unit.joined(WorkspaceMoving(moving=moving)))
    _tidy(path, (unit.run, *unit.id.split("/")))
    return target


def _tidy(path: Path, own: tuple[str, ...]) -> None:
    """Remove the folders above a place prun chose, as far as they are empty."""
    if path.parts[-len(own) :] == own:
        for folder in list(path.parents)[: len(own)]:
            try:
                folder.rmdir()
            except OSError:
                return


def recover_move(repository: Repository, ledger: Ledger, unit: UnitState) -> UnitState:
    """Finish a move that broke off, whichever way it stands; returns the workspace as it is now."""
    moving = unit.moving
    if moving is None:
        return unit
    before, after = Path(moving.source), Path(moving.target)
    arrived = folder_identity(after) == identity_of(unit)
    if arrived and unit.workspace == "worktree":
        relocate_worktree(repository, before, after)
    return _note_moved(ledger, unit, after if arrived else before)


def follow_moved(repository: Repository, ledger: Ledger, path: Path) -> UnitState | None:
    """Take down where a workspace is that somebody moved by hand; None if a folder is none that prun made."""
    for run, unit in workspaces_of(ledger.read()):
        before, born = Path(unit.path), unit.birth
        if folder_identity(path) != identity_of(unit) or os.path.lexists(before):
            continue
        # An inode number is given to another folder once its own is gone.
        if born is not None and folder_birth(path) not in (None, born):
            continue
        with held(repository, run, unit):
            after = Path(os.path.realpath(path))
            if unit.workspace == "worktree":
                relocate_worktree(repository, before, after)
            return _note_moved(ledger, unit, after)
    return None


def follow_all(repository: Repository, ledger: Ledger, roots: Iterable[Path]) -> tuple[tuple[str, Path], ...]:
    """Find workspaces that are not where they were, by what their folders are; returns names and the places found.

    What leads from a workspace into a repository that was moved itself is mended on the way. ``roots`` are folders in
    which workspaces may lie. Nobody is waited for: what somebody works in is left alone.
    """
    reading = ledger.read()
    known = workspaces_of(reading)
    lost = {identity_of(unit) for _, unit in known if not os.path.lexists(unit.path)}
    found: list[tuple[str, Path]] = []
    if lost:
        # So folders for workspaces are called that lie beside their repository.
        beside = repository.home.parent.glob("*.prun")
        for root in choose_roots(reading, (*roots, *beside)):
            for path in list_folders(root):
                if folder_identity(path) in lost:
                    with suppress(OperationRefused):
                        unit = follow_moved(repository, ledger, path)
                        found += [(name_of(unit), path)] if unit is not None else []
    for run, unit in workspaces_of(ledger.read()) if found else known:
        own = own_git(unit_folder(repository.state, unit) / "index")
        if stands(unit) and borrows_elsewhere(repository.common, own):
            with suppress(OperationRefused), held(repository, run, unit):
                path = Path(unit.path)
                if unit.workspace == "worktree":
                    relocate_worktree(repository, path, path)
                elif unit.workspace == "clone":
                    follow_alternates(repository.common, own, path)
    return tuple(found)


def _note_moved(ledger: Ledger, unit: UnitState, path: Path) -> UnitState:
    moved = WorkspaceMoved(path=str(path), moving=None)
    ledger.append(moved, run=unit.run, unit=unit.id)
    return unit.joined(moved)


def _require_target(repository: Repository, path: Path, target: Path, others: Iterable[str]) -> Path:
    """Check where a workspace is to go; returns the place without any link above it."""
    if os.path.lexists(target):
        raise OperationRefused(f"{target} is already there", "choose a path that is free")
    if folder_identity(target.parent) is None:
        raise OperationRefused(f"{target.parent} is no folder", "make it first; a link to one is none")
    real = Path(os.path.realpath(target.parent)) / target.name
    if within(str(real), os.path.realpath(path)):
        raise OperationRefused(f"{target} lies in the workspace itself", "choose a path outside of it")
    if within(str(real), os.path.realpath(repository.common)):
        raise OperationRefused(f"{target} lies in the git folder", "choose a path outside of it")
    for row in read_checkouts(repository.git):
        if not row.bare and within(str(real), os.path.realpath(row.path)):
            raise OperationRefused(f"{target} lies in the checkout {row.path}", "choose a path outside of it")
    for other in others:
        if within(str(real), os.path.realpath(other)):
            raise OperationRefused(f"{target} lies in the workspace {other}", "choose a path outside of it")
    # A copy would be another folder: it could break off half way, and its files would be new to every index.
    if os.lstat(real.parent).st_dev != os.lstat(path).st_dev:
        raise OperationRefused(
            f"{target.parent} is on another file system than {path}", "choose a path on the same one; nothing is copied"
        )
    return real


def _require_movable(repository: Repository, path: Path) -> None:
    admin = admin_folder(repository.common, path)
    if admin is None:
        raise OperationRefused(f"git does not know {path} as one worktree (any more)", "git worktree repair mends that")
    # Their git folders name the place of the worktree, which only git itself rewrites.
    if os.path.lexists(admin / "modules"):
        raise OperationRefused(
            f"{path} holds submodules, whose folders name its path", "move it with git worktree move --force"
        )

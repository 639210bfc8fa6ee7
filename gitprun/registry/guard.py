"""May this folder go? Only what prun made, what nobody locked, and what holds nothing of anybody else's."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

from gitprun.git.repo import Repository, read_checkouts
from gitprun.ledger.events import UnitState
from gitprun.model.errors import OperationRefused
from gitprun.model.escapes import shell_word
from gitprun.system.btime import folder_birth
from gitprun.system.files import TRASH, empty_trash, folder_identity, is_held, require_no_mounts
from gitprun.workspaces.worktree import lock_reason, require_unlocked


def identity_of(unit: UnitState) -> tuple[int, int]:
    """Return device and inode of a workspace's folder as they were written down."""
    return unit.identity or (0, 0)


def stands(unit: UnitState) -> bool:
    """Check whether the very folder prun made for a workspace is where it was made."""
    path, born = Path(unit.path), unit.birth
    if folder_identity(path) != identity_of(unit):
        return False
    # An inode number is given to another folder once its own is gone; the time of birth tells them apart.
    return born is None or folder_birth(path) in (None, born)


def require_ours(unit: UnitState, name: str) -> bool:
    """Check whether the folder of a workspace is there.

    Raises OperationRefused when something else stands in its place.
    """
    path = Path(unit.path)
    if not os.path.lexists(path):
        return False
    if not stands(unit):
        raise OperationRefused(f"{path} is not the folder prun made for {name}", "look at it; prun leaves it alone")
    return True


def lock_of(repository: Repository, unit: UnitState) -> str | None:
    """Return the reason for which a workspace is locked (perhaps empty); None if it is not."""
    if unit.workspace == "worktree":
        return lock_reason(repository.common, Path(unit.path))
    return unit.lock.reason if unit.lock is not None else None


def require_not_locked(repository: Repository, unit: UnitState, name: str) -> None:
    """Refuse a workspace that somebody locked, be it with git or with ``git prun workspace lock``."""
    if unit.workspace == "worktree":
        require_unlocked(repository.common, Path(unit.path))
        return
    reason = lock_of(repository, unit)
    if reason is not None:
        raise OperationRefused(
            f"the workspace {name} is locked" + (f": {reason}" if reason else ""), f"git prun workspace unlock {name}"
        )


def require_lonely(repository: Repository, path: Path) -> None:
    """Refuse a folder that holds what is not prun's: a mount, us, the repository, or a worktree of it."""
    require_no_mounts(path)
    top = os.path.realpath(path)
    try:
        here = os.path.realpath(os.getcwd())
    # The current folder was removed, so nobody is in it.
    except OSError:
        here = ""
    # A shell whose folder goes from under it says nothing but "No such file", and works on where nobody looks.
    if within(here, top):
        raise OperationRefused(f"you are in {path}", "change to another folder first")
    # The user may have put the repository inside: with the folder all history would go.
    if within(os.path.realpath(repository.common), top):
        raise OperationRefused(f"{path} holds the repository itself", "look at it; prun leaves it alone")
    for row in read_checkouts(repository.git):
        place = os.path.realpath(row.path)
        if place != top and within(place, top) and os.path.lexists(row.path):
            raise OperationRefused(
                f"{path} holds the worktree {row.path}",
                f"move it first: git worktree move {shell_word(str(row.path))} ...",
            )


def within(path: str, top: str) -> bool:
    """Check whether a path is a folder or something inside it; both are real paths."""
    return path == top or path.startswith(top.rstrip("/") + "/")


def finish_removal(unit: UnitState, name: str) -> None:
    """Empty what a removal that broke off has renamed; raises OperationRefused while that one is still at it."""
    # Made before the ledger could name it: a kill in between leaves an empty one.
    _drop_empty_trash(Path(unit.path).parent)
    if unit.trash is None:
        return
    place, *identity = unit.trash
    path = Path(place)
    if not empty_trash(path, (identity[0], identity[1])) and os.path.lexists(path):
        raise OperationRefused(f"another git prun is removing the workspace of {name}", "wait for it to end")


def _drop_empty_trash(folder: Path) -> None:
    """Remove trash folders that were made for a removal which then never came to use them."""
    try:
        names = [name for name in os.listdir(folder) if name.startswith(TRASH)]
    except OSError:
        return
    for name in names:
        # Another prun is about to use it.
        if not is_held(folder / name):
            with suppress(OSError):
                os.rmdir(folder / name)

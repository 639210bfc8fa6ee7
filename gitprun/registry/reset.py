"""Put a named workspace on a new base: what it holds is pinned, a fresh folder is made, and takes its place.

Nothing is ever reset in a folder a worker wrote. Until the fresh one is whole the old one is as it was; from then on
a kill is followed by the rest of the way.
"""

from __future__ import annotations

import os
import secrets
from dataclasses import dataclass, replace
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.refs import move_ref, open_repository, read_ref
from gitprun.git.repo import Repository, read_checkouts, require_seen_checkout, resolve_commit
from gitprun.ledger.events import UnitState
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.roster import NAMED, make_idle
from gitprun.ledger.rows import LeavingRow, ResetRow
from gitprun.ledger.unit_events import WorkspaceKept, WorkspaceResetting, WorkspaceSwapping
from gitprun.model.errors import OperationRefused, PrunError
from gitprun.model.escapes import shell_word
from gitprun.model.names import ZERO, Oid
from gitprun.registry.guard import finish_removal, require_lonely, require_not_locked, require_ours, stands
from gitprun.registry.leave import save_user_workspace, take_folder
from gitprun.registry.make import furnish_user_workspace, workspace_made
from gitprun.registry.move import recover_move
from gitprun.registry.open_workspace import alone, pin_name
from gitprun.registry.trash import keep_in_trash
from gitprun.system.files import folder_identity, remove_tree
from gitprun.workspaces.base import Provision, Workspace
from gitprun.workspaces.clone import make_clone, read_source
from gitprun.workspaces.pins import pin_source
from gitprun.workspaces.worktree import (
    admin_folder,
    make_detached,
    relocate_worktree,
    remove_worktree,
)

NOTHING = Provision()


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    """What became of a workspace: its new base, and where what it held is pinned."""

    base: Oid
    path: str
    branch: str
    saved: str | None
    trash: str | None
    ignored: tuple[str, ...]
    kept: str = ""
    kept_files: tuple[str, ...] = ()
    discarded: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


def reset_user_workspace(
    repository: Repository,
    ledger: Ledger,
    unit: UnitState,
    revision: str,
    *,
    discard_left_out: bool = False,
    provision: Provision = NOTHING,
) -> Reset:
    """Fill a workspace anew from ``revision``, its branch with it; raises PrunError, with all as it was."""
    require_seen_checkout(repository)
    with alone(repository, unit):
        # What an earlier command left half done is finished first, or this one would begin in the middle of it.
        unit = recover_reset(repository, ledger, recover_move(repository, ledger, unit))
        base, path, branch = resolve_commit(repository.git, revision), Path(unit.path), _branch(unit)
        finish_removal(unit, unit.id)
        if not require_ours(unit, unit.id):
            raise OperationRefused(
                f"the folder {path} of the workspace {unit.id} is gone",
                f"git prun new {unit.id} {shell_word(str(unit.branch))} --resume makes it anew",
            )
        require_not_locked(repository, unit, unit.id)
        require_lonely(repository, path)
        _require_own_branch(repository, path, branch)
        # Pinned before anything is made: whatever fails below, the work is safe, and the workspace as it was.
        leaving = save_user_workspace(repository, ledger, unit, discard=discard_left_out)
        # Beside it, so that one rename puts it into its place.
        fresh = path.with_name(f".{path.name}.fresh-{secrets.token_hex(4)}")
        asked = ResetRow(to=base, fresh=str(fresh), copy=tuple(provision.copy), link=tuple(provision.link))
        ledger.append(WorkspaceResetting(reset=asked), run=NAMED, unit=unit.id)
        try:
            made = _make(repository, unit, fresh, base)
        except BaseException:
            # Without it the next command would try to finish a reset that is off.
            ledger.append(WorkspaceKept(reset=None), run=NAMED, unit=unit.id)
            raise
        # From here on a reset that breaks off is finished and no more taken back.
        swapping = WorkspaceSwapping(
            reset=asked.into(
                ResetRow,
                identity=made.identity,
                notes=made.notes,
                old=read_ref(open_repository(repository.common), branch),
                leaving=leaving.row,
            )
        )
        ledger.append(swapping, run=NAMED, unit=unit.id)
        after, trash = _swap(repository, ledger, unit.joined(swapping))
    return Reset(
        base=base,
        path=after.path,
        branch=str(after.branch),
        saved=leaving.saved,
        trash=trash,
        ignored=leaving.ignored,
        kept=leaving.kept.folder if leaving.kept else "",
        kept_files=leaving.kept.paths if leaving.kept else (),
        discarded=leaving.discarded,
        notes=after.notes,
    )


def recover_reset(repository: Repository, ledger: Ledger, unit: UnitState) -> UnitState:
    """Finish a reset that broke off, or take it back where the fresh folder was not whole yet."""
    asked = unit.reset
    if asked is None:
        return unit
    if asked.identity is not None:
        return _swap(repository, ledger, unit)[0]
    # Nobody has ever been in there.
    fresh = Path(asked.fresh)
    identity = folder_identity(fresh)
    if unit.workspace == "worktree":
        remove_worktree(repository, fresh, identity or (0, 0))
    elif identity is not None:
        remove_tree(fresh, identity)
    kept = WorkspaceKept(reset=None)
    ledger.append(kept, run=NAMED, unit=unit.id)
    return unit.joined(kept)


def recover_workspace(repository: Repository, ledger: Ledger, unit: UnitState) -> UnitState:
    """Finish a move or a reset that a killed command left half done, before anything else is done with a workspace.

    Call it with the workspace for oneself. Returns it as it is now.
    """
    return recover_reset(repository, ledger, recover_move(repository, ledger, unit))


def _branch(unit: UnitState) -> str:
    return f"refs/heads/{unit.branch}"


def _require_own_branch(repository: Repository, path: Path, branch: str) -> None:
    """Refuse to move a branch that is checked out elsewhere."""
    for row in read_checkouts(repository.git):
        if row.branch == branch and os.path.realpath(row.path) != os.path.realpath(path):
            raise OperationRefused(
                f"the branch {branch.removeprefix('refs/heads/')} is checked out in {row.path} too, so it is not moved",
                "change to another branch there first",
            )


def _make(repository: Repository, unit: UnitState, fresh: Path, base: Oid) -> Workspace:
    if unit.workspace == "worktree":
        return make_detached(repository, fresh, base)
    source = pin_source(repository, f"{NAMED}/{unit.id}", read_source(repository), base)
    # Its own branch begins at the new base, not where the user's copy of it stands.
    others = tuple(row for row in source.refs if row[0] != _branch(unit))
    return make_clone(replace(source, refs=others), fresh, base, str(unit.branch))


def _swap(repository: Repository, ledger: Ledger, unit: UnitState) -> tuple[UnitState, str | None]:
    """Take the old folder away and put the fresh one in its place; every step can be taken twice."""
    asked = unit.reset
    assert asked is not None
    path, fresh, base, identity = Path(unit.path), Path(asked.fresh), Oid(asked.to), asked.identity
    assert identity is not None
    finish_removal(unit, unit.id)
    gone = not os.path.lexists(path) and unit.workspace == "worktree"
    if stands(unit) or gone:
        # Where only the folder went, its registration is still there.
        take_folder(repository, ledger, unit, asked.leaving or LeavingRow())
    trash = _move_branch(repository, ledger, unit, asked.old, base)
    # Not so after a kill that came behind the rename: then it is in its place.
    if folder_identity(fresh) == identity:
        if os.path.lexists(path):
            raise OperationRefused(
                f"{path} is not the folder prun made for {unit.id}", "look at it; prun leaves it alone"
            )
        os.rename(fresh, path)
    if folder_identity(path) != identity:
        raise OperationRefused(
            f"the fresh folder for {unit.id} is gone", f"git prun new {unit.id} {shell_word(str(unit.branch))} --resume"
        )
    if unit.workspace == "worktree":
        relocate_worktree(repository, fresh, path)
        _attach(repository, path, _branch(unit))
    return _fill(repository, ledger, unit, base, identity), trash


def _move_branch(repository: Repository, ledger: Ledger, unit: UnitState, old: str | None, base: Oid) -> str | None:
    """Put the branch, and the pin of where the workspace stands, on the new base; returns where the old tip is kept."""
    repo, branch = open_repository(repository.common), _branch(unit)
    now, trash = read_ref(repo, branch), None
    # Somebody committed on it since: what is newer is not thrown away.
    if now not in (base, None) and now != old:
        raise PrunError(f"the branch {unit.branch} was moved meanwhile", "look at it, then try again")
    if now is None:
        move_ref(repo, branch, base, ZERO, "prun: its workspace was reset")
    elif now != base:
        # Before the move, after which nothing else may hold the commit.
        trash = keep_in_trash(repository, ledger, branch, now, why="its workspace was reset", of=f"{NAMED}/{unit.id}")
        move_ref(repo, branch, base, now, "prun: its workspace was reset")
    pin = pin_name(unit.id)
    pinned = read_ref(repo, pin)
    if pinned != base:
        # The tip of the branch is in the trash already; the pin may have stood elsewhere.
        if pinned is not None and pinned != now:
            keep_in_trash(repository, ledger, pin, pinned, why="its workspace was reset", of=f"{NAMED}/{unit.id}")
        move_ref(repo, pin, base, pinned or ZERO, "prun: base of a workspace")
    return trash


def _attach(repository: Repository, path: Path, branch: str) -> None:
    """Attach a worktree made on no branch to its own; both are the same commit."""
    admin = admin_folder(repository.common, path)
    if admin is None:
        raise PrunError(f"git does not know the worktree {path}", "git worktree repair mends that")
    git = Git(cwd=repository.common, env={"GIT_DIR": str(admin)}, neutral=True)
    git.run("symbolic-ref", "-m", "prun: its workspace was reset", "HEAD", branch)


def _fill(repository: Repository, ledger: Ledger, unit: UnitState, base: Oid, identity: tuple[int, int]) -> UnitState:
    """Put in what it needs of the user's, keep its index out of its reach, and write down what it is now."""
    asked, path = unit.reset, Path(unit.path)
    assert asked is not None
    bare = Workspace(
        kind=unit.workspace_kind,
        path=path,
        identity=identity,
        branch=str(unit.branch),
        notes=asked.notes,
    )
    workspace = furnish_user_workspace(repository, unit.id, bare, base, Provision(copy=asked.copy, link=asked.link))
    anew = workspace_made(workspace, base)
    event = ledger.append(anew, run=NAMED, unit=unit.id)
    return make_idle(unit.id, anew, event.time)

"""Which workspaces there are: those of the ledger, and those only the disk or git's list of worktrees knows."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from gitprun.capture.worker_refs import read_log, read_worktree_head
from gitprun.git.refs import open_repository, read_ref
from gitprun.git.repo import Repository
from gitprun.ledger.events import RunState, UnitState, base_of
from gitprun.ledger.ledger import Reading
from gitprun.ledger.roster import NAMED
from gitprun.model.errors import PrunError
from gitprun.model.names import unit_ref
from gitprun.observe.touched import NoNotices
from gitprun.observe.tree import Ground, Tree, may_convert
from gitprun.registry.disk import disk_use
from gitprun.registry.find import WorkspaceRecord, name_of, workspaces_of
from gitprun.registry.fork import count_since
from gitprun.registry.guard import identity_of, lock_of, stands
from gitprun.registry.open_workspace import read_trouble
from gitprun.registry.orphans import find_orphans
from gitprun.system.files import folder_identity
from gitprun.workspaces.base import OUTBOX


def read_places(
    repository: Repository, reading: Reading, roots: Iterable[Path], *, sizes: bool = False
) -> tuple[WorkspaceRecord, ...]:
    """List all workspaces; ``roots`` are folders they may lie in beside those the ledger names."""
    known = workspaces_of(reading)
    # Asked once, for the user's filters are the same for all of them.
    converts = may_convert(repository) if known else False
    places = [_known(repository, run, unit, converts) for run, unit in known]
    places += find_orphans(repository, reading, roots)
    if sizes:
        places = [replace(place, size=disk_use(Path(place.path))) for place in places]
    return tuple(places)


def _known(repository: Repository, run: RunState, unit: UnitState, converts: bool) -> WorkspaceRecord:
    path = Path(unit.path)
    there = stands(unit)
    notes = []
    if not there:
        notes.append("another folder is in its place" if os.path.lexists(path) else "its folder is gone")
    if unit.trash:
        notes.append("its removal broke off")
    if unit.moving or unit.reset:
        notes.append("half moved or reset; the next command that changes it finishes that")
    if there and unit.run == NAMED and (trouble := read_trouble(repository, unit)[0]):
        notes.append(trouble)
    base = base_of(run, unit) if unit.run != NAMED else unit.base or ""
    return WorkspaceRecord(
        name=name_of(unit),
        run=unit.run,
        unit=unit.id,
        kind=unit.workspace,
        state=unit.state,
        path=str(path),
        there=there,
        branch=unit.branch or (unit_ref(run.id, unit.id) if unit.workspace == "worktree" else None),
        base=base or None,
        since=unit.since,
        locked=lock_of(repository, unit),
        ahead=count_own(repository, unit, base) if there else None,
        dirty=count_dirty(repository, unit, converts=converts) if there else None,
        note="; ".join(notes),
    )


def count_dirty(repository: Repository, unit: UnitState, *, converts: bool) -> int | None:
    """Count the files of a workspace that are not as prun last saw them, without opening what its worker wrote."""
    # No git there, and everything but the outbox is the worker's.
    path = Path(unit.path)
    if unit.workspace == "scratch":
        try:
            return len([name for name in os.listdir(path) if name != OUTBOX])
        except OSError:
            return None
    ground = Ground(
        path=path,
        identity=identity_of(unit),
        common=repository.common,
        index=repository.state / "runs" / unit.run / unit.id / "index",
        apart=unit.provided,
        converts=converts,
    )
    found = Tree(ground, NoNotices()).look(whole=True)
    return None if found is None else len(found)


def count_own(repository: Repository, unit: UnitState, base: str) -> int | None:
    """Count the commits a workspace has of its own: of a clone those its log of HEAD names."""
    if unit.run == NAMED:
        # Its branch is where its work comes to, whoever committed it; what a clone has beside that is in its log.
        on_branch = _count_on_branch(repository, unit, base)
        in_log = _count_in_log(unit, base) if unit.workspace == "clone" else None
        return max((count for count in (on_branch, in_log) if count is not None), default=None)
    # Counted when it was captured; the workspace may have changed since.
    if unit.captured:
        return len(unit.own_commits)
    if unit.workspace == "worktree":
        return _count_on_branch(repository, unit, base)
    return _count_in_log(unit, base)


def _count_on_branch(repository: Repository, unit: UnitState, base: str) -> int | None:
    branch = unit.branch
    if branch:
        tip: str | None = read_ref(open_repository(repository.common), f"refs/heads/{branch}")
    else:
        tip = read_worktree_head(repository.common, Path(unit.path))
    if not tip or not base:
        return None
    # The base may be gone with an old run, and a listing goes on without it.
    try:
        return count_since(repository, base, tip)
    except (PrunError, ValueError):
        return None


def _count_in_log(unit: UnitState, base: str) -> int | None:
    git_dir = Path(unit.path) / ".git"
    if unit.workspace != "clone" or folder_identity(git_dir) is None:
        return None
    # A log names a commit each time it was moved to.
    return len({*read_log(git_dir / "logs" / "HEAD")} - {base})

"""Take workspaces away: captured again first, never through a link, never the only copy of anything."""

from __future__ import annotations

import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gitprun.capture.capture import (
    pin_commits,
    require_ended,
)
from gitprun.git.refs import delete_ref, open_repository, read_ref
from gitprun.git.repo import Repository, read_checkouts
from gitprun.git.stash import read_stash
from gitprun.ledger.events import RunState, UnitState
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.lookup import probe_unit
from gitprun.ledger.review import unit_folder
from gitprun.ledger.rows import LeavingRow
from gitprun.ledger.unit_events import WorkspaceRemoved, WorkspaceRemoving
from gitprun.model.errors import OperationRefused, PrunError
from gitprun.model.names import base_ref
from gitprun.registry.find import hold_unit
from gitprun.registry.guard import finish_removal, identity_of, require_lonely, require_not_locked, require_ours
from gitprun.registry.move import recover_move
from gitprun.registry.rest import (
    SHOWN,
    Rest,
    RestRules,
    capture_rest,
    discard_command,
    keep_rest,
    open_rest,
    outbox_files,
    pin_rest,
)
from gitprun.registry.survivors import living_survivors
from gitprun.registry.trash import retire_ref
from gitprun.system.files import remove_tree
from gitprun.workspaces.base import OUTBOX
from gitprun.workspaces.gitdir import own_git
from gitprun.workspaces.worktree import remove_worktree


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What became of one workspace: removed or not, what was pinned before, which ignored files went with it.

    ``kept`` is the folder in which those ignored files lie now that no tool makes again, ``kept_files`` names them;
    ``discarded`` are those that went all the same, as was asked for; ``stashed`` are entries of the user's stash that
    were made there.
    """

    run: str
    unit: str
    path: str
    removed: bool
    saved: str | None = None
    ignored: tuple[str, ...] = ()
    kept: str = ""
    kept_files: tuple[str, ...] = ()
    discarded: tuple[str, ...] = ()
    stashed: tuple[str, ...] = ()
    reason: str = ""


def remove_workspace(
    repository: Repository, ledger: Ledger, run: RunState, unit: UnitState, *, discard_left_out: bool = False
) -> Removal:
    """Remove the workspace of one unit.

    Raises OperationRefused, with the workspace as it was, when something would be lost.
    """
    # A worker in there would write into what is being taken away.
    if probe_unit(run, unit).live:
        raise OperationRefused(
            f"{unit.run}/{unit.id} is still {unit.state}", f"git prun stop {unit.run}/{unit.id}, or wait"
        )
    removal = take_away(repository, ledger, unit, discard_left_out=discard_left_out)
    if removal.removed and Path(removal.path).parts[-2:] == (unit.run, unit.id):
        # Of a place the user chose for it, nothing is ours.
        _tidy_parents(Path(removal.path))
    return removal


def take_away(
    repository: Repository, ledger: Ledger, unit: UnitState, *, discard_left_out: bool = False, keep_all: bool = False
) -> Removal:
    """Remove the workspace of a unit nobody works on, as ``remove_workspace`` does; goes on where one broke off.

    ``keep_all`` keeps ignored files however large they are: where nobody is there to be asked.
    """
    path = Path(unit.path)
    name = f"{unit.run}/{unit.id}"
    if not unit.there:
        return Removal(run=unit.run, unit=unit.id, path=str(path), removed=False, reason="it has no workspace")
    with hold_unit(repository, unit):
        unit = recover_move(repository, ledger, unit)
        path = Path(unit.path)
        finish_removal(unit, name)
        there = require_ours(unit, name)
        require_not_locked(repository, unit, name)
        if there:
            require_lonely(repository, path)
            require_ended(living_survivors(unit_folder(repository.state, unit)))
        # Before the worktree goes: afterwards nothing tells where they were made.
        stashed = stash_entries(repository, unit)
        rest = _save(repository, ledger, unit, path, discard=discard_left_out, keep_all=keep_all)
        _remove(repository, ledger, unit, rest.row)
        # Last of all: until then every command finds the removal half done, and goes on with it.
        ledger.append(WorkspaceRemoved(removed=True), run=unit.run, unit=unit.id)
        # All it captured is in the user's repository, or in quarantine.
        shutil.rmtree(own_git(unit_folder(repository.state, unit) / "index"), ignore_errors=True)
    return removal_of(unit, path, rest, stashed, there=there)


def removal_of(unit: UnitState, path: Path, rest: Rest, stashed: tuple[str, ...], *, there: bool) -> Removal:
    """Sum up a removal that was done."""
    return Removal(
        run=unit.run,
        unit=unit.id,
        path=str(path),
        removed=True,
        saved=rest.saved,
        ignored=rest.ignored,
        kept=rest.kept.folder if rest.kept else "",
        kept_files=rest.kept.paths if rest.kept else (),
        discarded=rest.discarded,
        stashed=stashed,
        reason="" if there or unit.trash else f"{path} was not there; if you moved it, it is yours now",
    )


def stash_entries(repository: Repository, unit: UnitState) -> tuple[str, ...]:
    """List the entries of the user's stash that were made in a linked worktree: they stay when it goes."""
    if unit.workspace != "worktree":
        return ()
    # The stash is one for all worktrees, so entries made here outlive it and show in the user's list.
    branch = unit.branch or ""
    own = {unit.commit, *(oid for _, oid in unit.kept)} - {None, ""}
    try:
        found = [one for one in read_stash(repository.git) if one.is_of(branch, {str(oid) for oid in own})]
    except PrunError:
        return ()
    return tuple(f"{one.name} ({one.said})" for one in found)


def _remove(repository: Repository, ledger: Ledger, unit: UnitState, leaving: LeavingRow) -> None:
    """Remove the folder and what belongs to it; the ledger knows before where the rest lies if that breaks off."""
    path, identity = Path(unit.path), identity_of(unit)

    def note(trash: Path, found: tuple[int, int]) -> None:
        ledger.append(leaving.into(WorkspaceRemoving, trash=(str(trash), *found)), run=unit.run, unit=unit.id)

    if not os.path.lexists(path):
        ledger.append(leaving.into(WorkspaceRemoving, trash=None), run=unit.run, unit=unit.id)
    if unit.workspace == "worktree":
        remove_worktree(repository, path, identity, noted=note)
        _drop_branch(repository, ledger, unit)
    elif os.path.lexists(path):
        remove_tree(path, identity, noted=note)


def _save(
    repository: Repository, ledger: Ledger, unit: UnitState, path: Path, *, discard: bool, keep_all: bool
) -> Rest:
    """Pin what is in no commit yet, refuse over what cannot be pinned, and keep ignored work beside it."""
    if unit.workspace == "scratch":
        rows = _leave_scratch(unit, path, discard)
        return keep_rest(
            repository,
            ledger,
            unit,
            rows,
            (),
            RestRules(advice=discard_command(unit), discard=discard, keep_all=keep_all),
        )
    site = open_rest(repository, unit)
    if not os.path.lexists(path):
        # Its files are gone already; its commits are not.
        pin_commits(site, unit.run, unit.id)
        return Rest(saved=unit.saved, ignored=unit.ignored)
    found, going = capture_rest(site, unit.run, unit.id, advice=discard_command(unit), discard=discard)
    if found is None:
        return Rest()
    # The outbox hides itself from git, so it is in no listing of it.
    going |= set(outbox_files(path))
    provided = site.workspace.provided
    rules = RestRules(advice=discard_command(unit), discard=discard, keep_all=keep_all)
    rest = keep_rest(repository, ledger, unit, going, provided, rules)
    return replace(rest, saved=pin_rest(site, unit, found))


def _leave_scratch(unit: UnitState, path: Path, discard: bool) -> tuple[str, ...]:
    """Refuse a scratch folder that a worker which only reads has written to; list what goes with it."""
    if not os.path.lexists(path):
        return ()
    found = sorted(entry for entry in os.listdir(path) if entry != OUTBOX)
    if found and not discard:
        raise OperationRefused(
            f"{unit.run}/{unit.id} was read-only, yet {path} holds {', '.join(found[:SHOWN])}",
            f"take what you need, then: {discard_command(unit)}",
        )
    return (*found, *outbox_files(path))


def _drop_branch(repository: Repository, ledger: Ledger, unit: UnitState) -> None:
    """Delete the branch an older prun made for a linked worktree, if nobody went on with it since its capture."""
    if not unit.branch:
        return
    repo = open_repository(repository.common)
    name = f"refs/heads/{unit.branch}"
    at = read_ref(repo, name)
    base = unit.base or read_ref(repo, base_ref(unit.run))
    captured = {unit.commit, base, *(oid for _, oid in unit.kept)}
    # Somebody went on with it, or works on it elsewhere: then it is theirs.
    if at is None or at not in captured or any(row.branch == name for row in read_checkouts(repository.git)):
        return
    if at == base:
        delete_ref(repo, name, at)
    else:
        retire_ref(repository, ledger, name, why="its worktree was removed", of=f"{unit.run}/{unit.id}", old=at)


def _tidy_parents(path: Path) -> None:
    """Remove the folders above a workspace that are empty now: the run's, and the repository's."""
    for folder in (path.parent, path.parent.parent):
        try:
            folder.rmdir()
        except OSError:
            return


def removable(run: RunState) -> Sequence[UnitState]:
    """List the units of a run whose workspace is there and whose work is over."""
    kept = (unit for unit in run.units.values() if unit.there)
    return [unit for unit in kept if not probe_unit(run, unit).live]

"""Take a named workspace away: captured first, pinned where it is in no commit, its branch left to the user."""

from __future__ import annotations

import itertools
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

from gitprun.collect.capture import Capture, commit_capture
from gitprun.collect.site import Site
from gitprun.errors import Refused
from gitprun.git.refs import delete_ref, move_ref, open_repository, read_ref, read_signatures
from gitprun.git.repo import Repository
from gitprun.git.trees import tree_of
from gitprun.named.roster import NAMED
from gitprun.named.site import alone, open_site, pin_gone, pin_name, stands_on
from gitprun.names import ZERO, Oid, kept_ref
from gitprun.runs.events import UnitState
from gitprun.runs.ledger import Ledger
from gitprun.runs.remove import SHOWN, Removal, capture_rest
from gitprun.runs.review import unit_folder
from gitprun.system.files import folder_identity, remove_tree
from gitprun.workspaces.worktree import remove_worktree, require_unlocked


@dataclass(frozen=True, slots=True)
class _Leaving:
    """What was saved of a workspace about to go, and which ignored files go with it."""

    saved: str | None
    ignored: tuple[str, ...]


def remove_named(repository: Repository, ledger: Ledger, unit: UnitState, *, discard_left_out: bool = False) -> Removal:
    """Remove a named workspace, not its branch; raises Refused, with all as it was, when something would be lost."""
    path = Path(str(unit.facts["path"]))
    identity = (unit.facts["identity"][0], unit.facts["identity"][1])
    with alone(repository, unit):
        there = os.path.lexists(path)
        if there and folder_identity(path) != identity:
            raise Refused(f"{path} is not the folder prun made for {unit.id}", "look at it; prun leaves it alone")
        if unit.facts["workspace"] == "worktree":
            require_unlocked(repository.common, path)
        if not there and unit.facts["workspace"] == "worktree":
            # Its files are gone already; its commits are not.
            pin_gone(repository, unit.id, path, str(unit.facts["branch"]), _pinned(repository, unit))
        leaving = _save(repository, unit, discard_left_out) if there else _Leaving(None, ())
        base = _keep_commit(repository, unit)
        facts = {"saved": leaving.saved, "ignored": list(leaving.ignored[:SHOWN])}
        ledger.append("workspace.removing", run=NAMED, unit=unit.id, facts=facts)
        if unit.facts["workspace"] == "worktree":
            remove_worktree(repository, path, identity)
        elif there:
            remove_tree(path, identity)
        ledger.append("workspace.removed", run=NAMED, unit=unit.id, facts={"removed": True})
        if base is not None:
            delete_ref(open_repository(repository.common), pin_name(unit.id), base)
        folder, depth = unit_folder(repository.state, unit), unit.id.count("/")
        shutil.rmtree(folder, ignore_errors=True)
    _tidy_parents(folder, depth)
    _tidy_parents(path, depth + 1)
    return Removal(run=NAMED, unit=unit.id, path=str(path), removed=True, saved=leaving.saved, ignored=leaving.ignored)


def _save(repository: Repository, unit: UnitState, discard: bool) -> _Leaving:
    """Pin what is in no commit yet, refuse over what cannot be pinned, and name what goes with the workspace."""
    site = open_site(repository, unit, base=_base(repository, unit))
    advice = f"git prun remove --discard-left-out {unit.id}"
    found, going = capture_rest(site, NAMED, unit.id, advice=advice, discard=discard)
    if found is None:
        return _Leaving(None, ())
    return _Leaving(_pin_rest(site, unit, found), tuple(sorted(going)))


def _base(repository: Repository, unit: UnitState) -> Oid:
    """Find the commit to compare with, also where the branch is gone or another one is checked out."""
    try:
        return stands_on(repository, unit)
    except Refused:
        return _pinned(repository, unit)


def _pinned(repository: Repository, unit: UnitState) -> Oid:
    """Give the commit that is pinned for a workspace."""
    pinned = read_ref(open_repository(repository.common), pin_name(unit.id))
    return pinned or Oid(str(unit.facts["base"]))


def _pin_rest(site: Site, unit: UnitState, found: Capture) -> str | None:
    """Pin the work that is in no commit, unless an attempt that was pinned holds the very same."""
    if not found.changed:
        return None
    message = f"{unit.id}: left in the workspace when it was removed\n\nWorkspace: {unit.id}\n"
    attempts = (kept_ref(NAMED, unit.id, f"attempt-{number}") for number in itertools.count(1))
    for ref in itertools.takewhile(lambda ref: read_ref(site.repo, ref) is not None, attempts):
        old = read_ref(site.repo, ref)
        if old is not None and tree_of(site.repo, old) == found.tree:
            return ref
    for number in itertools.count(1):
        ref = kept_ref(NAMED, unit.id, f"left-in-workspace-{number}")
        if read_ref(site.repo, ref) is None:
            commit_capture(site, found, ref, message, read_signatures(site.repository.git))
            return ref
    raise AssertionError("numbers do not end")


def _keep_commit(repository: Repository, unit: UnitState) -> Oid | None:
    """Keep the commit the workspace stands on reachable, where no branch holds it; gives where its pin is now."""
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

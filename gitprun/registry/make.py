"""Make a named workspace: everything is checked before anything is made, and what fails half way is taken back."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gitprun.capture.preview import noting_setup
from gitprun.git.command import require_git
from gitprun.git.refs import delete_ref, move_ref, open_repository, read_ref
from gitprun.git.repo import Repository, require_seen_checkout, resolve_commit
from gitprun.ledger.events import UnitState
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.review import unit_folder
from gitprun.ledger.roster import NAMED, colliding, roster
from gitprun.ledger.unit_events import WorkspaceMade, WorkspaceSetup
from gitprun.model.errors import OperationRefused, PrunError, UsageProblem
from gitprun.model.escapes import shell_word
from gitprun.model.names import ZERO, Oid, UnitId
from gitprun.model.units import WorkspaceKind
from gitprun.observe.safe_mode import require_trusted_config
from gitprun.registry.branches import prepare_branch, require_own_branch_name
from gitprun.registry.fork import find_fork
from gitprun.registry.guard import stands
from gitprun.registry.open_workspace import KNOWN, open_workspace_capture, pin_name
from gitprun.supervisor.process import Stop
from gitprun.system.btime import folder_birth
from gitprun.system.files import locked, remove_tree, write_whole
from gitprun.verify.check import run_setup
from gitprun.workspaces.base import Provision, Workspace, WorkspaceProblem, workspace_path
from gitprun.workspaces.clone import make_clone, read_source
from gitprun.workspaces.furnish import furnish
from gitprun.workspaces.pins import pin_source, unpin_source
from gitprun.workspaces.worktree import make_worktree, remove_worktree

# Another one's checkout of a very large repository may take minutes, and is worth waiting for.
PATIENCE = 600.0


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceSpec:
    """What a named workspace is to be; ``copy`` and ``link`` are paths of the user's checkout."""

    name: UnitId
    branch: str
    base: str | None = None
    kind: WorkspaceKind = "worktree"
    root: Path
    resume: bool = False
    copy: Sequence[str] = ()
    link: Sequence[str] = ()


def make_user_workspace(repository: Repository, ledger: Ledger, spec: WorkspaceSpec) -> UnitState:
    """Make a workspace and write it into the ledger; one that is there already is given back (``resume``).

    Raises PrunError, leaving neither folder, registration, branch nor ledger row.
    """
    require_git(repository.top or repository.common)
    require_seen_checkout(repository)
    # A worker changed what the user's git starts; a checkout by its settings would run that.
    require_trusted_config(repository)
    require_own_branch_name(repository.git, spec.branch, existing=spec.resume)
    if spec.resume and spec.base is not None:
        raise UsageProblem("--resume goes on where the branch is, so it takes no BASE", "leave one of them out")
    # Two that make at once must see each other's name, branch and folder.
    with locked(repository.state / "locks" / "named.lock", timeout=PATIENCE, doing="making a workspace"):
        events = ledger.read().events
        known = roster(events)
        path = workspace_path(spec.root, NAMED, spec.name)
        there = _standing(known.units, spec)
        if there is not None:
            return there
        base = resolve_commit(repository.git, f"refs/heads/{spec.branch}" if spec.resume else spec.base or "HEAD")
        notes = prepare_branch(repository, spec.name, spec.branch, path, resume=spec.resume)
        workspace = _make(repository, spec, path, base)
        try:
            workspace = furnish_user_workspace(
                repository, spec.name, workspace, base, Provision(copy=spec.copy, link=spec.link)
            )
            _pin(repository, spec, workspace, base)
            # What the branch has already is work of the workspace, too.
            fork = find_fork(repository, events, spec.branch, base) if spec.resume else base
            ledger.append(workspace_made(workspace, fork, notes), run=NAMED, unit=spec.name)
        except BaseException:
            _take_back(repository, spec, workspace, base)
            raise
    return roster(ledger.read().events).units[spec.name]


def _standing(units: Mapping[str, UnitState], spec: WorkspaceSpec) -> UnitState | None:
    """Find the workspace of that name; None if there is none, or only its folder is gone and it is to be resumed."""
    other = colliding(spec.name, units)
    if other is None:
        return None
    unit = units[other]
    path, branch = Path(unit.path), unit.branch
    if other != spec.name:
        raise OperationRefused(f"the workspace {other} is in the way of {spec.name} ({path})", "choose another name")
    if branch != spec.branch:
        raise OperationRefused(
            f"the workspace {other} is there already, on the branch {branch} ({path})", "choose another name"
        )
    if stands(unit):
        if spec.resume:
            return unit
        raise OperationRefused(
            f"the workspace {other} is there already ({path})", f"work there, or remove it: git prun remove {other}"
        )
    if os.path.lexists(path):
        raise OperationRefused(f"{path} is not the folder prun made for {other}", "look at it; prun leaves it alone")
    if not spec.resume:
        raise OperationRefused(
            f"the folder {path} of the workspace {other} is gone; its branch {branch} is kept",
            f"git prun new {other} {shell_word(branch)} --resume makes it anew; git prun remove {other} forgets it",
        )
    return None


def _make(repository: Repository, spec: WorkspaceSpec, path: Path, base: Oid) -> Workspace:
    if spec.kind == "worktree":
        return make_worktree(repository, path, base, spec.branch, existing=spec.resume)
    repo, full = open_repository(repository.common), f"refs/heads/{spec.branch}"
    source = pin_source(repository, f"{NAMED}/{spec.name}", read_source(repository), base)
    # Its own branch comes from its own commit, not from where the user's copy of it stands.
    others = tuple(row for row in source.refs if row[0] != full)
    made = make_clone(replace(source, refs=others), path, base, spec.branch)
    if not spec.resume:
        try:
            # Its commits come here, so the name is taken from the start.
            move_ref(repo, full, base, ZERO, "prun: made with its workspace")
        except PrunError:
            remove_tree(path, made.identity)
            raise
    return made


def furnish_user_workspace(
    repository: Repository, name: str, workspace: Workspace, base: Oid, provision: Provision
) -> Workspace:
    """Put in what it needs of the user's, and write down the tips of all refs, which are no work of anybody there."""
    folder = repository.state / "runs" / NAMED / name
    folder.mkdir(parents=True, exist_ok=True)
    write_whole(folder / KNOWN, json.dumps(sorted(read_source(repository).tips)).encode())
    return furnish(repository, workspace, folder, base, provision)


def _pin(repository: Repository, spec: WorkspaceSpec, workspace: Workspace, base: Oid) -> None:
    repo = open_repository(repository.common)
    pin = pin_name(spec.name)
    move_ref(repo, pin, base, read_ref(repo, pin) or ZERO, "prun: base of a workspace")


def workspace_made(workspace: Workspace, base: Oid, notes: Sequence[str] = ()) -> WorkspaceMade:
    """Return what is written down of a workspace just made (or made anew); ``base`` is where its branch forked."""
    return WorkspaceMade(
        workspace=str(workspace.kind),
        path=str(workspace.path),
        identity=workspace.identity,
        birth=folder_birth(workspace.path),
        branch=workspace.branch,
        base=base,
        provided=workspace.provided,
        notes=(*notes, *workspace.notes),
        setup="none",
    )


def _take_back(repository: Repository, spec: WorkspaceSpec, workspace: Workspace, base: Oid) -> None:
    """Remove a workspace nobody has worked in."""
    if workspace.kind == "worktree":
        remove_worktree(repository, workspace.path, workspace.identity)
    else:
        remove_tree(workspace.path, workspace.identity)
    repo = open_repository(repository.common)
    delete_ref(repo, pin_name(spec.name), base)
    unpin_source(repository, f"{NAMED}/{spec.name}")
    if not spec.resume:
        delete_ref(repo, f"refs/heads/{spec.branch}", base)
    shutil.rmtree(repository.state / "runs" / NAMED / spec.name, ignore_errors=True)


def setup_user_workspace(
    repository: Repository, ledger: Ledger, unit: UnitState, commands: Sequence[str], *, stop: Stop
) -> list[str]:
    """Run the setup commands in a workspace and write down how that went; return the files they made, if any.

    Raises WorkspaceProblem when one fails; the workspace stays.
    """
    path, folder = Path(unit.path), unit_folder(repository.state, unit)
    try:
        with noting_setup(open_workspace_capture(repository, unit), fresh=False) as made:
            run_setup(path, commands, log=folder / "setup.log", stop=stop)
    except WorkspaceProblem as problem:
        ledger.append(WorkspaceSetup(setup="failed"), run=NAMED, unit=unit.id)
        raise WorkspaceProblem(f"{problem.message}; the workspace {unit.id} stays", problem.hint) from None
    ledger.append(WorkspaceSetup(setup="done"), run=NAMED, unit=unit.id)
    return made

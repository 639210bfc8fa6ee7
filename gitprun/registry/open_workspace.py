"""Open a named workspace for capture: where it stands, and that it is still what prun made."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from gitprun.capture.capture import pin_commits
from gitprun.capture.context import CaptureContext
from gitprun.capture.worker_refs import read_head
from gitprun.git.refs import open_repository, read_ref
from gitprun.git.repo import Repository
from gitprun.ledger.events import UnitState
from gitprun.ledger.probe import probe_named
from gitprun.ledger.review import unit_folder
from gitprun.ledger.roster import NAMED, flat
from gitprun.model.errors import OperationRefused, PrunError
from gitprun.model.escapes import shell_word
from gitprun.model.names import Oid, RunId, UnitId, base_ref
from gitprun.model.plan import DEFAULT_MAX_FILE, DEFAULT_MAX_FILES, DEFAULT_MAX_TOTAL, Settings
from gitprun.registry.guard import identity_of
from gitprun.system.files import LockBusy, folder_identity, locked, read_plain
from gitprun.workspaces.base import Workspace
from gitprun.workspaces.clone import render_alternates
from gitprun.workspaces.gitdir import ensure_own_git, renew_own_git
from gitprun.workspaces.worktree import admin_folder

KNOWN = "known.json"
# About a million and a half tips of refs at 43 bytes each.
MAX_KNOWN = 64_000_000
# What takes a worktree off its branch while it lasts.
UNDER_WAY = {"rebase-merge": "a rebase", "rebase-apply": "a rebase or git am", "BISECT_LOG": "a bisect"}


class WorkspaceGone(PrunError):
    """The folder of a named workspace is not there, or is another one now."""


def pin_name(name: str) -> str:
    """Return the ref that pins the commit a workspace stands on."""
    return base_ref(RunId(f"{NAMED}/{name}"))


@contextmanager
def alone(repository: Repository, unit: UnitState) -> Iterator[None]:
    """Keep everybody else from a workspace; raises OperationRefused while somebody is at work in it."""
    busy = OperationRefused(f"somebody is at work in {unit.id}", "wait for that to end; git prun status shows it")
    with ExitStack() as stack:
        try:
            stack.enter_context(locked(repository.state / "locks" / f"named-{flat(unit.id)}.lock", timeout=0.0))
        except LockBusy:
            raise busy from None
        # A worker outlives its coordinator when that is killed.
        if probe_named(unit).live:
            raise busy
        yield


def open_workspace_capture(
    repository: Repository,
    unit: UnitState,
    *,
    base: Oid | None = None,
    settings: Settings | None = None,
    anew: bool = False,
) -> CaptureContext:
    """Open a workspace for capture, from the commit it stands on now (or ``base``).

    Raises WorkspaceGone or OperationRefused. ``settings`` say what a capture takes in; ``anew``: no worker is at it
    yet, so the user's git settings hold as they are now.
    """
    settings = settings or Settings()
    path, branch = Path(unit.path), unit.branch
    identity = identity_of(unit)
    if folder_identity(path) != identity:
        gone = "is gone" if not os.path.lexists(path) else "is not the one prun made"
        raise WorkspaceGone(
            f"the folder {path} of the workspace {unit.id} {gone}",
            "git prun workspace adopt PATH if it was moved to PATH, "
            f"else git prun new {unit.id} {shell_word(str(branch))} --resume",
        )
    if anew:
        require_own_branch(repository, unit)
    folder = unit_folder(repository.state, unit)
    known = json.loads(read_plain(folder / KNOWN, MAX_KNOWN) or b"[]")
    base = base or stands_on(repository, unit)
    kind, index = unit.workspace_kind, folder / "index"
    own = ensure_own_git(repository, index, base, kind) if index.is_file() else None
    # Settings the user changed since the workspace was made hold for the next worker, as they do in a new one.
    if anew and own is not None:
        renew_own_git(repository, index, base)
    return CaptureContext(
        repository=repository,
        repo=open_repository(repository.common),
        workspace=Workspace(
            kind=kind,
            path=path,
            identity=identity,
            branch=branch,
            index=index,
            provided=unit.provided,
        ),
        base=base,
        max_file=settings.max_file or DEFAULT_MAX_FILE,
        max_total=settings.max_total or DEFAULT_MAX_TOTAL,
        max_files=settings.max_files or DEFAULT_MAX_FILES,
        own=own,
        filters=settings.filters,
        secrets=settings.secrets is not False,
        # What refs of the user's named when it was made is nobody's work in it.
        known=frozenset({*known, base}),
        alternates=render_alternates((repository.common / "objects").resolve()),
    )


def stands_on(repository: Repository, unit: UnitState) -> Oid:
    """Find the commit a workspace stands on: of a worktree the tip of its branch, of a clone what it was filled from.

    Raises OperationRefused when a worktree is not on its branch any more, or the branch is gone.
    """
    repo, branch = open_repository(repository.common), unit.branch
    pinned = read_ref(repo, pin_name(unit.id))
    if unit.workspace == "clone":
        # Nothing says what its files were filled from, so nobody could tell work from base.
        if pinned is None:
            raise OperationRefused(
                f"the commit {unit.id} stands on is no longer pinned", "look at the workspace yourself"
            )
        return pinned
    require_own_branch(repository, unit)
    tip = read_ref(repo, f"refs/heads/{branch}")
    if tip is None:
        raise OperationRefused(f"the branch {branch} of the workspace {unit.id} is gone", "git branch brings it back")
    return tip


def read_trouble(repository: Repository, unit: UnitState) -> tuple[str, str]:
    """Return what is wrong with where a named workspace stands, and what mends it; empty where nothing is."""
    path, branch = Path(unit.path), unit.branch
    place: Path | None = path / ".git"
    if unit.workspace == "worktree":
        place = admin_folder(repository.common, path)
    if place is None:
        said = os.fsdecode((read_plain(path / ".git", 10_000) or b"").removeprefix(b"gitdir:").strip())
        mends = bool(said) and Path(said).parent == repository.common / "worktrees" and os.path.isdir(said)
        how = (
            f"git worktree repair {shell_word(str(path))}"
            if mends
            else f"git prun remove {unit.id} keeps what is in it"
        )
        return "is not registered with git as a worktree any more", how
    head = read_head(place / "HEAD")
    if head == f"refs/heads/{branch}":
        return "", ""
    now = head.removeprefix("refs/heads/") if head.startswith("refs/") else "no branch"
    busy = next((what for name, what in UNDER_WAY.items() if os.path.lexists(place / name)), "")
    if busy:
        return f"is in the middle of {busy}", f"finish it in {path}, or give it up there"
    return (
        f"is on {now}, not on its branch {branch}",
        f"git -C {shell_word(str(path))} switch {shell_word(str(branch))}",
    )


def require_own_branch(repository: Repository, unit: UnitState) -> None:
    """Refuse a workspace that does not stand on its branch any more."""
    trouble, how = read_trouble(repository, unit)
    if trouble:
        raise OperationRefused(f"the workspace {unit.id} {trouble}", how)


def pin_gone(repository: Repository, name: UnitId, path: Path, branch: str, base: Oid) -> None:
    """Pin the commits that only the registration of a worktree knows, whose folder is gone."""
    gone = Workspace(kind="worktree", path=path, identity=(0, 0), branch=branch)
    repo = open_repository(repository.common)
    pin_commits(CaptureContext(repository=repository, repo=repo, workspace=gone, base=base, max_file=0), NAMED, name)

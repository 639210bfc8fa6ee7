"""Make a checkout a workspace: what it needs of the user's is put in, and its fresh index out of its reach."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import replace
from pathlib import Path

from gitprun.git.repo import Repository
from gitprun.model.names import Oid
from gitprun.workspaces.base import Provision, Workspace, empty_submodules, provide
from gitprun.workspaces.gitdir import make_own_git
from gitprun.workspaces.rulebook import SharedRules


def furnish(
    repository: Repository,
    workspace: Workspace,
    folder: Path,
    base: Oid,
    provision: Provision,
    rules: SharedRules | None = None,
) -> Workspace:
    """Copy and link things of the user's checkout into a fresh workspace at ``base``.

    Its index is kept in ``folder``, and beside it the git folder its work will be captured with; ``rules`` are what
    all workspaces share of those (None: as they are now).
    """
    path = workspace.path
    provided, notes = provide(repository.top, path, provision.copy, provision.link)
    # What was copied or linked in is nobody's work. In a worktree the shared exclude file is the user's, so there the
    # capture alone leaves it out.
    if workspace.kind == "clone" and provided:
        with open(path / ".git" / "info" / "exclude", "ab") as exclude:
            exclude.write(b"\n" + b"".join(_exclude_rule(name) for name in provided))
    # Before the worker starts: an index it has written could tell git that a changed file is as it was.
    index = _keep_index(workspace, folder)
    make_own_git(repository, index, base, worktree=path if workspace.kind == "worktree" else None, rules=rules)
    return replace(
        workspace,
        index=index,
        provided=tuple(provided),
        notes=(
            *workspace.notes,
            *notes,
            *(f"submodule {name} is not populated in the workspace" for name in empty_submodules(path)),
        ),
    )


def _exclude_rule(name: str) -> bytes:
    """Write the ignore rule for exactly one path at the top."""
    return b"/" + re.sub(rb"([][\\*?! ])", rb"\\\1", os.fsencode(name)) + b"\n"


def _keep_index(workspace: Workspace, folder: Path) -> Path:
    """Copy the fresh index out of the worker's reach, its time with it (git compares file times with it)."""
    if workspace.kind == "clone":
        made = workspace.path / ".git" / "index"
    else:
        pointer = (workspace.path / ".git").read_text(errors="surrogateescape")
        made = Path(pointer.removeprefix("gitdir:").strip()) / "index"
    kept = folder / "index"
    shutil.copy2(made, kept)
    return kept

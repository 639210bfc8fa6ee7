"""May a workspace have this branch? Asked before anything is made, and answered with what to do instead."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.refs import open_repository, read_ref
from gitprun.git.repo import Checkout, Repository, read_checkouts
from gitprun.git.revision import require_branch_name, require_no_tag
from gitprun.model.errors import GitFailed, GitTimeout, OperationRefused
from gitprun.model.escapes import shell_word
from gitprun.model.names import PRUN_BRANCHES, Oid, UnitId
from gitprun.registry.open_workspace import pin_gone
from gitprun.workspaces.worktree import admin_folder, remove_worktree

# Enough for a checkout of a million files on a slow disk; the answer is only a word more in a refusal.
STATUS_TIMEOUT = 60.0


def require_own_branch_name(git: Git, branch: str, *, existing: bool = False) -> None:
    """Refuse what is no name for a new branch (or one that is there), and what belongs to runs."""
    require_branch_name(git, branch, "wave1/reports")
    if not existing:
        require_no_tag(git, branch)
    if branch.startswith(PRUN_BRANCHES):
        raise OperationRefused(f"branches below {PRUN_BRANCHES} belong to the units of runs", "choose another name")


def prepare_branch(repository: Repository, name: UnitId, branch: str, path: Path, *, resume: bool) -> tuple[str, ...]:
    """Check that a workspace at ``path`` may have ``branch``, and drop registrations whose folder is gone.

    Raises OperationRefused, with nothing changed. A registration is dropped only with ``resume`` (or when it
    stands for the
    very path), never a locked one; its branch stays, and commits only it knew are pinned. Gives notes.
    """
    git, full, word = repository.git, f"refs/heads/{branch}", shell_word(branch)
    listing = git.run("for-each-ref", "--format=%(refname)", "refs/heads").out.decode("utf-8", "surrogateescape")
    names = listing.split("\n")[:-1]
    _require_no_collision(names, branch)
    stale: list[Checkout] = []
    for row in read_checkouts(git):
        same = _same(row.path, path)
        # Neither the branch nor the place is asked for.
        if row.branch != full and not same:
            continue
        if os.path.lexists(row.path):
            if not row.bare and not same:
                raise _held(repository, row, branch)
            continue
        # A disk that is not mounted now: its owner locked it so that git forgets nothing.
        if row.locked is not None:
            reason = f" ({row.locked})" if row.locked else ""
            raise OperationRefused(
                f"the worktree {row.path} is not there, but it is locked{reason}, and holds "
                + (f"the branch {branch}" if row.branch == full else "the place of this workspace"),
                f"bring its disk back, or: git worktree unlock {shell_word(str(row.path))}",
            )
        if row.branch == full and not resume:
            raise OperationRefused(
                f"the branch {branch} belongs to the worktree {row.path}, whose folder is gone",
                f"git prun new {name} {word} --resume drops that registration and goes on with the branch",
            )
        stale.append(row)
    if full in names and not resume:
        raise OperationRefused(
            f"the branch {branch} already exists",
            f"git prun new {name} {word} --resume goes on with it; or choose another name",
        )
    if resume and full not in names:
        raise OperationRefused(f"there is no branch {branch} to go on with", "leave --resume out to make it")
    return tuple(_drop(repository, name, row) for row in stale)


def _require_no_collision(names: Sequence[str], branch: str) -> None:
    own = f"refs/heads/{branch}"
    for name in names:
        # Refs are files in folders, and a name cannot be both.
        if own.startswith(f"{name}/") or name.startswith(f"{own}/"):
            other = name.removeprefix("refs/heads/")
            raise OperationRefused(
                f"the branch {branch} cannot be made beside {other}: one name is the beginning of the other",
                "choose another name",
            )


def _same(left: Path, right: Path) -> bool:
    """Check whether two paths are one, of which the last part may not be there."""
    return left.name == right.name and os.path.realpath(left.parent) == os.path.realpath(right.parent)


def _held(repository: Repository, row: Checkout, branch: str) -> OperationRefused:
    locked = "" if row.locked is None else ", locked" + (f": {row.locked}" if row.locked else "")
    return OperationRefused(
        f"the branch {branch} is checked out in {row.path} ({_cleanliness(repository, row.path)}{locked})",
        "go on there, or choose another name for the branch",
    )


def _cleanliness(repository: Repository, path: Path) -> str:
    """Check whether a worktree holds changes; it may not be ours, so no program named in it is started."""
    admin = admin_folder(repository.common, path) or repository.common
    git = Git(cwd=path, env={"GIT_DIR": str(admin), "GIT_WORK_TREE": str(path)}, neutral=True)
    try:
        rows = git.run("status", "--porcelain=v1", "-z", "--no-renames", timeout=STATUS_TIMEOUT).fields
    except (GitFailed, GitTimeout):
        return "its state cannot be told"
    return f"{len(rows)} uncommitted change{'s' if len(rows) > 1 else ''}" if rows else "clean"


def _drop(repository: Repository, name: UnitId, row: Checkout) -> str:
    """Drop one registration whose folder is gone; what only its log knew is pinned first."""
    repo = open_repository(repository.common)
    branch = (row.branch or "").removeprefix("refs/heads/")
    base = read_ref(repo, row.branch) if row.branch else None
    # A branch without a commit has zeros for its head.
    if base or row.head.strip("0"):
        pin_gone(repository, name, row.path, branch, base or Oid(row.head))
    # No folder has this identity: only the registration goes.
    remove_worktree(repository, row.path, (0, 0))
    kept = f"; the branch {branch} is kept" if branch else ""
    return f"the registration of {row.path}, whose folder is gone, was dropped{kept}"

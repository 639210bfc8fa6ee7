"""Linked worktrees: cheap and close to the user's repository, so opt-in."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

from gitprun.errors import GitFailed, GitTimeout, Refused
from gitprun.git.command import Git
from gitprun.git.repo import Repository, read_checkouts
from gitprun.names import Oid
from gitprun.system.files import folder_identity, locked, read_plain, remove_tree
from gitprun.workspaces.base import QUIET, Workspace, WorkspaceProblem, explain_checkout, require_room

RETRIES = 20
RETRY_PAUSE = 0.1


def make_worktree(repository: Repository, path: Path, commit: Oid, branch: str, *, existing: bool = False) -> Workspace:
    """Make a linked worktree at ``path`` on the new branch ``branch`` at ``commit`` (``existing``: it is there).

    The registration is made under a lock without any tracking, which would write the shared configuration; the
    checkout happens outside it. Raises WorkspaceProblem, leaving neither folder, registration nor new branch.
    """
    require_room(path.parent.parent, path)
    with locked(repository.state / "locks" / "worktree.lock", doing="making a worktree"):
        if not existing:
            require_free_branch(repository.git, branch)
        _register(repository, path, commit, branch, existing)
    identity = folder_identity(path)
    if identity is None:
        raise WorkspaceProblem(f"{path} vanished while it was made")
    workspace = Workspace(kind="worktree", path=path, identity=identity, branch=branch)
    try:
        _unbare(repository, path)
        Git(cwd=path, config=QUIET).run("reset", "--hard", "--quiet")
    except (GitFailed, GitTimeout) as problem:
        remove_worktree(repository, path, identity)
        if not existing:
            repository.git.run("update-ref", "-d", f"refs/heads/{branch}", commit)
        raise explain_checkout(problem, path) from None
    return workspace


def _unbare(repository: Repository, path: Path) -> None:
    """Say in the worktree's own settings that it is no bare repository, where the shared ones reach it."""
    shared = Git(cwd=repository.common, env={"GIT_DIR": str(repository.common)})
    asked = ("extensions.worktreeConfig", "core.bare")
    if all(shared.run("config", "--type=bool", "--get", key, ok=(0, 1)).text == "true" for key in asked):
        Git(cwd=path).run("config", "--worktree", "core.bare", "false")


def _register(repository: Repository, path: Path, commit: Oid, branch: str, existing: bool) -> None:
    settings = ("core.hooksPath=/dev/null", "worktree.useRelativePaths=false")
    git = Git(cwd=repository.top or repository.common, config=settings)
    words = (str(path), branch) if existing else ("--no-track", "-b", branch, str(path), commit)
    for attempt in range(RETRIES):
        try:
            git.run("worktree", "add", "--quiet", "--no-checkout", *words)
            return
        except GitFailed as problem:
            shutil.rmtree(path, ignore_errors=True)
            if not existing:
                git.run("update-ref", "-d", f"refs/heads/{branch}", commit, ok=(0, 1, 128))
            broken = re.search(r"failed to read (.*worktrees/([^/]+)/commondir)", problem.stderr)
            if broken is None:
                raise WorkspaceProblem(f"no worktree at {path}: {problem.message}") from None
            # Another program is between making its entry and filling it; if it died there, this stays so.
            if attempt + 1 < RETRIES:
                time.sleep(RETRY_PAUSE)
                continue
            raise WorkspaceProblem(
                f"no worktree at {path}: the registration of another worktree, {broken.group(2)!r}, is half written",
                f"if no program is making it now, move {os.path.dirname(broken.group(1))} away and try again",
            ) from None


def require_free_branch(git: Git, branch: str) -> None:
    """Refuse a branch name that exists, or that collides with one that does (``a`` against ``a/b``)."""
    taken = git.run("for-each-ref", "--format=%(refname)", "refs/heads").out.decode("utf-8", "surrogateescape")
    own = f"refs/heads/{branch}"
    for name in taken.split("\n")[:-1]:
        if name == own:
            holder = next((row.path for row in read_checkouts(git) if row.branch == own), None)
            raise WorkspaceProblem(
                f"the branch {branch} already exists" + (f" and is checked out in {holder}" if holder else ""),
                "choose another name, or remove that branch",
            )
        if own.startswith(f"{name}/") or name.startswith(f"{own}/"):
            raise WorkspaceProblem(
                f"the branch {branch} cannot be made beside {name.removeprefix('refs/heads/')}",
                'rename that branch, or use workspace = "clone"',
            )


def admin_folder(common: Path, path: Path) -> Path | None:
    """Find the registration of a linked worktree in the shared folder, trusting nothing inside the worktree."""
    wanted = os.path.join(os.path.realpath(path.parent), path.name, ".git")
    try:
        entries = list(os.scandir(common / "worktrees"))
    except OSError:
        return None
    found = []
    for entry in entries:
        said = os.fsdecode(read_plain(Path(entry.path) / "gitdir", 10_000) or b"").removesuffix("\n")
        folder, name = os.path.split(os.path.dirname(said))
        if said and os.path.join(os.path.realpath(folder), name, ".git") == wanted:
            found.append(Path(entry.path))
    # Two that claim the same worktree: one of them is somebody else's, and was altered.
    return found[0] if len(found) == 1 else None


def require_unlocked(common: Path, path: Path) -> None:
    """Refuse a worktree that somebody locked with ``git worktree lock``."""
    admin = admin_folder(common, path)
    if admin is not None and os.path.lexists(admin / "locked"):
        reason = os.fsdecode(read_plain(admin / "locked", 1000) or b"").strip()
        raise Refused(
            f"the worktree {path} is locked" + (f": {reason}" if reason else ""), f"git worktree unlock {path}"
        )


def remove_worktree(repository: Repository, path: Path, identity: tuple[int, int]) -> None:
    """Remove a worktree prun made: its folder (never through a link), then its registration.

    Raises Refused, with nothing changed, when somebody locked it.
    """
    with locked(repository.state / "locks" / "worktree.lock", doing="removing a worktree"):
        require_unlocked(repository.common, path)
        admin = admin_folder(repository.common, path)
        if folder_identity(path) is not None:
            remove_tree(path, identity)
        if admin is not None:
            found = folder_identity(admin)
            if found is not None:
                remove_tree(admin, found)

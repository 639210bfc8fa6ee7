"""Linked worktrees: cheap and close to the user's repository, so opt-in."""

from __future__ import annotations

import os
import re
import shutil
import time
from pathlib import Path

from gitprun.errors import GitFailed
from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.names import Oid
from gitprun.system.files import folder_identity, locked, remove_tree
from gitprun.workspaces.base import Workspace, WorkspaceProblem, explain_checkout, require_room

QUIET = ("core.hooksPath=/dev/null", "core.splitIndex=false", "core.untrackedCache=false", "core.fsmonitor=false")
RETRIES = 20
RETRY_PAUSE = 0.1


def make_worktree(repository: Repository, path: Path, commit: Oid, branch: str) -> Workspace:
    """Make a linked worktree at ``path`` on the new branch ``branch`` at ``commit``.

    The registration is made under a lock without any tracking, which would write the shared configuration; the
    checkout happens outside it. Raises WorkspaceProblem, leaving neither folder, registration nor branch.
    """
    require_room(path.parent.parent, path)
    with locked(repository.state / "locks" / "worktree.lock", doing="making a worktree"):
        require_free_branch(repository.git, branch)
        _register(repository, path, commit, branch)
    identity = folder_identity(path)
    if identity is None:
        raise WorkspaceProblem(f"{path} vanished while it was made")
    workspace = Workspace(kind="worktree", path=path, identity=identity, branch=branch)
    try:
        Git(cwd=path, config=QUIET).run("reset", "--hard", "--quiet")
    except GitFailed as problem:
        remove_worktree(repository, path, identity)
        repository.git.run("branch", "--quiet", "-D", branch, ok=(0, 1))
        raise explain_checkout(problem, path) from None
    return workspace


def _register(repository: Repository, path: Path, commit: Oid, branch: str) -> None:
    git = Git(cwd=repository.top or repository.common, config=("core.hooksPath=/dev/null",))
    for attempt in range(RETRIES):
        try:
            git.run("worktree", "add", "--quiet", "--no-track", "--no-checkout", "-b", branch, str(path), commit)
            return
        except GitFailed as problem:
            shutil.rmtree(path, ignore_errors=True)
            git.run("update-ref", "-d", f"refs/heads/{branch}", commit, ok=(0, 1, 128))
            broken = re.search(r"failed to read (\S*worktrees/([^/]+)/commondir)", problem.stderr)
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
    for name in taken.splitlines():
        if name == own:
            raise WorkspaceProblem(f"the branch {branch} already exists", "choose another name, or remove that branch")
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
    for entry in entries:
        try:
            said = (Path(entry.path) / "gitdir").read_text(errors="surrogateescape").strip()
        except OSError:
            continue
        if (
            os.path.join(
                os.path.realpath(os.path.dirname(os.path.dirname(said))),
                os.path.basename(os.path.dirname(said)),
                ".git",
            )
            == wanted
        ):
            return Path(entry.path)
    return None


def remove_worktree(repository: Repository, path: Path, identity: tuple[int, int]) -> None:
    """Remove a worktree prun made: its folder (never through a link), then its registration."""
    with locked(repository.state / "locks" / "worktree.lock", doing="removing a worktree"):
        admin = admin_folder(repository.common, path)
        if folder_identity(path) is not None:
            remove_tree(path, identity)
        if admin is not None:
            found = folder_identity(admin)
            if found is not None:
                remove_tree(admin, found)

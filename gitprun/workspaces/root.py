"""The folder that holds a repository's workspaces: which it is, that it lies where it may, that it can be written."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.system.sharing import make_private
from gitprun.workspaces.base import WorkspaceProblem


def cache_folder() -> Path:
    """Return the user's folder for caches."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def workspaces_root(repository: Repository, configured: str | None = None) -> Path:
    """Return the folder for a repository's workspaces: the one that is configured, relative to its home, or the usual.

    The one place that answers this: runs, user workspaces, landings and checks have theirs in the same folder.
    """
    return choose_root(configured or None, repository.home, cache_folder())


def choose_root(configured: str | None, home: Path, cache: Path) -> Path:
    """Return the folder for the workspaces of the repository at ``home``.

    Default: ``../<repo>.prun`` beside the main checkout; where that cannot be, a folder in the cache.
    """
    if configured:
        return (home / Path(configured).expanduser()).resolve()
    beside = home.parent / f"{home.name.removesuffix('.git') or 'repository'}.prun"
    # The repository of a submodule lies in the git folder of another one.
    room = ".git" not in home.parts[:-1]
    if room and beside.is_dir() and os.access(beside, os.W_OK | os.X_OK):
        return beside
    if room and not beside.exists() and os.access(home.parent, os.W_OK | os.X_OK):
        return beside
    # One folder a repository, told by its whole place: two repositories of one name must not share it.
    mark = "-".join(part for part in home.parts[1:] if part)
    return cache / "git-prun" / mark


def open_root(repository: Repository, configured: str | None) -> Path:
    """Return the folder for workspaces; raises WorkspaceProblem where it would be in the user's way."""
    root = workspaces_root(repository, configured)
    require_outside(repository, root)
    return root


def require_outside(repository: Repository, root: Path) -> None:
    """Raise WorkspaceProblem for a root that would show up in the user's checkout, or lie in its git folder."""
    if repository.common.resolve() in (root, *root.parents):
        raise WorkspaceProblem(f"the workspace root {root} lies in the git folder", "choose a folder outside of it")
    for top in {repository.top, repository.home} - {None, repository.common}:
        assert top is not None
        if top.resolve() not in (root, *root.parents):
            continue
        ignored = Git(cwd=top).run("check-ignore", "--quiet", f"{root}/", ok=(0, 1, 128)).code == 0
        # Workspaces that git does not ignore would show as new files, and a clean would take them away.
        if not ignored or root == top.resolve():
            raise WorkspaceProblem(
                f"the workspace root {root} lies in your checkout",
                "choose a folder outside of it, or one that git ignores",
            )


@contextlib.contextmanager
def made_root(root: Path) -> Iterator[None]:
    """Make the workspace root and prove that it can be written; take it back if the block fails."""
    missing = [folder for folder in (root, *root.parents) if not os.path.lexists(folder)]
    try:
        try:
            make_private(root)
            probe = root / f".probe-{os.getpid()}"
            probe.mkdir()
            probe.rmdir()
        except OSError as problem:
            raise WorkspaceProblem(
                f"the workspace root {root} cannot be used: {problem.strerror}",
                'choose another folder: --root, or [workspace] root = "..." in prun.toml',
            ) from None
        yield
    except BaseException:
        # Only what we made, and only while it is empty: rmdir refuses the rest.
        for folder in missing:
            with contextlib.suppress(OSError):
                folder.rmdir()
        raise

"""Scratch folders: an empty place for units that only read."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from gitprun.model.errors import PrunError
from gitprun.system.files import folder_identity, remove_tree
from gitprun.system.sharing import usual_umask
from gitprun.workspaces.base import Workspace, WorkspaceProblem, require_room

# Each try is lost only to another worker that ends in just that moment.
_TRIES = 1000


def make_scratch(path: Path) -> Workspace:
    """Make an empty folder for a unit of mode ``read``."""
    require_room(path.parent.parent, path)
    try:
        path.mkdir(mode=0o755 & ~usual_umask())
    except OSError as problem:
        raise WorkspaceProblem(f"no scratch folder at {path}: {problem.strerror}") from None
    identity = folder_identity(path)
    if identity is None:
        raise WorkspaceProblem(f"{path} vanished while it was made")
    return Workspace(kind=None, path=path, identity=identity)


def make_temporary(path: Path) -> None:
    """Make a worker's empty folder for temporary files; raises FileExistsError if it is there.

    Whoever drops the last such folder takes the one above away as well, so that one may vanish at any time.
    """
    for _ in range(_TRIES):
        try:
            path.mkdir(mode=0o700)
            return
        except FileNotFoundError:
            # Another worker may make it at the same moment.
            with suppress(FileExistsError):
                path.parent.mkdir(parents=True, mode=0o700)
    raise WorkspaceProblem(f"no folder for temporary files at {path}: the one above it is taken away again and again")


def drop_temporary(path: Path) -> None:
    """Remove a worker's folder for temporary files; what cannot be removed is left."""
    identity = folder_identity(path)
    try:
        if identity is not None:
            remove_tree(path, identity)
        # Only the last one can: a folder that still holds another worker's refuses.
        path.parent.rmdir()
    except (PrunError, OSError):
        return

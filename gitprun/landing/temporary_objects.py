"""Merge and look without a trace: whatever git writes meanwhile lies in a folder of its own, and goes with it."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.refs import open_repository, unsynced
from gitprun.git.repo import Repository
from gitprun.git.trees import Objects
from gitprun.system.files import read_plain
from gitprun.workspaces.clone import render_alternates

# Where files cost least to write and to remove again, if it has room for many times what merges write.
MEMORY = "/dev/shm"
ROOM = 512 << 20
# As in history.py: a line for each commit at which the history is cut off.
MOST = 64 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class TemporaryObjects:
    """A folder for what git writes: ``git`` and ``repo`` see the user's objects and those in it."""

    repository: Repository
    folder: Path
    git: Git
    repo: Objects

    @property
    def places(self) -> Mapping[str, str]:
        """Return the variables that have git write its objects here."""
        return self.git.env


@contextmanager
def aside(repository: Repository) -> Iterator[TemporaryObjects]:
    """Keep a folder for objects nobody needs afterwards."""
    with tempfile.TemporaryDirectory(prefix="prun-aside-", dir=_place()) as name:
        # A repository without refs, so that libgit2 too reads there and here, and writes here only.
        objects = Path(name) / "objects"
        for folder in (objects / "info", Path(name) / "refs"):
            folder.mkdir(parents=True)
        (objects / "info" / "alternates").write_bytes(render_alternates((repository.common / "objects").resolve()))
        # Where the history is cut off there, it is here.
        shallow = read_plain(repository.common / "shallow", MOST)
        if shallow is not None:
            (Path(name) / "shallow").write_bytes(shallow)
        # libgit2 opens no folder without a HEAD; its branch need not exist.
        (Path(name) / "HEAD").write_text("ref: refs/heads/none\n")
        (Path(name) / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = true\n")
        repo = open_repository(Path(name))
        places = {"GIT_OBJECT_DIRECTORY": str(objects)}
        # Nothing written here has to outlive a power cut.
        git = Git(cwd=repository.top or repository.common, env=places, config=("core.fsync=none",))
        with unsynced():
            try:
                yield TemporaryObjects(repository=repository, folder=Path(name), git=git, repo=repo)
            # Answers asked ahead point into a folder that goes away.
            finally:
                git.forget()


def _place() -> str | None:
    try:
        # In a container it may be 64 MB, or not be there at all.
        return MEMORY if shutil.disk_usage(MEMORY).free >= ROOM and os.access(MEMORY, os.W_OK | os.X_OK) else None
    except OSError:
        return None

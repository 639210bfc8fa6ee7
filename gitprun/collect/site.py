"""Where work is captured: the repository it goes to, the workspace it is in, the commit it started from."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

import pygit2

from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.names import Oid
from gitprun.workspaces.base import OUTBOX, QUIET, Workspace

STAGING = (
    *QUIET,
    "core.fsync=objects",
    "core.fsyncMethod=batch",
    "core.safecrlf=false",
    "core.bare=false",
    "advice.addEmbeddedRepo=false",
)
GITLINK = 0o160000
TREE = 0o040000


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where to capture; ``known`` are the tips a clone started with, ``alternates`` what prun wrote into it.

    ``places`` are more variables for git: who only looks has it write objects elsewhere.
    """

    repository: Repository
    repo: pygit2.Repository
    workspace: Workspace
    base: Oid
    max_file: int
    known: frozenset[str] = frozenset()
    alternates: bytes = b""
    places: Mapping[str, str] = field(default_factory=dict)

    @property
    def git(self) -> Git:
        """Give git with the user's repository, the private index and the workspace as work tree."""
        return Git(
            cwd=self.workspace.path,
            env={
                "GIT_DIR": str(self.repository.common),
                "GIT_WORK_TREE": str(self.workspace.path),
                "GIT_INDEX_FILE": str(self.workspace.index),
                "GIT_OPTIONAL_LOCKS": "1",
                **self.places,
            },
            config=STAGING,
        )

    @property
    def apart(self) -> tuple[str, ...]:
        """Name what is in the workspace and no work: the outbox, and what prun copied or linked in."""
        return (OUTBOX, *self.workspace.provided)

    @property
    def excludes(self) -> tuple[str | bytes, ...]:
        """Keep git's look for new files out of what is no work, whatever ignore rules lie in there."""
        special = str.maketrans({char: f"\\{char}" for char in "\\*?[ "})
        return tuple(os.fsencode(f"--exclude=/{name.translate(special)}") for name in self.apart)

    def base_mode(self, path: str) -> int | None:
        """Give the mode a path has in the base; None if it is not there."""
        found = self._find(path)
        return None if found is None else int(found.filemode)

    def base_blob(self, path: str) -> bytes | None:
        """Give the bytes a file has in the base."""
        found = self._find(path)
        return bytes(found.data) if isinstance(found, pygit2.Blob) else None

    def _find(self, path: str) -> pygit2.Object | None:
        try:
            return self.repo[self.base].peel(pygit2.Tree)[path]
        except (KeyError, UnicodeEncodeError, ValueError):
            return None

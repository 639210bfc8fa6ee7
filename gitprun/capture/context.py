"""Where work is captured: the repository it goes to, the workspace it is in, the commit it started from."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pygit2

from gitprun.git.command import Git
from gitprun.git.refs import open_with_objects
from gitprun.git.repo import Repository
from gitprun.model.names import Oid
from gitprun.model.plan import DEFAULT_MAX_FILES, DEFAULT_MAX_TOTAL
from gitprun.workspaces.base import OUTBOX, QUIET, Workspace

STAGING = (
    *QUIET,
    "core.fsync=objects",
    "core.fsyncMethod=batch",
    "core.safecrlf=false",
    "core.bare=false",
    "advice.addEmbeddedRepo=false",
)
# Nothing but what was taken down when the workspace was made decides how its files become objects.
SEALED = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
GITLINK = 0o160000
TREE = 0o040000


@dataclass(frozen=True, slots=True, kw_only=True)
class CaptureContext:
    """Where to capture; ``known`` are the tips a clone started with, ``alternates`` what prun wrote into it.

    ``own`` is the git folder made for the workspace (None: the user's own is used, and its settings hold). The rest
    are bounds for one file, and for all new files in bytes and in number; ``filters`` names the user's filters that
    may run (None: those the base names), ``secrets`` says whether contents are screened, ``include`` are patterns of
    what is taken in although it is no work, ``fence`` those of the paths the unit is about. ``places`` are more
    variables for git: who only looks has it write objects elsewhere. ``onto`` is the commit the work goes on where that
    is not the base: what the worker committed on its branch itself.
    """

    repository: Repository
    repo: pygit2.Repository
    workspace: Workspace
    base: Oid
    max_file: int
    max_total: int = DEFAULT_MAX_TOTAL
    max_files: int = DEFAULT_MAX_FILES
    own: Path | None = None
    filters: tuple[str, ...] | None = None
    secrets: bool = True
    include: tuple[str, ...] = ()
    fence: tuple[str, ...] = ()
    onto: Oid | None = None
    known: frozenset[str] = frozenset()
    alternates: bytes = b""
    places: Mapping[str, str] = field(default_factory=dict)

    @property
    def git(self) -> Git:
        """Return git with the private index and the workspace as work tree; with a folder of our own no filter runs."""
        return Git(
            cwd=self.workspace.path,
            env={
                "GIT_DIR": str(self.own or self.repository.common),
                "GIT_WORK_TREE": str(self.workspace.path),
                "GIT_INDEX_FILE": str(self.workspace.index),
                # The private index is ours: what git finds out while it looks is kept in it.
                "GIT_OPTIONAL_LOCKS": "1",
                **(SEALED if self.own else {}),
                **self.places,
            },
            config=STAGING,
        )

    @property
    def store(self) -> pygit2.Repository:
        """Open the user's repository so that it shows captured objects too; nothing is to be written with it."""
        return open_with_objects(self.repository.common, self.own / "objects") if self.own else self.repo

    @property
    def apart(self) -> tuple[str, ...]:
        """Return what is in the workspace and no work: the outbox, and what prun copied or linked in."""
        return (OUTBOX, *self.workspace.provided)

    @property
    def excludes(self) -> tuple[str | bytes, ...]:
        """Keep git's look for new files out of what is no work, whatever ignore rules lie in there."""
        return tuple(b"--exclude=" + exact_rule(os.fsencode(name)) for name in self.apart)

    def base_mode(self, path: str) -> int | None:
        """Return the mode a path has in the base; None if it is not there."""
        found = self._find(path)
        return None if found is None else int(found.filemode)

    def holds(self, path: str) -> bool:
        """Check whether the base or the workspace has a path."""
        return self.base_mode(path) is not None or os.path.lexists(self.workspace.path / path)

    def base_blob(self, path: str) -> bytes | None:
        """Return the bytes a file has in the base."""
        found = self._find(path)
        return bytes(found.data) if isinstance(found, pygit2.Blob) else None

    def base_object(self, path: str) -> str | None:
        """Return the object a path names in the base: of a submodule a commit that need not be here."""
        found = self._find(path)
        return None if found is None else str(found.id)

    def base_size(self, path: str) -> int | None:
        """Return the size a file has in the base, without reading it."""
        found = self._find(path)
        return int(found.size) if isinstance(found, pygit2.Blob) else None

    def _find(self, path: str) -> pygit2.Object | None:
        try:
            return self.repo[self.base].peel(pygit2.Tree)[path]
        # libgit2 takes paths as UTF-8 only; a name that is none is in no base it could find.
        except (KeyError, UnicodeEncodeError, ValueError):
            return None


@contextmanager
def index_kept(site: CaptureContext) -> Iterator[list[bool]]:
    """Restore the private index at the end, unless the block says (a true value in the list) that all is committed.

    What is staged and in no commit would look like no change to the next capture, and be left out of it.
    """
    index = site.workspace.index
    assert index is not None
    before = index.with_name("index.before")
    shutil.copy2(index, before)
    committed: list[bool] = []
    try:
        yield committed
    finally:
        if any(committed):
            before.unlink()
        else:
            os.replace(before, index)


def exact_rule(path: bytes) -> bytes:
    """Write the ignore rule for exactly one path, told from the top."""
    # What a rule reads as more than itself; a blank at its end would be dropped.
    special = {ord(char): b"\\" + char.encode() for char in "\\*?[ "}
    return b"/" + b"".join(special.get(byte, bytes((byte,))) for byte in path)


def quoted_place(path: Path) -> str:
    """Write a path for GIT_ALTERNATE_OBJECT_DIRECTORIES, whose separator a name may hold."""
    text = str(path)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' if any(c in text for c in ':"\n') else text

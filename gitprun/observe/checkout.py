"""The user's own checkout: what is uncommitted in it and how many files it has, read again where it was touched."""

from __future__ import annotations

import os
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.model.errors import PrunError
from gitprun.observe.files import Stat, stat_of
from gitprun.observe.snapshot import GONE, CheckoutStatus, PathStatus
from gitprun.observe.touched import ChangeSource, FolderWatcher, NoNotices, survey

# ``git status`` over a million files with a cold cache takes half of that; a look without it is better than none.
TIMEOUT = 60.0
# What the seed leaves out when it counts the files of a project.
UNCOUNTED = frozenset({b".git", b"node_modules", b".next", b"dist", b"build"})
# How many words porcelain v2 puts before the path, by the letter of the row.
_WORDS_BEFORE = {b"1": 8, b"u": 10}


class CheckoutReader:
    """Looks at the checkout; with a watcher, one in which nothing happened is not read again.

    ``root`` is where prun makes workspaces: where that lies in the checkout, nothing in it is the user's work.
    """

    def __init__(self, repository: Repository, root: Path | None = None, watcher: FolderWatcher | None = None) -> None:
        self._repository = repository
        self._top = os.fsencode(repository.top or "")
        # No path has a NUL in it: nothing is skipped where the root lies elsewhere.
        self._root = b"\0"
        if root is not None and repository.top is not None and root.is_relative_to(repository.top):
            self._root = os.fsencode(root.relative_to(repository.top))
        self._source: ChangeSource = watcher.source(self._top, self._skip) if watcher and self._top else NoNotices()
        self._last: CheckoutStatus | None = None
        self._seen: tuple[str, Stat | None] | None = None

    def look(self) -> CheckoutStatus | None:
        """Return what ``git status`` says of files, submodules left out; None for a bare repository or no answer."""
        dirty = self._dirty(submodules=False) if self._repository.top is not None else None
        return None if dirty is None else CheckoutStatus(path=str(self._repository.top), dirty=dirty)

    def look_closely(self, head: str, *, whole: bool) -> CheckoutStatus | None:
        """Return all git says, submodules too, and count the files; ``head`` is the commit that is checked out.

        ``whole`` reads everything again, whatever the source of changes says. None for a bare repository.
        """
        top = self._repository.top
        if top is None:
            return None
        touched = self._source.changed()
        # A commit or a reset changes what is uncommitted, and touches no file of the checkout.
        seen = (head, stat_of(str(self._repository.git_dir / "index")))
        if whole or touched or touched is None or seen != self._seen or self._last is None:
            if whole or touched is None:
                self._source.renew()
                self._follow_all()
            self._last = CheckoutStatus(path=str(top), dirty=self._dirty(submodules=True), files=self._count())
            self._seen = seen
        return self._last

    def close(self) -> None:
        """Stop watching."""
        self._source.close()

    def _follow_all(self) -> None:
        if not isinstance(self._source, NoNotices):
            try:
                survey(self._top, b"", self._skip, self._source.follow)
            except OverflowError:
                return

    def _skip(self, path: bytes) -> bool:
        return path in (b".git", self._root) or path.rpartition(b"/")[2] == b"node_modules"

    def _dirty(self, *, submodules: bool) -> dict[str, PathStatus] | None:
        """Ask git what is uncommitted; None when it does not answer."""
        words = ["status", "--porcelain=v2", "-z", "--untracked-files=all", "--no-renames"]
        if not submodules:
            # Git starts another git in each; what workers do in there is told by the submodule's own repository.
            words.append("--ignore-submodules=all")
        try:
            rows = Git(cwd=Path(os.fsdecode(self._top))).run(*words, timeout=TIMEOUT).fields
        except PrunError:
            return None
        return dict(self._read(row) for row in rows)

    def _read(self, row: bytes) -> tuple[str, PathStatus]:
        """Read one row of porcelain v2: the path, and git's two letters for it as version 1 writes them."""
        before = _WORDS_BEFORE.get(row[:1])
        if before is None:
            code, submodule, path = row[:1].decode() * 2, False, row[2:]
        else:
            *words, path = row.split(b" ", before)
            code, submodule = words[1].decode().replace(".", " "), words[2].startswith(b"S")
        about = stat_of(os.path.join(os.fsdecode(self._top), os.fsdecode(path)))
        size, mtime = (about[3], about[4]) if about else GONE
        return os.fsdecode(path), PathStatus(code, size, mtime, submodule)

    def _count(self) -> int | None:
        """Count the files of the checkout, leaving out what the seed left out; None where there is no end to them."""

        def skip(path: bytes) -> bool:
            return path == self._root or path.rpartition(b"/")[2] in UNCOUNTED

        try:
            return survey(self._top, b"", skip, lambda folder: None).files
        except OverflowError:
            return None

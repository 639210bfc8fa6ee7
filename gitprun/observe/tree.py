"""What in a workspace differs from the unit's last commit: kept between looks, so that a look costs what changed.

The private index prun keeps of the workspace is compared with the files; the ``.git`` in there is never opened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from gitprun.capture.screen import build_folder, within
from gitprun.git.command import Git
from gitprun.git.index import GITLINK, Index, IndexEntry, blob_id, file_mark, parse_index
from gitprun.git.repo import Repository
from gitprun.model.errors import PrunError
from gitprun.observe.snapshot import GONE, Stamp
from gitprun.observe.touched import ChangeSource, make_skip_rule, survey
from gitprun.system.files import folder_identity
from gitprun.workspaces.base import OUTBOX, QUIET

# A worker can make git wait (a fifo, a filter); the tick must not.
GIT_TIMEOUT = 30.0
# Larger files are left to git, which reads them piece by piece.
MAX_READ = 4 << 20
# Beyond this many new paths one whole look is cheaper.
MAX_ASKED = 1000
# Inode, size and time of change: git replaces an index, and never writes into one.
_Signature = tuple[int, int, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """Where a workspace lies: ``common`` is the user's git folder, ``index`` the private index, ``apart`` no work.

    ``identity`` is device and inode of the folder prun made, ``converts`` says that git may store other bytes than
    lie in the files, ``names`` is shared by all workspaces.
    """

    path: Path
    identity: tuple[int, int]
    common: Path
    index: Path
    apart: tuple[str, ...] = ()
    converts: bool = False
    names: dict[bytes, bytes] = field(default_factory=dict)

    @property
    def outside(self) -> tuple[str, ...]:
        """Return the paths in it that are no work of its worker."""
        return (OUTBOX, *self.apart)

    @property
    def skip(self) -> Callable[[bytes], bool]:
        """Return the rule for what of it is neither watched nor walked."""
        return make_skip_rule(map(os.fsencode, self.outside))

    @property
    def git(self) -> Git:
        """Return git with the user's repository, the private index and the workspace as work tree."""
        places = {"GIT_DIR": str(self.common), "GIT_INDEX_FILE": str(self.index), "GIT_WORK_TREE": str(self.path)}
        return Git(cwd=self.path, env=places, config=(*QUIET, "core.bare=false"))


class Tree:
    """One workspace and what is known to differ in it."""

    def __init__(self, ground: Ground, source: ChangeSource) -> None:
        self.ground, self.source = ground, source
        self._top = os.fsencode(ground.path)
        self._skip = ground.skip
        self._dirty: dict[str, Stamp] | None = None
        self._ignored: set[bytes] = set()
        self._nested: tuple[bytes, ...] = ()
        self._seen_index: _Signature | None = None
        self._parsed: tuple[_Signature | None, Index | None] = (None, None)

    def look(self, *, whole: bool = False) -> Mapping[str, Stamp] | None:
        """Return what differs now, by path; None when it cannot be told (the folder is gone, or git would wait)."""
        touched = self.source.changed()
        now = _signature(self.ground.index)
        kept_track = touched is not None and self._dirty is not None
        known = kept_track and not whole and now == self._seen_index
        if not known or not self._look_at(touched or ()):
            self._look_at_all(now, walk=not kept_track)
        return None if self._dirty is None else dict(self._dirty)

    def close(self) -> None:
        """Stop watching."""
        self.source.close()

    def _look_at_all(self, now: _Signature | None, *, walk: bool) -> None:
        """Have git compare everything; ``walk`` first looks for what would make it wait, and for folders to watch."""
        # Compared with another index, what was known to differ says nothing.
        before = (self._dirty or {}) if now == self._seen_index else {}
        self._dirty, self._seen_index = None, now
        self._ignored.clear()
        try:
            # Somebody may have put another folder in its place; that one is not the unit's work.
            if now is None or folder_identity(self.ground.path) != self.ground.identity:
                return
            if walk and not self._walk():
                return
            # No git status: it would refresh an index it has no business writing.
            rows = self._ask("ls-files", "-z", "-t", "--modified", "--deleted", "--others", "--exclude-standard")
        except (PrunError, OverflowError, OSError):
            return
        by_tag: dict[bytes, list[bytes]] = {b"C": [], b"R": [], b"?": []}
        for row in rows:
            by_tag.setdefault(row[:1], []).append(row[2:])
        dirty = {os.fsdecode(name): GONE for name in by_tag[b"R"]}
        for name in by_tag[b"C"]:
            text, stamp = os.fsdecode(name), self._stamp(name)
            if before.get(text) == stamp or not self._same_bytes(name):
                dirty[text] = stamp
        new = [name for name in by_tag[b"?"] if self._is_work(os.fsdecode(name))]
        self._dirty = dirty | {os.fsdecode(name): self._stamp(name) for name in new}

    def _walk(self) -> bool:
        """Walk the workspace and begin to watch it; False when git would wait for something in it."""
        self.source.renew()
        found = survey(self._top, b"", self._skip, self.source.follow)
        self._nested = found.nested
        return not found.traps

    def _look_at(self, touched: Iterable[bytes]) -> bool:
        """Look at some paths; False when only a whole look can tell."""
        index = self._index()
        if index is None or self._dirty is None:
            return False
        asked: list[bytes] = []
        new: list[bytes] = []
        outside = self.ground.outside
        for name in touched:
            text = os.fsdecode(name)
            if within(text, outside) or any(name.startswith(folder + b"/") for folder in self._nested):
                continue
            entry = index.find(name)
            if entry is None:
                if self._is_new(name, text):
                    new.append(name)
                continue
            state = self._compare(name, entry)
            if state is None:
                asked.append(name)
            elif state:
                self._dirty[text] = self._stamp(name)
            else:
                self._dirty.pop(text, None)
        return self._settle(asked, new)

    def _is_new(self, name: bytes, text: str) -> bool:
        """Bring an untracked path up to date; tell whether git has still to say if it is ignored."""
        assert self._dirty is not None
        found = self._stat(name)
        if found is None or not (stat.S_ISREG(found.st_mode) or stat.S_ISLNK(found.st_mode)):
            self._dirty.pop(text, None)
            return False
        if text in self._dirty:
            self._dirty[text] = (found.st_size, found.st_mtime_ns)
            return False
        return name not in self._ignored and self._is_work(text)

    def _settle(self, asked: list[bytes], new: list[bytes]) -> bool:
        """Ask git for what only it can: ignore rules, and files it stores in another form."""
        assert self._dirty is not None
        if len(asked) + len(new) > MAX_ASKED:
            return False
        try:
            if new:
                listing = b"".join(name + b"\0" for name in new)
                git, words = self.ground.git, ("check-ignore", "--no-index", "-z", "--stdin")
                ignored = set(git.run(*words, stdin=listing, ok=(0, 1), timeout=GIT_TIMEOUT).fields)
                self._ignored |= ignored
                self._dirty |= {os.fsdecode(name): self._stamp(name) for name in new if name not in ignored}
            if asked:
                changed = set(self._ask("--literal-pathspecs", "ls-files", "-z", "--modified", "--", *asked))
                for name in asked:
                    self._dirty.pop(os.fsdecode(name), None)
                self._dirty |= {os.fsdecode(name): self._stamp(name) for name in changed}
        except (PrunError, OSError):
            return False
        return True

    def _ask(self, *words: str | bytes) -> list[bytes]:
        return self.ground.git.run(*words, timeout=GIT_TIMEOUT).fields

    def _is_work(self, text: str) -> bool:
        return not within(text.rstrip("/"), self.ground.outside) and build_folder(text) is None

    def _index(self) -> Index | None:
        """Read the private index, once for each state of it."""
        if self._parsed[0] != self._seen_index:
            try:
                raw = self.ground.index.read_bytes()
            except OSError:
                return None
            if _signature(self.ground.index) != self._seen_index:
                return None
            self._parsed = (self._seen_index, parse_index(raw, self.ground.names))
        return self._parsed[1]

    def _compare(self, name: bytes, entry: IndexEntry) -> bool | None:
        """Check whether a tracked file differs from the index; None where only git can tell."""
        # Bits the user set (skip-worktree, assume-unchanged) tell git not to look, and it does not.
        if entry.kept or entry.mode == GITLINK:
            return False
        found = self._stat(name)
        if found is None:
            return True
        kind = stat.S_IFMT(found.st_mode)
        plain = kind == stat.S_IFREG
        if kind != stat.S_IFMT(entry.mode):
            return None if plain else True
        if plain and (found.st_mode ^ entry.mode) & 0o100:
            # Where modes mean nothing (core.fileMode=false) git says so.
            return None
        # Written in the same tick of the clock as the index: its stat data proves nothing, as git knows too.
        racy = self._seen_index is not None and found.st_mtime_ns >= self._seen_index[2]
        if not racy and entry.mark == file_mark(found.st_ctime_ns, found.st_mtime_ns, found.st_ino, found.st_size):
            return False
        # Git calls a file of another size changed without reading it (0 is what it writes for "look again").
        other_size = entry.size not in (0, found.st_size)
        if other_size and not self._converts():
            return True
        if found.st_size > MAX_READ:
            return None
        if self._oid(name, found) == entry.oid:
            return False
        # Of the same size, it may still be another form of the same.
        return True if other_size or not self._converts() else None

    def _converts(self) -> bool:
        """Check whether other bytes may still be the same to git."""
        index = self._index()
        return self.ground.converts or index is None or index.attributes

    def _same_bytes(self, name: bytes) -> bool:
        """Check whether a path git calls modified has the very bytes of its blob (line-end rules came later)."""
        index, found = self._index(), self._stat(name)
        entry = index.find(name) if index else None
        if entry is None or found is None or found.st_size > MAX_READ or (found.st_mode ^ entry.mode) & 0o170100:
            return False
        return self._oid(name, found) == entry.oid

    def _oid(self, name: bytes, found: os.stat_result) -> bytes:
        """Hash what lies at a path as git would without any conversion."""
        full = os.path.join(self._top, name)
        try:
            if stat.S_ISLNK(found.st_mode):
                return blob_id(os.readlink(full))
            descriptor = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(descriptor, "rb") as source:
                return blob_id(source.read(MAX_READ + 1))
        except OSError:
            return b""

    def _stat(self, name: bytes) -> os.stat_result | None:
        try:
            return os.lstat(os.path.join(self._top, name))
        except OSError:
            return None

    def _stamp(self, name: bytes) -> Stamp:
        if name.endswith(b"/"):
            # A repository in the workspace: what happens inside is not looked at.
            return 0, 0
        found = self._stat(name)
        return GONE if found is None else (found.st_size, found.st_mtime_ns)


def _signature(path: Path) -> _Signature | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def may_convert(repository: Repository) -> bool:
    """Check whether settings of the user make git store other bytes than lie in files (tracked attributes apart)."""
    pattern = r"^(core\.(autocrlf|eol|attributesfile)$|filter\.)"
    asked = repository.git.run("config", "--get-regexp", pattern, ok=(0, 1))
    return bool(asked.out.strip()) or (repository.common / "info" / "attributes").exists()

"""Look at what lies in a quarantine: whole, within its limits, and of names and settings a checkout may have.

Git walks the new commits and what each changed against its parents, so the cost follows the change. Whatever an
unchanged entry names is whole because a parent is, down to commits of the user's own.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gitprun.capture.lint import LINK, SUBMODULE, LintFinding, collisions, is_modules, lint_link, lint_path, shown
from gitprun.capture.modules import MAX_SIZE, changed_settings, refused_setting
from gitprun.capture.quarantine import Room, read_members
from gitprun.capture.rows import WORDS, ChangedPath, Commit, RowReader
from gitprun.git.command import Git
from gitprun.git.pipe import pipe
from gitprun.model.errors import PrunError
from gitprun.model.names import Oid, short

# As limits are told to people.
MEBIBYTE = 1 << 20
# Every commit tells again what it changed, but one tree named a thousand times over is a trap.
ROWS_AN_OBJECT = 8
# Ten lines of notes are read, a hundred are not.
MOST_TOLD = 10
# Trees of half a million objects at some 100 bytes an entry; they are held in memory all at once.
MOST_TREES = 64 * MEBIBYTE
# The targets of links are read one by one; a node_modules that is committed has fewer.
MOST_LINKS = 10_000
# The longest path Linux takes (PATH_MAX).
MOST_LINK = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportLimits:
    """What may cross at most: bytes of one object and of all (unpacked), how many objects, how deep a path.

    ``seconds`` is how long an import may take.
    """

    max_object: int = 2048 * MEBIBYTE
    max_total: int = 8192 * MEBIBYTE
    max_objects: int = 500_000
    depth: int = 512
    seconds: float = 300.0


class UnfitObjects(PrunError):
    """What was received must not be taken over."""


class TooLarge(UnfitObjects):
    """There is too much of it, so nobody should unpack it again."""


@dataclass(slots=True, kw_only=True)
class Inspection:
    """One look at what was received. ``git`` reads the room and nothing a worker can write."""

    room: Room
    git: Git
    tips: Mapping[str, Oid]
    base: Oid
    whole: tuple[Oid, ...]
    limits: ImportLimits
    deadline: float
    notes: list[str] = field(default_factory=list)
    _commits: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _oids: set[str] = field(default_factory=set)
    _links: dict[str, bytes] = field(default_factory=dict)
    _modules: set[str] = field(default_factory=set)
    _added: set[bytes] = field(default_factory=set)
    _warned: dict[bytes, LintFinding] = field(default_factory=dict)
    _count: int = 0

    def inspect(self, *, parent: bool) -> tuple[str, ...]:
        """Check everything and give what deserves a word; raises Unfit, GitFailed or GitTimeout.

        ``whole`` are commits of the user's own, whole with all they reach; ``parent``: each tip is one commit on
        the base.
        """
        members = frozenset[str]().union(*(read_members(index) for index in self.room.packs.glob("pack-*.idx")))
        if len(members) > self.limits.max_objects:
            raise TooLarge(f"{len(members)} objects are more than the {self.limits.max_objects} allowed")
        wanted = "".join([*(f"{oid}\n" for oid in self.tips.values()), *(f"^{oid}\n" for oid in self.whole)])
        self._walk((("rev-list", "--stdin"), WORDS), wanted.encode())
        if parent:
            self._require_parent()
        # After the walk, which says what there is; before anything is read whole.
        self._measure(members)
        self._read_links()
        self._read_modules()
        self._compare_names()
        told = [str(found) for found in self._warned.values()]
        if len(told) > MOST_TOLD:
            told[MOST_TOLD:] = [f"and {len(told) - MOST_TOLD} more names that trouble other systems"]
        return (*told, *self.notes)

    @property
    def _time(self) -> float:
        return max(0.1, self.deadline - time.monotonic())

    def _walk(self, words: Iterable[tuple[str, ...]], stdin: bytes) -> None:
        """Read the changes of commits, judging each path as it comes."""
        reader, most = RowReader(), ROWS_AN_OBJECT * self.limits.max_objects

        def take(chunk: bytes) -> None:
            for found in reader.feed(chunk):
                if isinstance(found, Commit):
                    self._commits[found.oid] = found.parents
                    self._oids.add(found.oid)
                else:
                    self._count += 1
                    self._judge(found)
            # A commit may change the same paths a million times over: that is bounded too, as it is read.
            if self._count > most or len(self._oids) > self.limits.max_objects:
                raise TooLarge(f"more than {most} changed paths or {self.limits.max_objects} objects")

        pipe(*((self.git, one) for one in words), stdin=stdin, sink=take, timeout=self._time)

    def _judge(self, row: ChangedPath) -> None:
        # The path went away: there is nothing that could harm.
        if row.mode == 0:
            return
        found = lint_path(row.path, row.mode, depth=self.limits.depth)
        if found is not None and found.grade == "refuse":
            raise UnfitObjects(str(found))
        if found is not None:
            self._warned.setdefault(row.path, found)
        if row.new:
            self._added.add(row.path)
        # Its commit is of another repository, and need not be here.
        if row.mode == SUBMODULE:
            return
        self._oids.add(row.oid)
        if row.mode == LINK:
            self._links.setdefault(row.oid, row.path)
        elif is_modules(row.path):
            self._modules.add(row.oid)

    def _require_parent(self) -> None:
        for name, tip in self.tips.items():
            if self._commits.get(tip) != (self.base,):
                raise UnfitObjects(f"{name} ({short(tip)}) has not exactly the base as its parent")

    def _measure(self, members: frozenset[str]) -> None:
        """Require that everything is there, tips are commits, and what is new is not too large."""
        asked = [*dict.fromkeys(self.tips.values()), *sorted(self._oids - set(self.tips.values()))]
        kinds: dict[str, bytes] = {}
        total, rest = 0, b""

        def take(chunk: bytes) -> None:
            nonlocal total, rest
            *rows, rest = (rest + chunk).split(b"\n")
            for row in rows:
                words = row.split(b" ")
                oid = words[0].decode("ascii")
                if len(words) != 3:
                    raise UnfitObjects(f"object {oid} is missing")
                if oid in self.tips.values():
                    kinds[oid] = words[1]
                size = int(words[2])
                # The user's own objects are not measured again.
                if oid not in members:
                    continue
                total += size
                if size > self.limits.max_object:
                    raise TooLarge(_too_large(f"object {oid}", size, self.limits.max_object))
            if total > self.limits.max_total:
                raise TooLarge(_too_large("all objects together", total, self.limits.max_total, "at least "))

        stdin = "".join(f"{oid}\n" for oid in asked).encode()
        pipe((self.git, ("cat-file", "--batch-check", "--buffer")), stdin=stdin, sink=take, timeout=self._time)
        for name, tip in self.tips.items():
            if kinds.get(tip) != b"commit":
                raise UnfitObjects(f"{name} ({short(tip)}) is no commit")

    def _contents(self, oids: list[str], most: int, what: str) -> dict[str, bytes]:
        """Read small objects; raises Unfit for one that is not small."""
        stdin = "".join(f"{oid}\n" for oid in oids).encode()
        answer = self.git.run("cat-file", "--batch-check", stdin=stdin, timeout=self._time)
        for row in answer.text.split("\n"):
            oid, kind, *size = row.split(" ")
            if kind != "blob" or int(size[0]) > most:
                raise UnfitObjects(f"{what} {oid} is no text of at most {most} bytes")
        out = self.git.run("cat-file", "--batch", "--buffer", stdin=stdin, timeout=self._time).out
        return dict(zip(oids, split_batch(out), strict=True))

    def _read_links(self) -> None:
        oids = sorted(self._links)
        if len(oids) > MOST_LINKS:
            self.notes.append(f"{len(oids)} links are too many to look where they lead")
        elif oids:
            for oid, target in self._contents(oids, MOST_LINK, "the link").items():
                found = lint_link(self._links[oid], target)
                if found is not None:
                    self._warned.setdefault(found.path, found)

    def _read_modules(self) -> None:
        """Refuse settings of submodules that harm, in any commit, and tell what changed in the end."""
        if not self._modules:
            return
        texts = self._contents(sorted(self._modules), MAX_SIZE, ".gitmodules")
        for oid, text in texts.items():
            refused = refused_setting(self.git, text)
            if refused is not None:
                raise UnfitObjects(f".gitmodules {short(oid)}: {shown(refused.encode('utf-8', 'surrogateescape'))}")
        before = self._modules_of(self.base)
        for name, tip in self.tips.items():
            for line in changed_settings(self.git, before, self._modules_of(tip)):
                self.notes.append(f"{name}: {line}" if len(self.tips) > 1 else line)

    def _modules_of(self, commit: str) -> bytes:
        answer = self.git.run("cat-file", "blob", f"{commit}:.gitmodules", ok=(0, 128), timeout=self._time)
        # 128: that commit has no such file.
        return answer.out if answer.code == 0 else b""

    def _compare_names(self) -> None:
        """Find new names that are one with another of their folder, where case or Unicode form do not count."""
        for tip in dict.fromkeys(self.tips.values()):
            added = self._added if self._commits.get(tip) == (self.base,) and len(self.tips) == 1 else None
            if added is None:
                added = self._added_by(tip) if self._added else set()
            folders: dict[bytes, set[bytes]] = {}
            for path in added:
                parts = path.split(b"/")
                for number, part in enumerate(parts):
                    folders.setdefault(b"/".join(parts[:number]), set()).add(part)
            if folders:
                self._compare(tip, folders)

    def _added_by(self, tip: Oid) -> set[bytes]:
        words = ("diff-tree", "-r", "-z", "--name-only", "--no-renames", "--diff-filter=A", self.base, tip)
        return set(self.git.run(*words, timeout=self._time).fields)

    def _compare(self, tip: Oid, folders: Mapping[bytes, set[bytes]]) -> None:
        stdin = b"".join(tip.encode() + b":" + folder + b"\0" for folder in folders)
        out = bytearray()

        def take(chunk: bytes) -> None:
            out.extend(chunk)
            if len(out) > MOST_TREES:
                raise UnfitObjects("the folders with new names are too large to be compared")

        pipe((self.git, ("cat-file", "--batch", "-z", "--buffer")), stdin=stdin, sink=take, timeout=self._time)
        for folder, tree in zip(folders, split_batch(bytes(out)), strict=True):
            for one, other, why in collisions(_names(tree)):
                if not {one, other} & folders[folder]:
                    continue
                pair = [b"/".join(filter(None, (folder, name))) for name in (one, other)]
                if not self._both_in_base(pair):
                    self._collide(pair, why)

    def _both_in_base(self, pair: list[bytes]) -> bool:
        words: tuple[str | bytes, ...] = ("--literal-pathspecs", "ls-tree", "-z", "--name-only", self.base, "--")
        return len(self.git.run(*words, *pair, timeout=self._time).fields) == 2

    def _collide(self, pair: list[bytes], why: str) -> None:
        said = f"the same file as {shown(pair[0])} where {'case' if why == 'case' else 'Unicode form'} does not count"
        found = LintFinding("warn", pair[1], said)
        answer = self.room.repository.git.run("config", "--type=bool", "core.ignoreCase", ok=(0, 1, 128))
        # On this machine one of the two would overwrite the other at the next checkout.
        if why == "case" and answer.text == "true":
            raise UnfitObjects(f"{found}, as in your checkout (core.ignoreCase)")
        self._warned.setdefault(found.path, found)


def _too_large(what: str, size: int, most: int, word: str = "") -> str:
    return f"{what}: {word}{size} bytes unpacked, more than the {most} allowed"


def split_batch(out: bytes) -> list[bytes]:
    """Split what ``cat-file --batch`` printed for objects that are all there."""
    found, start = [], 0
    while start < len(out):
        end = out.index(b"\n", start)
        size = int(out[start:end].rsplit(b" ", 1)[1])
        found.append(out[end + 1 : end + 1 + size])
        start = end + 1 + size + 1
    return found


def _names(tree: bytes) -> list[bytes]:
    """Read the names in a tree object."""
    found, start = [], 0
    while start < len(tree):
        end = tree.index(b"\0", start)
        found.append(tree[tree.index(b" ", start) + 1 : end])
        # A NUL and the twenty bytes of the id.
        start = end + 21
    return found

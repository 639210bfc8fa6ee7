"""Objects without libgit2, which takes longer to load than a landing takes: read by one git program, written as files.

What is written here is not synced: whoever believes it does that (see ``gitprun.system.files.sync_all``).
"""

from __future__ import annotations

import functools
import hashlib
import os
import select
import zlib
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from gitprun.git.command import Git, Running
from gitprun.git.limits import GitWait
from gitprun.model.errors import PrunError
from gitprun.model.names import Oid

if TYPE_CHECKING:
    import pygit2

# As for other questions to git: an object on a slow network disk takes seconds, a promisor remote a minute.
_TIMEOUT = 120.0
# What a pipe of Linux holds.
_CHUNK = 1 << 16
# The kind and size of an object, compressed or not, fit into this many bytes.
_HEAD = 256
# So many questions fit into a pipe whose other end does not read because nobody reads its answers.
_AT_ONCE = 1000


class Ident(Protocol):
    """Who and when: ``time`` in seconds since 1970, ``offset`` in minutes."""

    @property
    def name(self) -> str: ...
    @property
    def email(self) -> str: ...
    @property
    def time(self) -> int: ...
    @property
    def offset(self) -> int: ...


class ObjectMissing(PrunError):
    """An object that something names is not there."""


def is_partial(objects: Path) -> bool:
    """Check whether a repository leaves objects with a server until they are asked for."""
    packs = objects / "pack"
    # Git marks each pack that it got from such a server, whatever the settings say by now.
    return packs.is_dir() and any(name.endswith(".promisor") for name in os.listdir(packs))


class ObjectStore:
    """The objects of one repository; stands for the repository itself, which is opened when more is asked of it."""

    def __init__(self, git: Git, objects: Path, opened: Callable[[], pygit2.Repository]) -> None:
        self._git, self._objects, self._open = git, str(objects), opened
        self._running: Running | None = None
        self._buffer = bytearray()
        self._commits: dict[str, tuple[Oid, tuple[Oid, ...]]] = {}
        self._ahead: dict[str, bytes] = {}
        self._opened: pygit2.Repository | None = None

    @functools.cached_property
    def _shallow(self) -> frozenset[str]:
        """Name the commits at which the history is cut off: their parents are not here, as git has it too."""
        place = os.path.join(os.path.dirname(self._objects), "shallow")
        try:
            with open(place, encoding="ascii", errors="replace") as source:
                return frozenset(source.read().split())
        except OSError:
            return frozenset()

    @property
    def whole(self) -> pygit2.Repository:
        """Open the repository with libgit2."""
        if self._opened is None:
            self._opened = self._open()
        return self._opened

    def __getattr__(self, name: str) -> Any:
        return getattr(self.whole, name)

    def __getitem__(self, key: Any) -> Any:
        return self.whole[key]

    def content(self, oid: str) -> bytes:
        """Read an object; raises ObjectMissing."""
        # Each is read once, so nothing that was read ahead stays in memory.
        ahead = self._ahead.pop(oid, None)
        if ahead is not None:
            return ahead
        try:
            with open(self._place(oid), "rb") as source:
                return zlib.decompress(source.read()).partition(b"\0")[2]
        # It is in a pack or in another object folder: git finds it.
        except FileNotFoundError:
            return self._ask(oid)
        except zlib.error as problem:
            raise ObjectMissing(f"object {oid} is damaged: {problem}", "git fsck tells more") from None

    def size(self, oid: str) -> int:
        """Return how large an object is, without reading it; raises ObjectMissing."""
        try:
            with open(self._place(oid), "rb") as source:
                head = zlib.decompressobj().decompress(source.read(_HEAD), _HEAD)
            return int(head.partition(b"\0")[0].rpartition(b" ")[2])
        except FileNotFoundError:
            self._send([oid], "info")
            words = self._read_until_line_end().split(b" ")
            if len(words) != 3:
                raise ObjectMissing(f"object {oid} is missing", "git fsck tells more") from None
            return int(words[2])
        except (zlib.error, ValueError) as problem:
            raise ObjectMissing(f"object {oid} is damaged: {problem}", "git fsck tells more") from None

    def read_ahead(self, oids: Iterable[str]) -> None:
        """Ask for many objects at once that will be read soon, each once; what is missing is left out."""
        wanted = [oid for oid in dict.fromkeys(oids) if oid not in self._ahead and not os.path.exists(self._place(oid))]
        for start in range(0, len(wanted), _AT_ONCE):
            part = wanted[start : start + _AT_ONCE]
            self._send(part)
            for oid in part:
                body = self._receive()
                if body is not None:
                    self._ahead[oid] = body

    def commit(self, oid: str) -> tuple[Oid, tuple[Oid, ...]]:
        """Return the tree and the parents of a commit."""
        found = self._commits.get(oid)
        if found is None:
            rows = self.content(oid).partition(b"\n\n")[0].split(b"\n")
            words = [row.decode("ascii", "replace").split(" ") for row in rows]
            parents = tuple(Oid(row[1]) for row in words if row[0] == "parent" and oid not in self._shallow)
            found = self._commits[oid] = (Oid(words[0][1]), parents)
        return found

    def put(self, kind: bytes, body: bytes) -> bytes:
        """Write an object that is not there yet; returns its binary id."""
        whole = b"%s %d\0" % (kind, len(body)) + body
        oid = hashlib.sha1(whole)
        place = self._place(oid.hexdigest())
        if not os.path.exists(place):
            os.makedirs(os.path.dirname(place), exist_ok=True)
            # Git takes files of such a name away when it next packs, should we be killed in between.
            temporary = f"{os.path.dirname(place)}/tmp_obj_{os.urandom(6).hex()}"
            try:
                with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o444), "wb") as target:
                    # The fastest level: git packs it better some day, and somebody waits now.
                    target.write(zlib.compress(whole, 1))
                os.rename(temporary, place)
            except BaseException:
                if os.path.exists(temporary):
                    os.unlink(temporary)
                raise
        return oid.digest()

    def put_commit(self, tree: Oid, parents: Sequence[Oid], message: str, author: Ident, by: Ident) -> Oid:
        """Write a commit, moving no ref."""
        rows = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        rows += [f"author {_ident(author)}", f"committer {_ident(by)}", ""]
        oid = Oid(self.put(b"commit", ("\n".join(rows) + "\n" + message).encode()).hex())
        self._commits[oid] = (tree, tuple(parents))
        return oid

    def close(self) -> None:
        """End the git program that reads."""
        if self._running is not None:
            self._running.end()
            self._running = None

    def _place(self, oid: str) -> str:
        return f"{self._objects}/{oid[:2]}/{oid[2:]}"

    def _ask(self, oid: str) -> bytes:
        """Ask git for one object: one short line there, and the answer read to its end before the next."""
        self._send([oid])
        body = self._receive()
        if body is None:
            raise ObjectMissing(f"object {oid} is missing", "git fsck tells more")
        return body

    def _send(self, oids: Sequence[str], what: str = "contents") -> None:
        if self._running is None:
            self._running = self._git.start("cat-file", "--batch-command")
        process = self._running.process
        assert process.stdin is not None
        process.stdin.write("".join(f"{what} {oid}\n" for oid in oids).encode())
        process.stdin.flush()

    def _receive(self) -> bytes | None:
        head = self._read_until_line_end().split(b" ")
        # Of an object that is not there git says ``OID missing``.
        if len(head) != 3:
            return None
        size = int(head[2])
        # A line end follows every content.
        while len(self._buffer) < size + 1:
            self._read_more()
        body = bytes(self._buffer[:size])
        del self._buffer[: size + 1]
        return body

    def _read_until_line_end(self) -> bytes:
        while (end := self._buffer.find(b"\n")) < 0:
            self._read_more()
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def _read_more(self) -> None:
        running = cast("Running", self._running)
        assert running.process.stdout is not None
        pipe = running.process.stdout.fileno()
        patience = GitWait(running.shown, _TIMEOUT)
        while not select.select([pipe], [], [], patience.slice)[0]:
            patience.require_time()
        found = os.read(pipe, _CHUNK)
        if not found:
            raise PrunError("git cat-file ended early", "git fsck tells more")
        self._buffer += found


def _ident(who: Ident) -> str:
    sign, minutes = "-" if who.offset < 0 else "+", abs(who.offset)
    return f"{who.name} <{who.email}> {who.time} {sign}{minutes // 60:02}{minutes % 60:02}"


def stand_in(git: Git, objects: Path, opened: Callable[[], pygit2.Repository]) -> pygit2.Repository:
    """Return a store in the place of an open repository, for everybody who only passes that on."""
    return cast("pygit2.Repository", ObjectStore(git, objects, opened))


def store_of(repo: object) -> ObjectStore | None:
    """Return the store that stands for a repository, if one does."""
    return repo if isinstance(repo, ObjectStore) else None

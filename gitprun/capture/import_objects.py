"""Bring objects a worker could write into the user's repository: one pack, checked before it is let in.

Git packs what the tips reach, reading the worker's objects with our configuration alone, straight into another git
that indexes it in a quarantine. What passes there is linked in, what does not is kept there and named.
"""

from __future__ import annotations

import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from gitprun.capture.context import quoted_place
from gitprun.capture.import_problem import BOUNDS, explain, require_healthy
from gitprun.capture.inspect import ImportLimits, Inspection, TooLarge, UnfitObjects
from gitprun.capture.named_commits import MOST_ALONE, commits_among
from gitprun.capture.object_dir import check_object_dir, copy_plain, plain_files
from gitprun.capture.quarantine import Room, adopt, keep, open_room, users_objects
from gitprun.git.command import Git
from gitprun.git.pipe import pipe
from gitprun.git.repo import Repository
from gitprun.git.store import is_partial
from gitprun.model.errors import GitFailed, GitTimeout, PrunError
from gitprun.model.names import Oid

__all__ = [
    "GONE",
    "ImportLimits",
    "ImportRequest",
    "Imported",
    "Rejected",
    "import_objects",
    "room_git",
]

# Why a tip that names no object at all is rejected.
GONE = "it is not there"
LIMITS = ImportLimits()
# Zeros shrink to a thousandth at most: what is smaller on disk cannot hold an object that is too large.
_SHRINK = 1040
# No index over packs or commits is believed; large objects go through in pieces, few of them at a time.
_CONFIG = (
    "core.commitGraph=false",
    "core.multiPackIndex=false",
    "pack.useBitmaps=false",
    "pack.readReverseIndex=false",
    "pack.threads=1",
    "pack.windowMemory=32m",
    "pack.deltaCacheSize=16m",
    "core.bigFileThreshold=8m",
    "core.packedGitWindowSize=1m",
    "core.packedGitLimit=32m",
    "core.deltaBaseCacheLimit=16m",
    "core.fsync=all",
)


@dataclass(frozen=True, slots=True)
class Rejected:
    """A tip that was not taken, why, and the quarantine folder that keeps what was received ('' if nothing was)."""

    name: str
    oid: Oid
    reason: str
    place: str


@dataclass(frozen=True, slots=True)
class Imported:
    """What is whole in the user's repository now, what was rejected, and what only deserves a word."""

    taken: Mapping[str, Oid]
    rejected: tuple[Rejected, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportRequest:
    """What is to be brought into the user's repository: what ``tips`` reach in the object folder ``objects``.

    ``run`` and ``unit`` name whose quarantine keeps what is not taken. ``base`` is a commit of the user's own.
    ``parent``: each tip has exactly the base as its one parent. ``alternates`` is what prun wrote into a clone's
    objects/info/alternates: when something else is there now, or objects lie behind links, nothing is taken from it;
    None means a folder of our own.
    """

    run: str
    unit: str
    objects: Path
    tips: Mapping[str, Oid]
    base: Oid
    limits: ImportLimits = LIMITS
    parent: bool = False
    alternates: bytes | None = None


def import_objects(repository: Repository, request: ImportRequest) -> Imported:
    """Bring commits into the user's repository, each tip whole or not at all; no ref is moved."""
    tips, limits = request.tips, request.limits
    if not tips:
        return Imported({})
    deadline = time.monotonic() + limits.seconds
    work = _ObjectImport(
        repository,
        request.run,
        request.unit,
        request.objects,
        request.base,
        (request.base,),
        limits,
        request.parent,
        request.alternates,
        deadline,
    )
    # Before git sees the folder: an alternates file or a link there would have it read, or wait for, anything.
    unfit = work.look()
    if unfit is not None:
        return work.without_objects(tips, unfit)
    try:
        return Imported(tips, (), work.attempt(tips))
    except GitTimeout as problem:
        return Imported({}, work.reject(tips, problem))
    except (GitFailed, UnfitObjects):
        return work.take_apart(tips)


@dataclass(frozen=True, slots=True)
class _ObjectImport:
    """Everything about one import; ``whole`` are commits of the user's, ``objects`` None: the user's objects alone."""

    repository: Repository
    run: str
    unit: str
    objects: Path | None
    base: Oid
    whole: tuple[Oid, ...]
    limits: ImportLimits
    parent: bool
    alternates: bytes | None
    deadline: float

    @property
    def time(self) -> float:
        """Return the seconds that are left."""
        return max(0.1, self.deadline - time.monotonic())

    def look(self) -> str | None:
        """Return what is unfit about a folder of objects that a worker could write."""
        if self.objects is None or self.alternates is None:
            return None
        return check_object_dir(self.objects, self.alternates)

    def attempt(self, tips: Mapping[str, Oid]) -> tuple[str, ...]:
        """Take tips over together, or raise with nothing changed in the user's repository."""
        room = open_room(self.repository, self.run, self.unit)
        try:
            return self._pass(room, tips)
        except GitFailed as problem:
            require_healthy(problem)
            raise
        finally:
            room.close()

    def _pass(self, room: Room, tips: Mapping[str, Oid]) -> tuple[str, ...]:
        """Send, receive, check and let in."""
        sender, receiver = self._sender(room), _git(room)
        wanted = self._wanted(tips)
        # A small file can claim a large object; measured by what it says of itself before anybody unpacks it.
        if self._may_be_heavy():
            self._weigh(sender, wanted)
        partial = is_partial(users_objects(self.repository))
        send = ("pack-objects", "--revs", "--stdout", "--quiet", *(() if partial else ("--thin",)))
        # In a partial clone links lead to what was never fetched; those of new commits are followed by the checks.
        strict = ("--fsck-objects",) if partial else ("--strict=badFilemode=error", "--fsck-objects")
        size = f"--max-input-size={self.limits.max_total + (1 << 20)}"
        receive = ("index-pack", "--stdin", "--fix-thin", *strict, size)
        # Packed anew by one git and indexed by another: of the worker's own files nothing gets into the user's folder.
        pipe((sender, send), (receiver, receive), stdin=wanted, timeout=self.time)
        look = Inspection(
            room=room, git=receiver, tips=tips, base=self.base, whole=self.whole, limits=self.limits,
            deadline=self.deadline,
        )  # fmt: skip
        notes = look.inspect(parent=self.parent)
        # Looked at again: the folder may have been changed while git read it, and then what came of it proves nothing.
        unfit = self.look()
        if unfit is not None:
            raise UnfitObjects(unfit)
        # The last step, after every check; until here the user's objects are as they were.
        adopt(room)
        return notes

    def _sender(self, room: Room) -> Git:
        return room_git(room, self.objects)

    def _wanted(self, tips: Mapping[str, Oid]) -> bytes:
        names = [*dict.fromkeys(tips.values()), *(f"^{oid}" for oid in self.whole)]
        return "".join(f"{name}\n" for name in names).encode()

    def _may_be_heavy(self) -> bool:
        if self.objects is None or self.alternates is None:
            return False
        least = self.limits.max_object // _SHRINK
        try:
            return any(entry.stat(follow_symlinks=False).st_size > least for entry in plain_files(self.objects))
        except OSError:
            return True

    def _weigh(self, sender: Git, wanted: bytes) -> None:
        """Refuse what would be too large before anybody unpacks it, by the sizes the objects claim."""
        total, rest = 0, b""

        def take(chunk: bytes) -> None:
            nonlocal total, rest
            *rows, rest = (rest + chunk).split(b"\n")
            for row in rows:
                size = int(row.rpartition(b" ")[2])
                total += size
                if size > self.limits.max_object:
                    raise TooLarge(
                        f"an object of {size} bytes unpacked, more than the {self.limits.max_object} allowed"
                    )
            if total > self.limits.max_total:
                raise TooLarge(f"at least {total} bytes unpacked, more than the {self.limits.max_total} allowed")

        walk = ("rev-list", "--objects", "--no-object-names", "--stdin")
        measure = ("cat-file", "--batch-check=%(objectsize)", "--buffer")
        pipe((sender, walk), (sender, measure), stdin=wanted, sink=take, timeout=self.time)

    def take_apart(self, tips: Mapping[str, Oid]) -> Imported:
        """Find which tips can be taken when not all can: leave out what is not there, then try one by one.

        From here on everything the user's own branches and tags hold counts as whole, too.
        """
        room = open_room(self.repository, self.run, self.unit)
        try:
            there, others = commits_among(self._sender(room), tips, self.time)
            own, _ = commits_among(_git(room), _refs_of(self.repository), self.time)
        except (GitFailed, GitTimeout) as worse:
            return Imported({}, self.reject(tips, worse))
        finally:
            room.close()
        rejected: tuple[Rejected, ...] = ()
        for name, kind in others.items():
            if kind == "missing" and not self._is_loose(tips[name]):
                rejected = (*rejected, Rejected(name, tips[name], GONE, ""))
            else:
                rejected = (
                    *rejected,
                    *self.reject(
                        {name: tips[name]},
                        UnfitObjects(f"it is a {kind} and no commit" if kind != "missing" else "it cannot be read"),
                    ),
                )
        work = replace(self, whole=tuple(dict.fromkeys((self.base, *own.values()))))
        if not there:
            return Imported({}, rejected)
        notes = [f"the tag {name} was taken as the commit it names" for name in there if there[name] != tips[name]]
        try:
            return Imported(there, rejected, (*work.attempt(there), *notes))
        except GitTimeout as worse:
            return Imported({}, (*rejected, *self.reject(there, worse)))
        except (GitFailed, UnfitObjects) as worse:
            # One that failed needs no second try; of very many each would take the time of all.
            if len(there) == 1 or len(there) > MOST_ALONE:
                return Imported({}, (*rejected, *self.reject(there, worse)))
        taken: dict[str, Oid] = {}
        for name, oid in there.items():
            try:
                notes += work.attempt({name: oid})
                taken[name] = oid
            except (GitFailed, GitTimeout, UnfitObjects) as reason:
                rejected = (*rejected, *self.reject({name: oid}, reason))
        return Imported(taken, rejected, tuple(dict.fromkeys(notes)))

    def _is_loose(self, oid: Oid) -> bool:
        """Check whether there is a file for an object, be it as broken as it may."""
        return self.objects is not None and os.path.lexists(self.objects / oid[:2] / oid[2:])

    def without_objects(self, tips: Mapping[str, Oid], unfit: str) -> Imported:
        """Take only what is in the user's own repository already; the worker's objects are not read at all."""
        work = replace(self, objects=None)
        room = open_room(self.repository, self.run, self.unit)
        try:
            there, _ = commits_among(_git(room), tips, self.time)
        finally:
            room.close()
        found = work.take_apart(there) if there else Imported({})
        rest = {name: oid for name, oid in tips.items() if name not in there}
        if not rest:
            return found
        room = open_room(self.repository, self.run, self.unit)
        self._save_files(room)
        place = str(keep(room, rest, unfit, None, self.objects))
        rejected = tuple(Rejected(name, oid, unfit, place) for name, oid in rest.items())
        return Imported(found.taken, (*found.rejected, *rejected), found.notes)

    def reject(self, tips: Mapping[str, Oid], problem: PrunError) -> tuple[Rejected, ...]:
        """Keep what can be packed of rejected tips in a room of its own, unread, with the reason."""
        reason = explain(problem)
        room = open_room(self.repository, self.run, self.unit)
        pack: Path | None = room.path / "received.pack"
        try:
            if isinstance(problem, TooLarge):
                # Too large to be taken is too large to be packed for keeping.
                raise problem
            self._store(room, tips, room.path / "received.pack")
        except (GitFailed, GitTimeout, UnfitObjects):
            (room.path / "received.pack").unlink(missing_ok=True)
            pack = None
            self._save_files(room)
        place = str(keep(room, tips, reason, pack, self.objects))
        return tuple(Rejected(name, oid, reason, place) for name, oid in tips.items())

    def _save_files(self, room: Room) -> None:
        """Keep the worker's files as they are, where git cannot pack them; git never looks at these."""
        if self.objects is not None:
            copy_plain(self.objects, room.path / "files", self.limits.max_total)

    def _store(self, room: Room, tips: Mapping[str, Oid], target: Path) -> None:
        left = self.limits.max_total

        with open(target, "wb") as out:

            def take(chunk: bytes) -> None:
                nonlocal left
                left -= len(chunk)
                if left < 0:
                    raise UnfitObjects("too large to be kept")
                out.write(chunk)

            words = ("pack-objects", "--revs", "--stdout", "--quiet")
            timeout = min(self.time + 30, self.limits.seconds)
            pipe((self._sender(room), words), stdin=self._wanted(tips), sink=take, timeout=timeout)


def room_git(room: Room, objects: Path | None) -> Git:
    """Return git in a room that reads the user's objects first, then those of a folder a worker could write."""
    places = [users_objects(room.repository), *([objects] if objects else [])]
    return _git(room, GIT_ALTERNATE_OBJECT_DIRECTORIES=":".join(map(quoted_place, places)))


def _git(room: Room, **env: str) -> Git:
    """Call git in a room: no configuration but ours, no fetching, bounded."""
    # The user's settings could name programs, or lift the very limits that hold here.
    fixed = {"GIT_DIR": str(room.path), "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return Git(
        cwd=room.path,
        env={**fixed, "GIT_NO_LAZY_FETCH": "1", **env},
        config=_CONFIG,
        neutral=True,
        bounds=BOUNDS,
    )


def _refs_of(repository: Repository) -> dict[str, Oid]:
    words = ("for-each-ref", "--format=%(objectname) %(refname)", "refs/heads", "refs/tags", "refs/remotes")
    rows = [row.split(" ", 1) for row in repository.git.run(*words).text.split("\n") if row]
    return {name: Oid(oid) for oid, name in rows}

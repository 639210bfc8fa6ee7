"""Rooms in which received objects are checked: bare repositories of ours that borrow the user's objects.

``<state>/quarantine/<run>/<unit>/<room>/``; the name of a room tells who made it. A room with a ``reason.json`` holds
work that was rejected, and stays; any other is left over as soon as its maker is dead.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gitprun.git.repo import Repository
from gitprun.model.names import Oid
from gitprun.supervisor.process import ProcessIdentity, probe_identity
from gitprun.system.files import folder_identity, read_plain, sync_all, write_whole
from gitprun.system.sharing import shared_mode
from gitprun.workspaces.clone import render_alternates

REASON = "reason.json"
# A reason is a line; the file lies in prun's own folder, and may be torn.
MOST_REASON = 1_000_000
_CONFIG = b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n\tlogAllRefUpdates = false\n"
_ODD = re.compile(r"[^A-Za-z0-9_.-]|^[.-]")
_ROOM = re.compile(r"([0-9]+)-([0-9a-f]{12})-[0-9a-f]{12}")
# Git looks for the index of a pack, so that comes last.
_SUFFIXES = (".pack", ".rev", ".idx")


@dataclass(frozen=True, slots=True)
class Room:
    """One quarantine; ``path`` is a git folder."""

    repository: Repository
    path: Path
    run: str
    unit: str

    @property
    def packs(self) -> Path:
        """Return the folder packs are received in."""
        return self.path / "objects" / "pack"

    def close(self) -> None:
        """Remove it, and the folders above it that are empty now."""
        shutil.rmtree(self.path, ignore_errors=True)
        _drop_empty(self.path.parent)


@dataclass(frozen=True, slots=True)
class RejectedWork:
    """Rejected work that is kept: where, whose, which tips and why; ``pack`` is the file that holds it, if any."""

    place: Path
    run: str
    unit: str
    tips: Mapping[str, Oid]
    reason: str
    time: float
    pack: Path | None
    size: int


def open_room(repository: Repository, run: str, unit: str) -> Room:
    """Make an empty room."""
    parent = repository.state / "quarantine" / _safe(run) / _safe(unit)
    me = probe_identity(os.getpid())
    path = parent / f"{os.getpid()}-{_mark(me)}-{os.urandom(6).hex()}"
    for _ in range(20):
        # Somebody who closes a room may take the folder above it away.
        with suppress(FileNotFoundError):
            parent.mkdir(parents=True, exist_ok=True)
            path.mkdir(mode=shared_mode(path, 0o700))
            break
    for folder in ("objects/info", "objects/pack", "refs"):
        (path / folder).mkdir(parents=True)
    # What makes a folder a repository for git, and nothing more: no hooks, no template, no logs.
    (path / "HEAD").write_bytes(b"ref: refs/heads/none\n")
    (path / "config").write_bytes(_CONFIG)
    (path / "objects" / "info" / "alternates").write_bytes(render_alternates(users_objects(repository)))
    # Without it git would look for parents that a shallow clone does not have.
    with suppress(FileNotFoundError):
        shutil.copyfile(repository.common / "shallow", path / "shallow")
    return Room(repository, path, run, unit)


def users_objects(repository: Repository) -> Path:
    """Return the folder of the user's objects, behind any link."""
    return (repository.common / "objects").resolve()


def _safe(name: str) -> str:
    # File systems take 255 bytes for a name.
    return _ODD.sub("+", name)[:200] or "+"


def _mark(who: ProcessIdentity | None) -> str:
    return hashlib.sha1(f"{who.start} {who.boot}".encode()).hexdigest()[:12] if who else "0" * 12


def adopt(room: Room) -> None:
    """Link the pack of a room into the user's objects, synced; without any object in it there is nothing to do."""
    found = next(iter(sorted(room.packs.glob("pack-*.idx"))), None)
    # All was there already; a pack of nothing would only slow the user's git down.
    if found is None or count_objects(found) == 0:
        return
    target = users_objects(room.repository) / "pack"
    target.mkdir(exist_ok=True)
    # In a repository that several users share, each must be able to read what one brought.
    shared = os.stat(target).st_mode & 0o020
    for suffix in _SUFFIXES:
        source = found.with_suffix(suffix)
        if source.exists():
            mode = source.stat().st_mode & 0o777
            source.chmod(shared_mode(target / source.name, 0o440 | mode & 0o004 if shared else mode))
            _bring(source, target / source.name)
    # With its folder: a ref that names these objects is written next, and must not outlive them in a power cut.
    sync_all([str(target / found.name)])


def _bring(source: Path, target: Path) -> None:
    """Link a file, or copy it where there are no links; the same name is the same content."""
    try:
        os.link(source, target)
    except FileExistsError:
        return
    except OSError:
        # Git sweeps files of that name when whoever wrote them is long gone.
        aside = target.with_name(f"tmp_{target.suffix[1:]}_{os.urandom(6).hex()}")
        try:
            shutil.copy2(source, aside)
            sync_all([str(aside)])
            os.rename(aside, target)
        finally:
            aside.unlink(missing_ok=True)


def count_objects(index: Path) -> int:
    """Read how many objects a pack holds from its index (version 2)."""
    with open(index, "rb") as source:
        # Behind eight bytes of head the last of 256 running counts is that of all objects.
        source.seek(8 + 4 * 255)
        return int.from_bytes(source.read(4), "big")


def read_members(index: Path) -> frozenset[str]:
    """Read which objects a pack holds from its index (version 2)."""
    with open(index, "rb") as source:
        source.seek(8 + 4 * 255)
        count = int.from_bytes(source.read(4), "big")
        table = source.read(20 * count)
    return frozenset(table[n : n + 20].hex() for n in range(0, len(table), 20))


def keep(room: Room, tips: Mapping[str, Oid], reason: str, pack: Path | None, objects: Path | None) -> Path:
    """Leave a room as it is, with the reason in it; the same work rejected before makes this one unneeded."""
    same = next((k for k in _kept_below(room.path.parent) if (k.tips, k.reason) == (dict(tips), reason)), None)
    # A run that is resumed rejects the same work again; one copy of it is enough.
    if same is not None and (same.pack is not None or pack is None):
        room.close()
        return same.place
    said = {
        "run": room.run,
        "unit": room.unit,
        "tips": dict(tips),
        "reason": reason,
        "time": time.time(),
        "pack": str(pack.relative_to(room.path)) if pack else None,
        "objects": str(objects or ""),
    }
    if pack is not None:
        sync_all([str(pack)])
    write_whole(room.path / REASON, json.dumps(said, indent=1).encode("utf-8", "surrogateescape"))
    return room.path


def list_quarantine(repository: Repository) -> tuple[RejectedWork, ...]:
    """List the rejected work that is kept, by run and unit."""
    top = repository.state / "quarantine"
    return tuple(kept for unit in _units(top) for kept in _kept_below(unit))


def _units(top: Path) -> Iterator[Path]:
    for run in _folders(top):
        yield from _folders(run)


def _folders(path: Path) -> list[Path]:
    try:
        return sorted(entry for entry in path.iterdir() if folder_identity(entry) is not None)
    except OSError:
        return []


def _kept_below(unit: Path) -> list[RejectedWork]:
    return [kept for room in _folders(unit) if (kept := _read_kept(room)) is not None]


def _read_kept(room: Path) -> RejectedWork | None:
    try:
        said = json.loads(read_plain(room / REASON, MOST_REASON) or b"")
        pack = room / said["pack"] if said["pack"] else None
        tips = {str(name): Oid(oid) for name, oid in said["tips"].items()}
        size = sum(entry.stat().st_size for entry in room.rglob("*") if entry.is_file())
        return RejectedWork(room, said["run"], said["unit"], tips, said["reason"], float(said["time"]), pack, size)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def sweep_quarantine(repository: Repository) -> tuple[Path, ...]:
    """Remove the rooms that dead processes left unfinished, and what they had only half brought over.

    Rejected work stays. Gives what was removed.
    """
    gone = unfinished_rooms(repository)
    for room in gone:
        # First, while the room still says which pack it was.
        _take_back(room, users_objects(repository) / "pack")
        shutil.rmtree(room, ignore_errors=True)
    for unit in _units(repository.state / "quarantine"):
        _drop_empty(unit)
    # A program that a killed process had started may write on for a moment: its room goes the next time.
    return tuple(room for room in gone if not os.path.lexists(room))


def unfinished_rooms(repository: Repository) -> tuple[Path, ...]:
    """List the rooms that dead processes left unfinished."""
    rooms = (room for unit in _units(repository.state / "quarantine") for room in _folders(unit))
    return tuple(room for room in rooms if not (os.path.lexists(room / REASON) or _is_lived_in(room.name)))


def _is_lived_in(name: str) -> bool:
    found = _ROOM.fullmatch(name)
    # What has no name of ours is not ours to remove.
    return found is None or _mark(probe_identity(int(found[1]))) == found[2]


def _take_back(room: Path, target: Path) -> None:
    """Unlink a pack in the user's objects that came without its index: git would call it garbage for ever."""
    for pack in sorted((room / "objects" / "pack").glob("pack-*.pack")):
        there = target / pack.name
        if there.with_suffix(".idx").exists():
            continue
        for suffix in (".rev", ".pack"):
            ours, theirs = pack.with_suffix(suffix), there.with_suffix(suffix)
            with suppress(OSError):
                # The same name could be somebody else's pack of the same objects.
                if os.path.samefile(ours, theirs):
                    theirs.unlink()


def _drop_empty(unit: Path) -> None:
    for folder in (unit, unit.parent, unit.parent.parent):
        with suppress(OSError):
            folder.rmdir()

"""Ignored files of a workspace that goes: what no tool makes again stays for a while, as plain files of the user's own.

They never become objects: what a repository ignores may be a secret.
"""

from __future__ import annotations

import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from gitprun.capture.regenerable import MARKS, is_regenerable
from gitprun.capture.screen import HEAD, is_program, within
from gitprun.git.repo import Repository
from gitprun.ledger.events import RunState, UnitState
from gitprun.ledger.house_events import TrashFiles
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.settings import recall
from gitprun.model.errors import OperationRefused, PrunError
from gitprun.registry.precious import MOST, MOST_FILES, KeptFiles, Precious
from gitprun.system.config import read_settings
from gitprun.system.files import folder_identity, read_plain, remove_tree, sync_all, sync_folder
from gitprun.workspaces.base import OUTBOX

FOLDER = "trash"
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
# Of the outbox, what is kept elsewhere.
_KNOWN = frozenset({f"{OUTBOX}/result.md", f"{OUTBOX}/.gitignore"})


def find_precious(
    place: Path, rows: Iterable[str], *, source: Path | None, provided: Sequence[str], globs: Sequence[str], full: bool
) -> Precious:
    """Look through ignored ``rows`` (folders end with a slash) and what was copied in; links hold nothing.

    What was copied and is as it is in ``source``, the user's checkout, is no loss. Unless ``full``, looking ends
    where there is more than is kept unasked.
    """
    paths: list[str] = []
    size = 0
    wanted = sorted({*(row.rstrip("/") for row in rows), *provided})
    for path, found in _walk(place, wanted, globs):
        if path in _KNOWN or (within(path, tuple(provided)) and _is_same(place, source, path, found.st_size)):
            continue
        # What a compiler made can be made again, wherever it lies; a script somebody wrote cannot.
        if found.st_mode & 0o111 and is_program(read_plain(place / path, HEAD) or b""):
            continue
        paths.append(path)
        size += found.st_size
        if not full and (size > MOST or len(paths) > MOST_FILES):
            return Precious(paths=tuple(paths), size=size, whole=False)
    return Precious(paths=tuple(paths), size=size)


def _walk(place: Path, names: Iterable[str], globs: Sequence[str]) -> Iterator[tuple[str, os.stat_result]]:
    """List plain files at these paths and below, without going through links or into what a tool makes again."""
    left = list(reversed(list(names)))
    while left:
        name = left.pop()
        if name not in (OUTBOX, ".") and is_regenerable(name, globs):
            continue
        with suppress(OSError, ValueError):
            found = os.lstat(place / name)
            if stat.S_ISREG(found.st_mode):
                yield name, found
            elif stat.S_ISDIR(found.st_mode):
                inner = sorted(os.listdir(place / name))
                # A folder that says of itself that a tool filled it (CACHEDIR.TAG, pyvenv.cfg).
                if not any(mark in inner for mark in MARKS):
                    left += [f"{name}/{entry}" for entry in reversed(inner)]


def _is_same(place: Path, source: Path | None, path: str, size: int) -> bool:
    """Check whether a file that was copied in holds what the user's checkout holds there."""
    if source is None:
        return False
    try:
        if os.stat(source / path).st_size != size:
            return False
        with (
            open(source / path, "rb") as theirs,
            # A worker may have put a link or a fifo in its place since.
            open(os.open(place / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK), "rb") as ours,
        ):
            while block := ours.read(1 << 20):
                if block != theirs.read(1 << 20):
                    return False
    except OSError:
        return False
    return True


def precious_of(
    repository: Repository, unit: UnitState, rows: Iterable[str], provided: Sequence[str], *, full: bool = False
) -> Precious:
    """Find the ignored files of a unit or named workspace that no tool makes again."""
    source = repository.top or (repository.home if repository.home != repository.common else None)
    place = Path(unit.path)
    copied = [name for name in provided if not os.path.islink(place / name)]
    globs = _globs(repository, unit, source)
    return find_precious(place, rows, source=source, provided=copied, globs=globs, full=full)


def _globs(repository: Repository, unit: UnitState, source: Path | None) -> tuple[str, ...]:
    """Read ``[workspace] regenerable`` of prun.toml as it is now, and of the plan of the unit's run."""
    found: tuple[str, ...] = ()
    with suppress(PrunError, OSError):
        found += read_settings(source).regenerable or ()
    with suppress(PrunError, OSError):
        found += recall(repository.state, RunState(id=unit.run)).settings.regenerable or ()
    return found


def require_small(found: Precious, place: Path, advice: str) -> None:
    """Refuse to take away more ignored files than are kept without asking."""
    if not found.is_small:
        amount = f"{'more than ' if not found.whole else ''}{max(1, found.size // 1000)} kB"
        raise OperationRefused(
            f"{place} holds {amount} of ignored files that no tool makes again: {found.text}",
            f"take what you need, or name them in [workspace] regenerable; then: {advice}",
        )


def keep_files(repository: Repository, ledger: Ledger, unit: UnitState, name: str, found: Precious) -> KeptFiles | None:
    """Copy files of a workspace into the trash folder; when this returns all of them are on disk.

    Raises OperationRefused, with nothing kept, where one cannot be read or written.
    """
    if not found.paths:
        return None
    place, day = Path(unit.path), datetime.fromtimestamp(ledger.clock.now(), UTC).date().isoformat()
    room = repository.state / FOLDER / day
    room.mkdir(parents=True, exist_ok=True, mode=0o700)
    names = [name.replace("/", "+")] + [f"{name.replace('/', '+')}~{number}" for number in range(2, 1000)]
    folder = next(room / one for one in names if not os.path.lexists(room / one))
    # Before the first file: whoever is killed here leaves a folder somebody knows of.
    # The first few names say what it was; the folder has them all, and a line stays short.
    ledger.append(TrashFiles(of=name, folder=str(folder), files=tuple(found.paths[:20]), size=found.size))
    aside = room / f".{folder.name}.part-{os.urandom(4).hex()}"
    aside.mkdir(mode=0o700)
    try:
        for path in found.paths:
            _take(place / path, aside / path)
        sync_all([str(aside / path) for path in found.paths])
        # In one step, once all of it is on disk: what has its name is whole.
        os.rename(aside, folder)
        sync_folder(room)
    except OSError as problem:
        identity = folder_identity(aside)
        if identity is not None:
            remove_tree(aside, identity)
        raise OperationRefused(
            f"an ignored file of {name} cannot be kept: {problem.filename}: {problem.strerror}",
            "take what you need out of the workspace, or free some space, then try again",
        ) from None
    return KeptFiles(name=name, day=day, folder=str(folder), paths=found.paths, size=found.size)


def _take(source: Path, target: Path) -> None:
    """Copy one plain file; it is for nobody but the user to read."""
    os.makedirs(target.parent, mode=0o700, exist_ok=True)
    # A worker may have put a link or a pipe in its place since it was listed.
    given = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    with open(given, "rb") as theirs, open(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as ours:
        shutil.copyfileobj(theirs, ours, 1 << 20)


def list_kept(state: Path) -> tuple[KeptFiles, ...]:
    """List what is kept in the trash folder, the oldest first."""
    found = []
    for day in _names(state / FOLDER):
        if _DAY.fullmatch(day):
            for entry in _names(state / FOLDER / day):
                folder = state / FOLDER / day / entry
                if not entry.startswith("."):
                    rows = [(path, about.st_size) for path, about in _walk_all(folder)]
                    found.append(
                        KeptFiles(
                            # No name has a tilde; a number behind one tells apart what went on the same day.
                            name=entry.partition("~")[0].replace("+", "/"),
                            day=day,
                            folder=str(folder),
                            paths=tuple(path for path, _ in rows),
                            size=sum(size for _, size in rows),
                        )
                    )
    return tuple(found)


def _names(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def _walk_all(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    left = [""]
    while left:
        name = left.pop()
        with suppress(OSError):
            found = os.lstat(folder / name)
            if stat.S_ISREG(found.st_mode):
                yield name, found
            elif stat.S_ISDIR(found.st_mode):
                left += [f"{name}/{entry}".lstrip("/") for entry in sorted(os.listdir(folder / name), reverse=True)]


def choose_kept(kept: Sequence[KeptFiles], names: Sequence[str]) -> tuple[KeptFiles, ...]:
    """Find what names mean: ``all``, RUN/UNIT, a unit, a named workspace.

    Raises OperationRefused for one that means nothing.
    """
    chosen: dict[str, KeptFiles] = {}
    for name in names:
        fitting = [one for one in kept if name in ("all", one.name, one.name.partition("/")[2], one.folder)]
        if not fitting:
            raise OperationRefused(
                f"no ignored files are kept of {name!r}", "git prun rescue --ignored shows what there is"
            )
        chosen |= {one.folder: one for one in fitting}
    return tuple(chosen.values())


def restore_kept(kept: Sequence[KeptFiles], folder: Path) -> tuple[str, ...]:
    """Copy kept files into a new folder, of several workspaces each into one of its own there; returns the folders."""
    if os.path.lexists(folder):
        raise OperationRefused(f"{folder} is already there", "name a folder that is not")
    if not folder.parent.is_dir():
        raise OperationRefused(f"{folder.parent} is no folder", "make it first")
    folder.mkdir(mode=0o700)
    done = []
    for one in kept:
        target = folder / f"{one.day}+{Path(one.folder).name}" if len(kept) > 1 else folder
        for path in one.paths:
            _take(Path(one.folder) / path, target / path)
        done.append(str(target))
    return tuple(done)


def drop_kept(folder: Path) -> None:
    """Remove what was kept of one workspace, and the day's folder with the last of it."""
    identity = folder_identity(folder)
    if identity is not None:
        remove_tree(folder, identity)
    with suppress(OSError):
        folder.parent.rmdir()

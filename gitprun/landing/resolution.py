"""A branch that does not land, opened: its record outside of where workers come, its workspace made and removed again.

A workspace is made under a hidden name, written down, and then gets its own name in one step: one that people see is
whole, and has a record. When it goes, its record goes last: killed anywhere, all of it can be done anew.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from gitprun.git.command import Git
from gitprun.git.refs import delete_ref, move_ref, open_repository, read_ref, read_signatures, write_commit
from gitprun.git.repo import Repository
from gitprun.git.trees import Objects
from gitprun.judging.conflicts import Versions
from gitprun.landing.landed import room_mark
from gitprun.landing.plan import Candidate
from gitprun.landing.unresolved import CONFLICT, Opening, Unresolved, UnresolvedPath
from gitprun.ledger.landing_events import ResolutionFacts, ResolveFinished, ResolveStarted
from gitprun.ledger.ledger import Ledger
from gitprun.model.errors import OperationRefused, PrunError
from gitprun.model.names import PRUN_REFS, ZERO, Oid
from gitprun.registry.state_folder import read_state_dir
from gitprun.registry.trash import keep_in_trash
from gitprun.system.files import TRASH, empty_trash, folder_identity, locked, read_plain, remove_tree, write_whole
from gitprun.workspaces.base import QUIET, make_outbox, provide
from gitprun.workspaces.clone import make_clone, read_source

# A record of another version is passed over: its workspace stays, and the ledger names it.
FORMAT: Final = 1
# A record names paths; so much is more than a million of them.
MOST: Final = 64 << 20
FOLDER: Final = "resolve"
RECORD: Final = "resolution.json"
# All that some shell, file system or ref takes for more than a letter; a part that begins with a dot or a dash, too.
_ODD = re.compile(r"[^A-Za-z0-9_./-]+|/[.-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPath:
    """One path that waits for a decision: its versions (base, main, unit), and whether a text settles it.

    Of a finding ``path`` is as it is printed, and may name a folder; ``detail`` says what is wrong.
    """

    path: str
    kind: str
    versions: Versions
    textual: bool
    detail: str = ""

    @property
    def name(self) -> bytes:
        """Return the path as bytes."""
        return os.fsencode(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """An open resolution: ``opened`` is a commit with the tree its workspace began with.

    ``why`` says what was opened: a conflict, or the state that keeps a branch without one from landing. ``crossed``
    tells that the histories have several merge bases, so that versions alone do not name the conflict. ``worker`` is
    the state folder of the worker that is let do it, while it does; ``reason`` is why the branch did not land.
    """

    name: str
    branch: str
    run: str
    unit: str
    target: str
    main: Oid
    tip: Oid
    opened: Oid
    workspace: str
    identity: tuple[int, int]
    provided: tuple[str, ...]
    paths: tuple[OpenPath, ...]
    crossed: bool = False
    why: str = CONFLICT
    worker: str = ""
    reason: str = ""

    @property
    def ref(self) -> str:
        """Name the ref that pins what its workspace began with."""
        return f"{PRUN_REFS}{FOLDER}/{self.name}"

    @property
    def label(self) -> str:
        """Return what the user calls the branch: RUN/UNIT, or its name."""
        return f"{self.run}/{self.unit}" if self.unit else self.branch

    @property
    def about(self) -> ResolutionFacts:
        """Return what it is about; the unit is named in that, for it is no step of the unit's own."""
        known = ResolutionFacts(branch=self.branch, target=self.target, main=self.main, tip=self.tip)
        return known.into(ResolutionFacts, of=self.label) if self.unit else known


def folder_of(repository: Repository, name: str) -> Path:
    """Name the folder that keeps what belongs to a resolution, outside of its workspace."""
    return repository.state / FOLDER / name


def name_for(candidate: Candidate) -> str:
    """Name the resolution of a branch: in letters that any file may have, the same ones for the same branch."""
    if not _ODD.search(candidate.branch) and not candidate.branch.startswith((".", "-")):
        # "+" stands in few branches, so that most names are told apart without a number.
        return candidate.branch.replace("/", "+")
    # 80 letters leave room below the 255 a file name may have; the digits tell apart what the cut makes alike.
    plain = _ODD.sub("-", candidate.branch).replace("/", "-").strip("-.")[:80] or "branch"
    return f"{plain}-{hashlib.sha256(candidate.branch.encode('utf-8', 'surrogateescape')).hexdigest()[:6]}"


def write_resolution(repository: Repository, resolution: Resolution) -> None:
    """Write a resolution down."""
    record = {"v": FORMAT, **asdict(resolution)}
    write_whole(folder_of(repository, resolution.name) / RECORD, json.dumps(record).encode() + b"\n")


def read_resolutions(repository: Repository) -> tuple[Resolution, ...]:
    """Read all open resolutions, by name; a record that cannot be read is passed over."""
    found = sorted((repository.state / FOLDER).glob(f"*/{RECORD}"))
    return tuple(one for one in map(_read, found) if one is not None)


def _read(place: Path) -> Resolution | None:
    try:
        record = json.loads(read_plain(place, MOST) or b"")
        if record.pop("v") != FORMAT:
            return None
        # Version 0.1.0 listed here what it had recorded.
        record.pop("kept", None)
        paths = tuple(OpenPath(**{**row, "versions": tuple(row["versions"])}) for row in record.pop("paths"))
        lists: Mapping[str, Iterable[Any]] = {key: record.pop(key) for key in ("identity", "provided")}
        device, inode = lists["identity"]
        return Resolution(**record, paths=paths, identity=(int(device), int(inode)), provided=tuple(lists["provided"]))
    # Edited by hand or half written: the workspace stays, and the ledger still names it.
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def require_open(resolutions: Sequence[Resolution], branch: str | None) -> Resolution:
    """Find the open resolution of a branch or unit, or the only one; raises OperationRefused."""
    fitting = [one for one in resolutions if branch is None or branch in (one.branch, one.name, one.unit, one.label)]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        what = "nothing" if branch is None else f"no conflict of {branch}"
        raise OperationRefused(f"{what} is open here", f"git prun resolve {branch or 'BRANCH'} opens one")
    names = ", ".join(one.branch for one in fitting)
    raise OperationRefused(f"more than one is open: {names}", f"say which one, such as {fitting[0].label}")


# What a workspace is called until it is whole.
_OPENING: Final = ".opening-"


@contextmanager
def resolutions_locked(repository: Repository) -> Iterator[None]:
    """Hold the lock under which resolutions are opened, swept and closed."""
    # A lock of its own: a landing takes minutes, and --abort should not wait for it.
    with locked(repository.state / "locks" / "resolve.lock", doing="opening or closing a resolution"):
        yield


def workspace_of(root: Path, candidate: Candidate) -> Path:
    """Name the workspace of a branch's resolution."""
    return root / FOLDER / name_for(candidate)


@dataclass(frozen=True, slots=True, kw_only=True)
class OpeningSpec:
    """What a workspace is to be made with: ``root`` is the folder for private workspaces, ``copy`` and ``link`` name
    what of the user's checkout goes along, ``texts`` are files to keep beside the record.
    """

    root: Path
    texts: Mapping[str, str]
    copy: Sequence[str] = ()
    link: Sequence[str] = ()


def open_resolution(
    opening: Opening, ledger: Ledger, left: Unresolved, spec: OpeningSpec
) -> tuple[Resolution, tuple[str, ...]]:
    """Make the workspace of what is left; returns the resolution and notes. Call it under the lock, after a sweep."""
    repository, candidate, target = opening.repository, opening.candidate, opening.target
    name, path = name_for(candidate), workspace_of(spec.root, candidate)
    folder = folder_of(repository, name)
    # With the mark of this repository: several may share the folder, and each sweeps only its own.
    hidden = path.with_name(f"{_OPENING}{room_mark(repository)}-{name}")
    notes = _make_way(path)
    repo, message = opening.repo, f"merge: ship {candidate.branch}\n"
    parents = (target.tip, candidate.tip)
    opened = write_commit(repo, left.tree, parents, message, *read_signatures(repository.git))
    # Without a remote: what is edited there can be pushed nowhere by mistake.
    workspace = make_clone(read_source(repository), hidden, target.tip, f"{FOLDER}/{name}")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        _lay_out(hidden, left, message, folder / "index")
        provided, told = provide(repository.top, hidden, spec.copy, spec.link)
        make_outbox(hidden)
        resolution = Resolution(
            name=name,
            branch=candidate.branch,
            run=candidate.run,
            unit=candidate.unit,
            target=target.ref,
            main=target.tip,
            tip=candidate.tip,
            opened=opened,
            workspace=str(path),
            identity=workspace.identity,
            provided=tuple(provided),
            paths=tuple(_open_path(row) for row in left.paths),
            crossed=len(left.bases) > 1,
            why=left.why,
            reason=left.reason,
        )
        for file, text in spec.texts.items():
            write_whole(folder / file, text.encode("utf-8", "backslashreplace"))
        # Pinned before it is written down: a gc in between would take what the record names.
        move_ref(repo, resolution.ref, opened, read_ref(repo, resolution.ref) or ZERO, "prun: a resolution was opened")
        shown = tuple(row.path for row in resolution.paths)
        ledger.append(resolution.about.into(ResolveStarted, why=left.why, workspace=str(path), paths=shown))
        write_resolution(repository, resolution)
        os.rename(hidden, path)
    # Ctrl-C as well: half a workspace must not look like one that waits for somebody.
    except BaseException:
        remove_tree(hidden, workspace.identity)
        _drop_record(repository, name)
        raise
    return resolution, (*notes, *workspace.notes, *told)


def _make_way(path: Path) -> list[str]:
    """Move aside what stands where a workspace is to be and no record knows: it may be somebody's only copy."""
    if not os.path.lexists(path):
        return []
    number = 1
    # Never the same name twice: what stands aside may be somebody's only copy as well.
    while os.path.lexists(aside := path.with_name(f"{path.name}.stale-{number}")):
        number += 1
    os.rename(path, aside)
    return [f"{path} was there, and no open resolution knows it: it is {aside.name} now"]


def _open_path(row: UnresolvedPath) -> OpenPath:
    path, detail = os.fsdecode(row.path), row.detail if row.kind == "suspect" else ""
    return OpenPath(path=path, kind=row.kind, versions=row.versions, textual=row.textual, detail=detail)


def _lay_out(path: Path, left: Unresolved, message: str, index: Path) -> None:
    """Put the merged files into a fresh clone, with git's own record of a merge that waits for a person.

    ``index`` gets a copy of the index as it is without conflicts, to read the files with later.
    """
    git = Git(cwd=path, config=QUIET)
    # Files first, as of a merge without conflict: git lays none out for a path that has stages.
    git.run("read-tree", "-m", "-u", "HEAD", left.tree)
    shutil.copy2(path / ".git" / "index", index)
    rows = []
    for row in left.paths if left.why == CONFLICT else ():
        # git update-index wants the plain entry of a path gone before its stages come.
        rows.append(b"0 " + ZERO.encode() + b"\t" + row.path)
        for stage in row.stages:
            if stage is not None:
                rows.append(f"{stage.mode} {stage.oid} {stage.number}\t".encode() + row.path)
    git.run("update-index", "-z", "--index-info", stdin=b"".join(row + b"\0" for row in rows))
    (path / ".git" / "MERGE_HEAD").write_text(f"{left.unit}\n")
    (path / ".git" / "MERGE_MODE").write_text("no-ff")
    (path / ".git" / "MERGE_MSG").write_bytes(message.encode("utf-8", "surrogateescape"))


def require_idle(resolution: Resolution) -> None:
    """Refuse while a worker that was let do it is still at it, although who started it is gone."""
    if not resolution.worker:
        return
    # By the state folder, not by the record: whoever started the worker may be gone.
    state = read_state_dir(Path(resolution.worker))
    if state.alive:
        pids = [str(who.pid) for who in (state.dispatcher, state.supervisor) if who is not None]
        raise OperationRefused(
            f"a worker is still at work in {resolution.workspace} (pid {', '.join(pids)})",
            f"wait for it; its output: {resolution.worker}/tail",
        )


def close_resolution(
    repository: Repository, ledger: Ledger, resolution: Resolution, outcome: str, *, written: Oid | None = None
) -> tuple[str, ...]:
    """Remove what a resolution made; returns notes about what had to stay.

    ``written`` is a commit of what was written in its workspace and did not land: it stays in the trash.
    """
    notes = []
    repo: Objects = open_repository(repository.common)
    # First of all: while anything else fails, what was written is kept already.
    if written is not None:
        of = resolution.label if resolution.unit else ""
        kept = keep_in_trash(repository, ledger, resolution.ref, written, why=f"resolution {outcome}", of=of)
        notes.append(f"what was written there is kept for 30 days: git show {kept}")
    try:
        if os.path.lexists(resolution.workspace):
            remove_tree(Path(resolution.workspace), resolution.identity)
    except (PrunError, OSError) as problem:
        notes.append(f"{resolution.workspace} could not be removed: {problem}")
    delete_ref(repo, resolution.ref, resolution.opened)
    ledger.append(resolution.about.into(ResolveFinished, outcome=outcome))
    _drop_record(repository, resolution.name)
    return tuple(notes)


def _drop_record(repository: Repository, name: str) -> None:
    folder = folder_of(repository, name)
    # Without its record the rest is swept, whatever of it a kill leaves.
    (folder / RECORD).unlink(missing_ok=True)
    shutil.rmtree(folder, ignore_errors=True)


def sweep(repository: Repository, ledger: Ledger, root: Path) -> tuple[str, ...]:
    """Remove what killed commands left half opened or half closed, under the lock; returns notes."""
    known = read_resolutions(repository)
    rooms = {root / FOLDER, *(Path(one.workspace).parent for one in known)}
    notes = [note for room in sorted(rooms) for note in _sweep_room(room, room_mark(repository))]
    for one in known:
        # A folder above that is missing too may be a disk that is not mounted now.
        if not os.path.lexists(one.workspace) and os.path.lexists(Path(one.workspace).parent):
            close_resolution(repository, ledger, one, "gone")
    for folder in (repository.state / FOLDER).glob("*"):
        # What a kill left of closing it, or of opening it before it was written down.
        if not (folder / RECORD).exists():
            shutil.rmtree(folder, ignore_errors=True)
    names = {one.ref for one in read_resolutions(repository)}
    rows = repository.git.run("for-each-ref", "--format=%(objectname) %(refname)", f"{PRUN_REFS}{FOLDER}/").text
    for oid, _, ref in (row.partition(" ") for row in rows.splitlines()):
        # A pin without a record keeps objects that nobody can name any more.
        if ref not in names:
            delete_ref(open_repository(repository.common), ref, Oid(oid))
    return tuple(notes)


def _sweep_room(room: Path, mark: str) -> Iterable[str]:
    """Remove workspaces that never were whole, and the rests of removals, from a folder others may share."""
    for path in sorted(room.glob(".*")):
        identity = folder_identity(path)
        try:
            if identity is None:
                continue
            if path.name.startswith(f"{_OPENING}{mark}-"):
                remove_tree(path, identity)
            elif path.name.startswith(TRASH):
                empty_trash(path, identity)
        except (PrunError, OSError) as problem:
            yield f"{path} of an earlier resolution could not be removed: {problem}"

"""Merge-assist: a conflict opened in a private workspace, and the finished resolution taken back under proof."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from gitprun.errors import PrunError, Refused
from gitprun.git.command import Git
from gitprun.git.refs import delete_ref, move_ref, open_repository, read_ref, read_signatures, write_commit
from gitprun.git.repo import Repository
from gitprun.git.trees import Objects
from gitprun.merge.guard import Target
from gitprun.merge.left import Left, LeftPath, Versions
from gitprun.merge.plan import Candidate
from gitprun.names import PRUN_REFS, ZERO, Oid
from gitprun.runs.ledger import Ledger
from gitprun.system.files import read_plain, remove_tree, write_whole
from gitprun.workspaces.base import QUIET, make_outbox, provide
from gitprun.workspaces.clone import make_clone, read_source

FORMAT: Final = 1
MOST: Final = 16 << 20
BRIEF: Final = "CONFLICT.md"
_FOLDER = "resolve"
_ODD = re.compile(r"[^A-Za-z0-9_./-]+|/[.-]")


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPath:
    """One path that waits for a decision: its versions (base, main, unit), and whether a text settles it."""

    path: str
    kind: str
    versions: Versions
    textual: bool

    @property
    def name(self) -> bytes:
        """Give the path as bytes."""
        return os.fsencode(self.path)


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolution:
    """An open resolution: ``opened`` is a commit with the tree its workspace began with, ``kept`` what it recorded.

    ``crossed`` tells that the histories have several merge bases, so that versions alone do not name the conflict.
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
    kept: tuple[str, ...] = ()

    @property
    def ref(self) -> str:
        """Name the ref that pins what its workspace began with."""
        return f"{PRUN_REFS}{_FOLDER}/{self.name}"

    def facts(self) -> dict[str, Any]:
        """Say for the ledger what it is about; the unit is named in the facts, for it is no step of the unit's own."""
        known = {"branch": self.branch, "target": self.target, "main": self.main, "tip": self.tip}
        return known | ({"of": f"{self.run}/{self.unit}"} if self.unit else {})


def folder_of(repository: Repository, name: str) -> Path:
    """Name the folder that keeps what belongs to a resolution, outside of its workspace."""
    return repository.state / _FOLDER / name


def name_for(candidate: Candidate) -> str:
    """Name the resolution of a branch: in letters that any file may have, the same ones for the same branch."""
    if not _ODD.search(candidate.branch) and not candidate.branch.startswith((".", "-")):
        return candidate.branch.replace("/", "+")
    plain = _ODD.sub("-", candidate.branch).replace("/", "-").strip("-.")[:80] or "branch"
    return f"{plain}-{hashlib.sha256(candidate.branch.encode('utf-8', 'surrogateescape')).hexdigest()[:6]}"


def open_resolution(
    repository: Repository,
    ledger: Ledger,
    candidate: Candidate,
    target: Target,
    left: Left,
    *,
    root: Path,
    copy: Sequence[str] = (),
    link: Sequence[str] = (),
) -> tuple[Resolution, tuple[str, ...]]:
    """Make the workspace of a conflict; gives the resolution and notes. Leaves nothing behind where it cannot."""
    name = name_for(candidate)
    folder, path = folder_of(repository, name), root / _FOLDER / name
    repo = open_repository(repository.common)
    message = f"merge: ship {candidate.branch}\n"
    parents = (target.tip, candidate.tip)
    opened = write_commit(repo, left.tree, parents, message, *read_signatures(repository.git))
    workspace = make_clone(read_source(repository), path, target.tip, f"{_FOLDER}/{name}")
    try:
        _lay_out(path, left, message)
        provided, notes = provide(repository.top, path, copy, link)
        make_outbox(path)
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
        )
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path / ".git" / "index.settled", folder / "index")
        (path / ".git" / "index.settled").unlink()
        move_ref(repo, resolution.ref, opened, read_ref(repo, resolution.ref) or ZERO, "prun: a resolution was opened")
        write_resolution(repository, resolution)
    except BaseException:
        remove_tree(path, workspace.identity)
        shutil.rmtree(folder, ignore_errors=True)
        raise
    shown = [row.path for row in resolution.paths]
    facts = {**resolution.facts(), "workspace": str(path), "paths": shown}
    ledger.append("resolve.started", facts=facts)
    return resolution, (*workspace.notes, *notes)


def _open_path(row: LeftPath) -> OpenPath:
    return OpenPath(path=os.fsdecode(row.path), kind=row.kind, versions=row.versions, textual=row.textual)


def _lay_out(path: Path, left: Left, message: str) -> None:
    """Put the merged files into a fresh clone, with git's own record of a merge that waits for a person."""
    git = Git(cwd=path, config=QUIET)
    git.run("read-tree", "-m", "-u", "HEAD", left.tree)
    shutil.copy2(path / ".git" / "index", path / ".git" / "index.settled")
    rows = []
    for row in left.paths:
        rows.append(b"0 " + ZERO.encode() + b"\t" + row.path)
        for stage in row.stages:
            if stage is not None:
                rows.append(f"{stage.mode} {stage.oid} {stage.number}\t".encode() + row.path)
    git.run("update-index", "-z", "--index-info", stdin=b"".join(row + b"\0" for row in rows))
    (path / ".git" / "MERGE_HEAD").write_text(f"{left.unit}\n")
    (path / ".git" / "MERGE_MODE").write_text("no-ff")
    (path / ".git" / "MERGE_MSG").write_bytes(message.encode("utf-8", "surrogateescape"))


def write_resolution(repository: Repository, resolution: Resolution) -> None:
    """Write a resolution down."""
    record = {"v": FORMAT, **asdict(resolution)}
    write_whole(folder_of(repository, resolution.name) / "resolution.json", json.dumps(record).encode() + b"\n")


def read_resolutions(repository: Repository) -> tuple[Resolution, ...]:
    """Read all open resolutions, by name; a record that cannot be read is passed over."""
    found = sorted((repository.state / _FOLDER).glob("*/resolution.json"))
    return tuple(one for one in map(_read, found) if one is not None)


def _read(place: Path) -> Resolution | None:
    try:
        record = json.loads(read_plain(place, MOST) or b"")
        if record.pop("v") != FORMAT:
            return None
        paths = tuple(OpenPath(**{**row, "versions": tuple(row["versions"])}) for row in record.pop("paths"))
        lists: Mapping[str, Iterable[Any]] = {key: record.pop(key) for key in ("identity", "provided", "kept")}
        device, inode = lists["identity"]
        return Resolution(
            **record,
            paths=paths,
            identity=(int(device), int(inode)),
            provided=tuple(lists["provided"]),
            kept=tuple(lists["kept"]),
        )
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None


def close_resolution(repository: Repository, ledger: Ledger, resolution: Resolution, outcome: str) -> tuple[str, ...]:
    """Remove what a resolution made (``aborted``: what it recorded too); gives notes about what had to stay."""
    notes = []
    if outcome == "aborted":
        for name in resolution.kept:
            Path(name).unlink(missing_ok=True)
    try:
        if os.path.lexists(resolution.workspace):
            remove_tree(Path(resolution.workspace), resolution.identity)
    except (PrunError, OSError) as problem:
        notes.append(f"{resolution.workspace} could not be removed: {problem}")
    repo: Objects = open_repository(repository.common)
    delete_ref(repo, resolution.ref, resolution.opened)
    facts = {**resolution.facts(), "outcome": outcome}
    ledger.append("resolve.finished", facts=facts)
    shutil.rmtree(folder_of(repository, resolution.name), ignore_errors=True)
    return tuple(notes)


def require_open(resolutions: Sequence[Resolution], branch: str | None) -> Resolution:
    """Find the open resolution of a branch or unit, or the only one; raises Refused."""
    fitting = [one for one in resolutions if branch is None or branch in (one.branch, one.name, one.unit, _full(one))]
    if len(fitting) == 1:
        return fitting[0]
    if not fitting:
        what = "nothing" if branch is None else f"no conflict of {branch}"
        raise Refused(f"{what} is open here", "git prun resolve BRANCH opens one")
    names = ", ".join(one.branch for one in fitting)
    raise Refused(f"more than one is open: {names}", "say which one")


def _full(one: Resolution) -> str:
    return f"{one.run}/{one.unit}" if one.unit else one.branch

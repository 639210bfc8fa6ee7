"""What only the disk or git's list of worktrees knows: workspaces without a ledger row, rests of broken removals."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from gitprun.capture.worker_refs import read_head
from gitprun.git.repo import Repository, read_checkouts
from gitprun.ledger.ledger import Reading
from gitprun.ledger.roster import NAMED, roster
from gitprun.model.names import PRUN_BRANCHES, is_run_id
from gitprun.registry.find import WorkspaceRecord, workspaces_of
from gitprun.system.files import TRASH, folder_identity, read_plain
from gitprun.workspaces.clone import render_alternates
from gitprun.workspaces.worktree import admin_folder

# Names of workspaces have slashes; nobody nests them deeper, and a worker's folders go on without end.
DEPTH = 8


def choose_roots(reading: Reading, roots: Iterable[Path]) -> tuple[Path, ...]:
    """List the folders in which workspaces of this repository may lie."""
    found = {Path(os.path.realpath(root)) for root in roots}
    for run in reading.history.runs.values():
        if run.root:
            found.add(Path(os.path.realpath(run.root)))
    for unit in roster(reading.events).units.values():
        path, parts = Path(unit.path), unit.id.split("/")
        if path.parts[-len(parts) - 1 :] == (NAMED, *parts):
            found.add(Path(os.path.realpath(path.parents[len(parts)])))
    return tuple(sorted(root for root in found if folder_identity(root) is not None))


def find_orphans(repository: Repository, reading: Reading, roots: Iterable[Path]) -> list[WorkspaceRecord]:
    """Find workspaces nobody knows: in the folders for workspaces, and among git's worktrees."""
    known = {os.path.realpath(unit.path) for _, unit in workspaces_of(reading)}
    for _, unit in workspaces_of(reading):
        # Half made or half moved by a command that was killed; the next one finishes that.
        if unit.reset:
            known.add(os.path.realpath(str(unit.reset.fresh)))
        if unit.moving:
            known.add(os.path.realpath(str(unit.moving.target)))
    tops = choose_roots(reading, roots)
    found: dict[str, WorkspaceRecord] = {}
    for root in tops:
        for path in list_folders(root):
            real = os.path.realpath(path)
            if real not in known:
                place = _orphan(repository, path)
                if place is not None:
                    found[real] = place
    # Without the first one, which is the main checkout.
    for row in read_checkouts(repository.git)[1:]:
        real = os.path.realpath(row.path)
        if real in known or real in found or _is_room(real, tops):
            continue
        # In a folder for workspaces, or on a branch of a unit: then it was prun that made it.
        below = any(real.startswith(f"{root}/") for root in tops)
        ours = below or (row.branch or "").startswith(f"refs/heads/{PRUN_BRANCHES}")
        there = os.path.lexists(row.path)
        found[real] = WorkspaceRecord(
            name="",
            kind="worktree",
            state="orphan" if ours else "yours",
            path=str(row.path),
            there=there,
            branch=(row.branch or "").removeprefix("refs/heads/") or None,
            base=row.head or None,
            locked=row.locked,
            note="" if there else "its folder is gone",
        )
    return [found[real] for real in sorted(found)]


def _is_room(real: str, tops: Iterable[Path]) -> bool:
    """Check whether a folder is one that a landing works in."""
    return any(real.startswith(f"{root}/landing/") for root in tops)


def list_folders(root: Path) -> Iterator[Path]:
    """List the folders of a root that look like workspaces, known or not."""
    for entry in _folders(root):
        if is_run_id(entry.name):
            yield from _folders(entry)
        elif entry.name == NAMED:
            yield from _below(entry, DEPTH)


def _below(folder: Path, depth: int) -> Iterator[Path]:
    for entry in _folders(folder):
        if os.path.lexists(entry / ".git"):
            yield entry
        elif depth:
            yield from _below(entry, depth - 1)


def _folders(path: Path) -> list[Path]:
    try:
        with os.scandir(path) as entries:
            found = [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:
        return []
    return sorted(entry for entry in found if not entry.name.startswith("."))


def _orphan(repository: Repository, path: Path) -> WorkspaceRecord | None:
    """Return what a folder is that nobody knows; None if it is provably of another repository."""
    admin = admin_folder(repository.common, path)
    if admin is not None:
        branch = read_head(admin / "HEAD").removeprefix("refs/heads/")
        return WorkspaceRecord(name="", kind="worktree", state="orphan", path=str(path), branch=branch or None)
    git_dir = path / ".git"
    if folder_identity(git_dir) is None:
        if os.path.lexists(git_dir):
            return None
        return WorkspaceRecord(
            name="", kind="folder", state="orphan", path=str(path), note="whose it is cannot be told"
        )
    own = render_alternates((repository.common / "objects").resolve())
    # Several repositories may share a root: a clone of another one is none of our business.
    if read_plain(git_dir / "objects" / "info" / "alternates", 100_000) != own:
        return None
    branch = read_head(git_dir / "HEAD").removeprefix("refs/heads/")
    return WorkspaceRecord(name="", kind="clone", state="orphan", path=str(path), branch=branch or None)


def find_trashes(roots: Iterable[Path], others: Iterable[Path]) -> list[Path]:
    """Find what removals that broke off left: in the folders for workspaces, and right in some others."""
    found: set[Path] = set()
    for root in roots:
        folders = [root, *(entry for entry in _folders(root) if is_run_id(entry.name) or entry.name == NAMED)]
        folders += [below for entry in folders if entry.name == NAMED for below in _inner(entry, DEPTH)]
        for folder in folders:
            found |= set(_trashes_in(folder))
    for folder in others:
        found |= set(_trashes_in(folder))
    return sorted(found)


def _inner(folder: Path, depth: int) -> Iterator[Path]:
    for entry in _folders(folder):
        if depth and not os.path.lexists(entry / ".git"):
            yield entry
            yield from _inner(entry, depth - 1)


def _trashes_in(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [
                Path(entry.path)
                for entry in entries
                if entry.name.startswith(TRASH)
                and entry.is_dir(follow_symlinks=False)
                and entry.stat(follow_symlinks=False).st_uid == os.geteuid()
            ]
    except OSError:
        return []

"""Take a folder no ledger knows in as a named workspace: captured first, and none of its settings believed."""

from __future__ import annotations

import json
import os
import re
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

from gitprun.capture.capture import CaptureProblem, CommitText, capture, commit_capture, pin_commits
from gitprun.capture.context import CaptureContext
from gitprun.capture.worker_refs import read_head, read_worker_refs
from gitprun.git.command import Git
from gitprun.git.refs import delete_ref, move_ref, open_repository, read_ref, read_signatures
from gitprun.git.repo import Repository, read_checkouts, require_seen_checkout
from gitprun.ledger.events import UnitState
from gitprun.ledger.ledger import Ledger, Reading
from gitprun.ledger.review import unit_folder
from gitprun.ledger.roster import NAMED, colliding, make_idle, parse_name, roster
from gitprun.ledger.unit_events import WorkspaceMade
from gitprun.model.errors import GitFailed, OperationRefused, PrunError
from gitprun.model.escapes import shell_word
from gitprun.model.names import PRUN_BRANCHES, ZERO, Oid, UnitId, kept_ref
from gitprun.model.units import WorkspaceKind
from gitprun.registry.branches import require_own_branch_name
from gitprun.registry.fork import find_fork
from gitprun.registry.guard import require_lonely, within
from gitprun.registry.make import PATIENCE
from gitprun.registry.open_workspace import KNOWN, alone, open_workspace_capture, pin_name
from gitprun.system.btime import folder_birth
from gitprun.system.files import folder_identity, locked, read_plain, write_whole
from gitprun.workspaces.base import QUIET
from gitprun.workspaces.clone import read_source
from gitprun.workspaces.worktree import admin_folder

# A git configuration is a few kilobytes; this one lies where a worker can write.
MAX_CONFIG = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Adopted:
    """A workspace that was taken in: what it stands on, and where the work that is in no commit is pinned."""

    unit: UnitState
    saved: str | None
    kept: tuple[str, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Folder:
    """What a folder turned out to be; ``head`` is the commit checked out there."""

    kind: WorkspaceKind
    branch: str
    head: Oid


def adopt(
    repository: Repository, ledger: Ledger, path: Path, *, name: str | None = None, branch: str | None = None
) -> Adopted:
    """Take a linked worktree, or a clone without a remote, in as a named workspace where it lies.

    ``branch`` is the one the commits of a clone come to (default: the clone's own, if it is free here). Raises
    OperationRefused, with neither ledger row nor branch made.
    """
    path = _require_folder(path)
    require_seen_checkout(repository)
    with locked(repository.state / "locks" / "named.lock", timeout=PATIENCE, doing="making a workspace"):
        reading = ledger.read()
        _require_unknown(reading, path)
        own = _choose_name(reading, path, name)
        found = _recognise(repository, path)
        require_lonely(repository, path)
        unit = make_idle(own, _made(path, found, found.head))
        folder = unit_folder(repository.state, unit)
        # Left of another workspace: its index would be taken for this one's.
        if folder.exists():
            raise OperationRefused(f"{folder} is there already", "choose another name: --as NAME")
        with alone(repository, unit):
            try:
                return _take_in(repository, ledger, reading, unit, found, branch)
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise


def _require_folder(path: Path) -> Path:
    if folder_identity(path) is None:
        what = "a link" if path.is_symlink() else "no folder"
        raise OperationRefused(f"{path} is {what}", "name the folder itself")
    return Path(os.path.realpath(path))


def _require_unknown(reading: Reading, path: Path) -> None:
    units = [unit for run in reading.history.runs.values() for unit in run.units.values()]
    for unit in (*units, *roster(reading.events).units.values()):
        # Where a workspace was removed anybody may have put a folder since.
        if not unit.there:
            continue
        place = os.path.realpath(unit.path)
        if place == str(path):
            name = unit.id if unit.run == NAMED else f"{unit.run}/{unit.id}"
            raise OperationRefused(f"{path} is known already, as {name}", "git prun workspace list shows it")
        if within(str(path), place):
            raise OperationRefused(f"{path} lies in the workspace {unit.path}", "name the workspace itself")


def _choose_name(reading: Reading, path: Path, name: str | None) -> UnitId:
    if name is None:
        # A folder may be called anything, and a name becomes a part of refs.
        name = re.sub(r"[^A-Za-z0-9_-]+", "-", path.name).strip("-") or "workspace"
    own, known = parse_name(name), roster(reading.events).units
    other = colliding(own, known)
    if other is not None:
        raise OperationRefused(f"the workspace {other} is in the way of {own}", "choose another name: --as NAME")
    return own


def _recognise(repository: Repository, path: Path) -> _Folder:
    """Return what a folder is, from this repository's own records and from plain files; no git runs in there."""
    checkouts = read_checkouts(repository.git)
    # Git lists the main checkout first; prun moves, resets and removes workspaces, which that must never be.
    if any(os.path.realpath(row.path) == str(path) for row in checkouts[:1]):
        raise OperationRefused(f"{path} is your main checkout", "only a linked worktree or a clone can be taken in")
    admin = admin_folder(repository.common, path)
    if admin is not None:
        return _recognise_worktree(repository, path, admin)
    if folder_identity(path / ".git") is None:
        raise OperationRefused(
            f"{path} is neither a linked worktree of this repository nor a clone of it",
            "git worktree repair mends a worktree that was moved by hand",
        )
    return _recognise_clone(repository, path)


def _recognise_worktree(repository: Repository, path: Path, admin: Path) -> _Folder:
    head = read_head(admin / "HEAD")
    if not head.startswith("refs/heads/"):
        how = f"git -C {shell_word(str(path))} switch -c {shell_word(path.name)}, then try again"
        raise OperationRefused(f"{path} is on no branch", how)
    tip = read_ref(open_repository(repository.common), head)
    if tip is None:
        raise OperationRefused(
            f"the branch {head.removeprefix('refs/heads/')} of {path} has no commit yet", "make one first"
        )
    return _Folder(kind="worktree", branch=head.removeprefix("refs/heads/"), head=tip)


def _recognise_clone(repository: Repository, path: Path) -> _Folder:
    settings = read_plain(path / ".git" / "config", MAX_CONFIG)
    if settings is None:
        raise OperationRefused(f"{path}/.git has no configuration that can be read", "it is no clone git could use")
    try:
        # On stdin and without includes: a file of a worker's is read, and nothing it names.
        words = ("config", "--file", "-", "--no-includes", "--list", "-z", "--name-only")
        keys = Git(cwd=repository.common).run(*words, stdin=settings).fields
    except GitFailed as problem:
        raise OperationRefused(f"the configuration of {path} cannot be read: {problem.message}") from None
    if any(key.startswith(b"remote.") for key in keys):
        raise OperationRefused(
            f"{path} has a remote, so it is a repository of its own", "take its branch over instead: git fetch PATH"
        )
    head = read_worker_refs(path / ".git", frozenset()).tips.get("head")
    if head is None:
        raise OperationRefused(f"{path} has no commit checked out", "there is nothing to take in")
    name = read_head(path / ".git" / "HEAD")
    return _Folder(kind="clone", branch=name.removeprefix("refs/heads/"), head=head)


def _take_in(
    repository: Repository, ledger: Ledger, reading: Reading, unit: UnitState, found: _Folder, branch: str | None
) -> Adopted:
    repo, folder = open_repository(repository.common), unit_folder(repository.state, unit)
    folder.mkdir(parents=True)
    # Written down before anything is captured: what the user's refs name is no work of anybody in there.
    known = read_source(repository).tips
    known |= _of_history(repository, Path(unit.path), found, known)
    write_whole(folder / KNOWN, json.dumps(sorted(known)).encode())
    kept: tuple[tuple[str, Oid], ...] = ()
    if found.kind == "clone":
        # Any commit of the user's will do as a base while the clone's own are brought over; theirs may not be here yet.
        some = next((Oid(row.head) for row in read_checkouts(repository.git) if row.head.strip("0")), None)
        kept = pin_commits(_open(repository, unit, some or found.head), NAMED, unit.id)
        found = replace(found, branch=_choose_branch(repository, unit, found, branch))
    base = _base(repository, found)
    # What a worktree's branch has already is work of it, too; a clone's base is where that begins.
    fork = base if found.kind == "clone" else find_fork(repository, reading.events, found.branch, base)
    adopted = _made(Path(unit.path), found, fork)
    unit = make_idle(unit.id, adopted)
    site = _open(repository, unit, base)
    try:
        captured = capture(site, NAMED, unit.id)
    except CaptureProblem as problem:
        raise OperationRefused(problem.message, problem.hint) from None
    saved = None
    if captured.changed:
        saved = kept_ref(NAMED, unit.id, "adopted")
        message = f"{unit.id}: what was in the folder when it was taken in\n\nWorkspace: {unit.id}\n"
        text = CommitText(message=message, who=read_signatures(repository.git))
        commit_capture(site, captured, saved, text, read_ref(repo, saved) or ZERO)
    made = found.kind == "clone" and read_ref(repo, f"refs/heads/{found.branch}") is None
    try:
        # Branch and pin first: a row without them would name a workspace that cannot be opened.
        if made:
            move_ref(repo, f"refs/heads/{found.branch}", base, ZERO, "prun: made for a workspace that was taken in")
        move_ref(repo, pin_name(unit.id), base, read_ref(repo, pin_name(unit.id)) or ZERO, "prun: base of a workspace")
        ledger.append(adopted.into(WorkspaceMade, adopted=True), run=NAMED, unit=unit.id)
    except BaseException:
        delete_ref(repo, pin_name(unit.id), base)
        if made:
            delete_ref(repo, f"refs/heads/{found.branch}", base)
        raise
    left = tuple(f"{row.path} is left out: {row.reason}" for row in captured.left_out)
    names = tuple(dict.fromkeys(ref for ref, _ in (*kept, *captured.kept)))
    return Adopted(unit=unit, saved=saved, kept=names, notes=(*captured.notes, *left))


def _of_history(repository: Repository, path: Path, found: _Folder, known: frozenset[str]) -> frozenset[str]:
    """List the tips of a clone that are part of the user's own history: nobody's work there."""
    if found.kind == "worktree":
        return frozenset()
    repo = open_repository(repository.common)
    tips = [oid for oid in read_worker_refs(path / ".git", known).tips.values() if oid in repo]
    if not tips:
        return frozenset()
    new = set(repository.git.run("rev-list", *tips, "--not", "--branches", "--tags", "--remotes").text.split("\n"))
    return frozenset(oid for oid in tips if oid not in new)


def _open(repository: Repository, unit: UnitState, base: Oid) -> CaptureContext:
    """Open the folder for capture, with an index of our own that knows nothing but a commit."""
    index = unit_folder(repository.state, unit) / "index"
    env = {"GIT_DIR": str(repository.common), "GIT_INDEX_FILE": str(index)}
    # The folder's own index may say anything of its files; from this one every file is looked at anew.
    Git(cwd=repository.common, env=env, config=QUIET).run("read-tree", base)
    return open_workspace_capture(repository, unit, base=base)


def _base(repository: Repository, found: _Folder) -> Oid:
    """Find the commit the work in a folder is to be compared with: of a clone the newest that this repository has."""
    if found.kind == "worktree":
        return found.head
    if found.head not in open_repository(repository.common):
        raise OperationRefused(
            f"the commit {found.head[:10]} that is checked out there could not be taken over",
            "the clone may be damaged; git fsck there tells",
        )
    # The user's own history; our pins of the clone's commits are no part of it.
    held = ("--branches", "--tags", "--remotes", "HEAD")
    rows = repository.git.run("rev-list", "--boundary", "--topo-order", found.head, "--not", *held).text.split("\n")
    known = [Oid(row[1:]) for row in rows if row.startswith("-")]
    # Everything that is checked out there is in this repository already.
    if rows == [""]:
        return found.head
    if not known:
        raise OperationRefused("the clone shares no commit with this repository", "it is no clone of it")
    return known[0]


def _choose_branch(repository: Repository, unit: UnitState, found: _Folder, branch: str | None) -> str:
    """Choose the branch here that the commits of a clone come to."""
    repo = open_repository(repository.common)
    # A branch below prun/ would read as a unit's, and land as one.
    own = found.branch if not found.branch.startswith(PRUN_BRANCHES) else ""
    for name in (branch,) if branch else (own, f"adopted/{unit.id}"):
        if not name:
            continue
        try:
            require_own_branch_name(repository.git, name)
        except PrunError:
            if branch:
                raise
            continue
        if read_ref(repo, f"refs/heads/{name}") is None:
            return name
    raise OperationRefused(
        f"the branch {branch or f'adopted/{unit.id}'} exists already", "choose another one: --branch NAME"
    )


def _made(path: Path, found: _Folder, base: Oid) -> WorkspaceMade:
    return WorkspaceMade(
        workspace=found.kind,
        path=str(path),
        identity=folder_identity(path) or (0, 0),
        birth=folder_birth(path),
        branch=found.branch,
        base=base,
        provided=(),
        notes=(),
        setup="none",
    )

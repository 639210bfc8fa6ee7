"""What a workspace is, and what all kinds of it share."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from gitprun.model.errors import GitFailed, GitTimeout, PrunError
from gitprun.model.names import RunId, UnitId
from gitprun.model.units import WorkspaceKind
from gitprun.system.files import folder_identity, read_plain
from gitprun.system.sharing import make_private

# The folder inside a workspace where the worker writes its result: the one place every sandbox lets it write.
OUTBOX = ".prun"

# How git fills and reads a workspace: no program of the checkout runs, and every change of a file is seen,
# whatever the user's own configuration says for other checkouts.
QUIET = (
    "core.hooksPath=/dev/null",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "core.fsmonitor=false",
    "core.ignoreStat=false",
    "core.trustctime=true",
    "core.checkStat=default",
    "submodule.recurse=false",
)


# More than any file of submodule settings that is worth reading.
MODULES_MAX = 1_000_000


class WorkspaceProblem(PrunError):
    """A workspace could not be made; nothing of it is left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Workspace:
    """A folder a unit works in.

    ``identity`` is device and inode of the folder when it was made; ``index`` a private copy of its index (None:
    no checkout), ``provided`` the paths prun copied or linked in, ``notes`` what a user should know about it.
    """

    kind: WorkspaceKind | None
    path: Path
    identity: tuple[int, int]
    branch: str | None = None
    index: Path | None = None
    provided: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Provision:
    """What of the user's checkout a workspace is given: untracked paths that are copied into it, and linked."""

    copy: Sequence[str] = ()
    link: Sequence[str] = ()


def require_room(root: Path, path: Path) -> None:
    """Make the folder above a workspace and check that the workspace itself is not there yet."""
    try:
        make_private(path.parent)
        if folder_identity(path.parent) is None:
            raise WorkspaceProblem(
                f"{path.parent} is a link or no folder", "workspaces need a real folder of their own"
            )
    except OSError as problem:
        raise WorkspaceProblem(
            f"the workspace folder {root} cannot be used: {problem.strerror}",
            'set another one: [workspace] root = "/path" in prun.toml',
        ) from None
    # Never filled over: somebody's work may lie there, and would be taken for the unit's.
    if os.path.lexists(path):
        raise WorkspaceProblem(f"{path} is already there", "remove it, or choose another root for workspaces")


def explain_checkout(problem: GitFailed | GitTimeout, path: Path) -> WorkspaceProblem:
    """Turn git's complaint about a checkout into one line with a hint."""
    if isinstance(problem, GitTimeout):
        return WorkspaceProblem(f"the checkout in {path} did not end: {problem.message}", "is a filter waiting?")
    lines = [line.strip() for line in problem.stderr.splitlines() if line.strip()]
    wanted = next((line for line in lines if "external filter" in line or "smudge filter" in line), None)
    if wanted:
        missing = next((line for line in lines if "not found" in line or "No such file" in line), wanted)
        return WorkspaceProblem(
            f"the checkout needs a filter program that does not work: {wanted.removeprefix('error: ')}",
            f"install it ({missing.removeprefix('error: ')})" if missing != wanted else "install it, then run again",
        )
    # Git tells a full disk for what it is only while it writes objects.
    signs = ("No space left", "unable to write file", "disk")
    full = next((line for line in lines if any(sign in line for sign in signs)), None)
    if full:
        return WorkspaceProblem(f"the checkout in {path} failed: {full}", "free some space, then run again")
    return WorkspaceProblem(f"the checkout in {path} failed: {lines[0] if lines else problem.message}")


def provide(top: Path | None, path: Path, copy: Sequence[str], link: Sequence[str]) -> tuple[list[str], list[str]]:
    """Copy or link untracked things of the user's checkout into a workspace; returns their paths, and notes."""
    provided, notes = [], []
    for name, linked in [*((name, False) for name in copy), *((name, True) for name in link)]:
        source = top / name if top else None
        target = path / name
        if source is None or not os.path.lexists(source):
            notes.append(f"{name} is configured to be {'linked' if linked else 'copied'} but is not in your checkout")
            continue
        # The base's own version is what the unit works on; a copy of the user's would show as a change.
        if os.path.lexists(target):
            notes.append(f"{name} is tracked, so the workspace has its own: neither copied nor linked")
            continue
        # A tracked link in the place of a folder would have us write where it leads.
        if not _parent_inside(path, target):
            notes.append(f"{name} lies behind a link of the workspace: neither copied nor linked")
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        if linked:
            target.symlink_to(source, target_is_directory=source.is_dir())
        else:
            _copy(source, target, name)
        provided.append(name)
    return provided, notes


def _parent_inside(path: Path, target: Path) -> bool:
    return Path(os.path.realpath(target.parent)).is_relative_to(os.path.realpath(path))


def _copy(source: Path, target: Path, name: str) -> None:
    """Copy a file or a folder; links inside a folder stay links."""
    try:
        if source.is_dir():
            shutil.copytree(source, target, symlinks=True)
        elif source.is_file():
            shutil.copy2(source, target)
        else:
            raise WorkspaceProblem(f"{name} in your checkout is no plain file", "take it out of [workspace] copy")
    except shutil.Error as problem:
        first = problem.args[0][0][2] if problem.args and problem.args[0] else problem
        raise WorkspaceProblem(f"{name} could not be copied: {first}", "take it out of [workspace] copy") from None


def make_outbox(path: Path) -> None:
    """Make the folder for the worker's result; it hides itself from git."""
    outbox = path / OUTBOX
    try:
        outbox.mkdir()
    except FileExistsError:
        raise WorkspaceProblem(
            f"the base holds a path {OUTBOX}, which prun needs for itself", f"git rm -r {OUTBOX}, then run again"
        ) from None
    (outbox / ".gitignore").write_text("*\n")


def workspace_path(root: Path, run: RunId, unit: UnitId) -> Path:
    """Return the folder of a unit."""
    return root / run / unit


def empty_submodules(path: Path) -> list[str]:
    """List the submodules of a workspace that nothing is in: clones and linked worktrees begin with empty folders."""
    return [name for name in list_submodules(path) if _is_empty_inside(path, name)]


def list_submodules(path: Path) -> list[str]:
    """List the paths that the submodule settings of a checkout name; anything can stand there."""
    listing = read_plain(path / ".gitmodules", MODULES_MAX) or b""
    names = re.findall(rb"^[ \t]*path[ \t]*=[ \t]*(.+?)[ \t\r]*$", listing, re.MULTILINE)
    return [name.removeprefix('"').removesuffix('"') for name in map(os.fsdecode, names)]


def _is_empty_inside(path: Path, name: str) -> bool:
    """Check whether a folder below another one is there, and empty; any name can stand in such a file."""
    folder = path / name
    # The file came with the base, so a name in it may lead anywhere.
    if os.path.isabs(name) or ".." in folder.parts or os.path.islink(folder):
        return False
    try:
        with os.scandir(folder) as entries:
            return not any(entries)
    except OSError:
        return False

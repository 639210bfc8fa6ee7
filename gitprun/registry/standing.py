"""Where a unit's workspace stands: moved to what was captured of it, and whether somebody committed there since."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from gitprun.capture.context import CaptureContext
from gitprun.capture.worker_refs import read_clone_head, read_worktree_head
from gitprun.git.command import Git
from gitprun.git.refs import move_ref, open_repository, read_ref, require_object
from gitprun.git.repo import Repository
from gitprun.git.trees import tree_of
from gitprun.ledger.events import UnitState
from gitprun.ledger.unit_events import UnitCaptured
from gitprun.model.errors import PrunError
from gitprun.model.lists import listed
from gitprun.model.names import Oid, kept_ref, short, unit_branch, unit_ref
from gitprun.system.files import write_whole
from gitprun.workspaces.worktree import admin_folder


def show_in_worktree(repository: Repository, site: CaptureContext, commit: Oid) -> UnitCaptured:
    """Move a linked worktree to the captured commit, unless it is on a branch of somebody's; return a note."""
    workspace, common = site.workspace, repository.common
    admin = admin_folder(common, workspace.path)
    try:
        # It was brought over just now: a worktree must not stand on what is not whole here.
        require_object(site.repo, commit)
        if workspace.branch is not None:
            # Made by a prun that gave units branches of their own.
            name = f"refs/heads/{workspace.branch}"
            before = read_ref(site.repo, name)
            if before is not None:
                move_ref(site.repo, name, commit, before, "prun: captured")
        elif admin is not None:
            head = read_worktree_head(common, workspace.path)
            # Somebody checked a branch out there: it would be moved under their hands.
            if head.startswith("refs/"):
                note = f"{workspace.path} is on {head.removeprefix('refs/heads/')} and was left there"
                return UnitCaptured(branch_note=note)
            git = Git(cwd=common, env={"GIT_DIR": str(admin)}, neutral=True)
            git.run("update-ref", "--no-deref", "-m", "prun: captured", "HEAD", commit, head)
        if admin is not None and workspace.index is not None:
            # What is checked out changed under it: with this index `git status` there shows a clean worktree again.
            write_whole(admin / "index", workspace.index.read_bytes(), mode=0o644)
    except (PrunError, OSError) as problem:
        return UnitCaptured(branch_note=str(problem))
    return UnitCaptured()


def describe_later(repository: Repository, unit: UnitState) -> str:
    """List which commits were made on a unit's work after it was captured: nothing proved those. Empty without any."""
    if unit.commit is None:
        return ""
    name, repo = f"{unit.run}/{unit.id}", open_repository(repository.common)
    pinned = read_ref(repo, unit_ref(unit.run, unit.id))
    if pinned is not None and pinned != unit.commit:
        now, then = short(pinned), short(unit.commit)
        return (
            f"{unit_ref(unit.run, unit.id)} is at {now} now, and not at {then}, which was captured of it;"
            f" git prun merge {now} lands the one, git update-ref {unit_ref(unit.run, unit.id)} {then} brings the other"
            " back"
        )
    own = f"refs/heads/{unit_branch(unit.run, unit.id)}"
    for where, tip, way in (
        *((unit.path, tip, f"git prun collect {name} takes them in") for tip in _heads(repository, unit)),
        (own, read_ref(repo, own) or "", f"git prun merge {own} lands them"),
    ):
        count, subjects = _read_later(repository, unit, tip)
        if count:
            many = "commit was" if count == "1" else "commits were"
            return f"{count} {many} made in {where} after its work was captured ({subjects}); {way}"
    return ""


def _heads(repository: Repository, unit: UnitState) -> Iterator[str]:
    """Find what is checked out in a workspace, where that is no branch of the user's."""
    path, kind = unit.path, unit.workspace
    if not path or unit.removed:
        return
    if kind == "worktree":
        head = read_worktree_head(repository.common, Path(str(path)))
        if not head.startswith("refs/"):
            yield head
    elif kind == "clone":
        yield read_clone_head(Path(str(path)) / ".git")


def _read_later(repository: Repository, unit: UnitState, tip: str) -> tuple[str, str]:
    """Count the commits that neither what was captured nor what was kept beside it has, and name the newest."""
    repo = open_repository(repository.common)
    known = {unit.commit, unit.base, *(oid for _, oid in unit.kept), *(row.oid for row in unit.rejected)}
    if not tip or tip in known:
        return "", ""
    if tip not in repo:
        # A clone's own; what is in there is read when it is collected.
        return "some", f"up to {short(tip)}"
    if tree_of(repo, Oid(tip)) == tree_of(repo, Oid(str(unit.commit))):
        # Committed anew, with another message: all of it is there.
        return "", ""
    # What other branches have was not made there, only looked at; what is kept of the unit was seen by a capture.
    own, kept = f"--exclude={unit_branch(unit.run, unit.id)}", f"--glob={kept_ref(unit.run, unit.id, '*')}"
    others = (own, "--branches", "--tags", "--remotes", "--glob=refs/prun/base-tips", kept)
    words = ("rev-list", "--no-commit-header", "--format=%h %s", tip, "--not", *others)
    there = (oid for oid in known if oid and oid in repo)
    rows = repository.git.run(*words, *there).out.decode("utf-8", "replace").split("\n")[:-1]
    return str(len(rows)) if rows else "", listed(rows, between="; ")

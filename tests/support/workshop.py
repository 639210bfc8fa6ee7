"""A unit's workspace as a run makes it, to be worked in by a test and then captured or removed."""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gitprun.capture.capture import Capture, CaptureContext, CommitText, capture, commit_capture
from gitprun.git.refs import move_ref, open_repository, read_ref, read_signatures
from gitprun.ledger.events import RunState, UnitState
from gitprun.model.names import ZERO, Oid, RunId, UnitId, base_ref, unit_branch, unit_ref
from gitprun.model.units import WorkspaceKind
from gitprun.registry.remove import Removal, remove_workspace
from gitprun.workspaces.base import make_outbox, provide
from gitprun.workspaces.clone import make_clone, read_source
from gitprun.workspaces.gitdir import make_own_git
from gitprun.workspaces.pins import pin_source
from gitprun.workspaces.worktree import make_worktree
from tests.support.repos import Repo
from tests.support.rows import payload_of

RUN = RunId("r1")


@dataclass(frozen=True, slots=True)
class Workshop:
    """One unit between its preparation and its end; ``work`` is its workspace, driven like any checkout."""

    repo: Repo
    unit: UnitId
    site: CaptureContext
    work: Repo

    @property
    def path(self) -> Path:
        """Give the workspace's folder."""
        return self.work.path

    def capture(self) -> Capture:
        """Capture what is in the workspace now."""
        return capture(self.site, RUN, self.unit)

    def commit(self, found: Capture) -> Oid:
        """Make the unit's one commit of a capture."""
        who = read_signatures(self.repo.repository.git)
        return commit_capture(self.site, found, unit_ref(RUN, self.unit), CommitText(message=f"{self.unit}\n", who=who))

    def files(self, found: Capture) -> dict[str, str]:
        """Read what the captured tree holds and the base does not, ``-`` for what is gone."""
        # Before it is committed, a captured tree lies with the capture only.
        env = {"GIT_DIR": str(self.site.own)}
        words = ("diff-tree", "-r", "-z", "--no-renames", self.site.base, found.tree)
        rows = self.repo.git(*words, env=env).split("\0")[:-1]
        files = {}
        for about, name in zip(rows[::2], rows[1::2], strict=True):
            _, mode, _, oid, status = about.split(" ")
            files[name] = "-" if status == "D" else f"{mode} {self.repo.git('cat-file', '-p', oid, env=env)}"
        return files

    def refs(self) -> dict[str, str]:
        """Read the refs that pin this unit's own commits, by channel."""
        prefix = f"refs/prun/kept/{RUN}/{self.unit}/"
        rows = self.repo.git("for-each-ref", "--format=%(refname) %(objectname)", prefix).splitlines()
        return {name.removeprefix(prefix): oid for name, oid in (row.split(" ") for row in rows)}

    def finish(self, state: str = "ready") -> Capture:
        """Capture, pin the commit if there is one, and write it all into the ledger."""
        found, ledger = self.capture(), self.repo.ledger
        facts: dict[str, object] = {
            "tree": found.tree,
            "kept": [list(row) for row in found.kept],
            "own_commits": list(found.own_commits),
        }
        if found.changed:
            facts["commit"] = self.commit(found)
        ledger.append(payload_of("unit.captured", facts), run=RUN, unit=self.unit)
        ledger.append(payload_of("unit.finished", {"state": state}), run=RUN, unit=self.unit)
        return found

    def state(self) -> tuple[RunState, UnitState]:
        """Read what the ledger says about the run and the unit."""
        run = self.repo.ledger.read().history.runs[RUN]
        return run, run.units[self.unit]

    def remove(self, *, discard: bool = False) -> Removal:
        """Remove the workspace as ``git prun remove`` does."""
        return remove_workspace(self.repo.repository, self.repo.ledger, *self.state(), discard_left_out=discard)


def open_workshop(
    repo: Repo,
    root: Path,
    kind: WorkspaceKind = "clone",
    *,
    unit: str = "u",
    base: str = "HEAD",
    max_file: int = 1_000_000,
    copy: Sequence[str] = (),
    link: Sequence[str] = (),
) -> Workshop:
    """Prepare a workspace the way a run does, with its index kept and its facts in the ledger."""
    repository, unit_id = repo.repository, UnitId(unit)
    commit, path = repo.oid(base), root / RUN / unit
    branch, source = unit_branch(RUN, unit_id), read_source(repository)
    store = open_repository(repository.common)
    if read_ref(store, base_ref(RUN)) is None:
        move_ref(store, base_ref(RUN), commit, ZERO, "test")
        repo.ledger.append(payload_of("run.started", {"base": commit}), run=RUN)
    if kind == "clone":
        workspace = make_clone(source, path, commit, branch)
    else:
        workspace = make_worktree(repository, path, commit, branch)
    provided, notes = provide(repository.top, path, copy, link)
    kept = repository.state / "runs" / RUN / unit / "index"
    kept.parent.mkdir(parents=True)
    shutil.copy2(Repo(path).git("rev-parse", "--path-format=absolute", "--git-path", "index"), kept)
    own = make_own_git(repository, kept, commit, worktree=path if kind == "worktree" else None)
    make_outbox(path)
    workspace = replace(workspace, index=kept, provided=tuple(provided), notes=(*workspace.notes, *notes))
    facts = {"workspace": kind, "path": str(path), "identity": list(workspace.identity), "branch": branch}
    repo.ledger.append(payload_of("unit.prepared", {**facts, "provided": provided}), run=RUN, unit=unit_id)
    site = CaptureContext(
        repository=repository,
        repo=store,
        workspace=workspace,
        base=commit,
        max_file=max_file,
        own=own,
        known=source.tips | {commit},
        alternates=source.alternates,
    )
    return Workshop(repo, unit_id, site, Repo(path))


def fingerprint(path: Path, *, without: Sequence[str] = ()) -> dict[str, str]:
    """Describe every file below a folder by type, mode and content, but not what lies in ``without``."""
    found = {}
    for folder, folders, files in os.walk(path):
        inside = os.path.relpath(folder, path)
        folders[:] = [name for name in folders if os.path.normpath(os.path.join(inside, name)) not in without]
        for name in [*files, *(name for name in folders if os.path.islink(os.path.join(folder, name)))]:
            full = os.path.join(folder, name)
            mode = os.lstat(full).st_mode
            content = os.readlink(full) if os.path.islink(full) else hashlib.sha1(Path(full).read_bytes()).hexdigest()
            found[os.path.normpath(os.path.join(inside, name))] = f"{mode:o} {content}"
    return found


def pinned(repo: Repo, root: Path) -> Repo:
    """Make a clone of what a repository has, pinned as a run pins it."""
    source = pin_source(repo.repository, "r1", read_source(repo.repository), repo.head)
    return Repo(make_clone(source, root / "r1" / "u", repo.head, "prun/r1/u").path)

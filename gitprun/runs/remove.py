"""Take workspaces away: captured again first, never through a link, never the only copy of anything."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pygit2

from gitprun.collect.capture import Site, capture, commit_capture
from gitprun.collect.screen import within
from gitprun.errors import Refused
from gitprun.git.refs import delete_ref, open_repository, read_ref, read_signatures
from gitprun.git.repo import Repository
from gitprun.names import Oid, RunId, UnitId, kept_ref
from gitprun.plan import DEFAULT_MAX_FILE
from gitprun.runs.events import RunState, UnitState
from gitprun.runs.ledger import Ledger
from gitprun.runs.lookup import probe_unit
from gitprun.system.files import folder_identity, remove_tree
from gitprun.workspaces.base import OUTBOX, Workspace
from gitprun.workspaces.clone import read_source
from gitprun.workspaces.worktree import remove_worktree

SHOWN = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Removal:
    """What became of one workspace: removed or not, what was pinned before, which ignored files went with it."""

    run: str
    unit: str
    path: str
    removed: bool
    saved: str | None = None
    ignored: tuple[str, ...] = ()
    reason: str = ""


def remove_workspace(
    repository: Repository, ledger: Ledger, run: RunState, unit: UnitState, *, discard_left_out: bool = False
) -> Removal:
    """Remove the workspace of one unit; raises Refused, with nothing changed, when something would be lost."""
    path = Path(str(unit.facts.get("path", "")))
    name = f"{unit.run}/{unit.id}"
    if probe_unit(run, unit).live:
        raise Refused(f"{name} is still {unit.state}", "stop its run first (Ctrl-C), or wait")
    if unit.facts.get("removed") or not unit.facts.get("path"):
        return Removal(run=unit.run, unit=unit.id, path=str(path), removed=False, reason="it has no workspace")
    identity = (unit.facts["identity"][0], unit.facts["identity"][1])
    saved: str | None = None
    ignored: tuple[str, ...] = ()
    if not os.path.lexists(path):
        pass
    elif folder_identity(path) != identity:
        raise Refused(f"{path} is not the folder prun made for {name}", "look at it; prun leaves it alone")
    elif unit.facts["workspace"] == "scratch":
        found = sorted(entry for entry in os.listdir(path) if entry != OUTBOX)
        if found and not discard_left_out:
            raise Refused(
                f"{name} was read-only, yet {path} holds {', '.join(found[:SHOWN])}",
                "take what you need, then: git prun remove --discard-left-out " + name,
            )
    else:
        saved, ignored = _save(repository, unit, path, identity, discard_left_out)
    ledger.append(
        "workspace.removing", run=unit.run, unit=unit.id, facts={"saved": saved, "ignored": list(ignored[:SHOWN])}
    )
    if unit.facts["workspace"] == "worktree":
        remove_worktree(repository, path, identity)
        _drop_branch(repository, unit)
    elif os.path.lexists(path):
        remove_tree(path, identity)
    ledger.append("workspace.removed", run=unit.run, unit=unit.id, facts={"removed": True})
    _tidy_parents(path)
    return Removal(run=unit.run, unit=unit.id, path=str(path), removed=True, saved=saved, ignored=ignored)


def _save(
    repository: Repository, unit: UnitState, path: Path, identity: tuple[int, int], discard: bool
) -> tuple[str | None, tuple[str, ...]]:
    """Capture the workspace once more; pin what differs from the unit's commit, refuse over what cannot be pinned."""
    repo = open_repository(repository.common)
    source = read_source(repository)
    index = repository.state / "runs" / unit.run / unit.id / "index"
    if not index.is_file():
        raise Refused(f"the index kept for {unit.run}/{unit.id} is gone", f"look at {path} and remove it yourself")
    workspace = Workspace(
        kind=unit.facts["workspace"],
        path=path,
        identity=identity,
        branch=unit.facts.get("branch"),
        index=index,
        provided=tuple(unit.facts.get("provided", ())),
    )
    base = _base(unit, repository)
    site = Site(
        repository=repository,
        repo=repo,
        workspace=workspace,
        base=base,
        max_file=DEFAULT_MAX_FILE,
        known=frozenset({oid for _, oid, _ in source.refs} | {base}),
        alternates=os.fsencode(source.objects) + b"\n",
    )
    run_id, unit_id = RunId(unit.run), UnitId(unit.id)
    found = capture(site, run_id, unit_id)
    lost = [row for row in found.left_out if not row.reason.startswith("build output")]
    if lost and not discard:
        names = ", ".join(f"{row.path} ({row.reason})" for row in lost[:SHOWN])
        raise Refused(
            f"{path} holds what is in no commit: {names}",
            f"take what you need, then: git prun remove --discard-left-out {unit.run}/{unit.id}",
        )
    saved = None
    captured = str(unit.facts.get("tree") or repo[base].peel(pygit2.Tree).id)
    if found.changed and found.tree != captured:
        saved = kept_ref(run_id, unit_id, "left-in-workspace")
        message = f"{unit.id}: left in the workspace when it was removed\n\nUnit: {unit.run}/{unit.id}\n"
        old = read_ref(repo, saved)
        commit_capture(site, found, saved, message, read_signatures(repository.git), *([old] if old else []))
    ignored = site.git.run("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory").fields
    shown = [os.fsdecode(row) for row in ignored]
    hidden = (OUTBOX, *workspace.provided)
    return saved, tuple(row for row in shown if not within(row.rstrip("/"), hidden))


def _base(unit: UnitState, repository: Repository) -> Oid:
    repo = open_repository(repository.common)
    base = read_ref(repo, f"refs/prun/base/{unit.run}")
    if base is None:
        raise Refused(f"the base of run {unit.run} is no longer pinned", "look at the workspace and remove it yourself")
    return base


def _drop_branch(repository: Repository, unit: UnitState) -> None:
    """Delete the branch prun made for a linked worktree, if it holds nothing but what is pinned."""
    repo = open_repository(repository.common)
    name = f"refs/heads/{unit.facts.get('branch')}"
    at = read_ref(repo, name)
    pinned = {unit.commit, str(read_ref(repo, f"refs/prun/base/{unit.run}"))} | {
        oid for _, oid in unit.facts.get("kept", ())
    }
    if at is not None and at in pinned:
        delete_ref(repo, name, at)


def _tidy_parents(path: Path) -> None:
    """Remove the folders above a workspace that are empty now: the run's, and the repository's."""
    for folder in (path.parent, path.parent.parent):
        try:
            folder.rmdir()
        except OSError:
            return


def removable(run: RunState) -> Sequence[UnitState]:
    """List the units of a run whose workspace is there and whose work is over."""
    return [u for u in run.units.values() if u.facts.get("path") and not u.facts.get("removed") and not u.live]

"""What a workspace that goes still holds beside the unit's commit: captured, kept as plain files, or asked for."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pygit2

from gitprun.capture.capture import Capture, CaptureProblem, CommitText, capture, commit_capture
from gitprun.capture.context import CaptureContext, exact_rule
from gitprun.capture.screen import goes_along, within
from gitprun.capture.tree_scan import cannot_follow
from gitprun.git.refs import open_repository, read_ref, read_signatures
from gitprun.git.repo import Repository
from gitprun.ledger.events import UnitState
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.review import unit_folder
from gitprun.ledger.rows import LeavingRow
from gitprun.model.errors import OperationRefused
from gitprun.model.names import Oid, RunId, UnitId, base_ref, kept_ref
from gitprun.model.plan import DEFAULT_MAX_FILE
from gitprun.registry.find import name_of
from gitprun.registry.guard import identity_of
from gitprun.registry.ignored import keep_files, precious_of, require_small
from gitprun.registry.precious import KeptFiles, Precious
from gitprun.system.files import folder_identity
from gitprun.workspaces.base import OUTBOX, Workspace
from gitprun.workspaces.clone import read_source
from gitprun.workspaces.gitdir import ensure_own_git
from gitprun.workspaces.pins import started_with

# A screen of names; the rest is in the same folder.
SHOWN = 20
# One line of a terminal holds no more, and the end of a path says more than its middle.
LONG = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Rest:
    """What was saved of a workspace about to go: the ref of what was in no commit, ignored files kept and gone."""

    saved: str | None = None
    ignored: tuple[str, ...] = ()
    kept: KeptFiles | None = None
    discarded: tuple[str, ...] = ()

    @property
    def row(self) -> LeavingRow:
        """Return it as it is written down."""
        row = LeavingRow(saved=self.saved, ignored=self.ignored[:SHOWN])
        return row.into(LeavingRow, kept_files=self.kept.folder) if self.kept else row


@dataclass(frozen=True, slots=True, kw_only=True)
class RestRules:
    """What happens to the ignored files of a workspace about to go; ``advice`` is how to insist where that is refused.

    ``discard``: they go with it; ``keep_all``: they are kept, however many.
    """

    advice: str
    discard: bool
    keep_all: bool = False


def keep_rest(
    repository: Repository,
    ledger: Ledger,
    unit: UnitState,
    going: Iterable[str],
    provided: Sequence[str],
    rules: RestRules,
) -> Rest:
    """Keep those ignored files of a workspace about to go that no tool makes again.

    Raises OperationRefused over many.
    """
    path = Path(unit.path)
    if not os.path.lexists(path):
        return Rest()
    found = precious_of(repository, unit, going, provided, full=rules.keep_all or rules.discard)
    if not rules.keep_all and not found.is_small:
        if not rules.discard:
            require_small(found, path, rules.advice)
        return Rest(ignored=tuple(sorted(going)), discarded=found.paths)
    kept = keep_files(repository, ledger, unit, name_of(unit), found)
    gone = (row for row in going if not any(within(path, (row.rstrip("/"),)) for path in found.paths))
    return Rest(ignored=tuple(sorted(gone)), kept=kept)


def capture_rest(
    site: CaptureContext, run: RunId, unit: UnitId, *, advice: str, discard: bool
) -> tuple[Capture | None, set[str]]:
    """Capture a workspace about to go; returns what was found and which files in no commit go with it.

    Raises OperationRefused, with ``advice`` on how to insist, over what cannot be pinned. With ``discard`` that
    goes too, and
    of a workspace that cannot be captured nothing is found.
    """
    try:
        found = capture(site, run, unit)
    except CaptureProblem as problem:
        if discard:
            return None, set()
        raise OperationRefused(problem.message, f"{problem.hint or 'look at it'}; or {advice}") from None
    built = {row.path for row in found.left_out if goes_along(row)}
    lost = [row for row in found.left_out if not goes_along(row)]
    if lost and not discard:
        names = ", ".join(f"{_shorten(row.path)} ({row.reason})" for row in lost[:SHOWN])
        raise OperationRefused(
            f"{site.workspace.path} holds what is in no commit: {names}", f"take what you need, then: {advice}"
        )
    # Git is kept out of the folders it could not follow; by that they look ignored, and all above them.
    away = [row.path for row in found.left_out if row.path.endswith("/") and cannot_follow(row.reason)][:SHOWN]
    return found, built | _list_ignored(site, away)


def _list_ignored(site: CaptureContext, away: Sequence[str]) -> set[str]:
    """List what git ignores in a workspace, folders with a slash at the end; ``away`` are folders to keep out of."""
    words = ("ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--directory")
    excludes = (b"--exclude=" + exact_rule(os.fsencode(path[:-1])) for path in away)
    ignored = {os.fsdecode(row) for row in site.git.run(*words, *excludes).fields}
    ignored = {row for row in ignored if not any(path.startswith(row) for path in away)}
    return {row for row in ignored if not within(row.rstrip("/"), site.apart)}


def find_ignored(repository: Repository, unit: UnitState) -> Precious:
    """Find the ignored files in the workspace of a unit that no tool makes again; raises PrunError where that fails."""
    path = Path(unit.path)
    if unit.workspace == "scratch":
        return precious_of(repository, unit, outbox_files(path), ())
    site = open_rest(repository, unit)
    return precious_of(repository, unit, _list_ignored(site, ()) | set(outbox_files(path)), site.workspace.provided)


def _shorten(path: str) -> str:
    return path if len(path) <= LONG else f"{path[: LONG - 20]}...{path[-17:]}"


def discard_command(unit: UnitState) -> str:
    """Return the command that removes a workspace with what was left out of its commit."""
    return f"git prun remove --discard-left-out {unit.run}/{unit.id}"


def open_rest(repository: Repository, unit: UnitState) -> CaptureContext:
    """Open the place a unit was captured from."""
    repo = open_repository(repository.common)
    source = read_source(repository)
    own = unit.base
    base = Oid(own) if own is not None else read_ref(repo, base_ref(unit.run))
    if base is None or base not in repo:
        raise OperationRefused(
            f"the base of run {unit.run} is no longer pinned", "look at the workspace and remove it yourself"
        )
    workspace = recall_workspace(repository.state, unit)
    index = workspace.index
    return CaptureContext(
        repository=repository,
        repo=repo,
        workspace=workspace,
        base=base,
        max_file=DEFAULT_MAX_FILE,
        own=ensure_own_git(repository, index, base, workspace.kind) if index and index.is_file() else None,
        known=source.tips | started_with(repository, unit.run) | {base},
        alternates=source.alternates,
    )


def recall_workspace(state: Path, unit: UnitState) -> Workspace:
    """Return the workspace of a unit as it was written down; ``state`` is the repository's prun folder."""
    scratch = unit.workspace == "scratch"
    return Workspace(
        kind=unit.workspace_kind,
        path=Path(unit.path),
        identity=identity_of(unit),
        branch=unit.branch,
        index=None if scratch else unit_folder(state, unit) / "index",
        provided=unit.provided,
        notes=unit.notes,
    )


def pin_rest(site: CaptureContext, unit: UnitState, found: Capture) -> str | None:
    """Pin a tree that differs from the unit's commit, beside whatever was pinned like that before."""
    # What the unit's own commit has need not be pinned a second time.
    captured = str(unit.tree or site.repo[site.base].peel(pygit2.Tree).id)
    if not found.changed or found.tree == captured:
        return None
    message = f"{unit.id}: left in the workspace when it was removed\n\nUnit: {unit.run}/{unit.id}\n"
    for number in itertools.count(1):
        saved = kept_ref(unit.run, unit.id, "left-in-workspace" + (f"-{number}" if number > 1 else ""))
        old = read_ref(site.repo, saved)
        if old is None:
            commit_capture(site, found, saved, CommitText(message=message, who=read_signatures(site.repository.git)))
            return saved
        if str(site.repo[old].peel(pygit2.Tree).id) == found.tree:
            return saved
    return None


def outbox_files(path: Path) -> list[str]:
    """List what the worker put into its outbox beside the result, which is kept."""
    if folder_identity(path / OUTBOX) is None:
        return []
    return sorted(f"{OUTBOX}/{name}" for name in os.listdir(path / OUTBOX) if name not in ("result.md", ".gitignore"))

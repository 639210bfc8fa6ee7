"""Lock a workspace: nothing of prun removes, moves or resets it until it is unlocked."""

from __future__ import annotations

from gitprun.git.repo import Repository
from gitprun.ledger.events import UnitState
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.rows import LockRow
from gitprun.ledger.unit_events import WorkspaceLocked, WorkspaceUnlocked
from gitprun.model.errors import OperationRefused
from gitprun.registry.find import name_of, require_workspace
from gitprun.registry.guard import lock_of, require_ours

# It stands in one line of listings and refusals.
LONGEST = 500


def lock_workspace(repository: Repository, ledger: Ledger, unit: UnitState, reason: str) -> None:
    """Lock a workspace: a linked worktree with git's own lock, so that git heeds it too; others in the ledger."""
    name = name_of(unit)
    require_workspace(unit)
    held = lock_of(repository, unit)
    if held is not None:
        raise OperationRefused(f"the workspace {name} is locked already" + (f": {held}" if held else ""))
    # It is shown as it is, on terminals too.
    if not reason.isprintable() or len(reason) > LONGEST:
        raise OperationRefused(
            "a reason is one line of text", f"at most {LONGEST} characters, without control characters"
        )
    if not require_ours(unit, name):
        raise OperationRefused(f"the folder {unit.path} of {name} is gone", "there is nothing to lock")
    # Git's own lock first: where git refuses, nothing is written down.
    if unit.workspace == "worktree":
        words = ("--reason", reason) if reason else ()
        repository.git.run("worktree", "lock", *words, unit.path)
    ledger.append(WorkspaceLocked(lock=LockRow(reason=reason)), run=unit.run, unit=unit.id)


def unlock_workspace(repository: Repository, ledger: Ledger, unit: UnitState) -> None:
    """Unlock a workspace; raises OperationRefused when it is not locked."""
    name = name_of(unit)
    require_workspace(unit)
    if lock_of(repository, unit) is None:
        raise OperationRefused(f"the workspace {name} is not locked")
    if unit.workspace == "worktree":
        repository.git.run("worktree", "unlock", unit.path)
    ledger.append(WorkspaceUnlocked(lock=None), run=unit.run, unit=unit.id)

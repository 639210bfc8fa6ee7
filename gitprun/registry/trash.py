"""The trash: whatever a ref of prun's pinned stays pinned for 30 days after that ref is gone."""

from __future__ import annotations

from datetime import UTC, datetime

from gitprun.git.refs import delete_ref, move_ref, open_repository, read_ref
from gitprun.git.repo import Repository
from gitprun.ledger.house_events import TrashKept
from gitprun.ledger.ledger import Ledger
from gitprun.model.names import ZERO, Oid, trash_ref


def keep_in_trash(repository: Repository, ledger: Ledger, ref: str, oid: Oid, *, why: str, of: str = "") -> str:
    """Pin what a ref holds in the trash and write that down; ``of`` names the unit or workspace. Gives the new ref."""
    repo = open_repository(repository.common)
    day = datetime.fromtimestamp(ledger.clock.now(), UTC).date().isoformat()
    kept = trash_ref(day, ref, oid)
    # The same commit of the same ref is kept once a day.
    if read_ref(repo, kept) is None:
        move_ref(repo, kept, oid, ZERO, f"prun: {why}")
    # No step of the unit's own, so it is named inside.
    ledger.append(TrashKept(of=of, source=ref, ref=kept, commit=oid, why=why))
    return kept


def retire_ref(
    repository: Repository, ledger: Ledger, ref: str, *, why: str, of: str = "", old: Oid | None = None
) -> str | None:
    """Delete a ref whose commit is kept in the trash; returns the trash ref, None if there is no such ref.

    Raises RefMoved, with the ref as it is, when it is not at ``old``.
    """
    repo = open_repository(repository.common)
    oid = old or read_ref(repo, ref)
    if oid is None or read_ref(repo, ref) is None:
        return None
    # Pinned elsewhere before its own ref goes: in between both hold it.
    kept = keep_in_trash(repository, ledger, ref, oid, why=why, of=of)
    delete_ref(repo, ref, oid)
    return kept

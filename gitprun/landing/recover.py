"""A landing that was cut off is brought to its end before the next one begins."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.judging.recorded_resolutions import forget
from gitprun.landing.guard import NO_HOOKS
from gitprun.landing.move import CheckoutStuck, finish_checkout, read_tip
from gitprun.landing.plan import News
from gitprun.ledger.events import Event
from gitprun.ledger.landing_events import (
    LandingFinished,
    LandingLanded,
    LandingRedone,
    LandingRow,
    LandingStarted,
    LandingUndone,
    ResolveForgotten,
    UndoFacts,
    UndoFinished,
    UndoRow,
    UndoStarted,
)
from gitprun.ledger.ledger import Ledger, Row
from gitprun.model.errors import PrunError
from gitprun.model.names import Oid, short
from gitprun.system.files import folder_identity, remove_tree

Begun = LandingStarted | UndoStarted


def recover_landing(repository: Repository, ledger: Ledger) -> tuple[str, ...]:
    """Finish the last landing or undo if its program was killed; gives notes on what was done.

    Call it under the landing lock. A checkout that did not follow is completed, path by path and only where the user
    changed nothing since; raises CheckoutStuck, and does so again until that is settled, when he did.
    """
    begun = find_cut_off(ledger.read().events)
    if begun is None:
        return ()
    started, landed = begun
    noun, ended = ("an undo", UndoFinished) if isinstance(started, UndoStarted) else ("a landing", LandingFinished)
    git = Git(cwd=repository.common)
    now = read_tip(git, started.target)
    branch = started.target.removeprefix("refs/heads/")
    if not now or not _has_moved(git, started, now):
        ledger.append(end_of(started, ended, "not-moved"))
        return (News(f"{noun} on {branch} was cut off before anything moved"),)
    if now == started.new and started.checkout:
        _complete(Path(started.checkout), started)
    if isinstance(started, UndoStarted):
        forget(repository.state, [name for _, name in started.forgets])
        record_undone(ledger, started, [row for row in started.landings if (row.branch, row.commit) not in landed])
    else:
        record_landed(ledger, started, [row for row in started.landings if (row.branch, row.commit) not in landed])
    return (News(f"{noun} on {branch} that was cut off is complete now, at {short(started.new)}"),)


def _has_moved(git: Git, begun: Begun, now: str) -> bool:
    """Check whether a branch got from ``old`` to ``new``, whatever was built on it since."""
    if isinstance(begun, UndoStarted) and begun.way == "moved":
        # The way back: old is the later commit here.
        return git.run("merge-base", "--is-ancestor", begun.old, now, ok=(0, 1, 128)).code != 0
    return git.run("merge-base", "--is-ancestor", begun.new, now, ok=(0, 1, 128)).code == 0


def find_cut_off(events: Iterable[Event]) -> tuple[Begun, set[tuple[str, str]]] | None:
    """Return a landing or an undo that began and has no end, and what of it was recorded."""
    started: Begun | None = None
    landed: set[tuple[str, str]] = set()
    for event in events:
        one = event.payload
        if isinstance(one, LandingStarted | UndoStarted):
            started, landed = one, set()
        elif isinstance(one, LandingLanded | UndoFacts):
            landed.add((one.branch, one.commit))
        elif isinstance(one, LandingFinished | UndoFinished):
            started = None
    return (started, landed) if started is not None else None


def _complete(checkout: Path, begun: Begun) -> None:
    if not checkout.is_dir():
        return
    git = Git(cwd=checkout)
    if git.run("symbolic-ref", "--quiet", "HEAD", ok=(0, 1, 128)).text != begun.target:
        return
    try:
        # Without hooks: those of a folder in the tree may be half there, or be what the landing brings.
        silent = Git(cwd=checkout, config=NO_HOOKS)
        finish_checkout(silent, Oid(begun.old), Oid(begun.new), trust_index=True)
    except CheckoutStuck:
        raise
    except PrunError as problem:
        raise CheckoutStuck(
            f"{checkout} stands half way between {short(begun.old)} and {short(begun.new)}: {problem.message}",
            "once the cause is gone, git prun merge finishes this landing first",
        ) from None


def end_of(begun: Begun, ended: type[LandingFinished | UndoFinished], outcome: str) -> LandingFinished | UndoFinished:
    """Return the end of what began."""
    return ended(target=begun.target, old=begun.old, new=begun.new, outcome=outcome)


def record_landed(ledger: Ledger, begun: LandingStarted, rows: Sequence[LandingRow]) -> None:
    """Write that branches landed and that the landing is over; ``rows`` are those of its ``landings`` left to write."""
    landed = [(_landed(begun, row), row.run, row.unit) for row in rows]
    ledger.append_all([*landed, (end_of(begun, LandingFinished, "landed"), "", "")])


def _landed(begun: LandingStarted, row: LandingRow) -> LandingLanded:
    return LandingLanded(target=begun.target).joined(row.into(LandingLanded))


def record_undone(ledger: Ledger, begun: UndoStarted, rows: Sequence[UndoRow]) -> None:
    """Write that merges were taken (or brought) back and that it is over; ``rows`` are those left to write."""
    kind = LandingRedone if begun.way == "redone" else LandingUndone
    undone: list[Row] = [
        (kind(way=begun.way, target=begun.target).joined(row.into(kind)), row.run, row.unit) for row in rows
    ]
    if begun.forgets:
        undone.append((ResolveForgotten(by="undo", rows=begun.forgets), "", ""))
    ledger.append_all([*undone, (end_of(begun, UndoFinished, "done"), "", "")])


def workspaces_root(repository: Repository, root: str) -> Path:
    """Return the folder for workspaces: the one that is set, or the usual one."""
    from gitprun.workspaces.base import choose_root

    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return Path(root) if root else choose_root(None, repository.home, cache)


def landing_place(repository: Repository, root: str) -> Path:
    """Name the folder for what landings in this repository need for a while; several may share the one above it."""
    return workspaces_root(repository, root) / "landing" / room_mark(repository)


def room_mark(repository: Repository) -> str:
    """Return what tells this repository's folders apart in a place that several may share."""
    return hashlib.sha256(os.fsencode(repository.common.resolve())).hexdigest()[:10]


def sweep_rooms(repository: Repository, place: Path) -> tuple[str, ...]:
    """Remove private folders that a killed landing left; call it under the landing lock."""
    notes: list[str] = []
    left = sorted(place.glob(f"{room_mark(repository)}/*"))
    if left:
        from gitprun.workspaces.worktree import admin_folder, remove_worktree
    for path in left:
        identity = folder_identity(path)
        try:
            if identity is not None and admin_folder(repository.common, path) is not None:
                remove_worktree(repository, path, identity)
            elif identity is not None:
                remove_tree(path, identity)
        except (PrunError, OSError) as problem:
            notes.append(f"{path} of an earlier landing could not be removed: {problem}")
    return tuple(notes)

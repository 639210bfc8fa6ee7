"""A landing that was cut off is brought to its end before the next one begins."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.judging.recorded_resolutions import forget
from gitprun.landing.guard import NO_HOOKS
from gitprun.landing.move import CheckoutStuck, finish_checkout, read_tip
from gitprun.landing.plan import News
from gitprun.ledger.events import Event
from gitprun.ledger.ledger import Ledger
from gitprun.model.errors import PrunError
from gitprun.model.names import Oid, short
from gitprun.system.files import folder_identity, remove_tree


def recover_landing(repository: Repository, ledger: Ledger) -> tuple[str, ...]:
    """Finish the last landing or undo if its program was killed; gives notes on what was done.

    Call it under the landing lock. A checkout that did not follow is completed, path by path and only where the user
    changed nothing since; raises CheckoutStuck, and does so again until that is settled, when he did.
    """
    begun = find_cut_off(ledger.read().events)
    if begun is None:
        return ()
    started, landed = begun
    facts = started.facts
    noun, what = ("undo", "an undo") if started.kind == "undo.started" else ("landing", "a landing")
    git = Git(cwd=repository.common)
    now = read_tip(git, facts["target"])
    branch = facts["target"].removeprefix("refs/heads/")
    if not now or not _has_moved(git, facts, now):
        ledger.append(f"{noun}.finished", facts={**_ends(facts), "outcome": "not-moved"})
        return (News(f"{what} on {branch} was cut off before anything moved"),)
    if now == facts["new"] and facts["checkout"]:
        _complete(Path(facts["checkout"]), facts)
    left = [row for row in facts.get("landings") or () if (row["branch"], row["commit"]) not in landed]
    if noun == "undo":
        forget(repository.state, [name for _, name in facts.get("forgets", ())])
        record_undone(ledger, facts, left)
    else:
        record_landed(ledger, facts["target"], left, _ends(facts))
    return (News(f"{what} on {branch} that was cut off is complete now, at {short(facts['new'])}"),)


def _has_moved(git: Git, facts: Mapping[str, Any], now: str) -> bool:
    """Tell whether a branch got from ``old`` to ``new``, whatever was built on it since."""
    if facts.get("way") == "moved":
        # The way back: old is the later commit here.
        return git.run("merge-base", "--is-ancestor", facts["old"], now, ok=(0, 1, 128)).code != 0
    return git.run("merge-base", "--is-ancestor", facts["new"], now, ok=(0, 1, 128)).code == 0


def find_cut_off(events: Iterable[Event]) -> tuple[Event, set[tuple[str, str]]] | None:
    """Find a landing or an undo that began and has no end, and what of it was recorded."""
    started: Event | None = None
    landed: set[tuple[str, str]] = set()
    for event in events:
        if event.kind in ("landing.started", "undo.started"):
            started, landed = event, set()
        elif event.kind in ("landing.landed", "landing.undone", "landing.redone"):
            landed.add((event.facts["branch"], event.facts["commit"]))
        elif event.kind in ("landing.finished", "undo.finished"):
            started = None
    return (started, landed) if started is not None else None


def _complete(checkout: Path, facts: Mapping[str, Any]) -> None:
    if not checkout.is_dir():
        return
    git = Git(cwd=checkout)
    if git.run("symbolic-ref", "--quiet", "HEAD", ok=(0, 1, 128)).text != facts["target"]:
        return
    try:
        # Without hooks: those of a folder in the tree may be half there, or be what the landing brings.
        silent = Git(cwd=checkout, config=NO_HOOKS)
        finish_checkout(silent, Oid(facts["old"]), Oid(facts["new"]), trust_index=True)
    except CheckoutStuck:
        raise
    except PrunError as problem:
        raise CheckoutStuck(
            f"{checkout} stands half way between {short(facts['old'])} and {short(facts['new'])}: {problem.message}",
            "once the cause is gone, git prun merge finishes this landing first",
        ) from None


def _ends(facts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: facts[name] for name in ("target", "old", "new")}


def record_landed(ledger: Ledger, target: str, rows: Sequence[Mapping[str, Any]], ends: Mapping[str, Any]) -> None:
    """Write that branches landed and that the landing is over; ``rows`` are the ``landings`` of ``landing.started``."""
    beside = ("run", "unit")
    landed = [
        ("landing.landed", row["run"], row["unit"], {"target": target} | {k: row[k] for k in row if k not in beside})
        for row in rows
    ]
    ledger.append_all([*landed, ("landing.finished", "", "", {**ends, "outcome": "landed"})])


def record_undone(ledger: Ledger, facts: Mapping[str, Any], rows: Sequence[Mapping[str, Any]]) -> None:
    """Write that merges were taken (or brought) back and that it is over; ``facts`` are those of ``undo.started``."""
    kind = "landing.redone" if facts["way"] == "redone" else "landing.undone"
    both = {"way": facts["way"], "target": facts["target"]}
    undone = [
        (kind, row["run"], row["unit"], both | {k: row[k] for k in row if k not in ("run", "unit")}) for row in rows
    ]
    if facts.get("forgets"):
        undone.append(("resolve.forgotten", "", "", {"by": "undo", "rows": facts["forgets"]}))
    ledger.append_all([*undone, ("undo.finished", "", "", {**_ends(facts), "outcome": "done"})])


def landing_place(repository: Repository, root: str) -> Path:
    """Name the folder for what landings in this repository need for a while; several may share the one above it."""
    from gitprun.workspaces.root import workspaces_root

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

"""The moment a landing becomes true: written down before and after, looked at again, and finished if it was cut off."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitprun.git.command import Git
from gitprun.git.refs import loose_place
from gitprun.git.repo import Repository
from gitprun.git.trees import Objects, parents_of, show_path, tree_of
from gitprun.git.walk import Trees
from gitprun.judging.recorded_resolutions import forget
from gitprun.landing.barriers import read_along
from gitprun.landing.batch import Batch
from gitprun.landing.build import Built
from gitprun.landing.context import LandingContext
from gitprun.landing.fence import outside_rows
from gitprun.landing.guard import NO_HOOKS
from gitprun.landing.hooks import AFTER_LANDING, describe_not_run, find_hooks
from gitprun.landing.move import CheckoutStuck, MoveUndone, finish_checkout, follow, move_target, read_tip, require_way
from gitprun.landing.own_check import OwnCheck
from gitprun.landing.plan import News, render_reason
from gitprun.landing.surface import TITLES, describe
from gitprun.landing.touched import approve, find_touches, rows_of, touch_hooks, unaccepted
from gitprun.ledger.events import Event
from gitprun.ledger.held import accept_flags
from gitprun.ledger.ledger import Ledger
from gitprun.model.errors import GitFailed, GitTimeout, OperationRefused, PrunError
from gitprun.model.names import Oid, short
from gitprun.system.files import folder_identity, remove_tree, sync_all
from gitprun.workspaces.root import workspaces_root

if TYPE_CHECKING:
    from gitprun.landing.after import AfterCommands


def move(
    repository: Repository, ledger: Ledger, site: LandingContext, batch: Batch, made: AfterCommands | None
) -> tuple[Batch, Oid]:
    """Move the target and record it; ``made`` is what the after commands left, to be landed on top.

    The ledger knows before and after, so that a crash in between is repaired. Gives the new tip.
    """
    target, new, after = site.target, batch.tip(site), None
    if made is not None and made.tree != batch.taken[-1].tree:
        from gitprun.landing.after import write_after

        _require_accepted(site, batch, made)
        new = write_after(site, new, made)
        after = {"commit": new, "commands": [*made.commands], "paths": [*made.paths]}
        count = f"{len(made.paths)} file{'s were' if len(made.paths) != 1 else ' was'}"
        site.note(News(f"after {', '.join(made.commands)}: {count} made anew, in {new[:10]}"))
    require_way(site, repository.common, new)
    wrong = misplaced(site.repo, batch.taken, target.tip)
    if wrong:
        raise OperationRefused(
            f"the merge of {wrong[0].item.candidate.branch} is not what was built; nothing was changed"
        )
    _sync(repository, site, batch, new)
    rows = _rows(site, batch, new, made)
    ends = {"target": target.ref, "old": target.tip, "new": new}
    checkout = str(target.checkout) if target.checkout else ""
    names = [built.item.candidate.branch for built in batch.taken]
    begun: dict[str, Any] = {**ends, "checkout": checkout, "branches": names, "order": site.options.order}
    ledger.append("landing.started", facts={**begun, "landings": rows, **({"after": after} if after else {})})
    reason = render_reason(names)
    git = Git(cwd=target.checkout or repository.common)
    try:
        move_target(target, git, new, reason)
    except OperationRefused:
        ledger.append("landing.finished", facts={**ends, "outcome": "not-moved"})
        raise
    # The hooks that would run from here on are those that the landing brings.
    changed = touch_hooks(site.trees, site.trees.compare(site.old_tree, tree_of(site.repo, new)), site.live())
    try:
        follow(replace(target, silent=bool(changed)), new, reason)
    except MoveUndone:
        ledger.append("landing.finished", facts={**ends, "outcome": "taken-back"})
        raise
    record_landed(ledger, target.ref, rows, ends)
    approve(repository, site, new)
    if target.checkout is not None and changed:
        site.note(describe_not_run(site.hooks.folder, changed, target, new, AFTER_LANDING))
    elif target.checkout is not None:
        _post_merge(site, target.checkout)
    items = (replace(item, state="landed") if item.state == "would-land" else item for item in batch.items)
    return replace(batch, items=tuple(items)), new


def _require_accepted(site: LandingContext, batch: Batch, made: AfterCommands) -> None:
    """Raise Refused where commands made what is run here: they ran over the code of branches."""
    step = site.trees.compare(batch.taken[-1].tree, made.tree)
    held = unaccepted(find_touches(site.trees, step, site.live()), site.options, None)
    if held:
        raise OperationRefused(
            f"what {', '.join(made.commands)} made {TITLES['held']}: {describe(held)}; nothing was changed",
            f"look at it; git prun merge {accept_flags(one.path for one in held)} with the same names lands it",
        )


def _rows(site: LandingContext, batch: Batch, new: Oid, made: AfterCommands | None) -> list[dict[str, Any]]:
    """Write down each branch: its merge, what was settled and dropped, and that what it brought is there."""
    others = frozenset(path.encode("utf-8", "surrogateescape") for path in (made.paths if made else ()))
    presences = find_presence(site.trees, batch.taken, tree_of(site.repo, new), others)
    own_check = OwnCheck(site, tuple(built.item.candidate for built in batch.taken))
    rows, below = [], site.target.tip
    for built, presence in zip(batch.taken, presences, strict=True):
        item, along = built.item, read_along(site, below, built.item.candidate)
        outside = outside_rows(site, item.candidate, built.commit, built.step)
        below = built.commit
        if presence.missing:
            site.note(f"{item.candidate.branch}: not in {site.target.branch} as it was: {', '.join(presence.missing)}")
        rows.append(
            {
                "branch": item.candidate.branch,
                "commit": item.commit,
                "tip": item.candidate.tip,
                "run": item.candidate.run,
                "unit": item.candidate.unit,
                "resolved": [
                    {"path": one.path, "resolver": one.resolver, "added": [*one.added]} for one in item.resolved
                ],
                "dropped": [{"path": one.path, "lines": [*one.dropped]} for one in item.resolved if one.dropped],
                "suspects": [{"path": one.path, "reason": one.reason} for one in item.suspects],
                "present": presence.as_json(),
                **({"gate": changed} if (changed := own_check.rows(item.candidate)) else {}),
                **({"trust": touched} if (touched := rows_of(site, item.candidate, built.step)) else {}),
                **({"outside": outside} if outside else {}),
                **({"with_base": [*along]} if along else {}),
            }
        )
    return rows


def _sync(repository: Repository, site: LandingContext, batch: Batch, new: Oid) -> None:
    """Bring to disk what the target is about to name: every commit, tree and file that is new since its old tip."""
    objects, before = str(repository.common / "objects"), site.old_tree
    found: set[str] = {new}
    for built in batch.taken:
        found.add(built.commit)
        found.update(site.trees.written_between(before, built.tree))
        before = built.tree
    found.update(site.trees.written_between(before, tree_of(site.repo, new)))
    sync_all(loose_place(objects, oid) for oid in sorted(found))


def _post_merge(site: LandingContext, checkout: Path) -> None:
    hooks = find_hooks(site.hooks.folder, ("post-merge",))
    if hooks.names:
        from gitprun.landing.hooks import run_hook

        try:
            run_hook(Git(cwd=checkout), hooks.folder, "post-merge", "0")
            site.note(News("the post-merge hook ran"))
        except (OperationRefused, GitFailed, GitTimeout) as problem:
            site.note(f"{problem.message} (the landing stands)")


@dataclass(frozen=True, slots=True)
class Containment:
    """How many paths of a branch are in the target as the branch has them, which were united with changes of others,
    and which are not there for no reason that is known."""

    whole: int
    united: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """Give it as plain values."""
        return {"whole": self.whole, "united": list(self.united), "missing": list(self.missing)}


def find_presence(trees: Trees, taken: Sequence[Built], tree: Oid, others: frozenset[bytes]) -> list[Containment]:
    """Look for what each merge brought in the tree they led to; ``others`` are paths that something else changed."""
    later = set(others)
    found: list[Containment] = []
    for built in reversed(taken):
        placed = {(change.new_mode, change.new) for change in built.step if not change.removed}
        asked = {change.path for change in built.step}
        whole, united, missing = 0, [], []
        for change in built.brought:
            now = trees.find(tree, change.path)
            if now == (None if change.removed else (change.new_mode, change.new)):
                whole += 1
            elif change.path in built.united or change.path in later:
                united.append(show_path(change.path))
            elif (change.new_mode, change.new) in placed:
                # Its folder was renamed on the other side, and git moved it there.
                whole += 1
            else:
                missing.append(show_path(change.path))
        found.append(Containment(whole, tuple(united), tuple(missing)))
        later |= asked
    return found[::-1]


def misplaced(repo: Objects, taken: Sequence[Built], start: Oid) -> list[Built]:
    """List the merges that are not what was built: parents main and branch in this order, and the tree."""
    wrong, before = [], start
    for built in taken:
        found = parents_of(repo, built.commit), tree_of(repo, built.commit)
        if found != ((before, built.item.candidate.tip), built.tree):
            wrong.append(built)
        before = built.commit
    return wrong


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

"""The moment a landing becomes true: written down before and after, looked at again, and finished if it was cut off."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

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
from gitprun.ledger.rows import AfterRow, DroppedRow, PresentRow, ResolvedRow, SuspectRow
from gitprun.model.errors import GitFailed, GitTimeout, OperationRefused, PrunError
from gitprun.model.names import Oid, short
from gitprun.system.files import folder_identity, remove_tree, sync_all
from gitprun.workspaces.root import workspaces_root

if TYPE_CHECKING:
    from gitprun.landing.after import AfterCommands


Begun = LandingStarted | UndoStarted


def move(
    repository: Repository, ledger: Ledger, site: LandingContext, batch: Batch, made: AfterCommands | None
) -> tuple[Batch, Oid]:
    """Move the target and record it; ``made`` is what the after commands left, to be landed on top.

    The ledger knows before and after, so that a crash in between is repaired. Returns the new tip, too.
    """
    target, new, after = site.target, batch.tip(site), None
    # Commands that left everything as it was need no commit.
    if made is not None and made.tree != batch.taken[-1].tree:
        from gitprun.landing.after import write_after

        _require_accepted(site, batch, made)
        new = write_after(site, new, made)
        after = AfterRow(commit=new, commands=tuple(made.commands), paths=tuple(made.paths))
        count = f"{len(made.paths)} file{'s were' if len(made.paths) != 1 else ' was'}"
        site.note(News(f"after {', '.join(made.commands)}: {count} made anew, in {new[:10]}"))
    # Once more, although it was asked before the checks: they took minutes, in which the user worked on.
    require_way(site, repository.common, new)
    # Read back from the objects themselves: what was built is proved, what is written is what lands.
    wrong = misplaced(site.repo, batch.taken, target.tip)
    if wrong:
        raise OperationRefused(
            f"the merge of {wrong[0].item.candidate.branch} is not what was built; nothing was changed"
        )
    # Before the intent is written: a ref on disk must never name an object that a power cut can take away.
    _sync(repository, site, batch, new)
    rows = _rows(site, batch, new, made)
    names = [built.item.candidate.branch for built in batch.taken]
    begun = _intent(site, new, names, rows)
    # The intent, with all that is needed to finish: a crash from here on is repaired from this row alone.
    ledger.append(begun.into(LandingStarted, after=after) if after else begun)
    reason = render_reason(names)
    git = Git(cwd=target.checkout or repository.common)
    try:
        move_target(target, git, new, reason)
    # Nothing happened, and the next landing must not look for something to repair.
    except OperationRefused:
        ledger.append(end_of(begun, LandingFinished, "not-moved"))
        raise
    # The hooks that would run from here on are those that the landing brings.
    changed = touch_hooks(site.trees, site.trees.compare(site.old_tree, tree_of(site.repo, new)), site.live())
    try:
        follow(replace(target, silent=bool(changed)), new, reason)
    except MoveUndone:
        ledger.append(end_of(begun, LandingFinished, "taken-back"))
        raise
    # After the checkout: a landing that is recorded is one that the user sees in the files.
    record_landed(ledger, begun, rows)
    # After the record: an approval of prun.toml must not outlive a landing that never was.
    approve(repository, site, new)
    if target.checkout is not None and changed:
        site.note(describe_not_run(site.hooks.folder, changed, target, new, AFTER_LANDING))
    elif target.checkout is not None:
        _post_merge(site, target.checkout)
    items = (replace(item, state="landed") if item.state == "would-land" else item for item in batch.items)
    return replace(batch, items=tuple(items)), new


def _intent(site: LandingContext, new: Oid, names: Sequence[str], rows: tuple[LandingRow, ...]) -> LandingStarted:
    """Return what is about to be done, as it is written down."""
    target = site.target
    return LandingStarted(
        target=target.ref,
        old=target.tip,
        new=new,
        checkout=str(target.checkout) if target.checkout else "",
        branches=tuple(names),
        order=site.options.order,
        landings=rows,
    )


def _require_accepted(site: LandingContext, batch: Batch, made: AfterCommands) -> None:
    """Raise OperationRefused where commands made what is run here: they ran over the code of branches."""
    step = site.trees.compare(batch.taken[-1].tree, made.tree)
    held = unaccepted(find_touches(site.trees, step, site.live()), site.options, None)
    if held:
        raise OperationRefused(
            f"what {', '.join(made.commands)} made {TITLES['held']}: {describe(held)}; nothing was changed",
            f"look at it; git prun merge {accept_flags(one.path for one in held)} with the same names lands it",
        )


def _rows(site: LandingContext, batch: Batch, new: Oid, made: AfterCommands | None) -> tuple[LandingRow, ...]:
    """Return a row for each branch: its merge, what was settled and dropped, and that what it brought is there."""
    others = frozenset(path.encode("utf-8", "surrogateescape") for path in (made.paths if made else ()))
    # Found out before the branch moves, for it is written into the intent as well.
    presences = find_presence(site.trees, batch.taken, tree_of(site.repo, new), others)
    own_check = OwnCheck(site, tuple(built.item.candidate for built in batch.taken))
    rows, below = [], site.target.tip
    for built, presence in zip(batch.taken, presences, strict=True):
        item, along = built.item, read_along(site, below, built.item.candidate)
        outside = outside_rows(site, item.candidate, built.commit, built.step)
        below = built.commit
        if presence.missing:
            site.note(f"{item.candidate.branch}: not in {site.target.branch} as it was: {', '.join(presence.missing)}")
        row = LandingRow(
            branch=item.candidate.branch,
            commit=item.commit,
            tip=item.candidate.tip,
            run=item.candidate.run,
            unit=item.candidate.unit,
            resolved=tuple(
                ResolvedRow(path=one.path, resolver=one.resolver, added=tuple(one.added)) for one in item.resolved
            ),
            dropped=tuple(DroppedRow(path=one.path, lines=tuple(one.dropped)) for one in item.resolved if one.dropped),
            suspects=tuple(SuspectRow(path=one.path, reason=one.reason) for one in item.suspects),
            present=PresentRow(whole=presence.whole, united=tuple(presence.united), missing=tuple(presence.missing)),
        )
        # What is seldom said is written only where it is.
        more = {
            "gate": own_check.rows(item.candidate),
            "trust": rows_of(site, item.candidate, built.step),
            "outside": outside,
            "with_base": tuple(along),
        }
        rows.append(row.into(LandingRow, **{name: value for name, value in more.items() if value}))
    return tuple(rows)


def _sync(repository: Repository, site: LandingContext, batch: Batch, new: Oid) -> None:
    """Bring to disk what the target is about to name: every commit, tree and file that is new since its old tip."""
    objects, before = str(repository.common / "objects"), site.old_tree
    found: set[str] = {new}
    for built in batch.taken:
        found.add(built.commit)
        # Only what is new: syncing all of a repository takes minutes.
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
        # As with git merge: a post-merge hook cannot call the merge off.
        except (OperationRefused, GitFailed, GitTimeout) as problem:
            site.note(f"{problem.message} (the landing stands)")


@dataclass(frozen=True, slots=True)
class Containment:
    """How many paths of a branch are in the target as the branch has them, which were united with changes of others,
    and which are not there for no reason that is known."""

    whole: int
    united: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    def as_json(self) -> dict[str, object]:
        """Return it as plain values."""
        return {"whole": self.whole, "united": list(self.united), "missing": list(self.missing)}


def find_presence(trees: Trees, taken: Sequence[Built], tree: Oid, others: frozenset[bytes]) -> list[Containment]:
    """Look for what each merge brought in the tree they led to; ``others`` are paths that something else changed."""
    # From the last merge back, so that ``later`` are the paths that merges behind this one changed again.
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
    """Finish the last landing or undo if its program was killed; returns notes on what was done.

    Call it under the landing lock. A checkout that did not follow is completed, path by path and only where the user
    changed nothing since; else raises CheckoutStuck, and does so again until that is settled.
    """
    begun = find_cut_off(ledger.read().events)
    # Mostly: what the ledger holds of the last landing has an end.
    if begun is None:
        return ()
    started, landed = begun
    noun, ended = ("an undo", UndoFinished) if isinstance(started, UndoStarted) else ("a landing", LandingFinished)
    git = Git(cwd=repository.common)
    now = read_tip(git, started.target)
    branch = started.target.removeprefix("refs/heads/")
    # The ref decides what happened, not how far the program is thought to have come.
    if not now or not _has_moved(git, started, now):
        ledger.append(end_of(started, ended, "not-moved"))
        return (News(f"{noun} on {branch} was cut off before anything moved"),)
    # Where the branch went on since, the checkout is as the user made it.
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
    # On another branch by now: switching there brought its files along.
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


def landing_place(repository: Repository, root: str) -> Path:
    """Name the folder for what landings in this repository need for a while; several may share the one above it."""
    return workspaces_root(repository, root) / "landing" / room_mark(repository)


def room_mark(repository: Repository) -> str:
    """Return what tells this repository's folders apart in a place that several may share."""
    # Ten digits: a handful of repositories share a folder, and the name stays short enough for paths below it.
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
            # Git's own record of the worktree goes with it; removed by hand, it would be listed as missing.
            if identity is not None and admin_folder(repository.common, path) is not None:
                remove_worktree(repository, path, identity)
            elif identity is not None:
                remove_tree(path, identity)
        except (PrunError, OSError) as problem:
            notes.append(f"{path} of an earlier landing could not be removed: {problem}")
    return tuple(notes)

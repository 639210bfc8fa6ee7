"""The moment a landing becomes true: written down before and after, so that a crash in between can be repaired."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from gitprun.git.command import Git
from gitprun.git.refs import loose_place
from gitprun.git.repo import Repository
from gitprun.git.trees import tree_of
from gitprun.landing.along import read_along
from gitprun.landing.approved import approve
from gitprun.landing.batch import Batch
from gitprun.landing.containment import find_presence, misplaced
from gitprun.landing.context import LandingContext
from gitprun.landing.fence import outside_rows
from gitprun.landing.hook_list import AFTER_LANDING, describe_not_run, find_hooks
from gitprun.landing.move import MoveUndone, follow, move_target, require_way
from gitprun.landing.own_check import OwnCheck
from gitprun.landing.plan import News, render_reason
from gitprun.landing.recover import end_of, record_landed
from gitprun.landing.surface import TITLES, describe
from gitprun.landing.touched import find_touches, rows_of, touch_hooks, unaccepted
from gitprun.ledger.held import accept_flags
from gitprun.ledger.landing_events import LandingFinished, LandingRow, LandingStarted
from gitprun.ledger.ledger import Ledger
from gitprun.ledger.rows import AfterRow, DroppedRow, PresentRow, ResolvedRow, SuspectRow
from gitprun.model.errors import GitFailed, GitTimeout, OperationRefused
from gitprun.model.names import Oid
from gitprun.system.files import sync_all

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
        after = AfterRow(commit=new, commands=tuple(made.commands), paths=tuple(made.paths))
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
    names = [built.item.candidate.branch for built in batch.taken]
    begun = LandingStarted(
        target=target.ref,
        old=target.tip,
        new=new,
        checkout=str(target.checkout) if target.checkout else "",
        branches=tuple(names),
        order=site.options.order,
        landings=rows,
    )
    ledger.append(begun.into(LandingStarted, after=after) if after else begun)
    reason = render_reason(names)
    git = Git(cwd=target.checkout or repository.common)
    try:
        move_target(target, git, new, reason)
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
    record_landed(ledger, begun, rows)
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


def _rows(site: LandingContext, batch: Batch, new: Oid, made: AfterCommands | None) -> tuple[LandingRow, ...]:
    """Return a row for each branch: its merge, what was settled and dropped, and that what it brought is there."""
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

"""What a worker committed itself: brought over from its clone and pinned; never trusted, always kept or named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pygit2

from gitprun.capture.context import CaptureContext
from gitprun.capture.import_objects import GONE, ImportRequest, Rejected, import_objects
from gitprun.capture.index_only import LABEL, bring_staged
from gitprun.capture.inner import bring_inner
from gitprun.capture.screen import LeftOut
from gitprun.capture.worker_refs import (
    WorkerRefs,
    check_git_entry,
    read_head,
    read_log,
    read_unfinished,
    read_worker_refs,
)
from gitprun.git.refs import move_ref, read_ref
from gitprun.model.errors import PrunError
from gitprun.model.names import ZERO, Oid, RunId, UnitId, kept_ref, unit_ref
from gitprun.workspaces.worktree import admin_folder

# How the names begin under which commits of our own making are kept.
MADE = ("attempt-", "collected-", "left-in-workspace", LABEL)


@dataclass(frozen=True, slots=True)
class PinnedCommits:
    """The refs that pin own commits, those commits in words, what was rejected, and what else was found beside them.

    ``parted`` is the commit from which HEAD went another way than the base, ``head`` what HEAD led to.
    ``left_out`` is what was only staged and is kept nowhere,
    ``inner`` the submodules with commits of the worker's own.
    """

    kept: tuple[tuple[str, Oid], ...] = ()
    own_commits: tuple[str, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    unfinished: str | None = None
    notes: tuple[str, ...] = ()
    parted: Oid | None = None
    head: str = ""
    left_out: tuple[LeftOut, ...] = ()
    inner: tuple[str, ...] = ()


def pin_own_commits(site: CaptureContext, run: RunId, unit: UnitId) -> PinnedCommits:
    """Pin the tips of the worker's own commits; of a linked worktree this works even after its folder is gone."""
    if site.workspace.kind == "clone":
        refs = read_worker_refs(site.workspace.path / ".git", site.known)
        tips, rejected, notes = _bring(site, run, unit, refs.tips)
    else:
        refs = _linked_worker_refs(site, run, unit)
        tips, rejected, notes = refs.tips, (), ()
    # What only a log tells of and another tip holds anyway needs no ref of its own.
    tips = _independent(site, {name: oid for name, oid in tips.items() if _is_commit(site, oid)})
    kept = tuple((_keep(site, run, unit, label, oid), oid) for label, oid in tips.items())
    own = _describe(site, [oid for label, oid in tips.items() if label != "stash"])
    note, parted = _find_parting(site, refs.head)
    return PinnedCommits(kept, own, rejected, refs.unfinished, (*refs.notes, *notes, *note), parted, refs.head)


def pin_staged(
    site: CaptureContext, run: RunId, unit: UnitId, pinned: PinnedCommits, tree: Oid | None = None
) -> PinnedCommits:
    """Pin what is only in the worker's index, in none of its commits and not in ``tree``, which was captured."""
    name = kept_ref(run, unit, LABEL)
    held = [oid for oid in (site.base, tree, pinned.head, *(oid for _, oid in pinned.kept)) if oid]
    found = bring_staged(site, run, unit, held, read_ref(site.repo, name))
    kept = pinned.kept
    if found.commit is not None:
        kept = (*kept, (_keep(site, run, unit, LABEL, found.commit), found.commit))
    return replace(
        pinned,
        kept=kept,
        rejected=(*pinned.rejected, *found.rejected),
        notes=(*pinned.notes, *found.notes, *map(_explain, found.rejected)),
        left_out=found.left_out,
    )


def pin_inner(
    site: CaptureContext, run: RunId, unit: UnitId, pinned: PinnedCommits, repositories: Sequence[str]
) -> PinnedCommits:
    """Pin what was committed in submodules among the ``repositories`` that lie in the workspace."""
    for found in bring_inner(site, run, unit, repositories):
        kept = ((_keep(site, run, unit, label, oid), oid) for label, oid in found.tips.items())
        notes = [*([found.note] if found.tips else []), *map(_explain, found.rejected)]
        pinned = replace(
            pinned,
            kept=(*pinned.kept, *kept),
            rejected=(*pinned.rejected, *found.rejected),
            notes=(*pinned.notes, *notes),
            inner=(*pinned.inner, found.folder),
        )
    return pinned


def _find_parting(site: CaptureContext, head: str) -> tuple[tuple[str, ...], Oid | None]:
    """Find the commit from which the worker's HEAD went another way than the base; returns notes, too."""
    if not head or head == site.base or head not in site.repo or not _is_commit(site, Oid(head)):
        return (), None
    tip, base = pygit2.Oid(hex=head), pygit2.Oid(hex=site.base)
    # The usual case: the worker committed on top of what it was given.
    if site.repo.descendant_of(tip, base):
        return (), None
    common = site.repo.merge_base(tip, base)
    if common is None:
        return ("the worker's commits share no history with the base; its difference from the base was taken",), None
    return (), Oid(str(common))


def _bring(
    site: CaptureContext, run: RunId, unit: UnitId, tips: Mapping[str, Oid]
) -> tuple[Mapping[str, Oid], tuple[Rejected, ...], tuple[str, ...]]:
    """Bring the commits of a clone over; those that are rejected are kept in quarantine and named."""
    missing = {name: oid for name, oid in tips.items() if oid not in site.repo}
    if not missing:
        return tips, (), ()
    objects = site.workspace.path / ".git" / "objects"
    found = import_objects(
        site.repository,
        ImportRequest(run=run, unit=unit, objects=objects, tips=missing, base=site.base, alternates=site.alternates),
    )
    # A log tells of commits that git has long dropped; nothing was lost by us.
    rejected = tuple(row for row in found.rejected if row.reason != GONE or not row.name.startswith("lost/"))
    notes = [_explain(row) for row in rejected]
    # A tag is taken as the commit it names.
    taken = {
        name: found.taken.get(name, oid) for name, oid in tips.items() if name not in missing or name in found.taken
    }
    return taken, rejected, (*found.notes, *notes)


def _explain(row: Rejected) -> str:
    place = f" (kept in {row.place})" if row.place else ""
    return f"the worker's {row.name} ({row.oid[:10]}) could not be taken over: {row.reason}{place}"


def _linked_worker_refs(site: CaptureContext, run: RunId, unit: UnitId) -> WorkerRefs:
    """Read what a worker in a linked worktree committed: its objects are in the user's repository already."""
    own, found = f"branch/{site.workspace.branch}", dict[str, Oid | None]()
    if site.workspace.branch is not None:
        found[own] = read_ref(site.repo, f"refs/heads/{site.workspace.branch}")
    admin = admin_folder(site.repository.common, site.workspace.path)
    if admin is None:
        notes: tuple[str, ...] = ("the worktree's registration is gone",)
    else:
        notes = (
            tuple(check_git_entry(site.workspace.path / ".git", folder=False)) if site.workspace.path.exists() else ()
        )
        head = read_head(admin / "HEAD")
        found["head"] = read_ref(site.repo, head) if head.startswith("refs/") else Oid(head) if head else None
        # A reset or an amend leaves commits that no ref names: work all the same until somebody says otherwise.
        found |= {f"lost/{oid[:12]}": Oid(oid) for oid in read_log(admin / "logs" / "HEAD")}
    ours, tips = _made_by_us(site, run, unit), dict[str, Oid]()
    for label, oid in found.items():
        if not oid or oid == site.base or oid in ours or oid in tips.values() or oid not in site.repo:
            continue
        # Whoever goes on with a run sees what the worker committed on its branch among the user's refs.
        if oid not in site.known or label == own:
            tips[label] = oid
    return WorkerRefs(tips, read_unfinished(admin) if admin else None, notes, found.get("head") or "")


def _made_by_us(site: CaptureContext, run: RunId, unit: UnitId) -> frozenset[str]:
    """List the commits prun made of the unit's work, now or in an earlier attempt: its worktree stood on them."""
    own, kept = unit_ref(run, unit), kept_ref(run, unit, "")
    rows = site.repository.git.run("for-each-ref", "--format=%(objectname) %(refname)", own, kept).text.split("\n")
    found = [(row[:40], row[41:]) for row in rows if row]
    return frozenset(oid for oid, name in found if name == own or name.removeprefix(kept).startswith(MADE))


def _describe(site: CaptureContext, tips: Sequence[Oid]) -> tuple[str, ...]:
    if not tips:
        return ()
    # So many are more than anybody reads; all of them are pinned.
    words = ("log", "--no-show-signature", "--no-color", "--no-decorate", "--format=%h %an: %s", "--max-count=200")
    listing = site.repository.git.run(*words, *tips, "--not", site.base)
    own = listing.out.decode("utf-8", "replace").rstrip("\n")
    return tuple(own.split("\n")) if own else ()


def _is_commit(site: CaptureContext, oid: Oid) -> bool:
    return isinstance(site.repo.get(pygit2.Oid(hex=oid)), pygit2.Commit)


def _independent(site: CaptureContext, tips: dict[str, Oid]) -> dict[str, Oid]:
    """Drop the lost commits that another tip, the base or a ref of the user's holds anyway."""
    lost = [oid for label, oid in tips.items() if label.startswith("lost/")]
    if not lost:
        return tips
    named = [oid for label, oid in tips.items() if not label.startswith("lost/")]
    held = (site.base, *named, f"--exclude={site.workspace.branch}", "--branches", "--tags", "--remotes")
    only = set(site.repository.git.run("rev-list", *lost, "--not", *held).text.split("\n"))
    lost = [oid for oid in lost if oid in only]
    if len(lost) > 1:
        lost = [Oid(row) for row in site.repository.git.run("merge-base", "--independent", *lost).text.split("\n")]
    return {name: oid for name, oid in tips.items() if not name.startswith("lost/") or oid in lost}


def _keep(site: CaptureContext, run: RunId, unit: UnitId, label: str, oid: Oid) -> str:
    """Pin one commit; what was pinned under that name before and is no part of it stays pinned as lost."""
    name = kept_ref(run, unit, label)
    before = read_ref(site.repo, name)
    if before == oid:
        return name
    # An amended commit takes the name; what it replaced was pinned, and stays so.
    if before is not None and not site.repo.descendant_of(pygit2.Oid(hex=oid), pygit2.Oid(hex=before)):
        _create(site, kept_ref(run, unit, f"lost/{before[:12]}"), before)
    try:
        move_ref(site.repo, name, oid, before or ZERO, "prun: kept what the worker committed itself")
    except PrunError:
        # The name of another ref stands in the way: a branch `a` beside `a/b`.
        name = kept_ref(run, unit, f"lost/{oid[:12]}")
        _create(site, name, oid)
    return name


def _create(site: CaptureContext, name: str, oid: Oid) -> None:
    if read_ref(site.repo, name) != oid:
        move_ref(site.repo, name, oid, ZERO, "prun: kept what the worker committed itself")

"""One merge built in memory: objects are written, no ref moves and no checkout changes."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path

from gitprun.errors import GitFailed, PrunError, Refused
from gitprun.git.command import Git
from gitprun.git.refs import Signature
from gitprun.git.repo import Checkout
from gitprun.git.trees import GITLINK, Objects, TreeMerge, compare_trees, merge_trees, read_bases, tree_of
from gitprun.merge.commit import append_shortlog, finish_message, write_merge
from gitprun.merge.guard import LocalChanges, Target, find_obstacle
from gitprun.merge.hooks import HookRoom, Hooks
from gitprun.merge.plan import Candidate, ItemState, LandingItem, LandingOptions, render_message, unproved
from gitprun.merge.settings import MergeSettings
from gitprun.merge.settle import list_conflicts, settle_conflicts
from gitprun.merge.submodules import describe_moves
from gitprun.names import Oid


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Everything a landing knows about the place it lands in.

    ``git`` runs where attributes and drivers are read, ``room`` gives the worktree for hooks, ``notes`` collects
    what the user should know.
    """

    git: Git
    repo: Objects
    target: Target
    old_tree: Oid
    local: LocalChanges
    settings: MergeSettings
    hooks: Hooks
    room: Callable[[], HookRoom]
    who: tuple[Signature, Signature]
    checkouts: tuple[Checkout, ...]
    options: LandingOptions
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Keep a note, once."""
        if text not in self.notes:
            self.notes.append(text)


@dataclass(frozen=True, slots=True)
class Built:
    """A merge commit that exists but is reachable from nowhere yet."""

    item: LandingItem
    commit: Oid
    tree: Oid


def build_merge(site: Site, tip: Oid, candidate: Candidate) -> Built | LandingItem:
    """Merge a candidate into ``tip``; give the commit, or the item that says why there is none."""
    reason = unproved(candidate, site.options)
    if reason:
        return _item(candidate, "unverified", reason)
    try:
        bases = read_bases(site.git, site.repo, tip, candidate.tip)
        if not bases:
            return _item(candidate, "unrelated", f"it shares no history with {site.target.branch}")
        if candidate.tip in bases:
            return _contained(site, tip, candidate)
        if site.settings.verify_signatures and site.git.run("verify-commit", candidate.tip, ok=(0, 1, 128)).code:
            return _item(candidate, "refused", "merge.verifySignatures is on and its last commit has no good signature")
        merge = merge_trees(site.git, tip, candidate.tip)
    except GitFailed as problem:
        return _item(candidate, "refused", problem.message)
    item = LandingItem(candidate=candidate, state="would-land")
    if not merge.clean:
        settled = settle_conflicts(site.repo, merge, site.options.hotspots, several_bases=len(bases) > 1)
        if settled.refused is not None:
            return _conflict(site, tip, candidate, merge, settled.refused)
        merge, item = replace(merge, tree=settled.tree, clean=True), replace(item, resolved=settled.resolved)
    if len(bases) > 1:
        site.note(f"{candidate.branch}: {len(bases)} merge bases (criss-cross), merged by git alone")
    return _commit(site, tip, item, merge.tree, bases[0])


def _commit(site: Site, tip: Oid, item: LandingItem, tree: Oid, base: Oid) -> Built | LandingItem:
    candidate = item.candidate
    if tree == tree_of(site.repo, tip):
        if tree_of(site.repo, base) == tree_of(site.repo, candidate.tip):
            return _item(candidate, "empty", "its commits change nothing")
        return _item(candidate, "already-contained", f"its changes are already in {site.target.branch}")
    refused = _obstacle(site, candidate, tree)
    if refused:
        return _item(candidate, "refused", refused)
    message = render_message(candidate, site.options.message)
    if "\0" in message:
        return _item(candidate, "refused", "its commit message holds a NUL")
    message = append_shortlog(site.git, site.settings, candidate, message)
    if site.hooks.names and not site.options.dry_run:
        try:
            seen = site.room().consult(site.hooks, main=tip, unit=candidate.tip, tree=tree, message=message)
        except Refused as problem:
            return _item(candidate, "refused", problem.message)
        message = seen[1]
        if seen[0] != tree:
            tree = seen[0]
            site.note(f"{candidate.branch}: the pre-merge-commit hook changed the merged files")
            refused = _obstacle(site, candidate, tree)
            if refused:
                return _item(candidate, "refused", refused)
    message = finish_message(site.git, site.settings, message)
    if not message or "\0" in message:
        return _item(candidate, "refused", f"its commit message {'holds a NUL' if message else 'is empty'}")
    parents = (tip, candidate.tip)
    commit = write_merge(site.git, site.repo, site.settings, site.who, tree=tree, parents=parents, message=message)
    return Built(replace(item, commit=commit), commit, tree)


def _obstacle(site: Site, candidate: Candidate, tree: Oid) -> str:
    """Compare with the target's own tip: what an accepted branch already moves away is out of the way."""
    changes = compare_trees(site.repo, site.old_tree, tree)
    moved = [change for change in changes if GITLINK in (change.old_mode, change.new_mode)]
    for text in describe_moves(site.target.checkout, moved):
        site.note(f"{candidate.branch}: {text}")
    if site.target.checkout is None:
        return ""
    return find_obstacle(site.target.checkout, changes, site.local, ignore_case=site.settings.ignore_case)


def _contained(site: Site, tip: Oid, candidate: Candidate) -> LandingItem:
    """Tell a branch that was merged before from one that never had a commit of its own."""
    # Walking back from the target one first parent after the other, does one come by the branch's tip?
    walk = site.git.run("rev-list", "--first-parent", "--parents", f"{candidate.tip}..{tip}").text.splitlines()
    if walk and walk[-1].split()[1:2] != [candidate.tip]:
        return _item(candidate, "already-contained", f"{site.target.branch} already has its commits")
    dirty = None if candidate.unit else dirty_checkout(site, candidate)
    if dirty is not None:
        return _item(candidate, "refused", f"it has no commit of its own, but work that is not committed in {dirty}")
    return _item(candidate, "nothing-to-merge", "it has no commit of its own")


def dirty_checkout(site: Site, candidate: Candidate) -> Path | None:
    """Find the worktree in which a branch has work that is not committed."""
    for checkout in site.checkouts:
        if checkout.branch != f"refs/heads/{candidate.branch}" or not checkout.path.is_dir():
            continue
        try:
            options = ("--porcelain", "-z", "--untracked-files=normal", "--ignore-submodules=none", "--no-renames")
            rows = Git(cwd=checkout.path).run("status", *options).fields
            # A link into another checkout, such as a shared node_modules, is nobody's work.
            work = [row for row in rows if row[:2] != b"??" or not os.path.islink(_below(checkout.path, row[3:]))]
            return checkout.path if work else None
        except PrunError:
            return None
    return None


def _below(top: Path, name: bytes) -> bytes:
    return os.path.join(os.fsencode(top), name.rstrip(b"/"))


def _conflict(site: Site, tip: Oid, candidate: Candidate, merge: TreeMerge, refused: dict[bytes, str]) -> LandingItem:
    names = {tip: site.target.branch, candidate.tip: candidate.branch}
    conflicts = list_conflicts(merge, refused, names, site.target.checkout)
    against = site.target.branch
    if tip != site.target.tip:
        try:
            alone = merge_trees(site.git, site.target.tip, candidate.tip).clean
        except PrunError:
            alone = False
        against = "what lands before it" if alone else against
    count = len(conflicts)
    reason = f"conflicts with {against} in {count} path{'' if count == 1 else 's'}"
    return LandingItem(candidate=candidate, state="conflict", reason=reason, conflicts=conflicts)


def _item(candidate: Candidate, state: ItemState, reason: str) -> LandingItem:
    return LandingItem(candidate=candidate, state=state, reason=reason)


def lay_out_attributes(git: Git, commit: Oid, folder: Path) -> None:
    """Write the ``.gitattributes`` files of a commit into an empty folder, for merges of a branch not checked out."""
    for row in git.run("ls-tree", "-r", "-z", commit).fields:
        about, _, path = row.partition(b"\t")
        if path.rpartition(b"/")[2] == b".gitattributes" and about.startswith(b"100"):
            place = Path(os.fsdecode(os.path.join(os.fsencode(folder), path)))
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(git.run("cat-file", "blob", about.split(b" ")[2]).out)

"""One merge built in memory: objects are written, no ref moves and no checkout changes."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from gitprun.errors import GitFailed, GitStopped, GitTimeout, Refused
from gitprun.git.command import Git
from gitprun.git.trees import GITLINK, Change, show_path, tree_of
from gitprun.git.walk import TooDeep
from gitprun.merge.barriers import Proposed, find_holds
from gitprun.merge.beside import detached_ahead, dirty_checkout
from gitprun.merge.combine import Combined, combine
from gitprun.merge.commit import append_shortlog, finish_message, write_merge
from gitprun.merge.guard import find_obstacle
from gitprun.merge.plan import (
    EVERY_FINDING,
    Candidate,
    ItemState,
    LandingItem,
    Suspect,
    accepts,
    render_message,
    unproved,
)
from gitprun.merge.site import Site
from gitprun.merge.submodules import describe_moves, find_unknown
from gitprun.names import Oid, short

NO_HISTORY = (
    "if it began as a copy of a commit BASE, this makes its difference from that one commit that can land:"
    " git branch NEW $(git commit-tree -p BASE -m MESSAGE '{branch}^{{tree}}')"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Built:
    """A merge commit that exists but is reachable from nowhere yet; the rest is as in ``Combined``."""

    item: LandingItem
    commit: Oid
    tree: Oid
    brought: tuple[Change, ...] = ()
    united: frozenset[bytes] = frozenset()
    step: tuple[Change, ...] = ()
    offers: Mapping[bytes, int] = field(default_factory=dict)


def build_merge(
    site: Site, tip: Oid, candidate: Candidate, *, picks: Mapping[bytes, int] | None = None, trial: bool = False
) -> Built | LandingItem:
    """Merge a candidate into ``tip``; give the commit, or the item that says why there is none.

    ``picks`` asks for other proved texts than the first (see ``Means``). A ``trial`` is never landed: no hook runs.
    """
    unsettled = candidate.drift or candidate.later
    if unsettled and not trial:
        return _item(candidate, "refused", unsettled)
    reason = unproved(candidate, site.options)
    if reason:
        return _item(candidate, "unverified", reason)
    stray = Suspect(path="", reason=candidate.stray)
    if candidate.stray and not candidate.mended and not accepts(site.options.allow_suspect, stray):
        return replace(_item(candidate, "suspect", candidate.stray), suspects=(stray,))
    try:
        bases = site.ancestry.bases(tip, candidate.tip)
        if not bases:
            site.note(f"{candidate.branch} shares no history with {site.target.branch}: " + _way_out(candidate))
            return _item(candidate, "unrelated", f"it shares no history with {site.target.branch}")
        if candidate.tip in bases:
            return _contained(site, tip, candidate)
        if site.settings.verify_signatures and site.git.run("verify-commit", candidate.tip, ok=(0, 1, 128)).code:
            return _item(candidate, "refused", "merge.verifySignatures is on and its last commit has no good signature")
        combined = combine(site, tip, candidate, bases, picks)
    except (GitFailed, GitTimeout, TooDeep) as problem:
        return _refuse(candidate, problem)
    if isinstance(combined, LandingItem):
        return combined
    built = _commit(site, tip, combined, bases[0], trial=trial)
    if isinstance(built, Built):
        # What each base's main side changed grows by this step; the next merge starts from there.
        before = tree_of(site.repo, tip)
        for since in site.known.values():
            if since.tree == before:
                since.advance(built.tree, built.step)
    return built


def _refuse(candidate: Candidate, problem: GitFailed | GitTimeout | TooDeep) -> LandingItem:
    """Set a branch aside for what git said; raises the problem itself where it is a stop."""
    if isinstance(problem, GitStopped):
        raise problem
    return _item(candidate, "refused", problem.message)


def _way_out(candidate: Candidate) -> str:
    return NO_HISTORY.replace("{branch}", candidate.branch).replace("{{tree}}", "{tree}")


def _commit(site: Site, tip: Oid, combined: Combined, base: Oid, *, trial: bool) -> Built | LandingItem:
    candidate, tree, before = combined.item.candidate, combined.tree, tree_of(site.repo, tip)
    # What lost lines to the main side is not contained in it: it lands, with a tree that stays, as git has it land.
    if tree == before and not any(one.dropped for one in combined.item.resolved):
        if tree_of(site.repo, base) == tree_of(site.repo, candidate.tip):
            return _item(candidate, "empty", "its commits change nothing")
        return _item(candidate, "already-contained", f"its changes are already in {site.target.branch}")
    step = site.trees.compare(before, tree)
    proposed = Proposed(candidate=candidate, tip=tip, base=base, before=before, tree=tree, step=step)
    held = find_holds(site, proposed)
    if held is not None:
        return held
    refused = _obstacle(site, candidate, before, step)
    if refused:
        return _item(candidate, "refused", refused)
    message = render_message(candidate, site.options.message)
    if "\0" in message:
        return _item(candidate, "refused", "its commit message holds a NUL")
    message = append_shortlog(site.git, site.settings, candidate, message)
    if site.hooks.names and not site.options.dry_run and not trial:
        try:
            seen = _consult(site, tip, before, candidate, tree, message)
        except Refused as problem:
            return _item(candidate, "refused", problem.message)
        message = seen[1]
        if seen[0] != tree:
            tree, step = seen[0], site.trees.compare(before, seen[0])
            site.note(f"{candidate.branch}: the pre-merge-commit hook changed the merged files")
            # It works on files of the branch, perhaps with settings of the branch.
            held = find_holds(site, replace(proposed, tree=tree, step=step))
            if held is not None:
                return held
            refused = _obstacle(site, candidate, before, step)
            if refused:
                return _item(candidate, "refused", refused)
    message = finish_message(site.git, site.settings, message)
    if not message or "\0" in message:
        return _item(candidate, "refused", f"its commit message {'holds a NUL' if message else 'is empty'}")
    parents = (tip, candidate.tip)
    commit = write_merge(site.git, site.repo, site.settings, site.who, tree=tree, parents=parents, message=message)
    return Built(
        item=replace(combined.item, commit=commit),
        commit=commit,
        tree=tree,
        brought=combined.brought,
        united=combined.united,
        step=step,
        offers=combined.offers,
    )


def _consult(site: Site, tip: Oid, before: Oid, candidate: Candidate, tree: Oid, message: str) -> tuple[Oid, str]:
    """Ask the hooks about a merge; the same question is asked once. Raises Refused."""
    key = (before, candidate.tip, tree, message)
    known = site.memory.hooks.get(key)
    if known is None:
        try:
            known = site.room().consult(
                site.hooks, main=tip, unit=candidate.tip, branch=candidate.branch, tree=tree, message=message
            )
        except Refused as problem:
            known = problem.message
        site.memory.hooks[key] = known
    if isinstance(known, str):
        raise Refused(known)
    return known


def _obstacle(site: Site, candidate: Candidate, before: Oid, step: Sequence[Change]) -> str:
    """Compare with the target's own tip: what an accepted branch already moves away is out of the way."""
    since = site.since(site.old_tree, before)
    changes = since.after(step)
    moved = [change for change in changes if GITLINK in (change.old_mode, change.new_mode)]
    for text in describe_moves(site.target.checkout, moved):
        site.note(f"{candidate.branch}: {text}")
    allowed = site.options.allow_suspect
    unaccepted = [change for change in moved if not {show_path(change.path), *EVERY_FINDING} & {*allowed}]
    unknown = find_unknown(site.target.checkout, unaccepted)
    if unknown:
        return unknown
    if site.target.checkout is None:
        return ""
    accepted: list[Change] = []
    if site.settings.ignore_case or since.removed:
        touched = {change.path for change in step}
        accepted = [change for path, change in since.changes.items() if path not in touched]
    leaving = [change.path for change in accepted if change.removed]
    if site.settings.ignore_case:
        changes = [*accepted, *changes]
    return find_obstacle(
        site.target.checkout, changes, site.local, ignore_case=site.settings.ignore_case, leaving=leaving
    )


def _contained(site: Site, tip: Oid, candidate: Candidate) -> LandingItem:
    """Tell a branch that was merged before from one that never had a commit of its own."""
    taken_out = dict(candidate.reverted).get(site.target.ref)
    if taken_out:
        return _item(candidate, "refused", taken_out)
    # Walking back from the target one first parent after the other, does one come by the branch's tip?
    walk = site.git.run("rev-list", "--first-parent", "--parents", f"{candidate.tip}..{tip}").text.splitlines()
    if walk and walk[-1].split()[1:2] != [candidate.tip]:
        undone = _reverted_by_hand(site, tip, candidate, [row.split() for row in walk])
        if undone:
            return _item(candidate, "refused", undone)
        return _item(candidate, "already-contained", f"{site.target.branch} already has its commits")
    dirty = None if candidate.unit else dirty_checkout(site, candidate)
    if dirty is not None:
        return _item(candidate, "refused", f"it has no commit of its own, but work that is not committed in {dirty}")
    ahead = None if candidate.unit else detached_ahead(site, candidate)
    if ahead is not None:
        return _item(candidate, "refused", f"it has no commit of its own, but {ahead}")
    return _item(candidate, "nothing-to-merge", "it has no commit of its own")


def _reverted_by_hand(site: Site, tip: Oid, candidate: Candidate, walk: Sequence[Sequence[str]]) -> str:
    """Say which commit took a merge of the branch back (``git revert -m 1``), if none took that back again."""
    merged = next((row[0] for row in walk if candidate.tip in row[2:]), "")
    chain = [merged]
    while chain[-1]:
        # Each may have been reverted in its turn.
        words = ("--first-parent", "--fixed-strings", f"--grep=This reverts commit {chain[-1]}", "--format=%H", "-1")
        chain.append(site.git.run("log", "--no-show-signature", *words, f"{chain[-1]}..{tip}").text)
    reverts = chain[1:-1]
    if len(reverts) % 2 == 0:
        return ""
    by, target = short(reverts[-1]), site.target.branch
    return f"{target} had it, but {by} reverted the merge; git revert {by} brings it back, merging would bring nothing"


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

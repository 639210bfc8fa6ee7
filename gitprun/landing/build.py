"""One merge built in memory: objects are written, no ref moves and no checkout changes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from gitprun.capture.portable import describe_names
from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.git.trees import GITLINK, TreeChange, show_path, tree_of
from gitprun.git.walk import TreeTooDeep
from gitprun.judging.submodules import describe_moves, find_unknown
from gitprun.landing.barriers import find_holds
from gitprun.landing.combine import Combined, combine, let_suspects_pass
from gitprun.landing.commit import NewCommit, append_shortlog, finish_message, write_new_commit
from gitprun.landing.conflicts_committed import find_jj_conflict
from gitprun.landing.context import LandingContext
from gitprun.landing.guard import find_obstacle
from gitprun.landing.history import describe_replaced, explain_unrelated
from gitprun.landing.plan import Candidate, LandingItem, Proposed, render_message, unproved
from gitprun.landing.squashed import Fork, find_held_part, find_holder
from gitprun.landing.taken_back import describe_reverted
from gitprun.landing.uncommitted import detached_ahead, dirty_checkout
from gitprun.model.errors import GitFailed, GitStopped, GitTimeout, OperationRefused
from gitprun.model.findings import EVERY_FINDING, LandedState, Suspect, accepts
from gitprun.model.names import Oid, short

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
    brought: tuple[TreeChange, ...] = ()
    united: frozenset[bytes] = frozenset()
    step: tuple[TreeChange, ...] = ()
    offers: Mapping[bytes, int] = field(default_factory=dict)


def build_merge(
    site: LandingContext,
    tip: Oid,
    candidate: Candidate,
    *,
    picks: Mapping[bytes, int] | None = None,
    trial: bool = False,
) -> Built | LandingItem:
    """Merge a candidate into ``tip``; returns the commit, or the item that says why there is none.

    ``picks`` asks for other proved texts than the first (see ``Means``). A ``trial`` is never landed: no hook runs.
    """
    unsettled = candidate.drift or candidate.later
    # Commits made after the capture are proved by nobody; a trial lands nothing and may look.
    if unsettled and not trial:
        return _item(candidate, "refused", unsettled)
    # Before any merge: what is not proved by itself is not worth one.
    reason = unproved(candidate, site.options)
    if reason:
        return _item(candidate, "unverified", reason)
    diverged = Suspect(path="", reason=candidate.diverged)
    # The worker's branch says another thing than its capture: which of them is meant, only a person knows.
    if candidate.diverged and not candidate.mended and not accepts(site.options.allow_suspect, diverged):
        return replace(_item(candidate, "suspect", candidate.diverged), suspects=(diverged,))
    try:
        bases = site.ancestry.bases(tip, candidate.tip)
        combined = _settled(site, tip, candidate, bases) or combine(site, tip, candidate, bases, picks)
    except (GitFailed, GitTimeout, TreeTooDeep) as problem:
        return _refuse(candidate, problem)
    if isinstance(combined, LandingItem):
        return _name_part(site, combined, bases) if combined.state == "conflict" and len(bases) == 1 else combined
    built = _commit(site, tip, combined, bases[0], trial=trial)
    if isinstance(built, Built):
        # What each base's main side changed grows by this step; the next merge starts from there.
        before = tree_of(site.repo, tip)
        for since in site.known.values():
            if since.tree == before:
                since.advance(built.tree, built.step)
    return built


def _settled(site: LandingContext, tip: Oid, candidate: Candidate, bases: Sequence[Oid]) -> LandingItem | None:
    """Return in words what is to be said of a branch without merging it; None where it has to be merged."""
    common = site.state.parent
    if not bases:
        why = explain_unrelated(site.git, common, tip, candidate.tip, candidate.branch)
        if not why:
            site.note(f"{candidate.branch} shares no history with {site.target.branch}: " + _way_out(candidate))
        return _item(candidate, "unrelated", f"it shares no history with {site.target.branch}" + (why and f": {why}"))
    # Before "contained": for git the branch is in, and only the ledger or the history knows that it was taken out.
    undone = describe_reverted(site, candidate)
    if undone:
        return _item(candidate, "refused", undone)
    if site.replaced and (replaced := describe_replaced(site.git, tip, candidate.tip, bases)):
        site.note(f"{candidate.branch}: {replaced}")
    if candidate.tip in bases:
        return _contained(site, tip, candidate)
    unresolved = find_jj_conflict(site.trees, candidate, tree_of(site.repo, tip))
    if unresolved is not None:
        return unresolved
    # As ``git merge`` does with merge.verifySignatures: a landing must not be the way around it.
    if site.settings.verify_signatures and site.git.run("verify-commit", candidate.tip, ok=(0, 1, 128)).code:
        return _item(candidate, "refused", "merge.verifySignatures is on and its last commit has no good signature")
    return _squashed(site, candidate, bases)


def _squashed(site: LandingContext, candidate: Candidate, bases: Sequence[Oid]) -> LandingItem | None:
    """Return a branch whose work the target got by another name."""
    target, tip = site.target, candidate.tip
    # A target that has not moved cannot have got the work by another name.
    if len(bases) != 1 or bases[0] == target.tip or candidate.mended:
        return None
    key, known = (bases[0], target.tip, tip), site.memory.holders
    # Kept beyond this build: a train that is halved merges its branches many times.
    if key not in known:
        changes = site.trees.compare(tree_of(site.repo, bases[0]), tree_of(site.repo, tip))
        fork = Fork(bases[0], target.tip, tip)
        known[key] = find_holder(site.git, site.merging, site.trees, fork, changes)
    found = known[key]
    if found is None:
        return None
    if found.back is not None:
        name, since, by = target.branch, short(found.commit), short(found.back)
        return _item(
            candidate,
            "refused",
            f"{name} had its changes ({since}), and {by} took it back: git revert {by} brings it back",
        )
    return _item(candidate, "already-contained", found.told(target.branch))


def _name_part(site: LandingContext, item: LandingItem, bases: Sequence[Oid]) -> LandingItem:
    """Return of a branch in conflict up to which of its commits the target has it by another name."""
    candidate, target = item.candidate, site.target
    found = find_held_part(site.git, site.merging, site.trees, base=bases[0], target=target.tip, tip=candidate.tip)
    if found is None:
        return item
    own, since = map(short, found)
    rest = f"git rebase --onto {target.branch} {own} {candidate.branch} leaves the rest"
    return replace(item, reason=f"{item.reason}; {target.branch} has it up to {own} since {since} (squashed): {rest}")


def _refuse(candidate: Candidate, problem: GitFailed | GitTimeout | TreeTooDeep) -> LandingItem:
    """Set a branch aside for what git said; raises the problem itself where it is a stop."""
    # Ctrl-C, not an answer about this branch: recorded as a refusal, it would be told of the branch later.
    if isinstance(problem, GitStopped):
        raise problem
    return _item(candidate, "refused", problem.message)


def _way_out(candidate: Candidate) -> str:
    return NO_HISTORY.replace("{branch}", candidate.branch).replace("{{tree}}", "{tree}")


def _commit(site: LandingContext, tip: Oid, combined: Combined, base: Oid, *, trial: bool) -> Built | LandingItem:
    candidate, tree, before = combined.item.candidate, combined.tree, tree_of(site.repo, tip)
    # What lost lines to the main side is not contained in it: it lands, with a tree that stays, as git has it land.
    if tree == before and not any(one.dropped for one in combined.item.resolved):
        # Commits whose changes undo each other are no reason to call the branch contained.
        if tree_of(site.repo, base) == tree_of(site.repo, candidate.tip):
            return _item(candidate, "empty", "its commits change nothing")
        return _item(candidate, "already-contained", f"its changes are already in {site.target.branch}")
    step = site.trees.compare(before, tree)
    proposed = Proposed(candidate=candidate, tip=tip, base=base, before=before, tree=tree, step=step)
    # Before hooks and messages: what a person has to let pass first need not be asked anybody else.
    item = _let_pass(site, combined.item, proposed, trial=trial)
    if item.state != "would-land":
        return item
    for text in describe_names(site.trees, before, tree, step):
        site.note(f"{candidate.branch}: {text}")
    message = render_message(candidate, site.options.message)
    # A commit's message ends at a NUL for git: what is behind it would be lost without a word.
    if "\0" in message:
        return _item(candidate, "refused", "its commit message holds a NUL")
    message = append_shortlog(site.git, site.settings, candidate, message)
    # A hook may do anything, send mail even; a dry run promises that nothing happens.
    if site.hooks.names and not site.options.dry_run and not trial:
        try:
            seen = _consult(site, tip, before, candidate, tree, message)
        except OperationRefused as problem:
            return _item(candidate, "refused", problem.message)
        message = seen[1]
        if seen[0] != tree:
            tree, step = seen[0], site.trees.compare(before, seen[0])
            site.note(f"{candidate.branch}: the pre-merge-commit hook changed the merged files")
            # It works on files of the branch, perhaps with settings of the branch.
            item = _let_pass(site, combined.item, replace(proposed, tree=tree, step=step), trial=trial)
            if item.state != "would-land":
                return item
    # After the hooks, as git does: what they write is cleaned up as well.
    message = finish_message(site.git, site.settings, message)
    if not message or "\0" in message:
        return _item(candidate, "refused", f"its commit message {'holds a NUL' if message else 'is empty'}")
    parents = (tip, candidate.tip)
    new = NewCommit(tree=tree, parents=parents, message=message, who=site.who)
    commit = write_new_commit(site.git, site.repo, site.settings, new)
    return Built(
        item=replace(item, commit=commit),
        commit=commit,
        tree=tree,
        brought=combined.brought,
        united=combined.united,
        step=step,
        offers=combined.offers,
    )


def _let_pass(site: LandingContext, item: LandingItem, proposed: Proposed, *, trial: bool) -> LandingItem:
    """Return the item of a merge with what is said of it alone, or the one that says what keeps it from landing."""
    held = find_holds(site, proposed)
    if held is not None:
        return held
    refused = _obstacle(site, proposed)
    if refused:
        return _item(proposed.candidate, "refused", refused)
    # Last, for it costs most; a trial lands nothing.
    if site.difference is None or trial:
        return item
    compared = site.difference(site, proposed)
    for text in compared.unchecked:
        site.note(f"{proposed.candidate.branch}: not checked for new messages: {text}")
    return let_suspects_pass(site, replace(item, suspects=(*item.suspects, *compared.suspects)))


def _consult(
    site: LandingContext, tip: Oid, before: Oid, candidate: Candidate, tree: Oid, message: str
) -> tuple[Oid, str]:
    """Ask the hooks about a merge; the same question is asked once. Raises OperationRefused."""
    # A hook is slow, and asking it twice about one merge could give two messages for one landing.
    key = (before, candidate.tip, tree, message)
    known = site.memory.hooks.get(key)
    if known is None:
        try:
            known = site.room().consult(
                site.hooks, main=tip, unit=candidate.tip, branch=candidate.branch, tree=tree, message=message
            )
        except OperationRefused as problem:
            known = problem.message
        site.memory.hooks[key] = known
    if isinstance(known, str):
        raise OperationRefused(known)
    return known


def _obstacle(site: LandingContext, proposed: Proposed) -> str:
    """Compare with the target's own tip: what an accepted branch already moves away is out of the way."""
    candidate, step, since = proposed.candidate, proposed.step, site.since(site.old_tree, proposed.before)
    changes = since.after(step)
    moved = [change for change in changes if GITLINK in (change.old_mode, change.new_mode)]
    for text in describe_moves(site.target.checkout, moved):
        site.note(f"{candidate.branch}: {text}")
    allowed = site.options.allow_suspect
    unaccepted = [change for change in moved if not {show_path(change.path), *EVERY_FINDING} & {*allowed}]
    unknown = find_unknown(site.target.checkout, unaccepted)
    if unknown:
        return unknown
    # No checkout follows, so nothing on disk can be in the way.
    if site.target.checkout is None:
        return ""
    accepted: list[TreeChange] = []
    # Where case is ignored, "A" of one branch stands in the way of "a" of another, whoever changed it.
    if site.settings.ignore_case or since.removed:
        touched = {change.path for change in step}
        accepted = [change for path, change in since.changes.items() if path not in touched]
    leaving = [change.path for change in accepted if change.removed]
    if site.settings.ignore_case:
        changes = [*accepted, *changes]
    return find_obstacle(
        site.target.checkout, changes, site.local, ignore_case=site.settings.ignore_case, leaving=leaving
    )


def _contained(site: LandingContext, tip: Oid, candidate: Candidate) -> LandingItem:
    """Return a branch that was merged before from one that never had a commit of its own."""
    # Walking back from the target one first parent after the other, does one come by the branch's tip?
    walk = site.git.run("rev-list", "--first-parent", "--parents", f"{candidate.tip}..{tip}").text.splitlines()
    # Its tip was merged as a second parent once; a tip on the main line itself is just an old commit of the target.
    if walk and walk[-1].split()[1:2] != [candidate.tip]:
        return _item(candidate, "already-contained", f"{site.target.branch} already has its commits")
    dirty = None if candidate.unit else dirty_checkout(site, candidate)
    if dirty is not None:
        return _item(candidate, "refused", f"it has no commit of its own, but work that is not committed in {dirty}")
    ahead = None if candidate.unit else detached_ahead(site, candidate)
    if ahead is not None:
        return _item(candidate, "refused", f"it has no commit of its own, but {ahead}")
    return _item(candidate, "nothing-to-merge", "it has no commit of its own")


def _item(candidate: Candidate, state: LandedState, reason: str) -> LandingItem:
    return LandingItem(candidate=candidate, state=state, reason=reason)


@contextmanager
def attributes_alone(repository: Repository, commit: Oid) -> Iterator[Git]:
    """Make a folder with nothing but the attributes of a commit for git: another branch's must not steer the merge."""
    import tempfile

    with tempfile.TemporaryDirectory(prefix="prun-attributes-") as folder:
        _lay_out_attributes(repository.git, commit, Path(folder))
        yield Git(cwd=Path(folder), env={"GIT_DIR": str(repository.common), "GIT_WORK_TREE": folder})


def _lay_out_attributes(git: Git, commit: Oid, folder: Path) -> None:
    """Write the ``.gitattributes`` files of a commit into an empty folder, for merges of a branch not checked out."""
    for row in git.run("ls-tree", "-r", "-z", commit).fields:
        about, _, path = row.partition(b"\t")
        # Plain files only: a link in that place could be followed out of the folder.
        if path.rpartition(b"/")[2] == b".gitattributes" and about.startswith(b"100"):
            place = Path(os.fsdecode(os.path.join(os.fsencode(folder), path)))
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(git.run("cat-file", "blob", about.split(b" ")[2]).out)

"""What a branch would take away of others' work by landing, or leave away of its own; and work it has from before."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gitprun.git.command import Git
from gitprun.git.trees import ABSENT, REGULAR, TreeChange, parents_of, read_blob, show_path, tree_of
from gitprun.landing.conflicts_committed import find_markers
from gitprun.landing.context import LandingContext
from gitprun.landing.past import (
    FirstParentStep,
    Past,
    Reversal,
    Version,
    find_reversals,
    names_commit,
    reverted_commits,
    speaks_of_reverting,
)
from gitprun.landing.plan import Candidate
from gitprun.model.findings import Suspect
from gitprun.model.names import Oid, short


def look_back(site: LandingContext, candidate: Candidate, tree: Oid) -> TakenBack:
    """Look for work of others that a branch lost in merges of its own, or takes back although it has it.

    ``tree`` is what it brings: its own, or one that was mended.
    """
    target, tip = site.target.tip, candidate.tip
    # A unit's base is known to the commit; of other branches the reflog says where they were made.
    bases, first = site.ancestry.bases(target, tip), candidate.base or candidate.made
    back = Back(target=target, bases=bases, tip=tip, tree=tree, first=first)
    return find_all_taken_back(site.merging, site.past, back)


def find_branch_faults(
    site: LandingContext,
    candidate: Candidate,
    changes: Sequence[TreeChange],
    merged: Oid,
    known: Collection[str] = (),
) -> TakenBack:
    """Look at what a branch does as a whole, whatever it meets: what it takes back, conflicts that it committed.

    ``changes`` are its own since the merge base, ``merged`` is the tree it would land as. Of paths in
    ``known`` something worse is told already than that conflict markers are left in them.
    """
    seen = look_back(site, candidate, merged if candidate.mended else tree_of(site.repo, candidate.tip))
    marked = find_markers(site.git, site.trees, candidate.tip, changes, merged)
    return add_markers(seen, marked, known)


def add_markers(seen: TakenBack, marked: Sequence[Suspect], known: Collection[str]) -> TakenBack:
    """Add files with markers to what a branch takes back, but for those of which something worse is told."""
    told = {*known, *(one.path for one in seen.suspects)}
    return replace(seen, suspects=(*seen.suspects, *(one for one in marked if one.path not in told)))


def describe_reverted(site: LandingContext, candidate: Candidate) -> str:
    """Return what the target has of a branch and took back since, and how it comes back; empty where there is nothing.

    What somebody has mended by hand is meant.
    """
    if candidate.mended:
        return ""
    from gitprun.landing.reverts import Asking, find_reverted

    target = site.target
    asking = Asking(
        name=candidate.branch,
        tip=candidate.tip,
        target=target.tip,
        ref=target.ref,
        places=site.ancestry.places(candidate.tip),
        ledger=candidate.reverted,
    )
    found = find_reverted(site.past, asking)
    if found is None:
        return ""
    by = short(found.by)
    known = any(row.by == found.by for row in candidate.reverted)
    # git revert refuses a merge without being told which parent stays.
    merge = "-m 1 " if len(parents_of(site.repo, found.by)) > 1 else ""
    back = f"git prun undo --redo {by}" if known else f"git revert {merge}{by}"
    return f"{target.branch} had it: {found}; {back} brings it back"


@dataclass(frozen=True, slots=True, kw_only=True)
class Back:
    """A branch that asks to land: ``bases`` are the commits at which it joins the target, ``tree`` what it holds.

    ``first`` is the commit its work began at, where that is known: what came to it since is not its own to judge.
    """

    target: Oid
    bases: Sequence[Oid]
    tip: Oid
    tree: Oid
    first: str = ""


@dataclass(frozen=True, slots=True)
class TakenBack:
    """What a branch takes back of others' work: what is suspect, and what is only told."""

    suspects: tuple[Suspect, ...] = ()
    told: tuple[str, ...] = ()


def find_all_taken_back(merging: Callable[[], Git], past: Past, branch: Back) -> TakenBack:
    """Find what a branch takes back, and what was lost in merges of its own; ``merging`` gives who makes them anew."""
    if not branch.bases:
        return TakenBack()
    taken = find_taken_back(past, branch)
    # A single commit right on the target: it has no merges of its own that could have lost anything.
    if parents_of(past.trees.repo, branch.tip) == tuple(branch.bases):
        return taken
    from gitprun.landing.evil_merge import find_evil_merges

    known = (*branch.bases, branch.target)
    lost = find_evil_merges(merging(), past.trees, bases=known, tip=branch.tip, last=branch.tree)
    # Which merge it was says more than what is missing.
    suspects = {one.path: one for one in (*taken.suspects, *lost.suspects)}
    return TakenBack(tuple(suspects[path] for path in sorted(suspects)), (*lost.told, *taken.told))


def find_taken_back(past: Past, branch: Back) -> TakenBack:
    """Find the steps of the target that a branch has and takes back without a word.

    All that a step modified or deleted has to be as before; of what came to the branch after its work had begun, one
    path is enough, or lines of one.
    """
    joint = past.chain(branch.target, branch.bases).joint
    # The histories meet nowhere on the target's own line, so no step of it can be called known to the branch.
    if joint is None:
        return TakenBack()
    given = _given(past, branch)
    steps = past.steps(joint)
    # What came to the branch after its work had begun, its worker did not start from.
    since = set(past.between(joint, branch.first)) if branch.first else set()
    found = find_reversals(steps, given)
    # Who lands again what was reverted takes nothing back but the revert.
    whole = (one for one in found if one.whole and not reverted_commits(past.message(one.commit)))
    held = list(dict.fromkeys((*(one for one in found if one.commit in since), *whole)))
    recent = [step for step in steps if step.commit in since]
    if recent:
        held += _taken_lines(past, branch, recent, given)
    single = [one for one in found if one not in held]
    held = _unsaid(past, branch, held)
    suspects: dict[bytes, Suspect] = {}
    for one in held:
        for path in one.paths:
            reason = f"the branch takes back what {short(one.commit)} did here, and no commit of it says so"
            suspects.setdefault(path, Suspect(path=show_path(path), reason=reason))
    return TakenBack(tuple(suspects[path] for path in sorted(suspects)), _tell(single, given, suspects))


def _given(past: Past, branch: Back) -> dict[bytes, Version]:
    """Return each path that the branch changed with the version it has there."""
    trees = [tree_of(past.trees.repo, base) for base in branch.bases]
    first, *others = [past.trees.compare(tree, branch.tree) for tree in trees]
    # What one of several bases has as well is not the branch's doing.
    shared = [{change.path for change in changes} for changes in others]
    return {
        change.path: (change.new_mode, change.new) for change in first if all(change.path in paths for paths in shared)
    }


def _taken_lines(
    past: Past, branch: Back, steps: Sequence[FirstParentStep], given: Mapping[bytes, Version]
) -> Iterator[Reversal]:
    """Find the files in which lines are as they were before some steps, though the branch changed others there."""
    from gitprun.landing.evil_merge import is_text, undone_side

    trees, repo = past.trees, past.trees.repo
    before, after = parents_of(repo, steps[-1].commit), tree_of(repo, steps[0].commit)
    start = tree_of(repo, before[0])
    # Of several steps the newest is named.
    by = {change.path: step.commit for step in reversed(steps) for change in step.changes}
    for path, commit in by.items():
        versions = trees.find(start, path), trees.find(after, path), given.get(path)
        # A file that is gone or new as a whole is judged as a path, not by lines.
        if not all(one is not None and one[0] in REGULAR for one in versions):
            continue
        base, newer, now = (read_blob(repo, one[1]) for one in versions if one is not None)
        if is_text(base, newer, now) and undone_side(base, base, newer, now, now) is not None:
            yield Reversal(commit, (path,), False)


def _unsaid(past: Past, branch: Back, held: Sequence[Reversal]) -> list[Reversal]:
    """Leave out what a commit of the branch says it takes back: by its id, or by a word where it changed the path."""
    if not held:
        return []
    own = past.messages(branch.tip, (branch.target, *branch.bases))
    return [one for one in held if not any(_says(past, one, *row) for row in own)]


def _says(past: Past, taken: Reversal, commit: Oid, message: str) -> bool:
    if names_commit(message, taken.commit):
        return True
    if not speaks_of_reverting(message):
        return False
    # The word alone is not enough: "undo the typo" in one file excuses nothing in another.
    touched = {change.path for change in past.step(commit).changes}
    return not touched.isdisjoint(taken.paths)


def _tell(single: Sequence[Reversal], given: Mapping[bytes, Version], said: Mapping[bytes, Suspect]) -> tuple[str, ...]:
    """Return in a line which files have an older version; that one is gone is seen without."""
    rows = [(path, one.commit) for one in single for path in one.paths if given[path][0] != ABSENT]
    older = {path: commit for path, commit in reversed(rows) if path not in said}
    if not older:
        return ()
    path, commit = min(older.items())
    more = f" (and {len(older) - 1} more)" if len(older) > 1 else ""
    return (f"{show_path(path)} is as it was before {short(commit)}{more}",)

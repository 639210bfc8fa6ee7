"""Merges inside a branch that threw away what nothing spoke against, or left conflict markers: git finds no fault."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

import pygit2

from gitprun.git.batch import merge_many
from gitprun.git.command import Git
from gitprun.git.trees import GITLINK, REGULAR, Objects, TreeChange, read_bases, read_blob, show_path, tree_of
from gitprun.git.walk import Trees
from gitprun.model.findings import Suspect
from gitprun.model.names import Oid, short
from gitprun.resolvers.base import SIZE_LIMIT
from gitprun.resolvers.changes import LineChange, diff_lines

# The newest: git makes about a hundred merges again a second, and a branch with more of its own is a main line.
MOST = 500
_Version = tuple[str, Oid]


@dataclass(frozen=True, slots=True)
class EvilMerge:
    """What merges inside a branch lost: what is wrong, and what is only told (whole files that did not come along)."""

    suspects: tuple[Suspect, ...] = ()
    told: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Inner:
    """A merge of a branch, and the trees of its sides and of what it made."""

    commit: Oid
    parents: tuple[Oid, Oid]
    sides: tuple[Oid, Oid]
    made: Oid


def find_evil_merges(git: Git, trees: Trees, *, bases: Sequence[Oid], tip: Oid, last: Oid) -> EvilMerge:
    """Make every merge of a branch again; name the paths at which it lost a change that was in no conflict there, or
    committed what git had written for somebody to resolve.

    To settle a conflict by taking one side loses nothing: somebody has to choose. A path counts while the tree ``last``
    (that of the branch's tip, or a mended one) still lacks it. What is in the history of ``bases`` is not looked at.
    """
    repo = trees.repo
    merges = _merges(repo, tip, bases)[:MOST]
    # As git makes them without anybody's hand: what differs was done by hand.
    again = merge_many(git, [(one[1], one[2]) for one in merges])
    suspects: dict[str, Suspect] = {}
    told: dict[str, None] = {}
    for row, merge in zip(merges, again, strict=True):
        # Git could not make it again (a broken tree, say): then nothing is known of what it should have been.
        if isinstance(merge, str):
            continue
        inner, disputed = _read(repo, row), {stage.path for stage in merge.stages}
        wrong = dict.fromkeys(_marked(trees, inner, disputed, last), "left markers in it")
        changes = trees.compare(merge.tree, inner.made)
        bases = tuple(tree_of(repo, base) for base in read_bases(git, repo, *inner.parents)) if changes else ()
        for change in changes:
            lost = _lost_side(trees, inner, bases, change.path, last)
            if lost is not None:
                wrong[change.path] = f"threw away what {short(lost)} had changed here"
        for path, what in wrong.items():
            shown = show_path(path)
            suspects[shown] = Suspect(path=shown, reason=f"the merge {short(inner.commit)} in the branch {what}")
        undisputed = [change for change in changes if change.path not in disputed]
        told |= dict.fromkeys(_whole_files(trees, inner, undisputed, last))
    return EvilMerge(tuple(suspects[path] for path in sorted(suspects)), tuple(told))


def _read(repo: Objects, row: tuple[Oid, Oid, Oid]) -> _Inner:
    commit, one, other = row
    return _Inner(
        commit=commit,
        parents=(one, other),
        sides=(tree_of(repo, one), tree_of(repo, other)),
        made=tree_of(repo, commit),
    )


def _lost_side(trees: Trees, inner: _Inner, bases: Sequence[Oid], path: bytes, last: Oid) -> Oid | None:
    """Name the parent that changed a file with nothing against it, and of whose change something is gone; or None."""
    places = [trees.find(tree, path) for tree in (*inner.sides, inner.made, last)]
    befores = [trees.find(base, path) for base in bases]
    whole = [place for place in places if place is not None]
    # Whole files are told elsewhere; with both sides alike nothing could be lost.
    if len(whole) < len(places) or whole[0] == whole[1] or not befores:
        return None
    # With several bases it is lost only if it is so whichever of them is asked.
    found = {_lost_from(trees, before, *whole) if before is not None else None for before in befores}
    return None if None in found else inner.parents[found.pop() or 0]


def _lost_from(trees: Trees, before: _Version, *places: _Version) -> int | None:
    """Return which of the two first versions (0 or 1) lost something in both of the others."""
    versions = before, *places
    if all(mode in REGULAR for mode, _ in versions):
        modes = undone_value([mode for mode, _ in versions])
        texts = [read_blob(trees.repo, oid) for _, oid in versions]
        if modes is not None or is_text(*texts):
            return modes if modes is not None else undone_side(*texts)
    return undone_value(versions)


def _whole_files(trees: Trees, inner: _Inner, changes: Sequence[TreeChange], last: Oid) -> Iterator[str]:
    """Yield the files one side added or deleted that a merge left out, or kept; one that came up elsewhere moved."""
    placed = {change.new for change in changes if change.added}
    for change in changes:
        having = [bool(trees.find(side, change.path)) for side in inner.sides]
        now, path = trees.find(last, change.path), show_path(change.path)
        if having[0] == having[1] or change.old in placed:
            continue
        if change.removed and now is None:
            who = inner.parents[having.index(True)]
            yield f"{path}: the merge {short(inner.commit)} in the branch left out what {short(who)} had added"
        elif change.added and now is not None:
            who = inner.parents[having.index(False)]
            yield f"{path}: the merge {short(inner.commit)} in the branch kept what {short(who)} had deleted"


def _marked(trees: Trees, inner: _Inner, disputed: Collection[bytes], last: Oid) -> Iterator[bytes]:
    """List the files that hold lines which begin and end a conflict, and which neither side has."""
    for path in disputed:
        left = trees.find(inner.made, path)
        # Changed since: whoever did so saw the markers.
        if left is None or left[0] == GITLINK or left != trees.find(last, path):
            continue
        rows = [found for side in inner.sides if (found := trees.find(side, path)) and found[0] != GITLINK]
        texts = [read_blob(trees.repo, oid) for _, oid in (left, *rows)]
        marked = [sum(line.startswith((b"<<<<<<< ", b">>>>>>> ")) for line in text.split(b"\n")) for text in texts]
        # More than a side has: a text about conflicts may show some of its own.
        if marked[0] > max(marked[1:], default=0):
            yield path


def _merges(repo: Objects, tip: Oid, known: Sequence[Oid]) -> list[tuple[Oid, Oid, Oid]]:
    walk = repo.walk(pygit2.Oid(hex=tip), pygit2.enums.SortMode.NONE)
    for oid in known:
        walk.hide(pygit2.Oid(hex=oid))
    return [
        (Oid(str(commit.id)), *(Oid(str(parent)) for parent in commit.parent_ids))  # type: ignore[misc]
        for commit in walk
        # An octopus is made only where nothing conflicts: git gives up on it otherwise.
        if len(commit.parent_ids) == 2
    ]


def is_text(*contents: bytes) -> bool:
    """Check whether contents are texts, and small enough to be compared by lines."""
    return not any(b"\0" in text or len(text) > SIZE_LIMIT for text in contents)


def undone_side(base: bytes, one: bytes, other: bytes, made: bytes, now: bytes) -> int | None:
    """Return the side (0 or 1) whose own changes a text that was made of two has undone; None: neither's.

    It has the base's lines wherever that side alone had changed them, and still has some of them ``now``.

    Where both sides changed something side by side, whoever merged them had to choose. Who left a side's other changes
    out one and all did not look at it; who left out some of them did.
    """
    lines = base.splitlines(keepends=True)
    diffs = [diff_lines(lines, text.splitlines(keepends=True)) for text in (one, other, made, now)]
    if any(found is None for found in diffs):
        # Too different to be paired: only what is plain.
        return undone_value((base, one, other, made, now))
    by_one, by_other, by_made, by_now = (found or () for found in diffs)
    for side, (changes, against) in enumerate(((by_one, by_other), (by_other, by_one))):
        quiet = [change for change in changes if not _touched(change, against)]
        if not any(_touched(change, by_made) for change in quiet) and not all(_touched(one, by_now) for one in quiet):
            return side
    return None


def _touched(change: LineChange, others: Sequence[LineChange]) -> bool:
    return any(change.touches(other) for other in others)


def undone_value(values: Sequence[object]) -> int | None:
    """Return the side (0 or 1) whose new value, against none of the other's, is the base's again in all later ones."""
    base, one, other, *later = values
    # Both sides did the same: the merge could not lose one of them alone.
    if one == other or any(value != base for value in later):
        return None
    return 0 if base == other else 1 if base == one else None

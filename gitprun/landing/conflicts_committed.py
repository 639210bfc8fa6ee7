"""Conflicts that a branch commits as if they were work: jj's own kind of commit, and git's markers left in a file."""

from __future__ import annotations

from collections.abc import Sequence

from gitprun.git.command import Git
from gitprun.git.store import ObjectMissing
from gitprun.git.trees import REGULAR, Objects, TreeChange, read_blob, show_path, size_of_blob, tree_of
from gitprun.git.walk import Trees
from gitprun.landing.plan import Candidate, LandingItem
from gitprun.model.findings import UNRESOLVED, ConflictPath, Suspect
from gitprun.model.names import Oid

# jj keeps the sides of a conflict as folders of one commit, and names their trees in its header.
JJ_HEADER = b"jj:trees "
JJ_FOLDER = b".jjconflict-"
# Whole lines, at the margin, in this order: what git (or jj, with the others) leaves for somebody to resolve. Texts
# about conflicts mostly show them indented, or name only one of them.
_FIRST, _LAST = b"<" * 7, b">" * 7
_MIDDLE = (b"=" * 7, b"%" * 7, b"+" * 7)
_PATTERN = "^(<{7}|>{7})( |$)"
# Of a branch that changes more files git finds those that may have some: reading them all takes longer.
MOST_FILES = 200
# No text somebody has to resolve by hand is larger.
MOST_SIZE = 4 << 20


def find_jj_conflict(trees: Trees, candidate: Candidate, known: Oid) -> LandingItem | None:
    """Return the item that holds a branch whose last commit jj made of a conflict; ``known`` is the target's tree.

    What the folders of a conflict are in the target already is not this branch's doing.
    """
    commit = candidate.mended or candidate.tip
    # Commits are read like blobs here: the header ends at the first empty line.
    header = read_blob(trees.repo, Oid(commit)).partition(b"\n\n")[0]
    rows, before = ({*trees.names(tree, b"")} for tree in (tree_of(trees.repo, commit), known))
    folders = sorted(name for name in rows if name.startswith(JJ_FOLDER) and name not in before)
    if not folders and not any(line.startswith(JJ_HEADER) for line in header.split(b"\n")):
        return None
    shown = [show_path(name) for name in folders] or ["(the whole commit)"]
    detail = "the last commit holds the sides of a conflict, and no resolution"
    return LandingItem(
        candidate=candidate,
        state="conflict",
        reason="its last commit is a conflict that jj has not resolved: resolve it there (jj resolve), then land it",
        conflicts=tuple(ConflictPath(path=path, kind=UNRESOLVED, detail=detail) for path in shown),
    )


def find_markers(git: Git, trees: Trees, tip: Oid, changes: Sequence[TreeChange], tree: Oid) -> tuple[Suspect, ...]:
    """List the files of which a branch (commit ``tip``) changed something and left conflict markers in the merged
    ``tree``.
    """
    wanted = {change.path: change for change in changes if change.new_mode in REGULAR}
    if not wanted:
        return ()
    named = [*wanted]
    if len(wanted) > MOST_FILES:
        # -a: a file that git calls binary may hold markers as well.
        words = ("grep", "-laz", "--full-name", "--no-recurse-submodules", "-E", "-e", _PATTERN, tip)
        named = [row.partition(b":")[2] for row in git.run(*words, ok=(0, 1)).fields]
    found = []
    for change in (wanted[path] for path in named if path in wanted):
        left = trees.find(tree, change.path)
        own = _count(trees.repo, change.new)
        # What the target had committed is not this branch's doing, and what was mended since is gone.
        known = _count(trees.repo, change.old) if own and change.old_mode in REGULAR else 0
        if own > known and left is not None and left[0] in REGULAR and _count(trees.repo, left[1]):
            found.append(Suspect(path=show_path(change.path), reason="conflict markers were committed in it"))
    return tuple(found)


def _count(repo: Objects, oid: Oid) -> int:
    try:
        if size_of_blob(repo, oid) > MOST_SIZE:
            return 0
        text = read_blob(repo, oid)
    except ObjectMissing:
        # Whoever has to write the file says so.
        return 0
    return count_conflicts(text)


def count_conflicts(text: bytes) -> int:
    """Count the conflicts that are written out in a text: each a first, a middle and a last marker."""
    if _FIRST not in text or _LAST not in text:
        return 0
    found = 0
    wanted: tuple[bytes, ...] = (_FIRST,)
    for line in text.split(b"\n"):
        sign = line[:7]
        # As git has it, a label follows after a blank; git's own middle marker has none.
        if line[7:8] not in (b"", b" ", b"\r"):
            continue
        if sign == _FIRST:
            wanted = _MIDDLE
        elif sign in wanted:
            found += sign == _LAST
            wanted = (_LAST,) if sign in _MIDDLE else (_FIRST,)
    return found

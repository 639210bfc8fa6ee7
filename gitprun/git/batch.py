"""Many questions to one git program: trees compared, commits merged; all is asked at once, then all is read.

A conversation (one question, one answer) can block for ever in git before 2.49, so there is none.
"""

from __future__ import annotations

from collections.abc import Sequence

from gitprun.git.command import Git, require_git
from gitprun.git.trees import TreeChange, TreeMerge, leave_conflicts, merge_trees, parse_change, parse_merge_tree
from gitprun.model.errors import GitFailed, GitStopped, PrunError
from gitprun.model.names import Oid

# The first git whose merge-tree takes many merges on stdin.
OLDEST_BATCH = (2, 39)
# What git ends with when it cannot go on; merges read from stdin may be answered in part before it.
_FATAL = 128


def compare_many(git: Git, pairs: Sequence[tuple[Oid, Oid]]) -> list[tuple[TreeChange, ...]]:
    """List the paths that the trees (no commits) of each pair (old, new) hold differently, renames not looked for."""
    if not pairs:
        return []
    options = ("-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=none")
    out = git.run("diff-tree", "--stdin", *options, stdin=_lines(pairs)).out
    return parse_comparisons(out, pairs)


def parse_comparisons(out: bytes, pairs: Sequence[tuple[Oid, Oid]]) -> list[tuple[TreeChange, ...]]:
    """Read the output of ``git diff-tree --stdin -z --raw`` for pairs of trees; raises ValueError for anything else."""
    found, at = [], 0
    for old, new in pairs:
        head = f"{old} {new}\n".encode()
        if not out.startswith(head, at):
            raise ValueError(f"not the comparison of {old} and {new}: {out[at : at + 100]!r}")
        at += len(head)
        changes = []
        # Rows begin with a colon, and the head of the next pair with a digit.
        while out.startswith(b":", at):
            middle = out.index(b"\0", at)
            end = out.index(b"\0", middle + 1)
            changes.append(parse_change(out[at:middle], out[middle + 1 : end]))
            at = end + 1
        found.append(tuple(changes))
    if at != len(out):
        raise ValueError(f"more than was asked for: {out[at : at + 100]!r}")
    return found


def merge_many(git: Git, pairs: Sequence[tuple[Oid, Oid]]) -> list[TreeMerge | str]:
    """Merge the commits of each pair as ``merge_trees`` does; git's own words where it could not.

    One program does all; it ends at the first pair it cannot merge (unrelated histories, say), and another goes on
    after that one.
    """
    if pairs and require_git(git.cwd) < OLDEST_BATCH:
        return [_merge_one(git, pair) for pair in pairs]
    found: list[TreeMerge | str] = []
    while len(found) < len(pairs):
        waiting = pairs[len(found) :]
        words = ("merge-tree", "--write-tree", "-z", "--messages", "--stdin")
        try:
            answers = parse_merges(leave_conflicts(git).run(*words, stdin=_lines(waiting), ok=(0, 1, _FATAL)).out)
        except GitFailed:
            # It crashed (absurdly deep trees do that): then each by itself.
            return [*found, *(_merge_one(git, pair) for pair in waiting)]
        found += answers
        if len(answers) < len(waiting):
            # By itself it says why; and it may be that only the batch was too much.
            found.append(_merge_one(git, waiting[len(answers)]))
    return found


def _merge_one(git: Git, pair: tuple[Oid, Oid]) -> TreeMerge | str:
    try:
        return merge_trees(git, *pair)
    except GitFailed as problem:
        return problem.message.partition("failed: ")[2].removeprefix("fatal: ") or problem.message
    # A stop is about all pairs, and no trouble of this one.
    except GitStopped:
        raise
    except PrunError as problem:
        return problem.message


def parse_merges(out: bytes) -> list[TreeMerge]:
    """Read the whole answers in the output of ``git merge-tree --write-tree -z --messages --stdin``.

    Each is a 1 (clean) or a 0, then what a single merge prints, then an empty field; one that was cut off is left out.
    """
    fields = out.split(b"\0")[:-1]
    found: list[TreeMerge] = []
    at = 0
    while (end := _find_end(fields, at)) is not None:
        body = b"\0".join(fields[at + 1 : end]) + b"\0"
        found.append(parse_merge_tree(body, clean=fields[at] == b"1"))
        at = end + 1
    return found


def _find_end(fields: Sequence[bytes], at: int) -> int | None:
    """Find the empty field that ends the answer which begins at ``at``; None if it is not whole."""
    if at >= len(fields):
        return None
    if fields[at] not in (b"0", b"1"):
        raise ValueError(f"not the beginning of a merge: {fields[at]!r}")
    try:
        # The tree is never empty, so the first empty field ends the list of conflicts.
        place = fields.index(b"", at + 2) + 1
        while fields[place] != b"":
            # A message is a number of paths, these, its kind and its text.
            place += int(fields[place]) + 3
    except (ValueError, IndexError):
        return None
    return place


def _lines(pairs: Sequence[tuple[Oid, Oid]]) -> bytes:
    return "".join(f"{one} {other}\n" for one, other in pairs).encode()

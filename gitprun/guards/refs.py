"""Which changes of refs a worker in a linked worktree must not make."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from gitprun.guards.gitwords import COMMITS, REFS
from gitprun.model.names import ZERO

NOT_ITS_OWN = "the worker's own worktree is the only one it works in"
# These belong to one worktree, like HEAD and the names without a slash (ORIG_HEAD, MERGE_HEAD).
_PRIVATE = ("refs/bisect/", "refs/worktree/", "refs/rewritten/")


@dataclass(frozen=True, slots=True)
class Update:
    """One line of a transaction: ``old`` is ZERO where git does not check it, ``new`` where the ref goes."""

    old: str
    new: str
    ref: str


def parse_updates(rows: str) -> list[Update]:
    """Read what git gives a reference-transaction hook: ``OLD NEW REF`` lines; others are passed over."""
    parts = (row.split(" ", 2) for row in rows.split("\n"))
    return [Update(*part) for part in parts if len(part) == 3]


def refuse_update(
    updates: Iterable[Update],
    *,
    own: bool,
    current: Callable[[str], str],
    is_new: Callable[[str], bool],
    branch: str = "",
) -> tuple[str, str] | None:
    """Find the first update a worker must not make: the ref and why; None if all may be made.

    ``own`` tells that the transaction is made in the worker's own worktree, ``current`` where a ref is (ZERO: it
    does not exist), ``is_new`` whether a commit is reachable from no ref. ``branch`` is one it may
    commit to in its own worktree.
    """
    for update in updates:
        if own and branch and _may_commit(update, branch):
            continue
        why = _why(update, own, current, is_new)
        if why:
            return update.ref, why
    return None


def _may_commit(update: Update, branch: str) -> bool:
    """Check whether an update moves nothing but the branch of the worker itself, or what is checked out there."""
    return update.ref == "HEAD" or (update.ref == f"refs/heads/{branch}" and update.new != ZERO)


def _why(update: Update, own: bool, current: Callable[[str], str], is_new: Callable[[str], bool]) -> str:
    ref, new = update.ref, update.new
    # Git keeps these for each worktree: in its own the worker may bisect, rebase or stash nothing away of others.
    private = "/" not in ref or ref.startswith(_PRIVATE)
    if own and private and ref != "HEAD":
        return ""
    # git reset, pack-refs and others write a ref where it is already.
    if update.old == new != ZERO:
        return ""
    if private and not own:
        return NOT_ITS_OWN
    if current(ref) == new:
        return ""
    if not own:
        return REFS
    if ref != "HEAD":
        return COMMITS if ref.startswith("refs/heads/") and new != ZERO and is_new(new) else REFS
    # Looking at another commit harms nobody; a commit of its own on a detached HEAD is one all the same.
    return COMMITS if not new.startswith("ref:") and new != ZERO and is_new(new) else ""

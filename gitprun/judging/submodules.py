"""What a user should know about submodule commits that move in a merge."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.trees import ABSENT, GITLINK, TreeChange, show_path
from gitprun.model.errors import PrunError
from gitprun.model.names import Oid, short


def describe_moves(checkout: Path | None, changes: Iterable[TreeChange]) -> list[str]:
    """Return in words where submodules move: backwards or to a commit that is nowhere here are worth a look."""
    return [_describe(checkout, change) for change in changes]


def find_unknown(checkout: Path | None, changes: Iterable[TreeChange]) -> str:
    """Name a commit that a submodule is to move to although the user's copy of it has none such; empty if none."""
    for change in changes:
        git = _open(checkout, change.path) if change.new_mode == GITLINK else None
        # Without a copy nothing is known: most people never fetch every submodule.
        if git is not None and not _has(git, change.new):
            name = show_path(change.path)
            return (
                f"the submodule {name} moves to {short(change.new)}, a commit your copy of it does not have"
                f" (git -C {name} fetch brings it, if it was published)"
            )
    return ""


def _describe(checkout: Path | None, change: TreeChange) -> str:
    name = show_path(change.path)
    if change.new_mode != GITLINK:
        return f"the submodule {name} is removed"
    if change.old_mode == ABSENT or change.old_mode != GITLINK:
        return f"the submodule {name} is added at {short(change.new)}"
    said = f"the submodule {name} moves from {short(change.old)} to {short(change.new)}"
    git = _open(checkout, change.path)
    if git is None:
        return said
    if not _has(git, change.new):
        return f"{said}, a commit your copy of it does not have"
    back = (
        _has(git, change.old)
        # 128 where the histories are cut off: then it is not called backwards.
        and git.run("merge-base", "--is-ancestor", change.new, change.old, ok=(0, 1, 128)).code == 0
    )
    return f"{said}, which is backwards" if back else said


def describe_sides(checkout: Path | None, path: bytes, sides: Sequence[tuple[str, Oid]]) -> str:
    """Name the commits two sides want a submodule at, and whether the user's copy of it has them."""
    git = _open(checkout, path)
    words = []
    for side, oid in sides:
        # Where there is no copy at all nothing is known, and nothing is said.
        known = "" if git is None or _has(git, oid) else " (not in your copy)"
        words.append(f"{side} has {short(oid)}{known}")
    return ", ".join(words)


def _open(checkout: Path | None, path: bytes) -> Git | None:
    """Open the user's copy of a submodule, if there is one; without ``.git`` git would find the repository around."""
    if checkout is None:
        return None
    # A folder without .git of its own is in the repository around it, whose commits are others.
    place = Path(os.fsdecode(os.path.join(os.fsencode(checkout), path)))
    return Git(cwd=place, neutral=True) if os.path.lexists(place / ".git") else None


def _has(git: Git, oid: Oid) -> bool:
    try:
        return git.run("cat-file", "-e", f"{oid}^{{commit}}", ok=(0, 1, 128)).code == 0
    # A broken copy is not the landing's business: its commits count as unknown.
    except PrunError:
        return False

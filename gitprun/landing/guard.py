"""What keeps a branch from landing: read before anything is moved, and again right before.

Nothing here changes anything, and nothing of the user's is ever stashed, reset or cleaned to make a way.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from gitprun.git.command import Git
from gitprun.git.index import is_verbatim
from gitprun.git.repo import Checkout, Repository, read_checkouts, require_seen_checkout
from gitprun.git.stale import await_free, set_aside
from gitprun.git.trees import TreeChange, show_path
from gitprun.landing.checkout_index import find_overlooked
from gitprun.model.errors import OperationRefused, PrunError
from gitprun.model.lists import listed
from gitprun.model.names import Oid, parse_oid
from gitprun.system.files import read_plain

if TYPE_CHECKING:
    from gitprun.landing.plan import Candidate
    from gitprun.ledger.events import Event

BRANCHES = "refs/heads/"
# Git looks for hooks in a folder; /dev/null is none, so it finds nothing to run.
NO_HOOKS = ("core.hooksPath=/dev/null",)
# What fits on a line of a terminal.
SHOWN = 5
# How long an editor's or a prompt's ``git status`` holds the index at most; a longer one is work of the user's.
PATIENCE = 2.0
# What git leaves in a checkout's git folder while an operation waits for the user.
UNDER_WAY = {
    "MERGE_HEAD": "a merge",
    "CHERRY_PICK_HEAD": "a cherry-pick",
    "REVERT_HEAD": "a revert",
    "rebase-merge": "a rebase",
    "rebase-apply": "a rebase (or git am)",
    "sequencer": "a cherry-pick or revert",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The branch that is to move; ``checkout`` is the worktree that must follow (None: it is checked out nowhere).

    ``silent`` keeps git from running hooks there: they would be those that the move itself brings.
    """

    ref: str
    tip: Oid
    checkout: Path | None = None
    git_dir: Path | None = None
    silent: bool = False

    @property
    def branch(self) -> str:
        """Return the short name."""
        return self.ref.removeprefix(BRANCHES)

    def git(self, common: Path) -> Git:
        """Return git for its checkout, or else for the shared folder."""
        return Git(cwd=self.checkout or common, config=NO_HOOKS if self.silent else ())


@dataclass(frozen=True, slots=True)
class LocalChanges:
    """Uncommitted changes to tracked paths of a checkout; submodules that merely moved are not among ``unstaged``."""

    staged: frozenset[bytes] = frozenset()
    unstaged: frozenset[bytes] = frozenset()
    unmerged: frozenset[bytes] = frozenset()


# What takes a checkout off its branch until it is over, and the command that ends it.
OFF_BRANCH = {
    "rebase-merge": ("a rebase", "git rebase --continue, or git rebase --abort"),
    "rebase-apply": ("a rebase (or git am)", "git rebase --continue, or git rebase --abort"),
    "BISECT_LOG": ("a bisect", "git bisect reset"),
}
STATUS = (
    *("status", "--porcelain=v2", "-z", "--no-renames"),
    # Untracked files are asked about path by path, see find_obstacle: a listing of all takes long in large folders.
    *("--untracked-files=no", "--ignore-submodules=dirty"),
)
HEAD = ("symbolic-ref", "--quiet", "HEAD")


def read_target(
    repository: Repository,
    into: str | None,
    git: Git | None = None,
    checkouts: Sequence[Checkout] | None = None,
) -> Target:
    """Find the branch to land on and the checkout that must follow it; raises PrunError when there is none.

    ``git`` is the repository's, if something was asked ahead of it, and ``checkouts`` what it said about those.
    """
    # First: with core.bare or core.worktree set wrongly, git would move the branch and leave the files behind.
    require_seen_checkout(repository)
    git = git or repository.git
    head = git.run(*HEAD, ok=(0, 1)).text
    ref = BRANCHES + into.removeprefix(BRANCHES) if into is not None else head
    if into is None and repository.top is None:
        raise PrunError("this repository is bare: nothing is checked out to land on", "name a branch: --into BRANCH")
    if not ref.startswith(BRANCHES):
        require_on_branch(repository)
        raise PrunError(
            "HEAD is detached: there is no branch to land on", "switch to a branch, or name one: --into BRANCH"
        )
    answer = git.run("show-ref", "--verify", "--hash", "--", ref, ok=(0, 1, 128))
    if answer.code != 0:
        name = ref.removeprefix(BRANCHES)
        raise PrunError(f"the branch {name!r} has no commit here", "git branch lists the branches there are")
    tip = parse_oid(answer.text)
    listed = read_checkouts(git) if checkouts is None else checkouts
    found = _find_checkouts(repository, ref, listed, here=repository.top if head == ref else None)
    if not found:
        return Target(ref=ref, tip=tip)
    # Git itself allows that only by force; one of them would not follow, and show a revert of the landing.
    if len(found) > 1:
        raise OperationRefused(
            f"{ref} is checked out in more than one worktree: {', '.join(map(str, found))}",
            "switch all but one of them to another branch",
        )
    if found[0] == repository.top:
        return Target(ref=ref, tip=tip, checkout=found[0], git_dir=repository.git_dir)
    # By its own git: only that knows where the git folder of a linked worktree lies.
    git_dir = Git(cwd=found[0]).run("rev-parse", "--path-format=absolute", "--absolute-git-dir").out[:-1]
    return Target(ref=ref, tip=tip, checkout=found[0], git_dir=Path(os.fsdecode(git_dir)))


def require_on_branch(repository: Repository) -> None:
    """Raise OperationRefused where HEAD is on no branch since git is in the middle of something."""
    for name, (what, end) in OFF_BRANCH.items():
        if os.path.lexists(repository.git_dir / name):
            raise OperationRefused(
                f"{what} is in progress in {repository.top}: HEAD is on no branch until it is over", end
            )


def _find_checkouts(repository: Repository, ref: str, checkouts: Sequence[Checkout], here: Path | None) -> list[Path]:
    # For a submodule or with core.worktree the listing misplaces the main checkout: our own place is known better.
    found = [here] if here is not None else []
    for number, checkout in enumerate(checkouts):
        ours = number == 0 and repository.git_dir == repository.common
        if checkout.branch != ref or checkout.bare or (here and (ours or _same(checkout.path, here))):
            continue
        # Moving the branch of a checkout on a disk that is not mounted makes it stale unseen.
        if checkout.prunable is not None or not checkout.path.is_dir():
            raise OperationRefused(
                f"{ref} is checked out in {checkout.path}, which is missing",
                "git worktree repair if it was moved, git worktree prune if it is gone",
            )
        found.append(checkout.path)
    return found


def _same(one: Path, other: Path) -> bool:
    try:
        return os.path.samefile(one, other)
    except OSError:
        return False


def require_quiet(target: Target, common: Path) -> None:
    """Refuse while git waits for the user in the target's checkout, or rebases the target anywhere."""
    if target.git_dir is not None:
        for name, what in UNDER_WAY.items():
            if os.path.lexists(target.git_dir / name):
                raise OperationRefused(f"{what} is in progress in {target.checkout}", "finish or abort it first")
        # Not waited for here: where waiting helps, free_index has done so before.
        if os.path.lexists(target.git_dir / "index.lock"):
            raise OperationRefused(
                f"another git program works in {target.checkout}",
                f"wait for it; if none runs, remove {target.git_dir / 'index.lock'}",
            )
    for git_dir in (common, *sorted(common.glob("worktrees/*"))):
        for name in ("rebase-merge", "rebase-apply"):
            # During a rebase HEAD is detached; only this file says which branch is going to be moved at its end.
            held = read_plain(git_dir / name / "head-name", 4096)
            if held is not None and os.fsdecode(held.strip()) == target.ref:
                raise OperationRefused(
                    f"{target.branch} is being rebased (see {git_dir / name})", "finish or abort it first"
                )


def free_index(target: Target) -> list[str]:
    """Wait a moment for another git program in the target's checkout; a lock that a dead one left is set aside."""
    if target.git_dir is None or target.checkout is None:
        return []
    lock = target.git_dir / "index.lock"
    if not os.path.lexists(lock):
        return []
    # Old, and held by no process: then the program that made it is gone.
    aside = set_aside(lock, target.checkout, now=time.time())
    if aside is None:
        await_free(lock, patience=PATIENCE)
        return []
    return [f"{lock} was left by a git program that is gone; it is {aside.name} now"]


def read_local_changes(checkout: Path, git: Git | None = None) -> LocalChanges:
    """Read what is staged, changed and unmerged in a checkout; ``git`` is one that runs there."""
    staged, unstaged, unmerged = set(), set(), set()
    for row in (git or Git(cwd=checkout)).run(*STATUS).fields:
        if row.startswith(b"u "):
            unmerged.add(row.split(b" ", 10)[10])
        elif row.startswith(b"1 "):
            _, states, submodule, *_, path = row.split(b" ", 8)
            if states[:1] != b".":
                staged.add(path)
            # A submodule at another commit is not overwritten by a landing, which checks none out.
            if states[1:] != b"." and not submodule.startswith(b"S"):
                unstaged.add(path)
    return LocalChanges(frozenset(staged), frozenset(unstaged), frozenset(unmerged))


@dataclass(frozen=True, slots=True)
class AskedAhead:
    """The repository's git, with questions asked while ``stamp`` told its index."""

    git: Git
    stamp: tuple[int, ...] | None


def index_stamp(git_dir: Path) -> tuple[int, ...] | None:
    """Return what tells an index from every other that may stand in its place; None if there is none."""
    try:
        found = os.stat(git_dir / "index")
    except OSError:
        return None
    # Git writes an index anew and renames it, so the inode alone tells most changes.
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns


def require_mergeable(target: Target, local: LocalChanges) -> None:
    """Refuse a checkout whose index differs from its HEAD: no merge could be told from the user's own changes."""
    if local.unmerged:
        raise OperationRefused(
            f"{target.checkout} has unresolved conflicts: {list_paths(local.unmerged)}", "resolve and commit them first"
        )
    if local.staged:
        raise OperationRefused(
            f"{target.checkout} has staged changes: {list_paths(local.staged)}",
            "commit them, or unstage them with git restore --staged",
        )


def require_clean_elsewhere(target: Target, local: LocalChanges, top: Path | None) -> None:
    """Refuse a target that is checked out in another worktree where somebody is in the middle of something."""
    if local.unstaged and target.checkout is not None and not (top and _same(target.checkout, top)):
        raise OperationRefused(
            f"{target.branch} is checked out in {target.checkout}, which has uncommitted changes: "
            f"{list_paths(local.unstaged)}",
            "commit them, or land from there: then only changes in the way count",
        )


def find_obstacle(
    checkout: Path,
    changes: Sequence[TreeChange],
    local: LocalChanges,
    *,
    ignore_case: bool,
    leaving: Collection[bytes] = (),
) -> str:
    """Return what of the user's stands where the checkout would have to change; empty if nothing does.

    Ignored files count as much as untracked ones: they are somebody's only copy. ``leaving`` are paths that go away
    as well, beside the changes.
    """
    edited = {change.path: change.old for change in changes if not change.added and change.path in local.unstaged}
    overlooked = [path for path in find_overlooked(checkout, changes) if path not in edited]
    said = []
    if edited:
        # Else the user looks for an edit that nobody made.
        alike = all(is_verbatim(checkout / os.fsdecode(path), old) for path, old in edited.items())
        ends = " (git would only store other line ends: git add --renormalize, commit)" if alike else ""
        said.append(f"uncommitted changes are in the way: {list_paths(edited)}{ends}")
    if overlooked:
        how = "git update-index --no-assume-unchanged --no-skip-worktree FILE ends that"
        said.append(f"files that git was told to overlook are in the way: {list_paths(overlooked, most=None)} ({how})")
    # Edited files first: what is untracked need not be looked for as well.
    if said:
        return "; ".join(said)
    fold: Callable[[bytes], bytes] = _folded if ignore_case else bytes
    gone = {*map(fold, leaving), *(fold(change.path) for change in changes if change.removed)}
    added = [change.path for change in changes if change.added]
    twins = [path for path, first in _twins(added, fold) if first]
    if twins:
        return f"names that differ only in case cannot both be checked out here: {list_paths(twins)}"
    found: set[bytes] = set()
    for path in added:
        found.update(_in_the_way(os.fsencode(checkout), path, gone, fold))
    return f"files that are in no commit would be overwritten: {list_paths(found)}" if found else ""


def _folded(path: bytes) -> bytes:
    # As file systems that ignore case fold: by characters, not by bytes.
    return os.fsencode(os.fsdecode(path).casefold())


def _twins(paths: Iterable[bytes], fold: Callable[[bytes], bytes]) -> Iterable[tuple[bytes, bool]]:
    seen: set[bytes] = set()
    for path in paths:
        yield path, fold(path) in seen
        seen.add(fold(path))


def _in_the_way(top: bytes, path: bytes, leaving: Collection[bytes], fold: Callable[[bytes], bytes]) -> Iterable[bytes]:
    """Name what stands at a new path, inside it (a folder there) or above it (a file where a folder must be)."""
    parts = path.split(b"/")
    for depth in range(1, len(parts) + 1):
        place = b"/".join(parts[:depth])
        try:
            mode = os.lstat(os.path.join(top, place)).st_mode
        # Nothing there means that nothing can be below it.
        except FileNotFoundError:
            return ()
        if not stat.S_ISDIR(mode):
            return () if fold(place) in leaving else (place,)
    return [inner for inner in _files_below(top, path) if fold(inner) not in leaving]


def _files_below(top: bytes, folder: bytes) -> Iterable[bytes]:
    with os.scandir(os.path.join(top, folder)) as entries:
        for entry in entries:
            path = folder + b"/" + entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from _files_below(top, path)
            else:
                yield path


def hold_back(candidates: Sequence[Candidate], events: Sequence[Event]) -> tuple[Candidate, ...]:
    """Return candidates with what their workers changed of the user's: that is settled before they land.

    The branch of a named workspace is told where it was begun, too.
    """
    drifted = any(event.kind.startswith("drift.") for event in events)
    # Reading the record of drifts and workspaces takes its time; most landings have neither.
    if not drifted and all(one.unit for one in candidates):
        return tuple(candidates)
    from gitprun.ledger.drift_record import gates
    from gitprun.ledger.roster import NAMED, roster

    held = gates(events) if drifted else {}
    named = {unit.branch: unit for unit in roster(events).units.values()}
    found = []
    for one in candidates:
        place = None if one.unit else named.get(one.branch)
        name = f"{one.run}/{one.unit}" if one.unit else f"{NAMED}/{place.id}" if place else ""
        base, captured = (place.base or "", place.commit or "") if place else (one.base, "")
        found.append(replace(one, drift=held.get(name, ""), base=base, captured=captured))
    return tuple(found)


def list_paths(paths: Collection[bytes], most: int | None = SHOWN) -> str:
    """Name paths in a message: the first few in order (``most``: all of them if None), and how many more there are."""
    return listed(sorted(paths), most, show=show_path)

"""The one place that changes what the user sees: the branch moves, then its checkout follows.

Everything that can be known to fail is tried before the branch moves. What is left half way by a crash is brought to
its end (or back) path by path: a path is touched only while it still holds what one of the two commits says.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.index import blob_id
from gitprun.git.limits import keeping_work
from gitprun.git.trees import ABSENT, GITLINK, TreeChange, read_changes, tree_of
from gitprun.landing.checkout_index import are_untouched
from gitprun.landing.context import LandingContext
from gitprun.landing.guard import (
    HEAD,
    Target,
    find_obstacle,
    index_stamp,
    list_paths,
    read_local_changes,
    require_mergeable,
    require_quiet,
)
from gitprun.landing.settings import MergeSettings
from gitprun.model.errors import GitFailed, GitTimeout, OperationRefused, PrunError
from gitprun.model.names import Oid, short
from gitprun.system.files import read_plain

# A checkout once begun has to be finished: filters may fetch gigabytes (git-lfs) for each file.
CHECKOUT_TIMEOUT = 3600.0
# What git merge itself does to a checkout: it refuses where a file of the user's is in the way.
_FOLLOW = ("read-tree", "-m", "-u", "--no-recurse-submodules")
# Paths of 4,096 bytes, the longest there are: less than the 2 MB that the words of one program may have.
_PATHS_A_CALL = 200
_LINK = "120000"
# It is held in memory with both versions of it.
_MOST_TORN = 64 << 20


class TargetMoved(OperationRefused):
    """The target is no longer where the landing began; nothing was changed, and it may be tried anew."""

    def __init__(self, branch: str) -> None:
        super().__init__(f"{branch} moved meanwhile; nothing was changed", "run the same command again")
        self.branch = branch


class CheckoutMoved(OperationRefused):
    """The checkout is no longer on the target; nothing was changed."""


class MoveUndone(PrunError):
    """The checkout could not follow, so the branch and every file are back where they were."""


class CheckoutStuck(PrunError):
    """A checkout could be brought neither to the new commit nor back without touching somebody's work."""


def require_way(site: LandingContext, common: Path, new: Oid) -> None:
    """Try everything that moving to ``new`` needs, changing nothing but cached file times; raises OperationRefused."""
    git = Git(cwd=site.target.checkout or common)
    # The two questions go out in one call: each start of git is a large part of what this look costs.
    git.ask_ahead(*HEAD)
    try:
        _require_way(site, git, common, new)
    finally:
        git.forget()


def _require_way(site: LandingContext, git: Git, common: Path, new: Oid) -> None:
    target, settings = site.target, site.settings
    # Minutes may have passed in checks. The swap below would notice too, but only after the rest was tried for nothing.
    if read_tip(git, target.ref) != target.tip:
        raise TargetMoved(target.branch)
    # A rebase or merge that the user began meanwhile owns index and HEAD.
    require_quiet(target, common)
    if target.checkout is None or target.git_dir is None:
        return
    # The user switched branches while checks ran: those files are not the landing's to change.
    if git.run(*HEAD, ok=(0, 1)).text != target.ref:
        raise CheckoutMoved(f"{target.checkout} is on another branch now; nothing was changed", "run the command again")
    changes = site.trees.compare(site.old_tree, tree_of(site.repo, new))
    # While the index is the one that was read, nothing was staged since, and only the files that change matter.
    # With filter programs only git can tell whether a file is as committed.
    if site.index is not None and index_stamp(target.git_dir) == site.index and not settings.filters:
        obstacle = find_obstacle(target.checkout, changes, site.local, ignore_case=settings.ignore_case)
        if not obstacle and are_untouched(target.checkout, target.git_dir, changes):
            return
    require_free_way(target, common, settings, new, changes)


def require_free_way(
    target: Target, common: Path, settings: MergeSettings, new: Oid, changes: Sequence[TreeChange]
) -> None:
    """Check that nothing of the user's stands where the checkout would change, then let git try.

    Raises OperationRefused.
    """
    if target.checkout is None:
        return
    local = read_local_changes(target.checkout)
    require_mergeable(target, local)
    obstacle = find_obstacle(target.checkout, changes, local, ignore_case=settings.ignore_case)
    if obstacle:
        raise OperationRefused(f"{obstacle}; nothing was changed", "move them away, or commit them, and try again")
    require_passage(target, common, settings, new, changes)


def require_passage(
    target: Target, common: Path, settings: MergeSettings, new: Oid, changes: Sequence[TreeChange] | None = None
) -> None:
    """Have git try the checkout's way to ``new`` without going it; raises OperationRefused."""
    if target.checkout is None:
        return
    git = target.git(common)
    try:
        # Files that were touched and not changed (a build, a copy) would be taken for edits.
        git.run("update-index", "-q", "--refresh", ok=(0, 1))
        # Git's own rehearsal: it knows more reasons to refuse (sparse paths, submodules, case) than rules of ours
        # would.
        git.run(*_FOLLOW, "-n", target.tip, new)
        if settings.filters:
            known = read_changes(git, target.tip, new) if changes is None else changes
            _rehearse_filters(target, common, settings, known, new)
    except GitFailed as problem:
        raise OperationRefused(f"{target.checkout} cannot follow: {problem.message}; nothing was changed") from None


def _rehearse_filters(
    target: Target, common: Path, settings: MergeSettings, changes: Sequence[TreeChange], new: Oid
) -> None:
    """Write the changed files that go through a filter program somewhere else first: it may fail or be missing."""
    written = {change.path for change in changes if not change.removed and change.new_mode != GITLINK}
    if not settings.filters or not written or target.git_dir is None:
        return
    import tempfile

    # On the repository's own disk: /tmp may be small, and the files of a large landing are not.
    place = common / "prun"
    place.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="filters-", dir=place) as scratch:
        folder = Path(scratch) / "files"
        folder.mkdir()
        # With no file in the folder, attributes come from the index: those of the new commit.
        env = {"GIT_DIR": str(target.git_dir), "GIT_WORK_TREE": str(folder), "GIT_INDEX_FILE": f"{scratch}/index"}
        git = Git(cwd=folder, env=env)
        # Of its own index file: the user's is not touched before the branch moves.
        git.run("read-tree", new)
        # What a sparse checkout leaves out is not written.
        written -= {row[2:] for row in git.run("ls-files", "-t", "-z").fields if row.startswith(b"S ")}
        rows = git.run("check-attr", "--cached", "-z", "--stdin", "filter", stdin=_joined(written)).fields
        used = [path for path, name in zip(rows[::3], rows[2::3], strict=True) if os.fsdecode(name) in settings.filters]
        if used:
            git.run("checkout-index", "--quiet", "-z", "--stdin", stdin=_joined(used), timeout=CHECKOUT_TIMEOUT)


def _joined(paths: Iterable[bytes]) -> bytes:
    return b"".join(path + b"\0" for path in sorted(paths))


def read_tip(git: Git, ref: str) -> str:
    """Read where a branch is; empty if it does not exist."""
    return git.run("show-ref", "--verify", "--hash", "--", ref, ok=(0, 1, 128)).text


def move_target(target: Target, git: Git, new: Oid, reason: str) -> None:
    """Move the branch by compare-and-swap, with reflog and reference-transaction hook.

    Raises OperationRefused where it did not move.
    """
    try:
        # The old value is given: git moves it under its lock, or not at all.
        git.run("update-ref", "-m", reason, target.ref, new, target.tip)
    except GitFailed as problem:
        now = read_tip(git, target.ref)
        # A hook refused after the fact, or git was killed once the ref was written: it is where it should be.
        if now == new:
            return
        # Somebody else's commit came first; a new try builds on it.
        if now != target.tip:
            raise TargetMoved(target.branch) from None
        raise OperationRefused(f"git would not move {target.branch}: {problem.message}; nothing was changed") from None


def follow(target: Target, new: Oid, reason: str) -> None:
    """Bring the target's checkout to the new commit, or the branch and the checkout back; raises MoveUndone then."""
    if target.checkout is None:
        return
    git = target.git(target.checkout)
    # Beside the checkout, for undoing by hand (git reset ORIG_HEAD) as after git merge; that it fails harms nothing.
    before = git.start("update-ref", "-m", reason, "ORIG_HEAD", target.tip)
    try:
        try:
            git.run(*_FOLLOW, target.tip, new, timeout=CHECKOUT_TIMEOUT)
        finally:
            # Waited for in any case: a program left behind could write the ref after the landing was taken back.
            before.wait(ok=(0, 1, 128))
    except (GitFailed, GitTimeout) as problem:
        try:
            # A stop may be why it could not follow; it must not keep it from going back.
            with keeping_work():
                finish_checkout(git, new, target.tip, trust_index=False)
                git.run("update-ref", "-m", f"{reason} (taken back)", target.ref, target.tip, new)
        except PrunError as stuck:
            raise CheckoutStuck(
                f"{target.branch} moved to {short(new)}, but {target.checkout} could not follow: {problem.message};"
                f" nor could it go back: {stuck.message}",
                "nothing is lost; once the cause is gone, git prun merge finishes this landing first",
            ) from None
        raise MoveUndone(
            f"{target.checkout} could not follow: {problem.message}; {target.branch} is back where it was"
        ) from None


def finish_checkout(git: Git, old: Oid, new: Oid, *, trust_index: bool) -> None:
    """Bring the checkout that ``git`` runs in, and that stands somewhere between two commits, to ``new``.

    Each path must hold, in the index and on disk, what one of the two commits says, or a beginning of that (or be
    missing on disk); else CheckoutStuck is raised and nothing was touched. With ``trust_index`` an index that is at
    ``new`` ends it: git writes the index last, so the files are there, and what differs is the user's own doing since.
    """
    checkout = git.cwd
    half_way = f"{checkout} stands half way between {short(old)} and {short(new)}"
    lock = os.fsdecode(git.run("rev-parse", "--path-format=absolute", "--git-path", "index.lock").out[:-1])
    if os.path.lexists(lock):
        # Perhaps the git program of the landing that was killed still writes: wait for it, do not judge its files.
        raise CheckoutStuck(
            f"{half_way}, and another git program works in it ({lock} is there)",
            "wait for it (or remove the file if none runs); then git prun merge finishes the landing first",
        )
    changes = read_changes(git, old, new)
    index = _index_of(git, old, changes)
    # Only after a crash: while we hold on ourselves, an index written by somebody else is no proof.
    if trust_index and all(index[change.path] == (change.new_mode, change.new) for change in changes):
        return
    # By content, not by time stamps: after a crash those of a file half written may look untouched.
    content = _hash_files(git, checkout, changes)
    foreign: list[bytes] = []
    updates: list[bytes] = []
    torn: list[bytes] = []
    for change in changes:
        sides = {(change.old_mode, change.old), (change.new_mode, change.new)}
        held = _held(change, content.get(change.path))
        if held is None and index[change.path] in sides and _is_torn(git, checkout, change):
            torn.append(change.path)
            held = _held(change, None)
        # Anything else is the user's work; all such paths are named before the first file is touched.
        if index[change.path] not in sides or held is None:
            foreign.append(change.path)
        elif held != index[change.path]:
            mode, oid = held
            updates.append(b"%s %s\t%s\0" % (b"0" if mode == ABSENT else mode.encode(), oid.encode(), change.path))
    if foreign:
        raise CheckoutStuck(
            f"{half_way}, and was edited: {list_paths(foreign)}",
            "copy these files elsewhere and remove them there; then git prun merge finishes the landing first",
        )
    # Git would take a torn file for the user's edit and stop at it.
    for path in torn:
        os.unlink(os.path.join(os.fsencode(checkout), path))
    # Removals first: a folder may stand now where a file was.
    removals = [row for row in updates if row.startswith(b"0 ")]
    additions = [row for row in updates if not row.startswith(b"0 ")]
    # The index is told what is on disk, so that git sees a clean checkout and writes the rest itself.
    git.run("update-index", "-z", "--index-info", stdin=b"".join(removals + additions))
    git.run("update-index", "-q", "--refresh", ok=(0, 1))
    git.run(*_FOLLOW, old, new, timeout=CHECKOUT_TIMEOUT)


def _is_torn(git: Git, checkout: Path, change: TreeChange) -> bool:
    """Check whether a file is but the beginning of one side's version: what a full disk or a crash leaves."""
    text = read_plain(checkout / os.fsdecode(change.path), _MOST_TORN)
    # Read up to the limit: that much may be cut off, and no beginning of anything.
    if text is None or len(text) == _MOST_TORN:
        return False
    # Of regular files only: a link is written at once.
    sides = [oid for mode, oid in ((change.old_mode, change.old), (change.new_mode, change.new)) if mode[:2] == "10"]
    blobs = (git.run("cat-file", "blob", oid).out for oid in sides)
    # An empty file is one, too; a whole version was recognised before.
    return any(len(blob) > len(text) and blob.startswith(text) for blob in blobs)


def _index_of(git: Git, old: Oid, changes: Sequence[TreeChange]) -> dict[bytes, tuple[str, str]]:
    """Read what the index holds at the changed paths."""
    index: dict[bytes, tuple[str, str]] = {change.path: (change.old_mode, change.old) for change in changes}
    # One listing of what differs from the old commit; all else in the index is as that has it.
    options = ("--cached", "--raw", "-z", "--no-abbrev", "--no-renames", "--ignore-submodules=none")
    fields = git.run("diff-index", *options, old).fields
    for about, path in zip(fields[::2], fields[1::2], strict=True):
        _, mode, _, oid, _ = about.decode().split(" ")
        if path in index:
            index[path] = (mode, oid)
    return index


def _held(change: TreeChange, content: tuple[str, str] | None) -> tuple[str, str] | None:
    """Return which side's version of a path is on disk; None if it is neither's.

    A missing file that both sides have was unlinked to be written anew: that is the old side.
    """
    old, new = (change.old_mode, change.old), (change.new_mode, change.new)
    if content is None:
        # Gone where it should go: done. Gone where it should be: to be written.
        return new if change.removed else old
    if GITLINK in (change.old_mode, change.new_mode):
        return old
    same = [side for side in (new, old) if side[1] == content[1] and side[0][:3] == content[0][:3]]
    # Where the file system keeps no executable bit the content alone decides.
    return content if content in same else next(iter(same), None)


def _hash_files(git: Git, checkout: Path, changes: Sequence[TreeChange]) -> Mapping[bytes, tuple[str, str]]:
    """Compute mode and blob id of what is on disk at the changed paths, as git would store it; folders are absent."""
    found: dict[bytes, tuple[str, str]] = {}
    plain: list[tuple[bytes, str]] = []
    for change in changes:
        place = os.path.join(os.fsencode(checkout), change.path)
        try:
            mode = os.lstat(place).st_mode
        except (FileNotFoundError, NotADirectoryError):
            continue
        if stat.S_ISLNK(mode):
            # A link's content is its target; git hash-object would follow it.
            found[change.path] = (_LINK, blob_id(os.readlink(place)).hex())
        elif stat.S_ISREG(mode):
            plain.append((change.path, "100755" if mode & 0o100 else "100644"))
        elif GITLINK in (change.old_mode, change.new_mode):
            found[change.path] = (GITLINK, "")
    for start in range(0, len(plain), _PATHS_A_CALL):
        part = plain[start : start + _PATHS_A_CALL]
        # With filters and line ends, as it would be stored: else every file on a CRLF checkout is foreign.
        oids = git.run("hash-object", "--", *(path for path, _ in part)).text.split()
        found.update((path, (mode, oid)) for (path, mode), oid in zip(part, oids, strict=True))
    return found

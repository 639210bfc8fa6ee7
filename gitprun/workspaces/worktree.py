"""Linked worktrees: cheap and close to the user's repository, so opt-in."""

from __future__ import annotations

import itertools
import os
import shutil
import time
from collections.abc import Callable
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.repo import Repository, read_checkouts
from gitprun.git.stale import COMMONDIR, mend_entry
from gitprun.model.errors import GitFailed, GitTimeout, OperationRefused
from gitprun.model.escapes import shell_word
from gitprun.model.names import Oid
from gitprun.system.files import TRASH, empty_trash, folder_identity, locked, read_plain, remove_tree, write_whole
from gitprun.workspaces.base import QUIET, Workspace, WorkspaceProblem, explain_checkout, require_room

# Git holds its lock on the list of worktrees for milliseconds: two seconds outlast many workers that begin at once.
RETRIES = 20
RETRY_PAUSE = 0.1


def make_detached(repository: Repository, path: Path, commit: Oid) -> Workspace:
    """Make a linked worktree at ``path`` on no branch; raises WorkspaceProblem, leaving neither folder nor entry."""
    require_room(path.parent.parent, path)
    with locked(repository.state / "locks" / "worktree.lock", doing="making a worktree"):
        notes = _register(repository, path, ("--detach", str(path), commit), None)
    return _check_out(repository, path, None, notes)


def make_worktree(repository: Repository, path: Path, commit: Oid, branch: str, *, existing: bool = False) -> Workspace:
    """Make a linked worktree at ``path`` on the new branch ``branch`` at ``commit`` (``existing``: it is there).

    The registration is made under a lock without any tracking, which would write the shared configuration; the
    checkout happens outside it. Raises WorkspaceProblem, leaving neither folder, registration nor new branch.
    """
    require_room(path.parent.parent, path)
    with locked(repository.state / "locks" / "worktree.lock", doing="making a worktree"):
        if not existing:
            require_free_branch(repository.git, branch)
        words = (str(path), branch) if existing else ("--no-track", "-b", branch, str(path), commit)
        notes = _register(repository, path, words, None if existing else (branch, commit))
    try:
        return _check_out(repository, path, branch, notes)
    except WorkspaceProblem:
        if not existing:
            repository.git.run("update-ref", "-d", f"refs/heads/{branch}", commit)
        raise


def _check_out(repository: Repository, path: Path, branch: str | None, notes: tuple[str, ...]) -> Workspace:
    """Fill a worktree that was registered; where that fails its folder and its entry are gone again."""
    identity = folder_identity(path)
    if identity is None:
        raise WorkspaceProblem(f"{path} vanished while it was made")
    try:
        _unbare(repository, path)
        Git(cwd=path, config=QUIET).run("reset", "--hard", "--quiet")
    except (GitFailed, GitTimeout) as problem:
        remove_worktree(repository, path, identity)
        raise explain_checkout(problem, path) from None
    return Workspace(kind="worktree", path=path, identity=identity, branch=branch, notes=notes)


def _unbare(repository: Repository, path: Path) -> None:
    """Set in the worktree's own settings that it is no bare repository, where the shared ones reach it."""
    shared = Git(cwd=repository.common, env={"GIT_DIR": str(repository.common)})
    asked = ("extensions.worktreeConfig", "core.bare")
    # Such a repository says for all worktrees that they have none, and git would refuse to fill this one.
    if all(shared.run("config", "--type=bool", "--get", key, ok=(0, 1)).text == "true" for key in asked):
        Git(cwd=path).run("config", "--worktree", "core.bare", "false")


def _register(
    repository: Repository, path: Path, words: tuple[str, ...], made: tuple[str, Oid] | None
) -> tuple[str, ...]:
    """Have git make its entry; ``made`` are branch and commit of a new branch, which goes again when that fails.

    Gives notes: what a program that died had left in the way was put right.
    """
    # A hook of the user's (post-checkout) has no business with a place nobody works in yet; relative paths break in old
    # gits.
    settings = ("core.hooksPath=/dev/null", "worktree.useRelativePaths=false")
    git = Git(cwd=repository.top or repository.common, config=settings)
    notes: tuple[str, ...] = ()
    for attempt in itertools.count(1):
        try:
            git.run("worktree", "add", "--quiet", "--no-checkout", *words)
            return notes
        except GitFailed as problem:
            # Git leaves the folder it made before it failed; a next try would call that "already there".
            shutil.rmtree(path, ignore_errors=True)
            if made is not None:
                git.run("update-ref", "-d", f"refs/heads/{made[0]}", made[1], ok=(0, 1, 128))
            broken = COMMONDIR.search(problem.stderr)
            if broken is None:
                raise WorkspaceProblem(f"no worktree at {path}: {problem.message}") from None
            mended = mend_entry(repository.common, problem, now=time.time())
            if mended:
                notes = (*notes, mended)
                continue
            # Another program is between making its entry and filling it; if it died there, this stays so.
            if attempt < RETRIES:
                time.sleep(RETRY_PAUSE)
                continue
            raise WorkspaceProblem(
                f"no worktree at {path}: the registration of another worktree, {broken['name']!r}, is half written",
                f"if no program is making it now, move {os.path.dirname(broken['file'])} away and try again",
            ) from None
    raise AssertionError("numbers do not end")


def require_free_branch(git: Git, branch: str) -> None:
    """Refuse a branch name that exists, or that collides with one that does (``a`` against ``a/b``)."""
    taken = git.run("for-each-ref", "--format=%(refname)", "refs/heads").out.decode("utf-8", "surrogateescape")
    own = f"refs/heads/{branch}"
    for name in taken.split("\n")[:-1]:
        if name == own:
            holder = next((row.path for row in read_checkouts(git) if row.branch == own), None)
            raise WorkspaceProblem(
                f"the branch {branch} already exists" + (f" and is checked out in {holder}" if holder else ""),
                "choose another name, or remove that branch",
            )
        if own.startswith(f"{name}/") or name.startswith(f"{own}/"):
            raise WorkspaceProblem(
                f"the branch {branch} cannot be made beside {name.removeprefix('refs/heads/')}",
                'rename that branch, or use workspace = "clone"',
            )


def admin_folder(common: Path, path: Path) -> Path | None:
    """Find the registration of a linked worktree in the shared folder, trusting nothing inside the worktree."""
    wanted = os.path.join(os.path.realpath(path.parent), path.name, ".git")
    try:
        entries = list(os.scandir(common / "worktrees"))
    except OSError:
        return None
    found = []
    for entry in entries:
        said = os.fsdecode(read_plain(Path(entry.path) / "gitdir", 10_000) or b"").removesuffix("\n")
        folder, name = os.path.split(os.path.dirname(said))
        if said and os.path.join(os.path.realpath(folder), name, ".git") == wanted:
            found.append(Path(entry.path))
    # Two that claim the same worktree: one of them is somebody else's, and was altered.
    return found[0] if len(found) == 1 else None


def relocate_worktree(repository: Repository, before: Path, after: Path) -> None:
    """Record with git that a worktree was renamed from ``before`` to ``after``; doing it twice is fine."""
    with locked(repository.state / "locks" / "worktree.lock", doing="moving a worktree"):
        admin = admin_folder(repository.common, before)
        if admin is not None:
            write_whole(admin / "gitdir", os.fsencode(after / ".git") + b"\n", mode=0o644)
        else:
            admin = admin_folder(repository.common, after)
        pointer = after / ".git"
        said = (read_plain(pointer, 10_000) or b"").removeprefix(b"gitdir:").strip()
        if admin is not None and said and not (os.path.isabs(said) and os.path.lexists(said)):
            # A relative one counted from where it was; an absolute one does not follow a repository that was moved.
            write_whole(pointer, b"gitdir: " + os.fsencode(admin) + b"\n", mode=0o644)


def lock_reason(common: Path, path: Path) -> str | None:
    """Return the reason somebody locked a worktree for with ``git worktree lock`` (perhaps empty).

    None if nobody did.
    """
    admin = admin_folder(common, path)
    if admin is None or not os.path.lexists(admin / "locked"):
        return None
    return os.fsdecode(read_plain(admin / "locked", 1000) or b"").strip()


def require_unlocked(common: Path, path: Path) -> None:
    """Refuse a worktree that somebody locked with ``git worktree lock``."""
    reason = lock_reason(common, path)
    if reason is not None:
        raise OperationRefused(
            f"the worktree {path} is locked" + (f": {reason}" if reason else ""),
            f"git worktree unlock {shell_word(str(path))}",
        )


def remove_worktree(
    repository: Repository,
    path: Path,
    identity: tuple[int, int],
    *,
    noted: Callable[[Path, tuple[int, int]], None] | None = None,
) -> None:
    """Remove a worktree prun made: its folder (never through a link), then its registration.

    ``noted`` hears of the trash folder as ``remove_tree`` says. Raises OperationRefused, with nothing changed,
    when somebody
    locked it.
    """
    # Git's own lock covers single steps only; two that remove at once would each take the other's half for broken.
    with locked(repository.state / "locks" / "worktree.lock", doing="removing a worktree"):
        require_unlocked(repository.common, path)
        _sweep_rests(repository.state)
        admin = admin_folder(repository.common, path)
        if os.path.lexists(path):
            remove_tree(path, identity, noted=noted)
        if admin is not None:
            found = folder_identity(admin)
            if found is not None:
                # Not among the registrations, where git would take the rest of it for one.
                remove_tree(admin, found, room=repository.state)


def _sweep_rests(state: Path) -> None:
    """Empty what is left of registrations that were being removed; nobody else puts anything there."""
    # Of a removal that was killed: nothing in there is named by anything any more.
    for rest in state.glob(f"{TRASH}*"):
        found = folder_identity(rest)
        if found is not None:
            empty_trash(rest, found)

"""Refs and commits through libgit2: written by compare-and-swap, read back before they are believed."""

from __future__ import annotations

import os
import re
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gitprun.git.command import Git
from gitprun.git.store import store_of
from gitprun.model.errors import PrunError
from gitprun.model.names import PRUN_REFS, ZERO, Oid
from gitprun.system.files import read_plain

if TYPE_CHECKING:
    import pygit2

# A repository with a million refs has a list of about 70 MB.
_MOST = 1 << 28


class RefMoved(PrunError):
    """A ref is no longer where we left it."""


class RefLocked(PrunError):
    """A ref could not be written where it is; somebody may hold its lock."""


class RefUnreadable(PrunError):
    """Something lies where a ref should, and it is nothing that can be read."""


class ObjectsLost(PrunError):
    """An object that was written cannot be read back (a full disk does that)."""


@dataclass(frozen=True, slots=True)
class Signature:
    """Who and when, as git wrote it: ``time`` in seconds since 1970, ``offset`` in minutes."""

    name: str
    email: str
    time: int
    offset: int


def open_repository(git_dir: Path) -> pygit2.Repository:
    """Open a repository (or one checkout's git folder) with libgit2 and let it sync what it writes."""
    import pygit2

    pygit2.settings.enable_fsync_gitdir(True)
    try:
        return pygit2.Repository(str(git_dir))
    except pygit2.GitError as problem:
        raise PrunError(
            f"libgit2 cannot open {git_dir}: {problem}",
            "repositories with SHA-256 objects, reftable refs or partial-clone extensions are not supported yet",
        ) from None


def open_with_objects(git_dir: Path, objects: Path) -> pygit2.Repository:
    """Open a repository so that it shows the objects of another folder too; nothing is to be written with it."""
    # By a path, since libgit2 cannot read every alternates file that git can.
    found = open_repository(git_dir)
    found.odb.add_disk_alternate(str(objects))
    return found


@contextmanager
def unsynced() -> Iterator[None]:
    """Switch libgit2's syncing off while the block runs; who believes what it wrote syncs that."""
    import pygit2

    pygit2.settings.enable_fsync_gitdir(False)
    try:
        yield
    finally:
        pygit2.settings.enable_fsync_gitdir(True)


def loose_place(objects: str, oid: str) -> str:
    """Name the file of an object that is not packed."""
    return f"{objects}/{oid[:2]}/{oid[2:]}"


def parse_ident(line: str) -> Signature:
    """Read the output of ``git var GIT_COMMITTER_IDENT``."""
    who, _, when = line.rpartition("> ")
    name, _, email = who.partition(" <")
    seconds, _, zone = when.partition(" ")
    minutes = int(zone[1:3]) * 60 + int(zone[3:5])
    return Signature(name, email, int(seconds), -minutes if zone.startswith("-") else minutes)


def read_signatures(git: Git) -> tuple[Signature, Signature]:
    """Ask git who the author and the committer are; raises NoIdentity when it does not know."""
    found = []
    for name in ("GIT_AUTHOR_IDENT", "GIT_COMMITTER_IDENT"):
        answer = git.run("var", name, ok=(0, 1, 128))
        if answer.code != 0:
            raise NoIdentity(
                "git does not know who you are, so no commit can be made",
                'git config --global user.name "..." and user.email "..." (or GIT_AUTHOR_*/GIT_COMMITTER_* variables)',
            )
        # libgit2 takes names as UTF-8 only.
        found.append(parse_ident(answer.out.decode("utf-8", "replace").rstrip("\n")))
    return found[0], found[1]


def has_refs(common: Path, prefix: str) -> bool:
    """Check whether a repository has any ref below a prefix, such as ``refs/remotes/``, without asking git."""
    for _, _, files in os.walk(common / prefix):
        if files:
            return True
    packed = read_plain(common / "packed-refs", _MOST)
    return packed is not None and f" {prefix}".encode() in packed


class NoIdentity(PrunError):
    """No name and address for commits."""


def write_commit(
    repo: pygit2.Repository,
    tree: Oid,
    parents: tuple[Oid, ...],
    message: str,
    author: Signature,
    committer: Signature,
) -> Oid:
    """Write a commit object, moving no ref, and read it back.

    libgit2 1.9 can report success for a commit it could not write, so the object is looked up again; raises
    ObjectsLost when it is not there. Bytes of the message that were no UTF-8 (surrogates now) become U+FFFD.
    """
    message = message.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    store = store_of(repo)
    if store is not None:
        return store.put_commit(tree, parents, message, author, committer)
    import pygit2

    oid = repo.create_commit(
        None,
        pygit2.Signature(author.name, author.email, author.time, author.offset),
        pygit2.Signature(committer.name, committer.email, committer.time, committer.offset),
        message,
        pygit2.Oid(hex=tree),
        [pygit2.Oid(hex=parent) for parent in parents],
    )
    found = Oid(str(oid))
    require_object(repo, found)
    return found


def write_object(repo: pygit2.Repository, kind: str, body: bytes) -> Oid:
    """Write a blob or a tree and read it back; raises ObjectsLost when it is not there."""
    store = store_of(repo)
    if store is not None:
        return Oid(store.put(kind.encode(), body).hex())
    import pygit2

    oid = Oid(str(repo.write(getattr(pygit2.enums.ObjectType, kind.upper()), body)))
    require_object(repo, oid)
    return oid


def require_object(repo: pygit2.Repository, oid: Oid) -> None:
    """Read an object back from disk, of a commit its tree too; raises ObjectsLost when it is not whole."""
    store = store_of(repo)
    if store is not None:
        store.content(oid)
        return
    import pygit2

    try:
        _require_not_torn(repo, oid)
        kind, body = repo.read(pygit2.Oid(hex=oid))
        if kind == pygit2.enums.ObjectType.COMMIT:
            # Every commit begins with ``tree `` and the forty digits of its id.
            tree = bytes(body[5:45]).decode("ascii")
            _require_not_torn(repo, tree)
            repo.read(pygit2.Oid(hex=tree))
    except (KeyError, ValueError, OSError, zlib.error, pygit2.GitError) as problem:
        raise ObjectsLost(f"object {oid} could not be read back: {problem}", "is the disk full?") from None


def _require_not_torn(repo: pygit2.Repository, oid: str) -> None:
    """Raise ValueError for an object in a file of its own that ends too early: libgit2 1.9 reads on for ever."""
    unpacking = zlib.decompressobj()
    try:
        with open(loose_place(f"{repo.path}objects", oid), "rb") as source:
            # A megabyte at a time: an object may be larger than what memory is free.
            while chunk := source.read(1 << 20):
                while chunk:
                    unpacking.decompress(chunk, 1 << 20)
                    chunk = unpacking.unconsumed_tail
    except FileNotFoundError:
        return
    if not unpacking.eof:
        raise ValueError("it was cut off")


def move_ref(repo: pygit2.Repository, name: str, new: Oid, old: Oid, reason: str) -> None:
    """Move a ref from ``old`` to ``new`` (old ZERO: it must not exist yet), or raise RefMoved and change nothing."""
    require_object(repo, new)
    _past_dead_lock(repo, name, lambda: _move(repo, name, new, old, reason))


def _past_dead_lock(repo: pygit2.Repository, name: str, step: Callable[[], None]) -> None:
    """Take a step; a lock that a killed prun left of a ref that is prun's alone is removed, and it is taken again."""
    from gitprun.git.stale import take_dead_lock

    try:
        step()
    except RefLocked:
        if not (name.startswith(PRUN_REFS) and take_dead_lock(Path(repo.path) / f"{name}.lock")):
            raise
        step()


def _move(repo: pygit2.Repository, name: str, new: Oid, old: Oid, reason: str) -> None:
    import pygit2

    _require_plain(repo, name)

    target = pygit2.Oid(hex=new)
    try:
        if old == ZERO:
            repo.create_reference_direct(name, target, False, message=reason)
            return
        ref = repo.references[name]
        if str(ref.target) == old:
            # libgit2 writes only if the ref still holds what this lookup saw.
            ref.set_target(target, reason)
            return
    except (KeyError, ValueError, OSError, pygit2.GitError) as problem:
        now = read_ref(repo, name)
        # It still is where it was: nobody moved it, so it was the writing that failed.
        if now in (old, None) and not (now is None and old != ZERO):
            raise RefLocked(f"{name} could not be written: {problem}", "is the disk full, or the ref locked?") from None
    raise RefMoved(
        f"{name} is at {read_ref(repo, name) or 'nothing'}, not at {old}", "somebody else moved it: try again"
    )


def read_ref(repo: pygit2.Repository, name: str) -> Oid | None:
    """Read a full ref name down to its object; None if it does not exist. Raises RefUnreadable."""
    import pygit2

    _require_plain(repo, name)

    try:
        return Oid(str(repo.references[name].resolve().target))
    except (KeyError, ValueError, OSError, pygit2.GitError):
        return None


def _require_plain(repo: pygit2.Repository, name: str) -> None:
    """Raise RefUnreadable where libgit2 would open what is no plain file: a named pipe would hold it up for ever."""
    git_dir = repo.path.rstrip("/")
    # The git folder of a linked worktree lies two folders below the shared one, where branches are.
    shared = os.path.dirname(os.path.dirname(git_dir))
    for folder in (git_dir, shared) if os.path.basename(os.path.dirname(git_dir)) == "worktrees" else (git_dir,):
        for place in (f"{folder}/{name}", f"{folder}/packed-refs"):
            try:
                mode = os.stat(place).st_mode
            except OSError:
                continue
            if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
                raise RefUnreadable(
                    f"{place} is no plain file, so {name} cannot be read", f"look at {place}; remove it"
                )


def delete_ref(repo: pygit2.Repository, name: str, old: Oid) -> None:
    """Delete a ref that is still at ``old``; raises RefMoved when it is elsewhere. An absent one is fine."""
    _past_dead_lock(repo, name, lambda: _delete(repo, name, old))


def _delete(repo: pygit2.Repository, name: str, old: Oid) -> None:
    import pygit2

    _require_plain(repo, name)

    ref = repo.references.get(name)
    if ref is None:
        return
    if str(ref.target) == old:
        try:
            # libgit2 deletes only if the ref still holds what this lookup saw.
            ref.delete()
            return
        except (KeyError, OSError, pygit2.GitError) as problem:
            if read_ref(repo, name) == old:
                raise RefLocked(f"{name} could not be deleted: {problem}", "is the ref locked?") from None
    now = read_ref(repo, name)
    if now is not None:
        raise RefMoved(f"{name} is at {now}, not at {old}", "left alone")


_BEHIND = re.compile(r"behind (\d+)")
_AHEAD = re.compile(r"ahead (\d+)")


def describe_behind(git: Git, common: Path, ref: str) -> str:
    """Return which commits, known at its remote, a branch (a full ref) lacks, as a line; empty if it lacks none.

    Where no upstream is set, the branch of the same name at the remote counts, if one remote alone has it.
    """
    if not has_refs(common, "refs/remotes/"):
        return ""
    words = ("for-each-ref", "--format=%(upstream)%00%(upstream:short)%00%(upstream:track)", "--", ref)
    full, short, track = (*git.run(*words).text.split("\0"), "", "", "")[:3]
    branch = ref.removeprefix("refs/heads/")
    if full:
        behind, ahead = (int(found[1]) if (found := sign.search(track)) else 0 for sign in (_BEHIND, _AHEAD))
    else:
        names = git.run("for-each-ref", "--format=%(refname)", f"refs/remotes/*/{branch}").text.splitlines()
        if len(names) != 1 or not branch:
            return ""
        full, short = names[0], names[0].removeprefix("refs/remotes/")
        counts = git.run("rev-list", "--left-right", "--count", f"{ref}...{full}", ok=(0, 128)).text.split()
        ahead, behind = map(int, counts) if len(counts) == 2 else (0, 0)
    if not behind:
        return ""
    commits = f"{behind} commit{'' if behind == 1 else 's'}"
    how = f"has parted from {short}, and lacks {commits} of it" if ahead else f"is {commits} behind {short}"
    return f"{branch} {how}: git log {branch}..{short} shows {'it' if behind == 1 else 'them'}"

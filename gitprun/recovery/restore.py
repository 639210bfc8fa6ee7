"""Put single things back as they were: each by compare-and-swap, and never a file or an index of a checkout.

Whatever is replaced is put aside first. Every step can be taken twice.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.ledger.drift_findings import UNREADABLE, Change, DriftFinding, worktree_of
from gitprun.model.errors import GitFailed, OperationRefused, PrunError
from gitprun.observe.changes import redact
from gitprun.observe.keep import shared_git
from gitprun.observe.snapshot import RepositorySnapshot
from gitprun.observe.snapshotter import Snapshotter
from gitprun.system.content_store import ContentStore
from gitprun.system.files import read_plain, write_whole
from gitprun.system.sharing import shared_mode

State = Literal["put-back", "left", "refused"]
REASON = "prun undo --drift: put back"
CHANGED_AGAIN = "it was changed again since, and is left alone"
NOT_KEPT = "what stood there was not kept"
# What was kept is no longer than that (see ``observe.files``), so what replaced it is compared up to there.
MOST = 64 << 20
# What a branch without a commit has staged is compared with.
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


@dataclass(frozen=True, slots=True)
class RestoreOutcome:
    """What came of one thing: put back (or as it was already), left alone for good, or refused until something is
    done about it; ``value`` is what a ref has now.
    """

    state: State
    why: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptState:
    """What was kept of the time before: two looks, contents, and where what is replaced goes."""

    before: RepositorySnapshot
    after: RepositorySnapshot
    store: ContentStore
    aside: Path


class Busy(OperationRefused):
    """Another program works on the very file."""


@contextmanager
def lock_file(path: str) -> Iterator[None]:
    """Hold the lock file git takes for a path; raises Busy where somebody else has it."""
    lock = f"{path}.lock"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        # O_EXCL is how git takes it: whoever makes the file has the lock.
        os.close(os.open(lock, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    except FileExistsError:
        raise Busy(f"another git program works on it ({lock} is there)", "wait for it, and try again") from None
    try:
        yield
    finally:
        os.unlink(lock)


class Restorer:
    """Puts files, settings and registrations back; with ``dry`` it only says what would come of it."""

    def __init__(self, repository: Repository, kept: KeptState, *, dry: bool) -> None:
        self.repository, self.kept, self.dry = repository, kept, dry
        self.common = str(repository.common)
        self.eye = Snapshotter(repository)

    def restore_file(self, thing: Change) -> RestoreOutcome:
        """Put a file back: a hook, one below ``info``, one of a worktree's registration."""
        path = os.path.join(self.common, thing.name)
        now = self.eye.mark(thing.name)
        # Done already, by an undo that was killed before it could say so, or by hand.
        if now == thing.old:
            return RestoreOutcome("put-back")
        if now != thing.new:
            return RestoreOutcome("left", CHANGED_AGAIN)
        mode, digest, beyond = _parts(thing.old)
        old = self.kept.store.content(digest) if thing.old else b""
        if old is None or (thing.old and not stat.S_ISREG(mode) and not stat.S_ISLNK(mode)):
            return RestoreOutcome("refused", NOT_KEPT)
        if stat.S_ISLNK(mode) and _parts(thing.new)[:2] == (mode, digest):
            # The link is as it was: what it leads to is not.
            path = os.path.realpath(path)
            mode, digest, _ = _parts(beyond)
            old = self.kept.store.content(digest) if beyond else None
            if old is None:
                return RestoreOutcome("refused", NOT_KEPT)
        if self._in_checkout(path):
            place = "" if self.dry or not thing.old else self._put_aside(f"before-{thing.name}", old)
            told = f"; it was {place}" if place else ""
            return RestoreOutcome("refused", f"it is a file of your checkout, which is yours to change{told}")
        if not self.dry:
            # Under git's own lock, so that no git program writes the same file meanwhile.
            with lock_file(path):
                self._put_aside(thing.name, _content(path))
                _replace(path, mode if thing.old else None, old)
        return RestoreOutcome("put-back")

    def restore_settings(self, file: str, findings: Sequence[DriftFinding]) -> dict[str, RestoreOutcome]:
        """Put keys of one file of settings back; the whole file where nothing else in it changed."""
        before, after = (look.settings.get(file, {}) for look in (self.kept.before, self.kept.after))
        # The whole file where it can be: comments and order come back with it.
        drifted = {key for key in {*before, *after} if before.get(key) != after.get(key)}
        wanted = {one.thing.name for one in findings}
        marks = [look.files.get(file, "") for look in (self.kept.before, self.kept.after)]
        broken = UNREADABLE in wanted
        if self.eye.mark(file) == marks[1] and (drifted <= wanted or broken):
            outcome = self.restore_file(Change("config", file, marks[0], marks[1]))
            return dict.fromkeys((one.thing.key for one in findings), outcome)
        # Without git nothing can be set in it key by key.
        if broken or UNREADABLE in self._digests(file):
            why = f"{CHANGED_AGAIN}; git cannot read it"
            return dict.fromkeys((one.thing.key for one in findings), RestoreOutcome("refused", why))
        return {one.thing.key: self._restore_key(one.thing) for one in findings}

    def _digests(self, file: str) -> Mapping[str, str]:
        return self.eye.look(0.0).settings.get(file, {})

    def _restore_key(self, thing: Change) -> RestoreOutcome:
        now = self._digests(thing.file).get(thing.name, "")
        if now == thing.old:
            return RestoreOutcome("put-back")
        if now != thing.new:
            return RestoreOutcome("left", CHANGED_AGAIN)
        path = Path(self.common) / thing.file
        digest = _parts(self.kept.before.files.get(thing.file, ""))[1]
        content = self.kept.store.content(digest) if thing.old else b""
        if content is None:
            return RestoreOutcome("refused", NOT_KEPT)
        if self.dry:
            return RestoreOutcome("put-back")
        self._put_aside(thing.file, _content(str(path)))
        old = self._values(content)
        # Keys were written down without the secrets in them (url.https://NAME:PASSWORD@...), so the real one is
        # looked up.
        for key in {key for key in (*old, *self._values(_content(str(path)) or b"")) if redact(key) == thing.name}:
            _set_values(path, key, old.get(key, ()))
        return RestoreOutcome("put-back")

    def _values(self, content: bytes) -> dict[str, list[str]]:
        """Read all values of settings, to set them again; they go nowhere else."""
        # What an include brings stands in another file, which is put back by itself.
        answer = _plain_git().run("config", "--file", "-", "--no-includes", "--list", "-z", stdin=content)
        found: dict[str, list[str]] = {}
        for row in answer.fields:
            key, mark, value = row.partition(b"\n")
            found.setdefault(os.fsdecode(key), []).append(os.fsdecode(value) if mark else "true")
        return found

    def restore_worktree(self, thing: Change) -> RestoreOutcome:
        """Register a linked worktree again whose folder is still there."""
        entry = thing.name
        if worktree_of(entry):
            return self.restore_file(thing)
        folder = os.path.join(self.common, "worktrees", entry)
        if self._registered(entry) == thing.old:
            return RestoreOutcome("put-back")
        if self._registered(entry) != thing.new:
            return RestoreOutcome("left", CHANGED_AGAIN)
        if not thing.old:
            return RestoreOutcome("refused", f"look at it; git worktree remove {thing.new} takes it away")
        prefix = f"worktrees/{entry}/"
        head = self.kept.before.heads.get(f"{prefix}HEAD", "")
        if not os.path.isfile(os.path.join(thing.old, ".git")):
            branch = head.removeprefix("ref: refs/heads/")
            way = f"git worktree add {thing.old} {branch}"
            return RestoreOutcome("refused", f"its folder is gone with what was not committed: {way}")
        if self.dry:
            return RestoreOutcome("put-back")
        files = {name: mark for name, mark in self.kept.before.files.items() if name.startswith(prefix)}
        os.makedirs(folder, exist_ok=True)
        # The pointer to the folder last: without it git takes the entry for one that is being made, and prunes it.
        for name, mark in sorted(files.items(), key=lambda row: row[0].endswith("/gitdir")):
            content = self.kept.store.content(_parts(mark)[1])
            if content is not None:
                write_whole(Path(self.common) / name, content, mode=0o644)
        write_whole(Path(folder) / "HEAD", f"{head}\n".encode("utf-8", "surrogateescape"), mode=0o644)
        self._bring_index(entry, Path(folder))
        return RestoreOutcome("put-back")

    def _registered(self, entry: str) -> str:
        return self.eye.look(0.0).places.get(entry, "")

    def _bring_index(self, entry: str, folder: Path) -> None:
        kept = self.kept.store.path.parent / "indexes" / entry
        # About a hundred bytes a path: more than ten million files.
        content = read_plain(kept, 1 << 30)
        # One that is there may hold what somebody staged since.
        if content is not None and not os.path.lexists(folder / "index"):
            write_whole(folder / "index", content, mode=0o644)

    def restore_head(self, thing: Change) -> RestoreOutcome:
        """Put a checkout back on the branch that it was on, unless its index has followed the other one."""
        now = self.eye.look(0.0).heads.get(thing.name, "")
        if now == thing.old:
            return RestoreOutcome("put-back")
        if now != thing.new:
            return RestoreOutcome("left", CHANGED_AGAIN)
        entry = worktree_of(thing.name)
        place = Path(self.kept.after.places.get(entry, "")) if entry else self._main()
        branch = thing.old.removeprefix("ref: refs/heads/")
        # No file has followed a HEAD that leads nowhere, and git cannot be asked before there is a right one.
        if (
            now not in ("", UNREADABLE)
            and place is not None
            and grows(self._git_for(place, thing.name), self._commit(thing.old), self._commit(now))
        ):
            how = branch if branch != thing.old else f"--detach {branch}"
            return RestoreOutcome("refused", f"its files have followed: git -C {place} switch {how}")
        if not self.dry:
            path = os.path.join(self.common, thing.name)
            with lock_file(path):
                write_whole(Path(path), f"{thing.old}\n".encode("utf-8", "surrogateescape"), mode=0o644)
        return RestoreOutcome("put-back")

    def _main(self) -> Path | None:
        """Name the main checkout; None for a bare repository."""
        home = self.repository.home
        return home if home != self.repository.common and home.is_dir() else None

    def _git_for(self, place: Path, head: str) -> Git:
        folder = os.path.dirname(os.path.join(self.common, head))
        env = {"GIT_DIR": folder, "GIT_WORK_TREE": str(place)}
        return Git(cwd=place if place.is_dir() else Path(self.common), env=env, neutral=True)

    def _commit(self, head: str) -> str:
        return self.eye.refs().get(head.removeprefix("ref: "), head if "ref: " not in head else "")

    def checkouts_on(self, ref: str) -> list[tuple[Path, Git]]:
        """Find the checkouts that are on a branch now."""
        look, found = self.eye.look(0.0), []
        for name, head in look.heads.items():
            entry = worktree_of(name)
            place = Path(look.places[entry]) if entry else self._main()
            if head == f"ref: {ref}" and place is not None and place.is_dir():
                found.append((place, self._git_for(place, name)))
        return found

    def _in_checkout(self, path: str) -> bool:
        tops = {self.repository.top, self._main()} - {None}
        # Hooks may lie in the checkout (core.hooksPath): files there are the user's to change, never ours.
        real = os.path.realpath(path)
        common = os.path.realpath(self.common)
        inside = [top for top in tops if top is not None and _within(real, os.path.realpath(top))]
        return bool(inside) and not _within(real, common)

    def _put_aside(self, name: str, content: bytes | None) -> str:
        """Keep what is about to be replaced; returns where."""
        if content is None:
            return ""
        self.kept.aside.mkdir(parents=True, exist_ok=True, mode=shared_mode(self.kept.aside, 0o700))
        place = self.kept.aside / name.strip("/").replace("/", "+")
        # The first one stays: after a kill the file may be what was put back.
        if not place.exists():
            write_whole(place, content)
        return str(place)


def grows(git: Git, wanted: str, now: str) -> bool:
    """Check whether more would be staged in a checkout if it stood on ``wanted``: then its index followed ``now``."""
    if not wanted:
        # A branch that is gone: what its checkout would stand on cannot be told.
        return True
    try:
        old, new = (_staged(git, commit) for commit in (wanted, now or EMPTY_TREE))
    except PrunError:
        return True
    return not old <= new


def _staged(git: Git, commit: str) -> set[bytes]:
    words = ("diff-index", "--cached", "--name-only", "-z", "--no-renames", "--ignore-submodules=all", commit)
    return set(git.run(*words).fields)


def _within(path: str, top: str) -> bool:
    return path == top or path.startswith(f"{top}/")


def _parts(mark: str) -> tuple[int, str, str]:
    """Split what an eye says about a path: mode, digest, and the same of what a link leads to."""
    mode, _, rest = mark.partition(" ")
    digest, _, beyond = rest.partition(" ")
    return (int(mode, 8) if mode else 0), digest, beyond


def _content(path: str) -> bytes | None:
    if os.path.islink(path):
        return os.fsencode(os.readlink(path))
    return read_plain(Path(path), MOST)


def _replace(path: str, mode: int | None, content: bytes | None) -> None:
    if mode is None:
        os.unlink(path)
    elif stat.S_ISLNK(mode):
        # A link cannot be made over another one, so it takes its place by a rename.
        temporary = f"{path}.{os.urandom(6).hex()}"
        os.symlink(os.fsdecode(content or b""), temporary)
        os.replace(temporary, path)
    else:
        write_whole(Path(path), content or b"", mode=stat.S_IMODE(mode), exact=True)


def _plain_git() -> Git:
    return Git(cwd=Path("/"), env={"GIT_DIR": os.devnull}, neutral=True)


def _set_values(path: Path, key: str, values: Iterable[str]) -> None:
    git = _plain_git()
    # All values of a key at once: their order is theirs to keep. 5: there was none.
    git.run("config", "--file", str(path), "--unset-all", key, ok=(0, 5))
    for value in values:
        git.run("config", "--file", str(path), "--add", key, value)


def run_or_refuse(repository: Repository, *words: str) -> RestoreOutcome | None:
    """Run git on the shared folder; returns an outcome where it refuses."""
    try:
        shared_git(repository).run(*words)
    except GitFailed as problem:
        return RestoreOutcome("refused", f"git refuses: {problem.message}")
    return None

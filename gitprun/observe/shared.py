"""What units share with the user: refs, settings, hooks, his checkout. Read without any lock."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.model.errors import PrunError
from gitprun.model.names import PRUN_REFS, RunId, is_run_id
from gitprun.observe.snapshot import GONE, CheckoutStatus, Shared, Stamp, read_shared, write_shared
from gitprun.observe.touched import Anything, ChangeSource, Watcher, survey
from gitprun.system.files import read_plain, write_whole

# What git derives from its refs whenever it packs them.
DERIVED = ("info/refs",)
SETTINGS = ("config", "config.worktree", "objects/info/alternates")
USUAL_HOOKS = "hooks"
# Every new repository has a dozen of them, and git runs none.
NEVER_RUN = ".sample"
MOST_READ = 4 << 20
TIMEOUT = 60.0
# What the seed leaves out when it counts the files of a project.
UNCOUNTED = frozenset({b".git", b"node_modules", b".next", b"dist", b"build"})
BASELINE, FINAL = "baseline.json", "final.json"


class SharedReader:
    """Looks at what is shared; remembers what it need not read again."""

    def __init__(self, repository: Repository, root: Path | None = None, watcher: Watcher | None = None) -> None:
        self.repository = repository
        self._digests: dict[str, tuple[tuple[int, ...], str]] = {}
        self._checkout: CheckoutStatus | None = None
        self._seen: object = None
        self._hooks: tuple[str, str] | None = None
        self._top = os.fsencode(repository.top or "")
        self._units = Path(os.path.realpath(root)) if root is not None else None
        self._root = b"\0"
        if root is not None and repository.top is not None and root.is_relative_to(repository.top):
            self._root = os.fsencode(root.relative_to(repository.top))
        self._source: ChangeSource = watcher.source(self._top, self._skip) if watcher and self._top else Anything()

    def look(self, now: float, *, whole: bool = False) -> Shared:
        """Read everything; a checkout nothing happened in is not read again."""
        refs = self._refs()
        settings = self._digest_all([*SETTINGS, *(name for name in self._names("info") if name not in DERIVED)])
        return Shared(
            time=now,
            refs=refs,
            settings=settings,
            hooks=self._hooks_in(self._hooks_folder(settings.get("config", ""))),
            checkout=self._look_at_checkout(refs, whole=whole),
        )

    def close(self) -> None:
        """Stop watching."""
        self._source.close()

    def _refs(self) -> dict[str, str]:
        """List all refs but our own, and what is checked out in each worktree that is not ours."""
        listing = self.repository.git.run("for-each-ref", "--format=%(objectname) %(refname)", timeout=TIMEOUT)
        found = {}
        for row in listing.text.split("\n"):
            oid, _, name = row.partition(" ")
            if name and not name.startswith(PRUN_REFS):
                found[name] = oid
        heads = {"HEAD": self.repository.git_dir}
        try:
            heads |= {f"worktrees/{name}/HEAD": self.repository.common / "worktrees" / name
                      for name in os.listdir(self.repository.common / "worktrees")}  # fmt: skip
        except OSError:
            pass
        for name, folder in heads.items():
            said = (read_plain(folder / "HEAD", 10_000) or b"").decode("utf-8", "surrogateescape").strip()
            if said and not said.startswith("ref: refs/heads/prun/") and not self._is_unit(folder, said):
                found[name] = said
        return found

    def _hooks_in(self, folder: str) -> dict[str, str]:
        """Digest what git may run of a folder of hooks; another one than the usual is news by itself."""
        found = self._digest_all([name for name in self._names(folder) if not name.endswith(NEVER_RUN)])
        return found if folder == USUAL_HOOKS else {f"{folder}/": "core.hooksPath", **found}

    def _is_unit(self, folder: Path, head: str) -> bool:
        """Check whether a worktree is that of a unit of a run: below the root, and on no branch."""
        if self._units is None or head.startswith("ref: ") or folder == self.repository.git_dir:
            return False
        place = Path(os.fsdecode(read_plain(folder / "gitdir", 10_000) or b"").removesuffix("\n")).parent
        return place.parent.parent == self._units and is_run_id(place.parent.name)

    def _hooks_folder(self, settings: str) -> str:
        """Ask git where hooks lie, once for each state of the settings."""
        if self._hooks is None or self._hooks[0] != settings:
            said = self.repository.git.run("rev-parse", "--git-path", "hooks", ok=(0, 128))
            usual = said.code != 0 or os.path.realpath(
                self.repository.git.cwd / os.fsdecode(said.out[:-1])
            ) == os.path.realpath(self.repository.common / "hooks")
            folder = USUAL_HOOKS if usual else str(self.repository.git.cwd / os.fsdecode(said.out[:-1]))
            self._hooks = (settings, folder)
        return self._hooks[1]

    def _names(self, folder: str) -> list[str]:
        try:
            return [f"{folder}/{name}" for name in sorted(os.listdir(self.repository.common / folder))]
        except OSError:
            return []

    def _digest_all(self, names: list[str]) -> dict[str, str]:
        return {name: digest for name in names if (digest := self._digest(name))}

    def _digest(self, name: str) -> str:
        """Digest mode and content of one path, read again only when its stat data changed; empty if it is absent."""
        path = self.repository.common / name
        try:
            found = os.lstat(path)
        except OSError:
            return ""
        about = (found.st_mode, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
        known = self._digests.get(name)
        if known is None or known[0] != about:
            if stat.S_ISLNK(found.st_mode):
                content = os.fsencode(os.readlink(path))
            else:
                content = read_plain(path, MOST_READ) or b""
            mark = b"%o\0" % found.st_mode
            known = (about, hashlib.sha256(mark + content).hexdigest())
            self._digests[name] = known
        return known[1]

    def _look_at_checkout(self, refs: Mapping[str, str], *, whole: bool) -> CheckoutStatus | None:
        top = self.repository.top
        if top is None:
            return None
        touched = self._source.changed()
        head = refs.get("HEAD", "")
        seen = (head, refs.get(head.removeprefix("ref: ")), _stat_of(self.repository.git_dir / "index"))
        if whole or touched or touched is None or seen != self._seen or self._checkout is None:
            if whole or touched is None:
                self._source.renew()
                self._follow_all()
            self._checkout = CheckoutStatus(path=str(top), dirty=self._dirty(top), files=self._count())
            self._seen = seen
        return self._checkout

    def _follow_all(self) -> None:
        if not isinstance(self._source, Anything):
            try:
                survey(self._top, b"", self._skip, self._source.follow)
            except OverflowError:
                return

    def _skip(self, path: bytes) -> bool:
        return path in (b".git", self._root) or path.rpartition(b"/")[2] == b"node_modules"

    def _dirty(self, top: Path) -> dict[str, Stamp] | None:
        """Ask git what is uncommitted; None when it does not answer."""
        words = ("status", "--porcelain=v1", "-z", "--untracked-files=all", "--no-renames")
        try:
            rows = Git(cwd=top).run(*words, timeout=TIMEOUT).fields
        except PrunError:
            return None
        return {os.fsdecode(row[3:]): stamp_of(os.path.join(self._top, row[3:])) for row in rows}

    def _count(self) -> int | None:
        """Count the files of the checkout, leaving out what the seed left out."""

        def skip(path: bytes) -> bool:
            return path == self._root or path.rpartition(b"/")[2] in UNCOUNTED

        try:
            return survey(self._top, b"", skip, lambda folder: None).files
        except OverflowError:
            return None


def _stat_of(path: Path) -> tuple[int, int, int] | None:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_ino, found.st_size, found.st_mtime_ns


def stamp_of(path: bytes) -> Stamp:
    """Give size and time of change of what lies at a path."""
    try:
        found = os.lstat(path)
    except OSError:
        return GONE
    return found.st_size, found.st_mtime_ns


def record_shared(state: Path, run: RunId | str, name: str, shared: Shared, *, anew: bool = False) -> None:
    """Keep what was shared at the start (BASELINE: the first record stays) or the end (FINAL) of a run."""
    path = state / "runs" / run / name
    if (name == BASELINE and path.exists() and not anew) or not path.parent.is_dir():
        return
    write_whole(path, json.dumps(write_shared(shared)).encode())


def recorded_shared(state: Path, run: RunId | str, name: str) -> Shared | None:
    """Read such a record; None if there is none."""
    try:
        return read_shared(json.loads((state / "runs" / run / name).read_bytes()))
    except (OSError, ValueError):
        return None

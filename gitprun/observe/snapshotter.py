"""The one reader of what of a repository is the user's: by hand, without a lock, trusting nothing written there.

Refs are read as files, so that a look works where a worker left settings git cannot read any more. What a look has to
read again is told by stat data; the checkout and the reflogs, which cost most, are looked at where somebody asks.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.ledger.drift_findings import UNREADABLE, WORKTREES
from gitprun.model.errors import PrunError
from gitprun.model.names import PRUN_REFS
from gitprun.observe.changes import CONFIGS, redact
from gitprun.observe.checkout import CheckoutReader
from gitprun.observe.files import Reader, Stat, names_in, stat_of, walk
from gitprun.observe.snapshot import RepositorySnapshot
from gitprun.observe.touched import FolderWatcher
from gitprun.system.content_store import ContentStore
from gitprun.system.files import read_plain

# What in the shared folder changes what git does, beside refs, hooks and ``info``.
FILES = ("config", "config.worktree", "shallow", "objects/info/alternates")
# What registers a linked worktree; its index and logs are its own business.
OF_WORKTREE = ("gitdir", "commondir", "locked", "config.worktree")
# What git derives from its refs whenever it packs them.
DERIVED = ("info/refs",)
# Git knows some 30 hooks; a folder with more than this is one that ``core.hooksPath`` was led astray to.
MOST_HOOKS = 500
# What is asked here reads one file or two; a git that takes a minute for that hangs.
TIMEOUT = 60.0
# A packed-refs of a gigabyte holds ten million refs; more are not read.
MOST_PACKED = 1 << 30
_OID = re.compile(r"[0-9a-f]{40,64}")


class Snapshotter:
    """Looks again and again, and reads again only what changed since.

    ``store`` gets the contents that are read, ``root`` is where prun makes workspaces, ``watcher`` lets the kernel tell
    what changed in the checkout.
    """

    def __init__(
        self,
        repository: Repository,
        store: ContentStore | None = None,
        *,
        root: Path | None = None,
        watcher: FolderWatcher | None = None,
    ) -> None:
        self.repository, self.store = repository, store
        self._common = str(repository.common)
        self._reader = Reader(store)
        self._checkout = CheckoutReader(repository, root, watcher)
        linked = repository.git_dir != repository.common
        self._here = f"{WORKTREES}{repository.git_dir.name}/HEAD" if linked else "HEAD"
        self._packed: tuple[Stat | None, dict[str, str]] = (None, {})
        self._loose: dict[str, tuple[Stat, str]] = {}
        self._settings: dict[str, tuple[str, dict[str, str]]] = {}
        self._hooks: tuple[tuple[str, ...], str] | None = None

    def close(self) -> None:
        """Stop watching."""
        self._checkout.close()

    def look(self, now: float, *, logs: bool = False, checkout: bool = False, hooks: str = "") -> RepositorySnapshot:
        """Look at everything; ``hooks`` is a folder of hooks to be looked at beside the one git uses now."""
        found = self._look(now, logs=logs, hooks=hooks)
        return replace(found, checkout=self._checkout.look()) if checkout else found

    def look_closely(
        self, now: float, *, logs: bool = False, hooks: str = "", whole: bool = True
    ) -> RepositorySnapshot:
        """Look at the checkout too, into its submodules, and count its files: what the monitor compares.

        Unless ``whole`` is set, a checkout nothing happened in is not read again.
        """
        found = self._look(now, logs=logs, hooks=hooks)
        return replace(found, checkout=self._checkout.look_closely(found.head, whole=whole))

    def _look(self, now: float, *, logs: bool, hooks: str) -> RepositorySnapshot:
        places = self._places()
        files = {name: mark for name in self._file_names(places) if (mark := self.mark(name))}
        settings = self._read_settings(files)
        # After the settings, which name it.
        folder = self._hooks_folder(tuple(files.get(name, "") for name in settings))
        for place in dict.fromkeys(("hooks", hooks or folder, folder)):
            names = (f"{place}/{name}" for name in names_in(os.path.join(self._common, place), MOST_HOOKS))
            files.update((name, mark) for name in names if (mark := self.mark(name)))
        found = RepositorySnapshot(
            time=now,
            refs=self.refs(),
            heads=self._heads(places),
            settings=settings,
            files=files,
            logs=self._logs(places) if logs else None,
            places=places,
            hooks=folder,
            here=self._here,
        )
        if self.store is not None:
            self.store.flush()
        return found

    def mark(self, name: str) -> str:
        """Return mode and digest of a file, by its name in the shared folder or its whole path."""
        return self._reader.mark(os.path.join(self._common, name))

    def _places(self) -> dict[str, str]:
        """Read where the linked worktrees lie; one whose registration says nothing lies nowhere (``?``)."""
        found = {}
        for name in names_in(os.path.join(self._common, "worktrees")):
            said = self._reader.text(os.path.join(self._common, WORKTREES, name, "gitdir"))
            found[name] = said.removesuffix("/.git") or "?"
        return found

    def _file_names(self, places: Mapping[str, str]) -> Iterator[str]:
        yield from FILES
        info = os.path.join(self._common, "info")
        yield from (name for inner in walk(info) if (name := f"info/{inner}") not in DERIVED)
        for entry in places:
            yield from (f"{WORKTREES}{entry}/{name}" for name in OF_WORKTREE)

    def refs(self) -> dict[str, str]:
        """Read all refs but prun's own pins, a loose one before a packed one; what is no ref is left out."""
        seen: dict[str, tuple[Stat, str]] = {}
        top = os.path.join(self._common, "refs")
        for inner in walk(top, lambda name: name == "prun"):
            # What git is writing right now; the ref itself still says what it said.
            if inner.endswith(".lock"):
                continue
            path = os.path.join(top, inner)
            loose = stat_of(path)
            if loose is None:
                continue
            known = self._loose.get(inner)
            seen[inner] = (loose, known[1] if known and known[0] == loose else self._read_ref(path, loose))
        self._loose = seen
        # Packed ones after loose ones: git packs a ref before it takes the loose one away, so none goes unseen between.
        packed = os.path.join(self._common, "packed-refs")
        about = stat_of(packed)
        if about != self._packed[0]:
            self._packed = (about, parse_packed(read_plain(Path(packed), MOST_PACKED) or b""))
        return self._packed[1] | {f"refs/{inner}": value for inner, (_, value) in seen.items() if value}

    def _read_ref(self, path: str, about: Stat) -> str:
        if stat.S_ISLNK(about[0]):
            target = os.readlink(path)
            return f"ref: {target}" if target.startswith("refs/") else ""
        return clean_ref(self._reader.text(path))

    def _heads(self, places: Mapping[str, str]) -> dict[str, str]:
        names = ["HEAD", *(f"{WORKTREES}{entry}/HEAD" for entry in places)]
        found = {name: self._reader.text(os.path.join(self._common, name)) for name in names}
        return {name: clean_ref(said) or UNREADABLE for name, said in found.items() if said}

    def _read_settings(self, files: Mapping[str, str]) -> dict[str, dict[str, str]]:
        """Read a digest for each key of each file of settings; values stay where they are."""
        found = {}
        for name, mark in files.items():
            if name.rpartition("/")[2] not in CONFIGS or is_elsewhere(name):
                continue
            # A process of git for each file: only where its content is another one.
            known = self._settings.get(name)
            if known is None or known[0] != mark:
                known = (mark, {key: _digest(values) for key, values in self._keys(name, mark).items()})
                self._settings[name] = known
            found[name] = known[1]
        return found

    def _keys(self, name: str, mark: str) -> dict[str, list[bytes]]:
        keys = read_keys(Path(self._common) / name)
        return keys if keys is not None else {UNREADABLE: [mark.encode()]}

    def _hooks_folder(self, settings: tuple[str, ...]) -> str:
        """Ask git where hooks lie, once for each state of the settings; ``hooks`` is the usual folder."""
        if self._hooks is None or self._hooks[0] != settings:
            git, usual = self.repository.git, os.path.join(self._common, "hooks")
            folder = "hooks"
            try:
                said = git.run("rev-parse", "--git-path", "hooks", ok=(0, 1, 128, 129), timeout=TIMEOUT)
                path = os.path.join(git.cwd, os.fsdecode(said.out[:-1])) if said.code == 0 else usual
                folder = "hooks" if os.path.realpath(path) == os.path.realpath(usual) else os.path.normpath(path)
            except PrunError:
                # The checkout itself may be gone.
                pass
            self._hooks = (settings, folder)
        return self._hooks[1]

    def _logs(self, places: Mapping[str, str]) -> dict[str, str]:
        """Digest the reflogs of branches, of the stash, and of every HEAD."""
        found = {"HEAD": self.mark("logs/HEAD")}
        found |= {f"{WORKTREES}{entry}/HEAD": self.mark(f"{WORKTREES}{entry}/logs/HEAD") for entry in places}
        found["refs/stash"] = self.mark("logs/refs/stash")
        for inner in walk(os.path.join(self._common, "logs/refs/heads"), lambda name: name == "prun"):
            found[f"refs/heads/{inner}"] = self.mark(f"logs/refs/heads/{inner}")
        return {name: mark for name, mark in found.items() if mark}


def log_place(name: str) -> str:
    """Name the file of a reflog in the shared folder."""
    return f"{name.removesuffix('HEAD')}logs/HEAD" if name.endswith("HEAD") else f"logs/{name}"


def is_elsewhere(name: str) -> bool:
    """Check whether a name is a whole path, or one of a hook."""
    return name.startswith(("/", "hooks/", "info/"))


def clean_ref(said: str) -> str:
    """Read what a loose ref says: a commit, or ``ref: NAME``; empty for anything else."""
    if said.startswith("ref:"):
        return f"ref: {said[4:].strip()}"
    word = said.split()[0] if said.split() else ""
    return word if _OID.fullmatch(word) else ""


def parse_packed(text: bytes) -> dict[str, str]:
    """Read ``packed-refs``, without prun's own pins."""
    found = {}
    for row in text.decode("utf-8", "surrogateescape").split("\n"):
        if row and row[0] not in "#^":
            oid, _, name = row.partition(" ")
            if not name.startswith(PRUN_REFS) and _OID.fullmatch(oid):
                found[name] = oid
    return found


def read_keys(path: Path) -> dict[str, list[bytes]] | None:
    """Read a file of settings: each key (without passwords in it) with its values; None where git cannot read it."""
    # Outside of any repository, so that no other settings are read, broken ones among them.
    git = Git(cwd=Path("/"), env={"GIT_DIR": os.devnull})
    if not stat.S_ISREG((stat_of(str(path)) or (0,))[0]):
        return {}
    try:
        answer = git.run("config", "--file", str(path), "--no-includes", "--list", "-z", timeout=TIMEOUT)
    except PrunError:
        return None
    keys: dict[str, list[bytes]] = {}
    for row in answer.fields:
        key, mark, value = row.partition(b"\n")
        keys.setdefault(redact(os.fsdecode(key)), []).append(mark + value)
    return keys


def _digest(values: list[bytes]) -> str:
    return hashlib.sha256(b"\0".join(values)).hexdigest()[:16]


def find_damaged(start: Path) -> Repository | None:
    """Walk up to the git folder of a repository prun has worked in; None if there is none."""
    for folder in (start, *start.parents):
        place = folder / ".git"
        if place.is_file():
            place = _led_to(place)
        for git_dir in (place, folder):
            if (git_dir / "prun" / "ledger.jsonl").is_file() and (git_dir / "objects").is_dir():
                top = folder if git_dir == place and place.name == ".git" else None
                return Repository(top=top, git_dir=git_dir, common=git_dir)
    return None


def _led_to(file: Path) -> Path:
    """Follow the ``.git`` file of a linked worktree to the shared folder."""
    said = os.fsdecode(read_plain(file, 10_000) or b"").strip().removeprefix("gitdir: ")
    return Path(said).parent.parent if Path(said).parent.name == "worktrees" else Path(said)

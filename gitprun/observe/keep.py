"""The keep-snapshot: objects hard-linked aside, so that nothing a worker deletes and prunes is gone for good."""

from __future__ import annotations

import errno
import os
import re
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.model.errors import PrunError
from gitprun.model.names import PRUN_REFS, ZERO
from gitprun.system.files import folder_identity, read_plain, remove_tree, write_whole
from gitprun.system.sharing import shared_mode

FOLDER = "keep"
# A hundred thousand links take a second; more loose objects than this slow git itself down, which packs at 6,700.
MOST_LINKED = 300_000
# Each needs a ref of its own, and a look reads all refs.
MOST_TAGS = 1000
# A gc that runs meanwhile packs what the first look saw; it does not run three times in a row.
LOOKS = 3
# Two seconds in nanoseconds: the coarsest clock of a file system git runs on (FAT).
RECENT = 2_000_000_000
# The tree of the pinning commit: git knows it in every repository.
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_FAN = re.compile(r"[0-9a-f]{2}")
_LOOSE = re.compile(r"[0-9a-f]{38}(?:[0-9a-f]{24})?")
# The index of a pack last: with it the pack is there.
_LAST = (".idx",)
# Another file system, one that has no hard links, or a rule against linking files of others.
_UNLINKABLE = (errno.EXDEV, errno.EPERM, errno.EMLINK, errno.ENOTSUP, errno.EACCES)


@dataclass(frozen=True, slots=True)
class Linked:
    """What came of keeping objects: how many were linked this time, and why there are gaps (empty: there are none)."""

    linked: int = 0
    note: str = ""


def keep_folder(state: Path, run: str, unit: str = "") -> Path:
    """Name the folder that keeps what a run (or a named workspace) needs to have things put back."""
    return (state / "runs" / run / unit if unit else state / "runs" / run) / FOLDER


class ObjectKeep:
    """Links the objects of a repository into a folder of ours; what was linked before is not touched again."""

    def __init__(self, source: Path, target: Path) -> None:
        self.source, self.target = source, target
        self._seen: dict[str, int] = {}

    def refresh(self) -> Linked:
        """Link what is new; says so where that cannot be done."""
        linked = 0
        try:
            for _ in range(LOOKS):
                wanted = list(self._new_files())
                if len(wanted) > MOST_LINKED:
                    return Linked(0, f"more than {MOST_LINKED} objects are not packed (git gc packs them)")
                found = [self._link(inner) for inner in wanted]
                linked += sum(one or 0 for one in found)
                # What vanished was packed meanwhile, or pruned: the next look finds the pack.
                if None not in found:
                    break
            # After the links: a copy without alternates still has what it holds itself.
            self._note_alternates()
        except OSError as problem:
            if problem.errno not in (*_UNLINKABLE, errno.ENOSPC):
                raise
            return Linked(0, f"objects cannot be hard-linked here: {problem.strerror}")
        return Linked(linked)

    def _new_files(self) -> Iterator[str]:
        """Name the files of folders that changed since the last look, packs at the end."""
        now = time.time_ns()
        folders = sorted(name for name in os.listdir(self.source) if _FAN.fullmatch(name))
        for folder in (*folders, "pack"):
            try:
                changed = os.stat(self.source / folder).st_mtime_ns
                if self._seen.get(folder) == changed:
                    continue
                names = os.listdir(self.source / folder)
            except FileNotFoundError:
                continue
            # A folder that changed a moment ago may change again within the same tick of its clock.
            if abs(now - changed) > RECENT:
                self._seen[folder] = changed
            usable = [name for name in names if _LOOSE.fullmatch(name) or (folder == "pack" and _of_pack(name))]
            yield from (f"{folder}/{name}" for name in sorted(usable, key=lambda name: (name.endswith(_LAST), name)))

    def _link(self, inner: str) -> int | None:
        """Link one file; 1 if it is new, 0 if it was linked before, None if it is not there any more."""
        source, target = os.path.join(self.source, inner), os.path.join(self.target, inner)
        try:
            os.link(source, target, follow_symlinks=False)
        except FileExistsError:
            return 0
        except FileNotFoundError:
            if not os.path.lexists(source):
                return None
            os.makedirs(os.path.dirname(target), mode=shared_mode(Path(target), 0o700), exist_ok=True)
            return self._link(inner)
        return 1

    def _note_alternates(self) -> None:
        """Have the copy find what the repository itself borrows elsewhere."""
        said = read_plain(self.source / "info" / "alternates", 1 << 20)
        if said is None:
            return
        rows = [row for row in said.split(b"\n") if row and not row.startswith(b"#")]
        content = b"".join(os.path.join(os.fsencode(self.source), row) + b"\n" for row in rows)
        (self.target / "info").mkdir(parents=True, exist_ok=True)
        write_whole(self.target / "info" / "alternates", content)


def _of_pack(name: str) -> bool:
    return name.startswith("pack-") and not name.endswith((".lock", ".keep"))


def bring_back(kept: Path, objects: Path) -> int:
    """Link (or copy) every kept object file the repository lacks back into it; returns how many."""
    count = 0
    for folder in (*sorted(name for name in _listing(kept) if _FAN.fullmatch(name)), "pack"):
        names = sorted(_listing(kept / folder), key=lambda name: (name.endswith(_LAST), name))
        for name in names:
            target = objects / folder / name
            if os.path.lexists(target):
                continue
            target.parent.mkdir(exist_ok=True)
            _place(kept / folder / name, target)
            count += 1
    return count


def _place(source: Path, target: Path) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError as problem:
        if problem.errno not in _UNLINKABLE:
            raise
        write_whole(target, source.read_bytes(), mode=0o444, exact=True)


def _listing(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def pin_prefix(run: str, unit: str = "") -> str:
    """Name the refs that pin commits where their objects could not be linked."""
    return f"{PRUN_REFS}keep/{run}/{unit.replace('/', '+')}/" if unit else f"{PRUN_REFS}keep/{run}/"


def pin_commits(repository: Repository, prefix: str, oids: Iterable[str]) -> None:
    """Pin commits under one ref (a commit that has them all as parents), annotated tags under one each."""
    git = shared_git(repository)
    asked = sorted({oid for oid in oids if oid and oid != ZERO})
    rows = git.run("cat-file", "--batch-check", stdin="".join(f"{oid}\n" for oid in asked).encode()).text.split("\n")
    kinds = [row.split(" ")[:2] for row in rows]
    tags = [oid for oid, kind in kinds if kind == "tag"][:MOST_TAGS]
    commits = [oid for oid, kind in kinds if kind == "commit"]
    git.run("hash-object", "-w", "-t", "tree", "--stdin")
    who = "git-prun <git-prun> 0 +0000"
    head = [f"tree {EMPTY_TREE}", *(f"parent {oid}" for oid in commits), f"author {who}", f"committer {who}"]
    body = ("\n".join(head) + "\n\nkept while workers work\n").encode()
    pin = git.run("hash-object", "-w", "-t", "commit", "--stdin", stdin=body).text
    # Read back before a ref names it: a full disk may have said nothing.
    git.run("cat-file", "-e", pin)
    updates = [f"update {prefix}commits {pin}", *(f"update {prefix}tag-{n} {oid}" for n, oid in enumerate(tags))]
    git.run("update-ref", "--stdin", stdin="".join(f"{row}\n" for row in updates).encode())


def shared_git(repository: Repository, **env: str) -> Git:
    """Return git for the shared folder alone, with no program of any configuration in play."""
    return Git(cwd=repository.common, env={"GIT_DIR": str(repository.common), **env}, neutral=True)


def drop_keep(repository: Repository, folder: Path, prefix: str) -> None:
    """Remove what was kept for a run (or a named workspace)."""
    identity = folder_identity(folder)
    if identity is not None:
        remove_tree(folder, identity)
    rows = shared_git(repository).run("for-each-ref", "--format=%(objectname) %(refname)", prefix).text.split("\n")
    words = [row.split(" ", 1) for row in rows if row]
    if words:
        stdin = "".join(f"delete {name} {oid}\n" for oid, name in words).encode()
        # They pin nothing anybody misses; the next one tries again.
        with suppress(PrunError):
            shared_git(repository).run("update-ref", "--stdin", stdin=stdin)


def own_bytes(folder: Path) -> int:
    """Sum up the bytes of files that have no other name."""
    total = 0
    for top, _, names in os.walk(folder):
        for name in names:
            try:
                found = os.lstat(os.path.join(top, name))
            except OSError:
                continue
            if stat.S_ISREG(found.st_mode) and found.st_nlink == 1:
                total += found.st_size
    return total

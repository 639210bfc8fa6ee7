"""What a worker left beside its files: own commits, other branches, a stash, a merge half done.

The repository a worker could write is never opened by git or libgit2: its refs are read as plain files.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gitprun.capture.tree_scan import walk_refs
from gitprun.model.names import Oid
from gitprun.system.files import folder_identity, read_plain
from gitprun.workspaces.worktree import admin_folder

# Twice what prun itself writes for remote-tracking refs.
MAX_REFS_FILE = 64_000_000
# Some 20,000 moves of a ref in one attempt.
MAX_LOG_FILE = 4_000_000
# Each is pinned by a ref of its own; a worker that made more has a script, and the newest tell its story.
MOST_TIPS = 256
UNFINISHED = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "sequencer": "cherry-pick",
}

# SHA-1 alone: a repository of another kind is none that prun made.
_OID = re.compile(rb"[0-9a-f]{40}")
_LINE = re.compile(rb"([0-9a-f]{40}) (refs/\S+)")
# Shorter than the 255 bytes of a file's name, with what prun puts before it.
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,199}")
_REFUSED = re.compile(r"\.\.|//|/\.|\.lock(/|$)|[./]$")


@dataclass(frozen=True, slots=True)
class WorkerRefs:
    """Tips by label name (``head``, ``branch/<name>``, ``stash``, ``lost/<n>``), and an operation left half done.

    ``head`` is the commit HEAD led to, also one that was there before (empty: none).
    """

    tips: Mapping[str, Oid]
    unfinished: str | None = None
    notes: tuple[str, ...] = ()
    head: str = ""


def read_worker_refs(git_dir: Path, known: frozenset[str]) -> WorkerRefs:
    """Read the refs in a worker's own git folder; ``known`` are the tips it started with."""
    if folder_identity(git_dir) is None:
        return WorkerRefs({}, notes=tuple(check_git_entry(git_dir, folder=True)))
    refs = _read_refs(git_dir)
    found: dict[str, str] = {}
    head = _read_head(git_dir / "HEAD", refs)
    if head:
        found["head"] = head
    for name, oid in sorted(refs.unknown(known).items()):
        label = _name_of_ref(name, oid)
        # refs/heads/remotes/x and refs/remotes/x would have one name.
        found[f"branch/{oid}" if found.get(label, oid) != oid else label] = oid
    # A worker may have made worktrees of its clone; what it committed there is as much its work.
    for folder in _folders(git_dir / "worktrees"):
        found[f"worktree/{len(found)}"] = _read_head(folder / "HEAD", refs)
    logs = [git_dir / "logs" / "HEAD", git_dir / "logs" / "refs" / "stash"]
    logs += [folder / "logs" / "HEAD" for folder in _folders(git_dir / "worktrees")]
    found |= {f"lost/{oid[:12]}": oid for log in logs for oid in read_log(log)}
    tips: dict[str, Oid] = {}
    # What it started with is the user's, and each commit is kept under one name.
    taken = {"", *known}
    for label, text in found.items():
        if text not in taken:
            tips[label] = Oid(text)
            taken.add(text)
    if len(tips) <= MOST_TIPS:
        return WorkerRefs(tips, read_unfinished(git_dir), head=head)
    # HEAD and branches come first in this order, what only logs name last.
    some = dict(list(tips.items())[:MOST_TIPS])
    note = f"of {len(tips)} own commits and branches {MOST_TIPS} were kept"
    return WorkerRefs(some, read_unfinished(git_dir), (note,), head)


def read_upstream(git_dir: Path) -> frozenset[str]:
    """Return what a repository a worker could write says it fetched: remote-tracking refs, tags, FETCH_HEAD."""
    if folder_identity(git_dir) is None:
        return frozenset()
    refs = _read_refs(git_dir)
    rows = [row for line in refs.packed.split(b"\n") if (row := _LINE.fullmatch(line))]
    named = [(row[2], row[1].decode()) for row in rows] + list(refs.loose.items())
    fetched = (read_plain(git_dir / "FETCH_HEAD", MAX_LOG_FILE) or b"").split(b"\n")
    found = {oid for name, oid in named if name.startswith((b"refs/remotes/", b"refs/tags/"))}
    return frozenset(found | {row[:40].decode() for row in fetched if _OID.fullmatch(row[:40])})


def check_git_entry(path: Path, *, folder: bool) -> list[str]:
    """Return what became of a workspace's ``.git``, a folder or a file, where it is not what prun made."""
    try:
        mode = os.lstat(path).st_mode
    except OSError:
        way = "commits of its own were not looked for" if folder else "git finds no repository there"
        return [f"its .git is gone, so {way}"]
    if folder and not stat.S_ISDIR(mode):
        return ["the worker replaced its .git, so commits of its own were not looked for"]
    return (
        [] if folder or stat.S_ISREG(mode) else ["the worker replaced its .git, so git finds another repository there"]
    )


def read_unfinished(git_dir: Path) -> str | None:
    """Return the operation a worker left half done in its git folder, if any."""
    return next((word for name, word in UNFINISHED.items() if os.path.lexists(git_dir / name)), None)


def read_log(path: Path) -> list[str]:
    """List the commits a ref log names, each once."""
    rows = (read_plain(path, MAX_LOG_FILE) or b"").split(b"\n")
    # A row holds the commit before and the one after.
    found = [oid for row in rows for oid in (row[:40], row[41:81]) if _OID.fullmatch(oid)]
    # Zeros stand for nothing: the log of a ref begins or ends with them.
    return [oid.decode() for oid in dict.fromkeys(found) if oid.strip(b"0")]


def read_head(path: Path) -> str:
    """Read a HEAD file: a full ref name, a commit, or an empty text."""
    # A full ref name is shorter; anything longer is no HEAD.
    text = (read_plain(path, 1000) or b"").strip()
    if text.startswith(b"ref: "):
        return text[5:].strip().decode("utf-8", "replace")
    return text.decode() if _OID.fullmatch(text) else ""


def read_clone_head(git_dir: Path) -> str:
    """Read the commit that is checked out in a clone, from its plain files; empty where that is not told."""
    return _read_head(git_dir / "HEAD", _read_refs(git_dir)) if folder_identity(git_dir) is not None else ""


def read_worktree_head(common: Path, path: Path) -> str:
    """Read what is checked out in a linked worktree, in its registration: a full ref name, a commit, or nothing."""
    admin = admin_folder(common, path)
    return read_head(admin / "HEAD") if admin is not None else ""


def _read_head(path: Path, refs: _Refs) -> str:
    said = read_head(path)
    return refs.find(said.encode()) if said.startswith("refs/") else said


def _name_of_ref(ref: bytes, oid: str) -> str:
    """Return the label of a ref; a name that is no plain one is replaced by the commit."""
    text = ref.decode("utf-8", "backslashreplace")
    if text == "refs/stash":
        return "stash"
    name = text.removeprefix("refs/heads/") if text.startswith("refs/heads/") else text.removeprefix("refs/")
    usable = _PLAIN.fullmatch(name) and not _REFUSED.search(name)
    return f"branch/{name if usable else oid}"


def _folders(path: Path) -> list[Path]:
    """List the real folders in a folder that is no link."""
    if folder_identity(path) is None:
        return []
    with os.scandir(path) as entries:
        return sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))[:MOST_TIPS]


@dataclass(frozen=True, slots=True)
class _Refs:
    """The refs of a worker: ``packed`` as its file has them, between line ends, and those that are files of their own.

    Tens of thousands may be remote-tracking refs that were there from the start, so only the others are taken apart.
    """

    packed: bytes
    loose: Mapping[bytes, str]

    def find(self, name: bytes) -> str:
        """Return the object of a ref; an empty text if there is none."""
        at = self.packed.find(b" " + name + b"\n")
        row = _LINE.fullmatch(self.packed[max(at - 40, 0) : at + 1 + len(name)])
        # A loose ref counts before a packed one of its name, as in git.
        return self.loose.get(name) or (row[1].decode() if row and self.packed[at - 41] == 10 else "")

    def unknown(self, known: frozenset[str]) -> dict[bytes, str]:
        """Return the refs that are no tags and name an object that is not among ``known``."""
        lines = [line for line in self.packed.decode("latin-1").split("\n") if line[:40] not in known]
        rows = [row for line in lines if (row := _LINE.fullmatch(line.encode("latin-1")))]
        # The packed version of a loose ref is an old one.
        found = {row[2]: row[1].decode() for row in rows if row[2] not in self.loose}
        found |= {name: oid for name, oid in self.loose.items() if oid not in known}
        return {name: oid for name, oid in found.items() if not name.startswith(b"refs/tags/")}


def _read_refs(git_dir: Path) -> _Refs:
    packed = b"\n%b\n" % (read_plain(git_dir / "packed-refs", MAX_REFS_FILE) or b"")
    loose: dict[bytes, str] = {}
    for name, path in walk_refs(os.fsencode(git_dir)) if folder_identity(git_dir / "refs") else ():
        text = (read_plain(Path(os.fsdecode(path)), 1000) or b"").strip()
        if _OID.fullmatch(text):
            loose[name] = text.decode()
    return _Refs(packed, loose)

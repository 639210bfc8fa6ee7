"""What a worker left beside its files: own commits, other branches, a stash, a merge half done.

The repository a worker could write is never opened by git or libgit2: its refs are read as plain files, and only
objects cross, through one checked pack.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pygit2

from gitprun.errors import GitFailed, GitTimeout
from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.names import Oid
from gitprun.system.files import read_plain

MAX_REFS_FILE = 16_000_000
MAX_LOG_FILE = 4_000_000
MAX_PACK = 2_000_000_000
IMPORT_TIMEOUT = 120.0
UNFINISHED = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
}

_OID = re.compile(rb"[0-9a-f]{40}")
_LINE = re.compile(rb"([0-9a-f]{40}) (refs/\S+)")


@dataclass(frozen=True, slots=True)
class Channels:
    """Tips by channel name (``head``, ``branch/<name>``, ``stash``, ``lost/<n>``), and an operation left half done."""

    tips: Mapping[str, Oid]
    unfinished: str | None = None
    notes: tuple[str, ...] = ()


def read_channels(git_dir: Path, known: frozenset[str]) -> Channels:
    """Read the refs in a worker's own git folder; ``known`` are the tips it started with."""
    if not git_dir.is_dir() or git_dir.is_symlink():
        return Channels({}, notes=("the worker replaced its .git, so commits of its own were not looked for",))
    refs = _read_refs(git_dir)
    tips: dict[str, Oid] = {}
    head = (read_plain(git_dir / "HEAD", 1000) or b"").strip()
    at = refs.get(head[5:].strip()) if head.startswith(b"ref: ") else head if _OID.fullmatch(head) else None
    if at and at.decode() not in known:
        tips["head"] = Oid(at.decode())
    for name, oid in sorted(refs.items()):
        if oid.decode() in known or oid.decode() in tips.values():
            continue
        text = name.decode("utf-8", "backslashreplace")
        channel = "stash" if text == "refs/stash" else f"branch/{text.split('/', 2)[-1]}"
        tips[channel if _usable(channel) else f"branch/{oid.decode()}"] = Oid(oid.decode())
    for lost in _read_log(git_dir / "logs" / "HEAD") + _read_log(git_dir / "logs" / "refs" / "stash"):
        if lost not in known and lost not in tips.values():
            tips[f"lost/{lost[:12]}"] = Oid(lost)
    return Channels(tips, read_unfinished(git_dir))


def read_unfinished(git_dir: Path) -> str | None:
    """Name the operation a worker left half done in its git folder, if any."""
    return next((word for name, word in UNFINISHED.items() if os.path.lexists(git_dir / name)), None)


def _usable(channel: str) -> bool:
    return bool(re.fullmatch(r"[A-Za-z0-9_][A-Za-z0-9_./-]*", channel)) and not re.search(
        r"\.\.|//|/\.|\.lock(/|$)|[./]$", channel
    )


def _read_refs(git_dir: Path) -> dict[bytes, bytes]:
    refs: dict[bytes, bytes] = {}
    for line in (read_plain(git_dir / "packed-refs", MAX_REFS_FILE) or b"").splitlines():
        found = _LINE.fullmatch(line)
        if found:
            refs[found[2]] = found[1]
    queue, seen = [b"refs"], 0
    while queue and seen < 100_000:
        folder = queue.pop()
        try:
            entries = list(os.scandir(os.path.join(os.fsencode(git_dir), folder)))
        except OSError:
            continue
        for entry in entries:
            seen += 1
            name = folder + b"/" + entry.name
            if entry.is_dir(follow_symlinks=False):
                queue.append(name)
                continue
            text = (read_plain(Path(os.fsdecode(entry.path)), 1000) or b"").strip()
            if _OID.fullmatch(text):
                refs[name] = text
    return {name: oid for name, oid in refs.items() if not name.startswith(b"refs/tags/")}


def _read_log(path: Path) -> list[str]:
    rows = (read_plain(path, MAX_LOG_FILE) or b"").splitlines()
    found = [row[41:81] for row in rows if _OID.fullmatch(row[:40]) and _OID.fullmatch(row[41:81])]
    return [oid.decode() for oid in dict.fromkeys(found) if oid.strip(b"0")]


def import_tips(
    repository: Repository,
    repo: pygit2.Repository,
    git_dir: Path,
    tips: Mapping[str, Oid],
    base: Oid,
    alternates: bytes,
) -> tuple[dict[str, Oid], list[str]]:
    """Bring the objects of a clone's own commits into the user's repository; give the tips that are whole there.

    They cross as one pack that git checks strictly. ``alternates`` is what prun wrote into the clone: if it says
    something else now, nothing is taken.
    """
    missing = {name: oid for name, oid in tips.items() if oid not in repo}
    if not missing:
        return dict(tips), []
    objects = git_dir / "objects"
    if (
        objects.is_symlink()
        or not objects.is_dir()
        or read_plain(objects / "info" / "alternates", 100_000) != alternates
        or os.path.lexists(objects / "info" / "http-alternates")
    ):
        return {}, ["the worker changed where its objects lie, so commits of its own were not taken"]
    taken: dict[str, Oid] = {n: o for n, o in tips.items() if n not in missing}
    notes = []
    for name, oid in missing.items():
        try:
            _carry(repository, objects, oid, base)
        except (GitFailed, GitTimeout) as problem:
            notes.append(f"the worker's {name} ({oid[:10]}) could not be taken over: {problem.message}")
            continue
        if oid in repo:
            taken[name] = oid
    return taken, notes


def _carry(repository: Repository, objects: Path, oid: Oid, base: Oid) -> None:
    sender = Git(
        cwd=repository.common,
        env={"GIT_DIR": str(repository.common), "GIT_ALTERNATE_OBJECT_DIRECTORIES": _quoted(objects)},
        neutral=True,
    )
    pack = sender.run(
        "pack-objects",
        "--revs",
        "--thin",
        "--stdout",
        "--quiet",
        stdin=f"{oid}\n^{base}\n".encode(),
        timeout=IMPORT_TIMEOUT,
    )
    receiver = Git(
        cwd=repository.common, env={"GIT_DIR": str(repository.common)}, config=("core.fsync=all",), neutral=True
    )
    receiver.run(
        "index-pack", "--stdin", "--fix-thin", "--strict", "--fsck-objects", f"--max-input-size={MAX_PACK}",
        stdin=pack.out, timeout=IMPORT_TIMEOUT,
    )  # fmt: skip


def _quoted(path: Path) -> str:
    """Write a path for GIT_ALTERNATE_OBJECT_DIRECTORIES, whose separator a name may hold."""
    text = str(path)
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"' if any(c in text for c in ':"\n') else text

"""What a worker left beside its files: own commits, other branches, a stash, a merge half done.

The repository a worker could write is never opened by git or libgit2: its refs are read as plain files.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gitprun.collect.scan import walk_refs
from gitprun.names import Oid
from gitprun.system.files import folder_identity, read_plain

MAX_REFS_FILE = 16_000_000
MAX_LOG_FILE = 4_000_000
MOST_TIPS = 256
UNFINISHED = {
    "MERGE_HEAD": "merge",
    "rebase-merge": "rebase",
    "rebase-apply": "rebase",
    "CHERRY_PICK_HEAD": "cherry-pick",
    "REVERT_HEAD": "revert",
    "sequencer": "cherry-pick",
}

_OID = re.compile(rb"[0-9a-f]{40}")
_LINE = re.compile(rb"([0-9a-f]{40}) (refs/\S+)")
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]{0,199}")
_REFUSED = re.compile(r"\.\.|//|/\.|\.lock(/|$)|[./]$")


@dataclass(frozen=True, slots=True)
class Channels:
    """Tips by channel name (``head``, ``branch/<name>``, ``stash``, ``lost/<n>``), and an operation left half done.

    ``head`` is the commit HEAD led to, also one that was there before (empty: none).
    """

    tips: Mapping[str, Oid]
    unfinished: str | None = None
    notes: tuple[str, ...] = ()
    head: str = ""


def read_channels(git_dir: Path, known: frozenset[str]) -> Channels:
    """Read the refs in a worker's own git folder; ``known`` are the tips it started with."""
    if folder_identity(git_dir) is None:
        return Channels({}, notes=("the worker replaced its .git, so commits of its own were not looked for",))
    refs = _read_refs(git_dir)
    found: dict[str, str] = {}
    head = _read_head(git_dir / "HEAD", refs)
    if head:
        found["head"] = head
    for name, oid in sorted(refs.items()):
        found.setdefault(_channel(name, oid), oid.decode())
    for folder in _folders(git_dir / "worktrees"):
        found[f"worktree/{len(found)}"] = _read_head(folder / "HEAD", refs)
    logs = [git_dir / "logs" / "HEAD", git_dir / "logs" / "refs" / "stash"]
    logs += [folder / "logs" / "HEAD" for folder in _folders(git_dir / "worktrees")]
    found |= {f"lost/{oid[:12]}": oid for log in logs for oid in read_log(log)}
    tips: dict[str, Oid] = {}
    for channel, text in found.items():
        if text and text not in known and text not in tips.values():
            tips[channel] = Oid(text)
    if len(tips) <= MOST_TIPS:
        return Channels(tips, read_unfinished(git_dir), head=head)
    some = dict(list(tips.items())[:MOST_TIPS])
    note = f"of {len(tips)} own commits and branches {MOST_TIPS} were kept"
    return Channels(some, read_unfinished(git_dir), (note,), head)


def read_unfinished(git_dir: Path) -> str | None:
    """Name the operation a worker left half done in its git folder, if any."""
    return next((word for name, word in UNFINISHED.items() if os.path.lexists(git_dir / name)), None)


def read_log(path: Path) -> list[str]:
    """List the commits a ref log names, each once."""
    rows = (read_plain(path, MAX_LOG_FILE) or b"").split(b"\n")
    found = [oid for row in rows for oid in (row[:40], row[41:81]) if _OID.fullmatch(oid)]
    return [oid.decode() for oid in dict.fromkeys(found) if oid.strip(b"0")]


def read_head(path: Path) -> str:
    """Read a HEAD file: a full ref name, a commit, or an empty text."""
    text = (read_plain(path, 1000) or b"").strip()
    if text.startswith(b"ref: "):
        return text[5:].strip().decode("utf-8", "replace")
    return text.decode() if _OID.fullmatch(text) else ""


def _read_head(path: Path, refs: Mapping[bytes, bytes]) -> str:
    said = read_head(path)
    return refs.get(said.encode(), b"").decode() if said.startswith("refs/") else said


def _channel(ref: bytes, oid: bytes) -> str:
    """Name the channel of a ref; a name that is no plain one is replaced by the commit."""
    text = ref.decode("utf-8", "backslashreplace")
    if text == "refs/stash":
        return "stash"
    name = text.removeprefix("refs/heads/") if text.startswith("refs/heads/") else text.removeprefix("refs/")
    usable = _PLAIN.fullmatch(name) and not _REFUSED.search(name)
    return f"branch/{name if usable else oid.decode()}"


def _folders(path: Path) -> list[Path]:
    """List the real folders in a folder that is no link."""
    if folder_identity(path) is None:
        return []
    with os.scandir(path) as entries:
        return sorted(Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False))[:MOST_TIPS]


def _read_refs(git_dir: Path) -> dict[bytes, bytes]:
    refs: dict[bytes, bytes] = {}
    for line in (read_plain(git_dir / "packed-refs", MAX_REFS_FILE) or b"").split(b"\n"):
        found = _LINE.fullmatch(line)
        if found:
            refs[found[2]] = found[1]
    for name, path in walk_refs(os.fsencode(git_dir)) if folder_identity(git_dir / "refs") else ():
        text = (read_plain(Path(os.fsdecode(path)), 1000) or b"").strip()
        if _OID.fullmatch(text):
            refs[name] = text
    return {name: oid for name, oid in refs.items() if not name.startswith(b"refs/tags/")}

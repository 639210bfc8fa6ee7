"""Turn everything a worker did into one commit, pinned in the user's repository before anything else happens.

Git stages it (filters, line ends, sparse checkouts are its business) with the user's own repository as git folder
and a private index made at creation; the ``.git`` inside the workspace is never used.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import pygit2

from gitprun.collect.channels import Channels, import_tips, read_channels, read_unfinished
from gitprun.collect.scan import Scan, look, scan_workspace
from gitprun.collect.screen import Found, LeftOut, gather_left_out, screen_link, screen_new, within
from gitprun.errors import GitFailed, GitTimeout, PrunError
from gitprun.git.command import Git
from gitprun.git.refs import Signature, move_ref, read_ref, write_commit
from gitprun.git.repo import Repository
from gitprun.globs import matches
from gitprun.names import ZERO, Oid, RunId, UnitId, kept_ref, parse_oid
from gitprun.system.files import read_plain
from gitprun.workspaces.base import OUTBOX, Workspace
from gitprun.workspaces.worktree import admin_folder

STAGE_TIMEOUT = 300.0
QUIET = (
    "core.hooksPath=/dev/null",
    "core.splitIndex=false",
    "core.untrackedCache=false",
    "core.fsync=objects",
    "core.fsyncMethod=batch",
    "core.safecrlf=false",
    "core.bare=false",
    "advice.addEmbeddedRepo=false",
)
LITTER = (b".codex", b".agents", b".aws")


class CaptureProblem(PrunError):
    """The work could not be captured; it lies untouched in its workspace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capture:
    """What was found: the new tree, its changed paths, what was left out and what was pinned beside it."""

    tree: Oid
    changed: tuple[str, ...]
    left_out: tuple[LeftOut, ...] = ()
    kept: tuple[tuple[str, Oid], ...] = ()
    own_commits: tuple[str, ...] = ()
    unfinished: str | None = None
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """Where to capture: the repository it goes to, the workspace, the commit it started from."""

    repository: Repository
    repo: pygit2.Repository
    workspace: Workspace
    base: Oid
    max_file: int
    known: frozenset[str] = frozenset()
    alternates: bytes = b""

    @property
    def git(self) -> Git:
        """Give git with the user's repository, the private index and the workspace as work tree."""
        return Git(
            cwd=self.workspace.path,
            env={
                "GIT_DIR": str(self.repository.common),
                "GIT_WORK_TREE": str(self.workspace.path),
                "GIT_INDEX_FILE": str(self.workspace.index),
                "GIT_OPTIONAL_LOCKS": "1",
            },
            config=QUIET,
        )


def capture(site: Site, run: RunId, unit: UnitId) -> Capture:
    """Stage everything the worker did and write its tree; pins own commits, branches and a stash at once.

    Raises CaptureProblem when the workspace cannot be read whole; then nothing was changed.
    """
    try:
        scan = scan_workspace(
            site.workspace.path, frozenset(map(os.fsencode, (".git", OUTBOX, *site.workspace.provided)))
        )
        notes = _defuse(site.workspace.path, scan)
        tree, left_out, noise = _stage(site, scan)
        channels = _channels(site)
        tips, more = import_tips(
            site.repository, site.repo, site.workspace.path / ".git", channels.tips, site.base, site.alternates
        )
    except (GitFailed, GitTimeout, OSError) as problem:
        said = problem.message if isinstance(problem, PrunError) else str(problem)
        raise CaptureProblem(f"the work in {site.workspace.path} could not be captured: {said}") from None
    if noise:
        notes.append(f"{noise} files differ by line-end normalisation only and were left as they are in the base")
    kept, own = _pin(site, run, unit, tips, tree)
    return Capture(
        tree=tree,
        changed=changed_paths(site.repo, site.base, tree),
        left_out=left_out,
        kept=kept,
        own_commits=own,
        unfinished=channels.unfinished,
        notes=(*notes, *channels.notes, *more),
    )


def _defuse(path: Path, scan: Scan) -> list[str]:
    """Move fifos and devices that git would open out of its way; they are kept in the outbox."""
    notes = []
    for number, trap in enumerate(scan.traps):
        aside = path / OUTBOX / f"aside-{number}"
        aside.parent.mkdir(exist_ok=True)
        os.rename(os.path.join(os.fsencode(path), trap), aside)
        notes.append(f"{_text(trap)} was no plain file and was moved to {OUTBOX}/{aside.name}")
    for name in LITTER:
        try:
            os.rmdir(os.path.join(os.fsencode(path), name))
        except OSError:
            continue
    return notes


def _stage(site: Site, scan: Scan) -> tuple[Oid, tuple[LeftOut, ...], int]:
    """Bring the private index up to the work and write its tree."""
    tracked, removed, new = _changes(site)
    left_out = [LeftOut(_text(p), "a fifo, socket, device or unreadable folder") for p in scan.specials]
    nested = tuple(_text(p) for p in scan.repositories)
    gitlinks = frozenset(p for p in nested if _entry(site, p) == stat.S_IFLNK | stat.S_IFDIR)
    left_out += [LeftOut(p + "/", "a repository inside the workspace") for p in nested if p not in gitlinks]
    accepted: list[bytes] = []
    for name in dict.fromkeys([*new, *_hidden_by_worker(site, scan, new)]):
        text = _text(name)
        if text.endswith("/") or within(text, nested) or within(text, (OUTBOX, *site.workspace.provided)):
            continue
        refused = _screen(site, text)
        if refused is None:
            accepted.append(name)
        elif refused.reason:
            left_out.append(refused)
    noise = 0
    for name in tracked:
        text = _text(name)
        seen = look(site.workspace.path, text)
        if text in gitlinks or text in nested or seen is None or not (stat.S_ISREG(seen[0]) or stat.S_ISLNK(seen[0])):
            continue
        if seen[2] is not None and (refused := screen_link(Found(text, link=seen[2]))):
            left_out.append(refused)
        elif _same_bytes(site, text):
            noise += 1
        else:
            accepted.append(name)
    accepted = [*(name for name in removed if not _is_special(site, name)), *accepted]
    if accepted:
        listing = b"".join(name + b"\0" for name in accepted)
        site.git.run(
            "update-index", "--add", "--remove", "--replace", "-z", "--stdin", stdin=listing, timeout=STAGE_TIMEOUT
        )
    return parse_oid(site.git.run("write-tree").text), gather_left_out(left_out), noise


def _changes(site: Site) -> tuple[list[bytes], list[bytes], list[bytes]]:
    """Ask git which tracked paths changed, which are gone, which are new (and not ignored)."""
    answer = site.git.run(
        "ls-files", "-z", "-t", "--modified", "--deleted", "--others", "--exclude-standard", timeout=STAGE_TIMEOUT
    )
    by_tag: dict[bytes, list[bytes]] = {b"C": [], b"R": [], b"?": []}
    for row in answer.fields:
        by_tag.setdefault(row[:1], []).append(row[2:])
    removed = list(dict.fromkeys(by_tag[b"R"]))
    gone = set(removed)
    return [name for name in dict.fromkeys(by_tag[b"C"]) if name not in gone], removed, by_tag[b"?"]


def _hidden_by_worker(site: Site, scan: Scan, new: Iterable[bytes]) -> list[bytes]:
    """List new files that only ignore rules of the worker's own hide: the base's rules decide what is work."""
    if not any(_differs(site, name) for name in scan.ignore_files):
        return []
    everything = site.git.run("ls-files", "-z", "--others", timeout=STAGE_TIMEOUT).fields
    shown = set(new)
    candidates = [name for name in everything if name not in shown]
    if not candidates:
        return []
    with tempfile.TemporaryDirectory(prefix="prun-rules-") as folder:
        for row in site.git.run("ls-tree", "-r", "-z", "--full-tree", site.base).fields:
            head, _, name = row.partition(b"\t")
            if os.path.basename(name) == b".gitignore" and head.startswith(b"100"):
                target = os.path.join(os.fsencode(folder), name)
                os.makedirs(os.path.dirname(target), exist_ok=True)
                with open(target, "wb") as rules:
                    rules.write(site.repo[head.split()[2].decode()].peel(pygit2.Blob).data)
        judge = Git(
            cwd=Path(folder), env={"GIT_DIR": str(site.repository.common), "GIT_WORK_TREE": folder}, config=QUIET
        )
        listing = b"".join(name + b"\0" for name in candidates)
        ignored = set(judge.run("check-ignore", "--no-index", "-z", "--stdin", stdin=listing, ok=(0, 1)).fields)
    return [name for name in candidates if name not in ignored]


def _differs(site: Site, name: bytes) -> bool:
    """Tell whether an ignore file is not the one of the base."""
    text = _text(name)
    entry = _blob(site, text)
    return entry is None or read_plain(site.workspace.path / text, 1_000_000) != entry


def _same_bytes(site: Site, text: str) -> bool:
    """Tell whether a path git calls changed has the very bytes of its base (line-end rules came later)."""
    seen = look(site.workspace.path, text)
    entry = _entry(site, text)
    if seen is None or entry is None or not stat.S_ISREG(seen[0]) or not stat.S_ISREG(entry):
        return False
    if bool(seen[0] & 0o100) != bool(entry & 0o100):
        return False
    blob = _blob(site, text)
    return blob is not None and len(blob) == seen[1] and read_plain(site.workspace.path / text, seen[1] + 1) == blob


def _entry(site: Site, text: str) -> int | None:
    """Give the mode a path has in the base; None if it is not there (or its name is no UTF-8)."""
    try:
        return int(site.repo[site.base].peel(pygit2.Tree)[text].filemode)
    except (KeyError, UnicodeEncodeError, ValueError):
        return None


def _blob(site: Site, text: str) -> bytes | None:
    """Give the bytes a path has in the base."""
    try:
        found = site.repo[site.base].peel(pygit2.Tree)[text]
    except (KeyError, UnicodeEncodeError, ValueError):
        return None
    return bytes(found.data) if isinstance(found, pygit2.Blob) else None


def _screen(site: Site, text: str) -> LeftOut | None:
    """Judge a new path; a reason that is empty means: litter, not worth a word."""
    seen = look(site.workspace.path, text)
    if seen is None:
        return LeftOut(text, "")
    if text == ".codex" and seen[1] == 0:
        return LeftOut(text, "")
    return screen_new(Found(text, seen[1], seen[2]), site.max_file)


def _is_special(site: Site, name: bytes) -> bool:
    seen = look(site.workspace.path, _text(name))
    return seen is not None and not (stat.S_ISREG(seen[0]) or stat.S_ISLNK(seen[0]) or stat.S_ISDIR(seen[0]))


def _channels(site: Site) -> Channels:
    if site.workspace.kind == "clone":
        return read_channels(site.workspace.path / ".git", site.known)
    return _linked_channels(site)


def _linked_channels(site: Site) -> Channels:
    """Read what a worker in a linked worktree committed: its objects are in the user's repository already."""
    tips: dict[str, Oid] = {}
    own = read_ref(site.repo, f"refs/heads/{site.workspace.branch}")
    if own and own != site.base and own not in site.known:
        tips[f"branch/{site.workspace.branch}"] = own
    admin = admin_folder(site.repository.common, site.workspace.path)
    if admin is None:
        return Channels(tips, notes=("the worktree's registration is gone",))
    head = (read_plain(admin / "HEAD", 1000) or b"").strip().decode("ascii", "replace")
    if len(head) == 40 and head not in site.known and head not in tips.values() and head in site.repo:
        tips["head"] = Oid(head)
    return Channels(tips, read_unfinished(admin))


def _pin(
    site: Site, run: RunId, unit: UnitId, tips: dict[str, Oid], tree: Oid
) -> tuple[tuple[tuple[str, Oid], ...], tuple[str, ...]]:
    """Pin the tips of the worker's own commits, and describe those commits for the report."""
    kept, own = [], []
    for channel, oid in tips.items():
        name = kept_ref(run, unit, channel)
        before = read_ref(site.repo, name)
        if before != oid:
            move_ref(site.repo, name, oid, before or ZERO, "prun: kept what the worker committed itself")
        kept.append((name, oid))
    if tips:
        listing = site.repository.git.run(
            "log",
            "--no-show-signature",
            "--no-color",
            "--format=%h %an: %s",
            "--max-count=200",
            *tips.values(),
            "--not",
            site.base,
        )
        own = listing.out.decode("utf-8", "replace").splitlines()
    return tuple(kept), tuple(own)


def changed_paths(repo: pygit2.Repository, base: Oid, tree: Oid) -> tuple[str, ...]:
    """List the paths that differ between a commit's tree and another tree."""
    before, after = repo[base].peel(pygit2.Tree), repo[tree].peel(pygit2.Tree)
    found: set[str] = set()
    for delta in before.diff_to_tree(after).deltas:
        found.update((_text(delta.old_file.raw_path), _text(delta.new_file.raw_path)))
    return tuple(sorted(found))


def commit_capture(
    site: Site, found: Capture, ref: str, message: str, who: tuple[Signature, Signature], old: Oid = ZERO
) -> Oid:
    """Make the one commit of a unit on its base and pin it; the ref moves only after the commit was read back."""
    commit = write_commit(site.repo, found.tree, (site.base,), message, *who)
    move_ref(site.repo, ref, commit, old, "prun: captured")
    return commit


def _text(name: bytes) -> str:
    return os.fsdecode(name)


def outside_fence(changed: Sequence[str], fence: Sequence[str]) -> tuple[str, ...]:
    """List the changed paths that no pattern of the unit's fence covers."""
    return tuple(path for path in changed if fence and not any(matches(pattern, path) for pattern in fence))

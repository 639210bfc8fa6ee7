"""Content that is only in a worker's index: kept as a commit without parents, beside the unit's own, never in its tree.

The index is read as bytes. Its blobs are read by a git of ours in a quarantine, named anew by what they hold, screened
as new files are, and cross as everything does that a worker could write.
"""

from __future__ import annotations

import itertools
import os
import stat
import time
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from gitprun.capture.classification import included
from gitprun.capture.contents import FIRST
from gitprun.capture.context import TREE, CaptureContext
from gitprun.capture.import_objects import ImportRequest, Rejected, import_objects, room_git
from gitprun.capture.inspect import split_batch
from gitprun.capture.lint import lint_path
from gitprun.capture.object_dir import check_object_dir
from gitprun.capture.quarantine import open_room
from gitprun.capture.screen import (
    HEAD,
    STAGED,
    LeftOut,
    NewPath,
    gather_left_out,
    refused_by_git,
    screen_link,
    screen_new,
    within,
)
from gitprun.git.command import Git
from gitprun.git.index import SYMLINK, IndexRow, read_rows
from gitprun.git.refs import Signature, open_repository, write_commit, write_object
from gitprun.git.store import stand_in
from gitprun.git.trees import tree_of
from gitprun.model.errors import GitFailed, GitTimeout
from gitprun.model.lists import listed
from gitprun.model.names import Oid, RunId, UnitId, parse_oid
from gitprun.model.secrets import find_secret
from gitprun.system.files import folder_identity, read_plain
from gitprun.workspaces.worktree import admin_folder

LABEL = "staged"
UNREADABLE = "its object is not there, or damaged"
# More than two million files; and so many of them that are no known content.
MOST_INDEX = 256 << 20
# As many objects as are brought over at most (ImportLimits.max_objects).
_MOST_ROWS = 500_000
# Half-done commits leave one or two; whoever makes more means to keep us busy.
MOST_INDEXES = 64
# So many bytes of contents are held at a time.
_AT_ONCE = 64 << 20
# The empty file, which is no content anybody could lose.
_EMPTY = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391"
_WHO = ("git prun", "prun@localhost")


@dataclass(frozen=True, slots=True)
class StagedContent:
    """What was only staged: the commit that holds it (None: nothing was), what is left out or rejected, and notes."""

    commit: Oid | None = None
    left_out: tuple[LeftOut, ...] = ()
    rejected: tuple[Rejected, ...] = ()
    notes: tuple[str, ...] = ()


def bring_staged(
    site: CaptureContext, run: RunId, unit: UnitId, held: Collection[str], known: Oid | None
) -> StagedContent:
    """Bring what is in no tree of ``held`` (commits or trees), nor in the private index, into the user's repository.

    ``known`` is the commit that holds what was brought before; nothing new is made for the very same content.
    """
    rows = _only_staged(site, held)
    if not rows:
        return StagedContent()
    objects = site.workspace.path / ".git" / "objects" if site.workspace.kind == "clone" else None
    strange = check_object_dir(objects, site.alternates) if objects is not None else None
    if strange is not None:
        return _unread(f"{strange}")
    room = open_room(site.repository, run, unit)
    try:
        # A room borrows the user's objects; those of a linked worktree are among them.
        return _take(site, run, unit, rows, room_git(room, objects), known)
    except (GitFailed, GitTimeout) as problem:
        return _unread(problem.message)
    finally:
        room.close()


def _git(site: CaptureContext, **more: str) -> Git:
    """Return git for the objects alone: the workspace may be gone."""
    env = {name: value for name, value in site.git.env.items() if name != "GIT_WORK_TREE"}
    return replace(site.git, cwd=site.own or site.repository.common, env=env | more)


def _unread(why: str) -> StagedContent:
    """Add the index itself to what stays behind, so that nobody takes the workspace for safe to remove."""
    return StagedContent(left_out=(LeftOut(".git/index", f"what is only staged in it could not be kept: {why}"),))


def read_indexes(site: CaptureContext) -> Iterator[IndexRow]:
    """Read every version the indexes of a workspace name: its own, and those of worktrees that were made of it."""
    if site.workspace.kind == "clone":
        top: Path | None = site.workspace.path / ".git"
    else:
        top = admin_folder(site.repository.common, site.workspace.path)
    if top is None or folder_identity(top) is None:
        return
    yield from _read_index(top)
    inner = top / "worktrees"
    if site.workspace.kind == "clone" and folder_identity(inner) is not None:
        for name in sorted(os.listdir(inner))[:MOST_INDEXES]:
            if folder_identity(inner / name) is not None:
                yield from _read_index(inner / name)


def _read_index(folder: Path) -> Iterator[IndexRow]:
    # A split index names the one that holds the rest.
    shared = yield from read_rows(read_plain(folder / "index", MOST_INDEX) or b"")
    if shared:
        yield from read_rows(read_plain(folder / f"sharedindex.{shared}", MOST_INDEX) or b"")


def _only_staged(site: CaptureContext, held: Collection[str]) -> list[IndexRow]:
    if site.workspace.index is None:
        return []
    own = read_rows(read_plain(site.workspace.index, MOST_INDEX) or b"")
    known = {_EMPTY, *(row.oid for row in own)}
    kinds = (row for row in read_indexes(site) if stat.S_ISREG(row.mode) or row.mode == SYMLINK)
    news = (row for row in kinds if row.oid not in known and not within(os.fsdecode(row.path), site.apart))
    left = list(itertools.islice(news, _MOST_ROWS))
    for one in held if left else ():
        words = ("ls-tree", "-r", "-z", "--full-tree", "--object-only", one)
        known |= {os.fsdecode(oid) for oid in _git(site).run(*words, ok=(0, 128)).fields}
        left = [row for row in left if row.oid not in known]
    named = {row.oid for row in left if row.path}
    return list({(row.path, row.oid): row for row in left if row.path or row.oid not in named}.values())


def _take(
    site: CaptureContext, run: RunId, unit: UnitId, rows: Sequence[IndexRow], git: Git, known: Oid | None
) -> StagedContent:
    writer = site.repo
    if site.own is not None:
        own = site.own
        writer = stand_in(_git(site), own / "objects", lambda: open_repository(own))
    sizes = _measure(git, rows)
    wanted, left_out = _bound(site, rows, sizes)
    taken: dict[str, IndexRow] = {}
    for row, content in _contents(git, wanted, sizes):
        refused = _leave(row, UNREADABLE) if content is None else _screen(site, row, content)
        # An index may claim any name for an object, so each is named anew by what it holds.
        if content is not None and refused is None and write_object(writer, "blob", content) != row.oid:
            refused = _leave(row, "its object does not hold what it is named by")
        if refused is not None:
            left_out.append(refused)
        else:
            taken.setdefault(_place(row, taken), row)
    told = gather_left_out(left_out)
    if not taken:
        return StagedContent(left_out=told)
    tree = _write_tree(site, taken)
    note = f"only in its index, in none of its files: {listed(sorted(taken))}; kept beside the commit, as {LABEL}"
    if known is not None and tree_of(site.repo, known) == tree:
        return StagedContent(known, told, notes=(note,))
    who = Signature(*_WHO, int(time.time()), 0)
    text = f"{unit}: what was only in its index\n\nUnit: {run}/{unit}\n"
    commit = write_commit(writer, tree, (), text, who, who)
    if site.own is None:
        return StagedContent(commit, told, notes=(note,))
    tips, objects = {LABEL: commit}, site.own / "objects"
    came = import_objects(
        site.repository, ImportRequest(run=run, unit=unit, objects=objects, tips=tips, base=site.base)
    )
    if LABEL not in came.taken:
        return StagedContent(None, told, came.rejected)
    return StagedContent(commit, told, notes=(note, *came.notes))


def _bound(
    site: CaptureContext, rows: Sequence[IndexRow], sizes: Mapping[str, int]
) -> tuple[list[IndexRow], list[LeftOut]]:
    """Choose the versions that are there and within the bounds for new files; returns what is left out, too."""
    wanted: list[IndexRow] = []
    left_out: list[LeftOut] = []
    total = 0
    for row in rows:
        size = sizes.get(row.oid)
        if size is None:
            left_out.append(_leave(row, UNREADABLE))
        elif size > site.max_file and not _asked(site, row):
            left_out.append(_leave(row, f"larger than {site.max_file} bytes ([collect] max_file)", size))
        elif total + size > site.max_total or len(wanted) >= site.max_files:
            left_out.append(_leave(row, "more than [collect] max_total and max_files let in", size))
        else:
            total += size
            wanted.append(row)
    return wanted, left_out


def _leave(row: IndexRow, why: str, size: int = 0) -> LeftOut:
    return LeftOut(os.fsdecode(row.path) or row.oid, f"{STAGED}{why}", size)


def _asked(site: CaptureContext, row: IndexRow) -> bool:
    return included(site, os.fsdecode(row.path))


def _screen(site: CaptureContext, row: IndexRow, content: bytes) -> LeftOut | None:
    """Judge a staged version as a new file of that name and content would be."""
    path = os.fsdecode(row.path)
    if _asked(site, row):
        return None
    if not path or refused_by_git(NewPath(path)) is not None:
        # Under such a name it is kept nowhere.
        path = row.oid
    link = os.fsdecode(content) if row.mode == SYMLINK else None
    if link is not None:
        refused = screen_link(NewPath(path, link=link))
    else:
        found = NewPath(path, len(content), None, content[:HEAD], bool(row.mode & 0o111))
        refused = screen_new(found, site.max_file, lambda folder: site.base_mode(folder) == TREE)
    # As git itself decides whether a file is text.
    if refused is None and link is None and site.secrets and b"\0" not in content[:8000]:
        spot = find_secret(content[:FIRST])
        # The base is read only where there is something to compare.
        spot = spot and find_secret(content[:FIRST], (site.base_blob(path) or b"")[:FIRST])
        refused = LeftOut(path, f"line {spot.line} looks like {spot.kind}", len(content)) if spot else None
    return replace(refused, reason=f"{STAGED}{refused.reason}") if refused else None


def _place(row: IndexRow, taken: Mapping[str, IndexRow]) -> str:
    """Choose the name of a version in the tree: its own, unless no checkout takes that or another one has it."""
    path = os.fsdecode(row.path)
    bad = lint_path(row.path, row.mode) if path else None
    above = {path[:at] for at, char in enumerate(path) if char == "/"}
    if not path or (bad is not None and bad.grade == "refuse"):
        return row.oid
    met = path in taken or above & taken.keys() or any(other.startswith(f"{path}/") for other in taken)
    return row.oid if met else path


def _write_tree(site: CaptureContext, taken: Mapping[str, IndexRow]) -> Oid:
    index = site.workspace.index
    assert index is not None
    # An index of its own: the one of the capture holds what is in the files.
    own = index.with_name("index.staged")
    git = _git(site, GIT_INDEX_FILE=str(own))
    own.unlink(missing_ok=True)
    rows = (f"{row.mode:o} {row.oid}\t".encode() + os.fsencode(path) + b"\0" for path, row in taken.items())
    try:
        git.run("update-index", "-z", "--index-info", stdin=b"".join(rows))
        return parse_oid(git.run("write-tree").text)
    finally:
        own.unlink(missing_ok=True)


def _measure(git: Git, rows: Iterable[IndexRow]) -> dict[str, int]:
    """Ask for the sizes of those that are blobs and there."""
    asked = "".join(f"{oid}\n" for oid in dict.fromkeys(row.oid for row in rows)).encode()
    found = {}
    for answer in git.run("cat-file", "--batch-check", "--buffer", stdin=asked).text.split("\n"):
        oid, *about = answer.split(" ")
        if about[:1] == ["blob"]:
            found[oid] = int(about[1])
    return found


def _contents(git: Git, rows: Sequence[IndexRow], sizes: Mapping[str, int]) -> Iterator[tuple[IndexRow, bytes | None]]:
    """Read what rows hold, some at a time; None for an object git cannot read."""
    group: list[IndexRow] = []
    for row in rows:
        if group and sum(sizes[one.oid] for one in group) + sizes[row.oid] > _AT_ONCE:
            yield from _read(git, group)
            group = []
        group.append(row)
    if group:
        yield from _read(git, group)


def _read(git: Git, rows: Sequence[IndexRow]) -> Iterator[tuple[IndexRow, bytes | None]]:
    asked = "".join(f"{row.oid}\n" for row in rows).encode()
    try:
        found: Sequence[bytes | None] = split_batch(git.run("cat-file", "--batch", "--buffer", stdin=asked).out)
    except GitFailed:
        if len(rows) > 1:
            # One of them is broken, and must not hide the others.
            half = len(rows) // 2
            yield from _read(git, rows[:half])
            yield from _read(git, rows[half:])
            return
        found = [None]
    yield from zip(rows, found, strict=True)

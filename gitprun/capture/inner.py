"""Commits a worker made inside a submodule: brought over and kept, though they are no part of the unit's commit.

The repository in there is as much the worker's as its own: its refs are read as plain files, what they reach crosses
like everything else. What the submodule fetched from elsewhere is nobody's work here.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gitprun.capture.context import GITLINK, CaptureContext
from gitprun.capture.import_objects import GONE, ImportRequest, Rejected, import_objects, room_git
from gitprun.capture.object_dir import check_object_dir
from gitprun.capture.quarantine import open_room
from gitprun.capture.tree_walk import read_pointer
from gitprun.capture.worker_refs import read_upstream, read_worker_refs
from gitprun.model.errors import GitFailed, GitTimeout
from gitprun.model.names import Oid, RunId, UnitId
from gitprun.system.files import folder_identity
from gitprun.workspaces.base import list_submodules
from gitprun.workspaces.worktree import admin_folder

LABEL = "submodule"
# So many submodules are looked into.
MOST = 100
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]*(?:/[A-Za-z0-9_][A-Za-z0-9_.-]*)*")
_REFUSED = re.compile(r"\.\.|\.lock(/|$)|\.(/|$)")


@dataclass(frozen=True, slots=True)
class Inner:
    """The commits of one submodule that are new, by the label they are kept in; what was rejected of them."""

    folder: str
    tips: Mapping[str, Oid]
    rejected: tuple[Rejected, ...] = ()

    @property
    def note(self) -> str:
        """Return what was found in words."""
        count = f"{len(self.tips)} of its tips are kept" if len(self.tips) > 1 else "they are kept"
        return (
            f"commits were made inside the submodule {self.folder}: {count} as {LABEL}/{safe_name(self.folder)},"
            " and are no part of the commit"
        )


def is_submodule(site: CaptureContext, folder: str) -> bool:
    """Check whether a folder is a submodule: of the base, or by the settings the worker left."""
    return site.base_mode(folder) == GITLINK or folder in list_submodules(site.workspace.path)


def bring_inner(site: CaptureContext, run: RunId, unit: UnitId, repositories: Sequence[str]) -> list[Inner]:
    """Bring what was committed in the submodules among ``repositories`` into the user's repository; no ref moves."""
    found = []
    for folder in [one for one in repositories if is_submodule(site, one)][:MOST]:
        git_dir = _git_folder(site, folder)
        one = _bring(site, run, unit, folder, git_dir) if git_dir is not None else None
        if one is not None:
            found.append(one)
    return found


def _bring(site: CaptureContext, run: RunId, unit: UnitId, folder: str, git_dir: Path) -> Inner | None:
    # What the submodule fetched is its upstream's, and can be fetched again.
    known = set(read_upstream(git_dir))
    if (linked := site.base_object(folder)) is not None:
        known.add(linked)
    tips = dict(read_worker_refs(git_dir, frozenset(known)).tips)
    objects = git_dir / "objects"
    # A folder git must not read: then all tips count as new, and the import looks at them with more care.
    if tips and check_object_dir(objects, b"") is None:
        tips = _new(site, run, unit, objects, tips, known)
    if not tips:
        return None
    name = safe_name(folder)
    asked = {f"{LABEL}/{name}/{label}": oid for label, oid in tips.items()}
    came = import_objects(
        site.repository, ImportRequest(run=run, unit=unit, objects=objects, tips=asked, base=site.base, alternates=b"")
    )
    # A log tells of commits that git has long dropped; nothing was lost by us.
    rejected = tuple(row for row in came.rejected if row.reason != GONE or "/lost/" not in row.name)
    return Inner(folder, came.taken, rejected) if came.taken or rejected else None


def _new(
    site: CaptureContext, run: RunId, unit: UnitId, objects: Path, tips: Mapping[str, Oid], known: Iterable[str]
) -> dict[str, Oid]:
    """Drop the tips that are part of what the submodule began with; where that cannot be told all are new."""
    room = open_room(site.repository, run, unit)
    try:
        git = room_git(room, objects)
        held = [f"^{oid}" for oid in known]
        found: dict[str, Oid] = {}
        for label, oid in tips.items():
            # What only a log tells of may be part of what is kept anyway.
            others = [f"^{one}" for name, one in tips.items() if label.startswith("lost/") and name in found]
            asked = "\n".join((oid, *held, *others, "")).encode()
            # What the submodule once fetched may be gone from it, and is no reason to fail.
            words = ("rev-list", "--max-count=1", "--ignore-missing", "--stdin")
            answer = git.run(*words, stdin=asked, ok=(0, 128))
            if answer.code != 0 or answer.out.strip():
                found[label] = oid
        return found
    except (GitFailed, GitTimeout):
        return dict(tips)
    finally:
        room.close()


def _git_folder(site: CaptureContext, folder: str) -> Path | None:
    """Find the git folder of a submodule: in it, or among the modules of the workspace's own; nowhere else."""
    place = site.workspace.path / folder / ".git"
    try:
        mode = os.lstat(place).st_mode
    except OSError:
        return None
    if stat.S_ISDIR(mode):
        return place
    said = os.fsdecode(read_pointer(os.fsencode(place)).removeprefix(b"gitdir:").strip())
    if not said or "\0" in said:
        return None
    if site.workspace.kind == "clone":
        top: Path | None = site.workspace.path / ".git"
    else:
        top = admin_folder(site.repository.common, site.workspace.path)
    named = os.path.normpath(os.path.join(place.parent, said))
    if top is None or folder_identity(Path(named)) is None:
        return None
    # No link on the way: what it leads to would be somebody else's.
    inside = os.path.realpath(top / "modules")
    return Path(named) if os.path.realpath(named).startswith(f"{inside}/") and not os.path.islink(named) else None


def safe_name(folder: str) -> str:
    """Write a folder as a part of a ref's name."""
    if _PLAIN.fullmatch(folder) and not _REFUSED.search(folder) and len(folder) < 200:
        return folder
    return hashlib.sha1(os.fsencode(folder), usedforsecurity=False).hexdigest()[:12]

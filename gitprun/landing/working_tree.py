"""What a unit has in its workspace right now, as a commit nobody keeps."""

from __future__ import annotations

import os
import shutil
from dataclasses import replace

import pygit2

from gitprun.capture.context import CaptureContext, quoted_place
from gitprun.capture.stage import stage
from gitprun.capture.tree_scan import scan_workspace
from gitprun.git.trees import show_path
from gitprun.landing.temporary_objects import TemporaryObjects
from gitprun.ledger.events import RunState, UnitState, base_of
from gitprun.model.errors import GitStopped, PrunError
from gitprun.model.names import Oid, parse_oid
from gitprun.model.plan import DEFAULT_MAX_FILE
from gitprun.registry.rest import recall_workspace
from gitprun.system.files import folder_identity
from gitprun.workspaces.gitdir import ensure_own_git

# While a worker writes, a file may be gone between one look and the next.
LOOKS = 3
_SIGNED = {f"GIT_{who}_{what}": "git-prun" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}
# The same files give the same commit: a forecast asked twice gives one answer, and writes nothing new.
_DATED = {"GIT_AUTHOR_DATE": "@0 +0000", "GIT_COMMITTER_DATE": "@0 +0000"}


class NotSeen(PrunError):
    """The work of a unit cannot be read now."""


def read_work(room: TemporaryObjects, run: RunState, unit: UnitState) -> Oid:
    """Make a commit of what is in a unit's workspace now; raises NotSeen with the reason where it cannot be read.

    What counts as work is what a capture would take. The workspace is only read, its ``.git`` not at all.
    """
    if not unit.path or unit.removed:
        raise NotSeen("it has no workspace")
    if unit.workspace not in ("clone", "worktree"):
        raise NotSeen("it only reads")
    for look in range(LOOKS):
        try:
            return _read_once(room, run, unit)
        # These are answers, and another look would give the same one.
        except (NotSeen, GitStopped):
            raise
        except (PrunError, OSError) as problem:
            if look == LOOKS - 1:
                reason = problem.message if isinstance(problem, PrunError) else f"{problem.strerror or problem}"
                raise NotSeen(f"its workspace cannot be read: {reason}") from None
    raise AssertionError


def _read_once(room: TemporaryObjects, run: RunState, unit: UnitState) -> Oid:
    kept = recall_workspace(room.repository.state, unit)
    if folder_identity(kept.path) != kept.identity or kept.index is None or not kept.index.is_file():
        raise NotSeen("its workspace is not there")
    index = room.folder / f"{unit.run}-{unit.id}.index"
    # A copy: the capture's own index says what it saw last, and a forecast must not change that.
    shutil.copy2(kept.index, index)
    base = parse_oid(base_of(run, unit))
    own = ensure_own_git(room.repository, kept.index, base, kept.kind)
    site = CaptureContext(
        repository=room.repository,
        repo=room.repo,
        workspace=replace(kept, index=index),
        base=base,
        max_file=DEFAULT_MAX_FILE,
        own=own,
        # What a capture staged before lies there; what is written now goes where nobody keeps it.
        places={**room.places, "GIT_ALTERNATE_OBJECT_DIRECTORIES": quoted_place(own / "objects")},
    )
    scan = scan_workspace(kept.path, frozenset(map(os.fsencode, (".git", *site.apart))))
    # A fifo or a device: git opens it like a file and waits for whoever would write to it.
    if scan.traps:
        raise NotSeen(f"git would wait for {show_path(scan.traps[0])} in its workspace")
    tree = stage(site, scan).tree
    if tree == str(room.repo[pygit2.Oid(hex=site.base)].peel(pygit2.Tree).id):
        raise NotSeen("it has changed nothing yet")
    git = replace(room.git, env={**site.places, **_SIGNED, **_DATED})
    words = ("commit-tree", "-p", site.base, "-m", f"{unit.run}/{unit.id}: as it is now", tree)
    return parse_oid(git.run(*words).text)

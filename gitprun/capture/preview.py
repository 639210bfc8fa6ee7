"""What a capture would take right now, found out without making one; and what the setup commands made."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from gitprun.capture.context import CaptureContext
from gitprun.capture.prepared import differing, note_prepared
from gitprun.capture.stage import StagedTree, stage
from gitprun.capture.tree_scan import scan_workspace
from gitprun.model.errors import PrunError

_NOTHING: dict[str, tuple[str, str]] = {}


def preview(site: CaptureContext) -> StagedTree | None:
    """Stage what is in a workspace in a copy of its index; None where git would wait for something that lies there."""
    index = site.workspace.index
    assert index is not None
    copied = index.with_name("index.preview")
    shutil.copy2(index, copied)
    try:
        scan = scan_workspace(site.workspace.path, frozenset(map(os.fsencode, (".git", *site.apart))))
        return None if scan.traps else stage(replace(site, workspace=replace(site.workspace, index=copied)), scan)
    finally:
        copied.unlink(missing_ok=True)


def list_work(site: CaptureContext) -> tuple[str, ...]:
    """List the paths a capture would take now."""
    return tuple(sorted(_changed(site, preview(site))))


@contextmanager
def noting_setup(site: CaptureContext, *, fresh: bool) -> Iterator[list[str]]:
    """Write down what the commands run in the block made, and give the paths of it that a capture would take.

    ``fresh``: nobody has worked there before. What somebody changed before them stays that person's work.
    """
    made: list[str] = []
    before = None if fresh else preview(site)
    yield made
    try:
        after = preview(site) if fresh or before is not None else None
    except PrunError:
        # Then it counts as work, as what a worker finds and cannot tell from its own.
        return
    if after is None or site.own is None:
        return
    mine = _changed(site, before)
    versions = {path: version for path, version in _changed(site, after).items() if path not in mine}
    earlier = {row.path for row in before.left_out} if before else set()
    note_prepared(site, versions, [row for row in after.left_out if row.path not in earlier])
    made += sorted(versions)


def _changed(site: CaptureContext, staged: StagedTree | None) -> dict[str, tuple[str, str]]:
    return dict(differing(site, "diff-tree", "-r", site.base, staged.tree)) if staged else _NOTHING

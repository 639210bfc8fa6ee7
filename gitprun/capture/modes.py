"""Whether a new file is a program, where git is told not to look (core.fileMode=false)."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from gitprun.capture.context import CaptureContext
from gitprun.capture.lint import shown
from gitprun.workspaces.base import OUTBOX

PLAIN, PROGRAM = b"100644", b"100755"


def stage_modes(site: CaptureContext) -> tuple[str, ...]:
    """Stage the mode that files the base does not have have on disk; return notes.

    The setting speaks of a disk that keeps no modes. Where this one keeps them, which a file of our own shows, a
    script somebody made executable is one.
    """
    if site.git.run("config", "--type=bool", "--get", "core.fileMode", ok=(0, 1)).text != "false":
        return ()
    words = ("diff-index", "--cached", "-z", "--no-renames", "--diff-filter=A", site.base, "--")
    fields = site.git.run(*words).fields
    wrong = []
    for about, path in zip(fields[::2], fields[1::2], strict=True):
        _, mode, _, oid, _ = about.removeprefix(b":").split(b" ")
        found = _mode_on_disk(Path(os.fsdecode(os.path.join(os.fsencode(site.workspace.path), path))))
        if mode in (PLAIN, PROGRAM) and found not in (None, mode):
            wrong.append((path, found, oid))
    if not wrong:
        return ()
    if _mode_on_disk(site.workspace.path / OUTBOX / ".gitignore") != PLAIN:
        more = f" and {len(wrong) - 1} more" if len(wrong) > 1 else ""
        return (f"{shown(wrong[0][0])}{more}: whether it is executable was not looked at (core.fileMode=false)",)
    rows = b"".join(b"%s %s\t%s\0" % (mode, oid, path) for path, mode, oid in wrong)
    site.git.run("update-index", "-z", "--index-info", stdin=rows)
    return ()


def _mode_on_disk(place: Path) -> bytes | None:
    try:
        found = os.lstat(place).st_mode
    except OSError:
        return None
    return (PROGRAM if found & stat.S_IXUSR else PLAIN) if stat.S_ISREG(found) else None

"""Files of a repository inside a workspace: no work by themselves, but brought in as files when somebody asks."""

from __future__ import annotations

import os
from collections.abc import Sequence

from gitprun.capture.classification import included
from gitprun.capture.context import CaptureContext
from gitprun.capture.inner import is_submodule

# Folders are walked one by one; what lies deeper than so many is no source of a program.
MOST = 100_000


def list_nested(site: CaptureContext, folders: Sequence[str]) -> list[bytes]:
    """List the files of nested repositories that somebody asked for; their ``.git`` is none of them.

    Those of a submodule are not to be had: as plain files they would take the place of the submodule itself.
    """
    found: list[bytes] = []
    if not site.include:
        return found
    queue = [os.fsencode(folder) for folder in folders if not is_submodule(site, folder)]
    top = os.fsencode(site.workspace.path)
    while queue and len(found) < MOST:
        folder = queue.pop()
        try:
            with os.scandir(os.path.join(top, folder)) as listing:
                for entry in listing:
                    name = folder + b"/" + entry.name
                    if entry.name.lower() == b".git":
                        continue
                    if entry.is_dir(follow_symlinks=False):
                        queue.append(name)
                    elif included(site, os.fsdecode(name)):
                        found.append(name)
        except OSError:
            continue
    return found

"""Screen what changed files hold for credentials: the first megabytes of each, and only what the base did not hold."""

from __future__ import annotations

import os
from collections.abc import Iterable

from gitprun.capture.context import CaptureContext
from gitprun.capture.screen import LeftOut
from gitprun.capture.tree_scan import size_of
from gitprun.model.secrets import find_secret
from gitprun.system.files import read_plain

# So much of a file is looked at, and so much of its beginning tells whether it is text.
FIRST = 4_000_000
# As git itself decides whether a file is text (buffer_is_binary).
_BEGINNING = 8000


def screen_contents(site: CaptureContext, names: Iterable[bytes]) -> dict[bytes, LeftOut]:
    """Find the files that hold credentials; a reason names kind and line, never a value."""
    found = {}
    for name in names:
        text = os.fsdecode(name)
        content = read_plain(site.workspace.path / text, FIRST)
        if not content or b"\0" in content[:_BEGINNING]:
            continue
        spot = find_secret(content)
        if spot is not None:
            # The base is looked at only now, since nearly all files hold nothing.
            spot = find_secret(content, (site.base_blob(text) or b"")[:FIRST])
        if spot is not None:
            size = size_of(site.workspace.path, text)
            found[name] = LeftOut(text, f"line {spot.line} looks like {spot.kind}", size)
    return found

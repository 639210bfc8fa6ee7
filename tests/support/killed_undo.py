"""Run as a program: take the last landing back and be killed at a chosen moment.

Arguments: repository, moment, and ``redo`` to bring it back instead.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pygit2

import gitprun.landing.undo as flow
from gitprun.landing.landed import record_undone
from gitprun.landing.move import follow
from tests.support.killed_landing import die, half_way
from tests.support.repos import Repo


def after(done: Callable[..., Any]) -> Callable[..., None]:
    """Let it happen, then die."""

    def both(*args: Any, **named: Any) -> None:
        done(*args, **named)
        die()

    return both


MOMENTS = {
    "started": ("move_target", die),
    "moved": ("follow", die),
    "half": ("follow", half_way),
    "followed": ("follow", after(follow)),
    "recorded": ("record_undone", after(record_undone)),
}


def main() -> None:
    """Take back and die."""
    folder, moment, *how = sys.argv[1:]
    for level in pygit2.enums.ConfigLevel.GLOBAL, pygit2.enums.ConfigLevel.XDG, pygit2.enums.ConfigLevel.SYSTEM:
        pygit2.settings.search_path[level] = os.devnull
    name, action = MOMENTS[moment]
    setattr(flow, name, action)
    repo = Repo(Path(folder))
    flow.undo(repo.repository, repo.ledger, flow.UndoRequest(redo=how == ["redo"]))


if __name__ == "__main__":
    main()

"""Run as a program: land a branch and be killed at a chosen moment. Arguments: repository, branch, moment."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pygit2

import gitprun.landing.landed as landed
from gitprun.landing.landed import record_landed
from gitprun.ledger.landing_events import LandingRow, LandingStarted
from gitprun.ledger.ledger import Ledger
from tests.support.landing import land_branches
from tests.support.repos import Repo


def die(*_: Any, **__: Any) -> None:
    """End as a power cut would end us."""
    os.kill(os.getpid(), signal.SIGKILL)


def half_way(target: Any, new: str, reason: str) -> None:
    """Write some of the files of the new commit, as git does before it writes the index, and die."""
    git = Repo(target.checkout)
    changed = git.git("diff", "--name-only", "--no-renames", target.tip, new).splitlines()
    for name in changed[: len(changed) // 2 + 1]:
        place = target.checkout / name
        place.unlink(missing_ok=True)
        if git.git("ls-tree", new, "--", name):
            git.write(name, git.git("cat-file", "blob", f"{new}:{name}") + "\n")
    die()


def torn(target: Any, new: str, reason: str) -> None:
    """Leave new files as a full disk or a power cut does, empty or broken off, and die."""
    git = Repo(target.checkout)
    for number, name in enumerate(git.git("diff", "--name-only", "--diff-filter=A", target.tip, new).splitlines()):
        text = git.git("cat-file", "blob", f"{new}:{name}")
        if (target.checkout / name).parent.is_file():
            (target.checkout / name).parent.unlink()
        git.write(name, "" if number % 2 else text[: len(text) // 2])
    die()


def first_of(ledger: Ledger, begun: LandingStarted, rows: Sequence[LandingRow]) -> None:
    """Record one branch of several, and die: what a power cut leaves of a write."""
    record_landed(ledger, begun, rows[:1])
    lines = ledger.path.read_bytes().splitlines(keepends=True)
    ledger.path.write_bytes(b"".join(lines[:-1]))
    die()


MOMENTS: dict[str, tuple[str, Callable[..., Any]]] = {
    "started": ("move_target", die),
    "moved": ("follow", die),
    "half": ("follow", half_way),
    "torn": ("follow", torn),
    "followed": ("record_landed", die),
    "recorded": ("record_landed", first_of),
}


def main() -> None:
    """Land and die."""
    folder, branches, moment = sys.argv[1:]
    for level in pygit2.enums.ConfigLevel.GLOBAL, pygit2.enums.ConfigLevel.XDG, pygit2.enums.ConfigLevel.SYSTEM:
        pygit2.settings.search_path[level] = os.devnull
    name, action = MOMENTS[moment]
    setattr(landed, name, action)
    land_branches(Repo(Path(folder)), *branches.split(","))


if __name__ == "__main__":
    main()

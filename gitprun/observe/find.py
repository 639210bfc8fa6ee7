"""Find a repository git itself cannot read any more, because a worker damaged its settings or its HEAD."""

from __future__ import annotations

import os
from pathlib import Path

from gitprun.git.repo import Repository
from gitprun.system.files import read_plain


def find_damaged(start: Path) -> Repository | None:
    """Walk up to the git folder of a repository prun has worked in; None if there is none."""
    for folder in (start, *start.parents):
        place = folder / ".git"
        if place.is_file():
            place = _led_to(place)
        for git_dir in (place, folder):
            if (git_dir / "prun" / "ledger.jsonl").is_file() and (git_dir / "objects").is_dir():
                top = folder if git_dir == place and place.name == ".git" else None
                return Repository(top=top, git_dir=git_dir, common=git_dir)
    return None


def _led_to(file: Path) -> Path:
    """Follow the ``.git`` file of a linked worktree to the shared folder."""
    said = os.fsdecode(read_plain(file, 10_000) or b"").strip().removeprefix("gitdir: ")
    return Path(said).parent.parent if Path(said).parent.name == "worktrees" else Path(said)

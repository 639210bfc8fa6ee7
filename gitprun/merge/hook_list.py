"""Which of the hooks that git runs on a merge the user has."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

MERGE_HOOKS = ("pre-merge-commit", "prepare-commit-msg", "commit-msg")


@dataclass(frozen=True, slots=True)
class Hooks:
    """The merge hooks there are, in git's order, and where they lie."""

    folder: Path
    names: tuple[str, ...]
    notes: tuple[str, ...] = ()


def find_hooks(folder: Path, wanted: Sequence[str] = MERGE_HOOKS) -> Hooks:
    """Find the hooks git would run; one that is not executable is passed over and named in a note."""
    names, notes = [], []
    for name in wanted:
        if not (folder / name).is_file():
            continue
        if os.access(folder / name, os.X_OK):
            from gitprun.guards.install import is_gate_alone

            # Our own gates are for merges made with git itself: a landing has looked already.
            if not is_gate_alone(folder, name):
                names.append(name)
        else:
            notes.append(f"the hook {folder / name} is not executable, so it does not run")
    return Hooks(folder, tuple(names), tuple(notes))

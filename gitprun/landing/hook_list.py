"""Which of the hooks that git runs on a merge the user has."""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gitprun.model.units import join_few

if TYPE_CHECKING:
    from gitprun.landing.guard import Target
    from gitprun.model.names import Oid

# What git runs once a branch has moved and its checkout follows; an undo is no merge.
AFTER_UNDO = ("post-index-change", "reference-transaction")
AFTER_LANDING = ("post-merge", *AFTER_UNDO)
_BY_HAND = {"post-merge": "git hook run post-merge -- 0", "post-index-change": "git hook run post-index-change -- 1 0"}
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


def describe_not_run(folder: Path, changed: Sequence[str], target: Target, new: Oid, wanted: Sequence[str]) -> str:
    """Say that hooks are not run because a move itself changes them, and how each is run by hand."""
    names = find_hooks(folder, wanted).names
    if not names:
        return f"no hook was run: {join_few(changed)} changed"
    told = f"echo {target.tip} {new} {target.ref} | {shlex.quote(str(folder / 'reference-transaction'))} committed"
    commands = "; ".join(_BY_HAND.get(name, told) for name in names)
    return f"not run, because {join_few(changed)} changed: {', '.join(names)}; read what they do, then run: {commands}"

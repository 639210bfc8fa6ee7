"""Check whether a git process belongs to the worker of a unit: by its environment, or by the worktree it acts in."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gitprun.git.repo import Repository, find_repository
from gitprun.ledger.events import History, UnitState
from gitprun.ledger.lookup import probe_unit
from gitprun.model.errors import PrunError
from gitprun.workspaces.worktree import admin_folder


@dataclass(frozen=True, slots=True)
class Worker:
    """Whose process it is; ``own`` tells that it acts in the worktree made for it."""

    run: str
    unit: str
    own: bool

    @property
    def name(self) -> str:
        """Return the unit's name as people say it."""
        return f"{self.run}/{self.unit}" if self.run else self.unit


def find_worker(env: Mapping[str, str], repository: Repository, history: History) -> Worker | None:
    """Find the worker that acts in ``repository`` (opened by the git folder of the process); None for anybody else."""
    unit = env.get("PRUN_UNIT", "")
    # It says itself whose it is; a worker that unset that is known by where it acts.
    if unit:
        if not _is_home(env.get("PRUN_REPO", ""), repository):
            return None
        run = env.get("PRUN_RUN", "")
        known = history.runs[run].units.get(unit) if run in history.runs else None
        # Where it works is not written down for a worker without a run: the user's main checkout it is not.
        own = _acts_in(repository, known) if known is not None else repository.git_dir != repository.common
        return Worker(run, unit, own)
    # The newest run first: an earlier one's workspace may be long gone.
    for state in reversed(list(history.runs.values())):
        for known in state.units.values():
            if _acts_in(repository, known) and probe_unit(state, known).live:
                return Worker(state.id, known.id, own=True)
    return None


def _is_home(home: str, repository: Repository) -> bool:
    """Check whether a worker's own repository is this one; in others, which it may have made itself, it is free."""
    if not home:
        # Without that variable, or where it leads nowhere, it is taken for this one: the stricter answer.
        return True
    try:
        return os.path.samefile(find_repository(Path(home)).common, repository.common)
    except (PrunError, OSError):
        return True


def _acts_in(repository: Repository, unit: UnitState) -> bool:
    path = unit.path
    if unit.workspace != "worktree" or not isinstance(path, str):
        return False
    admin = admin_folder(repository.common, Path(path))
    return admin is not None and os.path.realpath(admin) == os.path.realpath(repository.git_dir)

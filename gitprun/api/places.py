"""Workspaces: made for people, worked in, listed, locked, moved, adopted, reset, removed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING

from gitprun.api.opened import Opened, hear_no_line
from gitprun.api.settings import approve, find_moved, known_roots, settings_of, workspace_root
from gitprun.api.stopping import Stop
from gitprun.api.unseen import warn_unseen_by
from gitprun.api.workspaces import (
    AdoptedWorkspace,
    MovedWorkspace,
    NewWorkspace,
    RemovedWorkspace,
    RemovedWorkspaces,
    ResetWorkspace,
    Workspaces,
    WorkspaceStatus,
)
from gitprun.ledger.events import RunState, UnitState
from gitprun.ledger.ledger import Reading
from gitprun.ledger.roster import NAMED, roster
from gitprun.ledger.unit_events import WorkspaceSetup
from gitprun.model.errors import OperationRefused, PrunError
from gitprun.model.lists import listed
from gitprun.model.names import short

if TYPE_CHECKING:
    from gitprun.model.plan import Settings
    from gitprun.registry.find import WorkspaceRecord
    from gitprun.registry.remove import Removal

PRISMA = "npx prisma generate"


def find_place(opened: Opened, name: str) -> tuple[Reading, RunState, UnitState]:
    """Find the unit, or the workspace of the user's own, that a name means, wherever its folder was moved."""
    from gitprun.registry.find import find_workspace

    find_moved(opened)
    reading = opened.read()
    return reading, *find_workspace(reading.history, roster(reading.events), name)


def list_workspaces(opened: Opened, *, sizes: bool = False) -> Workspaces:
    """Return all workspaces; with ``sizes`` each is walked through."""
    from gitprun.registry.inventory import read_places

    find_moved(opened)
    found = read_places(opened.repository, opened.read(), known_roots(opened), sizes=sizes)
    now = time.time()
    return Workspaces(workspaces=tuple(_status(row, now) for row in found))


def _status(row: WorkspaceRecord, now: float) -> WorkspaceStatus:
    known = {one.name: getattr(row, one.name) for one in fields(row)}
    return WorkspaceStatus(**known, age=None if row.since is None else round(now - row.since, 3))


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceRequest:
    """A workspace to be made: on the new ``branch``, beginning at ``base`` (HEAD).

    ``clone``: without a remote, instead of a linked worktree; ``resume``: go on with a branch that exists. ``root`` is
    the folder for workspaces. ``approve`` says that the setup commands of ``prun.toml`` may run, ``setup`` that they
    are wanted.
    """

    name: str
    branch: str
    base: str | None = None
    clone: bool = False
    resume: bool = False
    root: str | None = None
    approve: bool = False
    setup: bool = True
    # What the seed's scripts say by variables (LINK_NODE_MODULES, LINK_ENV_FILE, PRISMA_GENERATE).
    environment: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Made:
    """A workspace that was made, and the exit code of what makes it ready (0: it is)."""

    workspace: NewWorkspace
    code: int


def make(
    opened: Opened, asked: WorkspaceRequest, stop: Stop | None = None, line: Callable[[str], None] = hear_no_line
) -> Made:
    """Make a workspace and make it ready; ``line`` hears what is done. Raises PrunError before anything was made."""
    from gitprun.ledger.roster import parse_name
    from gitprun.registry.inventory import count_own
    from gitprun.registry.make import WorkspaceSpec, make_user_workspace

    settings = settings_of(opened)
    copy, link = provisions(opened, settings, asked.environment)
    spec = WorkspaceSpec(
        name=parse_name(asked.name),
        branch=asked.branch,
        base=asked.base,
        kind="clone" if asked.clone else "worktree",
        root=workspace_root(opened, asked.root, settings),
        resume=asked.resume,
        copy=copy,
        link=link,
    )
    made = make_user_workspace(opened.repository, opened.ledger, spec)
    path, commit = made.path, short(made.base or "")
    start = f"{asked.base} ({commit})" if asked.base else commit
    line(f"[setup] {made.workspace} {path} on branch {asked.branch} from {start}")
    own = count_own(opened.repository, made, made.base or "") if asked.resume else 0
    if own:
        line(f"[setup] the branch {asked.branch} has {own} commit{'s' if own > 1 else ''} of its own")
    notes = tuple(map(str, made.notes))
    for text in notes:
        opened.warn(text)
    warn_unseen_by(opened, f"the workspace {asked.name}", provided={*copy, *link}, own=("prun.toml",))
    _warn_hooks(opened, asked.name, Path(path))
    state, code = _set_up(opened, made, settings, asked, stop or Stop())
    if code == 0:
        line(f"[setup] ready: {path} (branch {asked.branch})")
        line(f'[setup] next: git prun exec {asked.name} <slug> "<prompt>"')
    provided = tuple(map(str, made.provided or ()))
    said = {"path": path, "branch": str(made.branch), "base": str(made.base), "workspace": made.workspace}
    return Made(NewWorkspace(name=asked.name, **said, provided=provided, notes=notes, setup=state), code)


def _warn_hooks(opened: Opened, name: str, path: Path) -> None:
    """Warn that commits made by hand in the workspace run no hook, where a relative core.hooksPath leads to none."""
    from gitprun.landing.hooks import find_hooks
    from gitprun.landing.settings import hooks_folder, read_merge_settings
    from gitprun.runs.user_commit import COMMIT_HOOKS, main_checkout

    repository = opened.repository
    settings, common = read_merge_settings(repository.git), repository.common
    active = find_hooks(hooks_folder(settings, common, main_checkout(repository)), COMMIT_HOOKS).names
    if settings.hooks and active and not hooks_folder(settings, common, path).is_dir():
        opened.warn(
            f"hooks not active in {name}: core.hooksPath={settings.hooks} is not there ({', '.join(active)});"
            " git prun exec commits through those of your checkout"
        )


def provisions(
    opened: Opened, settings: Settings, environment: Mapping[str, str]
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Choose what is copied and linked: what is configured, else what the seed took along, if it is there."""
    top = opened.repository.top
    copy, link = settings.copy, settings.link
    if link is None:
        wanted = environment.get("LINK_NODE_MODULES", "1") == "1" and "node_modules" not in (copy or ())
        link = ("node_modules",) if wanted and top and (top / "node_modules").is_dir() else ()
    if copy is None:
        name = environment.get("LINK_ENV_FILE", ".env.local")
        there = name and top and (top / name).is_file() and name not in link
        copy = (name,) if there and not _is_tracked(opened, name) else ()
    return copy, link


def _is_tracked(opened: Opened, name: str) -> bool:
    """Check whether a path is the repository's own; one outside of the checkout is nothing to copy either."""
    answer = opened.repository.git.run("ls-files", "-z", "--", f":(literal){name}", ok=(0, 128))
    return answer.code != 0 or bool(answer.out)


def _set_up(
    opened: Opened, made: UnitState, settings: Settings, asked: WorkspaceRequest, stop: Stop
) -> tuple[str, int]:
    """Run the setup commands if they may run; return how that went, and the exit code."""
    from gitprun.registry.make import setup_user_workspace

    own, commands = _setup_commands(settings, asked.environment)
    powers = [power for power in settings.powers if power.name == "setup"] if commands else []
    if (not own and not commands) or made.setup == "done" or not asked.setup:
        return made.setup or "none", 0
    if approve(opened, powers, yes=asked.approve):
        opened.ledger.append(WorkspaceSetup(setup="not run"), run=made.run, unit=made.id)
        opened.news(f"setup not run: {'; '.join(commands)}")
        opened.hint("it comes from prun.toml; read it, then say --yes to let it run, now and from now on")
        again = f"git prun new {made.id} {asked.branch} --resume --yes"
        opened.hint(f"the workspace is there; {again} makes it ready")
        return "not run", 1
    try:
        work = setup_user_workspace(opened.repository, opened.ledger, made, (*commands, *own), stop=stop)
    except PrunError as problem:
        if stop.is_set():
            return "failed", 1
        raise OperationRefused(problem.message, problem.hint) from None
    if work:
        opened.news(f"setup made {listed(work, 1)}: no work, unless somebody changes it there")
    opened.news(f"setup done: {'; '.join((*commands, *own))}")
    return "done", 0


def _setup_commands(settings: Settings, environment: Mapping[str, str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the commands the user asks for in the environment, and those of ``prun.toml``."""
    said = environment.get("PRISMA_GENERATE", "")
    commands = settings.setup or ()
    if said == "0":
        return (), tuple(command for command in commands if command != PRISMA)
    return ((PRISMA,) if said == "1" and PRISMA not in commands else ()), commands


def lock(opened: Opened, name: str, reason: str = "") -> str:
    """Lock a workspace against removing, moving and resetting; return its folder."""
    from gitprun.registry.lock import lock_workspace

    _, _, unit = find_place(opened, name)
    lock_workspace(opened.repository, opened.ledger, unit, reason)
    return unit.path


def unlock(opened: Opened, name: str) -> str:
    """Unlock a workspace; return its folder."""
    from gitprun.registry.lock import unlock_workspace

    _, _, unit = find_place(opened, name)
    unlock_workspace(opened.repository, opened.ledger, unit)
    return unit.path


def move(opened: Opened, name: str, path: str) -> Path:
    """Move a workspace to a path that does not exist, on the same file system; return where it is now."""
    from gitprun.registry.find import held, workspaces_of
    from gitprun.registry.move import move_workspace
    from gitprun.registry.reset import recover_workspace

    reading, run, unit = find_place(opened, name)
    others = [other.path for _, other in workspaces_of(reading)]
    target = Path(os.path.abspath(opened.start / path))
    with held(opened.repository, run, unit):
        if unit.run == NAMED:
            unit = recover_workspace(opened.repository, opened.ledger, unit)
        return move_workspace(opened.repository, opened.ledger, unit, target, others=others)


def adopt(
    opened: Opened, path: str, *, name: str | None = None, branch: str | None = None
) -> AdoptedWorkspace | MovedWorkspace:
    """Take a folder in as a workspace of the user's own; what is in it is captured and pinned first.

    One that was moved by hand is known again.
    """
    from gitprun.git.command import require_git
    from gitprun.registry.adopt import adopt as take_in
    from gitprun.registry.find import name_of
    from gitprun.registry.inventory import count_own
    from gitprun.registry.move import follow_moved

    require_git(opened.start)
    target = Path(os.path.abspath(opened.start / path))
    moved = follow_moved(opened.repository, opened.ledger, target)
    if moved is not None:
        opened.news(f"{name_of(moved)} was moved to {moved.path}, which is written down now")
        return MovedWorkspace(name=moved.id, path=moved.path)
    adopted = take_in(opened.repository, opened.ledger, target, name=name, branch=branch)
    unit = adopted.unit
    facts = {"path": unit.path, "branch": str(unit.branch), "base": str(unit.base), "workspace": unit.workspace}
    return AdoptedWorkspace(
        name=adopted.unit.id,
        **facts,
        saved=adopted.saved,
        kept=adopted.kept,
        notes=adopted.notes,
        own=count_own(opened.repository, adopted.unit, facts["base"]) or 0,
    )


def reset(
    opened: Opened,
    name: str,
    revision: str = "HEAD",
    *,
    discard_left_out: bool = False,
    environment: Mapping[str, str] | None = None,
) -> ResetWorkspace:
    """Fill a workspace of the user's own anew from a commit, its branch with it; what it held is pinned first."""
    from gitprun.git.command import require_git
    from gitprun.registry.reset import reset_user_workspace
    from gitprun.workspaces.base import Provision

    require_git(opened.start)
    _, run, unit = find_place(opened, name)
    if run.id != NAMED:
        raise OperationRefused(
            f"{unit.run}/{unit.id} is a unit of a run, and the workspace of a unit is never used again",
            f"git prun run --resume {unit.run} makes what is missing anew; git prun new makes a workspace of your own",
        )
    copy, link = provisions(opened, settings_of(opened), environment or {})
    done = reset_user_workspace(
        opened.repository,
        opened.ledger,
        unit,
        revision,
        discard_left_out=discard_left_out,
        provision=Provision(copy=copy, link=link),
    )
    return ResetWorkspace(name=unit.id, **{one.name: getattr(done, one.name) for one in fields(done)})


def remove(opened: Opened, names: Sequence[str], *, discard_left_out: bool = False) -> RemovedWorkspaces:
    """Remove workspaces by name; their commits stay pinned. What is left alone is in the value with the reason."""
    from gitprun.registry.find import find_workspace

    find_moved(opened)
    reading = opened.read()
    named = roster(reading.events)
    found = [find_workspace(reading.history, named, name) for name in names]
    return _remove(opened, found, discard=discard_left_out)


def clean(
    opened: Opened, run_name: str | None = None, *, every: bool = False, discard_left_out: bool = False
) -> RemovedWorkspaces:
    """Remove the workspaces of all units of a run (the last one) whose work is over, or of ``every`` run."""
    from gitprun.ledger.lookup import find_run
    from gitprun.registry.remove import removable

    find_moved(opened)
    history = opened.history()
    every = every or not history.runs
    runs: Collection[RunState] = history.runs.values() if every and run_name is None else [find_run(history, run_name)]
    return _remove(opened, [(run, unit) for run in runs for unit in removable(run)], discard=discard_left_out)


def _remove(opened: Opened, units: Iterable[tuple[RunState, UnitState]], *, discard: bool) -> RemovedWorkspaces:
    rows = []
    for run, unit in units:
        try:
            done = _take_away(opened, run, unit, discard=discard)
        except (PrunError, OSError) as problem:
            reason, advice = (problem.message, problem.hint) if isinstance(problem, PrunError) else (str(problem), "")
            rows.append(
                RemovedWorkspace(run=unit.run, unit=unit.id, removed=False, reason=reason, hint=advice, failed=True)
            )
            continue
        known = {one.name: getattr(done, one.name) for one in fields(done)}
        # Of one that was never captured nothing is pinned: there is nothing rescue could bring back.
        pinned = done.removed and bool(done.saved or (unit.commit and run.id != NAMED))
        rows.append(RemovedWorkspace(**known, pinned=pinned))
    return RemovedWorkspaces(workspaces=tuple(rows))


def _take_away(opened: Opened, run: RunState, unit: UnitState, *, discard: bool) -> Removal:
    from gitprun.registry.remove import remove_workspace
    from gitprun.registry.remove_user_workspace import remove_user_workspace

    if run.id == NAMED:
        return remove_user_workspace(opened.repository, opened.ledger, unit, discard_left_out=discard)
    return remove_workspace(opened.repository, opened.ledger, run, unit, discard_left_out=discard)

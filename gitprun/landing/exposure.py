"""What touches the trust surface where nothing lands: an undo, and units that are shown."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.refs import open_repository
from gitprun.git.repo import Repository, read_checkouts
from gitprun.git.trees import Objects, TreeChange, tree_of
from gitprun.git.walk import Trees
from gitprun.landing.guard import Target
from gitprun.landing.hook_list import AFTER_UNDO, Hooks, describe_not_run
from gitprun.landing.installed import places_of, read_live
from gitprun.landing.settings import MergeSettings, read_merge_settings
from gitprun.landing.surface import HookWay, Touch
from gitprun.landing.touched import find_touches, touch_hooks
from gitprun.ledger.events import RunState, UnitState, base_of
from gitprun.model.errors import PrunError
from gitprun.model.names import Oid
from gitprun.model.units import join_few

# The folder of hooks is that of the user's checkout; what they call by name is looked for where they run.
_IN_PLACE: tuple[HookWay, ...] = ("called",)


def find_silenced(
    repository: Repository, target: Target, git: Git, settings: MergeSettings, changes: Sequence[TreeChange], new: Oid
) -> str:
    """Return a note where changes are to what git's hooks run from or call; empty where they are not."""
    if target.checkout is None:
        return ""
    repo = open_repository(target.git_dir or repository.common)
    tops = (target.checkout, repository.top, *(one.path for one in read_checkouts(git) if not one.bare))
    places = places_of(repository.common, settings, git.cwd, tops)
    trees = Trees(repo)
    changed = touch_hooks(trees, changes, read_live(trees, tree_of(repo, target.tip), places, settings))
    return describe_not_run(places.hooks, changed, target, new, AFTER_UNDO) if changed else ""


def withhold_changed(
    repository: Repository, repo: Objects, hooks: Hooks, settings: MergeSettings, top: Path, trees: tuple[Oid, Oid]
) -> Hooks:
    """Return the hooks of the checkout ``top`` that may run in a workspace: none, where its worker changed what they
    call there. ``trees`` are the one it began with and the one it has now.
    """
    if not hooks.names:
        return hooks
    objects = Trees(repo)
    places = places_of(repository.common, settings, top, (top,))
    live = read_live(objects, trees[0], places, settings)
    changed = touch_hooks(objects, objects.compare(*trees), live, _IN_PLACE)
    if not changed:
        return hooks
    note = (
        f"not run, because {join_few(changed)} changed: {', '.join(hooks.names)}; read it, then commit there yourself"
    )
    return Hooks(hooks.folder, (), (*hooks.notes, note))


def read_unit_touches(
    repository: Repository, run: RunState, units: Sequence[UnitState], protected: Sequence[str]
) -> dict[str, tuple[Touch, ...]]:
    """Return what the captured work of units changes of the surface as it is here now, by unit; nothing is written.

    Work whose objects are gone changes nothing any more.
    """
    with_work = [unit for unit in units if unit.commit is not None]
    if not with_work:
        return {}
    git, trees = repository.git, Trees(open_repository(repository.common))
    settings = read_merge_settings(git)
    places = places_of(repository.common, settings, git.cwd, (repository.top,))
    found: dict[str, tuple[Touch, ...]] = {}
    live = None
    for unit in with_work:
        try:
            old, new = (tree_of(trees.repo, str(commit)) for commit in (base_of(run, unit), unit.commit))
            live = live or read_live(trees, old, places, settings, protected)
            found[unit.id] = find_touches(trees, trees.compare(old, new), live)
        except (KeyError, ValueError, PrunError):
            continue
    return found

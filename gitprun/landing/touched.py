"""What a merge, an undo or a unit changes of the trust surface: held until accepted by name, and written down."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.refs import open_repository
from gitprun.git.repo import Repository, read_checkouts
from gitprun.git.trees import REGULAR, Objects, TreeChange, read_blob, tree_of
from gitprun.git.walk import Trees
from gitprun.landing.called import led_anew
from gitprun.landing.context import LandingContext
from gitprun.landing.guard import Target
from gitprun.landing.hooks import AFTER_UNDO, Hooks, describe_not_run
from gitprun.landing.installed import places_of, read_live
from gitprun.landing.own_check import covers, literal
from gitprun.landing.plan import Candidate, LandingOptions
from gitprun.landing.settings import MergeSettings, read_merge_settings
from gitprun.landing.surface import (
    ATTRIBUTES,
    MODULES,
    PACKAGE,
    PACKAGE_KEYS,
    SETTINGS,
    Altered,
    HookWay,
    Live,
    Touch,
    describe,
    grade,
)
from gitprun.ledger.events import RunState, UnitState, base_of
from gitprun.ledger.rows import AcceptedRow
from gitprun.model.errors import PlanError, PrunError
from gitprun.model.lists import join_few
from gitprun.model.names import Oid
from gitprun.model.powers import changed_powers
from gitprun.system.config import CONFIG_NAME, parse_toml
from gitprun.workspaces.trust import record_trust, untrusted


def find_touches(trees: Trees, changes: Iterable[TreeChange], live: Live) -> tuple[Touch, ...]:
    """Return what changes touch of the surface, in their order."""
    return tuple(touch for change in changes if (touch := _touch(trees, change, live)) is not None)


def unaccepted(touches: Iterable[Touch], options: LandingOptions, candidate: Candidate | None) -> tuple[Touch, ...]:
    """Return those that nobody has accepted, of those that have to be."""
    return tuple(one for one in touches if one.grade == "held" and not accepted_by(one.path, options, candidate))


def accepted_by(path: str, options: LandingOptions, candidate: Candidate | None) -> str:
    """Return who accepts that a candidate changes a path: the user, or the plan that names it; empty if nobody."""
    if covers(options.accept, path):
        return "--accept"
    return "paths" if candidate is not None and path in literal(candidate.fence) else ""


def rows_of(site: LandingContext, candidate: Candidate, step: Sequence[TreeChange]) -> tuple[AcceptedRow, ...]:
    """Return a row for each blob of the surface that a merge changes, and who accepted it."""
    by_path = {_path(change): change for change in step}
    rows = []
    for touch in find_touches(site.trees, step, site.live()):
        change = by_path[touch.path]
        rows.append(
            AcceptedRow(
                path=touch.path,
                what=touch.what,
                grade=touch.grade,
                old=change.old,
                new=change.new,
                accepted=accepted_by(touch.path, site.options, candidate),
            )
        )
    return tuple(rows)


def describe_named(trees: Trees, changes: Iterable[TreeChange], live: Live) -> str:
    """Return in one line what changes touch that is no reason to hold them; empty where nothing is."""
    return describe([touch for touch in find_touches(trees, changes, live) if touch.grade == "named"])


def touch_hooks(
    trees: Trees, changes: Iterable[TreeChange], live: Live, ways: Collection[HookWay] = ("folder", "called")
) -> tuple[str, ...]:
    """Return the changed paths that git's hooks would run from or call: then none of them is run."""
    return tuple(touch.path for touch in find_touches(trees, changes, live) if touch.hook in ways)


def _path(change: TreeChange) -> str:
    return change.path.decode("utf-8", "surrogateescape")


def _touch(trees: Trees, change: TreeChange, live: Live) -> Touch | None:
    path = _path(change)
    found = grade(Altered(path, change.old_mode, change.new_mode, change.old, change.new), live)
    if found is not None and found.grade == "held":
        return found
    # Only for what the name alone does not hold: reading the texts costs more.
    what = next(_read(trees, change, path.casefold() if live.ignore_case else path, live), "")
    if what:
        return Touch(path, what, "held", "called" if path.endswith(PACKAGE) else "")
    return found


def _read(trees: Trees, change: TreeChange, path: str, live: Live) -> Iterator[str]:
    """Return what the texts of a file that starts programs say differently now."""
    name = path.rpartition("/")[2]
    if name == ATTRIBUTES or path in live.attributes:
        old, new = (_text(body) for body in _versions(trees, change))
        led = led_anew(old, new, live.drivers, live.macros)
        if led:
            yield f"leads files through your {', '.join(led)}"
    elif path == MODULES:
        from gitprun.capture.modules import followed_settings

        # The git folder itself: no setting of a checkout is asked for what is read from a pipe.
        git = Git(cwd=Path(trees.repo.path), neutral=True)
        said = followed_settings(git, *_versions(trees, change))
        if said:
            yield join_few(said)
    elif path == PACKAGE and live.runners & {*PACKAGE_KEYS}:
        yield from (
            f"{key}, which a hook here calls" for key in _changed_keys(*_versions(trees, change)) & live.runners
        )
    elif path == SETTINGS:
        yield from _powers(*_versions(trees, change), leads=change.new_mode not in (*REGULAR, "000000"))


def _changed_keys(old: bytes, new: bytes) -> set[str]:
    """Return which settings of hook runners two descriptions of a package say differently."""
    import json

    parsed = []
    for body in (old, new):
        try:
            said = json.loads(body or b"{}")
        # A manifest that no runner can read starts nothing.
        except (ValueError, RecursionError):
            said = {}
        parsed.append(said if isinstance(said, dict) else {})
    return {key for key in PACKAGE_KEYS if parsed[0].get(key) != parsed[1].get(key)}


def _powers(old: bytes, new: bytes, *, leads: bool) -> Iterator[str]:
    from gitprun.model.powers import changed_powers
    from gitprun.system.config import parse_toml

    parsed: list[Mapping[str, object]] = []
    for body in (old, new):
        try:
            parsed.append(parse_toml(body))
        except PrunError:
            parsed.append({})
            # What it says cannot be told, so it is shown to somebody; that the old one was broken is no news.
            if body is new:
                yield "it is no TOML any more"
    # A link in the place of prun.toml makes it say whatever lies where it leads.
    if leads:
        yield "it is no file any more"
    said = [power.key for power in changed_powers(*parsed)]
    if said:
        yield join_few(said)


def _versions(trees: Trees, change: TreeChange) -> tuple[bytes, bytes]:
    old, new = (
        read_blob(trees.repo, oid) if mode in REGULAR else b""
        for mode, oid in ((change.old_mode, change.old), (change.new_mode, change.new))
    )
    return old, new


def _text(raw: bytes) -> str:
    return raw.decode("utf-8", "surrogateescape")


def approve(repository: Repository, site: LandingContext, new: Oid) -> None:
    """Remember that the user accepted what ``new`` says in prun.toml; name what it says that nobody approved."""
    old, now = (read_document(site, tree) for tree in (site.old_tree, tree_of(site.repo, new)))
    powers = [power for power in changed_powers(old, now) if power.asked and power.value]
    if powers and covers(site.options.accept, CONFIG_NAME):
        # It has landed already; what cannot be written down is asked for later.
        with contextlib.suppress(PrunError, OSError):
            record_trust(repository, powers)
    left = untrusted(repository, powers)
    if left:
        keys = ", ".join(power.key for power in left)
        site.note(f"{CONFIG_NAME} names programs or sandboxes that you have not approved yet ({keys}): git prun trust")


def read_document(site: LandingContext, tree: Oid) -> Mapping[str, object]:
    """Return what the prun.toml of a tree says; nothing where there is none, or none that can be read."""
    found = site.trees.find(tree, CONFIG_NAME.encode())
    if found is None or found[0] not in REGULAR:
        return {}
    try:
        return parse_toml(read_blob(site.repo, found[1]))
    except PlanError:
        return {}


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
            # Once for all units: what is live is told by the checkout, which they have in common.
            live = live or read_live(trees, old, places, settings, protected)
            found[unit.id] = find_touches(trees, trees.compare(old, new), live)
        except (KeyError, ValueError, PrunError):
            continue
    return found

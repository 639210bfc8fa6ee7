"""What a merge changes of the trust surface: held until somebody accepts it by name, and written down with it."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gitprun.git.command import Git
from gitprun.git.trees import REGULAR, TreeChange, read_blob
from gitprun.git.walk import Trees
from gitprun.landing.attributes import led_anew
from gitprun.landing.own_check import covers, literal
from gitprun.landing.plan import Candidate, LandingOptions
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
from gitprun.ledger.rows import AcceptedRow
from gitprun.model.errors import PrunError
from gitprun.model.units import join_few

if TYPE_CHECKING:
    from gitprun.landing.context import LandingContext


def find_touches(trees: Trees, changes: Iterable[TreeChange], live: Live) -> tuple[Touch, ...]:
    """Return what changes touch of the surface, in their order."""
    return tuple(touch for change in changes if (touch := _touch(trees, change, live)) is not None)


def unaccepted(touches: Iterable[Touch], options: LandingOptions, candidate: Candidate | None) -> tuple[Touch, ...]:
    """Return those that nobody has accepted, of those that have to be."""
    return tuple(one for one in touches if one.grade == "held" and not accepted_by(one.path, options, candidate))


def accepted_by(path: str, options: LandingOptions, candidate: Candidate | None) -> str:
    """Say who accepts that a candidate changes a path: the user, or the plan that names it; empty if nobody."""
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
    """Say in one line what changes touch that is no reason to hold them; empty where nothing is."""
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
    what = next(_read(trees, change, path.casefold() if live.ignore_case else path, live), "")
    if what:
        return Touch(path, what, "held", "called" if path.endswith(PACKAGE) else "")
    return found


def _read(trees: Trees, change: TreeChange, path: str, live: Live) -> Iterator[str]:
    """Say what the texts of a file that starts programs say differently now."""
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
        except (ValueError, RecursionError):
            said = {}
        parsed.append(said if isinstance(said, dict) else {})
    return {key for key in PACKAGE_KEYS if parsed[0].get(key) != parsed[1].get(key)}


def _powers(old: bytes, new: bytes, *, leads: bool) -> Iterator[str]:
    from gitprun.model.powers import changed_powers
    from gitprun.system.config import parse_toml

    parsed: list[Mapping[str, Any]] = []
    for body in (old, new):
        try:
            parsed.append(parse_toml(body))
        except PrunError:
            parsed.append({})
            if body is new:
                yield "it is no TOML any more"
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

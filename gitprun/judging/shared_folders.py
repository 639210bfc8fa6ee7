"""Where two sides meet although they changed different files: folders of migrations and of other numbered files,
manifests beside their locks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

from gitprun.git.trees import TreeChange

# By name; ``resolvers.manifests`` knows what is in them, and is loaded only where one is met.
LOCKED: Final = frozenset(
    {
        *("package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock"),
        *("Cargo.toml", "Cargo.lock", "pyproject.toml", "uv.lock", "poetry.lock"),
    }
)
# Django and Rails say migrations or migrate, Alembic versions, Flyway its own name.
_MIGRATIONS = re.compile(rb"migrat|^versions$|^flyway$", re.IGNORECASE)
# Of an added file; whether its folder numbers its files is asked only where both sides added one of one number.
_NUMBERED = re.compile(rb"(?:[A-Za-z]+[-_])?(\d{2,6})[-_ .]")


def lock_folders(paths: Iterable[bytes]) -> set[str]:
    """Return the folders, each with a slash at its end, in which a manifest or a lock is among the paths."""
    parted = (path.decode("utf-8", "surrogateescape").rpartition("/") for path in paths)
    return {folder + slash for folder, slash, name in parted if name in LOCKED}


def new_migrations(changes: Iterable[TreeChange]) -> dict[bytes, bytes]:
    """Return the added paths that lie below a folder of migrations, each with that folder."""
    found: dict[bytes, bytes] = {}
    for change in changes:
        parts = change.path.split(b"/")
        # The innermost such folder counts: an app's own migrations may lie below another folder of that name.
        for number in range(len(parts) - 1, 0, -1):
            if change.added and _MIGRATIONS.search(parts[number - 1]):
                found[change.path] = b"/".join(parts[:number])
                break
    return found


def new_records(changes: Iterable[TreeChange]) -> dict[bytes, tuple[bytes, bytes]]:
    """Return the added paths that may be numbered records, each with its folder and its number."""
    found: dict[bytes, tuple[bytes, bytes]] = {}
    for change in changes:
        folder, _, name = change.path.rpartition(b"/")
        number = _NUMBERED.match(name) if change.added else None
        if number is not None:
            found[change.path] = (folder, number[1])
    return found


def meeting_places(changes: Mapping[bytes, TreeChange]) -> frozenset[bytes]:
    """Return names of what changes can meet others at beside their own paths; no path of a tree is spelt so."""
    folders = new_migrations(changes.values()).values()
    locked = (folder.encode("utf-8", "surrogateescape") for folder in lock_folders(changes))
    records = {folder + b"\0" + number for folder, number in new_records(changes.values()).values()}
    # A slash at the end or a NUL: no path in a tree has either, so no file can be meant by accident.
    return frozenset(records | {folder + b"/" for folder in folders} | {folder + b"\0lock" for folder in locked})


def may_clash(by_main: Mapping[bytes, TreeChange], by_unit: Mapping[bytes, TreeChange]) -> bool:
    """Check whether a merge that git makes without a conflict can be wrong in a way that neither side is.

    That needs a file that both changed (what one renamed and the other edited is one, by its old path), or files that
    depend on each other.
    """
    if not by_main.keys().isdisjoint(by_unit):
        return True
    # Mostly the unit's side is the smaller one, and has none.
    places = meeting_places(by_unit)
    return bool(places) and not places.isdisjoint(meeting_places(by_main))

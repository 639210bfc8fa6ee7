"""Where two sides meet although they changed different files: folders of migrations, manifests beside their locks."""

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


def meeting_places(changes: Mapping[bytes, TreeChange]) -> frozenset[bytes]:
    """Return names of what changes can meet others at beside their own paths; no path of a tree is spelt so."""
    folders = new_migrations(changes.values()).values()
    locked = (folder.encode("utf-8", "surrogateescape") for folder in lock_folders(changes))
    # A slash at the end or a NUL: no path in a tree has either, so no file can be meant by accident.
    return frozenset({folder + b"/" for folder in folders} | {folder + b"\0lock" for folder in locked})


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

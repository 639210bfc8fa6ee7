"""Which folders of a merge hold a manifest or a lock file that changed; what is in them is looked at elsewhere."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

# By name; ``resolvers.manifests`` knows them, and is loaded only where one is met.
LOCKED: Final = frozenset(
    {
        *("package.json", "package-lock.json", "npm-shrinkwrap.json", "yarn.lock"),
        *("Cargo.toml", "Cargo.lock", "pyproject.toml", "uv.lock", "poetry.lock"),
    }
)


def lock_folders(paths: Iterable[bytes]) -> set[str]:
    """Give the folders, each with a slash at its end, in which a manifest or a lock is among the paths."""
    parted = (path.decode("utf-8", "surrogateescape").rpartition("/") for path in paths)
    return {folder + slash for folder, slash, name in parted if name in LOCKED}


def meet_in_locks(by_main: Iterable[bytes], by_unit: Iterable[bytes]) -> bool:
    """Tell whether both sides changed manifests or locks of one folder."""
    folders = lock_folders(by_unit)
    return bool(folders) and not folders.isdisjoint(lock_folders(by_main))

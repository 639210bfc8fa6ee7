"""Which new files are no part of the work: rules over names, sizes and link targets, nothing is read here."""

from __future__ import annotations

import posixpath
import re
from dataclasses import dataclass

# Folders that tools fill by themselves; even where a base's ignore rules do not name them they are no work.
BUILD_FOLDERS = frozenset(
    {
        "node_modules",
        "__pycache__",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".hypothesis",
        ".tox",
        ".nox",
        ".venv",
        ".gradle",
        ".next",
        ".turbo",
        ".parcel-cache",
    }
)

_SECRET = re.compile(
    r"""(?ix)
    \.env(?:\.(?!example$|sample$|template$|dist$|defaults$|test$)[\w-]+)*
    | id_(?:rsa|dsa|ecdsa|ed25519) | .*\.(?:pem|p12|pfx|keystore|jks|ppk) | .*(?<!pub)\.key
    | \.netrc | \.npmrc | \.pypirc | \.git-credentials | credentials(?:\.json)? | service-account.*\.json | auth\.json
    | \.htpasswd | kubeconfig
    """
)


@dataclass(frozen=True, slots=True)
class Found:
    """A new or changed path as lstat saw it: ``link`` is the target of a symbolic link, ``size`` in bytes."""

    path: str
    size: int = 0
    link: str | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A path that is not part of the captured work, and why; it stays in the workspace."""

    path: str
    reason: str
    size: int = 0


def within(path: str, folders: frozenset[str] | tuple[str, ...]) -> bool:
    """Tell whether a path is one of the folders or lies below one."""
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def screen_new(found: Found, max_file: int) -> LeftOut | None:
    """Judge an untracked path: None means that it belongs to the work."""
    parts = found.path.split("/")
    folder = next((part for part in parts[:-1] if part in BUILD_FOLDERS), None)
    if folder is not None:
        return LeftOut(
            found.path[: found.path.index(folder) + len(folder)] + "/", f"build output ({folder})", found.size
        )
    if found.link is not None:
        return screen_link(found)
    if _SECRET.fullmatch(parts[-1]):
        return LeftOut(found.path, "looks like a secret by its name", found.size)
    return screen_size(found, max_file)


def screen_link(found: Found) -> LeftOut | None:
    """Judge a symbolic link: one that leaves the workspace is one machine's business."""
    target = found.link or ""
    inside = posixpath.normpath(posixpath.join(posixpath.dirname(found.path), target))
    if target.startswith("/") or inside == ".." or inside.startswith("../"):
        return LeftOut(found.path, f"a link that leaves the workspace (to {target})")
    if inside == ".git" or inside.startswith(".git/"):
        return LeftOut(found.path, "a link into .git")
    return None


def screen_size(found: Found, max_file: int) -> LeftOut | None:
    """Judge a file by its size."""
    if found.size > max_file:
        return LeftOut(found.path, f"larger than {max_file} bytes ([collect] max_file)", found.size)
    return None


def gather_left_out(rows: list[LeftOut]) -> tuple[LeftOut, ...]:
    """Join rows for one folder into one, with their sizes added up, in order of path."""
    joined: dict[tuple[str, str], int] = {}
    for row in rows:
        joined[row.path, row.reason] = joined.get((row.path, row.reason), 0) + row.size
    return tuple(LeftOut(path, reason, size) for (path, reason), size in sorted(joined.items()))

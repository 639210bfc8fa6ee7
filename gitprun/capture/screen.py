"""Which new files are no part of the work: rules over names, sizes and link targets, nothing is read here."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable
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

# Where tools keep their stores when a worker takes the workspace for its home folder.
STORES = (
    ".cache",
    ".local/share",
    ".local/state",
    ".npm",
    ".pnpm-store",
    ".rustup",
    ".cargo/registry",
    ".cargo/git",
    ".m2/repository",
    "go/pkg/mod",
)
# Folders of build products: no work where the worker itself wrote a rule that hides them.
PRODUCTS = BUILD_FOLDERS | {"build", "coverage", "dist", "out", "target"}
# How a compiled program begins: ELF, Mach-O, Java.
_PROGRAM = (b"\x7fELF", b"\xcf\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_KEY = re.compile(rb"\s*-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY-----")
# Why a folder with a submodule in it is left out.
SUBMODULE = "inside a submodule: not captured"
# How a reason begins that is about the index alone.
STAGED = "only staged: "
# How much of a file is looked at.
# A program is told by its first bytes, a key by its first line.
HEAD = 128
_REFUSED_BY_GIT = re.compile(r"(?i)(?:\.git|git~1)[ .]*(?::.*)?")

# ``.env.example`` and its like are made to be committed.
_SECRET = re.compile(
    r"""(?ix)
    \.env(?:\.(?!example$|sample$|template$|dist$|defaults$|test$)[\w-]+)*
    | (?:.*[_-])?id_(?:rsa|dsa|ecdsa|ed25519) | .*\.(?:pem|p12|pfx|keystore|jks|ppk) | .*(?<!pub)\.key
    | \.netrc | \.npmrc | \.pypirc | \.git-credentials | credentials(?:\.json)? | service-account.*\.json | auth\.json
    | \.htpasswd | kubeconfig
    """
)


@dataclass(frozen=True, slots=True)
class NewPath:
    """A new path as lstat saw it.

    ``size`` in bytes, ``link`` the target of a symbolic link, ``head`` the first HEAD bytes of a file.
    """

    path: str
    size: int = 0
    link: str | None = None
    head: bytes = b""
    executable: bool = False


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A path that is not part of the captured work, and why; it stays in the workspace."""

    path: str
    reason: str
    size: int = 0


def within(path: str, folders: frozenset[str] | tuple[str, ...]) -> bool:
    """Check whether a path is one of the folders or lies below one."""
    return any(path == folder or path.startswith(f"{folder}/") for folder in folders)


def build_folder(path: str) -> str | None:
    """Return the outermost folder on the way to a path that tools fill by themselves."""
    parts = path.split("/")
    for number, part in enumerate(parts[:-1], 1):
        if part in BUILD_FOLDERS:
            return "/".join(parts[:number])
    return next((store for store in STORES if path.startswith(f"{store}/")), None)


def screen_new(found: NewPath, max_file: int, tracked: Callable[[str], bool] = lambda folder: False) -> LeftOut | None:
    """Judge an untracked path: None means that it belongs to the work.

    ``tracked`` tells whether the base holds a folder, which then is no build output whatever its name.
    """
    parts = found.path.split("/")
    folder = build_folder(found.path)
    if folder is not None and not tracked(folder):
        return LeftOut(f"{folder}/", f"build output ({folder.rpartition('/')[2]})", found.size)
    refused = refused_by_git(found)
    # A link has no content of its own to be judged.
    if refused is not None or found.link is not None:
        return refused
    if _SECRET.fullmatch(parts[-1]):
        return LeftOut(found.path, "looks like a secret by its name", found.size)
    if _KEY.match(found.head):
        return LeftOut(found.path, "a private key", found.size)
    if found.executable and is_program(found.head):
        return LeftOut(found.path, "build output (a compiled program)", found.size)
    return screen_size(found, max_file)


def is_program(head: bytes) -> bool:
    """Check whether a file begins like a compiled program."""
    return head.startswith(_PROGRAM)


def refused_by_git(found: NewPath) -> LeftOut | None:
    """Judge what nobody can ask for: names git does not take, and links that lead elsewhere."""
    if any(_REFUSED_BY_GIT.fullmatch(part) for part in found.path.split("/")):
        return LeftOut(found.path, "a name that git refuses", found.size)
    return None if found.link is None else screen_link(found)


def screen_link(found: NewPath) -> LeftOut | None:
    """Judge a symbolic link: one that leaves the workspace is one machine's business."""
    target = found.link or ""
    inside = posixpath.normpath(posixpath.join(posixpath.dirname(found.path), target))
    if target.startswith("/") or inside == ".." or inside.startswith("../"):
        return LeftOut(found.path, f"a link that leaves the workspace (to {target})")
    if inside == ".git" or inside.startswith(".git/"):
        return LeftOut(found.path, "a link into .git")
    if posixpath.basename(found.path).lower() == ".gitmodules":
        return LeftOut(found.path, "a name that git refuses for a link")
    return None


def screen_size(found: NewPath, max_file: int) -> LeftOut | None:
    """Judge a file by its size."""
    if found.size > max_file:
        return LeftOut(found.path, f"larger than {max_file} bytes ([collect] max_file)", found.size)
    return None


def goes_along(row: LeftOut) -> bool:
    """Check whether what was left out is no reason to keep a workspace: tools make it again, or for themselves."""
    return row.reason.removeprefix(STAGED).startswith(("build output", "one person's own"))


def gather_left_out(rows: list[LeftOut]) -> tuple[LeftOut, ...]:
    """Join rows for one folder into one, with their sizes added up, in order of path."""
    joined: dict[tuple[str, str], int] = {}
    for row in rows:
        joined[row.path, row.reason] = joined.get((row.path, row.reason), 0) + row.size
    return tuple(LeftOut(path, reason, size) for (path, reason), size in sorted(joined.items()))

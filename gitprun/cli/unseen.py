"""What of the user's checkout a worker will not see: said before it begins, above all what its prompt speaks of."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from gitprun.cli.console import safe, warn
from gitprun.git.command import Git
from gitprun.git.index import is_verbatim
from gitprun.model.prompts import named_paths

SHOWN = 3
# So many paths of one prompt are looked at.
MOST = 100


@dataclass(frozen=True, slots=True)
class Unseen:
    """Paths of a checkout that are in no commit, and those git ignores (a folder ends with a slash)."""

    changed: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


def read_unseen(git: Git, top: Path) -> Unseen:
    """Look what is uncommitted; files that only git takes for changed (their line ends) are not."""
    words = ("--porcelain=v2", "-z", "--untracked-files=all", "--ignored=matching", "--no-renames")
    changed: list[str] = []
    ignored: list[str] = []
    for row in git.run("status", *words).fields:
        kind, _, rest = row.partition(b" ")
        if kind == b"1":
            states, *_, recorded, name = rest.split(b" ", 7)
            if states != b".M" or not is_verbatim(top / os.fsdecode(name), recorded.decode()):
                changed.append(os.fsdecode(name))
        elif kind == b"u":
            changed.append(os.fsdecode(rest.split(b" ", 9)[9]))
        elif kind in (b"?", b"!"):
            (changed if kind == b"?" else ignored).append(os.fsdecode(rest))
    return Unseen(tuple(changed), tuple(ignored))


def warn_unseen(unseen: Unseen, whom: str, *, provided: Collection[str] = (), own: Collection[str] = ()) -> None:
    """Say what will not be there; ``own`` are plans and the like, ``provided`` what is copied or linked."""
    changed = [name for name in unseen.changed if name not in own and not _is_below(name, provided)]
    ignored = [name for name in unseen.ignored if name.rstrip("/") not in provided and name not in own]
    if changed:
        also = f", nor what git ignores ({_some(ignored)})" if ignored else ""
        count = f"{len(changed)} uncommitted change{'s' if len(changed) != 1 else ''}"
        warn(f"{count} in your checkout ({_some(changed)}) will not be visible to {whom}{also}")


def warn_named(
    git: Git, top: Path, base: str, prompt: str, whom: str, *, missing: Collection[str], provided: Collection[str] = ()
) -> None:
    """Say which paths a prompt names that are in the checkout, but not so in the base; ``missing`` are uncommitted."""
    words = [word for word in _named(prompt, top) if not _is_below(word, provided)]
    listing = git.run("ls-tree", "-z", "--name-only", base, "--", *words).fields if words else []
    lost = [word for word in words if word in missing or os.fsencode(word) not in listing]
    if lost:
        warn(
            f"the prompt of {whom} names {_some(lost)}, which the unit will not see as it is in your checkout"
            " (commit it, or name it in [workspace] copy)"
        )


def warn_absent(top: Path, workspace: Path, prompt: str) -> None:
    """Say which paths a prompt names that are in the checkout, but not in the workspace it is meant for."""
    lost = [word for word in _named(prompt, top) if not os.path.lexists(workspace / word)]
    if lost:
        warn(f"the prompt names {_some(lost)}, which is in your checkout but not in the workspace")


def _named(prompt: str, top: Path) -> list[str]:
    return [word for word in sorted(named_paths(prompt)) if os.path.lexists(top / word)][:MOST]


def _is_below(name: str, folders: Collection[str]) -> bool:
    return any(name == folder or name.startswith(f"{folder.rstrip('/')}/") for folder in folders)


def _some(names: Collection[str]) -> str:
    shown = ", ".join(safe(name) for name in list(names)[:SHOWN])
    return f"such as {shown}" if len(names) > SHOWN else shown

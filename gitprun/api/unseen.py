"""What of the user's checkout a worker will not see: told before it begins, above all what its prompt speaks of."""

from __future__ import annotations

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from gitprun.api.opened import Opened
from gitprun.git.command import Git
from gitprun.git.index import is_verbatim
from gitprun.model.plan import Plan
from gitprun.model.prompts import named_paths
from gitprun.model.units import Unit

# So many names make one line; more of them say nothing more.
SHOWN = 3
# So many paths of one prompt are looked at: each costs a look at the disk, and a prompt may be a whole log.
MOST = 100


@dataclass(frozen=True, slots=True)
class Unseen:
    """Paths of a checkout that are in no commit, and those git ignores (a folder ends with a slash)."""

    changed: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


def read_unseen(git: Git, top: Path) -> Unseen:
    """Return what is uncommitted; files that only git takes for changed (their line ends) are not."""
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


def warn_unseen(
    opened: Opened, unseen: Unseen, whom: str, *, provided: Collection[str] = (), own: Collection[str] = ()
) -> None:
    """Warn of what will not be there; ``own`` are plans and the like, ``provided`` what is copied or linked."""
    changed = [name for name in unseen.changed if name not in own and not _is_below(name, provided)]
    ignored = [name for name in unseen.ignored if name.rstrip("/") not in provided and name not in own]
    if changed:
        also = f", nor what git ignores ({_some(ignored)})" if ignored else ""
        count = f"{len(changed)} uncommitted change{'s' if len(changed) != 1 else ''}"
        opened.warn(f"{count} in your checkout ({_some(changed)}) will not be visible to {whom}{also}")


def warn_unseen_by(opened: Opened, whom: str, *, provided: Collection[str], own: Collection[str]) -> None:
    """Look at the checkout, if there is one, and warn of what will not be there."""
    top = opened.repository.top
    if top is not None:
        warn_unseen(opened, read_unseen(opened.repository.git, top), whom, provided=provided, own=own)


def warn_units(opened: Opened, plan: Plan, base: str) -> None:
    """Warn of what of the checkout no unit will see, above all what a prompt speaks of."""
    top, git = opened.repository.top, opened.repository.git
    if top is None:
        return
    unseen = read_unseen(git, top)
    own = {os.path.relpath(os.path.realpath(opened.start / file), os.path.realpath(top)) for file in plan.files}
    provided = {*(plan.settings.copy or ()), *(plan.settings.link or ())}
    warn_unseen(opened, unseen, "the units", provided=provided, own=own)
    missing = set(unseen.changed) - own
    for unit in plan.units:
        if unit.mode == "write":
            _warn_named(opened, top, base, unit, missing=missing, provided=provided)


def _warn_named(
    opened: Opened, top: Path, base: str, unit: Unit, *, missing: Collection[str], provided: Collection[str]
) -> None:
    """Warn of paths a prompt names that are in the checkout, but not so in the base; ``missing`` are uncommitted."""
    words = [word for word in _named(unit.prompt, top) if not _is_below(word, provided)]
    git = opened.repository.git
    listing = git.run("ls-tree", "-z", "--name-only", base, "--", *words).fields if words else []
    lost = [word for word in words if word in missing or os.fsencode(word) not in listing]
    if lost:
        opened.warn(
            f"the prompt of {unit.id} names {_some(lost)}, which the unit will not see as it is in your checkout"
            " (commit it, or name it in [workspace] copy)"
        )


def warn_absent(opened: Opened, workspace: Path, prompt: str) -> None:
    """Warn of paths a prompt names that are in the checkout, but not in the workspace it is meant for."""
    top = opened.repository.top
    if top is None:
        return
    lost = [word for word in _named(prompt, top) if not os.path.lexists(workspace / word)]
    if lost:
        opened.warn(f"the prompt names {_some(lost)}, which is in your checkout but not in the workspace")


def warn_pruning(opened: Opened) -> None:
    """Warn of a fetch that would delete what pins work."""
    from gitprun.recovery.catalog import pruning_refspecs

    for remote, spec in pruning_refspecs(opened.repository.git):
        opened.warn(f"{remote} is fetched with {spec}: a fetch that prunes deletes refs/prun, which pins all work")
        opened.hint(f"git config --add remote.{remote}.fetch '^refs/prun/*' keeps it out of that")


def warn_behind(opened: Opened, plan: Plan) -> None:
    """Warn where the branch the units start from lacks what its remote branch is known to have."""
    from gitprun.git.refs import describe_behind

    git, base = opened.repository.git, plan.settings.base or "HEAD"
    ref = git.run("rev-parse", "--symbolic-full-name", "--end-of-options", base, ok=(0, 128)).text.rpartition("\n")[2]
    behind = describe_behind(git, opened.repository.common, ref) if ref.startswith("refs/heads/") else ""
    if behind:
        opened.warn(f"units start from an old state: {behind}")


def _named(prompt: str, top: Path) -> list[str]:
    return [word for word in sorted(named_paths(prompt)) if os.path.lexists(top / word)][:MOST]


def _is_below(name: str, folders: Collection[str]) -> bool:
    return any(name == folder or name.startswith(f"{folder.rstrip('/')}/") for folder in folders)


def _some(names: Collection[str]) -> str:
    shown = ", ".join(list(names)[:SHOWN])
    return f"such as {shown}" if len(names) > SHOWN else shown

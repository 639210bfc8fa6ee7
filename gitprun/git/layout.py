"""Whether git sees the checkout a repository has: where a setting hides it, refs would move and leave it behind."""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from gitprun.git.command import Git
from gitprun.git.repo import Repository
from gitprun.model.errors import OperationRefused

_HIDING = r"^core\.(bare|worktree)$"


def require_seen_checkout(repository: Repository) -> None:
    """Raise Refused where ``core.bare`` or ``core.worktree`` leads git away from the checkout around a repository."""
    common = repository.common
    if repository.git_dir == common and repository.top == common.parent:
        # What git itself finds is what lies there.
        return
    settings = _read_hiding(common)
    bare, bare_file = settings.get("core.bare", ("", ""))
    named, named_file = settings.get("core.worktree", ("", ""))
    beside = common.parent if common.name == ".git" else repository.beside
    if bare == "true" and beside is not None and _holds_checkout(common, beside):
        raise OperationRefused(
            f"core.bare is true in {bare_file}, but {beside} is a checkout: what moves here would leave it behind",
            f"git config --file {shlex.quote(bare_file)} core.bare false",
        )
    if not named:
        return
    astray = ""
    place = common / named
    if not place.is_dir():
        astray = "which is not there"
    elif beside is not None and not os.path.samefile(place, beside) and _holds_checkout(common, beside):
        astray = f"but the checkout is {beside}"
    if astray:
        raise OperationRefused(
            f"core.worktree in {named_file} names {named}, {astray}",
            f"git config --file {shlex.quote(named_file)} --unset core.worktree, or name the right folder there",
        )


def _read_hiding(common: Path) -> dict[str, tuple[str, str]]:
    """Read the value of both settings, and in which file it stands; what is read last counts."""
    # With a work tree of our own, or git would look for the one that is not there before it reads anything.
    git = Git(cwd=common, env={"GIT_DIR": str(common), "GIT_WORK_TREE": str(common)})
    fields = git.run("config", "--show-origin", "-z", "--get-regexp", _HIDING, ok=(0, 1)).fields
    found: dict[str, tuple[str, str]] = {}
    for origin, row in zip(fields[::2], fields[1::2], strict=False):
        key, given, value = os.fsdecode(row).partition("\n")
        text = value.lower() if key == "core.bare" else value
        yes = not given or text in ("yes", "on", "1")
        found[key] = "true" if key == "core.bare" and yes else text, str(common / os.fsdecode(origin[5:]))
    return found


def _holds_checkout(common: Path, folder: Path) -> bool:
    """Check whether a repository has an index, and files of it lie in a folder (or it is still empty)."""
    if not (common / "index").is_file():
        return False
    git = Git(cwd=folder, env={"GIT_DIR": str(common), "GIT_WORK_TREE": str(folder)}, neutral=True)
    tracked = git.run("ls-files", "-z").fields
    return not tracked or any(os.path.lexists(os.path.join(os.fsencode(folder), name)) for name in tracked)

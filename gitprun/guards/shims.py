"""Guards for a worker in a linked worktree, without touching a hook or a setting of the user's.

One variable in the worker's environment leads its git to a folder of ours. Each name in there is the same script: it
refuses what is not the worker's to change, and calls the hook git would have called. Where git asks no hook, a script
that stands before git in its PATH refuses. A worker that unsets the variables is not held: then it is found out
afterwards.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from gitprun.git.repo import Repository
from gitprun.guards.install import hooks_source
from gitprun.model.errors import PrunError
from gitprun.system.files import read_plain, write_whole

SCRIPT, GIT = "worktree-guard", "worktree-git"
FOLDER, PROGRAMS = "guard", "bin"
# Ours has some kilobytes; what is larger there is not ours.
MOST = 1_000_000
# All hooks of git but those whose mere presence changes what git does.
NAMES: Final = (
    *("applypatch-msg", "pre-applypatch", "post-applypatch", "pre-commit", "pre-merge-commit", "prepare-commit-msg"),
    *("commit-msg", "post-commit", "pre-rebase", "post-checkout", "post-merge", "pre-push", "pre-receive", "update"),
    *("post-receive", "post-update", "reference-transaction", "pre-auto-gc", "post-rewrite", "post-index-change"),
)
# Git writes what it is given by -c like that, and reads it so; GIT_CONFIG_KEY_0 would not get past codex, which keeps
# variables from its commands that have KEY in their names.
VARIABLE = "GIT_CONFIG_PARAMETERS"
# What git does by itself now and then would be refused half way, and be told to the user the next time he commits.
TIDY = "'gc.auto'='0' 'maintenance.auto'='false'"
_ELSEWHERE = r"^(core\.hookspath|include\.path|includeif\..*\.path)$"


def guard_environment(
    repository: Repository, path: Path, branch: str | None, search: str | None = None
) -> dict[str, str]:
    """Return what a worker in the linked worktree at ``path`` needs in its environment; empty if it cannot be guarded.

    ``search`` is the PATH it would have (None: ours).
    """
    folder = repository.state / FOLDER
    if re.search(r"['!\n]", str(folder)):
        return {}
    search = os.environ.get("PATH", os.defpath) if search is None else search
    try:
        entry = f"'core.hookspath'='{folder}'"
        _ensure(repository, folder, entry)
        found = _stand_before_git(repository, folder / PROGRAMS, search)
    except (OSError, PrunError):
        # What it does is found out afterwards all the same.
        return {}
    own = {VARIABLE: f"{entry} {TIDY}", "PRUN_WORKSPACE": str(path), "PRUN_BRANCH": branch or "HEAD"}
    return own | ({"PATH": f"{folder / PROGRAMS}{os.pathsep}{search}"} if found else {})


def _ensure(repository: Repository, folder: Path, entry: str) -> None:
    """Write the script, unless it is there, and a link to it for each hook."""
    settings = {
        "python": shlex.quote(sys.executable),
        "home": shlex.quote(str(repository.common)),
        "entry": shlex.quote(entry),
        "ask": "yes" if _hooks_lie_elsewhere(repository) else "",
    }
    _write_script(SCRIPT, folder / SCRIPT, settings)
    for name in NAMES:
        link = folder / name
        # Workers run at once: a link is made aside and put in place, so that none finds half a guard.
        if not link.is_symlink():
            temporary = folder / f".{name}.{os.urandom(6).hex()}"
            os.symlink(SCRIPT, temporary)
            os.replace(temporary, link)


def _stand_before_git(repository: Repository, folder: Path, search: str) -> bool:
    """Write the script that stands before git; False where the PATH has no git, or its name cannot stand in a PATH."""
    # Or a worker's worker would find our own script, which would call itself.
    elsewhere = os.pathsep.join(entry for entry in search.split(os.pathsep) if entry != str(folder))
    real = shutil.which("git", path=elsewhere)
    if real is None or os.pathsep in str(folder):
        return False
    core = repository.git.run("--exec-path").text
    settings = {"python": sys.executable, "real": os.path.abspath(real), "core": core}
    _write_script(GIT, folder / "git", {name: shlex.quote(value) for name, value in settings.items()})
    return True


def _write_script(name: str, target: Path, settings: Mapping[str, str]) -> None:
    """Write one of our scripts with its settings filled in, unless it stands there like that."""
    script = (hooks_source() / name).read_bytes().decode()
    for key, value in settings.items():
        script = script.replace(f"\n{key}=\n", f"\n{key}={value}\n", 1)
    target.parent.mkdir(parents=True, exist_ok=True)
    if read_plain(target, MOST) != script.encode():
        write_whole(target, script.encode(), mode=0o755)


def _hooks_lie_elsewhere(repository: Repository) -> bool:
    """Check whether the user's own configuration, outside of any repository, may say where hooks lie."""
    words = ("config", "--show-scope", "-z", "--get-regexp", _ELSEWHERE)
    fields = repository.git.run(*words, ok=(0, 1)).fields
    return any(scope in (b"global", b"system") for scope in fields[::2])

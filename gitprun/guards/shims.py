"""Guards for a worker in a linked worktree, without touching a hook or a setting of the user's.

One variable in the worker's environment leads its git to a folder of ours. Each name in there is the same script: it
refuses what is not the worker's to change, and calls the hook git would have called. A worker that unsets the variable
is not held: then it is found out afterwards.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from pathlib import Path
from typing import Final

from gitprun.errors import PrunError
from gitprun.git.repo import Repository
from gitprun.guards.install import hooks_source
from gitprun.system.files import read_plain, write_whole

SCRIPT = "worktree-guard"
FOLDER = "guard"
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


def guard_environment(repository: Repository, path: Path, branch: str | None) -> dict[str, str]:
    """Give what a worker in the linked worktree at ``path`` needs in its environment; empty if it cannot be guarded."""
    folder = repository.state / FOLDER
    if re.search(r"['!\n]", str(folder)):
        return {}
    try:
        entry = f"'core.hookspath'='{folder}'"
        _ensure(repository, folder, entry)
    except (OSError, PrunError):
        # What it does is found out afterwards all the same.
        return {}
    return {VARIABLE: f"{entry} {TIDY}", "PRUN_WORKSPACE": str(path), "PRUN_BRANCH": branch or "HEAD"}


def _ensure(repository: Repository, folder: Path, entry: str) -> None:
    """Write the script, unless it is there, and a link to it for each hook."""
    settings = {
        "python": shlex.quote(sys.executable),
        "home": shlex.quote(str(repository.common)),
        "entry": shlex.quote(entry),
        "ask": "yes" if _hooks_lie_elsewhere(repository) else "",
    }
    script = (hooks_source() / SCRIPT).read_bytes().decode()
    for name, value in settings.items():
        script = script.replace(f"\n{name}=\n", f"\n{name}={value}\n", 1)
    folder.mkdir(parents=True, exist_ok=True)
    if read_plain(folder / SCRIPT, MOST) != script.encode():
        write_whole(folder / SCRIPT, script.encode(), mode=0o755)
    for name in NAMES:
        link = folder / name
        if not link.is_symlink():
            temporary = folder / f".{name}.{os.urandom(6).hex()}"
            os.symlink(SCRIPT, temporary)
            os.replace(temporary, link)


def _hooks_lie_elsewhere(repository: Repository) -> bool:
    """Tell whether the user's own configuration, outside of any repository, may say where hooks lie."""
    words = ("config", "--show-scope", "-z", "--get-regexp", _ELSEWHERE)
    fields = repository.git.run(*words, ok=(0, 1)).fields
    return any(scope in (b"global", b"system") for scope in fields[::2])

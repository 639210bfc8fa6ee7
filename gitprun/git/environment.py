"""Which of the caller's variables git programs may see."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

CEILING = "GIT_CEILING_DIRECTORIES"
# Who the user is, where the user's configuration lies, how git finds its parts. Everything else that starts with GIT_
# redirects a repository, an index or a configuration, and we may have been started from a hook of another one.
ALLOWED = frozenset(
    {
        "GIT_AUTHOR_NAME",
        "GIT_AUTHOR_EMAIL",
        "GIT_AUTHOR_DATE",
        "GIT_COMMITTER_NAME",
        "GIT_COMMITTER_EMAIL",
        "GIT_COMMITTER_DATE",
        "GIT_CONFIG_GLOBAL",
        "GIT_CONFIG_SYSTEM",
        "GIT_CONFIG_NOSYSTEM",
        "GIT_EXEC_PATH",
        CEILING,
        "GIT_DISCOVERY_ACROSS_FILESYSTEM",
    }
)

PINNED = {
    # Nobody may sit there to type a password.
    "GIT_TERMINAL_PROMPT": "0",
    # A status of ours must not take the lock of the user's index meanwhile.
    "GIT_OPTIONAL_LOCKS": "0",
    # A worker can write refs/replace: what is captured and landed are the objects as they are.
    "GIT_NO_REPLACE_OBJECTS": "1",
    # An editor would wait for ever.
    "GIT_EDITOR": ":",
    "GIT_PAGER": "cat",
    # Messages are parsed; LANGUAGE would win over LC_ALL in gettext.
    "LC_ALL": "C.UTF-8",
    "LANGUAGE": "",
}

# For a question about what the user's own git would see; everything else is asked of the objects as they are.
WITH_REPLACEMENTS = {"GIT_NO_REPLACE_OBJECTS": ""}


def ceilings(caller: Mapping[str, str], *folders: Path) -> dict[str, str]:
    """Return the variable that keeps git in these folders from looking for a repository above them.

    The caller's own ceilings hold, too. Both spellings of a folder count: git compares paths as they are written.
    """
    above = (str(folder.parent) for one in folders for folder in (one, Path(os.path.realpath(one))))
    rows = [*above, *caller.get(CEILING, "").split(os.pathsep)]
    # A path with the separator in it cannot be written.
    return {CEILING: os.pathsep.join(dict.fromkeys(row for row in rows if row and os.pathsep not in row))}


def git_environment(caller: Mapping[str, str], extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """Return the environment for a git child: nothing of the caller's that redirects it, ours on top."""
    kept = {k: v for k, v in caller.items() if not k.startswith("GIT_") or k in ALLOWED}
    found = {**kept, **PINNED, **(extra or {})}
    # Set to nothing it would still count for git as set.
    return {k: v for k, v in found.items() if v or k not in WITH_REPLACEMENTS}

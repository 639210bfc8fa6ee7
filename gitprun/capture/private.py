"""Files that agents' tools write for one person beside the work: their settings, chats, logs and sessions. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gitprun.capture.screen import LeftOut, NewPath
from gitprun.model.globs import matches

# How the reason begins; what is left out for it goes with its workspace, named (see ``screen.goes_along``).
REASON = "one person's own"

# Whole folders, as a tool makes them; told as the folder.
_FOLDERS = re.compile(
    r"""(?x)
    (?: ^ | .*/ ) (?:
        \.playwright-mcp
      | \.aider\.tags\.cache\.v[0-9]+
      | \.claude/ (?: projects | todos | shell-snapshots | statsig | file-history | debug | logs? | sessions
                     | worktrees )
      | \.(?:codex|cursor|gemini)/ (?: .*/ )? (?: (?:archived_|chat_?)?(?:sessions?|logs?|chats?) | history | tmp )
    ) (?= / )
    """
)
# Single files by their whole path.
_FILES = re.compile(
    r"""(?x)
    (?: ^ | .*/ ) (?:
        \.claude/settings\.local\.json
      | \.claude/ (?: history\.jsonl | .*\.log )
      | CLAUDE\.local\.md
      | \.aider[^/]*
      | \.aider[^/]*/.*
      | \.(?:codex|cursor|gemini)/ (?: .*/ )? (?: [^/]*\.log | history\.jsonl? | session[^/]*\.jsonl? | chats?\.json )
    )
    """
)
# Rules for one person, where rules for all lie beside them.
_LOCAL = re.compile(r"(?:^|.*/)[^/]+\.local\.md")
RULES = ("CLAUDE.md", "AGENTS.md", "GEMINI.md")


def screen_private(found: NewPath, fence: Sequence[str], there: Callable[[str], bool]) -> LeftOut | None:
    """Judge a new path: what a tool wrote for one person is no work, unless the unit's ``fence`` speaks of it.

    ``there`` tells whether the base or the workspace holds a path.
    """
    path = found.path
    folder = _FOLDERS.match(path)
    if folder is None and not (_FILES.fullmatch(path) or _is_local(path, there)):
        return None
    if any(_speaks_of(pattern, path) for pattern in fence):
        return None
    return LeftOut(f"{folder.group()}/" if folder else path, f"{REASON}: an agent's tool wrote it", found.size)


def _is_local(path: str, there: Callable[[str], bool]) -> bool:
    if not _LOCAL.fullmatch(path):
        return False
    folder = path[: path.rfind("/") + 1]
    return any(there(folder + name) for name in RULES)


def _speaks_of(pattern: str, path: str) -> bool:
    """Check whether a pattern covers a path, and not just because it covers everything."""
    return matches(pattern, path) and bool(pattern.strip("*/.?"))

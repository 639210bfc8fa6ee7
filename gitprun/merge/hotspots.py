"""Files that many units touch, and the policy for their conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, cast

from gitprun.globs import matches
from gitprun.merge.resolvers.base import FileConflict, Refused, Resolved
from gitprun.merge.resolvers.lines import union
from gitprun.tables import Table

Policy = Literal["union", "ours", "theirs"]


@dataclass(frozen=True, slots=True)
class Hotspot:
    """A row of the configuration."""

    path: str
    policy: Policy


BUILTIN = (Hotspot("todo.md", "union"), Hotspot("TODO.md", "union"), Hotspot("CHANGELOG.md", "union"))


def parse_hotspots(rows: object, source: str) -> tuple[Hotspot, ...]:
    """Read ``[[hotspot]]`` rows."""
    found = []
    for row in Table({"hotspot": rows or []}, source).tables("hotspot"):
        path, policy = row.text("path"), row.choice("policy", ("union", "ours", "theirs"))
        row.close()
        found.append(Hotspot(path or "", cast(Policy, policy or "union")))
    return tuple(found)


def hotspot_for(path: str, configured: Sequence[Hotspot]) -> Hotspot | None:
    """Find the row for a path."""
    for rows in (reversed(configured), BUILTIN):
        for row in rows:
            if matches(row.path, path):
                return row
    return None


def settle(conflict: FileConflict, hotspot: Hotspot) -> Resolved | Refused:
    """Settle a conflict as the policy says."""
    if hotspot.policy == "union":
        return union(conflict)
    return Refused("no resolver")

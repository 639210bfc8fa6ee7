"""What lock files have in common."""

from __future__ import annotations

from gitprun.resolvers.base import quote

# The versions that are locked, by package.
Versions = dict[str, set[str]]


def contested(base: Versions, main: Versions, unit: Versions) -> str | None:
    """Find a package that both sides locked at other versions than before, and differently."""
    for name in sorted({*base, *main, *unit}):
        old, one, two = (each.get(name, set()) for each in (base, main, unit))
        # One upgrade and one removal contradict each other as two upgrades do: a tool has to choose.
        if one not in (old, two) and two != old:
            return f"the package {quote(name.encode())} is locked on both sides, differently"
    return None

"""Resolvers: one kind of file a module, each a pure function from a conflict to a proved text or a refusal."""

from __future__ import annotations

from gitprun.resolvers import lines, policies, sides
from gitprun.resolvers.base import Resolver

# The names a hotspot may give in prun.toml. No kind of file stands here: those are found by path (see index.py), so
# that a merge loads only the families its paths need.
POLICIES: dict[str, Resolver] = {
    "union": lines.union,
    "ours": sides.prefer_main,
    "theirs": sides.prefer_unit,
    policies.HIGHER_VERSION: policies.higher_version,
    policies.RENUMBER: policies.renumber,
}

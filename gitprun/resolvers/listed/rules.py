"""What the lines of one kind of listed file mean, as far as merging them needs to know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gitprun.resolvers.listed.tree import LineNode, Lines

HeadMerge = Callable[[LineNode, LineNode, LineNode], "Lines | None"]


@dataclass(frozen=True, slots=True)
class LineRules:
    """What the lines of one kind of file mean.

    ``fixed``: the order of entries has a meaning. ``sortable``: a sorted list is to stay so. ``spaced``: blank lines
    part the entries. ``together``: whether two added nodes may stand in either order. ``wary``: a node whose change
    allows no other change beside it. ``merge_head``: merges the lines of one entry that both sides changed.
    """

    fixed: bool = False
    sortable: bool = True
    spaced: bool = False
    together: Callable[[LineNode, LineNode], bool] | None = None
    wary: Callable[[LineNode], bool] | None = None
    merge_head: HeadMerge | None = None


PLAIN = LineRules()

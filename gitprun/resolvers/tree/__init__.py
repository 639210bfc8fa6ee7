"""Texts as trees of keyed entries: the nodes that a reader makes of a text, and their three-way merge."""

from __future__ import annotations

from gitprun.resolvers.tree.agree import prove_plain
from gitprun.resolvers.tree.merge import Contradiction, RivalEntry, merge_trees
from gitprun.resolvers.tree.nodes import EntryGroup, KeyedEntry, Leaf, TextUnreadable, Value, render
from gitprun.resolvers.tree.rules import ValueRules, by_fields, by_first

__all__ = (
    "Contradiction",
    "EntryGroup",
    "KeyedEntry",
    "Leaf",
    "RivalEntry",
    "TextUnreadable",
    "Value",
    "ValueRules",
    "by_fields",
    "by_first",
    "merge_trees",
    "prove_plain",
    "render",
)

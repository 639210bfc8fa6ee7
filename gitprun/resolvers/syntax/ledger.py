"""Count what is known by name: whatever a side added is there, whatever a side removed is gone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING

from gitprun.resolvers.syntax.entries import list_entries
from gitprun.resolvers.syntax.keys import Key, Names
from gitprun.resolvers.syntax.layout import MergedNode
from gitprun.resolvers.syntax.tree import Node, show, squash

if TYPE_CHECKING:
    from tree_sitter import Node as TreeNode
    from tree_sitter import Tree


# Plain names only: a longer key (a pattern, a whole signature) may be merged of two changes.
_NAME = re.compile(r"[\w.:/'\"@$-]+")


def miscounted_entry(names: Names, trees: Sequence[Tree]) -> str | None:
    """Compare base, main, unit and merge; None when the named entries add up, else what does not."""
    base, main, unit, have = _count_differing(names, [tree.root_node for tree in trees])
    for key in {**base, **main, **unit, **have}:
        by_main, by_unit = main[key] - base[key], unit[key] - base[key]
        both = base[key] + by_main + by_unit
        # Both added or both removed one: it may have been the same, or one each.
        once = base[key] + (max(by_main, by_unit) if by_main > 0 else min(by_main, by_unit))
        least, most = sorted((both, once)) if by_main * by_unit > 0 else (both, both)
        if not least <= have[key] <= most:
            # As much of a name as a message has room for.
            shown = key[1][:60]
            return f'"{shown}" is lost' if have[key] < least else f'"{shown}" came back or is there too often'
    return None


def _count_differing(names: Names, roots: Sequence[TreeNode]) -> list[Counter[Key]]:
    """Count the named entries of each version, leaving out what all have alike; level by level."""
    counted: list[Counter[Key]] = [Counter() for _ in roots]
    levels = [[root] for root in roots]
    while any(levels):
        texts = [[node.text or b"" for node in level] for level in levels]
        counts = [Counter(level) for level in texts]
        # What all versions have alike, as often, adds up by itself; most of a file does, and is not looked into.
        alike = {text for text, count in counts[0].items() if all(each[text] == count for each in counts)}
        deeper: list[list[TreeNode]] = []
        for level, words, count in zip(levels, texts, counted, strict=True):
            differing = [node for node, text in zip(level, words, strict=True) if text not in alike]
            count.update(key for node in differing if (key := _plain_key(names, node)) is not None)
            deeper.append([child for node in differing for child in node.children])
        levels = deeper
    return counted


def _plain_key(names: Names, node: TreeNode) -> Key | None:
    """Return the name of a node; None for a key that holds more, for both sides may have changed it in part."""
    key = names.key(node) if names.names(node.type) else None
    return key[:2] if key is not None and len(key) > 1 and _NAME.fullmatch(key[1]) else None


def misread_part(names: Names, node: Node, merged: MergedNode) -> str | None:
    """Compare the merged text, parsed again, with what it was made of; None when it reads as it was meant."""
    waiting = [(node, merged)]
    while waiting:
        node, merged = waiting.pop()
        if merged.parts is None:
            if node.kind != merged.kind or squash(node.text) != squash(merged.text):
                return f"the merge does not read as it should: {show(node)}"
            continue
        cores = [entry.core for entry in list_entries(node, names).entries if not entry.core.is_comment]
        if node.kind != merged.kind or len(cores) != len(merged.parts):
            return f"the merge does not read as it should: {show(node)}"
        waiting += zip(cores, merged.parts, strict=True)
    return None

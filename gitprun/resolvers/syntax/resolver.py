"""The resolver: parse three versions, merge their trees, and prove what came out."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from gitprun.resolvers.base import (
    Divided,
    FileConflict,
    Refused,
    Resolved,
    Unread,
    brought_lines,
    open_lines,
)
from gitprun.resolvers.syntax.grammars import load_language, parse, why_no_grammar
from gitprun.resolvers.syntax.keys import Names
from gitprun.resolvers.syntax.ledger import miscounted_entry, misread_part
from gitprun.resolvers.syntax.merge import Merger
from gitprun.resolvers.syntax.moves import follow_move
from gitprun.resolvers.syntax.rows import Grammar
from gitprun.resolvers.syntax.tree import Node, Removed, RivalAddition, Source, TreeClash, TreeLimit
from gitprun.resolvers.text import Triple

if TYPE_CHECKING:
    from tree_sitter import Language, Tree

# A file of 20,000 lines has some 300,000 nodes; walking more of them takes longer than TIME_LIMIT.
NODE_LIMIT = 400_000
NAME = "syntax"
Texts = tuple[bytes, bytes, bytes]


def resolve(row: Grammar, conflict: FileConflict) -> Resolved | Refused:
    """Merge program text of one language."""
    triple = open_lines(conflict, NAME)
    if not isinstance(triple, Triple):
        return triple
    language = load_language(row)
    if language is None:
        return Unread(why_no_grammar(row))
    # The last line end is laid down by the triple; inside, each version has one.
    texts = [b"\n".join((*lines, b"")) for lines in (triple.base, triple.main, triple.unit)]
    text = merge_texts(row, language, (texts[0], texts[1], texts[2]))
    if isinstance(text, Refused):
        return text
    merged = tuple(text.split(b"\n"))
    lines = merged[:-1] if merged and not merged[-1] else merged
    return Resolved(triple.render(lines), NAME, brought_lines(triple, lines))


# Each move that is followed parses and merges all of it anew, so no more than three are.
def merge_texts(row: Grammar, language: Language, texts: Texts, *, moves: int = 3) -> bytes | Refused:
    """Merge three texts without byte order marks; each ends its last line."""
    trees = [parse(language, text) for text in texts]
    fault = _unusable(trees)
    if fault:
        return Unread(fault)
    names = Names(row)
    base, main, unit = (
        _root(tree, text, row, side) for tree, text, side in zip(trees, texts, ("base", "main", "unit"), strict=True)
    )
    try:
        found = Merger(names).merge(base, main, unit)
    except Removed as clash:
        # Rewritten texts are merged from the start, with the same proof; what was moved is then no clash any more.
        moved = follow_move(clash, texts, (base, main, unit)) if moves else None
        return Refused(str(clash)) if moved is None else merge_texts(row, language, moved, moves=moves - 1)
    except RivalAddition as clash:
        return Divided(str(clash))
    except TreeLimit as limit:
        return Unread(str(limit))
    except TreeClash as clash:
        return Refused(str(clash))
    text = found.text if not found.text or found.text.endswith(b"\n") else found.text + b"\n"
    merged = parse(language, text)
    # A place that does not fit the grammar may be there in a version; the merge must add none.
    if flaws(merged) - (flaws(trees[1]) | flaws(trees[2])):
        return Refused("the merged text does not parse")
    # Counting finds what is lost or doubled, reading again what came out as something else.
    wrong = miscounted_entry(names, [*trees, merged]) or misread_part(names, _root(merged, text, row, "merge"), found)
    return Refused(wrong) if wrong else text


def flaws(tree: Tree) -> Counter[tuple[str, bytes]]:
    """Count what does not fit the grammar: kind and text of each place."""
    found: Counter[tuple[str, bytes]] = Counter()
    waiting = [tree.root_node]
    while waiting:
        node = waiting.pop()
        if node.is_error or node.is_missing:
            found[node.type, node.text or b""] += 1
        # A sound part has no flaw within; most of a tree is not looked into.
        elif node.has_error:
            waiting += node.children
    return found


def _unusable(trees: list[Tree]) -> str | None:
    if max(tree.root_node.descendant_count for tree in trees) > NODE_LIMIT:
        return "the file is too large to be merged as a tree"
    known = flaws(trees[0])
    # A place that misses a word is what some grammars make of a comma at the end; an error is not read at all.
    if any(kind == "ERROR" and not known[kind, text] for tree in trees[1:] for kind, text in flaws(tree)):
        return "a version does not parse"
    return None


def _root(tree: Tree, text: bytes, row: Grammar, side: str) -> Node:
    root = Node(tree.root_node, Source(text, row, side))
    # The root starts at the first token; what is before and behind it belongs to the file as well.
    root.start, root.end = 0, len(text)
    return root

"""Edits of code that the other side moved elsewhere as it was: they are made where that code went."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise

from gitprun.resolvers.syntax.tree import Node, Removed, squash

_WORD = re.compile(rb"\w+")
# What is shorter may stand elsewhere by chance.
SHORTEST = 12
Texts = tuple[bytes, bytes, bytes]
Roots = tuple[Node, Node, Node]


def follow_move(clash: Removed, texts: Texts, roots: Roots) -> Texts | None:
    """Rewrite both sides so that an edit of removed code is made where that code went; None when it went nowhere.

    The code must stand once in the base and once on the side that removed it, word for word: then its edit is made
    there, and taken back where it was made.
    """
    by_main = clash.changed.source.side == "main"
    editor, mover = (roots[1], roots[2]) if by_main else (roots[2], roots[1])
    edits: list[tuple[Node, Node, Node]] = []
    for chain in _changed(clash.old, clash.changed):
        found = next(
            ((old, new, place) for old, new in chain if (place := _only_copy(old, roots[0], mover)) is not None), None
        )
        # One place for all of an edit: what is found at none went nowhere, and the clash stands.
        if found is None or _wraps(found[1], found[0]):
            return None
        if found not in edits:
            edits.append(found)
    places = sorted((place.start, place.end) for _, _, place in edits)
    # Places within one another would be written over.
    if not edits or any(second[0] < first[1] for first, second in pairwise(places)):
        return None
    moved = _splice(mover.text, [(place, _indented(new, place)) for _, new, place in edits])
    undone = _splice(editor.text, [(new, _indented(old, new)) for old, new, _ in edits])
    return (texts[0], undone, moved) if by_main else (texts[0], moved, undone)


def _changed(old: Node, new: Node) -> Iterator[list[tuple[Node, Node]]]:
    """Yield each smallest changed pair of nodes with those around it, the largest first."""
    waiting = [[(old, new)]]
    while waiting:
        chain = waiting.pop()
        before, after = chain[-1]
        if squash(before.text) == squash(after.text):
            continue
        first, second = before.children, after.children
        if first and [node.kind for node in first] == [node.kind for node in second]:
            waiting += [[*chain, pair] for pair in zip(first, second, strict=True)]
        else:
            yield chain


def _wraps(new: Node, old: Node) -> bool:
    """Check whether an edit put something around the code: that belongs to what stood there, and does not go along."""
    words, waiting = squash(old.text), [*new.children]
    while waiting:
        node = waiting.pop()
        if node.kind == old.kind and squash(node.text) == words:
            return True
        waiting += node.children
    return False


def _only_copy(old: Node, base: Node, mover: Node) -> Node | None:
    """Find the one place where the mover has the words of a base node, if base and mover have them once."""
    words = squash(old.text)
    # One word, or a few letters, may stand elsewhere by chance.
    if len(words) < SHORTEST or len(_WORD.findall(words)) < 2:
        return None
    # Once in each: of two copies nothing tells which one the edited code became.
    if squash(base.text).count(words) != 1 or squash(mover.text).count(words) != 1:
        return None
    waiting = [mover]
    while waiting:
        node = waiting.pop()
        own = squash(node.text)
        if own == words and node.kind == old.kind:
            return node
        if words in own:
            waiting += node.children
    return None


def _splice(text: bytes, changes: list[tuple[Node, bytes]]) -> bytes:
    # From the end, so that the places of the changes still to come stay right.
    for node, new in sorted(changes, key=lambda change: change[0].start, reverse=True):
        text = text[: node.start] + new + text[node.end :]
    return text


def _indented(node: Node, place: Node) -> bytes:
    """Return the text of a node with the indentation of another place."""
    old, new = _indent(node), _indent(place)
    lines = node.text.split(b"\n")
    # A line that does not have the old indentation (text in a string, say) is left as it is.
    moved = (new + line[len(old) :] if line.strip() and line.startswith(old) else line for line in lines[1:])
    return b"\n".join([lines[0], *moved])


def _indent(node: Node) -> bytes:
    text = node.source.text
    line = text[text.rfind(b"\n", 0, node.start) + 1 : node.start]
    return line[: len(line) - len(line.lstrip())]

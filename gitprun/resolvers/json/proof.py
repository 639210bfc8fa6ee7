"""The proof of merged JSON: entry by entry at every depth, and comment by comment."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from gitprun.resolvers.base import quote
from gitprun.resolvers.entries import prove_entries
from gitprun.resolvers.json.identity import identify, label
from gitprun.resolvers.json.reader import JsonNode, comments, meaning


@dataclass(frozen=True, slots=True)
class PathStep:
    """One step of a path: what identifies an item, and how often it stood there before."""

    identity: Hashable
    repeat: int

    def __str__(self) -> str:
        return label(self.identity)


Place = tuple[PathStep, ...]
Found = list[tuple[Place, Hashable]]


def prove_values(base: JsonNode | None, main: JsonNode, unit: JsonNode, merged: JsonNode) -> str | None:
    """Check a merged value against three versions; None when proved, else what is wrong with it."""
    # The merge's entries stay pairs: as a dictionary a key that is there twice would be there once.
    found: tuple[Found, Found, Found, Found] = ([], [], [], [])
    _collect((), (base, main, unit, merged), found)
    fault = prove_entries(dict(found[0]), dict(found[1]), dict(found[2]), found[3])
    return fault and fault.replace('"" ', "the file ", 1)


def prove_comments(base: str | None, main: str, unit: str, merged: str) -> str | None:
    """Check that no comment is lost, came back or is there too often."""
    before, mine, other, have = (Counter(comments(text or "")) for text in (base, main, unit, merged))
    for comment in {**before, **mine, **other, **have}:
        by_main, by_unit = mine[comment] - before[comment], other[comment] - before[comment]
        both = before[comment] + by_main + by_unit
        once = before[comment] + (max(by_main, by_unit) if by_main > 0 else min(by_main, by_unit))
        # A comment both sides added may be one or two, as base.py counts lines.
        least, most = sorted((both, once)) if by_main * by_unit > 0 else (both, both)
        if have[comment] < least:
            return f"the comment {quote(comment.encode())} is lost"
        if have[comment] > most:
            return f"the comment {quote(comment.encode())} came back or is there too often"
    return None


def _collect(path: Place, nodes: Sequence[JsonNode | None], found: Sequence[Found]) -> None:
    """List what each version holds at a path and below; what is the same text in all of them is left out."""
    present = [node for node in nodes if node]
    # Most of a file: skipping it keeps the proof within the time of one merge.
    if len(present) == len(nodes) and len({node.text for node in present}) == 1:
        return
    kinds = {node.kind for node in present}
    whole = len(kinds) > 1 or not kinds & {"{", "["}
    for node, entries in zip(nodes, found, strict=True):
        if node:
            entries.append((path, meaning(node) if whole else node.kind))
    if whole:
        return
    # Not by the merge: a mistake there could change how its own items are told apart.
    identity = identify([node for node in nodes[:-1] if node])
    children: list[dict[PathStep, JsonNode]] = [{} for _ in nodes]
    for node, known in zip(nodes, children, strict=True):
        seen: Counter[Hashable] = Counter()
        for key, item in zip(identity.of(node), node.items, strict=True) if node else ():
            known[PathStep(key, seen[key])] = item.value
            seen[key] += 1
    for step in dict.fromkeys(step for known in children for step in known):
        values = [known.get(step) for known in children]
        # Items told apart by value are their own meaning; there is nothing below to compare.
        if identity.by != "value":
            _collect((*path, step), values, found)
            continue
        for value, entries in zip(values, found, strict=True):
            if value:
                entries.append(((*path, step), True))

"""Barrels: files of JavaScript and TypeScript that only pass on what other files export."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gitprun.resolvers.base import quote
from gitprun.resolvers.listed.frame import ListedKind
from gitprun.resolvers.listed.rules import LineRules
from gitprun.resolvers.listed.tree import Body, LineNode, UnreadLines, blank, note, walk

# Neither a call nor an assignment may stand before "from": that is code, and its order has an effect.
_FROM = re.compile(rb"""(?:export|import)\b[^'"`;()=]*\bfrom\s*(['"])[^'"`]+\1\s*;?\s*(?://.*)?$""", re.DOTALL)
_BARE = re.compile(rb"""import\s*(['"])[^'"`]+\1\s*;?\s*(?://.*)?$""", re.DOTALL)
_NAMED = re.compile(rb"(export|import)\s+(?:type\s+)?([^'\"]*?)\s*from\b", re.DOTALL)
# The patterns below look at a line several times over; a longer one is generated code, not an index of modules.
_LONG = 2000


def read_barrel(lines: Sequence[bytes]) -> Body | UnreadLines:
    """Read one export or import a line."""
    nodes: list[LineNode] = []
    for line in lines:
        text = line.strip()
        if not text:
            nodes.append(blank(line))
        elif len(line) > _LONG:
            return UnreadLines("a line is too long")
        elif text.startswith(b"//"):
            nodes.append(note(line))
        elif _FROM.match(line) or _BARE.match(line):
            # A semicolon at the end or another gap does not make it another line.
            nodes.append(LineNode("item", b" ".join(text.rstrip(b"; ").split()), (line,)))
        else:
            return UnreadLines("a line is neither an export nor an import on one line")
    return tuple(nodes)


def has_effect(node: LineNode) -> bool:
    """Check whether a line imports a file for what it does, which it does in its turn."""
    return node.sort == "item" and bool(_BARE.match(node.head[0]))


def doubt_exports(base: Body, main: Body, unit: Body, merged: Body) -> str | None:
    """Doubt a name that is twice in the merge and once on either side."""
    counts = [_names(body) for body in (main, unit, merged)]
    for name, count in counts[2].items():
        # A name that one side has twice by itself (a type and a value, say) is not the merge's fault.
        if count > 1 and count > max(side.get(name, 0) for side in counts[:2]):
            return f"{quote(name)} is exported twice"
    return None


def _names(body: Body) -> dict[bytes, int]:
    """Count the names that a barrel exports or imports, and the files it passes on whole."""
    counts: dict[bytes, int] = {}
    for _, node in walk(body):
        found = _NAMED.match(node.head[0]) if node.sort == "item" else None
        if not found:
            continue
        for part in found[2].replace(b"{", b",").replace(b"}", b",").split(b","):
            words = part.split()
            # "export *" passes on names that stand in another file; "a as b" is known outside as b.
            if words and words != [b"*"]:
                name = found[1] + b" " + words[-1]
                counts[name] = counts.get(name, 0) + 1
    return counts


KINDS = (
    ListedKind(
        "barrel",
        tuple(f"index.{end}" for end in ("ts", "js", "tsx", "jsx", "mts", "mjs")),
        read_barrel,
        LineRules(wary=has_effect),
        doubt_exports,
    ).kind,
)

"""What each side made of a body of a listed file: what it kept and where it added; and where the two contradict."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gitprun.resolvers.changes import pair_lines
from gitprun.resolvers.entries import show_key
from gitprun.resolvers.listed.rules import LineRules
from gitprun.resolvers.listed.tree import Body, Identity, LineNode


@dataclass(slots=True)
class SideView:
    """What one side made of a body: ``at`` base node -> own node, ``added`` gap -> own nodes put there."""

    nodes: Body
    at: dict[int, int]
    added: dict[int, tuple[int, int]]
    regions: list[tuple[int, int, int, int]]
    by_key: dict[Identity, LineNode]

    def new(self, gap: int) -> Sequence[LineNode]:
        """Return the nodes put at a gap; gap k is before base node k."""
        start, stop = self.added.get(gap, (0, 0))
        return self.nodes[start:stop]


def view_side(base: Body, side: Body) -> SideView | None:
    """Pair a side with the base; None when they differ too much."""
    # Named nodes first: blank lines and comments repeat, and would be paired with those of strangers.
    named = [[i for i, node in enumerate(body) if node.named] for body in (base, side)]
    anchors = pair_lines([base[i].identity for i in named[0]], [side[j].identity for j in named[1]])
    if anchors is None:
        return None
    at: dict[int, int] = {}
    i = j = 0
    for x, y in [*((named[0][a], named[1][b]) for a, b in anchors), (len(base), len(side))]:
        # From the end, so that an added node has the blank line above it, not the one below.
        old = [k for k in range(x - 1, i - 1, -1) if not base[k].named]
        new = [k for k in range(y - 1, j - 1, -1) if not side[k].named]
        found = pair_lines([base[k].identity for k in old], [side[k].identity for k in new]) if old and new else []
        if found is None:
            return None
        at.update((old[a], new[b]) for a, b in reversed(found))
        if x < len(base):
            at[x] = y
        i, j = x + 1, y + 1
    regions: list[tuple[int, int, int, int]] = []
    i = j = 0
    for x, y in [*sorted(at.items()), (len(base), len(side))]:
        if x > i or y > j:
            regions.append((i, x, j, y))
        i, j = x + 1, y + 1
    added = {region[0]: (region[2], region[3]) for region in regions if region[3] > region[2]}
    return SideView(side, at, added, regions, {node.identity: node for node in side if node.sort == "entry"})


def find_contest(rules: LineRules, base: Body, main: SideView, unit: SideView) -> str | None:
    """Return in words which lines known by their text both sides changed."""
    if rules.wary is not None:
        touched = [[*_touched(base, view)] for view in (main, unit)]
        if all(touched) and any(rules.wary(node) for nodes in touched for node in nodes):
            name = next(node.key for nodes in touched for node in nodes if rules.wary(node))
            return f"both sides changed the list and {show_key(name)} makes its order matter"
    for view, other in ((main, unit), (unit, main)):
        # Both lists are in the order of the file: what ends above this region can touch none below.
        passed = 0
        for region in view.regions:
            while passed < len(other.regions) and other.regions[passed][1] < region[0]:
                passed += 1
            for at in range(passed, len(other.regions)):
                rival = other.regions[at]
                if rival[0] > region[1]:
                    break
                if _contradict(base, view, region, other, rival):
                    return "both sides changed the same lines, or comments that stand side by side"
    return None


def _touched(base: Body, view: SideView) -> list[LineNode]:
    nodes: list[LineNode] = []
    for start, stop, first, last in view.regions:
        nodes += [*base[start:stop], *view.nodes[first:last]]
    return [node for node in nodes if node.sort != "blank"]


def _contradict(
    base: Body, view: SideView, region: tuple[int, int, int, int], other: SideView, rival: tuple[int, int, int, int]
) -> bool:
    """Check whether a region rewrites lines that the rival region rewrites too or writes on."""
    start, stop, first, last = region
    new, others = view.nodes[first:last], other.nodes[rival[2] : rival[3]]
    # Both made this very change.
    if (start, stop, _texts(new)) == (*rival[:2], _texts(others)):
        return False
    # An item or a comment has no key: rewritten on both sides nothing tells what became of it.
    gone_twice = range(max(start, rival[0]), min(stop, rival[1]))
    if any(_textual(base[i]) for i in gone_twice) and any(_textual(node) for node in (*new, *others)):
        return True
    # Comments below the last new node are about what follows, which this region may have rewritten.
    loose = [node for node in others[_after_named(others) :] if node.sort == "note"]
    return bool(loose) and any(base[i].sort == "note" for i in range(start, stop))


def _after_named(nodes: Sequence[LineNode]) -> int:
    return next((i + 1 for i in range(len(nodes) - 1, -1, -1) if nodes[i].named), 0)


def _textual(node: LineNode) -> bool:
    return node.sort in ("item", "note")


def _texts(nodes: Sequence[LineNode]) -> list[Identity]:
    return [node.identity for node in nodes if node.sort != "blank"]

"""What both sides added at one place of a listed file: main's nodes, then the unit's, each with the lines above it."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from gitprun.resolvers.base import Refused
from gitprun.resolvers.changes import pair_lines
from gitprun.resolvers.entries import show_key
from gitprun.resolvers.listed.rules import LineRules
from gitprun.resolvers.listed.tree import Identity, LineNode

Order = Callable[[Any], Any]
Lead = tuple[LineNode, ...]


@dataclass(frozen=True, slots=True)
class Chunk:
    """An added node and the blank lines and notes above it that were added with it."""

    lead: Lead
    node: LineNode


def split_chunks(nodes: Sequence[LineNode]) -> tuple[list[Chunk], tuple[LineNode, ...]]:
    """Split added nodes into chunks; what follows the last one is about whatever stands below."""
    chunks: list[Chunk] = []
    lead: list[LineNode] = []
    for node in nodes:
        if node.named:
            chunks.append(Chunk(tuple(lead), node))
            lead = []
        else:
            lead.append(node)
    return chunks, tuple(lead)


def join_added(
    rules: LineRules,
    order: Order | None,
    before: LineNode | None,
    main: Sequence[LineNode],
    unit: Sequence[LineNode],
    shared: dict[Identity, LineNode],
) -> list[LineNode] | Refused:
    """Join what both sides added after ``before``; ``shared`` holds the merge of each node that both added."""
    if not main or not unit:
        return [shared.get(node.identity, node) for node in main or unit]
    (of_main, tail_main), (of_unit, tail_unit) = split_chunks(main), split_chunks(unit)
    # Comments on both sides that follow the last node are about what stands below: only one of them can be right.
    tail = _settle_lead(tail_main, tail_unit)
    if isinstance(tail, Refused):
        return tail
    # A node that both added, or one bound to its place, is woven chunk by chunk below.
    own = {chunk.node.identity for chunk in of_main}.isdisjoint(chunk.node.identity for chunk in of_unit)
    if own and rules.together is None and not _goes_on(before) and _has_blank(tail_unit):
        # Lines that end with a blank one part themselves from what follows, so they come first.
        parted = rules.spaced or any(chunk.node.section for chunk in (*of_main, *of_unit))
        if not tail_main or (parted and tail_main == tail_unit):
            first, second = (main, unit) if tail_main else (unit, main)
            return [shared.get(node.identity, node) for node in (*first, *second)]
    joined = _join_chunks(rules, order, before, of_main, of_unit, shared)
    return joined if isinstance(joined, Refused) else [*joined, *tail]


def _join_chunks(
    rules: LineRules,
    order: Order | None,
    before: LineNode | None,
    main: Sequence[Chunk],
    unit: Sequence[Chunk],
    shared: dict[Identity, LineNode],
) -> list[LineNode] | Refused:
    in_main = {chunk.node.identity: chunk.node for chunk in main}
    for chunk in unit:
        name = chunk.node.identity
        # Namesakes are not in ``shared``: nothing tells which is which, so they may only be equal.
        if name not in shared and in_main.get(name, chunk.node) != chunk.node:
            return Refused(f"{show_key(chunk.node.key)} is added on both sides, differently")
    pairs = pair_lines([c.node.identity for c in main], [c.node.identity for c in unit])
    both = sum(chunk.node.identity in in_main for chunk in unit)
    if pairs is None or (rules.fixed and both > len(pairs)):
        return Refused("both sides added the same entries in another order")
    if both > len(pairs):
        # Each stands where main has it, so what the unit has above must not be needed there.
        leads = [
            {c.node.identity: notes_of(c.lead) for c in side if c.node.identity in in_main} for side in (main, unit)
        ]
        if any(leads[0][name] != lead for name, lead in leads[1].items()):
            return Refused("both sides added the same entries in another order, with different comments")
    paired = {j for _, j in pairs}
    joined: list[LineNode] = []
    i = j = 0
    for x, y in [*pairs, (len(main), len(unit))]:
        others = [unit[k] for k in range(j, y) if k in paired or unit[k].node.identity not in in_main]
        part = _alongside(rules, order, joined[-1] if joined else before, main[i:x], others)
        if isinstance(part, Refused):
            return part
        joined += part
        if x < len(main):
            lead = _settle_lead(main[x].lead, unit[y].lead)
            if isinstance(lead, Refused):
                return lead
            joined += [*lead, main[x].node]
        i, j = x + 1, y + 1
    return [shared.get(node.identity, node) for node in joined]


def _alongside(
    rules: LineRules, order: Order | None, before: LineNode | None, main: Sequence[Chunk], unit: Sequence[Chunk]
) -> list[LineNode] | Refused:
    """Join chunks that only one side has."""
    # Pair by pair: of three patterns the first and the last may match one file though neighbours do not.
    if rules.together is not None:
        for a in main:
            for b in unit:
                if not rules.together(a.node, b.node):
                    names = f"{show_key(a.node.key)} and {show_key(b.node.key)}"
                    return Refused(f"{names} are added at one place and their order matters")
    chunks = [*main, *unit]
    # Blank lines part groups with an order of their own, which sorting would mix.
    if main and unit and order and not any(_has_blank(c.lead) or c.node.section for c in chunks):
        chunks.sort(key=lambda chunk: order(chunk.node.key))
        return [node for chunk in chunks for node in (*chunk.lead, chunk.node)]
    groups: list[tuple[tuple[LineNode, ...], list[LineNode]]] = []
    known: dict[tuple[LineNode, ...], int] = {}
    for side in (main, unit):
        at = -1
        for chunk in side:
            # A comment above several entries is a title: what both sides wrote below one title stays under it.
            if chunk.lead or at < 0:
                at = known.get(chunk.lead, -1) if _may_join(rules, before, chunk) else -1
                if at < 0:
                    at = len(groups)
                    known.setdefault(chunk.lead, at)
                    groups.append((chunk.lead, []))
            groups[at][1].append(chunk.node)
    # What goes on with the lines above stands before what starts with a blank line.
    if _goes_on(before):
        groups.sort(key=lambda group: _has_blank(group[0]))
    return [node for lead, nodes in groups for node in (*lead, *nodes)]


def _may_join(rules: LineRules, before: LineNode | None, chunk: Chunk) -> bool:
    """Check whether a chunk may go below others that have the same lines above them, without lines of its own."""
    if not chunk.lead:
        return True
    if rules.spaced or chunk.node.section:
        return False
    return any(node.sort == "note" for node in chunk.lead) or before is None or not before.named or before.section


def _settle_lead(main: tuple[LineNode, ...], unit: tuple[LineNode, ...]) -> tuple[LineNode, ...] | Refused:
    """Settle the lines that both sides added above one node."""
    # They differ in blank lines at most; the one that sets itself apart more is kept.
    if notes_of(main) == notes_of(unit):
        return max(main, unit, key=len)
    if not notes_of(main) or not notes_of(unit):
        return main if notes_of(main) else unit
    return Refused("both sides added comments or prose at one place")


def _goes_on(before: LineNode | None) -> bool:
    return before is not None and before.sort != "blank"


def notes_of(nodes: Sequence[LineNode]) -> list[Hashable]:
    """List the comments and prose among nodes."""
    return [node.key for node in nodes if node.sort == "note"]


def _has_blank(nodes: Sequence[LineNode]) -> bool:
    return any(node.sort == "blank" for node in nodes)

"""Merge the body of a listed file three ways: each node by its key, each place by what stands around it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

from gitprun.resolvers.base import TOO_DIFFERENT, Refused
from gitprun.resolvers.entries import ABSENT, EntryClash, common_order, settle_value, show_key
from gitprun.resolvers.listed.join import Lead, Order, join_added, notes_of, split_chunks
from gitprun.resolvers.listed.rules import LineRules
from gitprun.resolvers.listed.tree import Body, Identity, LineNode, Path, count_twice
from gitprun.resolvers.listed.views import SideView, find_contest, view_side


def weave(rules: LineRules, base: Body, main: Body, unit: Body, path: Path = ()) -> Body | Refused:
    """Merge three bodies of one section."""
    # What one side left alone is the other's as a whole, whatever stands in it twice or out of order.
    if main == unit or unit == base:
        return main
    if main == base:
        return unit
    # Before pairing, which goes by keys: namesakes would be paired with one another.
    numbered = _number_twice(base, main, unit)
    if isinstance(numbered, Refused):
        return numbered
    base, main, unit = numbered
    by_main, by_unit = view_side(base, main), view_side(base, unit)
    if by_main is None or by_unit is None:
        return Refused(TOO_DIFFERENT)
    contest = find_contest(rules, base, by_main, by_unit)
    if contest:
        return Refused(contest)
    fates = _fates(rules, base, by_main, by_unit, path)
    if isinstance(fates, Refused):
        return fates
    shared = _shared(rules, base, by_main, by_unit, path)
    if isinstance(shared, Refused):
        return shared
    merged = _place(rules, (base, main, unit), by_main, by_unit, fates, shared)
    if isinstance(merged, Refused):
        return merged
    return tuple(_plain_key(node) for node in _part(rules, merged, (base, main, unit)))


def merge_node(
    rules: LineRules, base: LineNode | None, main: LineNode, unit: LineNode, path: Path
) -> LineNode | Refused:
    """Merge one node that both sides have; ``base`` is None when both added it."""
    name = (*path, main.key)
    if main == unit:
        return main
    heads = (ABSENT if base is None else base.head, main.head, unit.head)
    head = settle_value(*heads)
    if isinstance(head, EntryClash) and base is not None and rules.merge_head:
        head = rules.merge_head(base, main, unit) or head
    foot = settle_value(ABSENT if base is None else base.foot, main.foot, unit.foot)
    if isinstance(head, EntryClash) or isinstance(foot, EntryClash):
        reason = head.reason if isinstance(head, EntryClash) else "has another end on both sides"
        return Refused(f"{show_key(name)} {reason}")
    assert head is not ABSENT
    assert foot is not ABSENT
    inside = [() if node is None else node.body or () for node in (base, main, unit)]
    body = weave(rules, inside[0], inside[1], inside[2], path if main.open else name)
    if isinstance(body, Refused):
        return body
    return replace(main, head=head, foot=foot, body=None if main.body is None and unit.body is None else body)


def _number_twice(base: Body, main: Body, unit: Body) -> tuple[Body, Body, Body] | Refused:
    """Number namesakes, where both sides left them in their order."""
    twice = count_twice(base), count_twice(main), count_twice(unit)
    if not any(twice):
        return base, main, unit
    names = {*twice[0], *twice[1], *twice[2]}
    kept: dict[Identity, list[list[LineNode]]] = {
        name: [[node for node in body if node.identity == name] for body in (base, main, unit)] for name in names
    }
    for (_, key), (old, by_main, by_unit) in kept.items():
        if not len(old) == len(by_main) == len(by_unit):
            return Refused(f"{show_key(key)} is there twice")
        if any(o not in (m, u) for o, m, u in zip(old, by_main, by_unit, strict=True)):
            return Refused(f"{show_key(key)} is there twice and both sides changed it")
    return _numbered(base, names), _numbered(main, names), _numbered(unit, names)


def _numbered(body: Body, names: set[Identity]) -> Body:
    seen: dict[Identity, int] = {}
    numbered = []
    for node in body:
        if node.identity in names:
            seen[node.identity] = seen.get(node.identity, 0) + 1
            node = replace(node, key=_Namesake(node.key, seen[node.identity]))
        numbered.append(node)
    return tuple(numbered)


@dataclass(frozen=True, slots=True)
class _Namesake:
    key: object
    number: int

    def __str__(self) -> str:
        return self.key.decode("utf-8", "replace") if isinstance(self.key, bytes) else str(self.key)


def _plain_key(node: LineNode) -> LineNode:
    return replace(node, key=node.key.key) if isinstance(node.key, _Namesake) else node


def _fates(
    rules: LineRules, base: Body, main: SideView, unit: SideView, path: Path
) -> dict[int, LineNode | None] | Refused:
    """Return what becomes of each base node; None is gone."""
    fates: dict[int, LineNode | None] = {}
    for i, node in enumerate(base):
        sides = [_of(view, i, node) for view in (main, unit)]
        by_main, by_unit = sides
        if by_main is not None and by_unit is not None:
            merged = merge_node(rules, node, by_main, by_unit, path)
            if isinstance(merged, Refused):
                return merged
            fates[i] = merged
            continue
        fates[i] = None
        # Blank lines and comments may go; where both sides touched them was looked into before.
        if not node.named:
            continue
        # A comment put on what the other side removes says that it is to stay.
        for kept, view, removed in ((by_main, main, "by the unit"), (by_unit, unit, "on main")):
            if kept is not None and (kept != node or _has_new_comment(base, i, view)):
                whom = "on main" if view is main else "by the unit"
                return Refused(f"{show_key((*path, node.key))} is removed {removed} and changed {whom}")
    return fates


def _of(view: SideView, i: int, node: LineNode) -> LineNode | None:
    """Find a base node on a side, moved or not."""
    if i in view.at:
        return view.nodes[view.at[i]]
    # Entries only: elsewhere an item may be another one of the same text.
    return view.by_key.get(node.identity) if node.sort == "entry" else None


def _has_new_comment(base: Body, i: int, view: SideView) -> bool:
    """Check whether a side changed the comments directly above a node that it kept in its place."""
    if i not in view.at:
        return False
    old, new = _comments_above(base, i), _comments_above(view.nodes, view.at[i])
    return bool(new) and list(new) != list(old[len(old) - len(new) :])


def _comments_above(body: Sequence[LineNode], i: int) -> Sequence[LineNode]:
    start = i
    while start and body[start - 1].sort == "note":
        start -= 1
    return body[start:i]


def _shared(
    rules: LineRules, base: Body, main: SideView, unit: SideView, path: Path
) -> dict[Identity, LineNode] | Refused:
    """Merge each node that both sides added."""
    known = {node.identity for node in base if node.named}
    counts = [Counter(node.identity for node in view.nodes) for view in (main, unit)]
    added = {node.identity: node for node in unit.nodes if node.named and node.identity not in known}
    shared: dict[Identity, LineNode] = {}
    for node in main.nodes:
        # A namesake on a side leaves open which of the two the other side added.
        if node.identity in added and all(count[node.identity] == 1 for count in counts):
            merged = merge_node(rules, None, node, added[node.identity], path)
            if isinstance(merged, Refused):
                return merged
            shared[node.identity] = merged
    return shared


def _place(
    rules: LineRules,
    versions: tuple[Body, Body, Body],
    main: SideView,
    unit: SideView,
    fates: dict[int, LineNode | None],
    shared: dict[Identity, LineNode],
) -> list[LineNode] | Refused:
    """Write base's nodes that stay in their places, and between them what the sides added."""
    base = versions[0]
    order = _order(rules, versions)
    # An entry that a side moved shows as new at its new place; it stands there as it was merged.
    moved = {node.identity: fates[i] for i, node in enumerate(base) if node.sort == "entry"}
    if rules.fixed and any(node.identity in moved for view in (main, unit) for node in _added(view)):
        return Refused("one side reordered the entries and their order matters")
    # "!keep" takes back what lines above it leave out, so in such a list it counts where a line stands.
    strict = rules.fixed or (rules.wary is not None and any(map(rules.wary, base)))
    places = {c.node.identity: (gap, c.lead) for gap in main.added for c in split_chunks(main.new(gap))[0]}
    merged: list[LineNode] = []
    # What was added since the last entry that stays: a removed one between two additions does not keep them apart.
    pending: tuple[list[LineNode], list[LineNode]] = ([], [])
    for gap in range(len(base) + 1):
        first = _replace_moved(main.new(gap), moved)
        second = _without_placed(strict, _replace_moved(unit.new(gap), moved), gap, places, shared)
        if isinstance(second, Refused):
            return second
        joined = join_added(rules, order, merged[-1] if merged else None, first, second, shared)
        if isinstance(joined, Refused):
            return joined
        clash = _disorder(rules, pending, first, second)
        if clash is not None:
            return clash
        merged += joined
        if gap < len(base) and gap in main.at and gap in unit.at:
            stays = fates[gap]
            assert stays is not None
            merged.append(stays)
            if stays.named:
                pending = ([], [])
    return merged


def _disorder(
    rules: LineRules, pending: tuple[list[LineNode], list[LineNode]], main: Sequence[LineNode], unit: Sequence[LineNode]
) -> Refused | None:
    """Check what is added at one gap against what the other side added since the last entry that stays."""
    if rules.together is None:
        return None
    news = ([node for node in main if node.named], [node for node in unit if node.named])
    for mine, theirs in ((news[0], pending[1]), (news[1], pending[0])):
        for a in mine:
            for b in theirs:
                if not rules.together(a, b):
                    names = f"{show_key(b.key)} and {show_key(a.key)}"
                    return Refused(f"{names} are added at one place and their order matters")
    pending[0].extend(news[0])
    pending[1].extend(news[1])
    return None


def _added(view: SideView) -> list[LineNode]:
    return [node for gap in view.added for node in view.new(gap)]


def _replace_moved(nodes: Sequence[LineNode], moved: dict[Identity, LineNode | None]) -> list[LineNode]:
    """Return moved entries as they are merged, and leave out those that the other side removed."""
    found = [moved.get(node.identity, node) if node.sort == "entry" else node for node in nodes]
    return [node for node in found if node is not None]


def _without_placed(
    strict: bool,
    nodes: Sequence[LineNode],
    gap: int,
    places: dict[Identity, tuple[int, Lead]],
    shared: dict[Identity, LineNode],
) -> list[LineNode] | Refused:
    """Leave out what both sides added at different places: it stands where main has it."""
    chunks, tail = split_chunks(nodes)
    kept: list[LineNode] = []
    for chunk in chunks:
        place, lead = places.get(chunk.node.identity, (gap, ()))
        if place == gap or chunk.node.identity not in shared:
            kept += [*chunk.lead, chunk.node]
        elif strict:
            return Refused(
                f"{show_key(chunk.node.key)} is added on both sides at different places, and the order matters"
            )
        elif notes_of(chunk.lead) != notes_of(lead):
            return Refused(f"{show_key(chunk.node.key)} is added on both sides at different places")
    return [*kept, *tail]


def _part(rules: LineRules, merged: list[LineNode], versions: tuple[Body, Body, Body]) -> list[LineNode]:
    """Part sections by a blank line where the versions part all of theirs so."""
    # Where one version has a section without a blank line above it, the file has no such custom.
    if any(_unparted(rules, body) for body in versions):
        return merged
    line = next((node for body in versions[1:] for node in body if node.sort == "blank"), None)
    if line is None:
        return merged
    # From the end, so that the places still to come stay right.
    for at in reversed(_unparted(rules, merged)):
        merged.insert(at, line)
    return merged


def _unparted(rules: LineRules, body: Sequence[LineNode]) -> list[int]:
    """Find the sections, with the comments above them, that follow something without a blank line."""
    found = []
    for i, node in enumerate(body):
        if node.section or (rules.spaced and node.named):
            start = i - len(_comments_above(body, i))
            if start and body[start - 1].sort != "blank":
                found.append(start)
    return found


def _order(rules: LineRules, versions: tuple[Body, Body, Body]) -> Order | None:
    if rules.fixed or not rules.sortable:
        return None
    return common_order(*([node.key for node in body if node.named] for body in versions))

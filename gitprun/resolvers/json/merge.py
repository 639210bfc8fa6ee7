"""Two sides of one JSON value merged into text: entry by entry, each with its comments and its white space."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from gitprun.resolvers.entries import ABSENT, Absent, EntryClash, settle_value, show_key
from gitprun.resolvers.json.identity import ID_FIELDS, field_value, identify, label
from gitprun.resolvers.json.layout import Layout, settle_layout
from gitprun.resolvers.json.reader import Document, JsonItem, JsonNode, meaning, squeeze
from gitprun.resolvers.json.sequence import Row, align_by_key, align_items

Path = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Placed:
    """An item of the merge: its parts, the text of its value, and where it stands on the sides that have it."""

    item: JsonItem
    value: str
    places: tuple[tuple[JsonNode, int], ...]


def merge_documents(base: Document | None, main: Document, unit: Document) -> str | EntryClash:
    """Merge whole texts."""
    lead = settle_text(base.lead if base else None, main.lead, unit.lead)
    tail = settle_text(base.tail if base else None, main.tail, unit.tail)
    root = merge_values((), base.root if base else None, main.root, unit.root)
    if isinstance(root, EntryClash):
        return root
    if lead is None or tail is None:
        return EntryClash("a comment outside the value is changed on both sides, differently")
    return lead + root + tail


def merge_values(path: Path, base: JsonNode | None, main: JsonNode, unit: JsonNode) -> str | EntryClash:
    """Merge one value that both sides have."""
    if main.text == unit.text or (base and unit.text == base.text):
        return main.text
    if base and main.text == base.text:
        return unit.text
    # Added on both sides and only set otherwise (a formatter ran): one value, not a contradiction.
    if base is None and squeeze(main.text) == squeeze(unit.text):
        return main.text
    # Two lists without a base cannot be united: which side left an item out on purpose is unknown.
    joinable = ("{", "[") if base else ("{",)
    if main.kind in joinable and main.kind == unit.kind == (base or main).kind:
        return _merge_items(path, base, main, unit)
    # By meaning: 1 and "1" differ, and \u00e9 and é do not.
    due = settle_value(ABSENT if base is None else meaning(base), meaning(main), meaning(unit))
    if isinstance(due, (EntryClash, Absent)):
        return _at(path, due.reason if isinstance(due, EntryClash) else "is removed")
    return main.text if due == meaning(main) else unit.text


def settle_text(base: str | None, main: str, unit: str) -> str | None:
    """Merge text between values: the side that changed it wins, comments before white space; None when both did."""
    # White space that one side renewed must not hide a comment that the other changed, so exact text is asked first.
    for version in (str, squeeze):
        old = None if base is None else version(base)
        if version(main) == version(unit) or version(unit) == old:
            return main
        if version(main) == old:
            return unit
    return None


def _merge_items(path: Path, base: JsonNode | None, main: JsonNode, unit: JsonNode) -> str | EntryClash:
    rows = _align(path, base, main, unit)
    if isinstance(rows, EntryClash):
        return rows
    placed: list[Placed] = []
    nodes = (base, main, unit)
    for row in rows:
        items = [node.items[at] if node and at is not None else None for node, at in zip(nodes, row, strict=True)]
        found = _merge_item(path, *items)
        if isinstance(found, EntryClash):
            return found
        places = tuple((node, at) for node, at in zip((main, unit), row[1:], strict=True) if at is not None)
        placed.append(Placed(*found, places))
    head = settle_text(base.head if base else "", main.head, unit.head)
    tail = settle_text(base.tail if base else "", main.tail, unit.tail)
    if head is None or tail is None:
        return _at(path, "has comments that are changed on both sides, differently")
    layout = settle_layout(base, main, unit)
    return main.kind + head + _render(placed, layout) + layout.tail(tail, bool(placed)) + main.text[-1]


def _align(path: Path, base: JsonNode | None, main: JsonNode, unit: JsonNode) -> list[Row] | EntryClash:
    """Pair the items of three containers; refuse an item that one side removed and the other changed."""
    versions = [node for node in (base, main, unit) if node]
    identity = identify(versions)
    base = base or JsonNode(main.kind, "")
    keys = [identity.of(node) for node in (base, main, unit)]
    if identity.by == "value":
        found = align_items(*keys, ordered=identity.ordered)
        return _at(path, found.reason) if isinstance(found, EntryClash) else found
    repeated = _changed_repeats(base, main, unit)
    if repeated:
        return _at((*path, repeated), "is there twice")
    rows = align_by_key(*keys)
    if isinstance(rows, EntryClash):
        return _at(path, rows.reason)
    texts: list[dict[object, JsonItem]] = [
        dict(zip(known, node.items, strict=True)) for known, node in zip(keys, (base, main, unit), strict=True)
    ]
    for key in keys[0]:
        old, mine, other = (text.get(key) for text in texts)
        left = mine or other
        # align_by_key looks at keys only. White space does not count: a re-indented entry is not "changed".
        if old and left and not (mine and other) and squeeze(left.value.text) != squeeze(old.value.text):
            clash = settle_value(1, 2 if mine else ABSENT, 2 if other else ABSENT)
            return _at((*path, label(key)), clash.reason if isinstance(clash, EntryClash) else "")
    return rows


def _changed_repeats(base: JsonNode, main: JsonNode, unit: JsonNode) -> str | None:
    """Name a key that stands twice in an object, unless neither side touched any of its entries."""
    if main.kind != "{":
        return None
    for node in (base, main, unit):
        # A repeated key that nobody touched was there before; refusing would stop every merge of that file.
        known: set[str] = set()
        for item in node.items:
            if item.key in known:
                texts = [[i.value.text for i in each.items if i.key == item.key] for each in (base, main, unit)]
                if texts[0] != texts[1] or texts[1] != texts[2]:
                    return item.key
            known.add(item.key)
    return None


def _merge_item(
    path: Path, base: JsonItem | None, main: JsonItem | None, unit: JsonItem | None
) -> tuple[JsonItem, str] | EntryClash:
    """Merge the versions of one item; returns its parts and the text of its value."""
    if main is None or unit is None:
        item = main or unit
        return EntryClash("") if item is None else (item, item.value.text)
    path = (*path, *_name(main))
    if base is None and not main.name and squeeze(main.value.text) != squeeze(unit.value.text):
        return _at(path, "is added on both sides, differently")
    value = merge_values(path, base.value if base else None, main.value, unit.value)
    if isinstance(value, EntryClash):
        return value
    parts = [settle_text(*texts) for texts in zip(_parts(base), _parts(main), _parts(unit), strict=True)]
    # Each part by itself: a comment changed on one side and a value on the other do not meet.
    lead, name, gap, trail = parts
    if lead is None or name is None or gap is None or trail is None:
        return _at(path, "has a comment that is changed on both sides, differently")
    return JsonItem(main.key, lead, name, main.value, gap, trail), value


def _parts(item: JsonItem | None) -> tuple[Any, ...]:
    return (item.lead, item.name, item.gap, item.trail) if item else (None, None, None, None)


def _render(placed: Sequence[Placed], layout: Layout) -> str:
    text = ""
    for at, each in enumerate(placed):
        last = at == len(placed) - 1
        lead = layout.lead(each.item.lead, at == 0, each.places)
        # The item that was last on its side has no comma; in the middle it needs one.
        comma = "" if last and not layout.comma else ","
        gap = each.item.gap if comma or each.item.gap.strip() else ""
        if comma and not last and not gap:
            gap = layout.gap
        text += lead + each.item.name + each.value + gap + comma + each.item.trail
    return text


def _name(item: JsonItem) -> Path:
    """Name an item by its key, or by the field of its value that may identify it."""
    if item.name:
        return (item.key,)
    values = (field_value(item.value, field) for field in ID_FIELDS)
    return next(((label(value),) for value in values if value), ())


def _at(path: Path, reason: str) -> EntryClash:
    return EntryClash(f"{show_key(path) if path else 'the file'} {reason}")

"""The layout of one object or array: one item a line or all on one, the comma at the end, and where commas stand."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gitprun.resolvers.json.reader import JsonNode


@dataclass(frozen=True, slots=True)
class Layout:
    """How the items of a merged container are set.

    ``multi``: each on a line of its own; ``first`` and ``next`` are the white space before items, ``close`` that
    before the closing bracket, ``gap`` that before a comma, ``comma`` tells of one after the last item.
    """

    multi: bool
    first: str
    next: str
    close: str
    gap: str
    comma: bool

    def lead(self, lead: str, first: bool, places: Sequence[tuple[JsonNode, int]]) -> str:
        """Return the text before an item: white space is renewed where it moved in or out of the first place, or comes
        from a container that is set otherwise.
        """
        # A comment stands there: it is somebody's text and goes with its item as it is.
        if lead.strip():
            return lead
        alike = [(node, at) for node, at in places if _is_multi(node) is self.multi]
        # Left as it was where the item keeps its place and its container its shape: no line changes without need.
        if any(node.items[at].lead == lead and (at == 0) == first for node, at in alike):
            return lead
        if alike and "\n" in lead:
            return lead
        # Indented as its new neighbours: a lead taken along from the other place would put two items on one line.
        return self.first if first else self.next

    def tail(self, tail: str, filled: bool) -> str:
        """Return the text before the closing bracket."""
        if tail.strip():
            return tail
        if not filled:
            return "" if "\n" in tail and tail.count("\n") == 1 else tail
        return tail if ("\n" in tail) == ("\n" in self.close) else self.close


def settle_layout(base: JsonNode | None, main: JsonNode, unit: JsonNode) -> Layout:
    """Merge the layouts of three versions of a container; one without items has no opinion."""
    # Main's first: where several layouts would do, the merge looks as main does.
    filled = [node for node in (main, unit, base) if node and node.items]
    if not filled:
        return Layout(False, "", " ", "", "", main.comma)
    multi = _settle(_is_multi(base), _is_multi(main), _is_multi(unit))
    comma = _settle(_has_comma(base), _has_comma(main), _has_comma(unit))
    model = next((node for node in filled if _is_multi(node) is multi), filled[0])
    leads = [item.lead for item in model.items if not item.lead.strip()]
    # {"a":1} without a space after the colon has none after its commas either.
    compact = model.kind == "{" and model.items[0].name.endswith(":")
    first = leads[0] if leads and not model.items[0].lead.strip() else ("\n" if multi else "")
    after = [item.lead for item in model.items[1:] if not item.lead.strip() and ("\n" in item.lead) == multi]
    if not after:
        after = [first] if multi else [lead for node in filled for lead in _next_leads(node)]
    gaps = [item.gap for node in filled for item in node.items[:-1]]
    return Layout(
        multi=multi,
        first=first,
        next=min(after, key=len) if after else "" if compact else " ",
        close=model.tail if not model.tail.strip() else "\n",
        gap=gaps[0] if gaps and not gaps[0].strip() else "",
        comma=comma,
    )


def _next_leads(node: JsonNode) -> list[str]:
    return [item.lead for item in node.items[1:] if not item.lead.strip() and "\n" not in item.lead]


def _is_multi(node: JsonNode | None) -> bool | None:
    return any("\n" in item.lead for item in node.items) if node and node.items else None


def _has_comma(node: JsonNode | None) -> bool | None:
    return node.comma if node and node.items else None


def _settle(base: bool | None, main: bool | None, unit: bool | None) -> bool:
    """Merge a yes-or-no property three ways; None is no opinion, and where both differ from nothing main's holds."""
    if main is None or unit is None:
        return bool(unit if main is None else main)
    return unit if main == base else main

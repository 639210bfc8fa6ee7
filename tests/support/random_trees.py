"""Random documents, edits of them, and what a merge of two edits must hold, told without any resolver."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

NAMES = ("alpha", "beta", "gamma", "features", "members", "tags", "args")
NEW_NAMES = ("new1", "new2", "new3")
SCALARS = ("one", "two", "three words", 2, 3, True, "x: y", "# no", "it's", 'q"q')
CONTRADICTION = object()


@dataclass(frozen=True)
class Versions:
    """Three versions of one document, and a number that decides how they are written."""

    base: dict[str, Any]
    main: dict[str, Any]
    unit: dict[str, Any]
    style: int


@st.composite
def versions(draw: st.DrawFn) -> Versions:
    """Draw a document and two edits of it."""
    base = {name: draw(_values(0)) for name in draw(_some(NAMES, 1, 5))}
    main, unit = (_edited(draw, base) for _ in range(2))
    return Versions(base, main, unit, draw(st.integers(0, 99)))


def merge_models(base: Any, main: Any, unit: Any) -> Any:
    """Say what a merge holds, order aside; CONTRADICTION when the sides cannot both be right, None for nothing."""
    if _same(main, unit) or _same(unit, base):
        return main
    if _same(main, base):
        return unit
    if isinstance(main, dict) and isinstance(unit, dict):
        old = base if isinstance(base, dict) else {}
        keys = dict.fromkeys((*old, *main, *unit))
        merged = {key: merge_models(old.get(key), main.get(key), unit.get(key)) for key in keys}
        if any(value is CONTRADICTION for value in merged.values()):
            return CONTRADICTION
        return {key: value for key, value in merged.items() if value is not None}
    if base is None and all(isinstance(value, list) and _are_rows(value) for value in (main, unit)):
        base = []  # each row stands by itself
    if all(isinstance(value, list) for value in (base, main, unit)):
        everything = [*base, *main, *unit]
        if all(isinstance(item, dict) for item in everything):
            rows = merge_models(*({item["name"]: item for item in value} for value in (base, main, unit)))
            return rows if rows is CONTRADICTION else list(rows.values())
        if all(isinstance(item, str) for item in everything):
            return [
                item
                for item in dict.fromkeys(everything)
                if (item in main and item in unit) or (item not in base and (item in main or item in unit))
            ]
    return CONTRADICTION


def unordered(value: Any) -> Any:
    """Reduce a document to what counts when order does not."""
    if isinstance(value, Mapping):
        return {key: unordered(below) for key, below in value.items()}
    if isinstance(value, list):
        return sorted(repr(unordered(item)) for item in value)
    return repr(value)


def chance(style: int, *what: object) -> float:
    """Decide how something is written: the same in every version."""
    return zlib.crc32(repr((style, what)).encode()) / 2**32


def _are_rows(value: list[Any]) -> bool:
    return all(isinstance(item, dict) for item in value)


def _same(one: Any, two: Any) -> bool:
    return bool(one == two) and repr(one) == repr(two)


def _some(names: tuple[str, ...], least: int, most: int) -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(names), min_size=least, max_size=most, unique=True)


def _values(depth: int) -> st.SearchStrategy[Any]:
    scalars = st.sampled_from(SCALARS)
    if depth > 2:
        return scalars
    return st.one_of(
        scalars,
        scalars,
        _some(("a", "b", "c", "d", "e", "f"), 0, 4),
        st.lists(st.sampled_from(("n1", "n2", "n3")), min_size=1, max_size=3, unique=True).flatmap(_rows),
        _some(NAMES, 1, 4).flatmap(lambda names: st.fixed_dictionaries({name: _values(depth + 1) for name in names})),
    )


def _rows(names: list[str]) -> st.SearchStrategy[Any]:
    return st.tuples(*(st.sampled_from(SCALARS) for _ in names)).map(
        lambda values: [{"name": name, "value": value} for name, value in zip(names, values, strict=True)]
    )


def _edited(draw: st.DrawFn, base: dict[str, Any]) -> dict[str, Any]:
    copy = deepcopy(base)
    for _ in range(draw(st.integers(1, 3))):
        place: Any = copy
        while isinstance(place, dict):
            below = [value for value in place.values() if isinstance(value, dict | list)]
            if not below or not draw(st.booleans()):
                break
            place = draw(st.sampled_from(below))
        if isinstance(place, dict):
            _edit_map(draw, place)
        elif place and isinstance(place[0], dict):
            _edit_rows(draw, place)
        else:
            _edit_items(draw, place)
    return copy


def _edit_map(draw: st.DrawFn, place: dict[str, Any]) -> None:
    what = draw(st.sampled_from(("add", "change", "remove")))
    if what == "remove" and len(place) > 1:
        del place[draw(st.sampled_from(sorted(place)))]
    elif what == "change" and place:
        place[draw(st.sampled_from(sorted(place)))] = draw(_values(1))
    else:
        pairs = [pair for pair in place.items() if pair[0] not in NEW_NAMES]
        pairs.insert(draw(st.integers(0, len(pairs))), (draw(st.sampled_from(NEW_NAMES)), draw(_values(1))))
        place.clear()
        place.update(pairs)


def _edit_rows(draw: st.DrawFn, place: list[dict[str, Any]]) -> None:
    what = draw(st.sampled_from(("add", "change", "remove")))
    at = draw(st.integers(0, len(place) - 1))
    name = draw(st.sampled_from(("n1", "n2", "n3", "n4", "n5")))
    if what == "change":
        place[at]["value"] = draw(st.sampled_from(SCALARS))
    elif what == "remove" and len(place) > 1:
        del place[at]
    elif all(row["name"] != name for row in place):
        place.insert(at, {"name": name, "value": draw(st.sampled_from(SCALARS))})


def _edit_items(draw: st.DrawFn, place: list[str]) -> None:
    item = draw(st.sampled_from("abcdefgh"))
    if place and draw(st.booleans()):
        del place[draw(st.integers(0, len(place) - 1))]
    elif item not in place:
        place.insert(draw(st.integers(0, len(place))), item)

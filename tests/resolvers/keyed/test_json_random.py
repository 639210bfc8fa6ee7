"""Random edits of JSON on two sides: nothing lost, nothing back, always JSON, the same whichever side is which."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from hypothesis import event, given
from hypothesis import strategies as st

from gitprun.resolvers.base import FileConflict, Refused
from gitprun.resolvers.entries import ABSENT, EntryClash, settle_value
from gitprun.resolvers.json import merge_json
from gitprun.resolvers.json.reader import Document, read
from gitprun.resolvers.kinds import kinds_for

NAMES = ["alpha", "be ta", "ga.mma", "d\u00e9lta", 'quo"te', "x/y//z", "", "t\ttab"]
SCALARS = st.one_of(
    st.integers(-9, 99), st.booleans(), st.none(), st.sampled_from(["", "text", "a // b", "/* c */", ","])
)
OBJECTS = st.recursive(
    st.dictionaries(st.sampled_from(NAMES), SCALARS, max_size=4),
    lambda inner: st.dictionaries(st.sampled_from(NAMES), st.one_of(SCALARS, inner), max_size=5),
    max_leaves=12,
)
WORDS = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=6)
Edit = tuple[str, int, int, Any]
EDITS = st.lists(
    st.tuples(st.sampled_from(["add", "add", "remove", "change"]), st.integers(0, 99), st.integers(0, 99), SCALARS),
    max_size=3,
)
Layout = tuple[str | None, bool]
LAYOUTS = st.sampled_from([("  ", False), ("\t", True), (None, False), ("    ", True)])


def edited(value: dict[str, Any], edits: list[Edit]) -> dict[str, Any]:
    """Apply edits to a copy; each picks one of all objects, and one entry or place in it."""
    copy: dict[str, Any] = json.loads(json.dumps(value))
    for what, where, which, new in edits:
        objects = [copy]
        for each in objects:
            objects += (inner for inner in each.values() if isinstance(inner, dict))
        target = objects[where % len(objects)]
        keys = list(target)
        if what == "add":
            key = NAMES[which % len(NAMES)] + str(where % 3)
            at = which % (len(keys) + 1)
            entries = [pair for pair in target.items() if pair[0] != key]
            target.clear()
            target.update([*entries[:at], (key, new), *entries[at:]])
        elif keys and what == "remove":
            del target[keys[which % len(keys)]]
        elif keys:
            target[keys[which % len(keys)]] = new
    return copy


def render(value: Any, layout: Layout, depth: int = 0, path: str = "") -> str:
    """Write JSON; with comments, each entry has one above or behind it that names its path."""
    indent, commented = layout
    if not isinstance(value, (dict, list)):
        return json.dumps(value)
    pairs = list(value.items()) if isinstance(value, dict) else [(None, item) for item in value]
    brackets = "{}" if isinstance(value, dict) else "[]"
    if not pairs:
        return brackets
    lines = []
    for at, (key, item) in enumerate(pairs):
        inner = f"{path}.{key}".encode("unicode_escape").decode()
        name = "" if key is None else f"{json.dumps(key)}: "
        comma = "," if at < len(pairs) - 1 else ""
        above = f"// above {inner}\n{(indent or '') * (depth + 1)}" if commented and key and len(key) % 2 else ""
        behind = f" // behind {inner}" if commented and key and not len(key) % 2 else ""
        lines.append(f"{above}{name}{render(item, layout, depth + 1, inner)}{comma}{behind}")
    if indent is None:
        return brackets[0] + " ".join(lines) + brackets[1]
    start = "\n" + indent * (depth + 1)
    return brackets[0] + start + start.join(lines) + "\n" + indent * depth + brackets[1]


def leaves(value: Any, path: tuple[str, ...] = ()) -> dict[tuple[str, ...], str]:
    """Flatten: every path with its scalar; objects are entries too."""
    if not isinstance(value, dict):
        return {path: repr(value)}
    found = {path: "{}"}
    for key, inner in value.items():
        found |= leaves(inner, (*path, key))
    return found


def expected(*versions: Mapping[tuple[str, ...], str]) -> dict[tuple[str, ...], str] | None:
    """Settle every leaf by itself; None when one clashes or an object is removed here and changed there."""
    base, main, unit = versions
    due: dict[tuple[str, ...], str] = {}
    for path in {*base, *main, *unit}:
        value = settle_value(base.get(path, ABSENT), main.get(path, ABSENT), unit.get(path, ABSENT))
        if isinstance(value, EntryClash):
            return None
        if isinstance(value, str):
            due[path] = value
    for side, other in ((main, unit), (unit, main)):
        lost = [path for path in base if side.get(path) != "{}" and _below(side, path) != _below(base, path)]
        if any(_below(other, path) not in (_below(base, path), _below(side, path)) for path in lost):
            return None
    return due


def _below(version: Mapping[tuple[str, ...], str], path: tuple[str, ...]) -> dict[tuple[str, ...], str]:
    return {known: value for known, value in version.items() if known[: len(path)] == path}


def plain(text: str) -> Any:
    """Read a text with comments."""
    document = read(text)
    assert isinstance(document, Document), text

    def build(node: Any) -> Any:
        if node.kind == "{":
            keys = [item.key for item in node.items]
            assert len(keys) == len(set(keys)), text
            return {item.key: build(item.value) for item in node.items}
        return [build(item.value) for item in node.items] if node.kind == "[" else json.loads(node.text)

    return build(document.root)


def merge(base: str, main: str, unit: str) -> str | None:
    conflict = FileConflict("a.jsonc", base.encode(), main.encode(), unit.encode())
    found = merge_json(conflict)
    if isinstance(found, Refused):
        assert found.reason
        return None
    assert kinds_for("a.jsonc")[-1].faults("a.jsonc", found.text) == ()
    return found.text.decode()


@given(OBJECTS, EDITS, EDITS, LAYOUTS)
def test_objects(base: dict[str, Any], by_main: list[Edit], by_unit: list[Edit], layout: Layout) -> None:
    versions = [base, edited(base, by_main), edited(base, by_unit)]
    due = expected(*map(leaves, versions))
    texts = [render(version, layout) + "\n" for version in versions]
    merged, swapped = merge(*texts), merge(texts[0], texts[2], texts[1])
    event(f"due: {due is not None}, merged: {merged is not None}")
    if merged is None or swapped is None:
        # What a comment or the order of keys forbids is refused either way.
        assert merged == swapped
        assert due is None or layout[1] or _reordered(versions)
        return
    assert merged == render(plain(merged), layout) + "\n"
    if base not in versions[1:] and versions[1] != versions[2]:
        assert due is not None
    if due is not None:
        assert leaves(plain(merged)) == leaves(plain(swapped)) == due


def _reordered(versions: list[dict[str, Any]]) -> bool:
    """Tell whether a side moved an entry that all versions have (added again at another place)."""
    orders = []
    for version in versions:
        found = list(leaves(version))
        orders.append([path for path in found if all(path in leaves(other) for other in versions)])
    return not orders[0] == orders[1] == orders[2]


@given(WORDS, WORDS, WORDS)
def test_sets(base: list[str], main: list[str], unit: list[str]) -> None:
    texts = [json.dumps({"list": version}) for version in (base, main, unit)]
    merged, swapped = merge(*texts), merge(texts[0], texts[2], texts[1])
    assert (merged is None) == (swapped is None)
    if merged is None or swapped is None:
        return
    found = json.loads(merged)["list"]
    due = {word for word in {*base, *main, *unit} if (word in main) + (word in unit) > (word in base)}
    assert sorted(found) == sorted(due) == sorted(json.loads(swapped)["list"])


ROWS = st.dictionaries(st.integers(1, 6), st.fixed_dictionaries({}, optional={"a": SCALARS, "b": SCALARS}), max_size=5)


ROW_EDITS = st.dictionaries(
    st.integers(1, 8),
    st.one_of(st.none(), st.fixed_dictionaries({}, optional={"a": SCALARS, "b": SCALARS})),
    max_size=3,
)


@given(ROWS, ROW_EDITS, ROW_EDITS)
def test_records(base: dict[int, Any], by_main: dict[int, Any], by_unit: dict[int, Any]) -> None:
    main, unit = ({k: row for k, row in {**base, **by}.items() if row is not None} for by in (by_main, by_unit))
    versions = (base, main, unit)
    texts = [json.dumps([{"id": key, **row} for key, row in version.items()], indent=1) for version in versions]
    due = expected(*(leaves({str(key): row for key, row in version.items()}) for version in versions))
    merged, swapped = merge(*texts), merge(texts[0], texts[2], texts[1])
    assert (merged is None) == (swapped is None)
    for text in (merged, swapped):
        if text is not None and main != unit and base not in (main, unit):
            event("merged")
            found = {str(row.pop("id")): row for row in json.loads(text)}
            assert leaves(found) == due


@given(st.binary(max_size=40), st.binary(max_size=40), st.binary(max_size=40))
def test_any_bytes(base: bytes, main: bytes, unit: bytes) -> None:
    found = merge_json(FileConflict("a.json", base, main, unit))
    assert isinstance(found, Refused) or found.text in (main, unit) or b"{" in found.text or b"[" in found.text


@given(
    st.lists(
        st.sampled_from(["{", "}", "[", "]", ",", ":", '"a"', "1", " ", "\n", "// c\n", "/* d */", "null"]), max_size=20
    )
)
def test_the_reader_never_fails_and_keeps_all(tokens: list[str]) -> None:
    text = "".join(tokens)
    document = read(text)
    if isinstance(document, Document):
        assert document.lead + document.root.text + document.tail == text

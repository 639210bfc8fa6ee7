"""The three-way rule for keyed entries: value, order, proof."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.resolvers.entries import (
    ABSENT,
    Absent,
    EntryClash,
    common_order,
    merge_keys,
    prove_entries,
    settle_value,
    show_key,
)

KEYS = st.lists(st.sampled_from("abcdefgh"), unique=True)
ENTRIES = st.dictionaries(st.sampled_from("abcdef"), st.integers(0, 2))


@pytest.mark.parametrize(
    ("base", "main", "unit", "due"),
    [
        (1, 1, 1, 1),
        (1, 2, 1, 2),
        (1, 1, 2, 2),
        (1, 2, 2, 2),
        (1, ABSENT, 1, ABSENT),
        (1, 1, ABSENT, ABSENT),
        (1, ABSENT, ABSENT, ABSENT),
        (ABSENT, 1, ABSENT, 1),
        (ABSENT, ABSENT, 1, 1),
        (ABSENT, 1, 1, 1),
        (ABSENT, 1, 2, EntryClash("is added on both sides, differently")),
        (1, 2, 3, EntryClash("is changed on both sides, differently")),
        (1, ABSENT, 2, EntryClash("is removed on main and changed by the unit")),
        (1, 2, ABSENT, EntryClash("is removed by the unit and changed on main")),
    ],
)
def test_one_value(base: int | Absent, main: int | Absent, unit: int | Absent, due: int | Absent | EntryClash) -> None:
    assert settle_value(base, main, unit) == due


@pytest.mark.parametrize(
    ("base", "main", "unit", "due"),
    [
        ("xc", "xcm", "xcu", "xcmu"),
        ("xc", "mxc", "uxc", "muxc"),
        ("xc", "xmc", "xuc", "xmuc"),
        ("xcd", "xd", "xcud", "xud"),  # the unit's key follows what main removed
        ("xcd", "dxc", "xcud", "dxcu"),  # main reorders: the addition goes with its predecessor
        ("xcd", "xcd", "cdx", "cdx"),
        ("xcd", "dxc", "dxc", "dxc"),
        ("xc", "xcsm", "xcsu", "xcsmu"),  # one copy of what both added
        ("xc", "xcms", "xcsu", "xcmsu"),
        ("xc", "sxc", "xcsu", "sxcu"),  # added by both at two places: main's
        ("ac", "abc", "acd", "abcd"),
        ("ac", "acz", "acd", "acdz"),  # sorted stays sorted
        ("", "za", "yb", "zayb"),
        ("", "z", "y", "zy"),
    ],
)
def test_order(base: str, main: str, unit: str, due: str) -> None:
    assert merge_keys(base, main, unit) == list(due)


def test_order_refused() -> None:
    assert merge_keys("abc", "bac", "acb") == EntryClash("is reordered on both sides, differently")
    assert merge_keys("ab", "aba", "ab") == EntryClash('holds "a" twice')


def test_orders_by_which_keys_may_be_sorted() -> None:
    assert merge_keys(["a", "B"], ["a", "B", "c"], ["A", "a", "B"]) == ["A", "a", "B", "c"]
    assert merge_keys(["r2", "r9"], ["r2", "r9", "r11"], ["r2", "r9", "r10"]) == ["r2", "r9", "r10", "r11"]
    assert merge_keys([("t", 1), ("t", "x")], [("t", 1), ("t", "x"), ("t", 0)], [("t", 1), ("t", "x")]) == [
        ("t", 1),
        ("t", "x"),
        ("t", 0),
    ]
    assert common_order(["a"], ["a", "b"]) is None


def test_a_list_of_one_item_is_not_taken_for_sorted() -> None:
    assert common_order(["b"], ["b", "d"], ["b", "c"]) is None
    assert merge_keys(["b"], ["b", "d"], ["b", "c"], listed=True) == ["b", "d", "c"]
    assert merge_keys(["a", "b"], ["a", "b", "d"], ["a", "b", "c"], listed=True) == ["a", "b", "c", "d"]
    # Keys of a table: where they stand means nothing, and tools sort them.
    assert merge_keys(["b"], ["b", "d"], ["b", "c"]) == ["b", "c", "d"]


@pytest.mark.parametrize(
    ("merged", "fault"),
    [
        ({"stay": 1, "edit": 2, "m": 1, "u": 1}, None),
        ({"stay": 1, "edit": 2, "m": 1}, '"u" is lost'),
        ({"stay": 1, "edit": 2, "m": 1, "u": 1, "gone": 1}, '"gone" came back'),
        ({"stay": 1, "edit": 1, "m": 1, "u": 1}, '"edit" is changed'),
        ({"stay": 1, "edit": 2, "m": 1, "u": 1, "new": 1}, '"new" is on neither side'),
        ([("stay", 1), ("edit", 2), ("m", 1), ("u", 1), ("u", 1)], '"u" is there twice'),
    ],
)
def test_proof(merged: dict[str, int] | list[tuple[str, int]], fault: str | None) -> None:
    base = {"stay": 1, "gone": 1, "edit": 1}
    main = {"stay": 1, "edit": 1, "m": 1}
    unit = {"stay": 1, "gone": 1, "edit": 2, "u": 1}
    assert prove_entries(base, main, unit, merged) == fault


def test_proof_names_a_clash() -> None:
    assert prove_entries({("a", "b"): 1}, {("a", "b"): 2}, {}, {("a", "b"): 2}) == (
        '"a.b" is removed by the unit and changed on main'
    )


def test_keys_in_messages() -> None:
    assert [show_key(key) for key in ("a\x1b[0m", b"caf\xc3\xa9", ("x", 1, b"y"), "\udc80")] == [
        r'"a\x1b[0m"',
        '"café"',
        '"x.1.y"',
        '"?"',
    ]


@given(KEYS, KEYS, KEYS)
def test_no_key_is_lost_or_comes_back(base: list[str], main: list[str], unit: list[str]) -> None:
    found, swapped = merge_keys(base, main, unit), merge_keys(base, unit, main)
    if isinstance(found, EntryClash):
        assert swapped == found
        return
    assert isinstance(swapped, list)
    due = {key for key in {*base, *main, *unit} if (key in main) + (key in unit) > (key in base)}
    assert len(found) == len(due)
    assert set(found) == due == set(swapped)
    stays = set(base) & set(main) & set(unit)
    assert [k for k in found if k in stays] in (
        [k for k in main if k in stays],
        [k for k in unit if k in stays],
    )
    if all(keys == sorted(keys) for keys in (base, main, unit)) and len(main) > 1 < len(unit):
        assert found == sorted(found)


@given(KEYS, KEYS)
def test_a_side_that_changed_nothing_has_no_say(base: list[str], side: list[str]) -> None:
    assert merge_keys(base, side, base) == merge_keys(base, base, side) == side


@given(ENTRIES, ENTRIES, ENTRIES)
def test_only_the_settled_entries_are_proved(base: dict[str, int], main: dict[str, int], unit: dict[str, int]) -> None:
    keys = {*base, *main, *unit}
    due = {k: settle_value(base.get(k, ABSENT), main.get(k, ABSENT), unit.get(k, ABSENT)) for k in keys}
    clashes = any(isinstance(value, EntryClash) for value in due.values())
    merged = {k: value for k, value in due.items() if isinstance(value, int)}
    assert (prove_entries(base, main, unit, merged) is None) is not clashes
    for key in merged:
        assert prove_entries(base, main, unit, {k: v for k, v in merged.items() if k != key}) is not None
        assert prove_entries(base, main, unit, merged | {key: 7}) is not None

"""The order in which branches land: conflict-free first, then fewest partners, small before large."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from gitprun.landing.plan import plan_safe_order

NAMES = st.sampled_from("abcdef")


def test_conflict_free_first_then_fewest_partners_then_small() -> None:
    partners = {"hub": ["x", "y", "z"], "x": ["hub"], "y": ["hub"], "z": ["hub"]}
    sizes = {"hub": 1, "x": 9, "y": 2, "z": 5, "free": 50, "other": 40}
    assert plan_safe_order(sizes, partners, ["hub", "x", "y", "z", "free", "other"]) == (
        "other",
        "free",
        "y",
        "z",
        "x",
        "hub",
    )


def test_ties_stay_as_given() -> None:
    assert plan_safe_order({}, {}, ["b", "a", "c"]) == ("b", "a", "c")
    assert plan_safe_order({"a": 3, "b": 3}, {"a": ["b"]}, ["b", "a"]) == ("b", "a")


def test_a_pair_named_from_one_side_counts_for_both_and_the_target_is_a_partner() -> None:
    assert plan_safe_order({}, {"a": ["b"]}, ["a", "b", "c"]) == ("c", "a", "b")
    assert plan_safe_order({}, {"a": ["main"]}, ["a", "c"]) == ("c", "a")
    assert plan_safe_order({}, {"a": ["a"]}, ["a", "a"]) == ("a",)


@given(
    st.dictionaries(NAMES, st.integers(0, 3)),
    st.dictionaries(NAMES, st.frozensets(NAMES)),
    st.lists(NAMES),
)
def test_every_branch_once_and_the_free_ones_first(
    sizes: dict[str, int], partners: dict[str, frozenset[str]], names: list[str]
) -> None:
    order = plan_safe_order(sizes, partners, names)
    assert sorted(order) == sorted(set(names))
    blocked = {n for n, others in partners.items() if others - {n}} | {
        o for n, os in partners.items() for o in os - {n}
    }
    assert [name in blocked for name in order] == sorted(name in blocked for name in order)
    assert plan_safe_order(sizes, partners, order) == order

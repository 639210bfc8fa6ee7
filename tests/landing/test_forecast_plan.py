"""Which branches can meet: by a path, by a file where a folder is, by an addition to a folder that was renamed."""

from __future__ import annotations

from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from gitprun.landing.forecast_plan import (
    Branch,
    Forecast,
    Meeting,
    PathForecast,
    Reach,
    folders_above,
    folders_left,
    partners_of,
    plan_meetings,
)
from gitprun.model.names import Oid

PATHS = st.lists(st.sampled_from([b"a", b"b"]), min_size=1, max_size=3).map(b"/".join)


def reach(*paths: bytes, added: tuple[bytes, ...] = (), gone: tuple[bytes, ...] = ()) -> Reach:
    return Reach(frozenset((*paths, *added)), frozenset(added), frozenset(gone))


def test_folders() -> None:
    assert folders_above(b"a/b/c") == [b"a", b"a/b"]
    assert folders_above(b"a") == []
    assert folders_left([b"a/b/c", b"x", b"a/d"]) == {b"a", b"a/b"}


def test_same_path() -> None:
    assert plan_meetings({0: reach(b"a", b"b"), 1: reach(b"c"), 2: reach(b"b", b"d"), -1: reach(b"d")}) == {
        (0, 2),
        (-1, 2),
    }


def test_a_file_where_the_other_has_a_folder() -> None:
    assert plan_meetings({0: reach(b"x"), 1: reach(b"x/y/z"), 2: reach(b"xy")}) == {(0, 1)}


def test_an_addition_to_a_folder_the_other_left_empty() -> None:
    moved = reach(b"d/x", b"e/x", gone=(b"d",))
    assert plan_meetings({0: moved, 1: reach(added=(b"d/in/new",)), 2: reach(b"d/y")}) == {(0, 1)}


@given(st.dictionaries(st.integers(-1, 4), st.tuples(st.frozensets(PATHS), st.frozensets(PATHS), st.frozensets(PATHS))))
def test_finds_what_comparing_all_with_all_finds(given: dict[int, tuple[frozenset[bytes], ...]]) -> None:
    reaches = {side: Reach(paths | added, added, gone) for side, (paths, added, gone) in given.items()}

    def meets(one: Reach, other: Reach) -> bool:
        above = any(folder in other.paths for path in one.paths for folder in folders_above(path))
        moved = any(folder in other.gone for path in one.added for folder in folders_above(path))
        return bool(one.paths & other.paths) or above or moved

    expected = {
        (a, b)
        for a, b in combinations(sorted(reaches), 2)
        if meets(reaches[a], reaches[b]) or meets(reaches[b], reaches[a])
    }
    assert plan_meetings(reaches) == expected


def test_counts_and_what_is_bad() -> None:
    names = [Branch(name=name, tip=Oid(name * 40), paths=1) for name in "abc"]
    row = PathForecast(path="f", kind="contents", reasons=("no",))
    met = (
        Meeting(one="a", other="b", state="conflict", paths=(row,)),
        Meeting(one="a", other="c", state="settled"),
    )
    against = (Meeting(one="c", other="main", state="suspect"),)
    seen = Forecast(
        target="refs/heads/main",
        tip=Oid("0" * 40),
        branches=tuple(names),
        meetings=met,
        against=against,
        order=("a", "b", "c"),
        left_out=(("d", "why"),),
    )
    assert seen.bad == (against[0], met[0])
    assert partners_of((*met, *against)) == {"a": {"b"}, "c": {"main"}}
    assert seen.as_json() == {
        "target": "refs/heads/main",
        "tip": "0" * 40,
        "branches": [
            {
                "name": name,
                "tip": name * 40,
                "run": "",
                "unit": "",
                "live": False,
                "paths": 1,
                "gate": "",
                "named": "",
                "suspect": "",
                "refused": "",
                "held": "",
                "accept": (),
            }
            for name in "abc"
        ],
        "pairs": [
            {
                "one": "a",
                "other": "b",
                "state": "conflict",
                "paths": [
                    {"path": "f", "kind": "contents", "detail": "", "resolver": "", "reasons": ("no",), "dropped": 0}
                ],
            },
            {"one": "a", "other": "c", "state": "settled", "paths": []},
        ],
        "against": [{"one": "c", "other": "main", "state": "suspect", "paths": []}],
        "order": ["a", "b", "c"],
        "left_out": [{"name": "d", "reason": "why"}],
        "counts": {
            "pairs": 3,
            "compared": 2,
            "pruned": 1,
            "suspect": 0,
            "conflict": 1,
            "settled": 1,
            "clean": 0,
        },
    }

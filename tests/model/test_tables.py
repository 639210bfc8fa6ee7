"""Tables are read strictly, and every complaint names its place."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitprun.model.errors import PlanError
from gitprun.model.tables import Table, parse_duration, parse_size


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (1, 1.0),
        (0.5, 0.5),
        ("90", 90.0),
        ("90s", 90.0),
        ("40m", 2400.0),
        ("1h30m", 5400.0),
        (" 1h 30m 5s ", 5405.0),
        ("1.5h", 5400.0),
        ("0.5", 0.5),
        ("2 m", 120.0),
        (0, None),
        (-1, None),
        ("0s", None),
        ("", None),
        ("  ", None),
        ("h", None),
        ("1h30", None),
        ("30m1h", None),
        ("1 0m", None),
        ("-5s", None),
        ("5 minutes", None),
        ("1e3", None),
        ("٣m", None),
        ("9" * 400, None),
        (10**400, None),
        (float("nan"), None),
        (float("inf"), None),
        (True, None),
        (None, None),
        ([], None),
    ],
)
def test_durations(value: object, seconds: float | None) -> None:
    assert parse_duration(value) == seconds


@pytest.mark.parametrize(
    ("value", "size"),
    [
        (1, 1),
        ("50", 50),
        ("500kB", 500_000),
        ("50MB", 50_000_000),
        ("2 GB", 2_000_000_000),
        ("1.5k", 1500),
        ("50MiB", 52_428_800),
        ("1Ki", 1024),
        ("7B", 7),
        (0, None),
        (-1, None),
        ("", None),
        ("0MB", None),
        ("50iB", None),
        ("MB", None),
        ("5TB", None),
        ("9" * 400, None),
        (1.5, None),
        (True, None),
        (None, None),
    ],
)
def test_sizes(value: object, size: int | None) -> None:
    assert parse_size(value) == size


@settings(deadline=None)
@given(st.one_of(st.text(), st.integers(), st.floats(), st.booleans(), st.none(), st.lists(st.integers())))
def test_any_value_is_a_duration_or_none(value: object) -> None:
    seconds, size = parse_duration(value), parse_size(value)
    assert seconds is None or 0 < seconds < 1e9
    assert size is None or size > 0


@settings(deadline=None)
@given(hours=st.integers(0, 99), minutes=st.integers(0, 99), seconds=st.integers(1, 99))
def test_durations_add_up(hours: int, minutes: int, seconds: int) -> None:
    assert parse_duration(f"{hours}h{minutes}m{seconds}s") == hours * 3600 + minutes * 60 + seconds


Read = Callable[[Table], Any]
WRONG: list[tuple[dict[str, Any], Read, str, str]] = [
    ({"k": ""}, lambda t: t.text("k"), "must be a text that is not empty", ""),
    ({"k": 1}, lambda t: t.text("k"), "must be a text that is not empty", ""),
    ({"k": "a\0"}, lambda t: t.text("k"), "must not hold a NUL character", ""),
    ({"k": "a\udcff"}, lambda t: t.text("k"), "is not UTF-8", ""),
    ({"k": "a"}, lambda t: t.texts("k"), 'must be a list of texts, such as ["a", "b"]', ""),
    ({"k": [1]}, lambda t: t.texts("k"), 'must be a list of texts, such as ["a", "b"]', ""),
    ({"k": ["a", " "]}, lambda t: t.texts("k"), "must not hold an empty text", ""),
    ({"k": ["a\0"]}, lambda t: t.texts("k"), "must not hold a NUL character", ""),
    ({"k": "yes"}, lambda t: t.flag("k"), "must be true or false", ""),
    ({"k": 0}, lambda t: t.count("k"), "must be a whole number of at least 1", ""),
    ({"k": True}, lambda t: t.count("k"), "must be a whole number of at least 1", ""),
    ({"k": 1.5}, lambda t: t.count("k"), "must be a whole number of at least 1", ""),
    (
        {"k": "clnoe"},
        lambda t: t.choice("k", ("clone", "worktree")),
        "cannot be 'clnoe'",
        "one of: clone, worktree (meant clone?)",
    ),
    ({"k": "zzz"}, lambda t: t.choice("k", ("clone", "worktree")), "cannot be 'zzz'", "one of: clone, worktree"),
    (
        {"k": "soon"},
        lambda t: t.duration("k"),
        ": invalid duration 'soon'",
        'write seconds as a number, or "90s", "40m", "1h30m"',
    ),
    ({"k": "big"}, lambda t: t.size("k"), ": invalid size 'big'", 'write bytes as a number, or "500kB", "50MB", "2GB"'),
    ({"k": {}}, lambda t: t.tables("k"), "must be written as [[k]]", ""),
]


@pytest.mark.parametrize(("rows", "read", "what", "hint"), WRONG)
def test_values_of_the_wrong_kind(rows: dict[str, Any], read: Read, what: str, hint: str) -> None:
    with pytest.raises(PlanError) as caught:
        read(Table(rows, "plan.toml", "[run]"))
    assert (caught.value.message, caught.value.hint) == (
        f"plan.toml: [run] k{'' if what.startswith(':') else ' '}{what}",
        hint,
    )


def test_values_that_are_absent_are_none() -> None:
    table = Table({}, "plan.toml")
    reads = (table.text, table.texts, table.flag, table.count, table.duration, table.size, table.table)
    assert [read("k") for read in reads] == [None] * 7
    assert table.tables("k") == ()


def test_unknown_keys_name_file_place_and_nearest_key() -> None:
    table = Table({"base": "HEAD", "jbos": 3}, "plan.toml", "[run]")
    table.text("base"), table.count("jobs")
    with pytest.raises(PlanError) as caught:
        table.close()
    assert (caught.value.message, caught.value.hint) == ("plan.toml: [run] unknown key 'jbos'", "did you mean 'jobs'?")


def test_unknown_keys_far_from_all_list_the_known_ones() -> None:
    table = Table({"qqq": 3}, "plan.toml")
    table.text("base"), table.count("jobs"), table.text("base")
    with pytest.raises(PlanError) as caught:
        table.close()
    assert (caught.value.message, caught.value.hint) == (
        "plan.toml: unknown key 'qqq'",
        "known keys here: base, jobs",
    )


def test_inner_tables_know_where_they_are() -> None:
    outer = Table({"executor": {"codex": {"env": {"A": 1}}}}, "prun.toml")
    executor = outer.table("executor")
    assert executor is not None
    codex = executor.table("codex")
    assert codex is not None
    assert (executor.where, codex.where, codex.place("env")) == (
        "[executor]",
        "[executor.codex]",
        "[executor.codex] env",
    )


def test_a_table_that_is_none() -> None:
    with pytest.raises(PlanError) as caught:
        Table({"unit": [1]}, "plan.toml").tables("unit")
    assert caught.value.message == "plan.toml: [[unit]] 1: must be a table"


def test_blank_texts_can_be_let_in() -> None:
    assert Table({"k": ["--tools", ""]}, "plan.toml").texts("k", blank=True) == ("--tools", "")

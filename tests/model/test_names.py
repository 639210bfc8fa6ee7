"""Names are checked once, at the door."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gitprun.model.errors import PlanError
from gitprun.model.names import (
    RunId,
    UnitId,
    base_ref,
    is_run_id,
    kept_ref,
    nearest,
    parse_oid,
    parse_unit_id,
    run_id,
    short,
    unit_branch,
    unit_ref,
)

USABLE = "use letters, digits, _ and - only (at most 100, not starting with -)"


@pytest.mark.parametrize("text", ["a", "reports", "A_b-9", "file-lock", "base", "kept", "r1", "_", "x" * 100])
def test_usable_ids(text: str) -> None:
    assert parse_unit_id(text) == text


@pytest.mark.parametrize(
    ("text", "message", "hint"),
    [
        ("", "plan.toml: unit id '' is not usable", USABLE),
        ("-x", "plan.toml: unit id '-x' is not usable", USABLE),
        ("a b", "plan.toml: unit id 'a b' is not usable", USABLE),
        ("a/b", "plan.toml: unit id 'a/b' is not usable", USABLE),
        ("..", "plan.toml: unit id '..' is not usable", USABLE),
        ("a.lock", "plan.toml: unit id 'a.lock' is not usable", USABLE),
        ("a\n", "plan.toml: unit id 'a\\n' is not usable", USABLE),
        ("\x1b[31m", "plan.toml: unit id '\\x1b[31m' is not usable", USABLE),
        ("grün", "plan.toml: unit id 'grün' is not usable", USABLE),
        ("x" * 101, f"plan.toml: unit id '{'x' * 40}...' is not usable", USABLE),
        ("CON", "plan.toml: unit id 'CON' is reserved on Windows", "choose another id"),
        ("lpt9", "plan.toml: unit id 'lpt9' is reserved on Windows", "choose another id"),
    ],
)
def test_ids_that_are_refused(text: str, message: str, hint: str) -> None:
    with pytest.raises(PlanError) as caught:
        parse_unit_id(text, "plan.toml")
    assert (caught.value.message, caught.value.hint) == (message, hint)


@settings(deadline=None)
@given(st.text())
def test_an_accepted_id_is_safe_in_paths_and_refs(text: str) -> None:
    try:
        unit = parse_unit_id(text)
    except PlanError:
        return
    assert unit == text
    assert text.isascii()
    assert not set(text) - set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-")


def test_refs_of_a_unit() -> None:
    run, unit = run_id(7), UnitId("a")
    assert run == RunId("r7")
    assert [base_ref(run), unit_ref(run, unit), kept_ref(run, unit, "stash"), unit_branch(run, unit)] == [
        "refs/prun/base/r7",
        "refs/prun/r7/a",
        "refs/prun/kept/r7/a/stash",
        "prun/r7/a",
    ]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("r1", True),
        ("r10", True),
        ("r0", False),
        ("r01", False),
        ("r", False),
        ("R1", False),
        ("r1x", False),
        ("r²", False),
    ],
)
def test_run_ids(text: str, expected: bool) -> None:
    assert is_run_id(text) is expected


def test_object_ids() -> None:
    whole = "0123456789abcdef0123456789abcdef01234567"
    assert (parse_oid(whole), short(whole)) == (whole, "0123456789")
    for wrong in ("", whole[:-1], whole.upper(), f"{whole}0", "g" * 40):
        with pytest.raises(ValueError, match="not an object id"):
            parse_oid(wrong)


@pytest.mark.parametrize(("word", "expected"), [("promt", "prompt"), ("prompt", "prompt"), ("zzz", None), ("", None)])
def test_the_nearest_word(word: str, expected: str | None) -> None:
    assert nearest(word, {"prompt", "paths", "timeout"}) == expected

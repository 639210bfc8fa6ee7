"""What is taken back, and what is lost in a merge, told from texts and versions alone."""

from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from gitprun.git.trees import ABSENT, TreeChange
from gitprun.landing.evil_merge import undone_side
from gitprun.landing.past import (
    FirstParentStep,
    Reversal,
    find_reversals,
    is_inverse,
    names_commit,
    reverted_commits,
    speaks_of_reverting,
)
from gitprun.model.names import ZERO, Oid

MODE = "100644"


def oid(letter: str) -> Oid:
    return Oid(letter * 40) if letter else ZERO


def change(path: str, old: str, new: str) -> TreeChange:
    return TreeChange(path.encode(), MODE if old else ABSENT, MODE if new else ABSENT, oid(old), oid(new))


def step(name: str, *changes: tuple[str, str, str]) -> FirstParentStep:
    return FirstParentStep(oid(name), tuple(change(*one) for one in changes))


def versions(**given: str) -> dict[bytes, tuple[str, Oid]]:
    return {path.encode(): (MODE if letter else ABSENT, oid(letter)) for path, letter in given.items()}


@pytest.mark.parametrize(
    ("done", "given", "paths", "whole"),
    [
        ([("a", "1", "2")], versions(a="1"), (b"a",), True),
        ([("a", "1", "2"), ("b", "1", "2")], versions(a="1"), (b"a",), False),
        ([("a", "1", "2"), ("b", "1", "2")], versions(a="1", b="1"), (b"a", b"b"), True),
        # What it added besides may have stayed.
        ([("a", "1", "2"), ("new", "", "2")], versions(a="1"), (b"a",), True),
        ([("a", "1", "2"), ("new", "", "2")], versions(new=""), (b"new",), False),
        ([("new", "", "2"), ("n2", "", "3")], versions(new="", n2=""), (b"new", b"n2"), True),
        ([("a", "1", "")], versions(a="1"), (b"a",), True),
    ],
)
def test_what_of_a_step_is_taken_back(
    done: list[tuple[str, str, str]], given: dict[bytes, tuple[str, Oid]], paths: tuple[bytes, ...], whole: bool
) -> None:
    assert find_reversals([step("c", *done)], given) == (Reversal(oid("c"), paths, whole),)


@pytest.mark.parametrize("given", [{}, versions(a="3"), versions(a="2"), versions(b="1")])
def test_another_version_is_no_older_one(given: dict[bytes, tuple[str, Oid]]) -> None:
    assert find_reversals([step("c", ("a", "1", "2"))], given) == ()


@settings(max_examples=200)
@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), st.sampled_from("123"), max_size=3), min_size=2, max_size=6),
    st.data(),
)
def test_a_tree_from_before_takes_back_every_step_since(trees: list[dict[str, str]], data: st.DataObject) -> None:
    def changes(old: dict[str, str], new: dict[str, str]) -> list[tuple[str, str, str]]:
        paths = sorted({*old, *new})
        return [(path, old.get(path, ""), new.get(path, "")) for path in paths if old.get(path) != new.get(path)]

    steps = [step(f"{number:x}", *changes(*pair)) for number, pair in enumerate(pairwise(trees))]
    at = data.draw(st.integers(0, len(trees) - 2))
    given_ = {one.path: (one.new_mode, one.new) for one in step("f", *changes(trees[-1], trees[at])).changes}
    found = {one.commit: one for one in find_reversals(steps[::-1], given_)}
    # The step right after that tree is taken back as far as the last one still differs from what was before it.
    after = steps[at]
    still = {one.path for one in after.changes if one.path in given_}
    assert (after.commit in found) == bool(still)
    assert set(found[after.commit].paths if still else ()) == still
    # Whoever changed nothing takes nothing back.
    assert find_reversals(steps, {}) == ()


def test_the_exact_inverse() -> None:
    one = step("a", ("a", "1", "2"), ("new", "", "3"))
    assert is_inverse(step("b", ("a", "2", "1"), ("new", "3", "")), one)
    assert not is_inverse(step("b", ("a", "2", "1")), one)
    assert not is_inverse(step("b", ("a", "2", "1"), ("new", "3", ""), ("z", "", "1")), one)
    assert not is_inverse(step("b"), step("a"))


def test_what_a_message_says() -> None:
    assert names_commit("Drop abc1234 again", "abc1234" + "0" * 33)
    assert not names_commit("Drop abc123 again", "abc1234" + "0" * 33)
    assert [speaks_of_reverting(text) for text in ('Revert "x"', "reverting x", "Back out x", "rolled back")] == [
        True
    ] * 4
    assert not speaks_of_reverting("Irrelevant, backed by tests")
    assert reverted_commits("x\n\nThis reverts commit abc1234def.\nThis reverts commit 9999999.") == [
        "abc1234def",
        "9999999",
    ]


BASE = b"".join(b"%d\n" % number for number in range(12))


def edited(*lines: int, base: bytes = BASE) -> bytes:
    rows = base.splitlines(keepends=True)
    for number in lines:
        rows[number] = b"changed %d\n" % number
    return b"".join(rows)


def lost(one: bytes, other: bytes, made: bytes, now: bytes | None = None, base: bytes = BASE) -> int | None:
    return undone_side(base, one, other, made, made if now is None else now)


def test_lines_that_nothing_spoke_against() -> None:
    assert lost(edited(1), edited(9), edited(1, 9)) is None
    assert lost(edited(1), edited(9), edited(1)) == 1
    assert lost(edited(1), edited(9), edited(9)) == 0
    # It is there again later on, or has become something else; or only some of it.
    assert lost(edited(1), edited(9), edited(1), edited(1, 9)) is None
    assert lost(edited(1), edited(9), edited(1).replace(b"9\n", b"nine\n")) is None
    assert lost(edited(1), edited(6, 9), edited(1), edited(1, 9)) == 1
    # What both changed side by side is a choice; the rest is not.
    assert lost(edited(5), edited(6), edited(5)) is None
    assert lost(edited(5), edited(6, 10), edited(5)) == 1
    # A conflict somebody settled by hand beside lines that he lost.
    assert lost(edited(5), edited(6, 10), edited(5).replace(b"6\n", b"six\n")) == 1
    # Who took some of it looked at it.
    assert lost(edited(5), edited(1, 10), edited(5, 10)) is None


def test_texts_that_cannot_be_paired_are_compared_as_a_whole() -> None:
    one, other = (b"".join(b"%d %d\n" % (seed, n % 7 if n % 2 else n) for n in range(4000)) for seed in (1, 2))
    base = b"".join(b"%d\n" % (n * 7919 % 4001) for n in range(4000))
    assert lost(base, other, base, base=base) == 1
    assert lost(one, other, one, base=base) is None


TEXTS = st.lists(st.sampled_from([b"a\n", b"b\n", b"c\n", b"d\n"]), max_size=3)
EDITS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2), TEXTS), max_size=3)


def apply(edits: list[tuple[int, int, list[bytes]]]) -> bytes:
    rows = [b"line %d\n" % number for number in range(10)]
    for at, gone, new in sorted(edits, key=lambda one: -one[0]):
        rows[at : at + gone] = new
    return b"".join(rows)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(EDITS, EDITS)
def test_taking_a_side_loses_what_gits_own_merge_would_have_kept(
    tmp_path: Path, mine: list[tuple[int, int, list[bytes]]], theirs: list[tuple[int, int, list[bytes]]]
) -> None:
    base, one, other = apply([]), apply(mine), apply(theirs)
    for name, text in (("base", base), ("one", one), ("other", other)):
        (tmp_path / name).write_bytes(text)
    words = ["git", "merge-file", "-p", "--ours", "one", "base", "other"]
    merged = subprocess.run(words, cwd=tmp_path, capture_output=True, check=True).stdout
    assert (lost(one, other, one, base=base) is not None) == (merged != one)

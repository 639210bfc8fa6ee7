"""Which messages count: those on the merged tree that neither parent accounts for; and what is no answer at all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

import hypothesis.strategies as st
import pytest
from hypothesis import given

from gitprun.model.units import Exit
from gitprun.verify.difference import OUTPUT_MAX, Said, ToolQuestion, ask, find_questions, new_messages
from gitprun.verify.tools import TOOLS, ToolMessage, TreeLayout

BY_NAME = {tool.name: tool for tool in TOOLS}
SOME = st.lists(
    st.builds(ToolMessage, st.sampled_from(["a.py", "b.py"]), st.sampled_from(["x", "y line 3", "y line 4", "z"]))
)


def compare(
    merged: Sequence[ToolMessage],
    main: Sequence[ToolMessage],
    unit: Sequence[ToolMessage],
    base: Sequence[ToolMessage] | None = (),
) -> tuple[ToolMessage, ...]:
    return new_messages(merged, main, unit, lambda: base)


@given(SOME, SOME, SOME, SOME)
def test_what_a_parent_has_never_counts_and_what_none_has_always_does(
    merged: list[ToolMessage], main: list[ToolMessage], unit: list[ToolMessage], base: list[ToolMessage]
) -> None:
    found = {one.key for one in compare(merged, main, unit, base)}
    counts = [Counter(one.key for one in side) for side in (merged, main, unit, base)]
    for key, many in counts[0].items():
        parents = (counts[1][key], counts[2][key])
        assert (key in found) == (many > max(*parents, sum(parents) - counts[3][key] if any(parents) else 0))
    assert compare(main, main, unit, base) == compare(unit, main, unit, base) == ()
    # Nobody knows what the base has: then only what neither parent has is certain.
    unknown = {one.key for one in compare(merged, main, unit, None)}
    assert unknown == {key for key in counts[0] if not counts[1][key] and not counts[2][key]}


@given(SOME, SOME, SOME, SOME, st.randoms(use_true_random=False), st.integers(1, 999))
def test_neither_order_nor_lines_matter(
    merged: list[ToolMessage],
    main: list[ToolMessage],
    unit: list[ToolMessage],
    base: list[ToolMessage],
    chance: Random,
    by: int,
) -> None:
    before = Counter((one.path, one.key) for one in compare(merged, main, unit, base))

    def moved(side: list[ToolMessage]) -> list[ToolMessage]:
        rows = [ToolMessage(one.path, one.text.replace("line ", f"line {by}")) for one in side]
        chance.shuffle(rows)
        return rows

    after = Counter((one.path, one.key) for one in compare(moved(merged), moved(main), moved(unit), moved(base)))
    assert after.keys() == before.keys()


def test_what_both_sides_added_may_be_there_twice_and_no_third_time() -> None:
    one = ToolMessage("a.py", "x")
    assert compare([one] * 3, [one] * 2, [one] * 2, [one]) == ()
    assert compare([one] * 4, [one] * 2, [one] * 2, [one]) == (one,)
    assert compare([one], [], [], [one] * 5) == (one,)


def test_the_file_that_has_more_is_named() -> None:
    old, new = ToolMessage("a.py", "x"), ToolMessage("b.py", "x")
    assert compare([old, new], [old], [], [old]) == (new,)
    # A file that moved takes its messages along.
    assert compare([new], [old], [], [old]) == ()


def look(
    name: str, code: int | None, output: bytes, reason: str = "exited", paths: Sequence[str] = ("a.java",)
) -> Said:
    question = ToolQuestion(BY_NAME[name], tuple(paths))
    ended = Exit(code=code, signal=None, reason=reason, seconds=3.0)  # type: ignore[arg-type]
    return ask(question, TreeLayout(paths=set(paths), packages={}), lambda _: (ended, output))


def test_an_answer() -> None:
    said = b"./a.java:1: error: ';' expected\n x\n ^\n1 error\n"
    assert look("javac", 1, said) == Said((ToolMessage("a.java", "';' expected"),))
    assert look("javac", 0, b"") == Said()


@pytest.mark.parametrize(
    ("name", "code", "output", "reason", "why"),
    [
        ("javac", 2, b"error: invalid flag: --x\n", "exited", "javac: error: invalid flag: --x"),
        ("javac", 1, b"error: file not found: a.java\n", "exited", "javac: error: file not found: a.java"),
        ("javac", 1, b"", "exited", "javac: exit code 1, and not a word"),
        ("javac", 4, b"", "exited", "javac: exit code 4"),
        ("javac", None, b"", "timeout", "javac was stopped after 3 s"),
        ("javac", None, b"", "stopped", "javac: stopped"),
        ("javac", 1, b"a.java:1: error: x\n" * (OUTPUT_MAX // 18), "exited", "javac said more than 4 MB"),
        ("tsc", 2, b"error TS2688: no types.\n", "exited", "tsc: error TS2688: no types."),
        ("tsc", 2, b"a.ts(1,1): error TS1: x\nerror TS2688: no\n", "exited", "tsc: error TS2688: no"),
        (
            "cargo check",
            101,
            b"error: no matching package named `x` found\n",
            "exited",
            "cargo check: error: no matching",
        ),
        ("ruff", 2, b"ruff failed\n  Cause: x\n", "exited", "ruff: Cause: x"),
    ],
)
def test_what_is_no_answer_is_neither_a_pass_nor_a_suspicion(
    name: str, code: int | None, output: bytes, reason: str, why: str
) -> None:
    paths = {"tsc": ("a.ts", "tsconfig.json"), "cargo check": ("src/a.rs", "Cargo.toml"), "ruff": ("a.py",)}
    said = look(name, code, output, reason, paths.get(name, ("a.java",)))
    assert said.messages == ()
    assert said.why.startswith(why)


def test_a_command_that_is_too_long_is_not_started() -> None:
    names = [f"{'n' * 200}{number}.java" for number in range(600)]
    assert look("javac", 0, b"", paths=names) == Said(why="javac: too many files (600)")


def test_a_language_both_sides_changed_is_asked_about() -> None:
    nothing = {"PATH": "/nowhere"}
    assert find_questions(["a.py", "b.java"], ["c.py", "d.rs"], nothing) == (
        (),
        ("no ruff or pyflakes on PATH for Python",),
    )
    assert find_questions(["a.py"], ["b.java"], nothing) == ((), ())


def test_the_first_tool_that_is_there_is_asked(tmp_path: Path) -> None:
    (tmp_path / "pyflakes").write_text("#!/bin/sh\n")
    (tmp_path / "pyflakes").chmod(0o755)
    asked, absent = find_questions(["a.py", "x.txt"], ["c.py"], {"PATH": str(tmp_path)})
    assert (asked, absent) == ((ToolQuestion(BY_NAME["pyflakes"], ("a.py", "c.py")),), ())

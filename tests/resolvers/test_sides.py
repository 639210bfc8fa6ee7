"""A side that wins its hunks: the other side's clean hunks stay, and every lost line is named."""

from __future__ import annotations

import subprocess
import tempfile
from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from gitprun.resolvers.base import Dropped, FileConflict, Refused, Resolved
from gitprun.resolvers.sides import prefer_main, prefer_unit

BASE = b"def f(u):\n    return u\n\n\n\ndef g():\n    return 0\n"
MAIN = b"def f(u):\n    return u  # logged\n\n\n\ndef g():\n    return 0\n"
UNIT = b"def f(u):\n    return check(u)\n\n\n\ndef g():\n    return 7\n"


def test_main_side_keeps_the_clean_hunk_of_the_unit_and_names_the_lost_line() -> None:
    assert prefer_main(FileConflict("app.py", BASE, MAIN, UNIT)) == Resolved(
        b"def f(u):\n    return u  # logged\n\n\n\ndef g():\n    return 7\n",
        "main-side",
        added=(b"    return 7",),
        dropped=(Dropped("unit", 2, b"    return check(u)"),),
    )


def test_unit_side_names_the_lost_line_of_main() -> None:
    assert prefer_unit(FileConflict("app.py", BASE, MAIN, UNIT)) == Resolved(
        UNIT,
        "unit-side",
        added=(b"    return check(u)", b"    return 7"),
        dropped=(Dropped("main", 2, b"    return u  # logged"),),
    )


def test_lines_that_both_wrote_are_not_lost() -> None:
    assert prefer_main(FileConflict("a", b"a\n", b"a\nboth\nm\n", b"a\nu\nboth\nv\n")) == Resolved(
        b"a\nboth\nm\n", "main-side", dropped=(Dropped("unit", 2, b"u"), Dropped("unit", 4, b"v"))
    )


def test_a_dropped_removal_is_named_with_the_line_that_stays() -> None:
    made = FileConflict("a", b"a\nb\nc\n", b"a\nB\nc\n", b"a\nc\n")
    assert prefer_main(made) == Resolved(b"a\nB\nc\n", "main-side", dropped=(Dropped("unit", 2, b"b", removal=True),))
    assert prefer_unit(made) == Resolved(b"a\nc\n", "unit-side", dropped=(Dropped("main", 2, b"B"),))


def test_equal_changes_and_one_sided_changes_lose_nothing() -> None:
    assert prefer_main(FileConflict("a", b"a\nx\nz\n", b"b\nx\nz\n", b"b\nx\ny\n")) == Resolved(
        b"b\nx\ny\n", "main-side", added=(b"y",)
    )
    assert prefer_main(FileConflict("a", b"a\n", b"a\n", b"b\n")) == Resolved(b"b\n", "main-side", added=(b"b",))


def test_a_file_that_both_added_is_the_winners() -> None:
    made = FileConflict("a", None, b"one\nm\n", b"one\r\nu\r\n")
    assert prefer_main(made) == Resolved(b"one\nm\n", "main-side", dropped=(Dropped("unit", 2, b"u"),))
    assert prefer_unit(made) == Resolved(
        b"one\r\nu\r\n", "unit-side", added=(b"u",), dropped=(Dropped("main", 2, b"m"),)
    )


def test_the_last_hunk_brings_its_final_newline() -> None:
    made = FileConflict("a", b"a\nb\n", b"a\nm", b"a\nu\n")
    assert prefer_main(made) == Resolved(b"a\nm", "main-side", dropped=(Dropped("unit", 2, b"u"),))
    assert prefer_unit(made) == Resolved(b"a\nu\n", "unit-side", added=(b"u",), dropped=(Dropped("main", 2, b"m"),))


def test_flipped_line_ends_are_no_conflict() -> None:
    made = FileConflict("u.py", b"a=1\nb=2\nc=3\n", b"a=11\nb=2\nc=3\n", b"a=1\r\nb=2\r\nc=33\r\n")
    assert prefer_unit(made) == Resolved(b"a=11\nb=2\nc=33\n", "unit-side", added=(b"c=33",))


def test_binary_is_refused() -> None:
    assert prefer_unit(FileConflict("a", b"\0", b"\0m", b"\0u")) == Refused("the file is binary (it holds NUL bytes)")


LINES = st.lists(st.sampled_from([f"line {n}" for n in range(16)]), unique=True, max_size=10)


def text_of(lines: list[str]) -> bytes:
    return "".join(line + "\n" for line in lines).encode()


@st.composite
def versions(draw: st.DrawFn) -> FileConflict:
    base = draw(LINES)
    sides = []
    for _ in range(2):
        lines = list(base)
        for _ in range(draw(st.integers(1, 3))):
            at = draw(st.integers(0, len(lines)))
            lines[at : at + draw(st.integers(0, 2))] = draw(LINES)[:2]
        sides.append(list(dict.fromkeys(lines)))
    return FileConflict("list", text_of(base), text_of(sides[0]), text_of(sides[1]))


@given(versions())
def test_agrees_with_git_and_names_every_lost_line(made: FileConflict) -> None:
    base = (made.base or b"").splitlines()
    for prefer, option, loser, text in (
        (prefer_main, "--ours", "unit", made.unit),
        (prefer_unit, "--theirs", "main", made.main),
    ):
        with tempfile.TemporaryDirectory() as folder:
            for name, content in (("base", made.base), ("main", made.main), ("unit", made.unit)):
                Path(folder, name).write_bytes(content or b"")
            ran = subprocess.run(
                ["git", "merge-file", "-p", option, "main", "base", "unit"], cwd=folder, capture_output=True, check=True
            )
        found = prefer(made)
        assert isinstance(found, Resolved)
        assert found.text == ran.stdout
        lines = text.splitlines()
        written = Counter(line for line in lines if line not in base)
        lost = [line for line in found.dropped if not line.removal]
        assert not written - Counter(found.text.splitlines()) - Counter(line.text for line in lost)
        assert [(loser, lines[line.line - 1]) for line in lost] == [(line.side, line.text) for line in lost]

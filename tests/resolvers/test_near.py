"""The line layer below all kinds: neighbouring changes, new indentation, moved blocks."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.resolvers.base import FileConflict, Refused, Resolved
from gitprun.resolvers.near import merge_near
from gitprun.resolvers.proof import prove

MERGED = {
    "neighbouring lines rewritten": ("a\nb\nc\nd\n", "a\nB\nc\nd\n", "a\nb\nC\nd\n", "a\nB\nC\nd\n"),
    "a line added before a rewritten one": ("a\nb\nc\n", "a\nB\nc\n", "a\nx\nb\nc\n", "a\nx\nB\nc\n"),
    "a line added after a rewritten one": ("a\nb\nc\n", "a\nB\nc\n", "a\nb\nx\nc\n", "a\nB\nx\nc\n"),
    "one line became two beside a rewritten one": ("a\nb\nc\n", "a\nb1\nb2\nc\n", "a\nb\nC\n", "a\nb1\nb2\nC\n"),
    "the same change beside another": ("a\nb\nc\nd\n", "a\nB\nC\nd\n", "a\nB\nc\nd\n", "a\nB\nC\nd\n"),
    "main indents, the unit rewrites": (
        "if x:\n  b\n  c\nd\n",
        "if x:\n  if y:\n    b\n    c\nd\n",
        "if x:\n  b\n  C\nd\n",
        None,
    ),
    "main indents only": ("a\nb\nc\nd\n", "a\n  b\n  c\nd\n", "a\nb\nC\nC2\nd\n", "a\n  b\n  C\n  C2\nd\n"),
    "the unit dedents only": ("a\n\t\tb\n\t\tc\nd\n", "a\n\t\tB\n\t\tc\nd\n", "a\n\tb\n\tc\nd\n", "a\n\tB\n\tc\nd\n"),
    "trailing white space": ("a\nb  \nc\n", "a\nb\nc\n", "a\nb  \nx\nc\n", "a\nb\nx\nc\n"),
    "white space inside, the line itself untouched": (
        "a=1\nb=1\n",
        "a = 1\nb = 1\n",
        "a=1\nx=1\nb=1\n",
        "a = 1\nx=1\nb = 1\n",
    ),
    "white space inside a line that the other side rewrote": ("s='a b'\n", "s='a  b'\n", "s='a b c'\n", None),
    "two changes of one line": ("a\nb\nc\n", "a\nB\nc\n", "a\nX\nc\n", None),
    "removed beside rewritten": ("a\nb\nc\n", "a\nc\n", "a\nb\nC\n", None),
    "neighbouring lines removed": ("a\nb\nc\nd\n", "a\nb\nd\n", "a\nc\nd\n", None),
    "both add at one place": ("a\nb\n", "a\nx\nb\n", "a\ny\nb\n", None),
    "the added line is what the other wrote": ("a\nb\nc\n", "a\nx\nc\n", "a\nx\nb\nc\n", None),
    "line ends flipped": ("a\nb\nc\n", "a\nB\nc\n", "a\r\nb\r\nC\r\n", "a\nB\nC\n"),
    "main's own line ends stay": ("a\nb\nc\n", "a\r\nB\r\nc\r\n", "a\nb\nC\n", "a\r\nB\r\nC\r\n"),
    "no final newline": ("a\nb\nc", "a\nB\nc", "a\nb\nC", "a\nB\nC"),
}
F = ["def f():", "    one()", "    two()", "    three()"]
G = ["def g():", "    other()", "    thing()", "    here()"]
H = ["def h():", "    last()", "    of()", "    all()"]


def lines(*blocks: list[str]) -> str:
    return "\n\n".join("\n".join(block) for block in blocks) + "\n"


MOVED = {
    "to the end": (lines(F, G, H), lines(G, H, F), lines([F[0], F[1], "    2()", F[3]], G, H)),
    "to the middle": (
        lines(G, F, H, F[:1] + H),
        lines(F, G, H, F[:1] + H),
        lines(G, [*F[:3], "    3()"], H, F[:1] + H),
    ),
}


@pytest.mark.parametrize("case", MERGED)
def test_neighbours(case: str) -> None:
    base, main, unit, expected = (None if text is None else text.encode() for text in MERGED[case])
    assert base is not None
    assert main is not None
    assert unit is not None
    answer = merge_near(FileConflict("x", base, main, unit))
    assert (answer.text if isinstance(answer, Resolved) else None) == expected


def test_a_block_moves_with_what_the_other_side_changed_in_it() -> None:
    base, main, unit = MOVED["to the end"]
    answer = merge_near(FileConflict("x", base.encode(), main.encode(), unit.encode()))
    assert isinstance(answer, Resolved)
    assert answer.text.decode() == lines(G, H, [F[0], F[1], "    2()", F[3]])
    swapped = merge_near(FileConflict("x", base.encode(), unit.encode(), main.encode()))
    assert isinstance(swapped, Resolved)
    assert swapped.text == answer.text


def test_a_moved_block_whose_place_the_other_side_changed_stays() -> None:
    base, main = lines(F, G, H), lines(G, H, F)
    unit = lines([F[0], F[1], "    2()", F[3]], G, H, ["def new():", "    pass"])
    answer = merge_near(FileConflict("x", base.encode(), main.encode(), unit.encode()))
    assert isinstance(answer, Refused)


def test_reasons_name_the_line() -> None:
    answer = merge_near(FileConflict("x", b"a\nb\nc\n", b"a\nB\nc\n", b"a\nX\nc\n"))
    assert answer == Refused('both sides changed the same lines, such as "b"')
    assert merge_near(FileConflict("x", None, b"a\n", b"b\n")) == Refused("both sides added the file")
    assert merge_near(FileConflict("x", b"a\0", b"b\0", b"c\0")) == Refused("the file is binary (it holds NUL bytes)")


WORDS = st.lists(st.sampled_from(["a", "b", "c", "  a", "  b", "", "dd", "ee", "ff"]), max_size=12)


@given(WORDS, WORDS, WORDS)
def test_swapped_sides_give_the_same_text(base: list[str], main: list[str], unit: list[str]) -> None:
    texts = ["".join(f"{line}\n" for line in version).encode() for version in (base, main, unit)]
    one = merge_near(FileConflict("x", texts[0], texts[1], texts[2]))
    two = merge_near(FileConflict("x", texts[0], texts[2], texts[1]))
    assert isinstance(one, Resolved) == isinstance(two, Resolved)
    if isinstance(one, Resolved) and isinstance(two, Resolved):
        assert one.text == two.text


@given(st.lists(st.sampled_from(["keep", "main", "unit", "both"]), min_size=1, max_size=30), st.data())
def test_edits_of_different_lines_always_merge(fates: list[str], draw: st.DataObject) -> None:
    base = [f"line {n}" for n in range(len(fates))]
    main = [f"{line} by main" if fate == "main" else line for line, fate in zip(base, fates, strict=True)]
    unit = [f"{line} by unit" if fate == "unit" else line for line, fate in zip(base, fates, strict=True)]
    wanted = [a if a != line else b for line, a, b in zip(base, main, unit, strict=True)]
    conflict = FileConflict("x", *("".join(f"{line}\n" for line in each).encode() for each in (base, main, unit)))
    answer = merge_near(conflict)
    assert isinstance(answer, Resolved)
    assert answer.text.decode().splitlines() == wanted
    assert prove(conflict, answer.text, None) is None

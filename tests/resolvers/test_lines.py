"""The ordered set of lines: what it merges, what it refuses, and that git never sees it otherwise."""

from __future__ import annotations

import subprocess
import tempfile
from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.resolvers.base import FileConflict, Refused, Resolved, prove_union
from gitprun.resolvers.lines import union

BOM = b"\xef\xbb\xbf"


def conflict(base: str | bytes | None, main: str | bytes, unit: str | bytes) -> FileConflict:
    old, main_text, unit_text = (text.encode() if isinstance(text, str) else text for text in (base, main, unit))
    assert main_text is not None
    assert unit_text is not None
    return FileConflict("todo.md", old, main_text, unit_text)


def merged(base: str | bytes | None, main: str | bytes, unit: str | bytes) -> str:
    found = union(conflict(base, main, unit))
    assert isinstance(found, Resolved), found
    return found.text.decode()


def refusal(base: str | bytes | None, main: str | bytes, unit: str | bytes) -> str:
    found = union(conflict(base, main, unit))
    assert isinstance(found, Refused), found
    return found.reason


def test_names_the_lines_that_the_unit_brought() -> None:
    found = union(conflict("a\n", "a\nm\nboth\n", "a\nboth\nu\n"))
    assert found == Resolved(b"a\nm\nboth\nu\n", "lines", added=(b"u",))


@pytest.mark.parametrize(
    ("first", "shared", "own"),
    [
        ("/home\n", "/shared\n", "/{}\n"),
        ('register("mail", mail);\n', 'register("audit", audit);\n', 'register("{0}", {0});\n'),
    ],
)
def test_three_branches_append_a_shared_line_and_an_own_one(first: str, shared: str, own: str) -> None:
    main = first
    for name in "abc":
        main = merged(first, main, first + shared + own.format(name))
    assert main == first + shared + own.format("a") + own.format("b") + own.format("c")


def test_a_removed_and_a_renamed_line_do_not_come_back() -> None:
    base = "225_a\n226_b\n227_c\n"
    assert refusal(base, "225_a\n227_renamed\n", base + "300_new\n") == (
        'near base line 2 main changes "226_b", "227_c" to "227_renamed" and the unit adds "300_new"'
    )
    assert refusal(base, "225_a\n226_b\n", base + "300_new\n") == (
        'near base line 3 main removes "227_c" and the unit adds "300_new"'
    )
    assert merged(base, "225_a\n227_c\n", base + "300_new\n") == "225_a\n227_c\n300_new\n"


def test_a_line_removed_on_one_side_and_moved_on_the_other_does_not_come_back() -> None:
    assert refusal("a\nb\nc\nd\n", "b\nc\nd\na\n", "b\nc\nd\n") == 'the line "a" came back or is there too often'


TODO = "# Todo\n\n- [ ] a\n- [ ] b\n- [ ] c\n"


@pytest.mark.parametrize(
    ("main", "unit", "expected"),
    [
        pytest.param(
            TODO.replace("[ ] a", "[x] a"),
            TODO.replace("a\n", "a\n- [ ] new\n"),
            "# Todo\n\n- [x] a\n- [ ] new\n- [ ] b\n- [ ] c\n",
            id="tick-and-addition-below",
        ),
        pytest.param(
            TODO.replace("[ ] c", "[x] c"),
            TODO + "- [ ] d\n",
            "# Todo\n\n- [ ] a\n- [ ] b\n- [x] c\n- [ ] d\n",
            id="tick-of-the-last-and-addition-at-the-end",
        ),
        pytest.param(
            TODO.replace("[ ] a", "[x] a"),
            TODO.replace("[ ] b", "[x] b"),
            "# Todo\n\n- [x] a\n- [x] b\n- [ ] c\n",
            id="neighbours-ticked",
        ),
        pytest.param(
            TODO.replace("[ ] a", "[x] a").replace("[ ] b", "[x] b"),
            TODO.replace("[ ] b", "[x] b").replace("[ ] c", "[x] c"),
            "# Todo\n\n- [x] a\n- [x] b\n- [x] c\n",
            id="one-ticked-by-both",
        ),
        pytest.param(
            TODO.replace("[ ] a\n", "[x] a\n- [ ] after a\n"),
            TODO.replace("[ ] b\n", "[x] b\n- [ ] after b\n"),
            "# Todo\n\n- [x] a\n- [ ] after a\n- [x] b\n- [ ] after b\n- [ ] c\n",
            id="each-ticks-one-and-adds-below-it",
        ),
        pytest.param(
            TODO.replace("[ ] a", "[x] a").replace("[ ] b", "[x] b"),
            TODO.replace("a\n", "a\n- [ ] between\n"),
            "# Todo\n\n- [x] a\n- [ ] between\n- [x] b\n- [ ] c\n",
            id="addition-between-two-ticked",
        ),
    ],
)
def test_ticks_merge_by_item(main: str, unit: str, expected: str) -> None:
    assert merged(TODO, main, unit) == expected
    assert merged(TODO, unit, main) == expected


@pytest.mark.parametrize(
    ("base", "main", "unit", "reason"),
    [
        pytest.param(
            "- [ ] a\n",
            "- [x] a\n",
            "- [ ] a, soon\n",
            'near base line 1 main changes "- [ ] a" to "- [x] a" and the unit changes "- [ ] a" to "- [ ] a, soon"',
            id="one-line-changed-differently",
        ),
        pytest.param(
            "- [ ] a\n- [ ] b\n",
            "- [x] a\n- [ ] b\n",
            "- [ ] b\n",
            'near base line 1 main changes "- [ ] a" to "- [x] a" and the unit removes "- [ ] a"',
            id="changed-and-removed",
        ),
        pytest.param(
            "a\nb\nz\n",
            "p\nq\nz\n",
            "a\nnew\nb\nz\n",
            'near base line 1 main changes "a", "b" to "p", "q" and the unit adds "new"',
            id="added-inside-rewritten-lines",
        ),
        pytest.param(
            "a\nz\n",
            "b\nc\nd\ne\nz\n",
            "a\nnew\nz\n",
            'near base line 1 main changes "a" to "b", "c", "d" and 1 more and the unit adds "new"',
            id="added-next-to-a-rewritten-line",
        ),
        pytest.param(
            "a\n",
            "a\np\nq\n",
            "a\nq\np\n",
            'both sides added the same lines in another order (such as "p")',
            id="same-lines-in-another-order",
        ),
        pytest.param(
            "x\nx\nx\nx\n",
            "x\nx\nx\n",
            "x\nx\ny\nx\nx\n",
            "repeated lines leave open where a change belongs",
            id="which-of-many-equal-lines",
        ),
        pytest.param(
            "start\n",
            "start\nif a {\nx\n}\n",
            "start\nif b {\nx\n}\n",
            "the union does not keep brackets balanced",
            id="brackets",
        ),
        pytest.param("a\n", "a\nm\n", b"a\nu\0\n", "the file is binary (it holds NUL bytes)", id="binary"),
        pytest.param(
            None,
            "a\nb\n",
            "a\nc\n",
            "both sides added the file and neither has all lines of the other",
            id="both-added-the-file",
        ),
        pytest.param(
            "a\n" * 20_000,
            "a\n" * 20_000 + "m\n",
            "a\n" * 20_000 + "u\n",
            "the file is too long to be merged by lines (20001 lines, limit 20000)",
            id="too-long",
        ),
        pytest.param(
            "".join(f"{n}\n" for n in range(2000)),
            "".join(f"{n}\n" for n in reversed(range(2000))),
            "new\n",
            "the versions differ too much to be compared line by line",
            id="too-different",
        ),
    ],
)
def test_refuses_what_it_cannot_prove(base: str | None, main: str, unit: str | bytes, reason: str) -> None:
    assert refusal(base, main, unit) == reason


@pytest.mark.parametrize(
    ("base", "main", "unit", "expected"),
    [
        pytest.param("a\nb", "a\nb\nm", "a\nb\nu", "a\nb\nm\nu", id="none-has-a-final-newline"),
        pytest.param("a\nb", "a\nb\nm\n", "a\nb\nu", "a\nb\nm\nu\n", id="main-gave-it"),
        pytest.param("a\nb", "a\nb\nm", "a\nb\nu\n", "a\nb\nm\nu\n", id="the-unit-gave-it"),
        pytest.param("a\nb\n", "a\nb\nm", "a\nb\nu\n", "a\nb\nm\nu", id="main-took-it"),
        pytest.param("", "m", "u", "m\nu", id="empty-base"),
        pytest.param("a\r\n", "a\r\nm\r\n", "a\r\nu\r\n", "a\r\nm\r\nu\r\n", id="crlf-stays"),
        pytest.param("a\nb\n", "A\nb\n", "a\r\nB\r\n", "A\nB\n", id="unit-flipped-line-ends"),
        pytest.param("a\nb\n", "a\r\nb\r\n", "a\nb\nu\n", "a\r\nb\r\nu\r\n", id="main-flipped-line-ends"),
        pytest.param("a\nb\n", "a\nb\nm\n", "a\r\nb\r\n", "a\nb\nm\n", id="unit-flipped-line-ends-and-nothing-else"),
        pytest.param("a\r\nb\n", "a\r\nb\nm\n", "a\r\nb\nu\r\n", "a\r\nb\nm\nu\r\n", id="mixed-line-ends-stay"),
        pytest.param(BOM + b"a\n", BOM + b"a\nm\n", BOM + b"a\nu\n", "\ufeffa\nm\nu\n", id="byte-order-mark-stays"),
        pytest.param(BOM + b"a\n", b"a\nm\n", BOM + b"a\nu\n", "a\nm\nu\n", id="main-took-the-byte-order-mark"),
        pytest.param(None, "a\nb\n", "a\nnew\nb\n", "a\nnew\nb\n", id="both-added-and-one-has-all"),
        pytest.param(None, "a\r\nb\r\n", "b\n", "a\r\nb\r\n", id="both-added-with-other-line-ends"),
    ],
)
def test_line_ends_and_edges(base: str | None, main: str, unit: str, expected: str) -> None:
    assert merged(base, main, unit) == expected


@pytest.mark.parametrize(
    ("base", "main", "unit", "expected"),
    [
        pytest.param("# T\n", "# T\n\n- m\n", "# T\n\n- u\n", "# T\n\n- m\n- u\n", id="one-list"),
        pytest.param("- a\n", "- a\n\n- m\n", "- a\n\n- u\n", "- a\n\n- m\n\n- u\n", id="items-that-stand-apart"),
        pytest.param(
            "# T\n\n## Done\n",
            "# T\n\n- m\n\n## Done\n",
            "# T\n\n- u\n\n## Done\n",
            "# T\n\n- m\n- u\n\n## Done\n",
            id="one-list-before-a-heading",
        ),
        pytest.param("a\n\nz\n", "a\n\nm\n\nz\n", "a\n\nu\n\nz\n", "a\n\nm\n\nu\n\nz\n", id="paragraphs"),
        pytest.param(
            "*.o\n",
            "*.o\n\n# logs\n*.log\n",
            "*.o\n\n# env\n.env\n",
            "*.o\n\n# logs\n*.log\n\n# env\n.env\n",
            id="commented-blocks",
        ),
        pytest.param(
            "# T\n- a\n",
            "# T\n- a\n\n## New\n\n- m\n",
            "# T\n- a\n- u\n",
            "# T\n- a\n- u\n\n## New\n\n- m\n",
            id="an-item-stays-in-its-section",
        ),
        pytest.param(
            "## Next\n\n## 1.0\n",
            "## Next\n\n### Added\n\n- m\n\n### Fixed\n\n- f\n\n## 1.0\n",
            "## Next\n\n### Fixed\n\n- u\n\n## 1.0\n",
            "## Next\n\n### Added\n\n- m\n\n### Fixed\n\n- f\n- u\n\n## 1.0\n",
            id="one-heading-for-both",
        ),
        pytest.param(
            "- a\n",
            "- a\n- m\n  - see below\n",
            "- a\n- u\n  - see below\n",
            "- a\n- m\n  - see below\n- u\n  - see below\n",
            id="equal-lines-of-two-items-are-two-lines",
        ),
        pytest.param(
            "x {\n}\n",
            "x {\n}\n\nm {\n  id\n}\n",
            "x {\n}\n\nu {\n  id\n}\n",
            "x {\n}\n\nm {\n  id\n}\n\nu {\n  id\n}\n",
            id="each-block-keeps-its-bracket",
        ),
    ],
)
def test_blocks_stay_whole_and_apart(base: str, main: str, unit: str, expected: str) -> None:
    assert merged(base, main, unit) == expected


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a\nb\nm\nu\n", None),
        ("a\nb\nu\nm\n", None),
        ("a\nb\nm\n", 'the line "u" is lost'),
        ("a\nc\nb\nm\nu\n", 'the line "c" came back or is there too often'),
        ("a\nb\nm\nm\nu\n", 'the line "m" came back or is there too often'),
        ("a\nb\nm\nu\nx\n", 'the line "x" is on neither side'),
        ("a\nb\n<<<<<<< main\nm\nu\n", 'a conflict marker is left: "<<<<<<< main"'),
        ("b\na\nm\nu\n", 'the line "b" is not where main\'s order has it'),
        ("m\na\nb\nu\n", 'the line "m" is not where main\'s order has it'),
        ("a\nb\nm\n\nu\n", "there are more blank lines than both sides have"),
        ("a\nb\nm\nu", "the line ends, byte order mark or final newline changed"),
        ("\ufeffa\nb\nm\nu\n", "the line ends, byte order mark or final newline changed"),
        ("a\nb\r\nm\nu\n", 'the line "b\\r" is on neither side'),
        ("a\nb\nm\nu\n\x1b[31m\n", 'the line "\\x1b[31m" is on neither side'),
    ],
)
def test_proof(text: str, reason: str | None) -> None:
    assert prove_union(conflict("a\nb\nc\n", "a\nb\nm\n", "a\nb\nu\n"), text.encode()) == reason


def test_proof_of_a_one_sided_change_is_that_side() -> None:
    given_conflict = conflict("a\n", "a\n", "a\nu\n")
    assert prove_union(given_conflict, b"a\nu\n") is None
    assert prove_union(given_conflict, b"a\n") == "only one side changed the file and the text is not that side's"


# --- properties

WORDS = [f"line {n}" for n in range(14)]
FEW = ["", "", "x", "y", "- [ ] a", "- [x] a", "## h", "  in"]


def text_of(lines: list[str]) -> bytes:
    return "".join(line + "\n" for line in lines).encode()


def without_blank(lines: list[str]) -> list[str]:
    return [line for line in lines if line]


@st.composite
def edits(draw: st.DrawFn, base: list[str], words: list[str], *, only_add: bool = False) -> list[str]:
    lines = list(base)
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(lines)))
        kind = "add" if only_add else draw(st.sampled_from(["add", "remove", "change"]))
        gone = 0 if kind == "add" else draw(st.integers(1, 2))
        new = [] if kind == "remove" else draw(st.lists(st.sampled_from(words), min_size=1, max_size=3))
        lines[at : at + gone] = new
    return lines


@st.composite
def additions(draw: st.DrawFn) -> tuple[list[str], list[str], list[str]]:
    """Make a list and what each side added to it; every added line is another one."""
    base = draw(st.lists(st.sampled_from(WORDS), unique=True, max_size=8))
    sides = []
    for name in ("main", "unit"):
        places = draw(st.lists(st.integers(0, len(base)), min_size=1, max_size=5))
        lines = list(base)
        for number, at in enumerate(sorted(places, reverse=True)):
            lines.insert(at, f"{name} {number}")
        sides.append(lines)
    return base, sides[0], sides[1]


@given(additions())
def test_additions_of_both_sides_are_all_kept_in_order(made: tuple[list[str], list[str], list[str]]) -> None:
    base, main, unit = made
    found = merged(*map(text_of, made)).splitlines()
    assert Counter(found) == Counter(main) | Counter(unit)
    assert [line for line in found if line in main] == main
    assert [line for line in found if line in unit] == unit
    places = [(found.index(line), line) for line in found if line not in base]
    for (at, line), (following, next_line) in pairwise(places):
        # Where two additions meet, main's stand first.
        assert not (at + 1 == following and line.startswith("unit") and next_line.startswith("main"))
    swapped = merged(text_of(base), text_of(unit), text_of(main)).splitlines()
    assert Counter(swapped) == Counter(found)


@given(st.data())
def test_repeated_lines_never_get_lost(drawn: st.DataObject) -> None:
    words = [*FEW, "z"]
    base = drawn.draw(st.lists(st.sampled_from(words), max_size=8))
    main, unit = (drawn.draw(edits(base, words, only_add=True)) for _ in range(2))
    found = union(conflict(text_of(base), text_of(main), text_of(unit)))
    swapped = union(conflict(text_of(base), text_of(unit), text_of(main)))
    if isinstance(found, Resolved):
        lines = without_blank(found.text.decode().splitlines())
        assert not Counter(without_blank(main)) - Counter(lines)
        assert not Counter(without_blank(unit)) - Counter(lines)
        if isinstance(swapped, Resolved):
            assert Counter(without_blank(swapped.text.decode().splitlines())) == Counter(lines)


@given(st.data())
def test_a_result_is_proved_or_refused(drawn: st.DataObject) -> None:
    base = drawn.draw(st.lists(st.sampled_from(FEW), max_size=8))
    main, unit = (drawn.draw(edits(base, FEW)) for _ in range(2))
    made = conflict(text_of(base), text_of(main), text_of(unit))
    found = union(made)
    assert isinstance(found, Refused) or prove_union(made, found.text) is None


def tidy(lines: list[str]) -> list[str]:
    """Leave out repeated lines, and blank lines that follow another: what they mean is open, to git as to us."""
    kept: list[str] = []
    for line in lines:
        if line not in kept if line else kept[-1:] != [""]:
            kept.append(line)
    return kept


@given(st.data())
def test_agrees_with_git_where_git_merges_cleanly(drawn: st.DataObject) -> None:
    words = [*WORDS, "", "- [ ] a", "- [x] a", "## h"]
    base = tidy(drawn.draw(st.lists(st.sampled_from(words), max_size=12)))
    main, unit = (tidy(drawn.draw(edits(base, words))) for _ in range(2))
    made = conflict(text_of(base), text_of(main), text_of(unit))
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("base", made.base), ("main", made.main), ("unit", made.unit)):
            Path(folder, name).write_bytes(text or b"")
        ran = subprocess.run(
            ["git", "merge-file", "-p", "main", "base", "unit"], cwd=folder, capture_output=True, check=False
        )
    found = union(made)
    if isinstance(found, Resolved):
        assert prove_union(made, found.text) is None
        assert ran.returncode or found.text == ran.stdout


TEXTS = st.one_of(
    st.binary(max_size=40),
    st.lists(st.sampled_from([b"a", b"\n", b"\r\n", b"\r", b"\0", BOM, b"<<<<<<<\n", b"{", b"}", b"#"])).map(b"".join),
)


@given(st.none() | TEXTS, TEXTS, TEXTS)
def test_never_raises(base: bytes | None, main: bytes, unit: bytes) -> None:
    made = FileConflict("any", base, main, unit)
    found = union(made)
    assert isinstance(found, Refused) or prove_union(made, found.text) is None
    assert prove_union(made, unit) is None or isinstance(prove_union(made, unit), str)

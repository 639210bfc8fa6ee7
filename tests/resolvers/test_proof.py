"""The proof every resolved text must pass, and the audit of merges that git made alone."""

from __future__ import annotations

import pytest

from gitprun.resolvers.base import FileConflict, Kind, Resolved
from gitprun.resolvers.cascade import SIZE_LIMIT, run_cascade
from gitprun.resolvers.proof import audit, prove

BASE, MAIN, UNIT = b"a one\nb two\nc three\n", b"a one\nb two\nx four\nc three\n", b"a one\nc three\ny five\n"
RIGHT = b"a one\nx four\nc three\ny five\n"
WRONG = {
    b"a one\nx four\nc three\n": '"y" is lost',
    b"a one\nb two\nx four\nc three\ny five\n": '"b" came back or is there too often',
    b"a one\nx four\nx four\nc three\ny five\n": '"x" came back or is there too often',
    b"a one\nx four\nc three\ny five\nmore\n": '"more" came back or is there too often',
    b"a one x four\nc three\ny five\n": 'the line "a one", which neither side touched, is lost',
    b"a one\nx four\nc three\ny five\n>>>>>>> unit\n": 'a conflict marker is left: ">>>>>>> unit"',
    b"a one\r\nx four\r\nc three\r\ny five\r\n": "the line ends changed",
    b"a one\nx four\nc three\ny five": "the final newline changed",
    b"\xef\xbb\xbfa one\nx four\nc three\ny five\n": "the byte order mark changed",
}


def test_a_right_merge_is_proved() -> None:
    assert prove(FileConflict("notes.txt", BASE, MAIN, UNIT), RIGHT, None) is None


@pytest.mark.parametrize("text", WRONG)
def test_what_is_wrong_is_named(text: bytes) -> None:
    assert prove(FileConflict("notes.txt", BASE, MAIN, UNIT), text, None) == WRONG[text]


def test_columns_may_be_realigned_and_separators_repaired() -> None:
    conflict = FileConflict(
        "x", b"{\n  a 1,\n  b 2\n}\n", b"{\n  a 1,\n  b 2,\n  c 3\n}\n", b"{\n  a 1,\n  b 2,\n  d 4\n}\n"
    )
    assert prove(conflict, b"{\n  a  1,\n  b  2,\n  c  3,\n  d  4\n}\n", None) is None


def test_markers_that_a_side_has_are_its_text() -> None:
    conflict = FileConflict("guide.rst", b"Title\n\ntext\n", b"Title\n=======\n\ntext\n", b"Title\n\ntext\nmore\n")
    assert prove(conflict, b"Title\n=======\n\ntext\nmore\n", None) is None


def _odd(path: str, text: bytes) -> tuple[str, ...]:
    return ("an odd number of lines",) if text.count(b"\n") % 2 else ()


def test_a_fault_counts_when_neither_side_has_it() -> None:
    kind = Kind("pairs", ("*.pairs",), (), _odd)
    conflict = FileConflict("x.pairs", b"a\nb\n", b"a\nb\nc\nd\n", b"a\nb\ne\nf\n")
    assert prove(conflict, b"a\nb\nc\nd\ne\nf\n", kind) is None
    conflict = FileConflict("x.pairs", b"a\nb\n", b"a\nb\nc\nd\n", b"a\nb\n\n\n")
    assert prove(conflict, b"a\nb\nc\nd\n\n", kind) == "an odd number of lines"
    conflict = FileConflict("x.pairs", b"a\nb\n", b"a\nb\nc\n", b"a\nb\n\n\n")
    assert prove(conflict, b"a\nb\nc\n\n\n", kind) is None


def test_words_are_not_counted_where_the_kind_proves_what_they_mean() -> None:
    base, main, unit = (b'{"a": "%b", "b": 1}\n' % text for text in (b"caf\\u00e9", "café".encode(), b"caf\\u00E9"))
    conflict = FileConflict("a.json", base, main, unit.replace(b": 1", b": 2"))
    merged = main.replace(b": 1", b": 2")
    assert [answer.text for answer in run_cascade(conflict).texts] == [merged]
    assert prove(conflict, merged, Kind("a", ("*",), (), words=False)) is None
    assert prove(conflict, merged, Kind("a", ("*",), ())) == '"u00E9" is lost'
    swapped = FileConflict("a.json", base, conflict.unit, main)
    assert [answer.text for answer in run_cascade(swapped).texts] == [conflict.unit]


def test_what_else_is_proved_needs_no_words() -> None:
    kind = Kind("a", ("*",), (), words=False)
    conflict = FileConflict("notes.txt", BASE, MAIN, UNIT)
    found = [prove(conflict, text, kind) for text in WRONG]
    assert found == [None, None, None, None, *list(WRONG.values())[4:]]


def test_audit_finds_nothing_in_a_plain_merge() -> None:
    assert audit("notes.txt", BASE, MAIN, UNIT, RIGHT) == ()
    assert audit("notes.txt", BASE, MAIN, UNIT, RIGHT + b"<<<<<<< HEAD\n") == (
        'a conflict marker is left: "<<<<<<< HEAD"',
    )


def test_the_ladder_names_each_rung_that_refused() -> None:
    answer = run_cascade(FileConflict("notes.txt", b"a\nb\n", b"a\nx\n", b"a\ny\n"))
    assert answer.texts == ()
    assert answer.reason == 'near: both sides changed the same lines, such as "b"'


def test_the_ladder_gives_a_proved_text() -> None:
    answer = run_cascade(FileConflict("notes.txt", b"a\nb\n", b"a\nx\n", b"z\nb\n"))
    assert answer.texts == (Resolved(b"z\nx\n", "near", (b"z",)),)


def test_the_ladder_leaves_what_is_too_large() -> None:
    huge = b"line\n" * (SIZE_LIMIT // 5 + 1)
    answer = run_cascade(FileConflict("notes.txt", huge, huge + b"a\n", huge + b"b\n"))
    assert answer.texts == ()
    assert answer.reason == f"the file is too large to be resolved ({len(huge) + 2} bytes, limit {SIZE_LIMIT})"


def test_lines_do_not_overrule_what_knows_the_file() -> None:
    # Each line by itself could be merged; the key they share cannot.
    conflict = FileConflict("x.properties", b"a=1\nb=2\n", b"a=9\nb=2\n", b"a=1\na=5\nb=2\n")
    assert run_cascade(conflict).texts == ()
    broken = FileConflict("x.py", b"a = (\nb = 2\n", b"a = (1\nb = 2\n", b"a = (\nb = 3\n")
    assert [answer.resolver for answer in run_cascade(broken).texts] == ["near"]


def test_values_of_environment_files_are_not_shown() -> None:
    conflict = FileConflict(".env.example", b"A=\nKEY=x\n", b"A=\nKEY=secretone\n", b"A=\nKEY=secrettwo\n")
    answer = run_cascade(conflict)
    assert answer.texts == ()
    assert "secret" not in answer.reason

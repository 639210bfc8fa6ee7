"""Reading lines that workers print."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gitprun.executors import lines


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", ""),
        ("  plain  ", "plain"),
        ("two\nlines\r\n\tthree", "two lines three"),
        ("\x1b[31mred\x1b[0m and \x1b[1;4mbold\x1b[m", "red and bold"),
        ("\x1b]0;a title\x07done", "done"),
        ("\x1b]8;;http://x.test\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("an open \x1b]0;title keeps the rest", "an open ]0;title keeps the rest"),
        ("bell\x07 nul\x00 delete\x7f c1\x9b", "bell nul delete c1"),
        ("a\u2028b\u2029c\x85d\xa0e", "a b c d e"),
        ("right\u202eleft\u200bzero\ufeff", "rightleftzero"),
        ("lone \ud800 surrogate", "lone surrogate"),
        ("größe 漢字 🎉", "größe 漢字 🎉"),
        ("x" * 200, "x" * 200),
        ("x" * 201, "x" * 197 + "..."),
        ("x" * 196 + " yyyyyy", "x" * 196 + "..."),
        ("y" * 1_000_000, "y" * 197 + "..."),
    ],
)
def test_one_line(text: str, shown: str) -> None:
    assert lines.one_line(text) == shown


@given(st.text(alphabet=st.characters(exclude_categories=())))
def test_one_line_is_one_clean_line_whatever_comes(text: str) -> None:
    line = lines.one_line(text)
    assert len(line) <= 200
    assert line == line.strip()
    assert not [char for char in line if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Zl", "Zp"}]
    assert lines.one_line(line) == line


def test_whole_text_keeps_everything_a_file_can_hold() -> None:
    assert lines.whole_text("# u1 result\n\x00\tü\ud83d!") == "# u1 result\n\x00\tü?!"


def test_lines_end_at_newlines_only() -> None:
    assert lines.split_lines('{"a":"\u2028"}\r\nb\x0bc\n'.encode()) == [b'{"a":"\xe2\x80\xa8"}\r', b"b\x0bc", b""]


MEBIBYTE = "z" * (1 << 20)


@pytest.mark.parametrize(
    ("line", "event"),
    [
        (b'{"type":"turn.started"}', {"type": "turn.started"}),
        (b' {"a":1} \r\n', {"a": 1}),
        (b'\xef\xbb\xbf{"a":1}', {"a": 1}),
        ('{"a":"x\u2028y"}'.encode(), {"a": "x\u2028y"}),
        (b'{"a":"nul \\u0000"}', {"a": "nul \x00"}),
        (b'{"a":"raw nul \x00 and tab\t"}', {"a": "raw nul \x00 and tab\t"}),
        (b'{"a":"caf\xe9"}', {"a": "caf\ufffd"}),
        (b'{"id":"item_0","type":"web_search","id":"ws_1"}', {"id": "ws_1", "type": "web_search"}),
        (f'{{"a":"{MEBIBYTE}"}}'.encode(), {"a": MEBIBYTE}),
    ],
)
def test_objects_are_read(line: bytes, event: dict[str, object]) -> None:
    assert lines.parse_object(line) == event


@pytest.mark.parametrize(
    "line",
    [
        b"",
        b"\n",
        b"Reading additional input from stdin...",
        b"[]",
        b"[1, 2]",
        b"12",
        b'"text"',
        b"null",
        b'{"cut":"in the mid',
        b'{"two":1}{"objects":2}',
        b"\xff\xfe{\x00}\x00",
        b'{"a":' * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'{"digits":' + b"9" * 5000 + b"}",
    ],
    ids=lambda line: repr(line[:20]),
)
def test_everything_else_is_no_object(line: bytes) -> None:
    assert lines.parse_object(line) is None


@given(st.binary())
def test_parsing_bytes_never_raises(line: bytes) -> None:
    assert lines.parse_object(line) is None or line.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(b"{")


def test_fields_of_the_wrong_kind_read_as_missing() -> None:
    event = json.loads('{"n":3,"t":true,"f":1.5,"m":-1,"s":"x","o":{"k":1},"l":[{"a":1},2,"b"]}')
    assert [lines.number_at(event, key) for key in "ntfmsz"] == [3, None, None, None, None, None]
    assert [lines.text_at(event, key) for key in "snoz"] == ["x", "", "", ""]
    assert [lines.object_at(event, key) for key in "oslz"] == [{"k": 1}, {}, {}, {}]
    assert [lines.objects_at(event, key) for key in "losz"] == [[{"a": 1}], [], [], []]
    assert lines.sum_at({"a": 2, "b": 5, "c": "9"}, ("a", "b", "c")) == 7
    assert lines.sum_at({"c": "9"}, ("a", "b", "c")) is None


def test_a_path_is_shown_by_folder_and_name() -> None:
    assert [lines.shown_path(path) for path in ("/w/ws/u1/src/app.py", "app.py", "/app.py", "")] == [
        "src/app.py",
        "app.py",
        "//app.py",
        "",
    ]

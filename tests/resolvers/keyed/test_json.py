"""JSON merged by key: what is united, what is refused, and that all other text stays what it was."""

from __future__ import annotations

import pytest

from gitprun.resolvers.base import FileConflict, Refused, Resolved
from gitprun.resolvers.cascade import run_cascade
from gitprun.resolvers.json import merge_json
from gitprun.resolvers.json.reader import Document, read
from gitprun.resolvers.kinds import kinds_for
from gitprun.resolvers.proof import prove

TOO_DEEP = "base's version cannot be read: the file is nested deeper than 64 levels"
PATH = "config/data.json"


def answer(base: str | None, main: str, unit: str, path: str = PATH) -> str:
    """Merge, and check the answer by the shared proof; a refusal is told in square brackets."""
    conflict = FileConflict(path, None if base is None else base.encode(), main.encode(), unit.encode())
    found = merge_json(conflict)
    if isinstance(found, Refused):
        return f"[{found.reason}]"
    assert prove(conflict, found.text, kinds_for(path)[-1]) is None
    return found.text.decode()


def lines(*entries: str, close: str = "}") -> str:
    return "{\n" + "".join(f"  {entry}\n" for entry in entries) + close + "\n"


def test_names_the_lines_that_the_unit_brought() -> None:
    conflict = FileConflict(PATH, b'{\n  "a": 1\n}\n', b'{\n  "a": 1,\n  "m": 2\n}\n', b'{\n  "a": 1,\n  "u": 3\n}\n')
    merged = b'{\n  "a": 1,\n  "m": 2,\n  "u": 3\n}\n'
    assert merge_json(conflict) == Resolved(merged, "json", added=(b'  "m": 2,', b'  "u": 3'))
    assert [text.text for text in run_cascade(conflict).texts] == [merged]


@pytest.mark.parametrize(
    ("base", "main", "unit", "merged"),
    [
        # commas are repaired, at the end, at the start, and where nothing is left
        ('{"a": 1}', '{"a": 1, "m": 2}', '{"a": 1, "u": 3}', '{"a": 1, "m": 2, "u": 3}'),
        ('{"x": 1}', '{"m": 2, "x": 1}', '{"u": 3, "x": 1}', '{"m": 2, "u": 3, "x": 1}'),
        ('{"x":1,"c":2}', '{"x":1}', '{"c":2}', "{}"),
        ('{"x": 1, "c": 2}', '{"x": 1}', '{"x": 1, "c": 2, "u": 3}', '{"x": 1, "u": 3}'),
        ("{}", '{"m": 1}', '{"u": 2}', '{"m": 1, "u": 2}'),
        ("[]\n", "[\n  1\n]\n", "[\n  2\n]\n", "[\n  1,\n  2\n]\n"),
        # one side removed what the other left alone, nested objects are merged
        (
            '{"o": {"x": 1, "c": {"d": 1}}, "z": 0}',
            '{"o": {"x": 2, "c": {"d": 1}}}',
            '{"o": {"x": 1, "c": {"d": 1, "u": [1]}}, "z": 0}',
            '{"o": {"x": 2, "c": {"d": 1, "u": [1]}}}',
        ),
        # both did the same
        ('{"a": 1}', '{"a": 2, "b": 3, "m": 4}', '{"a": 2, "b": 3}', '{"a": 2, "b": 3, "m": 4}'),
        # an addition follows what it followed; sorted keys stay sorted
        (
            '{"x": 1, "c": 2}',
            '{"x": 1, "m": 3, "c": 2}',
            '{"x": 1, "c": 2, "u": 4}',
            '{"x": 1, "m": 3, "c": 2, "u": 4}',
        ),
        (
            '{"a": 1, "d": 2}',
            '{"a": 1, "d": 2, "z": 3}',
            '{"a": 1, "d": 2, "e": 4}',
            '{"a": 1, "d": 2, "e": 4, "z": 3}',
        ),
        # one side reorders
        ('{"x": 1, "c": 2}', '{"c": 2, "x": 1}', '{"x": 3, "c": 2, "u": 4}', '{"c": 2, "u": 4, "x": 3}'),
        # numbers and escapes are kept as written
        (
            '{"n": 1.50, "e": "\\u00e9"}',
            '{"n": 1.50, "e": "\\u00e9", "m": 1e5}',
            '{"n": 1.50, "e": "\\u00e9", "u": "\\/"}',
            '{"n": 1.50, "e": "\\u00e9", "m": 1e5, "u": "\\/"}',
        ),
        # both added the file
        (None, '{"a": 1, "o": {"m": 1}}', '{"a": 1, "o": {"u": 2}}', '{"a": 1, "o": {"m": 1, "u": 2}}'),
        (None, '{"l": [1, 2], "m": 1}', '{"l": [1,2]}', '{"l": [1, 2], "m": 1}'),
    ],
)
def test_objects(base: str | None, main: str, unit: str, merged: str) -> None:
    assert answer(base, main, unit) == merged


@pytest.mark.parametrize(
    ("base", "main", "unit", "merged"),
    [
        # a set of scalars
        ('["x", "c"]', '["x", "c", "m"]', '["x", "c", "u"]', '["x", "c", "m", "u"]'),
        ('["x", "c"]', '["c", "m"]', '["x", "c", "m", "u"]', '["c", "m", "u"]'),
        ('["a", "d"]', '["a", "b", "d"]', '["a", "d", "e"]', '["a", "b", "d", "e"]'),
        ("[1, 2, 3]", "[0, 1, 2, 3]", "[1, 2, 3, 4]", "[0, 1, 2, 3, 4]"),
        # wrapped lines stay wrapped
        (
            "[\n  9, 1,\n  7, 2\n]",
            "[\n  9, 1,\n  7, 2, 5\n]",
            "[\n  8, 9, 1,\n  7, 2\n]",
            "[\n  8, 9, 1,\n  7, 2, 5\n]",
        ),
        # records by id, key or name
        (
            '[{"id": 1, "a": 1}, {"id": 2, "a": 1}]',
            '[{"id": 1, "a": 2}, {"id": 2, "a": 1}, {"id": 4}]',
            '[{"id": 1, "a": 1, "b": 1}, {"id": 3}]',
            '[{"id": 1, "a": 2, "b": 1}, {"id": 3}, {"id": 4}]',
        ),
        # changes that do not touch
        ('[{"v": 1}, 2, 3, 4]', '[{"v": 2}, 2, 3, 4]', '[{"v": 1}, 2, 3, 5]', '[{"v": 2}, 2, 3, 5]'),
        ("[1, 1, 2, 3, 3]", "[1, 2, 3, 3]", "[1, 1, 2, 3, 3, 3]", "[1, 2, 3, 3, 3]"),
    ],
)
def test_arrays(base: str, main: str, unit: str, merged: str) -> None:
    assert answer(base, main, unit) == merged


@pytest.mark.parametrize(
    ("base", "main", "unit", "reason"),
    [
        ('{"a": {"b": 1}}', '{"a": {"b": 2}}', '{"a": {"b": 3}}', '"a.b" is changed on both sides, differently'),
        ('{"a": 1}', "{}", '{"a": 2}', '"a" is removed on main and changed by the unit'),
        ('{"a": {"b": 1}}', '{"a": {"b": 1, "c": 2}}', "{}", '"a" is removed by the unit and changed on main'),
        ("{}", '{"a": 1}', '{"a": 2}', '"a" is added on both sides, differently'),
        ('{"a": 1}', '{"a": [1]}', '{"a": {"b": 1}}', '"a" is changed on both sides, differently'),
        (
            '{"a": 1, "b": 2, "c": 3}',
            '{"b": 2, "a": 1, "c": 3}',
            '{"a": 1, "c": 3, "b": 2}',
            "the file is reordered on both sides, differently",
        ),
        ('{"a": 1}', '{"a": 1, "a": 2}', '{"a": 1, "b": 2}', '"a" is there twice'),
        ('{"a": 1, "a": 2}', '{"a": 1, "a": 3}', '{"a": 1, "a": 2, "b": 2}', '"a" is there twice'),
        ("[1, 2]", "[1, 3]", "[1, 2, 4]", "the file is changed at one place on both sides, differently"),
        ("[1, 1]", "[1, 1, 2]", "[1, 1, 3]", "the file is changed at one place on both sides, differently"),
        ("[1, 1, 2]", "[1, 2]", "[1, 1, 1, 2]", "the file is changed at one place on both sides, differently"),
        (
            '{"args": ["--port", "1"]}',
            '{"args": ["--port", "1", "-a", "m"]}',
            '{"args": ["--port", "1", "-a", "u"]}',
            '"args" is changed at one place on both sides, differently',
        ),
        (
            '{"quotes": ["error"]}',
            '{"quotes": ["error", "single"]}',
            '{"quotes": ["error", "double"]}',
            '"quotes" is changed at one place on both sides, differently',
        ),
        (
            '[{"id": 1}]',
            '[{"id": 1}, {"id": 2, "a": 1}]',
            '[{"id": 1}, {"id": 2, "a": 2}]',
            '"2" is added on both sides, differently',
        ),
        (
            '[{"id": 1, "a": 1}, {"id": 2}]',
            '[{"id": 2}]',
            '[{"id": 1, "a": 2}, {"id": 2}]',
            '"1" is removed on main and changed by the unit',
        ),
        (None, "[1]", "[2]", "the file is added on both sides, differently"),
        (None, '{"a": 1}', '{"a": 2}', '"a" is added on both sides, differently'),
        ("{}", "{", '{"a": 1}', "main's version cannot be read: the file is no JSON"),
        ("", '{"m": 1}', '{"u": 1}', "base's version cannot be read: the file is no JSON"),
        ("{}", "{\0}", '{"a": 1}', "main's version cannot be read: the file is no JSON"),
        ("[" * 100, "[" * 101, "[" * 102, TOO_DEEP),
        ("[" * 9999 + "]" * 9999, "[]", "[1]", TOO_DEEP),
    ],
)
def test_refusals(base: str | None, main: str, unit: str, reason: str) -> None:
    assert answer(base, main, unit) == f"[{reason}]"


def test_not_utf8() -> None:
    assert merge_json(FileConflict(PATH, b"{}", b'{"a": "\xff"}', b'{"b": 1}')) == Refused("the file is not UTF-8")


def test_what_one_side_left_alone_is_the_other_side() -> None:
    assert answer("{", "{", "no json") == "no json"


def test_a_key_that_is_twice_untouched_everywhere_stays() -> None:
    base = '{"f": [1, 2], "bar": true, "bar": false}'
    main, unit = base.replace("[1", "[0, 1"), base.replace("2]", "2, 3]")
    assert answer(base, main, unit) == '{"f": [0, 1, 2, 3], "bar": true, "bar": false}'


def test_comments_and_trailing_commas_travel_with_their_entries() -> None:
    base = "// top\n" + lines(
        "// first", '"x": 1, // one', "/* block */", '"gone": 2,', '"last": { "deep": true, }, // end', "// dangling"
    )
    main = base.replace('  /* block */\n  "gone": 2,\n', "").replace(
        "// dangling", '// main\'s\n  "m": [1,],\n  // dangling'
    )
    unit = base.replace("// one", "// uno").replace('"x"', '"u": 0, // new\n  "x"')
    assert answer(base, main, unit, "tsconfig.json") == "// top\n" + lines(
        "// first",
        '"u": 0, // new',
        '"x": 1, // uno',
        '"last": { "deep": true, }, // end',
        "// main's",
        '"m": [1,],',
        "// dangling",
    )


def test_a_comma_goes_before_the_comment_of_what_was_last() -> None:
    base = lines('"x": 1 // one')
    main, unit = lines('"x": 1, // one', '"m": 2 // two'), lines('"x": 1, // one', '"c": 3 // three')
    assert answer(base, main, unit, "a.jsonc") == lines('"x": 1, // one', '"m": 2, // two', '"c": 3 // three')


def test_commas_that_stand_first() -> None:
    base = '{ "x": 1\n, "c": 2\n}\n'
    main, unit = '{ "x": 1\n, "c": 2\n, "m": 3\n}\n', '{ "x": 1\n, "c": 2\n, "k": 4\n}\n'
    assert answer(base, main, unit) == '{ "x": 1\n, "c": 2\n, "m": 3\n, "k": 4\n}\n'


@pytest.mark.parametrize(
    ("base", "main", "unit", "reason"),
    [
        ("{ // a\n}", "{ // b\n}", "{ // c\n}", "the file has comments that are changed on both sides, differently"),
        (
            '{\n // a\n "x": 1}',
            '{\n // b\n "x": 1}',
            '{\n // c\n "x": 1}',
            '"x" has a comment that is changed on both sides, differently',
        ),
        ('{\n // a\n "x": 1}', "{}", '{\n // b\n "x": 1}', 'the comment "// b" is lost'),
        ("// a\n{}", "// b\n{}", "// c\n{}", "a comment outside the value is changed on both sides, differently"),
        (
            '{"x": 1\n // end\n}',
            '{"x": 1,\n // end\n "m": 1}',
            '{"x": 1,\n // end\n "u": 1}',
            'the comment "// end" came back or is there too often',
        ),
    ],
)
def test_comments_refused(base: str, main: str, unit: str, reason: str) -> None:
    assert answer(base, main, unit, "a.jsonc") == f"[{reason}]"


def test_a_side_that_only_indents_otherwise_changed_nothing() -> None:
    base = '{\n  "o": {\n    "x": 1\n  }\n}\n'
    main = '{\n\t"o": {\n\t\t"x": 1\n\t}\n}\n'
    unit = '{\n  "o": {\n    "x": 1,\n    "u": {\n      "v": 1\n    }\n  }\n}\n'
    assert answer(base, main, unit) == '{\n\t"o": {\n\t\t"x": 1,\n\t\t"u": {\n\t\t\t"v": 1\n\t\t}\n\t}\n}\n'
    assert answer(base, unit, main) == answer(base, main, unit)


def test_a_side_that_only_breaks_lines_otherwise_changed_nothing() -> None:
    base, main = '{"l": [1, 2]}\n', '{"l": [\n    1,\n    2\n  ]}\n'
    assert answer(base, main, '{"l": [1, 2, 3]}\n') == '{"l": [\n    1,\n    2,\n    3\n  ]}\n'
    assert answer(main, base, main.replace("2\n", "2,\n    3\n")) == '{"l": [1, 2, 3]}\n'


def test_line_ends_and_byte_order_mark() -> None:
    base, main, unit = (f'\ufeff{{\r\n  "a": 1{more}\r\n}}' for more in ("", ',\r\n  "m": 2', ',\r\n  "u": 3'))
    assert answer(base, main, unit) == '\ufeff{\r\n  "a": 1,\r\n  "m": 2,\r\n  "u": 3\r\n}'
    assert answer(base.replace("\r", ""), main.replace("\r", ""), unit) == '\ufeff{\n  "a": 1,\n  "m": 2,\n  "u": 3\n}'


def test_reader_keeps_every_character() -> None:
    text = '/*a*/ { // b\n "k" /*c*/ : /*d*/ [ 1 , /*e*/ 2 /*f*/ , ] /*g*/ , // h\n // i\n "l":{}\n//j\n} // k'
    document = read(text)
    assert isinstance(document, Document)
    rebuilt = ""
    for item in document.root.items:
        comma = "," if item is not document.root.items[-1] else ""
        rebuilt += item.lead + item.name + item.value.text + item.gap + comma + item.trail
    assert document.lead + "{" + document.root.head + rebuilt + document.root.tail + "}" + document.tail == text


def test_a_large_file_is_quick() -> None:
    entries = [
        f'"node_modules/package-{n}": {{ "version": "{n}.0.0", "resolved": "https://x/{n}" }},' for n in range(2000)
    ]
    base = lines(*entries, '"z": 1')
    main, unit = lines(*entries[:-1], '"z": 1, "y": 2'), lines(*entries, '"new": [1],', '"z": 1')
    assert answer(base, main, unit) == lines(*entries[:-1], '"new": [1],', '"z": 1, "y": 2')


def test_the_deepest_files_that_are_read() -> None:
    base, main, unit = ('{"a": ' * 62 + inner + "}" * 62 for inner in ("{}", '{"m": [1]}', '{"\\ud800": 2}'))
    assert answer(base, main, unit) == '{"a": ' * 62 + '{"m": [1], "\\ud800": 2}' + "}" * 62

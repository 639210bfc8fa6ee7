"""The policy renumber: the unit's new fields, members and rows get free numbers where main took theirs."""

from __future__ import annotations

import pytest

from gitprun.resolvers.base import Dropped, FileConflict, Refused, Resolved
from gitprun.resolvers.cascade import run_cascade
from gitprun.resolvers.policies import renumber


def conflict(path: str, base: str | None, main: str, unit: str) -> FileConflict:
    return FileConflict(path, None if base is None else base.encode(), main.encode(), unit.encode())


def reason(path: str, base: str | None, main: str, unit: str) -> str:
    found = renumber(conflict(path, base, main, unit))
    assert isinstance(found, Refused)
    return found.reason


MADE: dict[str, tuple[str, tuple[str, str, str, str], list[Dropped]]] = {
    "proto": (
        "api/a.proto",
        (
            "message A {\n  string a = 1;\n}\n",
            "message A {\n  string a = 1;\n  string b = 2;\n}\n",
            "message A {\n  string a = 1;\n  string c = 2; // new\n}\n",
            "message A {\n  string a = 1;\n  string b = 2;\n  string c = 3; // new\n}\n",
        ),
        [Dropped("unit", 3, b"  string c = 2; // new")],
    ),
    "c": (
        "e.c",
        (
            "enum E {\n  A = 0,\n};\n",
            "enum E {\n  A = 0,\n  B = 1,\n};\n",
            "enum E {\n  A = 0,\n  C = 1, /* c */\n};\n",
            "enum E {\n  A = 0,\n  B = 1,\n  C = 2, /* c */\n};\n",
        ),
        [Dropped("unit", 3, b"  C = 1, /* c */")],
    ),
    "c++": (
        "e.hpp",
        (
            "namespace n {\nenum class E : int {\n  A = 7\n};\n}\nint x;\n",
            "namespace n {\nenum class E : int {\n  A = 7,\n  B = 8,\n  C = 9\n};\n}\nint x;\n",
            "namespace n {\nenum class E : int {\n  A = 7,\n  D = 8\n};\n}\nint y;\n",
            "namespace n {\nenum class E : int {\n  A = 7,\n  B = 8,\n  C = 9,\n  D = 10\n};\n}\nint y;\n",
        ),
        [Dropped("unit", 4, b"  D = 8")],
    ),
    "rust": (
        "e.rs",
        (
            "enum E {\n    A = 1,\n}\n",
            "enum E {\n    A = 1,\n    B = 2,\n}\n",
            "enum E {\n    A = 1,\n    C = 2,\n    D = 3,\n}\n",
            "enum E {\n    A = 1,\n    B = 2,\n    C = 4,\n    D = 3,\n}\n",
        ),
        [Dropped("unit", 3, b"    C = 2,")],
    ),
    "typescript": (
        "e.ts",
        (
            "export enum E {\n  A = -1,\n}\nenum F {\n  A = 0,\n}\n",
            "export enum E {\n  A = -1,\n  B = 0,\n}\nenum F {\n  A = 0,\n  M = 1,\n}\n",
            "export enum E {\n  A = -1,\n  B = 0,\n  C = 1,\n}\nenum F {\n  A = 0,\n  U = 1,\n}\n",
            "export enum E {\n  A = -1,\n  B = 0,\n  C = 1,\n}\nenum F {\n  A = 0,\n  M = 1,\n  U = 2,\n}\n",
        ),
        [Dropped("unit", 8, b"  U = 1,")],
    ),
    "c#": (
        "E.cs",
        (
            "enum E\n{\n    A = 0,\n}\n",
            "enum E\n{\n    A = 0,\n    B = 1,\n}\n",
            "enum E\n{\n    A = 0,\n    C = 1,\n}\n",
            "enum E\n{\n    A = 0,\n    B = 1,\n    C = 2,\n}\n",
        ),
        [Dropped("unit", 4, b"    C = 1,")],
    ),
    "csv": (
        "ledger.csv",
        (
            'id,what,note\n1,a,"x, y"\n',
            'id,what,note\n1,b,"x, y"\n2,m,\n3,n,\n',
            'id,what,note\n1,a,"x, z"\n2,"u\nv",\n"3",w,\n',
            'id,what,note\n1,b,"x, z"\n2,m,\n3,n,\n4,"u\nv",\n"5",w,\n',
        ),
        [Dropped("unit", 3, b'2,"u'), Dropped("unit", 5, b'"3",w,')],
    ),
    "csv, a row that both have": (
        "ledger.csv",
        ("id,what\n1,a\n", "id,what\n1,a\n2,b\n3,m\n", "id,what\n1,a\n2,b\n3,u\n", "id,what\n1,a\n2,b\n3,m\n4,u\n"),
        [Dropped("unit", 4, b"3,u")],
    ),
    "jsonl": (
        "ledger.jsonl",
        (
            '{"id": 1, "t": "a"}\n',
            '{"id": 1, "t": "a"}\n{"id": 2, "t": "m"}\n',
            '{"id": 1, "t": "a", "done": true}\n{"t": "u", "id": 2}\n{ "id" : 3, "t": "w"}\n',
            '{"id": 1, "t": "a", "done": true}\n{"id": 2, "t": "m"}\n{"t": "u", "id": 3}\n{ "id" : 4, "t": "w"}\n',
        ),
        [Dropped("unit", 2, b'{"t": "u", "id": 2}'), Dropped("unit", 3, b'{ "id" : 3, "t": "w"}')],
    ),
}


@pytest.mark.parametrize("name", MADE)
def test_the_units_new_numbers_are_free_ones_and_its_lines_are_listed(name: str) -> None:
    path, (base, main, unit, merged), dropped = MADE[name]
    asked = conflict(path, base, main, unit)
    assert run_cascade(asked).texts == ()
    found = renumber(asked)
    assert isinstance(found, Resolved), found
    assert (found.text.decode(), found.resolver, list(found.dropped)) == (merged, "renumber", dropped)


@pytest.mark.parametrize("name", MADE)
def test_line_ends_byte_order_mark_and_last_line_end_stay(name: str) -> None:
    path, (base, main, unit, merged), dropped = MADE[name]
    base, main, unit, merged = (f"\ufeff{text[:-1]}".replace("\n", "\r\n") for text in (base, main, unit, merged))
    found = renumber(conflict(path, base, main, unit))
    assert isinstance(found, Resolved), found
    assert (found.text.decode(), list(found.dropped)) == (merged, dropped)


def test_without_a_clash_it_is_what_the_kind_makes() -> None:
    asked = conflict(
        "e.c", "enum E {\n  A = 0,\n};\n", "enum E {\n  A = 0,\n  B = 1,\n};\n", "enum E {\n  Z = 0,\n};\n"
    )
    found = renumber(asked)
    assert found == Resolved(b"enum E {\n  Z = 0,\n  B = 1,\n};\n", "renumber", (b"  Z = 0,",))


def members(main: str, unit: str, base: str = "A = 1") -> str:
    return reason("e.c", *(f"enum E {{ {text} }};\n" for text in (base, main, unit)))


@pytest.mark.parametrize(
    ("base", "main", "unit", "why"),
    [
        ("A = 1", "A = 1, B = 2", "A = 1, C = 2, D", 'not all values of "E" are plain numbers that are written out'),
        (
            "A = 1",
            "A = 1, B = 2, X = A",
            "A = 1, C = 2",
            'not all values of "E" are plain numbers that are written out',
        ),
        ("A = 0x1", "A = 0x1, B = 2", "A = 0x1, C = 2", 'not all values of "E" are plain numbers that are written out'),
        (
            "A = 1",
            "A = 1, B = 2",
            "A = 1, C = 2, D = 2",
            'not all values of "E" are plain numbers that are written out',
        ),
        ("A = 1", "A = 1, B = 4", "A = 1, C = 4", 'the new numbers of "E" do not follow the last one'),
        ("A = 9", "A = 9, B = 3", "A = 9, C = 3", 'the new numbers of "E" do not follow the last one'),
        ("A = 1, Z = 3", "A = 1, B = 3, Z = 4", "A = 1, C = 3, Z = 4", 'the new numbers of "E" do not follow the last'),
        ("A = 1, B = 2", "A = 1, B = 2, C = 4", "A = 1, B = 2, D = 4", 'the new numbers of "E" do not follow the last'),
    ],
)
def test_members_whose_numbers_say_more_are_refused(base: str, main: str, unit: str, why: str) -> None:
    assert members(main, unit, base).startswith(why)


def test_numbers_that_may_be_flags_are_refused() -> None:
    texts = (f"typedef enum {{ A = 1{text} }} OpenFlags;\n" for text in ("", ", B = 2", ", C = 2"))
    assert reason("e.c", *texts) == 'the numbers of "OpenFlags" may be flags'


ROWS = "id,what\n1,a\n"
REFUSED: dict[str, tuple[str, str | None, str, str, str]] = {
    "a reference between new rows": (
        *("a.csv", ROWS, ROWS + "2,m\n", ROWS + "2,u\n3,see #2\n"),
        'the id "2" may be named by another row of the unit',
    ),
    "a reference in a row that was changed": (
        *("a.csv", ROWS, ROWS + "2,m\n", ROWS.replace("1,a", "1,2;4") + "2,u\n"),
        'the id "2" may be named by another row of the unit',
    ),
    "a reference inside of a record": (
        "a.jsonl",
        '{"id": 1}\n',
        '{"id": 1}\n{"id": 2, "m": 0}\n',
        '{"id": 1}\n{"id": 2, "u": 0}\n{"id": 3, "up": {"at": [2]}}\n',
        'the id "2" may be named by another row of the unit',
    ),
    "rows that are not appended": (
        *("a.csv", ROWS + "3,c\n", ROWS + "2,m\n3,c\n", ROWS + "2,u\n3,c\n"),
        "the new rows are not all at the end",
    ),
    "ids with zeros before": (
        *("a.csv", "id,what\n01,a\n", "id,what\n01,a\n02,m\n", "id,what\n01,a\n02,u\n"),
        'the id "01" is no plain number',
    ),
    "no ids": ("a.csv", "what,n\na,1\n", "what,n\nb,1\n", "what,n\nc,1\n", "the first column does not number the rows"),
    "codes": (
        "a.csv",
        "sku,n\n1,1\n",
        "sku,n\n1,1\n2,m\n",
        "sku,n\n1,1\n2,u\n",
        "the first column does not number the rows",
    ),
    "ids that are texts": (
        *("a.jsonl", '{"id": "a"}\n', '{"id": "a"}\n{"id": "b"}\n', '{"id": "a"}\n{"id": "b", "x": 1}\n'),
        "not every record has a plain number as its id",
    ),
    "lines that are no JSON": ("a.jsonl", "{\n", '{"id": 1}\n', '{"id": 2}\n', "a line is no JSON"),
    "an id twice": (
        *("a.jsonl", '{"id": 1}\n', '{"id": 1}\n{"id": 1}\n', '{"id": 1}\n{"id": 2}\n'),
        "an id is there twice",
    ),
    "both added a table": (
        "a.csv",
        None,
        ROWS,
        "id,what\n1,b\n",
        "both sides added the file, so no number is the later one",
    ),
    "both added a module": (
        *("a.c", None, "enum E { A = 0 };\n", "enum E { B = 0 };\n"),
        "both sides added the file, so no number is the later one",
    ),
    "both added a schema": (
        *("a.proto", None, "message A {\n  int32 a = 1;\n}\n", "message A {\n  int32 b = 1;\n}\n"),
        "both sides added the file, so no number is the later one",
    ),
    "migrations": (
        *("migrations/0002_a.py", "a = 1\n", "a = 2\n", "a = 3\n"),
        "renumber does not know this kind of file",
    ),
    "no text": ("a.csv", "id\n", "\0", "id\n1\n", "the file is binary (it holds NUL bytes)"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_say_why(name: str) -> None:
    path, base, main, unit, why = REFUSED[name]
    assert reason(path, base, main, unit) == why


def test_what_else_clashes_is_refused_by_the_kind() -> None:
    texts = ("enum E { A = 0 };\nint x = 1;\n", "enum E { A = 0, B = 1 };\nint x = 2;\n")
    assert reason("e.c", *texts, "enum E { A = 0, C = 1 };\nint x = 3;\n").startswith("c: both sides changed")


def test_enumerations_of_one_name_are_not_told_apart() -> None:
    base = "enum { A = 0 };\nenum { X = 0 };\n"
    main, unit = (base.replace("A = 0", f"A = 0, {name} = 1") for name in "BC")
    assert reason("e.c", base, main, unit).startswith("c: ")


def test_enumerations_are_told_apart_by_what_is_around_them() -> None:
    base = "class C { enum E { A = 0 } }\nclass D { enum E { A = 0 } }\n"
    main, unit = base.replace("A = 0", "A = 0, B = 1"), base.replace("A = 0", "A = 0, C = 1", 1)
    found = renumber(conflict("a.cs", base, main, unit))
    assert isinstance(found, Resolved)
    assert found.text.decode() == main.replace("B = 1", "B = 1, C = 2", 1)

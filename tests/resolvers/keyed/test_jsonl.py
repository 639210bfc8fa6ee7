"""JSON Lines: records by id, field by field; else whole lines."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from gitprun.resolvers.base import FileConflict, Refused, Resolved
from gitprun.resolvers.cascade import run_cascade
from gitprun.resolvers.entries import ABSENT, EntryClash, settle_value
from gitprun.resolvers.json.records import merge_records, record_faults
from gitprun.resolvers.kinds import kinds_for


def answer(base: str | None, main: str, unit: str) -> str:
    """Merge; a refusal is told in square brackets."""
    found = merge_records(
        FileConflict("a.jsonl", None if base is None else base.encode(), main.encode(), unit.encode())
    )
    return f"[{found.reason}]" if isinstance(found, Refused) else found.text.decode()


def test_names_the_lines_that_the_unit_brought() -> None:
    conflict = FileConflict("log/a.ndjson", b'{"i":1}\n', b'{"i":1}\n{"i":2}\n', b'{"i":1}\n{"i":3}\n')
    assert run_cascade(conflict).texts == (Resolved(b'{"i":1}\n{"i":2}\n{"i":3}\n', "jsonl", added=(b'{"i":3}',)),)
    assert [kind.name for kind in kinds_for("log/a.ndjson")] == ["jsonl"]


@pytest.mark.parametrize(
    ("base", "main", "unit", "merged"),
    [
        # by id: the fields of one record, untouched text as it was
        (
            '{"id": "x", "a":1,  "b":1}\n{"id":"c"}\n',
            '{"id": "x", "a":2,  "b":1}\n{"id":"c"}\n{"id":"m"}\n',
            '{"id": "x", "a":1,  "b":3}\n{"id":"u"}\n',
            '{"id": "x", "a":2,  "b":3}\n{"id":"m"}\n{"id":"u"}\n',
        ),
        (
            '{"id":1}\n{"id":9}',
            '{"id":1}\n{"id":9}\n{"id":11}',
            '{"id":1}\n{"id":9}\n{"id":10}',
            '{"id":1}\n{"id":9}\n{"id":10}\n{"id":11}',
        ),
        # both added the same
        (
            '{"id":1}\n',
            '{"id":1}\n{"id":2, "a":1}\n',
            '{"id":1}\n{"id":2, "a":1}\n{"id":3}\n',
            '{"id":1}\n{"id":2, "a":1}\n{"id":3}\n',
        ),
        (None, '{"id":1}\r\n{"id":2}\r\n', '{"id":1}\r\n{"id":3}\r\n', '{"id":1}\r\n{"id":2}\r\n{"id":3}\r\n'),
        # whole lines
        ('[1]\n"s"\n', '[1]\n"s"\n3\n', '"s"\n', '"s"\n3\n'),
        (
            '{"t":1}\n{"t":1}\n{"t":2}\n',
            '{"t":1}\n{"t":2}\n',
            '{"t":1}\n{"t":1}\n{"t":2}\n{"t":3}\n',
            '{"t":1}\n{"t":2}\n{"t":3}\n',
        ),
        ("", '{"m":1}\n', '{"u":1}\n', '{"m":1}\n{"u":1}\n'),
    ],
)
def test_merged(base: str | None, main: str, unit: str, merged: str) -> None:
    assert answer(base, main, unit) == merged


@pytest.mark.parametrize(
    ("base", "main", "unit", "reason"),
    [
        (
            '{"id":1}\n',
            '{"id":1}\n{"id":2,"a":1}\n',
            '{"id":1}\n{"id":2,"b":1}\n',
            '"2" is added on both sides, differently',
        ),
        (
            '{"id":1,"a":1}\n',
            '{"id":1,"a":2}\n',
            '{"id":1,"a":3}\n',
            '"1" is changed on both sides: "a" is changed on both sides, differently',
        ),
        (
            '{"id":1}\n{"id":2}\n',
            '{"id":2}\n',
            '{"id":1,"a":3}\n{"id":2}\n',
            '"1" is removed on main and changed by the unit',
        ),
        ('{"a":1}\n', '{"a":2}\n', '{"a":3}\n', "the file is changed at one place on both sides, differently"),
        ('{"a":1}\n', '{"a":2}\n{\n', '{"a":3}\n', "main's version cannot be read: a line is no JSON"),
        (
            '{"a":1}\n',
            '{"a":2}\n',
            '{"a":3,"a":4}\n',
            "unit's version cannot be read: a record has comments, a comma too many or a key twice",
        ),
        ("1\n", "2\n", "[" * 99, "unit's version cannot be read: the file is nested deeper than 64 levels"),
    ],
)
def test_refused(base: str, main: str, unit: str, reason: str) -> None:
    assert answer(base, main, unit) == f"[{reason}]"


def test_ids_of_records_compare_by_what_they_mean() -> None:
    assert answer('{"id":"1"}\n', '{"id":"1"}\n{"id":1}\n', '{"id":"1"}\n{"id":"\\u0032"}\n') == (
        '{"id":"1"}\n{"id":1}\n{"id":"\\u0032"}\n'
    )


@pytest.mark.parametrize(
    ("text", "faults"),
    [
        ("", ()),
        ('{"id":1}\n\n{"id":2}\n', ()),
        ('{"id":1}\r\n{"id":1,"a":2}\r\n', ('the id "1" is there twice',)),
        ('{"id":1,"a":1}\n{"id":1,"a":2}\n{"id":1,"a":3}\n', ()),
        ('{"id":1}\n{"a":1}\n{"id":1}\n', ()),
        ('{"a":1\n}\n{"a":1,"a":2}\n', ("a line is no JSON", 'the key "a" is there twice')),
        ("[" * 99, ()),
    ],
)
def test_faults(text: str, faults: tuple[str, ...]) -> None:
    assert record_faults("a.jsonl", text.encode()) == faults


FIELDS = st.fixed_dictionaries({}, optional={"a": st.integers(0, 2), "b": st.sampled_from(["x", "y", "\u00e9"])})
RECORDS = st.dictionaries(st.integers(1, 6), FIELDS, max_size=5)


EDITS = st.dictionaries(st.integers(1, 8), st.one_of(st.none(), FIELDS), max_size=3)


def edited(rows: dict[int, Any], edits: dict[int, Any]) -> dict[int, Any]:
    """Apply what a side does: rows it adds or changes, and rows it removes."""
    return {key: row for key, row in {**rows, **edits}.items() if row is not None}


@given(RECORDS, EDITS, EDITS)
def test_random_records(base: dict[int, Any], by_main: dict[int, Any], by_unit: dict[int, Any]) -> None:
    versions = base, main, unit = base, edited(base, by_main), edited(base, by_unit)
    texts = ["".join(json.dumps({"id": key, **row}) + "\n" for key, row in version.items()) for version in versions]
    flat = [{(k, f): v for k, row in version.items() for f, v in {"id": k, **row}.items()} for version in versions]
    cells = {key: settle_value(*(known.get(key, ABSENT) for known in flat)) for key in {*flat[0], *flat[1], *flat[2]}}
    merged, swapped = answer(*texts), answer(texts[0], texts[2], texts[1])
    assert merged.startswith("[") == swapped.startswith("[")
    if merged.startswith("[") or main == unit or base in (main, unit):
        return
    event("merged")
    assert not any(isinstance(value, EntryClash) for value in cells.values())
    for text in (merged, swapped):
        rows = [json.loads(line) for line in text.splitlines()]
        assert len({row["id"] for row in rows}) == len(rows)
        found = {(row["id"], field): value for row in rows for field, value in row.items()}
        assert found == {key: value for key, value in cells.items() if value is not ABSENT}


@given(st.binary(max_size=30), st.binary(max_size=30), st.binary(max_size=30))
def test_any_bytes(base: bytes, main: bytes, unit: bytes) -> None:
    assert isinstance(merge_records(FileConflict("a.jsonl", base, main, unit)), (Refused, Resolved))
    assert isinstance(record_faults("a.jsonl", main), tuple)

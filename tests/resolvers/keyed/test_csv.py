"""CSV and TSV: rows by id, cell by cell."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from gitprun.resolvers.base import FileConflict, Refused, Resolved
from gitprun.resolvers.cascade import run_cascade
from gitprun.resolvers.entries import ABSENT, EntryClash, settle_value
from gitprun.resolvers.json.csv import merge_table, table_faults
from gitprun.resolvers.json.table import split_table
from gitprun.resolvers.kinds import kinds_for


def answer(base: str | None, main: str, unit: str, path: str = "ledger.csv") -> str:
    """Merge; a refusal is told in square brackets."""
    found = merge_table(FileConflict(path, None if base is None else base.encode(), main.encode(), unit.encode()))
    return f"[{found.reason}]" if isinstance(found, Refused) else found.text.decode()


def test_names_the_lines_that_the_unit_brought() -> None:
    conflict = FileConflict("a/ledger.csv", b"id,s\n1,a\n", b"id,s\n1,a\n2,m\n", b"id,s\n1,a\n3,u\n")
    assert run_cascade(conflict).texts == (Resolved(b"id,s\n1,a\n2,m\n3,u\n", "csv", added=(b"3,u",)),)
    assert [kind.name for kind in kinds_for("a/ledger.tsv")] == ["csv"]


@pytest.mark.parametrize(
    ("base", "main", "unit", "merged"),
    [
        # sorted ids stay sorted, as numbers
        ("id,s\n1,a\n9,b\n", "id,s\n1,a\n9,b\n11,m\n", "id,s\n1,a\n9,b\n10,u\n", "id,s\n1,a\n9,b\n10,u\n11,m\n"),
        ("id,s\n7,a\n5,b\n", "id,s\n7,a\n6,m\n5,b\n", "id,s\n7,a\n5,b\n4,u\n", "id,s\n7,a\n6,m\n5,b\n4,u\n"),
        # removed on one side; the same row added on both
        ("id,s\n1,a\n2,b\n", "id,s\n2,b\n3,x\n", "id,s\n1,a\n2,b\n3,x\n4,u\n", "id,s\n2,b\n3,x\n4,u\n"),
        # different cells of one row
        ("id,s,t\n1,a,x\n", "id,s,t\n1,b,x\n", "id,s,t\n1,a,y\n", "id,s,t\n1,b,y\n"),
        # quoted commas and line ends, untouched quoting
        (
            'user_id,s,t\n"1","a ""q"", b\nc",x\n',
            'user_id,s,t\n"1","a ""q"", b\nc",x\n2,m,\n',
            'user_id,s,t\n"1","a ""q"", b\nc",y\n',
            'user_id,s,t\n"1","a ""q"", b\nc",y\n2,m,\n',
        ),
        # rows without an id
        (
            "date,sum\n1/1,5\n1/1,6\n",
            "date,sum\n1/1,5\n1/1,6\n1/2,7\n",
            "date,sum\n1/1,5\n1/1,6\n1/2,8\n",
            "date,sum\n1/1,5\n1/1,6\n1/2,7\n1/2,8\n",
        ),
        (
            "date,sum\n1/1,5\n1/2,6\n1/3,6\n",
            "date,sum\n1/1,9\n1/2,6\n1/3,6\n",
            "date,sum\n1/1,5\n1/2,6\n1/3,7\n",
            "date,sum\n1/1,9\n1/2,6\n1/3,7\n",
        ),
        ("1,2\n3,4\n", "1,2\n3,4\n5,6\n", "0,0\n1,2\n3,4\n", "0,0\n1,2\n3,4\n5,6\n"),
        # a column that one side added
        ("id,s\n1,a\n2,b\n", "id,s\n1,m\n2,b\n", "id,s,n\n1,a,x\n2,b,y\n", "id,s,n\n1,m,x\n2,b,y\n"),
        ("id,s\n1,a\n", "id,s\n1,a\n2,m\n", "id,s,n\n1,a,\n", "id,s,n\n1,a,\n2,m,\n"),
        # both added the file
        (None, "id;s\n1;a\n2;m\n", "id;s\n1;a\n3;u\n", "id;s\n1;a\n2;m\n3;u\n"),
        # line ends and byte order mark
        (
            "\ufeffid,s\r\n1,a\r\n",
            "\ufeffid,s\r\n1,a\r\n2,m\r\n",
            "\ufeffid,s\r\n1,a\r\n3,u",
            "\ufeffid,s\r\n1,a\r\n2,m\r\n3,u",
        ),
    ],
)
def test_merged(base: str | None, main: str, unit: str, merged: str) -> None:
    assert answer(base, main, unit) == merged


@pytest.mark.parametrize(
    ("base", "main", "unit", "reason"),
    [
        ("id,s\n1,a\n", "id,s\n1,a\n2,o\n", "id,s\n1,a\n2,t\n", '"2" is added on both sides, differently'),
        ("id,s\n1,a\n", "id,s\n1,b\n", "id,s\n1,c\n", '"1" is changed on both sides, differently (column 2)'),
        ("id,s\n1,a\n2,b\n", "id,s\n2,b\n", "id,s\n1,c\n2,b\n", '"1" is removed on main and changed by the unit'),
        (
            "d,s\n1,a\n2,b\n",
            "d,s\n2,b\n",
            "d,s\n1,c\n2,b\n",
            "the file is changed at one place on both sides, differently",
        ),
        (
            "d,s\n1,a\n1,a\n",
            "d,s\n1,a\n1,a\n2,m\n",
            "d,s\n1,a\n1,a\n2,u\n",
            "the file is changed at one place on both sides, differently",
        ),
        (
            "id,s\n1,a\n",
            "id,s,m\n1,a,\n",
            "id,s,u\n1,a,\n",
            "the header is changed otherwise than by columns that one side adds at the end",
        ),
        (
            "id,s\n1,a\n",
            "id,t\n1,a\n",
            "id,s\n1,a\n2,u\n",
            "the header is changed otherwise than by columns that one side adds at the end",
        ),
        (
            "id,s\n1,a\n",
            "id,s\n1,a\n2,m\n",
            "id,s,n\n1,a,x\n",
            "a column is added on one side, and the other adds rows that do not have it",
        ),
        (
            "d,s\n1,a\n",
            "d,s\n1,a\n2,m\n",
            "d,s,n\n1,a,x\n",
            "a column is added and the rows have no id to merge them by",
        ),
        ("id,s\n1,a\n", 'id,s\n1,"a\n', "id,s\n1,b\n", "a quote is not closed, or text follows a closing one"),
        ("id,s\n1,a\n", "id,s\n1,\0\n", "id,s\n1,b\n", "the file is binary or mixes line ends"),
        ("id,s\r\n1,a\n", "id,s\r\n1,m\n", "id,s\r\n1,b\n", "the file is binary or mixes line ends"),
    ],
)
def test_refused(base: str, main: str, unit: str, reason: str) -> None:
    assert answer(base, main, unit) == f"[{reason}]"


@pytest.mark.parametrize(
    ("path", "text", "faults"),
    [
        ("a.csv", "", ()),
        ("a.csv", "id,s\n1,a\n2,b\n", ()),
        ("a.csv", "id,s\n1,a\n1,b\n", ('the id "1" is there twice',)),
        ("a.csv", "order_id,s\n1,a\n1,b\n", ()),
        ("a.csv", "id,event\n1,a\n1,b\n1,c\n2,a\n2,b\n2,c\n", ()),
        (
            "a.csv",
            "id,s\r\n1,a,\r\n2\r\n\r\n",
            ('the row "1,a," has 3 cells and the header 2', 'the row "2" has 1 cells and the header 2'),
        ),
        ("a.csv", 'id,s\n1,"a', ("a quote is not closed, or text follows a closing one",)),
        ("a.csv", "1,2\n3\n", ()),
        ("a.tsv", "id\ts\n1\ta,b\n", ()),
    ],
)
def test_faults(path: str, text: str, faults: tuple[str, ...]) -> None:
    assert table_faults(path, text.encode()) == faults


CELLS = st.sampled_from(["", "a", "b,c", 'q"q', "line\nend", "7"])
ROWS = st.dictionaries(st.integers(1, 7), st.tuples(CELLS, CELLS), max_size=6)


# What a side does: rows it adds or changes, and rows it removes.
EDITS = st.dictionaries(st.integers(1, 9), st.one_of(st.none(), st.tuples(CELLS, CELLS)), max_size=3)


def edited(rows: dict[int, tuple[str, str]], edits: dict[int, tuple[str, str] | None]) -> dict[int, tuple[str, str]]:
    return {key: row for key, row in {**rows, **edits}.items() if row is not None}


def write(rows: dict[int, tuple[str, str]], line_end: str) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows([("id", "s", "t"), *((key, *cells) for key, cells in rows.items())])
    return out.getvalue().replace("\n", line_end)


@given(ROWS, EDITS, EDITS, st.sampled_from(["\n", "\r\n"]))
def test_random_tables(
    base: dict[int, tuple[str, str]],
    by_main: dict[int, tuple[str, str] | None],
    by_unit: dict[int, tuple[str, str] | None],
    end: str,
) -> None:
    versions = [base, edited(base, by_main), edited(base, by_unit)]
    texts = [write(rows, end) for rows in versions]
    flat = [
        {(key, at): cell for key, row in rows.items() for at, cell in enumerate(("row", *row))} for rows in versions
    ]
    cells = {key: settle_value(*(known.get(key, ABSENT) for known in flat)) for key in {*flat[0], *flat[1], *flat[2]}}
    due = {key: cell for key, cell in cells.items() if isinstance(cell, str)}
    merged, swapped = answer(*texts), answer(texts[0], texts[2], texts[1])
    assert merged.startswith("[") == swapped.startswith("[")
    if merged.startswith("[") or texts[1] == texts[2] or texts[0] in texts[1:]:
        return
    event("merged")
    assert not any(isinstance(cell, EntryClash) for cell in cells.values())
    for text in (merged, swapped):
        rows = list(csv.reader(io.StringIO(text.replace(end, "\n"), newline="")))
        assert rows[0] == ["id", "s", "t"]
        found = [((int(row[0]), at), cell) for row in rows[1:] for at, cell in enumerate(("row", *row[1:]))]
        assert len(found) == len(due)
        assert dict(found) == due


@given(
    st.lists(st.sampled_from(["x", "y", "z", "w", "v"]), max_size=5),
    st.lists(st.sampled_from("xyzwv"), max_size=5),
    st.lists(st.sampled_from("xyzwv"), max_size=5),
)
def test_random_lines(base: list[str], main: list[str], unit: list[str]) -> None:
    texts = ["".join(f"{row},1\n" for row in ["d", *rows]) for rows in (base, main, unit)]
    merged, swapped = answer(*texts), answer(texts[0], texts[2], texts[1])
    assert merged.startswith("[") == swapped.startswith("[")
    if merged.startswith("[") or texts[1] == texts[2] or texts[0] in texts[1:]:
        return
    rows = [line[0] for line in merged.splitlines()[1:]]
    assert sorted(rows) == sorted(line[0] for line in swapped.splitlines()[1:])
    for row in "xyzwv":
        old, mine, other = base.count(row), main.count(row), unit.count(row)
        assert rows.count(row) == settle_value(old, mine, other) if old in (mine, other) or mine == other else True


@given(st.text(alphabet='a,;"\n \t', max_size=30), st.sampled_from(",;\t"))
def test_the_splitter_keeps_all(text: str, mark: str) -> None:
    table = split_table(text, mark)
    if table is not None:
        assert "\n".join(table.rows) == text
        assert [mark.join(cells) for cells in table.cells] == list(table.rows)
        if '"' not in text:
            assert list(map(list, table.cells)) == [line.split(mark) for line in text.split("\n") if text]


@given(st.binary(max_size=30), st.binary(max_size=30), st.binary(max_size=30))
def test_any_bytes(base: bytes, main: bytes, unit: bytes) -> None:
    assert isinstance(merge_table(FileConflict("a.csv", base, main, unit)), (Refused, Resolved))
    assert isinstance(table_faults("a.csv", main), tuple)

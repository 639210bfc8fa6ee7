"""CSV and TSV: rows by the id in their first column, cell by cell; rows without one as a whole."""

from __future__ import annotations

from collections.abc import Collection, Hashable

from gitprun.resolvers.base import FileConflict, Refused, Resolved, brought_lines, quote, take_plain
from gitprun.resolvers.entries import ABSENT, EntryClash, prove_entries, settle_value, show_key
from gitprun.resolvers.json.resolve import decode_versions
from gitprun.resolvers.json.rows import Rows, merge_rows, merge_whole_rows, repeated
from gitprun.resolvers.json.table import UNCLOSED, CsvTable, plain, separator, split_table
from gitprun.resolvers.text import BOM, split_versions

FILES = ("*.csv", "*.tsv")
NAME = "csv"

# What a file that both sides added grew from.
_NO_TABLE = CsvTable((), (), False)


def merge_table(conflict: FileConflict) -> Resolved | Refused:
    """Merge a table row by row."""
    triple = split_versions(conflict.base, conflict.main, conflict.unit)
    one = take_plain(conflict, triple, NAME)
    if one is not None:
        return one
    texts = decode_versions(conflict, triple)
    if isinstance(texts, Refused):
        return texts
    # A lone CR is a line end to some spreadsheets and a cell's text to others: rows cannot be counted.
    if any("\0" in (text or "") or "\r" in (text or "") for text in texts):
        return Refused("the file is binary or mixes line ends")
    # From the base, for one side may have saved the whole file with another separator.
    mark = separator(conflict.path, texts[0] or texts[1])
    tables = [split_table(text or "", mark) for text in texts]
    base, main, unit = tables
    if base is None or main is None or unit is None:
        return Refused(UNCLOSED)
    merged = _merge(_NO_TABLE if conflict.base is None else base, main, unit, mark)
    if isinstance(merged, EntryClash):
        return Refused(merged.reason)
    text = triple.render(tuple("\n".join(merged).encode().split(b"\n")))
    return Resolved(text, NAME, brought_lines(triple, triple.split(text)))


def table_faults(path: str, text: bytes) -> tuple[str, ...]:
    """Name what is wrong with a table: quotes that do not pair, rows of another length than the header, an id twice."""
    try:
        decoded = text.removeprefix(BOM).decode().replace("\r\n", "\n").removesuffix("\n")
    except UnicodeDecodeError:
        return ()
    table = split_table(decoded, separator(path, decoded))
    if table is None:
        return (UNCLOSED,)
    # Free text under the name .csv has one column; lengths tell nothing there.
    if not table.header or len(table.columns) < 2:
        return ()
    found = [
        f"the row {quote(row.encode())} has {len(cells)} cells and the header {len(table.columns)}"
        for row, cells in zip(table.texts, table.body, strict=True)
        # Many writers end a table with an empty line.
        if len(cells) != len(table.columns) and row.strip()
    ]
    if table.unique:
        found += (f"the id {show_key(key)} is there twice" for key in repeated([key for key in table.ids if key]))
    return tuple(dict.fromkeys(found))


def _merge(base: CsvTable, main: CsvTable, unit: CsvTable, mark: str) -> list[str] | EntryClash:
    versions = [table for table in (base, main, unit) if table.rows]
    # Without a header the first cell is a value like any other, no id.
    if not all(table.header for table in versions):
        return merge_whole_rows(base.rows, main.rows, unit.rows)
    header = _settle_header(base if base.rows else None, main, unit)
    if isinstance(header, EntryClash):
        return header
    width = len(header.columns)
    keyed = all(table.keyed for table in versions)
    even = all(len(cells) == len(table.columns) for table in versions for cells in table.body)
    # Cells are merged by their place, so rows need an id to be paired by and as many cells as there are columns.
    if not keyed or not even:
        same = all(table.columns == header.columns for table in versions)
        body = merge_whole_rows(base.texts, main.texts, unit.texts) if same else None
        if body is None:
            return EntryClash("a column is added and the rows have no id to merge them by")
        return body if isinstance(body, EntryClash) else [header.rows[0], *body]
    old, mine, other = (Rows(table.texts, table.ids) for table in (base, main, unit))
    merged = merge_rows(old, mine, other, lambda b, m, u: _join(b, m, u, mark))
    if isinstance(merged, EntryClash):
        return merged
    found: list[str] | EntryClash = [header.rows[0], *merged]
    if isinstance(found, list) and any(table.columns != header.columns for table in (main, unit)):
        found = _fill(found, width, mark, header)
    return found if isinstance(found, EntryClash) else _prove(base, main, unit, found, mark)


def _settle_header(base: CsvTable | None, main: CsvTable, unit: CsvTable) -> CsvTable | EntryClash:
    """Choose the header: all have the same, or one side added columns at the end."""
    if main.rows[:1] == unit.rows[:1]:
        return main
    if base is not None:
        # Only columns at the end: one put in between would shift every cell of the other side's rows.
        for side, other in ((main, unit), (unit, main)):
            known = len(base.columns)
            if other.rows[:1] == base.rows[:1] and known and side.columns[:known] == base.columns:
                return side
    return EntryClash("the header is changed otherwise than by columns that one side adds at the end")


def _join(base: str | None, main: str, unit: str, mark: str) -> str | EntryClash:
    """Merge two edits of one row, cell by cell; columns that one side has more are taken from it."""
    versions = [split_table(text, mark) if text is not None else None for text in (base, main, unit)]
    old, mine, other = (table.cells[0] if table else None for table in versions)
    if mine is None or other is None:
        return EntryClash("cannot be read")
    if old is None:
        same = [plain(cell) for cell in mine] == [plain(cell) for cell in other]
        return main if same else EntryClash("is added on both sides, differently")
    cells: list[str] = []
    for at in range(max(len(mine), len(other))):
        texts = [row[at] if at < len(row) else ABSENT for row in (old, mine, other)]
        due = settle_value(*texts)
        if isinstance(due, EntryClash):
            # The sides may only quote a cell differently: what it means decides, and the winner's text is kept.
            values = [plain(text) if isinstance(text, str) else text for text in texts]
            meant = settle_value(*values)
            due = meant if isinstance(meant, EntryClash) else texts[1] if meant == values[1] else texts[2]
        if isinstance(due, EntryClash):
            return EntryClash(f"{due.reason} (column {at + 1})")
        if isinstance(due, str):
            cells.append(due)
    return mark.join(cells)


def _fill(rows: list[str], width: int, mark: str, header: CsvTable) -> list[str] | EntryClash:
    """Fill the rows of the side that does not know the added columns, where those are empty in all others."""
    tables = [split_table(row, mark) for row in rows]
    lengths = [len(table.cells[0]) if table else 0 for table in tables]
    short = min(lengths)
    if short == width:
        return rows
    # A value in an added column is one that somebody thought of for each row; an empty one may be filled in.
    if any(plain(cell) for cells in header.body for cell in cells[short:]):
        return EntryClash("a column is added on one side, and the other adds rows that do not have it")
    return [row + mark * (width - length) for row, length in zip(rows, lengths, strict=True)]


def _prove(base: CsvTable, main: CsvTable, unit: CsvTable, merged: list[str], mark: str) -> list[str] | EntryClash:
    result = split_table("\n".join(merged), mark)
    # A quote or line end that moved into another row reads as other rows.
    if result is None or list(result.rows) != merged:
        return EntryClash("the merge would not be the same table when read again")
    if not result.keyed:
        return EntryClash("the merge would have an id twice")
    # Rows that are one text everywhere prove themselves; a table of 20,000 rows would not be proved in time otherwise.
    same = {*base.texts} & {*main.texts} & {*unit.texts} & {*result.texts}
    old, mine, other = (dict(_entries(table, same)) for table in (base, main, unit))
    fault = prove_entries(old, mine, other, _entries(result, same))
    return EntryClash(fault) if fault else merged


def _entries(table: CsvTable, same: Collection[str]) -> list[tuple[Hashable, Hashable]]:
    """Make every row an entry, and every cell of it that is not empty; leave out the same rows of all versions."""
    entries: list[tuple[Hashable, Hashable]] = [(("header", column), True) for column in table.columns]
    for text, cells in zip(table.texts, table.body, strict=True):
        if text in same:
            continue
        key = plain(cells[0])
        entries.append(((key, 0), True))
        entries += (((key, at + 1), plain(cell)) for at, cell in enumerate(cells) if plain(cell))
    return entries

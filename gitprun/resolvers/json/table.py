"""Tables in text (CSV, TSV): split into rows and cells without loss, quoted line ends included."""

from __future__ import annotations

import re
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

UNCLOSED = "a quote is not closed, or text follows a closing one"

# Amounts, dates in digits and percentages are values: a first row that has one is no header.
_NUMBER = re.compile(r"[-+]?[\d.,\s%$€]+")
# Columns that name rows in practice; whether the values do is looked at as well, see ``keyed``.
_ID_WORDS = {"id", "uuid", "guid", "key", "code", "slug", "sku", "no", "nr", "number", "name"}
# Columns by whose name each row is one of its kind; a "user_id" may well stand twice.
_UNIQUE_WORDS = {"id", "uuid", "guid", "key"}


@dataclass(frozen=True, slots=True)
class CsvTable:
    """Rows as they are written, and the cells of each; the first may be a header."""

    rows: tuple[str, ...]
    cells: tuple[tuple[str, ...], ...]
    header: bool

    @property
    def body(self) -> tuple[tuple[str, ...], ...]:
        """Return the cells of the rows below the header."""
        return self.cells[1:] if self.header else self.cells

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the rows below the header as they are written."""
        return self.rows[1:] if self.header else self.rows

    @property
    def columns(self) -> tuple[str, ...]:
        """Return the header's cells; none when there is no header."""
        return self.cells[0] if self.header else ()

    @property
    def keyed(self) -> bool:
        """Check whether the first column is named like one that identifies rows, and does."""
        ids = self.ids
        return bool(_words(self.columns) & _ID_WORDS) and all(ids) and len(set(ids)) == len(ids)

    @property
    def unique(self) -> bool:
        """Check whether no value may stand twice in the first column, by its name."""
        return bool(self.columns) and plain(self.columns[0]).strip().lower() in _UNIQUE_WORDS

    @property
    def ids(self) -> list[Hashable]:
        """Return the first cell of every row below the header."""
        return [plain(cells[0]) for cells in self.body]


def separator(path: str, text: str) -> str:
    """Return what separates cells: a tab in TSV, else what the first line has most of."""
    if path.lower().endswith(".tsv"):
        return "\t"
    # The header: text in later rows may hold any number of commas.
    first = text.partition("\n")[0]
    return max(",;\t|", key=first.count)


def split_table(text: str, mark: str) -> CsvTable | None:
    """Split a text without final line end; None when its quotes do not pair."""
    # A quoted cell must end at a separator, a line end or the end: what else follows its quote means another dialect.
    cell = re.compile(rf'"[^"]*(?:""[^"]*)*"(?=[{re.escape(mark)}\n]|\Z)|(?!")[^{re.escape(mark)}\n]*')
    rows: list[str] = []
    cells: list[tuple[str, ...]] = []
    row: list[str] = []
    start = at = 0
    # By hand, not by the csv module: that gives values, and the merge must keep quotes as they were written.
    while text:
        match = cell.match(text, at)
        if match is None:
            return None
        row.append(match[0])
        at = match.end()
        if text[at : at + 1] != mark:
            rows.append(text[start:at])
            cells.append(tuple(row))
            row, start = [], at + 1
            if at >= len(text):
                break
        at += 1
    return CsvTable(tuple(rows), tuple(cells), bool(cells) and _is_header(cells[0]))


def plain(cell: str) -> str:
    """Return the value of a cell, without its quotes."""
    return cell[1:-1].replace('""', '"') if cell.startswith('"') else cell


def _is_header(cells: Sequence[str]) -> bool:
    # Names of columns are there, distinct, and no numbers; one empty cell makes the row a value like the others.
    names = [plain(cell).strip() for cell in cells]
    return all(names) and len(set(names)) == len(names) and not any(_NUMBER.fullmatch(name) for name in names)


def _words(columns: Sequence[str]) -> set[str]:
    """Return the last word of the first column's name, in small letters: "id" of "user_id" and "userId"."""
    name = plain(columns[0]).strip() if columns else ""
    return {re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower().replace(" ", "_").replace("-", "_").rpartition("_")[2]}

"""Rows and records that both sides appended under one id: the unit's get the next free ids."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gitprun.resolvers.base import FileConflict, Refused
from gitprun.resolvers.entries import show_key
from gitprun.resolvers.json.reader import Document, JsonNode, meaning, read, unescape
from gitprun.resolvers.json.table import plain, separator, split_table
from gitprun.resolvers.policies.aligned import Edit, Version, read_version
from gitprun.resolvers.policies.manifests import item_places

# Titles of a column that numbers its rows: id, "Ticket no", userId, #. A code (sku) names a thing by itself.
_COUNTED = re.compile(r"(?:.*[\s_-])?(?:id|no|nr|number)|.*[a-z](?:Id|ID|No)|#", re.IGNORECASE)
# Zeros in front would be lost in the next number; eighteen digits fit a machine word.
_PLAIN = re.compile(r"0|[1-9]\d{0,17}")
# What may stand around an id inside a field: "see #2", "1,2;4", "[3]".
_BETWEEN = re.compile(r"[\s,;|/:()\[\]]+")
_BOTH_ADDED = Refused("both sides added the file, so no number is the later one")


@dataclass(frozen=True, slots=True)
class _LedgerRow:
    """One row: its id, where that stands, what the row says, and the words of its other fields."""

    id: int
    start: int
    stop: int
    says: object
    words: frozenset[str]


def align_table(conflict: FileConflict) -> FileConflict | Refused:
    """Move the unit's new rows of a table to the next free ids."""
    if conflict.base is None:
        return _BOTH_ADDED
    versions = [read_version(text) for text in (conflict.base, conflict.main, conflict.unit)]
    # An empty base shows no separator; then main's first line does.
    mark = separator(conflict.path, versions[0].text or versions[1].text)
    return _align(conflict, versions, [_table_rows(version.text, mark) for version in versions])


def align_records(conflict: FileConflict) -> FileConflict | Refused:
    """Move the unit's new records of JSON Lines to the next free ids."""
    if conflict.base is None:
        return _BOTH_ADDED
    versions = [read_version(text) for text in (conflict.base, conflict.main, conflict.unit)]
    return _align(conflict, versions, [_record_rows(version.text) for version in versions])


def _align(
    conflict: FileConflict, versions: Sequence[Version], rows: Sequence[Sequence[_LedgerRow] | Refused]
) -> FileConflict | Refused:
    known: list[Mapping[int, _LedgerRow]] = []
    for found in rows:
        if isinstance(found, Refused):
            return found
        known.append({row.id: row for row in found})
        if len(known[-1]) < len(found):
            return Refused("an id is there twice")
    base, main, unit = known
    new = [row for row in unit.values() if row.id not in base]
    # A row that both sides added alike is one row.
    own = [row for row in new if row.id not in main or main[row.id].says != row.says]
    if not any(row.id in main for row in own):
        return conflict
    # A row in the midst stands where its number says; with another number it would be out of place.
    for side in (main, unit):
        if not _appended(base, side):
            return Refused("the new rows are not all at the end")
    old = {str(row.id) for row in own}
    # Whatever the unit wrote may mean its own ids; what main wrote means main's, and the base knew none of them.
    named = _named(old, [row for row in unit.values() if row.id not in base or base[row.id].says != row.says])
    if named is not None:
        return Refused(f"the id {show_key(named)} may be named by another row of the unit")
    # All new rows of the unit get new ids, not only those in the way, so that they stay in the order of their numbers.
    free = max((*base, *main)) + 1
    edits: list[Edit] = [(row.start, row.stop, str(free + number)) for number, row in enumerate(own)]
    return replace(conflict, unit=versions[2].edited(edits))


def _appended(base: Mapping[int, _LedgerRow], side: Mapping[int, _LedgerRow]) -> bool:
    """Check whether the new rows of a side are the last ones."""
    are_new = [key not in base for key in side]
    return are_new == sorted(are_new)


def _named(ids: Collection[str], rows: Sequence[_LedgerRow]) -> str | None:
    return next((word for row in rows for word in sorted(row.words) if word in ids), None)


def _table_rows(text: str, mark: str) -> list[_LedgerRow] | Refused:
    table = split_table(text.removesuffix("\n"), mark)
    if table is None or not table.keyed or not _COUNTED.fullmatch(plain(table.columns[0]).strip()):
        return Refused("the first column does not number the rows")
    found: list[_LedgerRow] = []
    at = len(table.rows[0]) + 1
    for row, cells in zip(table.texts, table.body, strict=True):
        number, quoted = plain(cells[0]), cells[0].startswith('"')
        if not _PLAIN.fullmatch(number):
            return Refused(f"the id {show_key(number)} is no plain number")
        # The quotes around an id stay.
        start, values = at + quoted, tuple(plain(cell) for cell in cells[1:])
        found.append(_LedgerRow(int(number), start, start + len(number), values, frozenset(_words(values))))
        at += len(row) + 1
    return found


def _record_rows(text: str) -> list[_LedgerRow] | Refused:
    found: list[_LedgerRow] = []
    at = 0
    for line in text.split("\n"):
        document = read(line) if line.strip() else None
        if isinstance(document, Document):
            ids = [
                (value, start) for key, value, start in item_places(document.root, len(document.lead)) if key == "id"
            ]
            # Of two keys "id" in one record it depends on the reader which one counts.
            if len(ids) != 1 or ids[0][0].kind or not _PLAIN.fullmatch(ids[0][0].text):
                return Refused("not every record has a plain number as its id")
            value, start = ids[0]
            others = [item.value for item in document.root.items if item.key != "id"]
            says = [(item.key, meaning(item.value)) for item in document.root.items]
            stop = at + start + len(value.text)
            words = frozenset(_words(leaf for other in others for leaf in _leaves(other)))
            found.append(_LedgerRow(int(value.text), at + start, stop, frozenset(says), words))
        elif document is not None:
            return Refused("a line is no JSON")
        at += len(line) + 1
    return found


def _leaves(node: JsonNode) -> Iterator[str]:
    if node.kind in ("{", "["):
        for item in node.items:
            yield item.key
            yield from _leaves(item.value)
    else:
        yield unescape(node.text) if node.kind else node.text


def _words(values: Iterator[str] | Sequence[str]) -> Iterator[str]:
    """Yield the words of values, among them any that may be an id."""
    for value in values:
        # pandas writes a column of ids with gaps as 2.0, 3.0.
        yield from (word.strip("#.'\"").removesuffix(".0") for word in _BETWEEN.split(value))

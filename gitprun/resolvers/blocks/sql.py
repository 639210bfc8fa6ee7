"""SQL scripts: statements in order, tables by column, rows by id."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from gitprun.resolvers.base import FileConflict, Kind, Refused, Resolved
from gitprun.resolvers.blocks.resolve import fault_finder, merge_trees
from gitprun.resolvers.blocks.sql_scan import (
    SqlItem,
    line_stop,
    split_at,
    split_brackets,
    split_statements,
    without_comments,
)
from gitprun.resolvers.blocks.tree import (
    BlockEntry,
    BlocksUnreadable,
    Key,
    Rule,
    is_comment,
    render,
    split_above,
    squeeze,
    twins,
)

NAME = "sql"

_NAME = r"(?:\"[^\"]+\"|`[^`]+`|\w+)(?:\s*\.\s*(?:\"[^\"]+\"|`[^`]+`|\w+))*"
# An index may have no name: in "CREATE INDEX ON t" the word behind is the table's.
_CREATE = re.compile(
    r"CREATE\s+(?:OR\s+REPLACE\s+)?(?:(?:GLOBAL|LOCAL|TEMP|TEMPORARY|UNLOGGED|UNIQUE|MATERIALIZED|RECURSIVE)\s+)*"
    r"(TABLE|INDEX|VIEW|TYPE|FUNCTION|SEQUENCE|SCHEMA|EXTENSION|DOMAIN)\s+"
    rf"(?:CONCURRENTLY\s+)?(?:IF\s+NOT\s+EXISTS\s+)?(?!ON\b)({_NAME})",
    re.IGNORECASE,
)
_INSERT = re.compile(rf"INSERT\s+INTO\s+({_NAME})\s*(\([^()]*\))?\s*VALUES\b", re.IGNORECASE)
_ID = re.compile(r"\s*\(\s*(-?\d+|'(?:''|[^'])*')\s*[,)]")
# With their bracket: "key" and "index" alone may be names of columns.
_CONSTRAINT = re.compile(
    rf"(CONSTRAINT)\s+({_NAME})|(?:PRIMARY\s+KEY|UNIQUE|FOREIGN\s+KEY|CHECK|EXCLUDE|LIKE|FULLTEXT|SPATIAL)\b"
    rf"|(?:KEY|INDEX)\s+(?:{_NAME}\s*)?\(",
    re.IGNORECASE,
)
_COLUMN = re.compile(rf"({_NAME})\s+\S")
# What can be made in any order, names aside; a schema or an extension is needed by what follows.
_INDEPENDENT = frozenset({"table", "index", "view", "type", "function", "sequence", "domain", "row", "rows"})


def resolve_sql(conflict: FileConflict) -> Resolved | Refused:
    """Merge a script statement by statement, in order.

    Two statements that the sides put at one place are kept both, main's first, when each makes a table, index, view,
    type or function, or inserts a row with an id of its own, and neither names what the other makes.
    """
    return merge_trees(conflict, NAME, read_sql)


def read_sql(text: str) -> BlockEntry | BlocksUnreadable:
    """Read a script as statements; tables as lists of columns, inserts as lists of rows."""
    pieces = split_statements(text)
    if isinstance(pieces, BlocksUnreadable):
        return pieces
    entries: list[BlockEntry] = []
    for piece in pieces[:-1]:
        alone, lead = _split(piece.above)
        entries += [*alone, _read_statement(piece, lead)]
    alone, foot = split_above(pieces[-1].above.split("\n")[:-1], attach=False)
    if pieces[-1].above.rpartition("\n")[2]:
        return BlocksUnreadable("the last line is not ended")
    return BlockEntry(("file",), inner=(*entries, *alone), foot=foot, rule=_FILE)


def find_sql_faults(text: str) -> tuple[str, ...]:
    """Name tables that are made twice, columns that stand twice in one, brackets that do not pair up."""
    tree = read_sql(text)
    if isinstance(tree, BlocksUnreadable):
        # What is there for a client program or holds procedures is not read, and so has no fault that could be named.
        return () if tree.reason.startswith("it holds") else (tree.reason,)
    faults: list[str] = []
    made: set[str] = set()
    for entry in tree.inner:
        plain = without_comments(render(entry)).strip()
        # What was dropped or renamed may be made again; which table that was is not looked into.
        dropped = re.match(r"DROP\s+(?:TABLE|SCHEMA)\b", plain, re.IGNORECASE)
        if dropped or re.search(r"\bRENAME\s+TO\b", plain, re.IGNORECASE):
            made.clear()
        if entry.key[0] != "table":
            continue
        if entry.key[1] in made and not re.match(r"CREATE\s+TABLE\s+IF\s+NOT\b", plain, re.IGNORECASE):
            faults.append(f"table {entry.key[1]} is made twice")
        made.add(entry.key[1])
        faults += [f"table {entry.key[1]} has {twin} twice" for twin in twins(entry.inner, "column")]
    return tuple(dict.fromkeys(faults))


def _split(above: str) -> tuple[list[BlockEntry], str]:
    *lines, rest = above.split("\n")
    return ([], above) if rest else split_above(lines)


def _read_statement(piece: SqlItem, lead: str) -> BlockEntry:
    plain = without_comments(piece.text).strip()
    whole = BlockEntry(_statement_key(plain), piece.text + piece.end, lead, tail=piece.tail)
    if whole.key[0] == "table":
        return _read_table(piece, whole) or whole
    insert = _INSERT.match(plain)
    return (_read_rows(piece, whole, insert) or whole) if insert else whole


def _statement_key(plain: str) -> Key:
    created = _CREATE.match(plain)
    if created:
        return (created.group(1).lower(), _fold(created.group(2)))
    return ("statement", squeeze(plain))


def _fold(name: str) -> str:
    """Write a name as the database knows it; quoted ones keep their letters."""
    # Unquoted names are one name in whatever case.
    parts = re.findall(r"\"[^\"]+\"|`[^`]+`|\w+", name)
    return ".".join(part.strip('"`') if part[0] in '"`' else part.lower() for part in parts)


def _read_table(piece: SqlItem, whole: BlockEntry) -> BlockEntry | None:
    """Read the columns of a table; None when it has no list of columns that can be told apart by lines or commas."""
    cut = split_brackets(piece.text)
    # A table made from a query, or as part of another one, has no list of columns in its brackets.
    if cut is None or re.search(r"\bAS\s*$|\bSELECT\b|\bPARTITION\s+OF\b", without_comments(cut[0]), re.IGNORECASE):
        return None
    return _read_list(whole, cut, piece, _column_key, _COLUMNS)


def _read_rows(piece: SqlItem, whole: BlockEntry, insert: re.Match[str]) -> BlockEntry | None:
    """Read the rows of an insert; None unless each has an id of its own first."""
    found = _INSERT.match(piece.text)
    rows = split_at(piece.text[found.end() :], ",") if found else []
    # A comment among rows would have to go with one of them.
    if found is None or isinstance(rows, BlocksUnreadable) or "--" in piece.text or "/*" in piece.text:
        return None
    table = squeeze(f"{_fold(insert.group(1))} {insert.group(2) or ''}")
    ids = [match.group(1) for match in (_ID.match(row.text) for row in rows[:-1]) if match]
    cuts = [split_brackets(row.text) for row in rows[:-1]]
    # Two rows of one id in one statement leave open which one a side changed.
    if len(set(ids)) < len(cuts) or any(cut is None or cut[2].strip() != ")" for cut in cuts):
        return None
    if len(ids) == 1:
        return replace(whole, key=("row", table, ids[0]))
    cut = (found.group(), piece.text[found.end() :], "")
    return _read_list(replace(whole, key=("rows", table)), cut, piece, _row_key, _ROWS)


def _read_list(
    whole: BlockEntry, cut: tuple[str, str, str], piece: SqlItem, name: Callable[[str], Key], rule: Rule
) -> BlockEntry | None:
    """Read a list with commas; None when they do not stand right behind the items."""
    stop = line_stop(cut[1], 0)
    head, inside = cut[0] + cut[1][:stop], cut[1][stop:]
    items = split_at(inside, ",")
    # Commas that lead a line would come to stand behind its item.
    if isinstance(items, BlocksUnreadable) or any(not item.text or "\n" in item.end for item in items[:-1]):
        return None
    # A comma behind the last item is an error in most databases, and nothing that is written again.
    if len(items) < 2 or items[-2].end:
        return None
    inner: list[BlockEntry] = []
    for item in items[:-1]:
        alone, lead = _split(item.above)
        inner += [*alone, BlockEntry(name(item.text), item.text, lead, item.end, item.tail)]
    *lines, rest = items[-1].above.split("\n")
    if any(is_comment(entry) for entry in inner) or any(line.strip() for line in lines):
        return None  # a comment that stands alone among commas
    foot = "".join(f"{line}\n" for line in lines) + f"{rest}{cut[2]}{piece.end}{piece.tail}"
    return replace(whole, text=head, tail="", inner=tuple(inner), foot=foot, rule=rule)


def _column_key(text: str) -> Key:
    plain = without_comments(text).strip()
    constraint = _CONSTRAINT.match(plain)
    if constraint:
        named = constraint.group(2)
        if named:
            return ("constraint", _fold(named))
        # A table has one, whichever way it is written.
        return ("constraint", "primary key" if plain[:7].lower() == "primary" else squeeze(plain).lower())
    column = _COLUMN.match(plain)
    return ("column", _fold(column.group(1))) if column else ("part", squeeze(plain))


def _row_key(text: str) -> Key:
    found = _ID.match(text)
    return ("row", found.group(1) if found else squeeze(text))


def _join_statements(main: Sequence[BlockEntry], unit: Sequence[BlockEntry]) -> str | None:
    """Return in words why statements that both sides changed at one place depend on each other."""
    main, unit = ([entry for entry in side if not is_comment(entry)] for side in (main, unit))
    for entry in (*main, *unit) if main and unit else ():
        if entry.key[0] not in _INDEPENDENT:
            return f"both sides change something at one place and the order of {entry.key[0]} counts"
    for side, other in ((main, unit), (unit, main)):
        # Without its schema, and in one case: a table is named in many ways.
        made = {entry.key[1].rpartition(".")[2].lower() for entry in side if entry.key[0] not in ("row", "rows")}
        used = made & {word.lower() for entry in other for word in re.findall(r"\w+", render(entry))}
        if used:
            return f"one side names {min(used)}, which the other changes at the same place"
    return None


_FILE = Rule(joint=_join_statements)
_COLUMNS = Rule(",", needs=("column",))
_ROWS = Rule(",", sorts=("row",), needs=("row",))

KIND = Kind(NAME, ("*.sql",), (resolve_sql,), fault_finder(find_sql_faults))

"""Rails' db/schema.rb: the higher version, tables by name, columns and indexes by name."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from gitprun.resolvers.base import FileConflict, Kind, Refused, Resolved, brought_lines, split_conflict
from gitprun.resolvers.blocks.resolve import fault_finder, merge_trees
from gitprun.resolvers.blocks.scan import unclosed
from gitprun.resolvers.blocks.tree import BlockEntry, BlocksUnreadable, Key, Rule, split_above, squeeze, twins

NAME = "rails-schema"

_VERSION = re.compile(rb"(ActiveRecord::Schema(?:\[[\d.]+\])?\.define\(version: )([\d_]+)(?=\))")
_SCHEMA = re.compile(r"ActiveRecord::Schema(?:\[[\d.]+\])?\.define\(version: [\d_]+\) do")
_BLOCK = re.compile(r"\s*create_(?:table|join_table)\b.*\bdo \|\w+\|")
_CALL = re.compile(r"\s*(?:\w+\.)?(\w+)[ (]\s*(.*)", re.DOTALL)
_STRING = re.compile(r"[\"':]([\w.]+)\"?")
_INDEX_NAME = re.compile(r"\bname: \"([^\"]+)\"")
# Only what may go over lines is read with care: most calls of a schema are one plain line.
_BRACKET = re.compile(r"[()\[\]{}#]")
# The quoted text comes first, so that a "#" in it starts no comment.
_COMMENT = re.compile(r"(\"(?:\\.|[^\"\\])*\")|#[^\n]*")

_FILE = Rule(sorts=("create_table", "enable_extension", "add_foreign_key"))
_TABLE = Rule(sorts=("index",))


def resolve_rails_schema(conflict: FileConflict) -> Resolved | Refused:
    """Merge a schema.rb: Rails' own rule for the version is the higher one, the rest goes by names."""
    triple = split_conflict(conflict)
    if isinstance(triple, Refused):
        return triple
    versions = [found.group(2) for text in (conflict.main, conflict.unit) if (found := _VERSION.search(text))]
    if len(versions) < 2:
        return Refused("there is no version")
    # A schema version is a timestamp of 14 digits; what is longer is nobody's, and must not cost time.
    highest = max(versions, key=lambda version: int(version[:40]))
    # In all three versions, so that the version is no change and cannot clash.
    base, main, unit = (
        text if text is None else _VERSION.sub(lambda found: found.group(1) + highest, text)
        for text in (conflict.base, conflict.main, conflict.unit)
    )
    answer = merge_trees(replace(conflict, base=base, main=main or b"", unit=unit or b""), NAME, read_rails_schema)
    if isinstance(answer, Refused):
        return answer
    return replace(answer, added=brought_lines(triple, triple.split(answer.text)))


def read_rails_schema(text: str) -> BlockEntry | BlocksUnreadable:
    """Read a schema as tables of columns and indexes, and single calls beside them."""
    lines = text.split("\n")[:-1]
    start = next((at for at, line in enumerate(lines) if line.strip() and not line.startswith("#")), len(lines))
    if start == len(lines) or not _SCHEMA.fullmatch(lines[start].rstrip()):
        return BlocksUnreadable("it is no schema as Rails writes it")
    alone, lead = split_above(lines[:start])
    found = _read_body(lines, start + 1, _FILE, depth=0)
    if isinstance(found, BlocksUnreadable):
        return found
    inner, foot, stop = found
    more, blank = split_above(lines[stop:], attach=False)
    if any(line.strip() and not line.startswith("#") for line in lines[stop:]):
        return BlocksUnreadable("something follows the schema")
    schema = BlockEntry(("schema",), f"{lines[start]}\n", lead, inner=inner, foot=foot, rule=_FILE)
    return BlockEntry(("file",), inner=(*alone, schema, *more), foot=blank)


def find_rails_faults(text: str) -> tuple[str, ...]:
    """Name tables, columns and indexes that stand twice, and blocks that do not end."""
    tree = read_rails_schema(text)
    if isinstance(tree, BlocksUnreadable):
        # A schema that has more than Rails writes is read by nobody here; only a block without an end is a fault.
        return (tree.reason,) if "ended" in tree.reason else ()
    schema = next(entry for entry in tree.inner if entry.key[0] == "schema")
    faults = [f"{twin} is there twice" for twin in twins(schema.inner, "create_table")]
    for table in schema.inner:
        faults += [f"{table.named} has {twin} twice" for twin in twins(table.inner, "column", "index")]
    return tuple(faults)


def _read_body(
    lines: Sequence[str], at: int, rule: Rule, depth: int
) -> tuple[tuple[BlockEntry, ...], str, int] | BlocksUnreadable:
    """Read the calls up to the ``end`` of their block."""
    inner: list[BlockEntry] = []
    above: list[str] = []
    while at < len(lines):
        line = lines[at]
        if line.strip() == "end":
            alone, blank = split_above(above, attach=False)
            return (*inner, *alone), f"{blank}{line}\n", at + 1
        if not line.strip() or line.lstrip().startswith("#"):
            above.append(line)
            at += 1
            continue
        alone, lead = split_above(above)
        above = []
        if depth == 0 and _BLOCK.fullmatch(line.rstrip()):
            found = _read_body(lines, at + 1, _TABLE, depth + 1)
            if isinstance(found, BlocksUnreadable):
                return found
            rows, foot, at = found
            made = BlockEntry(_key(line, depth), f"{line}\n", lead, inner=rows, foot=foot, rule=_TABLE)
        else:
            stop = _call_end(lines, at)
            whole = "\n".join(lines[at:stop])
            plain = _COMMENT.sub(lambda quoted: quoted.group(1) or "", whole)
            # Code that runs (a condition, a heredoc, a block of another call) may mean anything.
            if stop is None or re.search(r"<<[~-]|\bdo\b\s*(?:\||$)|^\s*(?:if|unless|def|class|end)\b", plain):
                return BlocksUnreadable("it holds more than Rails writes, or a block is not ended")
            made = BlockEntry(_key(plain, depth), whole, lead, tail="\n")
            at = stop
        inner += [*alone, made]
    return BlocksUnreadable("a block is not ended")


def _call_end(lines: Sequence[str], start: int) -> int | None:
    if not lines[start].rstrip().endswith((",", "\\")) and not _BRACKET.search(lines[start]):
        return start + 1
    text = ""
    # A call is a few lines; its brackets are counted anew for each line more, which is quadratic.
    for at in range(start, min(len(lines), start + 100)):
        text += _COMMENT.sub(lambda quoted: quoted.group(1) or "", lines[at]) + "\n"
        if unclosed(text) < 0:
            return None
        if not unclosed(text) and not text.rstrip().endswith((",", "\\")):
            return at + 1
    return None


def _key(text: str, depth: int) -> Key:
    found = _CALL.match(text)
    if not found:
        return ("call", squeeze(text))
    call, rest = found.groups()
    named = _INDEX_NAME.search(rest)
    # Rails finds an index by its name; without one it is known by its columns.
    if call in ("index", "check_constraint", "exclusion_constraint", "unique_constraint", "add_index") and named:
        return ("index" if depth else call, named.group(1))
    first = _STRING.match(rest)
    if not first or call in ("index", "check_constraint", "add_index", "add_foreign_key"):
        return ("index" if call == "index" else call, squeeze(rest))
    return ("column" if depth else call, first.group(1))


KIND = Kind(
    NAME, ("schema.rb", "db/*_schema.rb"), (resolve_rails_schema,), fault_finder(find_rails_faults), counter=_VERSION
)

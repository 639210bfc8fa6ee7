"""Prisma schemas: blocks by kind and name, fields and values by name, block attributes as a set."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gitprun.resolvers.base import FileConflict, Kind, Refused, Resolved
from gitprun.resolvers.blocks.prisma_columns import realign
from gitprun.resolvers.blocks.resolve import fault_finder, merge_trees
from gitprun.resolvers.blocks.scan import unclosed, uncommented
from gitprun.resolvers.blocks.tree import BlockEntry, BlocksUnreadable, Rule, split_above, twins

NAME = "prisma"

_BLOCK = re.compile(r"\s*(\w+)\s+(\w+)\s*\{\s*(//.*)?")
_CLOSE = re.compile(r"\s*\}\s*(//.*)?")
# Not "name = value", which is a setting.
_FIELD = re.compile(r"\s*(\w+)\s+(?![=\s])\S")
_VALUE = re.compile(r"\s*(\w+)\s*(?:@|$)")
_SETTING = re.compile(r"\s*(\w+)\s*=\s*\S")
_ATTRIBUTE = re.compile(r"\s*@@([\w.]+)")
_NAMES = re.compile(r"\[([^\[\]\"]*)\]")
# Only lists of own fields: those behind "references:" are fields of the other model.
_OWN_FIELDS = re.compile(
    r"(?:@@(?:id|unique|index)\s*\(\s*(?:fields\s*:\s*)?|@relation\b[^\[\"]*(?:\"[^\"]*\")?[^\[\"]*\bfields\s*:\s*)\[([^\[\]\"]*)\]"
)
_MEMBERS = Rule(needs=("field", "value"))
# These may stand many times in a model, for other fields each time; they are known by those.
_REPEATABLE = frozenset({"unique", "index", "fulltext"})
# These share one space of names; a generator may be called as a model is.
_TYPES = frozenset({"model", "enum", "type", "view"})


def resolve_prisma(conflict: FileConflict) -> Resolved | Refused:
    """Merge a Prisma schema by blocks and fields; blocks whose columns stood aligned everywhere are aligned again."""
    return merge_trees(conflict, NAME, read_prisma, finish=realign)


def read_prisma(text: str) -> BlockEntry | BlocksUnreadable:
    """Read a schema as blocks of fields, values, settings and attributes."""
    lines = text.split("\n")[:-1]
    entries: list[BlockEntry] = []
    above: list[str] = []
    at = 0
    while at < len(lines):
        line = lines[at]
        opened = _BLOCK.fullmatch(line)
        over = _above_end(lines, at)
        if over:
            above.append("\n".join(lines[at:over]))
            at = over
        elif opened:
            found = _read_block(lines, at, opened, above)
            if isinstance(found, BlocksUnreadable):
                return found
            alone, block, at = found
            entries += [*alone, block]
            above = []
        else:
            return BlocksUnreadable("there is a line outside of every block")
    alone, foot = split_above(above, attach=False)
    return BlockEntry(("file",), inner=(*entries, *alone), foot=foot)


def find_prisma_faults(text: str) -> tuple[str, ...]:
    """Name what is defined twice, and what lists a field that the model does not have."""
    tree = read_prisma(text)
    if isinstance(tree, BlocksUnreadable):
        return (tree.reason,)
    faults: list[str] = []
    seen: set[str] = set()
    for block in tree.inner:
        kind, name = (*block.key, "")[:2]
        where = name if kind in _TYPES else block.named
        if kind == "comment":
            continue
        if where in seen:
            faults.append(f"{where} is defined twice")
        seen.add(where)
        faults += [f"{block.named} has {twin} twice" for twin in twins(block.inner, "field", "value", "setting", "@@")]
        if kind == "model":
            faults += _unknown_fields(block)
    return tuple(faults)


def _unknown_fields(block: BlockEntry) -> list[str]:
    known = {entry.key[1] for entry in block.inner if entry.key[0] == "field"}
    faults = []
    for entry in block.inner:
        if entry.key[0] != "field" and not entry.key[0].startswith("@@"):
            continue
        listed = [name for names in _OWN_FIELDS.findall(uncommented(entry.text)) for name in names.split(",")]
        for name in (re.match(r"\w*", name.strip()) for name in listed):
            if name and name.group() and name.group() not in known:
                faults.append(f"{block.named} lists {name.group()}, which is no field of it")
    return list(dict.fromkeys(faults))


def _above_end(lines: Sequence[str], at: int) -> int | None:
    """Find the end of a blank line or a comment of lines of its own; None when a line is neither."""
    plain = lines[at].strip()
    if not plain or plain.startswith("//"):
        return at + 1
    if plain.startswith("/*"):
        stop = next((i + 1 for i in range(at, len(lines)) if "*/" in lines[i]), None)
        # A comment with text behind its end is part of a line that is read otherwise.
        return stop if stop and lines[stop - 1].rstrip().endswith("*/") else None
    return None


def _read_block(
    lines: Sequence[str], at: int, opened: re.Match[str], above: Sequence[str]
) -> tuple[list[BlockEntry], BlockEntry, int] | BlocksUnreadable:
    kind, name = opened.group(1), opened.group(2)
    alone, lead = split_above(above)
    head = f"{lines[at]}\n"
    inner: list[BlockEntry] = []
    pending: list[str] = []
    at += 1
    while at < len(lines):
        line = lines[at]
        if _CLOSE.fullmatch(line):
            more, blank = split_above(pending, attach=False)
            block = BlockEntry((kind, name), head, lead, inner=(*inner, *more), foot=f"{blank}{line}\n", rule=_MEMBERS)
            return alone, block, at + 1
        over = _above_end(lines, at)
        if over:
            pending.append("\n".join(lines[at:over]))
            at = over
            continue
        stop = _statement_end(lines, at)
        key = stop and _key(kind, uncommented("\n".join(lines[at:stop])))
        if not stop or not key:
            return BlocksUnreadable(f"{kind} {name} is not closed or holds a line that is no part of it")
        more, comments = split_above(pending)
        inner += [*more, BlockEntry(key, "\n".join(lines[at:stop]), comments, tail="\n")]
        pending = []
        at = stop
    return BlocksUnreadable(f"{kind} {name} is not closed or holds a line that is no part of it")


def _statement_end(lines: Sequence[str], start: int) -> int | None:
    """Find the end of a statement that goes on while a bracket is open; None when none of them closes it."""
    # Brackets are counted anew for each line more, which is quadratic; an attribute goes over some ten lines.
    for at in range(start, min(len(lines), start + 200)):
        # A block that opens here shows that the one above was never closed.
        if _BLOCK.fullmatch(lines[at]):
            return None
        depth = unclosed(uncommented("\n".join(lines[start : at + 1])))
        if depth == 0:
            return at + 1
        if depth < 0:
            return None
    return None


def _key(kind: str, text: str) -> tuple[str, ...] | None:
    attribute = _ATTRIBUTE.match(text)
    if attribute:
        name = attribute.group(1)
        listed = _NAMES.search(text)
        if name in _REPEATABLE:
            # The order of fields counts: an index on (a, b) is not one on (b, a).
            return (f"@@{name}", "".join(listed.group(1).split()) if listed else "")
        return ("@@", name)
    if kind in ("datasource", "generator"):
        named, found = "setting", _SETTING.match(text)
    elif kind == "enum":
        named, found = "value", _VALUE.match(text)
    else:
        named, found = "field", _FIELD.match(text)
        if not found:
            named, found = "setting", _SETTING.match(text)
    return (named, found.group(1)) if found else None


KIND = Kind(NAME, ("*.prisma",), (resolve_prisma,), fault_finder(find_prisma_faults))

"""From three texts to a proved text: read them as trees, merge, write, read again, compare."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from itertools import chain

from gitprun.resolvers.base import (
    FaultFinder,
    FileConflict,
    Refused,
    Resolved,
    brought_lines,
    open_lines,
)
from gitprun.resolvers.blocks.tree import (
    BlockEntry,
    BlocksUnreadable,
    Check,
    Key,
    Reader,
    flatten,
    number,
    render,
    substance,
)
from gitprun.resolvers.blocks.weave import merge_entry
from gitprun.resolvers.entries import EntryClash, prove_entries
from gitprun.resolvers.text import BOM, Triple

# Changes white space of the merged tree at most: (merged, base, main, unit) -> merged.
Finish = Callable[[BlockEntry, BlockEntry, BlockEntry, BlockEntry], BlockEntry]

EMPTY = BlockEntry(("file",))
# Readers call themselves a level at a time; Python stops at 1,000 frames, and nobody nests blocks so deep.
DEPTH_LIMIT = 50


def merge_trees(
    conflict: FileConflict, name: str, read: Reader, *, finish: Finish | None = None, check: Check | None = None
) -> Resolved | Refused:
    """Merge a file entry by entry; refused unless the text reads again as what both sides are due."""
    triple = open_lines(conflict, name)
    if not isinstance(triple, Triple):
        return triple
    # A carriage return that is part of a line would make equal entries different.
    if any(b"\r" in line for line in chain(triple.base, triple.main, triple.unit)):
        return Refused("the line ends are mixed")
    trees: list[BlockEntry] = []
    for whose, lines in (("the base's", triple.base), ("main's", triple.main), ("the unit's", triple.unit)):
        tree = read(_join(lines)) if lines else EMPTY
        if isinstance(tree, BlocksUnreadable):
            return Refused(f"{whose} version cannot be read: {tree.reason}")
        trees.append(tree)
    base, main, unit = trees
    merged = merge_entry(base, main, unit)
    if isinstance(merged, EntryClash):
        return Refused(merged.reason)
    if finish:
        merged = finish(merged, base, main, unit)
    text = render(merged)
    # The kind's own check first: its words say what is wrong, those of the proof only where.
    fault = (check and check(base, main, unit, merged)) or _prove(read, base, main, unit, merged, text)
    if fault:
        return Refused(fault)
    lines = tuple(text.encode("utf-8", "surrogateescape").split(b"\n")[:-1])
    return Resolved(triple.render(lines), name, brought_lines(triple, lines))


def fault_finder(find: Callable[[str], tuple[str, ...]]) -> FaultFinder:
    """Make a finder of faults in bytes from one in text with plain line ends."""

    def faults(path: str, text: bytes) -> tuple[str, ...]:
        # An empty file and a binary one are of no kind.
        if not text.strip() or b"\0" in text:
            return ()
        return find(plain_text(text))

    return faults


def plain_text(text: bytes) -> str:
    """Decode a version of a file: no byte order mark, plain line ends, the last line ended."""
    plain = text.removeprefix(BOM).replace(b"\r\n", b"\n").decode("utf-8", "surrogateescape")
    return plain if plain.endswith("\n") else f"{plain}\n"


def _join(lines: tuple[bytes, ...]) -> str:
    return b"".join(b"%b\n" % line for line in lines).decode("utf-8", "surrogateescape")


def _prove(
    read: Reader, base: BlockEntry, main: BlockEntry, unit: BlockEntry, merged: BlockEntry, text: str
) -> str | None:
    if text and not text.endswith("\n"):
        return "the last line is not ended"
    again = read(text) if text else EMPTY
    if isinstance(again, BlocksUnreadable):
        return f"the merged text cannot be read: {again.reason}"
    # Flattened they are compared as far as white space means nothing; most merges are equal at once.
    if merged != again and list(flatten(merged)) != list(flatten(again)):
        return "the merged text reads as other entries than those that were merged"
    tables = [dict(zip(number(tree.inner), tree.inner, strict=True)) for tree in (base, main, unit, again)]
    # What is the same in all of them, byte for byte, needs no proof.
    for key, entry in list(tables[0].items()):
        if all(table.get(key) == entry for table in tables[1:]):
            for table in tables:
                del table[key]
    flat = [_flatten_table(table) for table in tables]
    return prove_entries(flat[0], flat[1], flat[2], flat[3])


def _flatten_table(table: dict[tuple[Key, int], BlockEntry]) -> dict[Hashable, tuple[str, ...]]:
    flat: dict[Hashable, tuple[str, ...]] = {}
    for key, entry in table.items():
        flat[(key,)] = substance(entry)
        flat.update(flatten(entry, (key,)))
    return flat

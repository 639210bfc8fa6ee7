"""Number clashes in .proto files, settled by giving the unit's new fields other numbers; only where asked for."""

from __future__ import annotations

import re
from dataclasses import replace

from gitprun.resolvers.base import FileConflict, Refused, Resolved, brought_lines, split_conflict
from gitprun.resolvers.blocks.proto import number_of, numbers_of, read_proto, resolve_proto
from gitprun.resolvers.blocks.resolve import plain_text
from gitprun.resolvers.blocks.tree import BlockEntry, BlocksUnreadable, render

NAME = "renumber"

# 2**29 - 1, the largest field number of the language.
_LAST = 536_870_911
# The compiler refuses these: they are reserved for its own use.
_INTERNAL = range(19_000, 20_000)


def renumber_later(conflict: FileConflict) -> Resolved | Refused:
    """Merge a .proto file and give fields that the unit adds the next free number where main has taken theirs.

    A policy, never built in: it is right only while nothing has been written with the unit's numbers. It holds for a
    path that is configured so: ``[[hotspot]] path = "api/*.proto", resolver = "renumber"``.
    """
    triple = split_conflict(conflict)
    if isinstance(triple, Refused):
        return triple
    aligned = align_numbers(conflict)
    answer = aligned if isinstance(aligned, Refused) else resolve_proto(aligned)
    if isinstance(answer, Refused):
        return answer
    return Resolved(answer.text, NAME, brought_lines(triple, triple.split(answer.text)))


def align_numbers(conflict: FileConflict) -> FileConflict | Refused:
    """Move the unit's new fields to numbers of their own."""
    triple = split_conflict(conflict)
    if isinstance(triple, Refused):
        return triple
    if conflict.base is None:
        return Refused("both sides added the file, so no number is the later one")
    trees = []
    for text in (conflict.base, conflict.main, conflict.unit):
        tree = read_proto(plain_text(text))
        if isinstance(tree, BlocksUnreadable):
            return Refused(tree.reason)
        trees.append(tree)
    renumbered = _renumber(*trees)
    if isinstance(renumbered, Refused):
        return renumbered
    if renumbered == trees[2]:
        return conflict
    lines = tuple(render(renumbered).encode("utf-8", "surrogateescape").split(b"\n")[:-1])
    return replace(conflict, unit=triple.render(lines, final=conflict.unit.endswith(b"\n")))


def _renumber(base: BlockEntry | None, main: BlockEntry | None, unit: BlockEntry) -> BlockEntry | Refused:
    """Renumber the fields of one block, and of the blocks in it; what is in oneofs counts for the message."""
    old, by_main = _inner(base), _inner(main)
    # From the innermost: a message is numbered with the messages in it already as they will stand.
    inner: list[BlockEntry] = []
    for entry in unit.inner:
        if entry.inner and entry.key[0] in ("message", "enum"):
            made = _renumber(old.get(entry.key), by_main.get(entry.key), entry)
            if isinstance(made, Refused):
                return made
            entry = made
        inner.append(entry)
    unit = replace(unit, inner=tuple(inner))
    if base is None or main is None or unit.key[0] not in ("message", "enum"):
        return unit
    before, taken, own = numbers_of(base), numbers_of(main), numbers_of(unit)
    for name, number in own.items():
        # Only where main's number is new too: one that the base had was taken before the unit began.
        clash = name not in before and name not in taken and number in {taken[n] for n in taken if n not in before}
        if not clash:
            continue
        # Above all that any version has or reserves: a number of a removed field may still be in data somewhere.
        free = max((*before.values(), *taken.values(), *own.values())) + 1
        free = _INTERNAL.stop if free in _INTERNAL else free
        if free > _LAST:
            return Refused("there is no free number left")
        own = {**own, name: free}
        unit = _with_number(unit, name, free)
    return unit


def _inner(block: BlockEntry | None) -> dict[tuple[str, ...], BlockEntry]:
    return {entry.key: entry for entry in block.inner} if block else {}


def _with_number(block: BlockEntry, name: str, number: int) -> BlockEntry:
    inner = []
    for entry in block.inner:
        if entry.key[0] == "oneof":
            entry = _with_number(entry, name, number)
        elif entry.key in (("field", name), ("value", name)) and number_of(entry) is not None:
            text = re.sub(rf"(\b{name}\s*=\s*)-?\w+", lambda found: f"{found.group(1)}{number}", entry.text, count=1)
            entry = replace(entry, text=text)
        inner.append(entry)
    return replace(block, inner=tuple(inner))

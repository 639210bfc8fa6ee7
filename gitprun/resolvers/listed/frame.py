"""The frame of every listed kind: read three versions, merge them by key, write, read again and prove."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from functools import partial

from gitprun.model.globs import matches
from gitprun.resolvers.base import (
    FileConflict,
    Kind,
    Refused,
    Resolved,
    brought_lines,
    open_lines,
)
from gitprun.resolvers.entries import prove_entries, show_key
from gitprun.resolvers.listed.rules import PLAIN, LineRules
from gitprun.resolvers.listed.tree import Body, LineNode, Path, Reader, UnreadLines, walk, write_lines
from gitprun.resolvers.listed.weave import weave
from gitprun.resolvers.text import BOM, Triple

Doubt = Callable[[Body, Body, Body, Body], "str | None"]


@dataclass(frozen=True, slots=True)
class ListedKind:
    """One listed kind: its files, its reader, the rules of its lines, and what more can be wrong with it.

    ``doubt`` names what makes a merge (base, main, unit, merged) unsure. ``once`` tells which entries must not stand
    twice in one file; ``counter`` is that of the kind.
    """

    name: str
    files: tuple[str, ...]
    read: Reader
    rules: LineRules = PLAIN
    doubt: Doubt | None = None
    once: Callable[[LineNode], bool] | None = None
    counter: re.Pattern[bytes] | None = None

    @property
    def kind(self) -> Kind:
        """Make the kind of the row."""
        return Kind(self.name, self.files, (partial(resolve, self),), partial(find_twice, self), self.counter)


def resolve(row: ListedKind, conflict: FileConflict) -> Resolved | Refused:
    """Merge a listed file entry by entry."""
    # A plain name as a pattern matches a folder of that name as well (NEWS/a.md).
    if not _is_of(row, conflict.path):
        return Refused(f"the path is not that of a {row.name} file")
    triple = open_lines(conflict, row.name)
    if not isinstance(triple, Triple):
        return triple
    bodies: list[Body] = []
    for side, lines in (("the base", triple.base), ("main", triple.main), ("the unit", triple.unit)):
        body = row.read(lines)
        if isinstance(body, UnreadLines):
            return Refused(f"{side} cannot be read: {body.reason}")
        bodies.append(body)
    base, main, unit = bodies
    merged = weave(row.rules, base, main, unit)
    if isinstance(merged, Refused):
        return merged
    # Proved is what a reader will find in the text, not the nodes that it was written from.
    lines = tuple(write_lines(merged))
    again = row.read(lines)
    if isinstance(again, UnreadLines):
        return Refused(f"the merge cannot be read: {again.reason}")
    fault = prove(base, main, unit, again) or (row.doubt(base, main, unit, again) if row.doubt else None)
    return Refused(fault) if fault else Resolved(triple.render(lines), row.name, brought_lines(triple, lines))


def prove(base: Body, main: Body, unit: Body, merged: Body) -> str | None:
    """Check that each entry, item and comment of a merge is there as often, and as, the three versions tell."""
    old, by_main, by_unit, have = (_count(body) for body in (base, main, unit, merged))
    for name in {**old, **by_main, **by_unit, **have}:
        moves = by_main[name] - old[name], by_unit[name] - old[name]
        both, once = old[name] + sum(moves), old[name] + max(moves, key=abs)
        # Both added or both removed one: it may have been the same, or one each.
        least, most = sorted((both, once)) if moves[0] * moves[1] > 0 else (both, both)
        if not least <= have[name] <= most:
            shown = "a comment" if name[0] == "note" else show_key(name[1])
            return f"{shown} is {'lost' if have[name] < least else 'there too often'}"
    # What is not known by a name of its own was counted above; of all else each part must be as it is due.
    twice = {path for body in (base, main, unit, merged) for path in _twice(body)}
    due = [dict(_fields(body, twice)) for body in (base, main, unit)]
    return prove_entries(due[0], due[1], due[2], _fields(merged, twice))


def find_twice(row: ListedKind, path: str, text: bytes) -> tuple[str, ...]:
    """Name the entries that stand twice in one version."""
    if not _is_of(row, path) or row.once is None or b"\0" in text:
        return ()
    lines = text.removeprefix(BOM).replace(b"\r\n", b"\n").split(b"\n")
    body = row.read(lines[:-1] if not lines[-1] else lines)
    # Patterns such as *.cfg match files of other forms: one that cannot be read has no fault that could be named.
    if isinstance(body, UnreadLines):
        return ()
    once = row.once
    counts = Counter(name for name, node in walk(body) if node.sort == "entry" and not node.open and once(node))
    return tuple(f"{show_key(name)} is there twice" for name, count in counts.items() if count > 1)


def _is_of(row: ListedKind, path: str) -> bool:
    """Check whether a pattern names the file itself, not a folder above it."""
    name = path.rpartition("/")[2]
    return any(matches(pattern, path if "/" in pattern else name) for pattern in row.files)


def _count(body: Body) -> Counter[tuple[str, Path]]:
    """Count what is known by its text: notes by it alone, all else by its full name."""
    # A comment may have moved with its entry into another section, so it is known by its text wherever it stands.
    return Counter(
        (node.sort, (node.key,) if node.sort == "note" else name)
        for name, node in walk(body)
        if node.sort != "blank" and not node.open and node.sort != "entry"
    )


def _twice(body: Body) -> Iterable[Path]:
    counts = Counter(name for name, node in walk(body) if node.named and not node.open)
    return (name for name, count in counts.items() if count > 1)


def _fields(body: Body, twice: set[Path]) -> list[tuple[Hashable, Hashable]]:
    """List the fields of all that is known by a name of its own; namesakes are numbered."""
    seen: Counter[Path] = Counter()
    pairs: list[tuple[Hashable, Hashable]] = []
    for name, node in walk(body):
        if not node.named or node.open:
            continue
        if name in twice:
            # Nothing tells which of several alike is which; how many there are was counted.
            if node.sort == "item":
                continue
            seen[name] += 1
            name = (*name, seen[name])
        fields = node.fields or (("", (node.head, node.foot)),)
        pairs += (((*name, field) if field else name, value) for field, value in fields)
    return pairs

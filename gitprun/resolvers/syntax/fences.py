"""Program text inside Markdown: each fenced block is merged as its language, the prose around it by lines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gitprun.resolvers.base import (
    FileConflict,
    Refused,
    Resolved,
    Unread,
    brought_lines,
    open_lines,
)
from gitprun.resolvers.changes import diff_lines
from gitprun.resolvers.syntax.grammars import load_language
from gitprun.resolvers.syntax.languages import GRAMMARS
from gitprun.resolvers.syntax.resolver import merge_texts
from gitprun.resolvers.syntax.rows import Grammar
from gitprun.resolvers.text import Triple

NAME = "fenced code"
# Up to three blanks in front, as Markdown has it: four make code of the line itself. Behind the marks no backquote,
# else it is code within a sentence.
_FENCE = re.compile(rb"[ ]{0,3}(`{3,}|~{3,})[ \t]*([^\s`{,]*)[^`]*")
Lines = tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class ProsePart:
    """Lines of prose, or one fenced block with its opening and closing line."""

    lines: Lines
    word: str | None = None  # the language of a fenced block, as written


def merge_fences(conflict: FileConflict) -> Resolved | Refused:
    """Merge a Markdown file whose versions have the same fenced blocks in the same order."""
    triple = open_lines(conflict, NAME)
    if not isinstance(triple, Triple):
        return triple
    base, main, unit = (split_fences(lines) for lines in (triple.base, triple.main, triple.unit))
    kinds = [[part.word is not None for part in parts] for parts in (base, main, unit)]
    # With another number of blocks nothing tells which is which; without any this is a merge by lines, which others do.
    if kinds[0] != kinds[1] or kinds[0] != kinds[2] or len(base) < 2:
        return Unread("the versions do not have the same fenced blocks")
    merged: list[bytes] = []
    for old, left, right in zip(base, main, unit, strict=True):
        part = _merge_lines(old.lines, left.lines, right.lines) if old.word is None else _merge_block(old, left, right)
        if isinstance(part, Refused):
            return part
        merged += part
    lines = tuple(merged)
    return Resolved(triple.render(lines), NAME, brought_lines(triple, lines))


def split_fences(lines: Sequence[bytes]) -> list[ProsePart]:
    """Split lines into prose and fenced blocks, by turns; the first and the last part are prose."""
    parts: list[ProsePart] = []
    prose: list[bytes] = []
    at = 0
    while at < len(lines):
        opening = _FENCE.fullmatch(lines[at])
        stop = None if opening is None else _closing(lines, at, opening.group(1))
        # A fence that never closes is prose to its end, and merged by lines.
        if opening is None or stop is None:
            prose.append(lines[at])
            at += 1
            continue
        parts += (
            ProsePart(tuple(prose)),
            ProsePart(tuple(lines[at : stop + 1]), opening.group(2).decode("utf-8", "replace")),
        )
        prose = []
        at = stop + 1
    return [*parts, ProsePart(tuple(prose))]


def _closing(lines: Sequence[bytes], at: int, mark: bytes) -> int | None:
    for stop in range(at + 1, len(lines)):
        text = lines[stop].strip()
        # Only a line of at least as many marks, and nothing else, closes a block.
        if text.startswith(mark) and not text.strip(mark[:1]):
            return stop
    return None


def _merge_block(base: ProsePart, main: ProsePart, unit: ProsePart) -> Lines | Refused:
    first = _merge_lines(base.lines[:1], main.lines[:1], unit.lines[:1])
    last = _merge_lines(base.lines[-1:], main.lines[-1:], unit.lines[-1:])
    settled = _settle(base.lines[1:-1], main.lines[1:-1], unit.lines[1:-1])
    body = _merge_code(base, main, unit) if settled is None else settled
    lines: list[bytes] = []
    for part in (first, body, last):
        if isinstance(part, Refused):
            return part
        lines += part
    return tuple(lines)


def _merge_code(base: ProsePart, main: ProsePart, unit: ProsePart) -> Lines | Refused:
    row = _row_of(base.word or "")
    # The language may be a change of its own; then the code below is not that of one language.
    language = load_language(row) if row is not None and base.word == main.word == unit.word else None
    if row is None or language is None:
        return _merge_lines(base.lines[1:-1], main.lines[1:-1], unit.lines[1:-1])
    old, left, right = (b"\n".join((*part.lines[1:-1], b"")) for part in (base, main, unit))
    text = merge_texts(row, language, (old, left, right))
    return text if isinstance(text, Refused) else tuple(text.split(b"\n")[:-1])


def _row_of(word: str) -> Grammar | None:
    """Find the language that a fence names, by its name or by the end of its files."""
    word = word.lower()
    return next((row for row in GRAMMARS if word == row.name or f"*.{word}" in row.files), None) if word else None


def _settle(base: Lines, main: Lines, unit: Lines) -> Lines | None:
    if main in (base, unit):
        return unit
    return main if unit == base else None


def _merge_lines(base: Lines, main: Lines, unit: Lines) -> Lines | Refused:
    """Merge changes of both sides that do not touch."""
    settled = _settle(base, main, unit)
    if settled is not None:
        return settled
    first, second = diff_lines(base, main), diff_lines(base, unit)
    if first is None or second is None:
        return Unread("the versions differ too much to be compared line by line")
    if any(mine.touches(other) and not mine.equals(other) for mine in first for other in second):
        return Unread("both sides changed the same lines")
    merged: list[bytes] = []
    at = 0
    # What both sides did alike is done once.
    alone = [other for other in second if not any(mine.equals(other) for mine in first)]
    for change in sorted([*first, *alone], key=lambda each: (each.start, each.stop)):
        merged += (*base[at : change.start], *change.lines)
        at = change.stop
    return (*merged, *base[at:])

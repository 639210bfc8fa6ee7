"""The way from three versions in bytes to texts that trees are read from, and back."""

from __future__ import annotations

from dataclasses import dataclass

from gitprun.resolvers.base import (
    FileConflict,
    Refused,
    Resolved,
    brought_lines,
    split_conflict,
)
from gitprun.resolvers.text import Triple

# What people write by hand is smaller, and reading larger texts without loss takes longer than TIME_LIMIT.
SIZE_LIMIT = 300_000


@dataclass(frozen=True, slots=True)
class Texts:
    """Three versions decoded, every line ended by a line feed."""

    triple: Triple
    base: str
    main: str
    unit: str


def decode(conflict: FileConflict, *, limit: int = SIZE_LIMIT) -> Texts | Refused:
    """Decode three versions, or refuse what is no plain text."""
    size = max(len(conflict.base or b""), len(conflict.main), len(conflict.unit))
    # Before the texts are split and decoded, which is what takes long.
    if size > limit:
        return Refused(f"the file is too large to be merged by key ({size} bytes, limit {limit})")
    triple = split_conflict(conflict)
    if isinstance(triple, Refused):
        return triple
    # Uniform line ends are off already; a carriage return that is left is text to one parser and a line end to another.
    if any(b"\r" in line for lines in (triple.base, triple.main, triple.unit) for line in lines):
        return Refused("the line ends are mixed")
    try:
        texts = [_join(lines) for lines in (triple.base, triple.main, triple.unit)]
    except UnicodeDecodeError:
        return Refused("the file is not UTF-8")
    return Texts(triple, *texts)


def encode(texts: Texts, merged: str, resolver: str) -> Resolved:
    """Return a merged text with the byte order mark, line ends and final newline it is due."""
    lines = tuple(merged.encode().split(b"\n"))
    # The trees end every line; whether the last one ends in the file is for the three versions to say.
    lines = lines[:-1] if not lines[-1] else lines
    return Resolved(texts.triple.render(lines), resolver, brought_lines(texts.triple, lines))


def _join(lines: tuple[bytes, ...]) -> str:
    return "".join(line.decode() + "\n" for line in lines)

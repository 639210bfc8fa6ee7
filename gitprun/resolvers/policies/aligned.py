"""Settle by alignment: the sides are brought together where they clash, and the file's own resolvers do the rest."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

from gitprun.resolvers.base import (
    SIZE_LIMIT,
    Dropped,
    FileConflict,
    Refused,
    Resolved,
    Side,
    brought_lines,
    split_conflict,
)
from gitprun.resolvers.cascade import run_cascade
from gitprun.resolvers.text import BOM

# Gives a conflict with the same lines, but for those that clash: they are replaced, each by one line.
Aligner = Callable[[FileConflict], FileConflict | Refused]

Edit = tuple[int, int, str]


@dataclass(frozen=True, slots=True)
class Version:
    """One version of a file as text with plain line ends (unless they are mixed), and the way back to bytes."""

    text: str
    bom: bool
    crlf: bool

    def edited(self, edits: list[Edit]) -> bytes:
        """Replace parts of the text, each given by start, stop and what stands there instead."""
        text = self.text
        # From the end, so that the places of the edits still to come stay right.
        for start, stop, new in sorted(edits, reverse=True):
            text = text[:start] + new + text[stop:]
        body = text.replace("\n", "\r\n") if self.crlf else text
        return (BOM if self.bom else b"") + body.encode("utf-8", "surrogateescape")


def read_version(raw: bytes) -> Version:
    """Decode one version."""
    body = raw.removeprefix(BOM)
    # With mixed line ends a carriage return is part of its line, as it is where versions are split into lines.
    crlf = 0 < body.count(b"\n") == body.count(b"\r\n")
    plain = body.replace(b"\r\n", b"\n") if crlf else body
    # Bytes that are no UTF-8 (a Latin-1 comment in a manifest) come back as they were.
    return Version(plain.decode("utf-8", "surrogateescape"), raw.startswith(BOM), crlf)


def settle_aligned(name: str, align: Aligner, conflict: FileConflict) -> Resolved | Refused:
    """Merge the aligned versions as their kind does, with its proof; list what alignment changed as dropped."""
    # The cascade keeps this limit too, but only after the aligner has parsed all three versions.
    size = max(len(conflict.base or b""), len(conflict.main), len(conflict.unit))
    if size > SIZE_LIMIT:
        return Refused(f"the file is too large to be resolved ({size} bytes, limit {SIZE_LIMIT})")
    triple = split_conflict(conflict)
    if isinstance(triple, Refused):
        return triple
    aligned = align(conflict)
    if isinstance(aligned, Refused):
        return aligned
    dropped: list[Dropped] = []
    pairs: tuple[tuple[Side, bytes, bytes], ...] = (
        ("main", conflict.main, aligned.main),
        ("unit", conflict.unit, aligned.unit),
    )
    for side, before, after in pairs:
        # A dropped line is listed by its number, so alignment must leave every line where it was.
        if before.count(b"\n") != after.count(b"\n"):
            return Refused("what clashes is not on lines of its own")
        dropped += _changed(side, before, after)
    # The base is never aligned: against it the new text is a change that both sides made alike, and so no clash.
    answer = run_cascade(replace(aligned, path=conflict.path, base=conflict.base))
    if not answer.texts:
        return Refused(answer.reason)
    text = answer.texts[0].text
    # The lines brought are told against main as it is, not as alignment made it.
    return Resolved(text, name, brought_lines(triple, triple.split(text)), tuple(dropped))


def _changed(side: Side, before: bytes, after: bytes) -> Iterator[Dropped]:
    old, new = (text.removeprefix(BOM).split(b"\n") for text in (before, after))
    for at, (line, other) in enumerate(zip(old, new, strict=True), 1):
        if line != other:
            yield Dropped(side, at, line.removesuffix(b"\r"))

"""The three versions of a file as lines, and the way back to bytes."""

from __future__ import annotations

from dataclasses import dataclass

BOM = b"\xef\xbb\xbf"
LF = b"\n"
CRLF = b"\r\n"


@dataclass(frozen=True, slots=True)
class Triple:
    """Three versions of one file as lines without line ends, and what surrounds the lines of their merge."""

    base: tuple[bytes, ...]
    main: tuple[bytes, ...]
    unit: tuple[bytes, ...]
    bom: bool
    end: bytes
    final: bool

    def render(self, lines: tuple[bytes, ...], *, final: bool | None = None) -> bytes:
        """Join merged lines with the line ends, byte order mark and final newline they are due."""
        if not lines:
            return BOM if self.bom else b""
        # An empty last line exists only by its line end: without one it would be lost.
        closed = (self.final if final is None else final) or not lines[-1]
        return (BOM if self.bom else b"") + self.end.join(lines) + (self.end if closed else b"")

    def split(self, text: bytes) -> tuple[bytes, ...]:
        """Split a merged text the way the three versions were split."""
        return _split(text.removeprefix(BOM), self.end)


def split_versions(base: bytes | None, main: bytes, unit: bytes) -> Triple:
    """Split three versions into comparable lines.

    When every version has uniform line ends, lines compare without them and the merge has main's: a side that
    only flipped its line ends changed nothing. With mixed line ends a carriage return is part of its line.
    """
    old = base or b""
    # One file may be checked out with CRLF on one machine and LF on another: that is no change of any line.
    ends = [_line_end(text) for text in (main, old, unit)]
    # One mixed version is enough: cut at line feeds in all three, a carriage return shows as the edit it is.
    uniform = None not in ends
    cut = {text: (end or LF) if uniform else LF for text, end in zip((main, old, unit), ends, strict=True)}
    lines = [_split(text.removeprefix(BOM), cut[text]) for text in (old, main, unit)]
    return Triple(
        base=lines[0],
        main=lines[1],
        unit=lines[2],
        # The mark and the final newline are edits like others: whoever changed one of them wins.
        bom=_settle_flag(*(text.startswith(BOM) if text else None for text in (old, main, unit))),
        end=next((end for end in ends if end), LF) if uniform else LF,
        final=_settle_flag(*(text.endswith(LF) if text else None for text in (old, main, unit))),
    )


def _split(body: bytes, end: bytes) -> tuple[bytes, ...]:
    parts = body.split(end)
    # A text that ends with a line end has no further, empty line; only its final newline, told apart by ``final``.
    if not parts[-1]:
        parts.pop()
    return tuple(parts)


def _line_end(text: bytes) -> bytes | None:
    """Return the one line end of a text: empty when it has no line end at all, None when they are mixed."""
    lines, pairs = text.count(LF), text.count(CRLF)
    # No line end at all agrees with any other.
    if not lines:
        return b""
    if pairs == lines:
        return CRLF
    return None if pairs else LF


def _settle_flag(base: bool | None, main: bool | None, unit: bool | None) -> bool:
    """Merge a yes-or-no property three ways; None means the version is empty and has no opinion."""
    if main is None or unit is None:
        return bool(unit if main is None else main)
    # Both differ from nothing: the mark or newline that one of them wrote is kept.
    if base is None:
        return main or unit
    return unit if main == base else main

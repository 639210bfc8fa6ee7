"""What reaches the terminal: data on stdout, everything else on stderr, nothing a worker wrote raw."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Iterable, Sequence

import click

from gitprun.escapes import only_colours, safe

__all__ = [
    "COLOURS", "age", "clock_time", "colour_wanted", "coloured", "harmless", "hint", "put", "safe", "say",
    "size_text", "table", "warn", "write_bytes",
]  # fmt: skip

COLOURS = {
    "ready": "green",
    "done": "green",
    "landed": "green",
    "running": "cyan",
    "preparing": "cyan",
    "collecting": "cyan",
    "verifying": "cyan",
    "queued": "bright_black",
    "waiting": "yellow",
    "empty": "yellow",
    "unverified": "yellow",
    "stopped": "yellow",
    "rate-limited": "yellow",
    "failed": "red",
    "timed-out": "red",
    "broken": "red",
    "lost": "red",
    "conflict": "red",
    "red": "red",
    "refused": "red",
    "held": "red",
}
_ESCAPE = re.compile(rb"\x1b(?!\[[0-9;]*m)")
# C1 controls (a terminal may take U+009B for an escape sequence) and marks that turn the direction of writing.
_HIDDEN = re.compile(rb"\xc2[\x80-\x9f]|\xe2\x80[\xaa-\xae]|\xe2\x81[\xa6-\xa9]")
_PLAIN = re.compile(rb"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f]")


def colour_wanted() -> bool | None:
    """Tell click to leave colours out where NO_COLOR is set (else it asks whether there is a terminal)."""
    return False if os.environ.get("NO_COLOR") else None


def put(text: str) -> None:
    """Write data to stdout; whatever of a worker's text is in it, a terminal gets nothing but our colours."""
    click.echo(only_colours(text), color=colour_wanted())


def say(text: str) -> None:
    """Tell the user something that is no data; nobody there to hear it is no error."""
    with contextlib.suppress(OSError):
        click.echo(only_colours(text), err=True, color=colour_wanted())


def warn(text: str) -> None:
    """Tell the user something he should not miss."""
    say(click.style("warning: ", fg="yellow") + text)


def hint(text: str) -> None:
    """Tell the user how to go on."""
    say(click.style("hint: ", fg="cyan") + text)


def coloured(state: str) -> str:
    """Colour a state by what it means."""
    return click.style(state, fg=COLOURS.get(state))


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Lay out rows in columns; colour does not count as width, and the last column is never padded."""
    cells = [[click.style(name, bold=True) for name in head], *rows]
    widths = [max((len(click.unstyle(row[i])) for row in cells), default=0) for i in range(len(head))]
    lines = []
    for row in cells:
        padded = [cell + " " * (width - len(click.unstyle(cell))) for cell, width in zip(row, widths, strict=True)]
        lines.append("  ".join(padded).rstrip())
    return "\n".join(lines)


def age(seconds: float | None) -> str:
    """Write a length of time in at most six characters."""
    if seconds is None:
        return "-"
    if seconds < 10:
        return f"{max(0.0, seconds):.1f}s"
    if seconds < 100:
        return f"{seconds:.0f}s"
    if seconds < 100 * 60:
        return f"{seconds / 60:.0f}m"
    return f"{seconds / 3600:.0f}h" if seconds < 100 * 3600 else f"{seconds / 86400:.0f}d"


def size_text(size: int) -> str:
    """Write a number of bytes in at most eight characters."""
    if size < 1000:
        return f"{size} B"
    for unit, factor in (("kB", 1e3), ("MB", 1e6), ("GB", 1e9)):
        if size < factor * 1000:
            return f"{size / factor:.1f} {unit}"
    return f"{size / 1e12:.1f} TB"


def clock_time(when: object) -> str:
    """Write a time in seconds since 1970 as the user's clock shows it, with the date unless it is within a day."""
    if not isinstance(when, int | float):
        return "-"
    near = abs(when - time.time()) < 86400
    return time.strftime("%H:%M:%S" if near else "%Y-%m-%d %H:%M:%S", time.localtime(when))


def write_bytes(content: bytes) -> None:
    """Write bytes of others to stdout: unchanged into a file or pipe, without control sequences on a terminal."""
    sys.stdout.flush()
    sys.stdout.buffer.write(harmless(content) if sys.stdout.isatty() else content)
    sys.stdout.buffer.flush()


def harmless(content: bytes) -> bytes:
    """Leave only text, line ends, tabs and colours; colours end with the content."""
    lines = content.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    plain = _PLAIN.sub(b"?", _HIDDEN.sub(b"?", _ESCAPE.sub(b"", lines)))
    return plain + b"\x1b[0m" if b"\x1b[" in plain else plain

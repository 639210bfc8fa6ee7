"""All that reaches the terminal goes through here: width, colour, tables, JSON, and nothing a worker wrote raw.

Data goes to stdout, everything else to stderr.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import click

from gitprun.model.escapes import only_colours, safe

if TYPE_CHECKING:
    from gitprun.api.schema import Json

__all__ = [
    "COLOURS", "age", "begin_output", "clock_time", "colour_wanted", "coloured", "harmless", "hint", "put",
    "put_fields", "put_json", "safe", "said_above", "say", "section", "size_text", "table",
    "terminal_width", "warn", "was_put", "write_bytes",
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


# Before what stands below its row in a table.
BELOW = "    "


def colour_wanted() -> bool | None:
    """Return False where NO_COLOR is set, else None: click asks whether there is a terminal."""
    return False if os.environ.get("NO_COLOR") else None


def put(text: str) -> None:
    """Write data to stdout; whatever of a worker's text is in it, a terminal gets nothing but our colours."""
    note_output()
    click.echo(only_colours(text), color=colour_wanted())


def put_json(name: str, value: object, /, **more: Json) -> None:
    """Write a published value to stdout as one line of JSON, in the envelope of its name; ``more`` are further keys.

    It is written at once: a reader of a stream waits for it.
    """
    # Most commands print for people: they do not pay for what JSON needs.
    import json

    from gitprun.api.schema import envelope

    row = envelope(name, value) | more
    note_output()
    click.echo(json.dumps(row))


_put: set[str] = set()


def note_output() -> None:
    """Remember that data was written: what fails after it adds no second JSON document."""
    _put.add("data")


def begin_output() -> None:
    """Forget what was written before: a command line begins."""
    _put.clear()


def was_put() -> bool:
    """Check whether any data was written since a command line began."""
    return bool(_put)


_above: list[Callable[[str], None]] = []


@contextlib.contextmanager
def said_above(speak: Callable[[str], None]) -> Iterator[None]:
    """Hand what is said to whoever draws on the terminal meanwhile: written beside it, it would tear the drawing."""
    _above.append(speak)
    try:
        yield
    finally:
        _above.remove(speak)


def say(text: str) -> None:
    """Write something that is no data to stderr; nobody there to read it is no error."""
    with contextlib.suppress(OSError):
        if _above:
            _above[-1](only_colours(text))
        else:
            click.echo(only_colours(text), err=True, color=colour_wanted())


def warn(text: str) -> None:
    """Write a warning."""
    say(click.style("warning: ", fg="yellow") + text)


def hint(text: str) -> None:
    """Write how to go on."""
    say(click.style("hint: ", fg="cyan") + text)


def coloured(state: str) -> str:
    """Colour a state by what it means."""
    return click.style(state, fg=COLOURS.get(state))


def table(head: Sequence[str], rows: Iterable[Sequence[str]], room: int | None = None) -> str:
    """Lay out rows in columns; colour does not count as width, and the last column is never padded.

    What does not fit into a terminal (``room`` columns) from the right on goes below its row, each cell on its own.
    """
    cells = [list(row) for row in rows]
    room = terminal_width() if room is None else room
    widths = [max(map(_width, column)) for column in zip(head, *cells, strict=True)]
    kept = len(head)
    while kept > 1 and room and sum(widths[:kept]) + 2 * (kept - 1) > room:
        kept -= 1
    lines = [_row([click.style(name, bold=True) for name in head[:kept]], widths)]
    for row in cells:
        lines.append(_row(row[:kept], widths))
        below = zip(head[kept:], row[kept:], strict=True)
        lines += [line for name, cell in below if cell not in ("", "-") for line in _below(name, cell, room)]
    return "\n".join(lines)


def _row(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (cell + " " * (width - _width(cell)) for cell, width in zip(cells, widths, strict=False))
    return "  ".join(padded).rstrip()


def _width(cell: str) -> int:
    """Return how many columns a text takes: colours none, wide characters two, marks that combine none."""
    text = click.unstyle(cell)
    return len(text) if text.isascii() else sum(map(_columns, text))


def _columns(letter: str) -> int:
    import unicodedata

    if unicodedata.category(letter) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(letter) in ("W", "F") else 1


def _below(name: str, cell: str, room: int) -> list[str]:
    """Write a cell below its row; a command stays on one line, for it is to be pasted."""
    line = f"{BELOW}{name}: {cell}"
    if cell.startswith("git ") or _width(cell) != len(cell):
        return [line]
    import textwrap

    return textwrap.wrap(
        line, max(room, 20), subsequent_indent=2 * BELOW, break_long_words=False, break_on_hyphens=False
    )


# What is longer is no list any more; --json has all of it.
MOST_ROWS = 200


def section(title: str, rows: Iterable[str]) -> None:
    """Write a titled list of texts of others, one a line; nothing where there is none."""
    shown = [safe(row) for row in rows]
    if shown:
        put(f"\n{title}:")
        for row in shown[:MOST_ROWS]:
            put(f"  {row}")
        if len(shown) > MOST_ROWS:
            put(f"  ... and {len(shown) - MOST_ROWS} more")


def put_fields(rows: Iterable[tuple[str, str]]) -> None:
    """Write names and values, the values below each other."""
    for name, value in rows:
        put(f"{name + ':':<11}{value}")


def terminal_width() -> int:
    """Return how wide the terminal is that data goes to; 0 for a file or pipe, which have no width."""
    if not sys.stdout.isatty():
        return 0
    import shutil

    return shutil.get_terminal_size().columns


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

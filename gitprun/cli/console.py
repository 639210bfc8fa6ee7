"""What reaches the terminal: data on stdout, everything else on stderr, nothing a worker wrote raw."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Sequence

import click

COLOURS = {
    "ready": "green",
    "done": "green",
    "landed": "green",
    "running": "cyan",
    "preparing": "cyan",
    "collecting": "cyan",
    "verifying": "cyan",
    "queued": "bright_black",
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
}
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_ESCAPE = re.compile(rb"\x1b(?!\[[0-9;]*m)")


def say(text: str) -> None:
    """Tell the user something that is no data."""
    click.echo(text, err=True)


def warn(text: str) -> None:
    """Tell the user something he should not miss."""
    click.echo(click.style("warning: ", fg="yellow") + text, err=True)


def safe(text: str) -> str:
    """Show text of others without its control characters and with undecodable bytes as escapes."""
    shown = text.encode("utf-8", "backslashreplace").decode("utf-8")
    return _CONTROL.sub(lambda found: f"\\x{ord(found[0]):02x}", shown.replace("\n", "\\n").replace("\t", "\\t"))


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


def write_bytes(content: bytes) -> None:
    """Write bytes of others to stdout: unchanged into a file or pipe, without control sequences on a terminal."""
    if sys.stdout.isatty():
        content = _ESCAPE.sub(b"", content.replace(b"\r\n", b"\n").replace(b"\r", b"\n"))
        content = re.sub(rb"[\x00-\x08\x0b\x0c\x0e-\x1a\x1c-\x1f\x7f]", b"?", content)
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
    sys.stdout.buffer.flush()

"""``git prun events``: what a worker prints as JSON, as one compact line an event."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from typing import BinaryIO

import click

from gitprun.api.streams import DEFAULT_LENGTH, LEVELS, LONGEST_LINE, Compactor
from gitprun.cli.console import put, safe, warn

LEVEL_NAME = "CODEX_FILTER_LEVEL"
LENGTH_NAME = "CODEX_FILTER_MAXLEN"


@click.command()
@click.option("--level", type=click.Choice(LEVELS), help=f"How much is shown (${LEVEL_NAME}; default: normal).")
@click.option(
    "--maxlen", type=click.IntRange(min=1), help=f"Characters shown of one text (${LENGTH_NAME}; default: 200)."
)
@click.option("--strict", is_flag=True, help="Exit code 1 unless the last turn ended well.")
def events(level: str | None, maxlen: int | None, strict: bool) -> int:
    """Read the events of codex exec --json or claude stream-json on stdin; print one compact line for each.

    \b
    codex exec --json ... 2>&1 | git prun events
    tail -f -n +1 FILE | git prun events --level minimal

    minimal shows starts, commands, messages, ends and errors; normal adds thoughts, edits and other tools;
    verbose adds the output of commands, all that is no event, and unknown events.
    """
    compactor = Compactor(level or _level_wanted(), maxlen or _length_wanted())
    try:
        for line in _lines(sys.stdin.buffer):
            for shown in compactor.render(line):
                # Each line reaches the reader at once: click flushes.
                put(f"{time.strftime('%H:%M:%SZ', time.gmtime())} {shown}")
    except BrokenPipeError:
        # The reader has seen enough; Python must not try again at its end to write what is left.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1 if strict and compactor.failed is not False else 0


def _level_wanted() -> str:
    said = os.environ.get(LEVEL_NAME) or "normal"
    if said in LEVELS:
        return said
    warn(f"{LEVEL_NAME}={safe(said)} is none of {', '.join(LEVELS)}: normal is used")
    return "normal"


def _length_wanted() -> int:
    said = os.environ.get(LENGTH_NAME) or str(DEFAULT_LENGTH)
    if said.isascii() and said.isdigit() and 0 < len(said) < 10 and int(said):
        return int(said)
    warn(f"{LENGTH_NAME}: invalid number of characters {safe(said)}; using {DEFAULT_LENGTH}")
    return DEFAULT_LENGTH


def _lines(source: BinaryIO) -> Iterator[bytes]:
    """Yield each line as soon as it is there; what a line has beyond the limit is read and dropped."""
    while line := source.readline(LONGEST_LINE):
        whole = line.endswith(b"\n")
        yield line.rstrip(b"\r\n")
        while not whole and (rest := source.readline(1 << 16)):
            whole = rest.endswith(b"\n")

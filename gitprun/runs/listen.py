"""Follow what a worker prints while it prints it; read it when it has ended. Whatever it is, that takes little."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

from gitprun.system.files import MOST_LINE

# Of a longer output only the start and the end are read to tell how the work ended.
HEAD, END = 1 << 20, 16 << 20


class Listener:
    """Follow a growing file from a thread of its own and pass on its lines; never in the way of the worker.

    Behind a flood only the newest lines are passed on: they say what is going on.
    """

    # Quick enough for a line of progress on a terminal; a look costs one stat.
    PAUSE = 0.25
    # A worker that prints faster than a megabyte in a pause is skipped over: nobody reads that as it comes.
    MOST = 1 << 20
    # The last screens of it; more would only be heard too late.
    NEWEST = 1 << 16

    def __init__(self, path: Path, hear: Callable[[bytes], None]) -> None:
        self.path, self.hear = path, hear
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._follow, name="prun-listener", daemon=True)

    def __enter__(self) -> Listener:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        # The last look takes less; a disk that hangs must not hold up the end of the unit.
        self.thread.join(timeout=5)

    def _follow(self) -> None:
        at, rest = 0, b""
        while True:
            last = self.over.is_set()
            try:
                with open(self.path, "rb") as source:
                    size = source.seek(0, os.SEEK_END)
                    # Nobody reads a flood as it comes; what is newest says what is going on.
                    if size - at > self.MOST:
                        at, rest = size - self.NEWEST, b""
                    start = skip_hole(source, at)
                    rest = (rest if start == at else b"") + source.read(self.MOST)
                    at = source.tell()
            except OSError:
                pass
            # A carriage return ends a line too: that is how programs draw their progress.
            *lines, rest = re.split(rb"\r?\n|\r(?!$)", rest)
            for line in lines:
                self.hear(line)
            # A line without end must not grow in memory.
            rest = rest[-self.MOST :]
            if last:
                return
            self.over.wait(self.PAUSE)


def skip_hole(source: BinaryIO, at: int) -> int:
    """Go to a place in a file, or to the end of the hole it lies in (what was dropped of an output); returns where."""
    try:
        return source.seek(os.lseek(source.fileno(), at, os.SEEK_DATA))
    except (OSError, AttributeError):
        # Nothing but a hole from here on, or holes are not told of.
        return source.seek(at)


def read_output(path: Path, start: int = 0) -> Iterator[bytes]:
    """Return the lines of an output from a place on, none longer than 4 MiB; of a long one the first and the last MiB.

    A line of zeros, as a hole reads, is left out.
    """
    with open(path, "rb") as source:
        size = source.seek(0, os.SEEK_END)
        source.seek(start)
        while line := source.readline(MOST_LINE):
            if plain := line.rstrip(b"\n").strip(b"\0"):
                yield plain
            elif line == b"\n":
                yield b""
            if start + HEAD <= source.tell() < size - END:
                source.seek(size - END)
                source.readline(MOST_LINE)

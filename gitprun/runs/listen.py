"""Follow what a worker prints while it prints it."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable
from pathlib import Path


class Listener:
    """Follow a growing file from a thread of its own and pass on its lines; never in the way of the worker."""

    PAUSE = 0.25
    MOST = 1 << 20

    def __init__(self, path: Path, hear: Callable[[bytes], None]) -> None:
        self.path, self.hear = path, hear
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._follow, name="prun-listener", daemon=True)

    def __enter__(self) -> Listener:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join(timeout=5)

    def _follow(self) -> None:
        at, rest = 0, b""
        while True:
            last = self.over.is_set()
            try:
                with open(self.path, "rb") as source:
                    size = source.seek(0, os.SEEK_END)
                    # Far behind a flood of output, only the newest part says what is going on.
                    if size - at > self.MOST:
                        at, rest = size - self.MOST, b""
                    source.seek(at)
                    rest += source.read(self.MOST)
                    at = source.tell()
            except OSError:
                pass
            # A carriage return ends a line too: that is how programs draw their progress.
            *lines, rest = re.split(rb"\r?\n|\r(?!$)", rest)
            for line in lines:
                self.hear(line)
            rest = rest[-self.MOST :]
            if last:
                return
            self.over.wait(self.PAUSE)

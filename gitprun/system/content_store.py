"""Contents of small files, each kept once: one file that only grows, and forgets a torn end."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from gitprun.system.sharing import shared_mode

_HEAD = b"%s %d\n"
# A digest and a length have less than 90 bytes; a line that is longer is none of ours.
_MOST_HEAD = 100


class ContentStore:
    """Keeps contents by their SHA-256; what was added is safe after ``flush``."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._places: dict[str, tuple[int, int]] | None = None
        self._pending: dict[str, bytes] = {}

    def add(self, content: bytes) -> str:
        """Remember a content until the next ``flush``; returns its digest."""
        digest = hashlib.sha256(content).hexdigest()
        if digest not in self._known() and digest not in self._pending:
            self._pending[digest] = content
        return digest

    def flush(self) -> None:
        """Write down and sync what was added."""
        if not self._pending:
            return
        known = self._known()
        self.path.parent.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, shared_mode(self.path, 0o600))
        with os.fdopen(descriptor, "rb+") as target:
            at = max((start + size for start, size in known.values()), default=0)
            # A torn end of a crash is written over.
            target.truncate(at)
            target.seek(at)
            for digest, content in self._pending.items():
                head = _HEAD % (digest.encode(), len(content))
                target.write(head + content)
                known[digest] = (at + len(head), len(content))
                at += len(head) + len(content)
            target.flush()
            os.fsync(target.fileno())
        self._pending.clear()

    def content(self, digest: str) -> bytes | None:
        """Return a content back; None if it was never kept, or is damaged."""
        if digest in self._pending:
            return self._pending[digest]
        place = self._known().get(digest)
        if place is None:
            return None
        with open(self.path, "rb") as source:
            source.seek(place[0])
            content = source.read(place[1])
        return content if hashlib.sha256(content).hexdigest() == digest else None

    def _known(self) -> dict[str, tuple[int, int]]:
        if self._places is None:
            self._places = {}
            try:
                with open(self.path, "rb") as source:
                    size = os.fstat(source.fileno()).st_size
                    while head := source.readline(_MOST_HEAD):
                        digest, _, length = head.rstrip(b"\n").partition(b" ")
                        # What is torn ends the file: nothing behind it was ever acknowledged.
                        if not head.endswith(b"\n") or not length.isdigit() or source.tell() + int(length) > size:
                            break
                        self._places[digest.decode("ascii", "replace")] = (source.tell(), int(length))
                        source.seek(int(length), os.SEEK_CUR)
            except FileNotFoundError:
                pass
        return self._places

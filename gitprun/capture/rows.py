"""Read the differences ``git diff-tree --stdin -c -r -z --raw`` prints for commits, as they arrive."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

# The words every reading of differences starts with; ``rev-list`` names the commits.
WORDS = ("diff-tree", "--stdin", "-r", "-c", "-z", "--raw", "--no-renames", "--root", "--always", "--format=%H %P")


@dataclass(frozen=True, slots=True)
class Commit:
    """A commit, before its rows."""

    oid: str
    parents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ChangedPath:
    """What one path is after a commit: ``mode`` 0 when it is gone; ``new`` when no parent has it."""

    path: bytes
    mode: int
    oid: str
    new: bool


@dataclass(slots=True)
class RowReader:
    """Takes the output in any pieces; a row is complete with the path that follows it."""

    _left: bytes = b""
    _about: list[bytes] = field(default_factory=list)

    def feed(self, chunk: bytes) -> Iterator[Commit | ChangedPath]:
        """Return what became complete; raises ValueError for what git never prints."""
        # The last piece may be the beginning of a field.
        *fields, self._left = (self._left + chunk).split(b"\0")
        for word in fields:
            if self._about:
                yield self._row(word)
                continue
            word = word.lstrip(b"\n")
            if word.startswith(b":"):
                self._about = word.split(b" ")
            elif word:
                first, *parents = word.decode("ascii").split()
                yield Commit(first, tuple(parents))

    def _row(self, path: bytes) -> ChangedPath:
        about, self._about = self._about, []
        colons = len(about[0]) - len(about[0].lstrip(b":"))
        # As many modes and then objects as there are parents, before those of the result.
        modes = [int(word.lstrip(b":"), 8) for word in about[: colons + 1]]
        return ChangedPath(path, modes[-1], about[2 * colons + 1].decode("ascii"), not any(modes[:-1]))

"""Compaction of a ledger on disk: what goes is archived first, then the shorter file takes the old one's place."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from gitprun.ledger.condense import condense, say_the_same
from gitprun.ledger.events import Event, compactions, decode, encode
from gitprun.ledger.house_events import LedgerCompacted
from gitprun.model.errors import PrunError
from gitprun.system.files import sync_folder, write_whole
from gitprun.system.journal import Journal, read_open

FOLDER: Final = "archive"
# In seconds, as ages are told.
DAY: Final = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Compaction:
    """What a compaction did, or would do: ``runs`` became one line each; sizes in bytes, rows are lines.

    ``archive`` is the file that keeps what went; None: there was nothing to do, or nothing was done.
    """

    runs: tuple[str, ...] = ()
    rows_before: int = 0
    rows_after: int = 0
    size_before: int = 0
    size_after: int = 0
    archive: str | None = None

    @property
    def saves(self) -> bool:
        """Check whether anything can go."""
        return self.rows_after < self.rows_before


def archive_place(state: Path, number: int) -> Path:
    """Name the file that keeps what went at the n-th compaction."""
    return state / FOLDER / f"ledger-{number}.jsonl.gz"


def compact(
    path: Path,
    journal: Journal,
    *,
    now: float,
    days: float,
    dry_run: bool,
    require_known: Callable[[bytes], None],
) -> Compaction:
    """Compact a ledger under its lock; ``require_known`` objects to lines of a later format."""
    state = path.parent
    if not path.exists():
        return Compaction()
    with journal.opened() as (descriptor, _):
        whole = read_open(descriptor)
        lines = [line for line in whole.split(b"\n") if line]
        # One line of a later version is enough: what it means to the others is not known here.
        for line in lines:
            require_known(line)
        events = [decode(line) for line in lines]
        short = condense(events, now - days * DAY)
        number = 1 + compactions(decode(lines[0]) if lines else None)
        kept = [encode(one) if isinstance(one, Event) else lines[one] + b"\n" for one in short.lines]
        going = [lines[one] + b"\n" for one in short.gone]
        # First in the file: by its number others see that this ledger follows the one they knew.
        head = encode(Event(LedgerCompacted(number=number, rows=len(going), runs=short.runs), now))
        shorter = b"".join([head, *kept])
        found = Compaction(
            runs=short.runs,
            rows_before=len(lines),
            rows_after=len(kept) + 1,
            size_before=len(whole),
            size_after=len(shorter),
        )
        if not found.saves:
            return found
        # In a dry run too, which must not promise what would then be refused.
        _require_same(events, kept)
        if dry_run:
            return found
        _sweep(state)
        place = archive_place(state, number)
        place.parent.mkdir(exist_ok=True)
        # Where a compaction was killed between the two steps, this file is written anew.
        write_whole(place, gzip.compress(b"".join(going)))
        # The archive is on disk, its name too, before a ledger that lacks those lines is: a kill in between leaves
        # them twice.
        sync_folder(place.parent)
        sync_folder(state)
        write_whole(path, shorter)
        sync_folder(state)
        # The file it holds open is not the ledger any more.
        journal.forget()
    return replace(found, archive=str(place))


def _require_same(events: Sequence[Event | None], kept: Sequence[bytes]) -> None:
    """Check that the shorter ledger, as it will be read, says what the longer one does."""
    before = [event for event in events if event is not None]
    after = [event for event in map(decode, kept) if event is not None]
    if len(after) != len(kept) or not say_the_same(before, after):
        raise PrunError("a compacted ledger would not say the same: it was left as it is", "please report this")


def _sweep(state: Path) -> None:
    """Remove what writers that were killed left half written."""
    for pattern in (".ledger.*", f"{FOLDER}/.ledger-*"):
        for left in state.glob(pattern):
            left.unlink(missing_ok=True)


def read_archived(state: Path, first: Event | None) -> Iterator[Event]:
    """Yield the events that went at all compactions so far, oldest first; ``first`` is the ledger's first event.

    An archive that is gone or damaged is passed over: ``git prun ledger verify`` names it.
    """
    for number in range(1, compactions(first) + 1):
        for line in read_archive(archive_place(state, number)) or ():
            event = decode(line)
            if event is not None:
                yield event


def read_archive(place: Path) -> list[bytes] | None:
    """Read the lines of one archive; None if that cannot be done."""
    try:
        return [line for line in gzip.decompress(place.read_bytes()).split(b"\n") if line]
    # A gzip file that was cut ends in EOFError, a damaged one in zlib.error.
    except (OSError, EOFError, zlib.error):
        return None

"""What every resolver is: three versions of one file in, a proved text or a refusal out."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from gitprun.resolvers.changes import diff_lines
from gitprun.resolvers.text import Triple, split_versions

Side = Literal["main", "unit"]

# Lines of the longest version: a file that people write by hand is shorter, and pairing more of them takes longer
# than TIME_LIMIT.
LINE_LIMIT = 20_000
# What one file may take: bytes of a version, and seconds of processor time (kept by whoever calls resolvers).
# 1 MB is the answer to generated files and data dumps, which no resolver ends in time with; a source file has far less.
SIZE_LIMIT = 1 << 20
# A person waits for a merge that has many such files, and git for its driver once a file.
TIME_LIMIT = 2.0
# To look at a merge: it holds work when that is not enough, so it is more than ten times what 20,000 lines take.
AUDIT_LIMIT = 10.0
TOO_DIFFERENT = "the versions differ too much to be compared line by line"
# As git writes them at its own size; a longer one begins with these too.
MARKERS = (b"<<<<<<<", b"|||||||", b"=======", b">>>>>>>")


@dataclass(frozen=True, slots=True)
class FileConflict:
    """One path that both sides changed; ``base`` is None when both sides added it."""

    path: str
    base: bytes | None
    main: bytes
    unit: bytes


@dataclass(frozen=True, slots=True)
class Dropped:
    """A line of the losing side that the merge does not have.

    ``line`` counts from 1 in that side's file; ``text`` is the line without its line end. With ``removal`` the side
    had removed ``text`` at that place and the removal was dropped.
    """

    side: Side
    line: int
    text: bytes
    removal: bool = False


@dataclass(frozen=True, slots=True)
class Resolved:
    """A merged text, the resolver that made it, the lines it brought to main's version and those it dropped."""

    text: bytes
    resolver: str
    added: tuple[bytes, ...] = ()
    dropped: tuple[Dropped, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """No merge could be proved; the conflict stays for a person."""

    reason: str


@dataclass(frozen=True, slots=True)
class Divided(Refused):
    """Both sides added one thing, each in another way: git may take both, at two places, and that is wrong too."""


@dataclass(frozen=True, slots=True)
class Unread(Refused):
    """The versions could not be read as what they should be, so nothing was judged, and lines may still be merged."""


Resolver = Callable[[FileConflict], Resolved | Refused]
# Names what is wrong with one version of a file, by path and text: unparsable, a key or a definition twice.
FaultFinder = Callable[[str, bytes], tuple[str, ...]]


def no_faults(path: str, text: bytes) -> tuple[str, ...]:
    """Find nothing wrong with a text."""
    return ()


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of file: the patterns of its paths (see ``gitprun.model.globs``), how conflicts in it are resolved (the
    first proof wins), and what can be wrong with it.

    ``faults`` must give the same words for the same fault wherever in a file it stands, and () for what it cannot
    judge: a fault of a merged text that neither side has stops a landing. ``counter`` finds the text of a number of
    which the higher one holds by the rule of the kind itself; its digits are not counted as words. Of a ``private``
    kind no words are shown. ``prepare`` loads what takes long to load, before anybody looks at the clock. Without
    ``words`` the shared proof counts none: the resolvers of the kind prove what each entry and comment means.
    ``is_able`` checks whether what ``faults`` needs is installed.
    """

    name: str
    files: tuple[str, ...]
    resolvers: tuple[Resolver, ...]
    faults: FaultFinder = no_faults
    counter: re.Pattern[bytes] | None = None
    private: bool = False
    prepare: Callable[[], None] | None = None
    words: bool = True
    is_able: Callable[[], bool] = lambda: True


def split_conflict(conflict: FileConflict) -> Triple | Refused:
    """Split the three versions into lines, or refuse what cannot be merged by lines."""
    texts = (conflict.base or b"", conflict.main, conflict.unit)
    # Git calls a file binary that has a NUL; UTF-16 falls under it too, where a cut at b"\n" would halve characters.
    if any(b"\0" in text for text in texts):
        return Refused("the file is binary (it holds NUL bytes)")
    # Counted before anything is split: the lists of a file of a million lines are what the limit is to save.
    longest = max(text.count(b"\n") for text in texts)
    if longest >= LINE_LIMIT:
        return Refused(f"the file is too long to be merged by lines ({longest} lines, limit {LINE_LIMIT})")
    return split_versions(conflict.base, conflict.main, conflict.unit)


def one_sided(conflict: FileConflict) -> bytes | None:
    """Return the merge when at most one side changed anything; None when both did."""
    # The comparison of whole texts comes before any reading: it holds for files nobody can read, too.
    if conflict.main in (conflict.unit, conflict.base):
        return conflict.unit
    return conflict.main if conflict.unit == conflict.base else None


def open_lines(conflict: FileConflict, resolver: str) -> Triple | Resolved | Refused:
    """Split the three versions into lines; returns the answer itself where there is nothing to merge, or no way to."""
    triple = split_conflict(conflict)
    return triple if isinstance(triple, Refused) else take_plain(conflict, triple, resolver) or triple


def take_plain(conflict: FileConflict, triple: Triple, resolver: str) -> Resolved | None:
    """Answer where at most one side changed anything."""
    plain = one_sided(conflict)
    return None if plain is None else Resolved(plain, resolver, brought_lines(triple, triple.split(plain)))


def brought_lines(triple: Triple, merged: Sequence[bytes]) -> tuple[bytes, ...]:
    """List the lines of a merge that main's version does not have, in their order."""
    # By count, not by place: moved lines are main's own, and a line main has once may come a second time.
    left = Counter(triple.main)
    brought = []
    for line in merged:
        if left[line]:
            left[line] -= 1
        else:
            brought.append(line)
    return tuple(brought)


def prove_union(conflict: FileConflict, text: bytes) -> str | None:
    """Check that ``text`` is a true union of both sides; None when proved, else what is wrong with it.

    Proved means: each line added on either side is there as often as needed, each line deleted on either side is
    gone, nothing came back, no conflict marker slipped in, the lines and their order are those of both sides, and
    line ends, byte order mark and final newline are as they must be.
    """
    plain = one_sided(conflict)
    # Where one side changed nothing there is exactly one right answer, blank lines and odd line ends included.
    if plain is not None:
        return None if text == plain else "only one side changed the file and the text is not that side's"
    triple = split_conflict(conflict)
    if isinstance(triple, Refused):
        return triple.reason
    merged = triple.split(text)
    return (
        # In this order a marker is called a marker, and a lost line lost; the order check would call both "not where".
        _find_marker(triple, merged)
        or _miscount(triple, merged)
        or _misplaced(triple, merged)
        or (None if triple.render(merged) == text else "the line ends, byte order mark or final newline changed")
    )


def quote(line: bytes) -> str:
    """Show a line in a message: decoded, quoted, at most 60 characters, nothing a terminal would obey."""
    # Decoded before it is cut to what is shown; a minified file is one line of a megabyte.
    text = line[:1000].decode("utf-8", "replace").strip(" \t")
    shown = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
    return '"' + (shown if len(shown) <= 60 else shown[:57] + "...") + '"'


def _find_marker(triple: Triple, merged: Iterable[bytes]) -> str | None:
    # A line of seven "=" underlines a heading in reStructuredText; what a side has is its text, not a conflict.
    known = {*triple.main, *triple.unit}
    found = next((line for line in merged if line.startswith(MARKERS) and line not in known), None)
    return None if found is None else f"a conflict marker is left: {quote(found)}"


def _miscount(triple: Triple, merged: Iterable[bytes]) -> str | None:
    base, main, unit, have = (Counter(lines) for lines in (triple.base, triple.main, triple.unit, merged))
    for line in {**have, **main, **unit}:
        if not line.strip():
            continue  # a blank line is known by its place only
        by_main, by_unit = main[line] - base[line], unit[line] - base[line]
        both = base[line] + by_main + by_unit
        # Both added or both removed a line: it may have been the same one, or one each.
        once = base[line] + max(by_main, by_unit) if by_main > 0 else base[line] + min(by_main, by_unit)
        least, most = sorted((both, once)) if by_main * by_unit > 0 else (both, both)
        if have[line] < least:
            return f"the line {quote(line)} is lost"
        if have[line] > most:
            known = line in base or line in main or line in unit
            return f"the line {quote(line)} {'came back or is there too often' if known else 'is on neither side'}"
    return None


def _misplaced(triple: Triple, merged: Sequence[bytes]) -> str | None:
    main, unit = diff_lines(triple.base, triple.main), diff_lines(triple.base, triple.unit)
    if main is None or unit is None:
        return TOO_DIFFERENT
    # A line that either side removed is due nowhere; one that a side rewrote is due as that side's new lines.
    gone = {i for change in (*main, *unit) for i in range(change.start, change.stop)}
    kept = [line for i, line in enumerate(triple.base) if i not in gone]
    written = [line for change in (*main, *unit) for line in change.lines]
    # _miscount knows no blank lines, so a merge that piles them up is caught here.
    if _blank_count(merged) > _blank_count(kept) + _blank_count(written):
        return "there are more blank lines than both sides have"
    for side, changes in (("main", main), ("unit", unit)):
        # Each side's order is checked for itself: where both added at one place, either may come first.
        due: list[bytes] = []
        at = 0
        for change in changes:
            due += (triple.base[i] for i in range(at, change.start) if i not in gone)
            due += change.lines
            at = change.stop
        due += (triple.base[i] for i in range(at, len(triple.base)) if i not in gone)
        lost = _first_missing(due, iter(merged))
        if lost is not None:
            return f"the line {quote(lost)} is not where {side}'s order has it"
    return None


def _blank_count(lines: Iterable[bytes]) -> int:
    return sum(not line.strip() for line in lines)


def _first_missing(due: Iterable[bytes], merged: Iterator[bytes]) -> bytes | None:
    """Find the first line that does not follow the ones before it in the merge."""
    return next((line for line in due if line not in merged), None)

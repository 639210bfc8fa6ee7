"""The proof every resolved text must pass, whatever resolver made it; and the audit of merges git made alone."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from gitprun.resolvers.base import MARKERS, FileConflict, Kind, quote
from gitprun.resolvers.changes import pair_lines
from gitprun.resolvers.kinds import find_faults
from gitprun.resolvers.liveness import find_ended, find_swept
from gitprun.resolvers.releases import find_misfiled
from gitprun.resolvers.signatures import find_recounted
from gitprun.resolvers.text import BOM, split_versions

# Bytes from 0x80 on count as letters: words in UTF-8 and in any 8-bit encoding stay whole.
_WORD = re.compile(rb"[A-Za-z0-9_\x80-\xff]+")


def prove(conflict: FileConflict, text: bytes, kind: Kind | None) -> str | None:
    """Check a resolved text against the three versions; None when proved, else what is wrong with it.

    Proved means: no conflict marker and no fault that neither side has, every word that a side added is there and
    every word that a side removed is gone (as often as needed; unless the kind proves its entries by their meaning),
    lines that neither side touched are whole, and byte order mark, line ends and final newline are as they must be.
    """
    # The cheap checks come first, and those that say most: a marker left is told as such, not as lost words.
    counted = kind is None or kind.words
    return (
        _new_marker(conflict, text)
        or _new_fault(conflict, text, kind)
        or next(iter(find_unmeant(conflict, text)), None)
        or find_swept(conflict, text)
        or (_miscounted_word(conflict, text, kind.counter if kind else None) if counted else None)
        or _touched_line(conflict, text)
        or _other_ends(conflict, text)
    )


def audit(path: str, base: bytes | None, main: bytes, unit: bytes, merged: bytes) -> tuple[str, ...]:
    """Name what is wrong with a merge of two versions that is wrong with neither of them."""
    marker = _new_marker(FileConflict(path, base, main, unit), merged)
    # A fault that a side has already is not the merge's; as often as it is there, for a key may be twice on each
    # side.
    found = find_faults(path, merged)
    if found:
        known = Counter(find_faults(path, main)) | Counter(find_faults(path, unit))
        found = tuple((Counter(found) - known).elements())
    return (*((marker,) if marker else ()), *found, *find_unmeant(FileConflict(path, base, main, unit), merged))


def find_unmeant(conflict: FileConflict, text: bytes) -> tuple[str, ...]:
    """Name what neither side can have meant, though every line is where one of them has it."""
    ended = (one.reason for one in find_ended(conflict, text))
    return (*ended, *find_recounted(conflict, text), *find_misfiled(conflict, text))


def _new_marker(conflict: FileConflict, text: bytes) -> str | None:
    # A search for four substrings, where splitting three files into lines would be the dearest step of most proofs.
    if not any(mark in text for mark in MARKERS):
        return None
    # A side may document markers, or underline a heading; with other line ends it is the same line.
    known = {line.rstrip() for line in (*conflict.main.split(b"\n"), *conflict.unit.split(b"\n"))}
    for line in text.split(b"\n"):
        if line.startswith(MARKERS) and line.rstrip() not in known:
            return f"a conflict marker is left: {quote(line)}"
    return None


def _new_fault(conflict: FileConflict, text: bytes, kind: Kind | None) -> str | None:
    # By lines there is no kind to ask, so every kind that claims the path looks for faults.
    if kind is None:
        found = audit(conflict.path, conflict.base, conflict.main, conflict.unit, text)
        return found[0] if found else None
    # Only the faults of the kind whose resolver made it: all kinds' are looked for afterwards, over whatever is to
    # land.
    found = kind.faults(conflict.path, text)
    if not found:
        return None
    known = {*kind.faults(conflict.path, conflict.main), *kind.faults(conflict.path, conflict.unit)}
    return next((fault for fault in found if fault not in known), None)


def _miscounted_word(conflict: FileConflict, text: bytes, counter: re.Pattern[bytes] | None) -> str | None:
    """Check that no word is lost or came back.

    What a side removed or added is read off a diff of the words, so that a word that only moved counts as neither
    lost nor gained; both sides may have made the same change, hence a range.
    """
    versions = (conflict.base or b"", conflict.main, conflict.unit, text)
    base, main, unit, have = (_words(counter.sub(b"", each) if counter else each) for each in versions)
    before, after = Counter(base), Counter(have)
    by_main, by_unit = _moves(base, main), _moves(base, unit)
    for word in dict.fromkeys((*base, *main, *unit, *have)):
        added, removed = (by_main[0][word], by_unit[0][word]), (by_main[1][word], by_unit[1][word])
        # Both sides may have made one change or one each, so there is a least and a most, and no exact count.
        least = before[word] + max(added) - sum(removed)
        most = before[word] + sum(added) - max(removed)
        if after[word] < least:
            return f"{quote(word)} is lost"
        if after[word] > most:
            return f"{quote(word)} came back or is there too often"
    return None


def _words(text: bytes) -> list[bytes]:
    return _WORD.findall(text.removeprefix(BOM))


def _moves(base: Sequence[bytes], side: Sequence[bytes]) -> tuple[Counter[bytes], Counter[bytes]]:
    """Count the words that a side added and those it removed."""
    # Too different to be paired: then words count wherever they stand, which only widens what may pass by moving.
    pairs = pair_lines(base, side)
    kept = Counter(base[i] for i, _ in pairs) if pairs is not None else Counter(base) & Counter(side)
    return Counter(side) - kept, Counter(base) - kept


def _touched_line(conflict: FileConflict, text: bytes) -> str | None:
    """Check that each line that is in all three versions equally often is so in the merge."""
    # Without a base no line is "untouched": each is one that a side added.
    if conflict.base is None:
        return None
    base, main, unit, have = (_lines(each) for each in (conflict.base, conflict.main, conflict.unit, text))
    for line, count in base.items():
        # Counted, not placed: where lines stand is the resolver's to say, that none is lost is not.
        if count == main[line] == unit[line] and have[line] != count and not _may_move(line):
            return f"the line {quote(line)}, which neither side touched, is {'lost' if have[line] < count else 'twice'}"
    return None


def _may_move(line: bytes) -> bool:
    """Check whether a line is too plain to be known by itself: brackets and separators come with any entry."""
    return not _WORD.search(line)


def _lines(text: bytes) -> Counter[bytes]:
    # Separators are the resolver's to repair, and columns may be realigned.
    return Counter(b" ".join(line.split()).rstrip(b",; ") for line in text.removeprefix(BOM).splitlines())


def _other_ends(conflict: FileConflict, text: bytes) -> str | None:
    triple = split_versions(conflict.base, conflict.main, conflict.unit)
    if text.startswith(BOM) != triple.bom and text:
        return "the byte order mark changed"
    pairs, lines = text.count(b"\r\n"), text.count(b"\n")
    # Triple has CRLF only where every version is uniform, so a single bare LF is the merge's.
    if triple.end == b"\r\n" and pairs != lines:
        return "the line ends changed"
    if triple.end == b"\n" and pairs and b"\r\n" not in conflict.main and b"\r\n" not in conflict.unit:
        return "the line ends changed"
    if text and text.endswith(b"\n") != triple.final:
        return "the final newline changed"
    return None

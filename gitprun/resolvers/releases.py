"""Notes of releases: under which release a note stands, which of two notes say one thing, the order of the releases."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from gitprun.resolvers.base import FileConflict, quote

# By its name a file is known to hold such notes, whatever else is written in Markdown.
_NOTES: Final = re.compile(
    r"(?:change-?_?logs?|changes|history|news|releases?|release[-_]?notes)(?:\.(?:md|markdown|txt|rst))?"
)
_HEADING: Final = re.compile(rb"(#{1,6})[ \t]+(.*)")
_UNDERLINE: Final = re.compile(rb"(?:=+|-+)[ \t]*")
_NOTE: Final = re.compile(rb"[ \t]*[-*+][ \t]+(\S.*)")
# What will be released is called by many names; any of them may get its number later.
_COMING: Final = re.compile(
    rb"(?i)unreleased|upcoming|\bhead\b|\bmaster\b|\bnext\b|\btb[ad]\b|not yet|in progress|\bdev\b|x\.x"
)
_VERSION: Final = re.compile(rb"(?<![\w.])v?(\d+(?:\.\d+)+(?:[-.]?(?:rc|beta|alpha|b|a|pre)[\w.]*)?)(?![\w.])")
_NUMBER: Final = re.compile(rb"\d+")
_ISSUE: Final = re.compile(rb"(?:#|\b(?:gh|GH)-)(\d+)")
_WORD: Final = re.compile(rb"\w+")
# Two notes are one from this share of words in common, and with an issue in common from the lower one.
_ALIKE, _RELATED = 0.85, 0.5
# Shorter notes ("Fix typo") may well be two.
_TELLING = 4
# Pairs of new notes beyond which nobody compares them: a release has some dozens.
_PAIRS = 10_000


@dataclass(frozen=True, slots=True)
class _Note:
    text: bytes
    release: bytes
    coming: bool


def find_misfiled(conflict: FileConflict, merged: bytes) -> tuple[str, ...]:
    """Name the notes that the merge puts under another release than their author did, and those it says twice."""
    name = conflict.path.rpartition("/")[2].lower()
    if not _NOTES.fullmatch(name):
        return ()
    base, main, unit, have = (_read(text) for text in (conflict.base or b"", conflict.main, conflict.unit, merged))
    new_main, new_unit = _new(base, main), _new(base, unit)
    both = {note.text for note in new_main} & {note.text for note in new_unit}
    placed = {note.text: note for note in have}
    titles = (title for title, _, _ in _lines(merged) if title is not None)
    numbered = {version[1] for version in map(_VERSION.search, titles) if version is not None}
    found = []
    for side, notes in (("main", new_main), ("the unit", new_unit)):
        for note in notes:
            stands = placed.get(note.text)
            if stands is None or note.text in both or stands.release == note.release or stands.coming:
                continue
            # Of a release that has another number by now it stands where it should.
            if not note.coming and note.release not in numbered:
                continue
            found.append(f"the note {quote(note.text)} stands under {_show(stands)}; {side} has it under {_show(note)}")
    told = {note.text for note in have}
    new_main, new_unit = ([n for n in notes if n.text in told and n.text not in both] for notes in (new_main, new_unit))
    return (*found, *_told_twice(new_main, new_unit), *_out_of_order(conflict, merged))


def _read(text: bytes) -> list[_Note]:
    """List the notes of a text with the release that each stands under; those under none are left out."""
    notes = []
    release, coming, level = b"", False, 0
    for title, depth, line in _lines(text):
        if title is not None:
            found = _VERSION.search(title)
            pending = _COMING.search(title) is not None
            if found or pending:
                release, coming, level = (found[1] if found else b"unreleased"), pending, depth
            elif depth <= level:
                release, level = b"", 0
        elif release and (note := _NOTE.match(line)):
            notes.append(_Note(b" ".join(note[1].split()), release, coming))
    return notes


def _lines(text: bytes) -> Iterator[tuple[bytes | None, int, bytes]]:
    """Yield each line; of a heading its title and level, else None."""
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if found := _HEADING.match(line):
            yield found[2], len(found[1]), line
        elif line.strip() and at + 1 < len(lines) and len(lines[at + 1]) > 2 and _UNDERLINE.fullmatch(lines[at + 1]):
            yield line, 1 if lines[at + 1].startswith(b"=") else 2, line
        else:
            yield None, 0, line


def _new(base: Sequence[_Note], side: Sequence[_Note]) -> list[_Note]:
    known = Counter(note.text for note in base)
    counts = Counter(note.text for note in side)
    # What stands twice is a phrase ("Bug fixes"), and belongs to many releases.
    return [note for note in side if not known[note.text] and counts[note.text] == 1]


def _told_twice(main: Sequence[_Note], unit: Sequence[_Note]) -> Iterator[str]:
    if len(main) * len(unit) > _PAIRS:
        return
    words = {note.text: Counter(_WORD.findall(note.text.lower())) for note in (*main, *unit)}
    issues = {note.text: frozenset(_ISSUE.findall(note.text)) for note in (*main, *unit)}
    for one in main:
        for other in unit:
            first, second = words[one.text], words[other.text]
            shared = 2 * (first & second).total() / max(1, first.total() + second.total())
            same = issues[one.text] and issues[one.text] == issues[other.text]
            if shared >= (_RELATED if same else _ALIKE) and min(first.total(), second.total()) >= _TELLING:
                yield f"both sides wrote the note {quote(one.text)}, each in its own words"


def _out_of_order(conflict: FileConflict, merged: bytes) -> tuple[str, ...]:
    """Name a release that stands below an older one where in neither side any does."""
    if any(_rising(text) for text in (conflict.base or b"", conflict.main, conflict.unit)):
        return ()
    found = _rising(merged)
    return (f"release {found[1]} stands below {found[0]}",) if found else ()


def _rising(text: bytes) -> tuple[str, str] | None:
    last: dict[int, bytes] = {}
    for title, depth, _ in _lines(text):
        found = _VERSION.search(title) if title is not None else None
        if found is None:
            continue
        above = last.get(depth)
        if above is not None and _rank(above) < _rank(found[1]):
            return above.decode(), found[1].decode()
        last[depth] = found[1]
    return None


def _rank(version: bytes) -> tuple[int, ...]:
    # As far as numbers go: which of two betas is the later one is not asked.
    return tuple(int(number) for number in _NUMBER.findall(re.split(rb"[-a-z]", version)[0]))


def _show(note: _Note) -> str:
    return note.release.decode("utf-8", "replace")

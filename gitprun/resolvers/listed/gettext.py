"""Translations of gettext (.po, .pot): one message an entry, known by its context and its original text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from gitprun.resolvers.entries import ABSENT, Absent, EntryClash, settle_value
from gitprun.resolvers.listed.frame import ListedKind
from gitprun.resolvers.listed.rules import LineRules
from gitprun.resolvers.listed.tree import Body, LineNode, Lines, UnreadLines, blank, note

_STRING = re.compile(rb'(?:(msgctxt|msgid_plural|msgid|msgstr(?:\[\d+\])?)\s+)?"((?:[^"\\]|\\.)*)"\s*$', re.DOTALL)
_HEADER = re.compile(rb'\s*"([A-Za-z][A-Za-z0-9-]*):(.*)"\s*$', re.DOTALL)
# Told in the header for the whole file: the later date holds when both sides set one.
_DATES = (b"PO-Revision-Date", b"POT-Creation-Date")
_DATE = re.compile(rb"\s*(\d{4})-(\d\d)-(\d\d)[ T](\d\d):(\d\d)(?::\d\d)?([+-])(\d\d):?(\d\d)\\n$")
# What gettext itself puts between the two in its .mo files, so that no original text reads like it.
_CONTEXT_END = b"\x04"
# What stands in an entry, in this order. A translation and its flags (fuzzy) and earlier originals are one thing.
_PARTS = ("comment", "extracted", "reference", "translation")


@dataclass(slots=True)
class _Message:
    lines: list[bytes] = field(default_factory=list)
    words: dict[bytes, bytes] = field(default_factory=dict)
    at: bytes = b""
    obsolete: bool = False

    @property
    def complete(self) -> bool:
        """Check whether a translation was read."""
        return any(word.startswith(b"msgstr") for word in self.words)


def read_po(lines: Sequence[bytes]) -> Body | UnreadLines:
    """Read messages with the comments above them."""
    nodes: list[LineNode] = []
    now = _Message()
    for line in lines:
        text = line.strip()
        # "#~|" is the earlier original of an obsolete message: a comment of it, not a line of it.
        obsolete = text.startswith(b"#~") and not text.startswith(b"#~|")
        if obsolete:
            text = text[2:].strip()
        if not text:
            fault = _end(now, nodes)
            now = _Message()
            nodes.append(blank(line))
        elif text.startswith(b"#"):
            fault = None
            # Not every tool writes a blank line between messages: a comment behind a translation starts the next one.
            if now.complete:
                fault = _end(now, nodes)
                now = _Message()
            elif now.words:
                fault = UnreadLines("a comment stands inside a message")
            now.lines.append(line)
        else:
            found = _STRING.match(text)
            fault = None
            # So does an original text.
            if found and found[1] in (b"msgctxt", b"msgid") and now.complete:
                fault = _end(now, nodes)
                now = _Message()
            # A keyword twice means that lines of two messages were mixed; a text before any keyword belongs to none.
            if not found or (found[1] or now.at) == b"" or (found[1] and found[1] in now.words):
                return UnreadLines("a line is not part of a message")
            now.obsolete = obsolete
            now.at = found[1] or now.at
            now.words[now.at] = now.words.get(now.at, b"") + found[2]
            now.lines.append(line)
        if fault:
            return fault
    return _end(now, nodes) or tuple(nodes)


def merge_message(base: LineNode, main: LineNode, unit: LineNode) -> Lines | None:
    """Merge a message of which the sides changed different parts; the header by its lines."""
    # The original text is the header's name: empty.
    if main.key == b"":
        return _merge_header(base, main, unit)
    parts = [_parts(node.head) for node in (base, main, unit)]
    lines: list[bytes] = []
    for name in _PARTS:
        old, by_main, by_unit = (part.get(name, ()) if part else None for part in parts)
        if old is None or by_main is None or by_unit is None:
            return None
        chosen = settle_value(old, by_main, by_unit)
        if isinstance(chosen, EntryClash):
            return None
        lines += chosen if chosen is not ABSENT else ()
    return tuple(lines)


def _end(message: _Message, nodes: list[LineNode]) -> UnreadLines | None:
    if not message.words:
        nodes += map(note, message.lines)
        return None
    if b"msgid" not in message.words or not message.complete:
        return UnreadLines("a message is not whole")
    key = message.words[b"msgid"]
    if b"msgctxt" in message.words:
        key = message.words[b"msgctxt"] + _CONTEXT_END + key
    # An obsolete message may stand beside a live one of the same original.
    if message.obsolete:
        key = b"#~ " + key
    lines = tuple(message.lines)
    nodes.append(LineNode("entry", key, lines, fields=_fields(key, lines)))
    return None


def _fields(key: bytes, lines: Lines) -> tuple[tuple[str, object], ...]:
    if key == b"":
        split = _split_header(lines)
        if split is None:
            return (("", lines),)
        # The dates follow a rule of their own, which is checked by ``doubt_dates``.
        named = ((name.decode("ascii"), line) for name, line in split[1].items() if name not in _DATES)
        return (("", split[0]), *named)
    parts = _parts(lines)
    return (("", lines),) if parts is None else tuple((name, parts[name]) for name in _PARTS if name in parts)


def _parts(lines: Lines) -> dict[str, Lines] | None:
    """Split a message into its parts; None when they do not stand in the usual order."""
    parts: dict[str, list[bytes]] = {}
    last = 0
    for line in lines:
        text = line.strip()
        if text.startswith(b"#.") and last <= 1:
            at = 1
        elif text.startswith(b"#:") and last <= 2:
            at = 2
        elif not text.startswith(b"#") or text[1:2] in (b",", b"|", b"~", b"="):
            at = 3
        else:
            at = 0
        # Parts in another order cannot be put together again from both sides.
        if at < last:
            return None
        last = at
        parts.setdefault(_PARTS[at], []).append(line)
    return {name: tuple(part) for name, part in parts.items()}


def _split_header(lines: Lines) -> tuple[Lines, dict[bytes, bytes]] | None:
    """Split the header into what stands before its fields and the fields by their names; None for another form."""
    start = next((i + 1 for i, line in enumerate(lines) if line.strip() == b'msgstr ""'), None)
    if start is None:
        return None
    named: dict[bytes, bytes] = {}
    for line in lines[start:]:
        found = _HEADER.match(line)
        # A field that goes on over lines, or stands twice, cannot be merged by its name.
        if not found or not found[2].endswith(b"\\n") or found[1] in named:
            return None
        named[found[1]] = line
    return lines[:start], named


def _merge_header(base: LineNode, main: LineNode, unit: LineNode) -> Lines | None:
    """Merge the header by its fields."""
    old, by_main, by_unit = (_split_header(node.head) for node in (base, main, unit))
    if old is None or by_main is None or by_unit is None:
        return None
    above = settle_value(old[0], by_main[0], by_unit[0])
    if isinstance(above, EntryClash) or above is ABSENT:
        return None
    lines = [*above]
    for name in dict.fromkeys((*by_main[1], *by_unit[1])):
        versions = [each[1].get(name, ABSENT) for each in (old, by_main, by_unit)]
        line = _settle_field(name, versions[0], versions[1], versions[2])
        if isinstance(line, EntryClash):
            return None
        if line is not ABSENT:
            lines.append(line)
    return tuple(lines)


def _settle_field(
    name: bytes, base: bytes | Absent, main: bytes | Absent, unit: bytes | Absent
) -> bytes | Absent | EntryClash:
    """Settle one field; of two dates the later one, for the merge has what was done until then."""
    line = settle_value(base, main, unit)
    if not isinstance(line, EntryClash) or name not in _DATES or isinstance(main, Absent) or isinstance(unit, Absent):
        return line
    first, second = _moment(main), _moment(unit)
    # One moment written in two ways: neither is the later one.
    if first is None or second is None or first == second:
        return line
    return main if first > second else unit


def _moment(line: bytes) -> datetime | None:
    named = _HEADER.match(line)
    found = _DATE.match(named[2]) if named else None
    if not found:
        return None
    ahead = timedelta(hours=int(found[7]), minutes=int(found[8])) * (1 if found[6] == b"+" else -1)
    try:
        year, month, day, hour, minute = (int(found[k]) for k in range(1, 6))
        return datetime(year, month, day, hour, minute, tzinfo=UTC) - ahead
    # A month 13; or the first hours of the year 1 in a zone ahead.
    except (ValueError, OverflowError):
        return None


def doubt_dates(base: Body, main: Body, unit: Body, merged: Body) -> str | None:
    """Doubt a header whose dates are not those that the sides tell."""
    headers = [
        next((_split_header(node.head) for node in body if node.identity == ("entry", b"")), None)
        for body in (base, main, unit, merged)
    ]
    old, by_main, by_unit, have = (header[1] if header else {} for header in headers)
    for name in _DATES:
        due = _settle_field(name, *(each.get(name, ABSENT) for each in (old, by_main, by_unit)))
        if have.get(name, ABSENT) != due:
            return f"{name.decode('ascii')} is not that of either side"
    return None


# Tools keep at most one message for an original text and context, obsolete ones aside.
def _is_any(node: LineNode) -> bool:
    return True


KINDS = (
    ListedKind(
        "po",
        ("*.po", "*.pot"),
        read_po,
        LineRules(spaced=True, merge_head=merge_message),
        doubt_dates,
        _is_any,
        re.compile(rb'(?m)^"(?:PO-Revision|POT-Creation)-Date:.*$'),
    ).kind,
)

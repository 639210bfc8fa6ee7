"""Attributes that lead files through programs: which lines of a text of attributes do, macros taken apart; pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

_PATTERN: Final = re.compile(r'"(?:[^"\\]|\\.)*"|\S+')
# An attribute, and the parts of its driver in git's settings that are programs.
PROGRAMS: Final = {"filter": ("clean", "smudge", "process"), "diff": ("command", "textconv"), "merge": ("driver",)}
_MACRO: Final = "[attr]"
_Row = tuple[str, str, str]


def configured_drivers(keys: Iterable[str]) -> frozenset[str]:
    """Return the attributes for which settings name a program, such as ``filter=lfs``; git lists ``keys`` like that."""
    found = set()
    for key in keys:
        section, _, rest = key.partition(".")
        name, dot, part = rest.rpartition(".")
        if dot and part in PROGRAMS.get(section, ()):
            found.add(f"{section}={name}")
    return frozenset(found)


def led_anew(old: str, new: str, drivers: frozenset[str], macros: Iterable[str] = ()) -> tuple[str, ...]:
    """Return the drivers to which a new text leads other files than the old one did.

    That is a line which names one, or the end of one that kept files away from it; ``macros`` are texts whose macros
    hold here, too.
    """
    if not drivers:
        return ()
    shared = [line for text in macros for line in text.splitlines() if line.lstrip().startswith(_MACRO)]
    before, after = (_rows(text, _read_macros([*shared, *text.splitlines()])) for text in (old, new))
    found: list[str] = []
    for attribute in PROGRAMS:
        was, now = ([row for row in rows if row[1] == attribute] for rows in (before, after))
        known = {f"{name}={value}" for _, name, value in now} & drivers
        fresh = [f"{row[1]}={row[2]}" for row in now if row not in was and f"{row[1]}={row[2]}" in drivers]
        freed = [row for row in was if row not in now and f"{row[1]}={row[2]}" not in drivers]
        turned = [row for row in was if row in now] != [row for row in now if row in was]
        found += fresh or (sorted(known) if freed or turned else [])
    return tuple(dict.fromkeys(found))


def _read_macros(lines: Iterable[str]) -> Mapping[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in lines:
        text = line.strip()
        if text.startswith(_MACRO):
            name, *words = text.removeprefix(_MACRO).split() or [""]
            found[name] = words
    return found


def _rows(text: str, macros: Mapping[str, list[str]]) -> list[_Row]:
    """List pattern, attribute and value of each line that says something about a program, in their order.

    A macro counts by itself: what uses it may stand in another file.
    """
    found: list[_Row] = []
    for line in text.splitlines():
        said = line.strip()
        match = _PATTERN.match(said)
        if match is None or said.startswith("#"):
            continue
        for word in _spread(said[match.end() :].split(), macros):
            name, _, value = word.partition("=")
            sign = name[:1] if name[:1] in "-!" else ""
            if name.removeprefix(sign) in PROGRAMS:
                found.append((match.group(), name.removeprefix(sign), value or sign))
    return found


def _spread(words: Sequence[str], macros: Mapping[str, list[str]]) -> list[str]:
    """Take macros apart, and those they are made of, each once."""
    found, seen = list(words), set[str]()
    for word in found:
        if word in macros and word not in seen:
            seen.add(word)
            found += macros[word]
    return found

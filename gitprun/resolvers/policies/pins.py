"""Versions that dependencies are pinned to: which of two is the higher one, and both sides brought to it."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from gitprun.resolvers.base import FileConflict, Refused, quote
from gitprun.resolvers.entries import show_key
from gitprun.resolvers.policies.aligned import Edit, Version, read_version

# Nine digits fit a machine word and hold a date; what is longer is a hash, and has no order.
NUMBERS = r"\d{1,9}(?:\.\d{1,9})*"


@dataclass(frozen=True, slots=True)
class Pin:
    """The version of one dependency: the name it is known by in every version of the file, and where it stands."""

    key: Hashable
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Scheme:
    """How versions are written: operator and numbers. ``alike`` versions have equally many numbers.

    Dependencies that may stand ``often`` are aligned only where all their places agree.
    """

    plain: re.Pattern[str]
    alike: bool = False
    often: bool = False


# Finds all pins of one version of a file; a file that cannot be read has none.
PinReader = Callable[[str], Iterable[Pin]]
Specs = Mapping[Hashable, Sequence[tuple[Pin, str]]]


def align_pins(scheme: Scheme, read: PinReader, conflict: FileConflict) -> FileConflict | Refused:
    """Write the higher version on both sides wherever both set another one than the base has."""
    versions = [read_version(text) for text in (conflict.base or b"", conflict.main, conflict.unit)]
    base, main, unit = (_specs(read, version) for version in versions)
    edits: tuple[list[Edit], list[Edit]] = ([], [])
    for key in main:
        clash = _clash(base, main, unit, key)
        # What both sides added at places that the base does not have is left to the file's own resolvers.
        if clash is None or (scheme.often and clash[0] is None):
            continue
        old, first, second = clash
        # Two places of one name: which of them a place of the other side goes with is not certain.
        places = [len(specs.get(key, ())) for specs in (base, main, unit)]
        if max(places) > 1 and not scheme.often:
            return Refused(f"{show_key(key)} is there twice")
        loser = _lower(scheme, key, old, first, second)
        if isinstance(loser, Refused):
            return loser
        # A place that the base does not have is no clash: it must not be changed with the others.
        if scheme.often and places[1 + loser] != places[0]:
            return Refused(f"{show_key(key)} is at {places[1 + loser]} places on a side and at {places[0]} before")
        due = (second, first)[loser]
        edits[loser].extend((pin.start, pin.stop, due) for pin, _ in (main, unit)[loser][key])
    return replace(
        conflict,
        main=versions[1].edited(edits[0]) if edits[0] else conflict.main,
        unit=versions[2].edited(edits[1]) if edits[1] else conflict.unit,
    )


def _specs(read: PinReader, version: Version) -> Specs:
    specs: defaultdict[Hashable, list[tuple[Pin, str]]] = defaultdict(list)
    for pin in read(version.text):
        specs[pin.key].append((pin, version.text[pin.start : pin.stop]))
    return specs


def _clash(base: Specs, main: Specs, unit: Specs, key: Hashable) -> tuple[str | None, str, str] | None:
    """Return the versions before, on main and in the unit, where all are different."""
    old, first, second = ({spec for _, spec in specs.get(key, ())} for specs in (base, main, unit))
    # A side that has two versions of one thing at once has none that could be compared.
    if not second or first in (second, old) or second == old or max(map(len, (old, first, second))) > 1:
        return None
    return next(iter(old), None), first.pop(), second.pop()


def _lower(scheme: Scheme, key: Hashable, old: str | None, main: str, unit: str) -> int | Refused:
    """Return which side has the lower version: 0 for main, 1 for the unit."""
    both = f"{_show(main)} and {_show(unit)}"
    found = [scheme.plain.fullmatch(spec) for spec in (main, unit)]
    first, second = found
    if first is None or second is None:
        return Refused(f"{show_key(key)} is changed on both sides, and {both} are not both plain versions")
    # ^1.1 and ~1.2 allow versions that the other does not, so neither is the higher one.
    if first[1] != second[1] or (scheme.alike and first[2].count(".") != second[2].count(".")):
        return Refused(f"{show_key(key)} is changed on both sides, and {both} are not of one form")
    ranks = [_rank(each[2]) for each in (first, second)]
    if ranks[0] == ranks[1]:
        return Refused(f"{show_key(key)} is changed on both sides, and {both} are one version")
    loser = 0 if ranks[0] < ranks[1] else 1
    # A version below the base's is a choice (a release that was broken); the higher one would undo it.
    before = scheme.plain.fullmatch(old or "")
    if before and _rank(before[2]) > ranks[loser]:
        whose = ("main", "the unit")[loser]
        return Refused(f"{show_key(key)} was lowered on purpose by {whose}, from {_show(old or '')}")
    return loser


def _rank(numbers: str) -> tuple[int, ...]:
    parts = [int(part) for part in numbers.split(".")]
    # 2 and 2.0 are one version.
    while parts and not parts[-1]:
        parts.pop()
    return tuple(parts)


def _show(spec: str) -> str:
    return quote(spec.encode("utf-8", "surrogateescape"))

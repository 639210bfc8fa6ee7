"""Entries that have a key: the three-way rule for one of them, the order of all, and the proof of a merge of them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise
from typing import Any, Final, TypeVar

from gitprun.resolvers.base import quote
from gitprun.resolvers.changes import pair_lines

Key = Hashable
Entries = Mapping[Key, Hashable]
K = TypeVar("K", bound=Hashable)
V = TypeVar("V", bound=Hashable)


class Absent(Enum):
    """The type of ``ABSENT``: a version has no such entry."""

    ABSENT = "absent"


ABSENT: Final = Absent.ABSENT

# In a group of its own, so that split() keeps the digits, at the odd places.
_DIGITS = re.compile(r"(\d+)")


@dataclass(frozen=True, slots=True)
class EntryClash:
    """The two sides contradict each other; ``reason`` says how, in words that follow the name of the entry."""

    reason: str


def settle_value(base: V | Absent, main: V | Absent, unit: V | Absent) -> V | Absent | EntryClash:
    """Merge one entry three ways; ABSENT when it is to be gone, or stays so."""
    if main == unit or unit == base:
        return main
    if main == base:
        return unit
    # From here on both sides changed the entry, each otherwise: nothing below may choose one of them.
    if base is ABSENT:
        return EntryClash("is added on both sides, differently")
    if main is ABSENT:
        return EntryClash("is removed on main and changed by the unit")
    if unit is ABSENT:
        return EntryClash("is removed by the unit and changed on main")
    return EntryClash("is changed on both sides, differently")


def prove_entries(
    base: Entries, main: Entries, unit: Entries, merged: Entries | Iterable[tuple[Key, Hashable]]
) -> str | None:
    """Check a merge of keyed entries; None when proved, else which entry is lost, came back, changed or is twice.

    Give ``merged`` as pairs where a key could stand twice.
    """
    # A mapping built from a text that has a key twice has lost one of them already; pairs show it.
    pairs = list(merged.items() if isinstance(merged, Mapping) else merged)
    double = next((key for key, count in Counter(key for key, _ in pairs).items() if count > 1), None)
    if double is not None:
        return f"{show_key(double)} is there twice"
    have: dict[Key, Hashable] = dict(pairs)
    for key in dict.fromkeys((*base, *main, *unit, *have)):
        due = settle_value(base.get(key, ABSENT), main.get(key, ABSENT), unit.get(key, ABSENT))
        if isinstance(due, EntryClash):
            return f"{show_key(key)} {due.reason}"
        if have.get(key, ABSENT) == due:
            continue
        if due is ABSENT:
            return f"{show_key(key)} {'came back' if key in base else 'is on neither side'}"
        return f"{show_key(key)} is {'changed' if key in have else 'lost'}"
    return None


def merge_keys(
    base: Sequence[K], main: Sequence[K], unit: Sequence[K], *, listed: bool = False
) -> list[K] | EntryClash:
    """Order the keys of a merge: all that a side added, and those of base that neither side removed.

    Base's order holds, or that of the one side that reordered; what is added follows the key it followed on its
    side, main's before the unit's. Keys that are sorted in all three versions stay sorted; ``listed`` ones are items of
    a list.
    """
    for keys in (base, main, unit):
        if len(set(keys)) < len(keys):
            double = next(key for key, count in Counter(keys).items() if count > 1)
            return EntryClash(f"holds {show_key(double)} twice")
    in_base, in_main, in_unit = set(base), set(main), set(unit)
    # What a side removed must not take part in the order: it would seem reordered by the other.
    stays = in_base & in_main & in_unit
    kept = _merge_order(*([key for key in keys if key in stays] for keys in (base, main, unit)))
    if kept is None:
        return EntryClash("is reordered on both sides, differently")
    by_main, by_unit = added_after(main, in_base, stays), added_after(unit, in_base, stays)
    # Where both sides added one key, it stands where main has it, once.
    placed = in_main - in_base
    merged = _join_added(by_main.get(None, []), by_unit.get(None, []), placed)
    for key in kept:
        merged += [key, *_join_added(by_main.get(key, []), by_unit.get(key, []), placed)]
    order = common_order(base, main, unit, listed=listed)
    return sorted(merged, key=order) if order else merged


def common_order(*versions: Sequence[K], listed: bool = True) -> Callable[[K], Any] | None:
    """Find the order by which every version is sorted, as a key for ``sorted``; None when there is no such order.

    A version with fewer than two keys is sorted, but only two versions with more than that tell an order. Of a list
    that had one item no order is told: the place in a list may mean something, that in a table does not.
    """
    # Any list of two is sorted one way or the other; a single version proves no habit.
    if sum(len(keys) > 1 for keys in versions) < 2:
        return None
    # Each side put its own behind the one there was, and two that happen to be in order are no habit either.
    if listed and any(len(keys) == 1 for keys in versions):
        return None
    # From the strictest on: where several hold, the one that leaves the fewest surprises decides.
    for order in (_plain, _folded, _natural):
        try:
            if all(a <= b for keys in versions for a, b in pairwise([order(key) for key in keys])):
                return order
        except TypeError:  # keys of types that do not compare
            continue
    return None


def show_key(key: Key) -> str:
    """Show a key in a message: the parts of a path joined by dots, quoted."""
    if isinstance(key, tuple):
        return quote(b".".join(_as_bytes(part) for part in key))
    return quote(_as_bytes(key))


def _as_bytes(part: object) -> bytes:
    return part if isinstance(part, bytes) else str(part).encode("utf-8", "replace")


def _plain(key: Any) -> Any:
    return key


def _folded(key: Any) -> Any:
    if isinstance(key, tuple):
        return tuple(_folded(part) for part in key)
    return key.lower() if isinstance(key, (bytes, str)) else key


def _natural(key: Any) -> Any:
    """Compare runs of digits as numbers."""
    if isinstance(key, tuple):
        # File names and ids with numbers (item2, item10) are kept so by people and by several formatters.
        return tuple(_natural(part) for part in key)
    text = key.decode("utf-8", "replace") if isinstance(key, bytes) else key
    if not isinstance(text, str):
        return key
    # Python refuses to read numbers of more than 4,300 digits; the part itself decides between equal beginnings.
    return [(int(part[:400]), part) if at % 2 else (0, part) for at, part in enumerate(_DIGITS.split(text))]


def _merge_order(base: list[K], main: list[K], unit: list[K]) -> list[K] | None:
    """Order the keys that all versions have; None when the sides reorder them differently."""
    # Main kept base's order, or has the unit's already: the unit's is the merge either way.
    if main in (base, unit):
        return unit
    return main if unit == base else None


def added_after(keys: Iterable[K], in_base: Collection[K], stays: Collection[K]) -> dict[K | None, list[K]]:
    """Return what a side added after which key that stays; None is the start."""
    added: dict[K | None, list[K]] = {}
    above: K | None = None
    for key in keys:
        if key in stays:
            above = key
        elif key not in in_base:
            added.setdefault(above, []).append(key)
    return added


def _join_added(main: list[K], unit: list[K], placed: set[K]) -> list[K]:
    """Join what both sides added at one place; what main has too stands where main has it."""
    if not main or not unit:
        return main or [key for key in unit if key not in placed]
    here = set(main)
    unit = [key for key in unit if key not in placed or key in here]
    joined: list[K] = []
    i = j = 0
    for x, y in [*(pair_lines(main, unit) or ()), (len(main), len(unit))]:
        joined += main[i:x]
        joined += (key for key in unit[j:y] if key not in placed)
        joined += main[x : x + 1]
        i, j = x + 1, y + 1
    return joined

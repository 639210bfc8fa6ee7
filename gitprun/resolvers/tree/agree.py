"""A second opinion on a merge, from plain values that another reader made of the four texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from gitprun.resolvers.entries import ABSENT, show_key
from gitprun.resolvers.tree.rules import Path

# More than any reader lets through: a second look must not be the one that fails.
NESTING_LIMIT = 100
# How a reader that gives scalars as texts shows a value that is not there.
NOTHING = "p"

# Apart from the rules by which the merge names rows: a proof that asked those would share their errors.
_NAMES = (("name",), ("id",), ("key",), ("name", "version"), ("name", "version", "source"))


def prove_plain(base: object, main: object, unit: object, merged: object, path: Path = ()) -> str | None:
    """Check merged values (maps, lists, scalars) against three versions; None when proved, else what is wrong.

    Keys are proved one by one. A list that both sides changed holds every item as often as both sides' changes make
    due, whatever its order.
    """
    if _same(main, unit) or _same(unit, base):
        return _expect(main, merged, path)
    if _same(main, base):
        return _expect(unit, merged, path)
    # "key:" without a value, to which both sides added something, is as good as not there.
    fresh = base is ABSENT or base == NOTHING
    if isinstance(main, Mapping) and isinstance(unit, Mapping) and isinstance(merged, Mapping):
        if not fresh and not isinstance(base, Mapping):
            return f"{show_key(path)} is changed on both sides, differently"
        old = base if isinstance(base, Mapping) else {}
        for key in dict.fromkeys((*old, *main, *unit, *merged)):
            one, two, three, four = (each.get(key, ABSENT) for each in (old, main, unit, merged))
            fault = prove_plain(one, two, three, four, (*path, str(key)))
            if fault:
                return fault
        return None
    old_items = base if isinstance(base, list) else [] if fresh else None
    if isinstance(main, list) and isinstance(unit, list) and isinstance(merged, list) and old_items is not None:
        return _prove_list(old_items, main, unit, merged, path)
    return f"{show_key(path)} is changed on both sides, differently"


def is_deep(value: object) -> bool:
    """Check whether values are nested deeper than may be walked."""
    level: list[Mapping[object, object] | list[object]] = [value] if isinstance(value, Mapping | list) else []
    for _ in range(NESTING_LIMIT):
        below = (each.values() if isinstance(each, Mapping) else each for each in level)
        level = [one for each in below for one in each if isinstance(one, Mapping | list)]
        if not level:
            return False
    return True


def _prove_list(
    base: list[object], main: list[object], unit: list[object], merged: list[object], path: Path
) -> str | None:
    versions = (base, main, unit, merged)
    was, now = ({isinstance(item, Mapping) for item in items} for items in (base, (*main, *unit)))
    # A list of texts in which one side now has maps was restructured: counting items would prove nothing.
    if len(was) == 1 and now - was:
        return f"{show_key(path)} is changed on both sides, differently"
    for fields in _NAMES:
        maps = [_by_name(each, fields) for each in versions]
        if None not in maps:
            return prove_plain(maps[0], maps[1], maps[2], maps[3], path)
    old, by_main, by_unit, have = (Counter(repr(_freeze(item)) for item in each) for each in versions)
    for item in {**have, **old, **by_main, **by_unit}:
        one, two = by_main[item] - old[item], by_unit[item] - old[item]
        both = old[item] + one + two
        # Both added or both removed: it may have been the same one.
        once = old[item] + (max(one, two) if one > 0 else min(one, two))
        least, most = sorted((both, once)) if one * two > 0 else (both, both)
        if not least <= have[item] <= most:
            # An item that is itself changed by both sides is proved where it has a name; here it must not be.
            return f"an item of {show_key(path)} is {'lost' if have[item] < least else 'there too often'}"
    return None


def _by_name(items: Sequence[object], fields: tuple[str, ...]) -> dict[str, object] | None:
    named: dict[str, object] = {}
    for item in items:
        if not isinstance(item, Mapping) or not all(field in item for field in fields):
            return None
        # By repr, for names may be numbers or texts, and 1 is not "1".
        name = repr([_freeze(item[field]) for field in fields])
        if name in named:
            return None
        named[name] = item
    return named


def _expect(due: object, merged: object, path: Path) -> str | None:
    if _same(due, merged):
        return None
    if due is ABSENT:
        return f"{show_key(path)} came back"
    return f"{show_key(path)} is {'lost' if merged is ABSENT else 'not what the sides make it'}"


def _same(one: object, two: object) -> bool:
    """Check whether two values are the same; 1, 1.0 and true are three."""
    if one is two:
        return True
    # Before any "==": for Python True equals 1, for TOML they are two values.
    if type(one) is not type(two):
        return False
    if isinstance(one, Mapping) and isinstance(two, Mapping):
        return one.keys() == two.keys() and all(_same(value, two[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(two, list):
        return len(one) == len(two) and all(map(_same, one, two))
    return bool(one == two) or repr(one) == repr(two)  # the latter for what is not equal to itself


def _freeze(value: object) -> object:
    """Make a value comparable: maps whatever their order, numbers apart from texts and truth values."""
    if isinstance(value, Mapping):
        return sorted(
            ((str(key), _freeze(below)) for key, below in value.items()), key=lambda pair: (pair[0], repr(pair[1]))
        )
    if isinstance(value, list):
        return [_freeze(below) for below in value]
    return value

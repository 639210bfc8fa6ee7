"""What a kind of file tells the merge of its trees."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass

Path = tuple[str, ...]
RowKey = Callable[[Mapping[str, str]], Hashable]


@dataclass(frozen=True, slots=True)
class ValueRules:
    """How the values of one kind of file are known and joined, each by its path.

    ``canon`` reduces a scalar's text to what it means. ``is_set`` tells whether a list of scalars has no order of
    its own; ``item_name`` names one of its items (None: by what it means). ``row_keys`` gives the ways to name a row
    of a list of maps, from its scalars by key: the first way that is unique in all versions is used. ``is_atomic``
    tells what is taken or left whole.
    """

    canon: Callable[[str], Hashable]
    is_set: Callable[[Path], bool]
    item_name: Callable[[Path, str], str | None]
    row_keys: Callable[[Path], tuple[RowKey, ...]]
    is_atomic: Callable[[Path], bool] = lambda path: False


def by_fields(*fields: str, optional: tuple[str, ...] = ()) -> RowKey:
    """Name a row by several of its values at once."""

    def key(row: Mapping[str, str]) -> Hashable:
        if not all(field in row for field in fields):
            return None
        return tuple(row.get(field, "") for field in (*fields, *optional))

    return key


def by_first(*fields: str) -> RowKey:
    """Name a row by the first of several fields that it has."""

    def key(row: Mapping[str, str]) -> Hashable:
        # With the field's name: an id "build" and a name "build" are two rows.
        return next(((field, row[field]) for field in fields if field in row), None)

    return key

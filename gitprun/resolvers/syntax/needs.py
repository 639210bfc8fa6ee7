"""Which names of nodes and fields a row relies on, and which of them a grammar lacks.

A grammar may rename its nodes in any release. A row whose names are gone would not fail: it would take things that
are bound to an order for free, or find none of what may stand only once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from gitprun.resolvers.syntax.conditions import NEEDS
from gitprun.resolvers.syntax.paths import SPECIAL_NEEDS, split_path
from gitprun.resolvers.syntax.rows import Grammar, Path

if TYPE_CHECKING:
    from tree_sitter import Language


def missing_names(row: Grammar, language: Language) -> tuple[str, ...]:
    """Return what a row names and its grammar does not have: ``node "x"`` and ``field "x"``, sorted."""
    kinds, fields = needed_names(row)
    # Words such as "static" and "=>" are nodes without a name of their own.
    lost = {
        *(f'node "{kind}"' for kind in kinds if not any(_has_kind(language, kind, named) for named in (True, False))),
        *(f'field "{name}"' for name in fields if language.field_id_for_name(name) is None),
    }
    return tuple(sorted(lost))


def needed_names(row: Grammar) -> tuple[frozenset[str], frozenset[str]]:
    """Return the kinds of nodes and the fields that a row relies on, but for those it is known to go without."""
    kinds = {*row.via, *row.flat, *row.joins, *row.leads, *row.atomic, *row.separators, *row.tails, *row.tails.values()}
    fields: set[str] = set()
    walked: list[Path] = [*row.via.values()]
    asked: list[str] = []
    for scope in row.scopes:
        kinds.update(scope.parents)
        asked += [scope.only, *(group.only for group in scope.groups)]
        for member in (member for group in scope.groups for member in group.members):
            field, _, kind = member.rpartition(":")
            kinds.add(kind)
            fields.update([field] if field else [])
    for named in row.names:
        kinds.update(named.kinds)
        walked += named.key
    for unique in row.unique:
        kinds.update(unique.scopes)
        walked += (*unique.members, *unique.key)
        asked.append(unique.only)
    # A condition and a special word ask for names, too.
    walked += [path for name in asked for path in NEEDS.get(name, ())]
    walked += [path for name in {*walked} for path in SPECIAL_NEEDS.get(name, ())]
    for step in _steps(walked):
        (kinds if step[0] == "#" else fields).add(step.removeprefix("#"))
    return frozenset(kinds - row.absent), frozenset(fields)


def _has_kind(language: Language, kind: str, named: bool) -> bool:
    return language.id_for_node_kind(kind, named) is not None


def _steps(walked: Iterable[Path]) -> Iterator[str]:
    """Yield the steps of paths that name something: ``#kind`` and ``field``."""
    for path in walked:
        for steps in split_path(path):
            # "#" names a kind, "!" a special word, "^" and "*" any child: only kinds and fields can be missing.
            bare = (step.removeprefix("?").removesuffix("+") for step in steps)
            yield from (step for step in bare if step not in (".", "*", "^") and step[0] != "!")

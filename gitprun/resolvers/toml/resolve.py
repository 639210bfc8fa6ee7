"""Merge TOML by key: what neither side touched keeps its text."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from gitprun.resolvers.base import Divided, FileConflict, Refused, Resolved, take_plain
from gitprun.resolvers.toml.check import is_deep, load
from gitprun.resolvers.toml.dependencies import join_dependencies
from gitprun.resolvers.toml.reader import read_toml
from gitprun.resolvers.toml.rules import rules_for
from gitprun.resolvers.tree import (
    Contradiction,
    EntryGroup,
    RivalEntry,
    TextUnreadable,
    ValueRules,
    merge_trees,
    prove_plain,
    render,
)
from gitprun.resolvers.tree.agree import is_deep as is_nested
from gitprun.resolvers.tree.texts import Texts, decode, encode

NAME = "toml"

# Returns both sides with one way to write what they added alike: (base, main, unit) -> (main, unit).
Joiner = Callable[[EntryGroup, EntryGroup, EntryGroup], tuple[EntryGroup, EntryGroup]]


def merge_toml(conflict: FileConflict) -> Resolved | Refused:
    """Merge tables by their path, keys by name, arrays of tables by what names them.

    Arrays whose order means nothing are sets; in any other array only changes apart from each other are merged.
    """
    texts = decode(conflict)
    if isinstance(texts, Refused):
        return texts
    plain = take_plain(conflict, texts.triple, NAME)
    if plain is not None:
        return plain
    joiner = partial(join_dependencies, conflict.path.rpartition("/")[2])
    merged = merge_texts(texts, rules_for(conflict.path), joiner)
    return merged if isinstance(merged, Refused) else encode(texts, merged, NAME)


def merge_texts(texts: Texts, rules: ValueRules, joiner: Joiner | None = None) -> str | Refused:
    """Merge three TOML texts and prove the result by a second reader."""
    versions = {"in the common version": texts.base, "on main": texts.main, "in the unit": texts.unit}
    values = []
    # tomllib decides what is TOML; the reader below keeps text and takes more than is allowed.
    for where, text in versions.items():
        # Before tomllib, which calls itself for each open bracket and would end in RecursionError.
        if is_deep(text):
            return Refused("the file is nested too deep")
        value = load(text)
        if value is None:
            return Refused(f"the file is no TOML {where}")
        # Dotted keys and headers nest without a bracket, so the values are asked as well.
        if is_nested(value):
            return Refused("the file is nested too deep")
        values.append(value)
    try:
        base, main, unit = (read_toml(text) for text in versions.values())
        if joiner:
            joined = joiner(base, main, unit)
            if joined != (main, unit):
                main, unit = joined
                # Both sides say now what they said before, one way; the proof has to start from that.
                values[1:] = (load(render(side)) or {} for side in joined)
        merged = merge_trees(rules, base, main, unit)
    except RivalEntry as error:
        return Divided(str(error))
    except (Contradiction, TextUnreadable) as error:
        return Refused(str(error))
    # A second reader: a mistake of the first one would be in the merge and in its own check.
    result = load(merged)
    if result is None:
        return Refused("the merged text would be no TOML")
    fault = prove_plain(values[0], values[1], values[2], result)
    return Refused(fault) if fault else merged

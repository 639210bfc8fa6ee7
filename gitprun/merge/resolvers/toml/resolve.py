"""Merge TOML by key: what neither side touched keeps its text."""

from __future__ import annotations

from gitprun.merge.resolvers.base import FileConflict, Refused, Resolved
from gitprun.merge.resolvers.toml.check import is_deep, load
from gitprun.merge.resolvers.toml.reader import read_toml
from gitprun.merge.resolvers.toml.rules import rules_for
from gitprun.merge.resolvers.tree import Contradiction, Rules, Unreadable, merge_trees, prove_plain
from gitprun.merge.resolvers.tree.agree import is_deep as is_nested
from gitprun.merge.resolvers.tree.texts import Texts, decode, encode, take_plain

NAME = "toml"


def merge_toml(conflict: FileConflict) -> Resolved | Refused:
    """Merge tables by their path, keys by name, arrays of tables by what names them.

    Arrays whose order means nothing are sets; in any other array only changes apart from each other are merged.
    """
    texts = decode(conflict)
    if isinstance(texts, Refused):
        return texts
    plain = take_plain(conflict, texts, NAME)
    if plain is not None:
        return plain
    merged = merge_texts(texts, rules_for(conflict.path))
    return merged if isinstance(merged, Refused) else encode(texts, merged, NAME)


def merge_texts(texts: Texts, rules: Rules) -> str | Refused:
    """Merge three TOML texts and prove the result by a second reader."""
    versions = {"in the common version": texts.base, "on main": texts.main, "in the unit": texts.unit}
    values = []
    for where, text in versions.items():
        if is_deep(text):
            return Refused("the file is nested too deep")
        value = load(text)
        if value is None:
            return Refused(f"the file is no TOML {where}")
        if is_nested(value):
            return Refused("the file is nested too deep")
        values.append(value)
    try:
        base, main, unit = (read_toml(text) for text in versions.values())
        merged = merge_trees(rules, base, main, unit)
    except (Contradiction, Unreadable) as error:
        return Refused(str(error))
    result = load(merged)
    if result is None:
        return Refused("the merged text would be no TOML")
    fault = prove_plain(values[0], values[1], values[2], result)
    return Refused(fault) if fault else merged

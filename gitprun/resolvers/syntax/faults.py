"""What is wrong with one version of a program: it does not parse, or one thing is defined twice in one place."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING

from gitprun.resolvers.syntax.conditions import CONDITIONS
from gitprun.resolvers.syntax.grammars import load_language, parse
from gitprun.resolvers.syntax.keys import Key, Names
from gitprun.resolvers.syntax.paths import Steps, split_path, walk, word_at
from gitprun.resolvers.syntax.rows import Grammar, Unique

if TYPE_CHECKING:
    import tree_sitter

DOES_NOT_PARSE = "the file does not parse"
# Twice what is merged: to look for faults costs one parse, and no proof. Generated files are larger.
SIZE_LIMIT = 1 << 21


def find_faults(row: Grammar, path: str, text: bytes) -> tuple[str, ...]:
    """Name what is wrong with a program text; nothing when its grammar is not installed."""
    if b"\0" in text or len(text) > SIZE_LIMIT:
        return ()
    language = load_language(row)
    if language is None:
        return ()
    root = parse(language, text.removeprefix(b"\xef\xbb\xbf")).root_node
    faults = [DOES_NOT_PARSE] if root.has_error else []
    if root.has_error and _misread(root):
        # What else such a tree says is not to be trusted.
        return tuple(faults)
    names = Names(row)
    rules: defaultdict[str, list[_Rule]] = defaultdict(list)
    for unique in row.unique:
        for kind in unique.scopes:
            rules[kind].append(_Rule(unique))
    for node in _nodes_of(language, root, list(rules)):
        for rule in rules[node.type]:
            faults += rule.broken(names, node)
    return tuple(dict.fromkeys(faults))


class _Rule:
    """What may stand only once, its paths ready to be walked."""

    def __init__(self, unique: Unique) -> None:
        self.unique = unique
        self.members: list[Steps] = [split_path(path) for path in unique.members]
        self.key: list[Steps] = [split_path(path) for path in unique.key]

    def broken(self, names: Names, scope: tree_sitter.Node) -> list[str]:
        """Name what stands in a node more than once."""
        only = self.unique.only
        members = [member for steps in self.members for member in walk(scope, steps)]
        if only:
            members = [member for member in members if CONDITIONS[only](member)]
        if len(members) < 2:
            return []
        keys: Counter[Key] = Counter()
        for member in members:
            words = tuple(word_at(member, steps) for steps in self.key) if self.key else names.key(member)
            keys[words or ()] += 1
        # Without a name there is nothing to be there twice.
        shown = (" ".join(filter(None, key if self.key else key[1:])) for key, count in keys.items() if count > 1)
        return [f'{self.unique.what} "{words}" is there twice' for words in shown if words]


def _misread(root: tree_sitter.Node) -> bool:
    """Check whether a part of the text was not understood; a word that is merely missing harms nothing else."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.is_error:
            return True
        if node.has_error:
            waiting += node.children
    return False


def _nodes_of(language: tree_sitter.Language, root: tree_sitter.Node, kinds: list[str]) -> list[tree_sitter.Node]:
    from tree_sitter import Query, QueryCursor

    # Kinds that a grammar does not have would be an error of the query, and some rows go without a few.
    known = [kind for kind in kinds if language.id_for_node_kind(kind, True) is not None]
    if not known:
        return []
    query = Query(language, "[" + " ".join(f"({kind})" for kind in known) + "] @scope")
    return QueryCursor(query).captures(root).get("scope", [])

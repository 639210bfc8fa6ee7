"""How a node is known: by which words, as what kind, and in which unordered group of its parent."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gitprun.resolvers.syntax.conditions import CONDITIONS
from gitprun.resolvers.syntax.paths import Steps, split_path, walk, word_at
from gitprun.resolvers.syntax.rows import Grammar, Group, Scope

if TYPE_CHECKING:
    import tree_sitter

Key = tuple[str, ...]


class Names:
    """The row of a language, looked up by kind."""

    __slots__ = ("_keys", "_known", "_scopes", "_twice", "_via", "row")

    def __init__(self, row: Grammar) -> None:
        self.row = row
        self._keys: dict[str, tuple[str, tuple[Steps, ...]]] = {}
        for named in row.names:
            steps = tuple(split_path(path) for path in named.key)
            self._keys |= {kind: (named.space or kind, steps) for kind in named.kinds}
        self._twice = {kind for named in row.names if named.twice for kind in named.kinds}
        self._via = {kind: split_path(path) for kind, path in row.via.items()}
        # Most entries are in all versions, and are known by the same words in each.
        self._known: dict[tuple[str, bytes], tuple[str, Key | None]] = {}
        self._scopes: dict[str, list[Scope]] = {}
        for scope in row.scopes:
            for parent in scope.parents:
                self._scopes.setdefault(parent, []).append(scope)

    def unwrap(self, node: tree_sitter.Node) -> tree_sitter.Node:
        """Return what a wrapper wraps; the node itself when it is none."""
        steps = self._via.get(node.type)
        while steps is not None:
            found = walk(node, steps)
            # A wrapper around several things, or nothing, is none of them.
            if len(found) != 1:
                break
            node = found[0]
            steps = self._via.get(node.type)
        return node

    def names(self, kind: str) -> bool:
        """Check whether nodes of a kind are known by something other than their whole text."""
        return kind in self._keys and self._keys[kind][1] != ((((".",),)),)

    def key(self, node: tree_sitter.Node) -> Key | None:
        """Return the words by which a node is known; None when it has no name."""
        core = self.unwrap(node)
        known = self._keys.get(core.type)
        if known is None:
            return None
        space, paths = known
        words = tuple([word_at(core, steps) for steps in paths])
        # A row may give no path at all: of such a kind (visibility) there is one in its place.
        return (space, *words) if any(words) or not words else None

    def identify(self, node: tree_sitter.Node) -> tuple[str, Key | None]:
        """Return the kind of what a node is, or wraps, and its key."""
        look = (node.type, node.text or b"")
        found = self._known.get(look)
        if found is None:
            found = self._known[look] = (self.unwrap(node).type, self.key(node))
        return found

    def twice(self, kind: str) -> bool:
        """Check whether the key of a kind may well stand twice."""
        return kind in self._twice

    def scope(self, parent: tree_sitter.Node) -> Scope | None:
        """Find what is unordered in a node."""
        for scope in self._scopes.get(parent.type, ()):
            if not scope.only or CONDITIONS[scope.only](parent):
                return scope
        return None

    def group(self, scope: Scope, node: tree_sitter.Node, field: str | None) -> int | None:
        """Return in which unordered group of its parent a node is; None when its place is fixed."""
        core = self.unwrap(node)
        kinds = {node.type, core.type}
        if field:
            kinds |= {f"{field}:{kind}" for kind in kinds}
        for rank, group in enumerate(scope.groups):
            if kinds.intersection(group.members) and _meets(group, core):
                return rank
        return None


def _meets(group: Group, node: tree_sitter.Node) -> bool:
    return not group.only or CONDITIONS[group.only](node)

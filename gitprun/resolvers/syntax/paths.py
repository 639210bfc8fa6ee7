"""Paths from a node to the words it is known by, as rows write them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from gitprun.resolvers.syntax.conditions import registered
from gitprun.resolvers.syntax.rows import Path

if TYPE_CHECKING:
    import tree_sitter

    Special = Callable[[tree_sitter.Node], str]

# The alternatives of a path, each its steps.
Steps = tuple[tuple[str, ...], ...]


def split_path(path: Path) -> Steps:
    """Split a path once, to be walked often."""
    return tuple(tuple(alternative.split("/")) for alternative in path.split("|"))


def walk(node: tree_sitter.Node, steps: Steps) -> Sequence[tree_sitter.Node]:
    """Follow a path; the first alternative that finds something counts."""
    for alternative in steps:
        found = _step(node, alternative[0])
        for step in alternative[1:]:
            found = [child for each in found for child in _step(each, step)]
        if found:
            return found
    return ()


def word_at(node: tree_sitter.Node, steps: Steps) -> str:
    """Return the words at a path, white space squeezed; empty when nothing is there."""
    special = SPECIAL.get(steps[0][0])
    if special is not None:
        return special(node)
    return ", ".join(squeezed(found) for found in walk(node, steps))


def squeezed(node: tree_sitter.Node) -> str:
    """Return the text of a node with single spaces."""
    return b" ".join((node.text or b"").split()).decode("utf-8", "replace")


def _step(node: tree_sitter.Node, step: str) -> list[tree_sitter.Node]:
    first = step[0]
    if first == "#":
        return [child for child in node.children if child.type == step[1:]]
    if first == "?":
        # The children of a field or kind if there are any, else the node itself.
        return _step(node, step[1:]) or [node]
    if step == ".":
        return [node]
    if step == "*":
        return [child for child in node.named_children if "comment" not in child.type]
    if step == "^":
        return node.named_children[:1]
    if step[-1] == "+":
        # The innermost of a chain of one field.
        while (inner := node.child_by_field_name(step[:-1])) is not None:
            node = inner
        return [node]
    return node.children_by_field_name(step)


def _parameters(node: tree_sitter.Node) -> str:
    """Return the types of the parameters of a C function, and what follows them."""
    while (inner := node.child_by_field_name("declarator")) is not None and node.type != "function_declarator":
        node = inner
    given = node.child_by_field_name("parameters")
    if given is None:
        return ""
    types = ", ".join(_type_of(parameter) for parameter in given.named_children)
    behind = " ".join(squeezed(child) for child in node.children if child.start_byte >= given.end_byte)
    return f"({types}) {behind}".rstrip()


def _type_of(parameter: tree_sitter.Node) -> str:
    """Return a C parameter without its name."""
    name = parameter
    while (inner := name.child_by_field_name("declarator")) is not None:
        name = inner
    text, at = parameter.text or b"", parameter.start_byte
    # The name of a parameter is no part of the signature: a declaration may go without, or have another.
    if name is not parameter and name.type.endswith("identifier"):
        text = text[: name.start_byte - at] + text[name.end_byte - at :]
    return b" ".join(text.split()).decode("utf-8", "replace")


def _modifier(node: tree_sitter.Node) -> str:
    """Return a modifier as a word; there is one visibility."""
    # All words of visibility are one name: where each side adds another one they must clash.
    text = squeezed(node)
    return "visibility" if text in ("public", "private", "protected", "internal") else text


_LAST = re.compile(r"\w+")
# Of a package of Go the last part of its path is the name, but for its version.
_GO_PACKAGE = re.compile(r'(?:(?P<alias>\S+)\s+)?"(?:[^"]*/)?(?P<name>(?!v\d+")[^"/]+?)(?:/v\d+|\.v\d+)?"')


def _bound(node: tree_sitter.Node) -> str:
    """Return the name that an import binds; the whole import where several things may have it, or there is none."""
    text = squeezed(node)
    package = _GO_PACKAGE.fullmatch(text)
    if package is not None:
        name = package["alias"] or package["name"]
        return text if name in (".", "_") else name
    # Of functions, and of members of a class, there may be several with one name.
    if text.startswith("import static ") or any(mark in text for mark in "*{"):
        return text
    name = _LAST.findall(text)[-1]
    return name if name[0].isupper() else text


# What those who find such words ask a node for, as steps of a path.
SPECIAL_NEEDS: Mapping[str, tuple[Path, ...]] = {
    "!call": ("arguments",),
    "!parameters": ("declarator", "parameters", "#function_declarator"),
}

# Words that no path leads to.
SPECIAL: Mapping[str, Special] = {
    "!call": registered,
    "!parameters": _parameters,
    "!modifier": _modifier,
    "!bound": _bound,
}

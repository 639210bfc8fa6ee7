"""Lists of paths to leave out: .gitignore and the like, a set of lines as long as nothing is taken back."""

from __future__ import annotations

from collections.abc import Sequence

from gitprun.resolvers.listed.frame import ListedKind
from gitprun.resolvers.listed.rules import LineRules
from gitprun.resolvers.listed.tree import Body, LineNode, UnreadLines, blank, note

_TOOLS = (
    *("git", "docker", "npm", "eslint", "prettier", "stylelint", "helm", "gcloud", "vercel", "vscode", "cursor"),
    *("container", "eb", "cf", "slug", "rg", "fd", "mocha", "nodemon", "markdownlint", "dvc", "func"),
)


def read_ignores(lines: Sequence[bytes]) -> Body | UnreadLines:
    """Read one pattern a line."""
    return tuple(_node(line) for line in lines)


def takes_back(node: LineNode) -> bool:
    """Check whether a line takes back what lines above it leave out."""
    return node.sort == "item" and isinstance(node.key, bytes) and node.key.startswith(b"!")


def _node(line: bytes) -> LineNode:
    text = line.strip()
    if not text:
        return blank(line)
    # Not stripped: a blank in front is part of a pattern, and so is an escaped one behind it.
    return note(line) if text.startswith(b"#") else LineNode("item", line.rstrip(b"\r"), (line,))


KINDS = (
    ListedKind(
        "ignore list",
        (*(f".{tool}ignore" for tool in _TOOLS), ".ignore", ".git/info/exclude"),
        read_ignores,
        LineRules(wary=takes_back),
    ).kind,
)

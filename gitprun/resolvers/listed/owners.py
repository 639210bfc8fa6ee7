"""Lists of patterns where the last match wins: CODEOWNERS and .gitattributes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gitprun.resolvers.listed.frame import ListedKind
from gitprun.resolvers.listed.rules import LineRules
from gitprun.resolvers.listed.tree import Body, Draft, LineNode, UnreadLines, blank, note

_PATTERN = re.compile(rb'\s*("(?:[^"\\]|\\.)*"|(?:\\.|\S)+)', re.DOTALL)
_SECTION = re.compile(rb"\s*\^?\[([^\]]+)\]", re.DOTALL)
# A backslash makes the next letter plain, or another one: what such a name matches is not told here.
_WILD = re.compile(rb"[*?\[\\]")


def read_owners(lines: Sequence[bytes]) -> Body | UnreadLines:
    """Read patterns with their owners, in the sections that some forges know."""
    top = Draft("entry", b"", [])
    section = top
    for line in lines:
        text = line.strip()
        if not text or text.startswith(b"#"):
            section.body.append(note(line) if text else blank(line))
        elif header := _SECTION.match(line):
            if section is not top:
                # A comment right above a header is about that section, so it goes along with the header.
                top.body += section.close(comments=True)
            # GitLab knows sections by their names without regard to case.
            section = Draft("entry", b"[" + header[1].strip().lower() + b"]", [line])
        else:
            section.body.append(_entry(line))
    if section is not top:
        top.body += section.close(comments=False)
    return tuple(top.body)


def read_attributes(lines: Sequence[bytes]) -> Body | UnreadLines:
    """Read patterns with their attributes."""
    nodes: list[LineNode] = []
    for line in lines:
        text = line.strip()
        nodes.append(_entry(line) if text and not text.startswith(b"#") else note(line) if text else blank(line))
    return tuple(nodes)


def owners_apart(a: LineNode, b: LineNode) -> bool:
    """Check whether two rows may stand in either order: the same owners, or no file that both match."""
    # Sections do not overrule one another: each names owners of its own. What stands in none must not end up in one.
    if a.section or b.section:
        return a.section and b.section
    return _rest(a) == _rest(b) or are_apart(a.key, b.key)


def attributes_apart(a: LineNode, b: LineNode) -> bool:
    """Check whether two rows may stand in either order: no attribute that both set, or no file that both match."""
    # Rows below a definition of a macro use it, rows above do not.
    if any(isinstance(node.key, bytes) and node.key.startswith(b"[attr]") for node in (a, b)):
        return False
    names = [_attribute_names(node) for node in (a, b)]
    # A macro sets attributes that its name does not tell.
    macros = any(names_of - _PLAIN for names_of in names)
    return (not macros and names[0].isdisjoint(names[1])) or _rest(a) == _rest(b) or are_apart(a.key, b.key)


def are_apart(first: object, second: object) -> bool:
    """Check whether no path can match both patterns: where one has a plain folder name the other has another one."""
    if not isinstance(first, bytes) or not isinstance(second, bytes):
        return False
    if b"/" not in first.rstrip(b"/") or b"/" not in second.rstrip(b"/") or first[:1] in (b'"', b"!"):
        return False  # holds at every depth
    for a, b in zip(first.strip(b"/").split(b"/"), second.strip(b"/").split(b"/"), strict=False):
        # "**" is any number of folders, so the names behind it do not face each other.
        if b"**" in (a, b):
            return False
        # Without regard to case: so git compares where ``core.ignoreCase`` is set.
        if not _WILD.search(a) and not _WILD.search(b) and a.lower() != b.lower():
            return True
    return False


# Attributes that git itself and the common forges know; any other could be a macro of another file.
_PLAIN = frozenset(
    b"text eol diff merge filter whitespace ident encoding working-tree-encoding export-ignore export-subst delta"
    b" linguist-generated linguist-vendored linguist-language linguist-documentation linguist-detectable crlf"
    b" conflict-marker-size lockable".split()
)


def _entry(line: bytes) -> LineNode:
    found = _PATTERN.match(line)
    assert found
    return LineNode("entry", found[1], (line,))


def _rest(node: LineNode) -> list[bytes]:
    words = node.head[0].partition(node.key if isinstance(node.key, bytes) else b"")[2].split()
    comment = next((i for i, word in enumerate(words) if word.startswith(b"#")), len(words))
    return words[:comment]


def _attribute_names(node: LineNode) -> set[bytes]:
    # "text", "-text", "!text" and "text=auto" all set one attribute.
    return {word.lstrip(b"-!").partition(b"=")[0] for word in _rest(node)}


# A pattern of attributes may stand twice, with another attribute each time; a second owner row hides the first.
def _is_row(node: LineNode) -> bool:
    return not node.section


KINDS = (
    ListedKind(
        "CODEOWNERS", ("CODEOWNERS",), read_owners, LineRules(fixed=True, together=owners_apart), once=_is_row
    ).kind,
    ListedKind(
        "gitattributes", (".gitattributes",), read_attributes, LineRules(fixed=True, together=attributes_apart)
    ).kind,
)

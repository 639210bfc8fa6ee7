"""Settings of one key a line: .properties, .ini and its relatives, examples of .env files."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from gitprun.resolvers.base import Kind
from gitprun.resolvers.listed.frame import ListedKind
from gitprun.resolvers.listed.rules import LineRules
from gitprun.resolvers.listed.tree import Body, Draft, LineNode, UnreadLines, blank, note

# A key ends at the first "=", ":" or blank that is not escaped, as Java reads it.
_PROPERTY = re.compile(rb"\s*((?:\\.|[^\\=:\s])+)", re.DOTALL)
# "a\ b" is the key "a b"; "\u0041" stays, for it is written so on purpose.
_ESCAPED = re.compile(rb"\\([^u])", re.DOTALL)
# Up to the last bracket: a name in quotes may hold one.
_SECTION = re.compile(rb"\s*\[(.+)\]\s*(?:[#;].*)?$", re.DOTALL)
_SETS = re.compile(rb"[=:]")
_ENV_KEY = re.compile(rb"\s*(?:export\s+)?([A-Za-z_][A-Za-z0-9_.-]*)\s*=\s*", re.DOTALL)


def read_properties(lines: Sequence[bytes]) -> Body | UnreadLines:
    """Read a Java properties file; an odd backslash at the end of a line continues it."""
    nodes: list[LineNode] = []
    at = 0
    while at < len(lines):
        start = at
        at += 1
        line = lines[start]
        text = line.strip()
        if not text:
            nodes.append(blank(line))
        elif text.startswith((b"#", b"!")):
            nodes.append(note(line))
        else:
            while _continues(lines[at - 1]) and at < len(lines):
                at += 1
            if _continues(lines[at - 1]):
                return UnreadLines("its last line is continued by nothing")
            found = _PROPERTY.match(line)
            if not found:
                return UnreadLines("a line has no key")
            nodes.append(LineNode("entry", _ESCAPED.sub(rb"\1", found[1]), tuple(lines[start:at])))
    return tuple(nodes)


def read_ini(lines: Sequence[bytes]) -> Body | UnreadLines:
    """Read sections of keys; a line that stands deeper than its key goes on with the value.

    Keys are told apart without regard to case, as most programs read them.
    """
    top = Draft("entry", b"", [])
    section = top
    value: list[bytes] | None = None
    depth = 0
    pending: list[bytes] = []

    def end_value() -> None:
        nonlocal value
        if value is not None:
            section.body.append(LineNode("entry", _ini_key(value[0]), tuple(value)))
        section.body.extend(note(line) if line.strip() else blank(line) for line in pending)
        pending.clear()
        value = None

    for line in lines:
        text = line.strip()
        # Whether a comment stands inside of a value is known only when the next line goes on with it.
        if not text or text.startswith((b"#", b";")):
            pending.append(line)
            continue
        indent = len(line) - len(line.lstrip())
        continued = value is not None and (indent > depth or _continues(value[-1]))
        if continued and value is not None:
            value += [*pending, line]
            pending.clear()
            continue
        end_value()
        header = _SECTION.match(line)
        if header:
            if section is not top:
                # A comment above a header is about the section below it.
                top.body += section.close(comments=True)
            section = Draft("entry", b"[" + header[1].strip() + b"]", [line])
        elif section is top and not _SETS.search(line):
            # Files of other programs end with .cfg too (haproxy's, say): no sections, and order counts in them.
            return UnreadLines("a line before the first section is no key with a value")
        elif _ini_key(line):
            value, depth = [line], indent
        else:
            return UnreadLines("a line is neither a section nor a key")
    end_value()
    if section is not top:
        top.body += section.close(comments=False)
    return tuple(top.body)


def read_env(lines: Sequence[bytes]) -> Body | UnreadLines:
    """Read an example of an environment file; a quoted value may go over several lines."""
    nodes: list[LineNode] = []
    at = 0
    while at < len(lines):
        start = at
        line = lines[start]
        at += 1
        text = line.strip()
        if not text or text.startswith(b"#"):
            nodes.append(note(line) if text else blank(line))
            continue
        found = _ENV_KEY.match(line)
        if not found:
            return UnreadLines("a line is not KEY=value")
        value = line[found.end() :]
        if value[:1] in (b'"', b"'"):
            while not _is_closed(b"\n".join([value, *lines[start + 1 : at]])):
                # Joined anew for each further line, which is quadratic; a key file in quotes has some 50 lines.
                if at == len(lines) or at - start > 200:
                    return UnreadLines(f"the value of {found[1].decode('ascii')} has no end")
                at += 1
        nodes.append(LineNode("entry", found[1], tuple(lines[start:at])))
    return tuple(nodes)


def _continues(line: bytes) -> bool:
    line = line.removesuffix(b"\r")
    return (len(line) - len(line.rstrip(b"\\"))) % 2 == 1


def _ini_key(line: bytes) -> bytes:
    """Name the key of a line; nothing when it has none."""
    # A bracket that is not closed is a broken header; as a key it would hide the section.
    key = _SETS.split(line, maxsplit=1)[0].strip()
    return b"" if key.startswith(b"[") else key.lower()


def _is_closed(value: bytes) -> bool:
    mark = value[:1]
    at = 1
    while at < len(value):
        # Between single quotes a backslash is an ordinary letter.
        if value[at : at + 1] == b"\\" and mark == b'"':
            at += 1
        elif value[at : at + 1] == mark:
            return True
        at += 1
    return False


def _is_any(node: LineNode) -> bool:
    return True


def _sections_apart(a: LineNode, b: LineNode) -> bool:
    """Check whether two sections set nothing that the other sets: a file may belong to both."""
    if not a.section or not b.section:
        return not a.section and not b.section
    return {node.key for node in a.body or () if node.named}.isdisjoint(node.key for node in b.body or ())


def _kind(name: str, files: tuple[str, ...], read: Callable[[Sequence[bytes]], Body | UnreadLines]) -> Kind:
    return ListedKind(name, files, read, once=_is_any).kind


def _private(kind: Kind) -> Kind:
    """Keep the words of a kind out of every message."""
    return replace(kind, private=True)


_INI = ("*.ini", "*.cfg", ".flake8", ".coveragerc", ".pylintrc", ".gitmodules", ".hgrc")

KINDS = (
    _kind("properties", ("*.properties",), read_properties),
    _kind("ini", _INI, read_ini),
    # git reads many keys as lists (fetch, insteadOf), so in its files a key may stand twice.
    ListedKind("gitconfig", (".gitconfig", "*.gitconfig"), read_ini).kind,
    # Where two sections match a file the later one holds.
    ListedKind(
        "editorconfig", (".editorconfig",), read_ini, LineRules(fixed=True, together=_sections_apart), once=_is_any
    ).kind,
    # An example that somebody filled in holds secrets; no message, report or ledger should.
    _private(
        _kind(
            "env example",
            tuple(
                pattern
                for word in ("example", "sample", "template", "dist", "defaults")
                for pattern in (f".env.{word}", f".env.*.{word}", f"*.env.{word}", f"env.{word}", f"{word}.env")
            ),
            read_env,
        )
    ),
)

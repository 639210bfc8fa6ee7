"""Go modules: ``go.mod`` by directive and module, ``go.sum`` by module and version."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace

from gitprun.resolvers.base import Dropped, FileConflict, Refused, Resolved, Side, brought_lines, split_conflict
from gitprun.resolvers.listed.frame import ListedKind, resolve
from gitprun.resolvers.listed.rules import LineRules
from gitprun.resolvers.listed.tree import Body, Draft, LineNode, Lines, UnreadLines, blank, note, walk

# "//" inside of quotes is part of a path, and no comment.
_TOKEN = re.compile(rb'//.*$|"[^"]*"|`[^`]*`|\(|\)|=>|[^\s"`()]+', re.DOTALL)
_ONCE = (b"module", b"go", b"toolchain")
_VERBS = (*_ONCE, b"require", b"replace", b"exclude", b"retract", b"godebug", b"ignore", b"tool")
_SEMVER = re.compile(rb"v(\d+)\.(\d+)\.(\d+)(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$")


def read_module(lines: Sequence[bytes]) -> Body | UnreadLines:
    """Read a go.mod; an entry is known by its directive and module, in whichever block it stands."""
    top: list[LineNode] = []
    block: Draft | None = None
    counts: dict[bytes, int] = {}
    for line in lines:
        code, comment = _split_comment(line)
        words = _TOKEN.findall(code)
        if not words:
            (block.body if block else top).append(note(line) if comment else blank(line))
        elif block is not None and words == [b")"]:
            block.foot.append(line)
            top += block.close(comments=False)
            block = None
        elif block is None and len(words) == 2 and words[1] == b"(" and words[0] in _VERBS:
            # Go keeps direct and indirect requirements in two blocks of one verb, so blocks are known by their number.
            counts[words[0]] = counts.get(words[0], 0) + 1
            key = b"%s block %d" % (words[0], counts[words[0]])
            # ``go mod tidy`` moves requirements from one block to another: an entry is the same in any of them.
            block = Draft("entry", key, [line], open=True)
        else:
            verb, rest = (block.key, words) if block else (words[0], words[1:])
            assert isinstance(verb, bytes)
            entry = _entry(verb.split()[0], rest, comment, line)
            if entry is None:
                return UnreadLines("a line is no directive of go.mod")
            (block.body if block else top).append(entry)
    return UnreadLines("a block has no end") if block else tuple(top)


def merge_require(base: LineNode, main: LineNode, unit: LineNode) -> Lines | None:
    """Merge a line of which one side changed the version, the other the comment (``// indirect``)."""
    fields = [dict(node.fields) for node in (base, main, unit)]
    if any(len(node.head) > 1 for node in (base, main, unit)):
        return None
    old, by_main, by_unit = fields
    version, comment = (
        by_unit[name] if by_main[name] == old[name] else by_main[name] if by_unit[name] == old[name] else None
        for name in ("", "comment")
    )
    if version is None or comment is None:
        return None
    side = main if by_main[""] == version else unit
    return (_split_comment(side.head[0])[0].rstrip() + _comment_of((main, unit, base), comment),)


def higher_version(conflict: FileConflict) -> Resolved | Refused:
    """Merge a go.mod, and where both sides require different versions of a module take the higher one.

    What the lower side wrote is listed as dropped. For a policy only: the higher version need not be the right one.
    """
    triple = split_conflict(conflict)
    if isinstance(triple, Refused):
        return triple
    aligned = align_requirements(conflict)
    plain = resolve(MODULE, aligned)
    if isinstance(plain, Refused) or aligned == conflict:
        return plain
    added = brought_lines(triple, triple.split(plain.text))
    sides: tuple[tuple[Side, Lines, bytes], ...] = (
        ("main", triple.main, aligned.main),
        ("unit", triple.unit, aligned.unit),
    )
    # The dropped lines are found by comparing line by line: alignment only writes within lines.
    dropped = tuple(
        Dropped(side, at, line)
        for side, lines, text in sides
        for at, (line, other) in enumerate(zip(lines, triple.split(text), strict=True), 1)
        if line != other
    )
    return replace(plain, added=added, dropped=dropped)


def align_requirements(conflict: FileConflict) -> FileConflict:
    """Write the higher version on both sides wherever both changed the version that a module is required at."""
    triple = split_conflict(conflict)
    if isinstance(triple, Refused):
        return conflict
    bodies = [read_module(lines) for lines in (triple.base, triple.main, triple.unit)]
    base, main, unit = ({} if isinstance(body, UnreadLines) else _requirements(body) for body in bodies)
    texts: dict[Side, list[bytes]] = {"main": list(triple.main), "unit": list(triple.unit)}
    for key in main.keys() & unit.keys():
        lines: dict[Side, bytes] = {"main": main[key], "unit": unit[key]}
        first, second = (_rank(_version(line)) for line in lines.values())
        if first is None or second is None or first == second:
            continue
        # Only one side changed it: the three-way rule decides, also where that side went down.
        if key in base and _version(base[key]) in map(_version, lines.values()):
            continue
        loser: Side = "main" if first < second else "unit"
        winner = _version(lines["unit" if loser == "main" else "main"])
        at = texts[loser].index(lines[loser])
        # The first one only: a comment behind it may name the version again.
        texts[loser][at] = lines[loser].replace(_version(lines[loser]), winner, 1)
    return replace(
        conflict,
        main=_join(triple.end, texts["main"], conflict.main),
        unit=_join(triple.end, texts["unit"], conflict.unit),
    )


def read_sums(lines: Sequence[bytes]) -> Body | UnreadLines:
    """Read a go.sum: module, version and hash on each line."""
    nodes: list[LineNode] = []
    for line in lines:
        words = line.split()
        if not words:
            nodes.append(blank(line))
        elif len(words) != 3:
            return UnreadLines("a line is not a module, a version and a hash")
        else:
            # The hash is no part of the name: two hashes of one version must clash, for one download was not what
            # it should be.
            nodes.append(LineNode("entry", words[0] + b" " + words[1], (line,)))
    return tuple(nodes)


def _split_comment(line: bytes) -> tuple[bytes, bytes]:
    at = 0
    for found in _TOKEN.finditer(line):
        if found.group().startswith(b"//"):
            return line[: found.start()], line[found.start() :]
        at = found.end()
    return (line, b"") if at else (line.rstrip(), b"")


def _entry(verb: bytes, words: list[bytes], comment: bytes, line: bytes) -> LineNode | None:
    plain = [word.strip(b'"`') for word in words]
    if not plain or verb not in _VERBS:
        return None
    name: list[bytes] = []
    if verb == b"require":
        if len(plain) != 2:
            return None
        name = plain[:1]
    elif verb == b"replace":
        if b"=>" not in plain[1:]:
            return None
        # The left side only, with the version it replaces: what it is replaced by is the value.
        name = plain[: plain.index(b"=>")]
    elif verb == b"godebug":
        name = [plain[0].partition(b"=")[0]]
    elif verb not in _ONCE:
        name = plain
    fields = (("", tuple(plain)), ("comment", comment.strip()))
    return LineNode("entry", b" ".join([verb, *name]), (line,), fields=fields)


def _comment_of(nodes: Sequence[LineNode], comment: object) -> bytes:
    """Return the comment as a side has it, with the space before it."""
    for node in nodes:
        code, text = _split_comment(node.head[0])
        if text.strip() == comment:
            return code[len(code.rstrip()) :] + text
    return b""


def _requirements(body: Body) -> dict[bytes, bytes]:
    return {
        node.key: node.head[0]
        for _, node in walk(body)
        if isinstance(node.key, bytes) and node.key.startswith(b"require ") and not node.open
    }


def _version(line: bytes) -> bytes:
    words = _TOKEN.findall(_split_comment(line)[0])
    return words[-1].strip(b'"`') if words else b""


def _rank(version: bytes) -> tuple[object, ...] | None:
    """Rank a version as semantic versioning does; None when it is none."""
    found = _SEMVER.match(version)
    if not found:
        return None
    # Eighteen digits fit a machine word; Python refuses numbers of thousands of digits, which a file may hold on
    # purpose.
    numbers = tuple(int(part[:18]) for part in found.groups()[:3])
    # By semantic versioning a release is above each of its candidates.
    if found[4] is None:
        return (*numbers, 1, ())
    # Numbers are below words, and compare as numbers: rc.10 is above rc.2.
    parts = [(0, int(part[:18]), b"") if part.isdigit() else (1, 0, part) for part in found[4].split(b".")]
    return (*numbers, 0, tuple(parts))


def _join(end: bytes, lines: Sequence[bytes], text: bytes) -> bytes:
    bom = b"\xef\xbb\xbf" if text.startswith(b"\xef\xbb\xbf") else b""
    return bom + end.join(lines) + (end if text.endswith(b"\n") else b"")


def _is_single(node: LineNode) -> bool:
    """Check whether a directive must not stand twice; others only say the same again."""
    return isinstance(node.key, bytes) and node.key.split()[0] in (*_ONCE, b"require", b"replace", b"godebug")


MODULE = ListedKind("go.mod", ("go.mod",), read_module, LineRules(merge_head=merge_require), once=_is_single)
KINDS = (MODULE.kind, ListedKind("go.sum", ("go.sum",), read_sums).kind)

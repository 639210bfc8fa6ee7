"""Requirements and constraints of pip: one package a line, with its extras, marker and hashes."""

from __future__ import annotations

import re
from collections.abc import Sequence

from gitprun.resolvers.base import quote
from gitprun.resolvers.listed.frame import ListedKind
from gitprun.resolvers.listed.rules import LineRules
from gitprun.resolvers.listed.tree import Body, LineNode, Lines, UnreadLines, blank, note, walk

_NAME = re.compile(rb"\s*([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*(?:\[([^\]]*)\])?\s*(?=$|[\s=<>!~;@(#\\])")
# Only behind white space, as pip has it: in an address "#egg=name" is no comment.
_COMMENT = re.compile(rb"(?:^|\s)#.*$", re.DOTALL)
_OPTION = re.compile(rb"\s*(--?[A-Za-z][A-Za-z-]*)")
# Options that may be given many times, each a different thing.
_MANY = (b"-r", b"-c", b"-e", b"-f", b"--requirement", b"--constraint", b"--editable", b"--find-links")
_MANY_MORE = (b"--extra-index-url", b"--trusted-host", b"--only-binary", b"--no-binary", b"--use-feature")
# "-i" and "--pypi-url" are other names that pip takes; two of them at once must clash.
_ALIASES = {b"-i": b"--index-url", b"--pypi-url": b"--index-url"}
# Neither "==" nor "~=": a pin has no bound that the other side could move.
_CLAUSE = re.compile(rb"(>=|<=|>|<|!=)(\s*)(\d+(?:\.\d+)*)$")
# Longer lines are not searched for bounds: ``_SPEC`` goes back over each run of blanks, which is quadratic, and no
# requirement with all its bounds is so long.
_LONG = 300
_SPEC = re.compile(rb"(\s*[A-Za-z0-9._-]+\s*(?:\[[^\]]*\])?\s*)([^;#@\\]*?)(\s*(?:;.*|#.*)?)$", re.DOTALL)


def read_requirements(lines: Sequence[bytes]) -> Body | UnreadLines:
    """Read requirements: continued lines and the indented comments below (``# via``) belong to their entry."""
    nodes: list[LineNode] = []
    at = 0
    while at < len(lines):
        start = at
        at += 1
        text = lines[start].strip()
        if not text or text.startswith(b"#"):
            nodes.append(note(lines[start]) if text else blank(lines[start]))
            continue
        while lines[at - 1].rstrip(b"\r").endswith(b"\\") and at < len(lines):
            at += 1
        if lines[at - 1].rstrip(b"\r").endswith(b"\\"):
            return UnreadLines("its last line is continued by nothing")
        logical = b" ".join(line.rstrip(b"\r").removesuffix(b"\\") for line in lines[start:at])
        # pip-compile writes "# via" below an entry, indented: it is about that one, not about the next.
        while at < len(lines) and lines[at][:1] in (b" ", b"\t") and lines[at].lstrip().startswith(b"#"):
            at += 1
        nodes.append(_entry(logical, tuple(lines[start:at])))
    return tuple(nodes)


def merge_bounds(base: LineNode, main: LineNode, unit: LineNode) -> Lines | None:
    """Merge version bounds of which each side changed another: ``>2,<3`` and ``>1,<4`` of ``>1,<3`` is ``>2,<4``."""
    split = [_split_spec(node) for node in (base, main, unit)]
    old, by_main, by_unit = split
    if old is None or by_main is None or by_unit is None:
        return None
    # What else changed (the marker, the comment) is a clash or a change of its own.
    if not (old[0] == by_main[0] == by_unit[0] and old[2] == by_main[2] == by_unit[2]):
        return None
    bounds = [_bounds(spec) for _, spec, _ in (old, by_main, by_unit)]
    first, second, third = bounds
    # A bound that a side added or took away is no moved bound.
    if first is None or second is None or third is None or not set(first) == set(second) == set(third):
        return None
    chosen: list[bytes] = []
    for operator in second:
        ways = {second[operator], third[operator]} - {first[operator]}
        if len(ways) > 1:
            return None
        chosen.append(next(iter(ways), first[operator]))
    if not _leaves_room(chosen):
        return None
    return (old[0] + b",".join(chosen) + old[2],)


def _entry(logical: bytes, lines: Lines) -> LineNode:
    option = _OPTION.match(logical)
    if option:
        name = _ALIASES.get(option[1], option[1])
        # A short option may have its value right behind it: -rbase.txt.
        if name in _MANY or name in _MANY_MORE or name[:2] in _MANY[:4]:
            return LineNode("item", b" ".join(logical.split()), lines)
        return LineNode("entry", name, lines)
    bare = _COMMENT.sub(b"", logical)
    found = _NAME.match(bare)
    # An address or a path without a name: known by its text alone.
    if not found:
        return LineNode("item", b" ".join(bare.split()), lines)
    # pip compares names so (PEP 503): Foo_Bar and foo-bar are one package.
    name = re.sub(rb"[-_.]+", b"-", found[1]).lower()
    extras = b",".join(sorted(part.strip().lower() for part in (found[2] or b"").split(b",") if part.strip()))
    # One package may stand once for each marker and set of extras; hashes are no part of its name.
    marker = bare[found.end() :].partition(b"--hash")[0]
    marker = b" ".join(_marker(marker).replace(b'"', b"'").split())
    key = name + (b"[" + extras + b"]" if extras else b"") + (b" ; " + marker if marker else b"")
    fields = _fields(lines)
    return LineNode("entry", key, lines, fields=fields)


def _marker(rest: bytes) -> bytes:
    """Find the marker: after a semicolon, or after one with a space before when an address stands there."""
    if rest.lstrip().startswith(b"@"):
        found = re.search(rb"\s;(.*)$", rest, re.DOTALL)
        return found[1] if found else b""
    return rest.partition(b";")[2]


def _fields(lines: Lines) -> tuple[tuple[str, object], ...]:
    split = _split_lines(lines)
    # Each bound is a field, so that one side may move the lower and the other the upper one.
    bounds = _bounds(split[1]) if split else None
    if split is None or not bounds:
        return (("", lines),)
    return (("", (split[0], split[2], *sorted(bounds))), *((mark.decode(), text) for mark, text in bounds.items()))


def _split_spec(node: LineNode) -> tuple[bytes, bytes, bytes] | None:
    return _split_lines(node.head)


def _split_lines(lines: Lines) -> tuple[bytes, bytes, bytes] | None:
    found = _SPEC.match(lines[0]) if len(lines) == 1 and len(lines[0]) < _LONG else None
    return (found[1], found[2], found[3]) if found else None


def _bounds(spec: bytes) -> dict[bytes, bytes] | None:
    """Read plain version bounds by their operator; None when there is anything else."""
    bounds: dict[bytes, bytes] = {}
    for clause in spec.split(b","):
        found = _CLAUSE.match(clause.strip())
        if not found or found[1] in bounds:
            return None
        bounds[found[1]] = clause
    return bounds


def _leaves_room(clauses: Sequence[bytes]) -> bool:
    """Check whether versions are left between the bounds."""
    low: list[tuple[int, ...]] = []
    high: list[tuple[int, ...]] = []
    for clause in clauses:
        found = _CLAUSE.match(clause.strip())
        assert found
        # Eighteen digits fit a machine word; Python refuses numbers of thousands of digits, which a file may hold on
        # purpose.
        version = tuple(int(part[:18]) for part in found[3].split(b"."))
        # "!=" takes out one version and leaves room beside it.
        if found[1] != b"!=":
            (low if found[1].startswith(b">") else high).append(version)
    return not low or not high or max(low) < min(high)


def doubt_names(base: Body, main: Body, unit: Body, merged: Body) -> str | None:
    """Doubt a package for which each side has an entry that the other lacks: one may hold where the other does."""
    sides = [_keys_by_name(body) for body in (main, unit, merged)]
    for name, keys in sides[2].items():
        if len(keys) > 1 and all(not keys <= side.get(name, set()) for side in sides[:2]):
            return f"{quote(name)} is required in several ways, and no side has them all"
    return None


def _keys_by_name(body: Body) -> dict[bytes, set[bytes]]:
    names: dict[bytes, set[bytes]] = {}
    for _, node in walk(body):
        if node.sort == "entry" and isinstance(node.key, bytes) and not node.key.startswith(b"-"):
            names.setdefault(re.split(rb"[\[ ]", node.key)[0], set()).add(node.key)
    return names


def _is_package(node: LineNode) -> bool:
    return isinstance(node.key, bytes) and not node.key.startswith(b"-")


KINDS = (
    ListedKind(
        "requirements",
        (
            *("requirements*.txt", "constraints*.txt", "*requirements.txt", "*constraints.txt"),
            *("requirements*.in", "constraints*.in", "**/requirements/*.txt", "**/requirements/*.in"),
        ),
        read_requirements,
        LineRules(merge_head=merge_bounds),
        doubt_names,
        _is_package,
    ).kind,
)

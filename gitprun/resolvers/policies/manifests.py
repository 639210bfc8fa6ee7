"""Where dependencies and their versions stand in each kind of manifest."""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterator
from dataclasses import replace

from gitprun.resolvers.json.reader import Document, JsonNode, read
from gitprun.resolvers.policies.pins import NUMBERS, Pin, Scheme
from gitprun.resolvers.toml.check import is_deep, load
from gitprun.resolvers.toml.reader import read_toml
from gitprun.resolvers.toml.rules import rules_for
from gitprun.resolvers.tree import EntryGroup, KeyedEntry, Leaf, TextUnreadable, render

# npm reads fewer numbers as a range: 1.2 is any 1.2.x.
NPM = Scheme(re.compile(r"(\^|~|)(\d{1,9}\.\d{1,9}\.\d{1,9})"))
# Not "<", "!=" and "~=": of two such bounds neither version is the higher one.
PIP = Scheme(re.compile(rf"(==|>=)\s*({NUMBERS})"))
CARGO = Scheme(re.compile(rf"(\^|~|=|>=|)\s*({NUMBERS})"))
PYPROJECT = Scheme(re.compile(rf"(\^|~|==|>=|)\s*({NUMBERS})"))
# An action may be used by many steps, and an image by many stages, so these may stand often.
# A tag of fewer numbers moves: whether it is the lower one is not certain.
TAG = Scheme(re.compile(rf"(v|)({NUMBERS})"), alike=True, often=True)

_NPM_SECTIONS = ("dependencies", "devDependencies", "peerDependencies", "optionalDependencies")
_TABLES = ("dependencies", "dev-dependencies", "build-dependencies")
# An operator is asked for, so an address (name @ https://...) is no match; neither is a line that goes on.
_REQUIREMENT = re.compile(
    r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(\[[^\]\n]*\])?\s*([=<>!~][^;#\n\\]*?)\s*(;[^#\n\\]*?)?\s*(?:\s#[^\n\\]*)?"
)
# Actions of other repositories: a local one (./path) has no version. The comment behind a pinned hash is left out.
_USES = re.compile(r"^[ \t]*(?:-[ \t]+)?uses:[ \t]*[\"']?([\w.-]+/[\w./-]+)@([^\s\"'#]+)", re.MULTILINE)
# A colon with digits and a slash is a port of the registry. No "$": what an ARG names is not known. No "@" behind
# the tag: a digest is that of its tag.
_FROM = re.compile(
    r"^[ \t]*FROM[ \t]+(?:--platform=\S+[ \t]+)?([^\s:@$]+(?::\d+/[^\s:@$]+)?):([^\s@]+)(?=\s|$)", re.M | re.I
)
# The pattern of a requirement backtracks, so it is not tried on lines that nobody writes by hand.
_LONG = 500


def package_pins(text: str) -> Iterator[Pin]:
    """Find the versions in the dependency sections of a package.json."""
    document = read(text)
    if not isinstance(document, Document):
        return
    for section, sections, start in item_places(document.root, len(document.lead)):
        if section not in _NPM_SECTIONS or sections.kind != "{":
            continue
        for name, value, at in item_places(sections, start):
            # An escape would make a place in the value another one in the file.
            if value.kind == '"' and "\\" not in value.text:
                yield Pin((section, name), at + 1, at + len(value.text) - 1)


def item_places(node: JsonNode, start: int) -> Iterator[tuple[str, JsonNode, int]]:
    """Yield the items of a container that starts at ``start``: key, value, and where the value starts."""
    if node.kind not in ("{", "["):
        return
    at = start + 1 + len(node.head)
    for number, item in enumerate(node.items, 1):
        at += len(item.lead) + len(item.name)
        yield item.key, item.value, at
        comma = number < len(node.items) or node.comma
        at += len(item.value.text) + len(item.gap) + comma + len(item.trail)


def requirement_pins(text: str) -> Iterator[Pin]:
    """Find the versions in requirements of one line."""
    at = 0
    continued = False
    for line in text.split("\n"):
        # What goes on with the line above is an option or a hash of it, no requirement of its own.
        found = None if continued else _requirement(line)
        if found:
            yield replace(found, start=at + found.start, stop=at + found.stop)
        continued = line.rstrip("\r").endswith("\\")
        at += len(line) + 1


def cargo_pins(text: str) -> Iterator[Pin]:
    """Find the versions of dependencies in a Cargo.toml, whether they are texts or tables."""
    return _toml_pins(text, "Cargo.toml")


def pyproject_pins(text: str) -> Iterator[Pin]:
    """Find the versions of dependencies in a pyproject.toml: requirements, and the tables of poetry."""
    return _toml_pins(text, "pyproject.toml")


def action_pins(text: str) -> Iterator[Pin]:
    """Find the tags of the actions that a workflow uses."""
    return (Pin(found[1], found.start(2), found.end(2)) for found in _USES.finditer(text))


def image_pins(text: str) -> Iterator[Pin]:
    """Find the tags of the images that a Dockerfile starts from."""
    return (Pin(found[1], found.start(2), found.end(2)) for found in _FROM.finditer(text))


def _requirement(line: str) -> Pin | None:
    found = _REQUIREMENT.fullmatch(line) if len(line) < _LONG else None
    if not found:
        return None
    # pip compares names so (PEP 503): Foo_Bar and foo-bar are one package.
    name = re.sub(r"[-_.]+", "-", found[1]).lower()
    key = (name, *("".join(part.split()) for part in found.group(2, 4) if part))
    return Pin(key, found.start(3), found.end(3))


def _toml_pins(text: str, name: str) -> Iterator[Pin]:
    """Mark the values that are pins in the tree, write it, and see where the marks come to stand."""
    # The reader of TOML wants the last line ended; a line end more at the end moves no place.
    ended = text if text.endswith("\n") else f"{text}\n"
    # NUL is the mark below. Depth is asked for first: the parser would run into Python's limit on frames.
    if "\0" in text or is_deep(ended) or load(ended) is None:
        return
    keys: list[tuple[Hashable, int, int]] = []
    try:
        tree = read_toml(ended)
    except TextUnreadable:
        return
    # Places are counted in what is written from the tree, so that must be the file itself.
    if render(tree) != ended:
        return
    parts = render(_marked(tree, (), name, keys)).split("\0")
    at = 0
    for number, part in enumerate(parts):
        if number % 2:
            key, start, stop = keys[number // 2]
            yield Pin(key, at + start, at + stop)
        at += len(part)


def _marked(group: EntryGroup, path: tuple[str, ...], name: str, keys: list[tuple[Hashable, int, int]]) -> EntryGroup:
    entries: list[KeyedEntry] = []
    for entry in group.entries:
        below = (*path, *entry.name)
        if isinstance(entry.value, EntryGroup):
            entry = replace(entry, value=_marked(entry.value, below, name, keys))
        else:
            found = _pin_of(entry.value.text, below, name, listed=group.kind == "list")
            if found:
                keys.append(found)
                entry = replace(entry, value=Leaf(f"\0{entry.value.text}\0", entry.value.col))
        entries.append(entry)
    return replace(group, entries=tuple(entries))


def _pin_of(text: str, path: tuple[str, ...], name: str, *, listed: bool) -> tuple[Hashable, int, int] | None:
    """Return the key of a value that is a version, and where in its text the version stands."""
    # What stands between three quotes or holds an escape is longer in the file than it is as a value.
    if text[:1] not in ("'", '"') or text[:3] in ("'''", '"""') or "\\" in text:
        return None
    if listed:
        found = _requirement(text[1:-1]) if rules_for(name).item_name(path, text) else None
        return (("#", *path, found.key), found.start + 1, found.stop + 1) if found else None
    # A table { version = "1" } is known by its package; but a package may itself be called version.
    if path[-1:] == ("version",) and not _is_dependency(path):
        path = path[:-1]
    # In a pyproject.toml a table called dependencies is poetry's only below tool.poetry.
    known = name == "Cargo.toml" or path[:2] == ("tool", "poetry")
    return (path, 1, len(text) - 1) if known and _is_dependency(path) else None


def _is_dependency(path: tuple[str, ...]) -> bool:
    return len(path) > 1 and path[-2] in _TABLES

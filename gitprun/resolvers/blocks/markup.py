"""HTML and XML: what may be in a page, or in a build file, only once; no grammar has to be installed for that."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from gitprun.resolvers.base import Kind

if TYPE_CHECKING:
    from collections.abc import Iterator
    from xml.etree.ElementTree import Element

_COMMENT: Final = re.compile(rb"<!--.*?-->", re.DOTALL)
# An id that a template makes is not known before; one in a script stands in a text of it.
_ID: Final = re.compile(rb"<[a-zA-Z][^<>]{0,2000}?\sid\s*=\s*[\"']?([\w:.-]+)(?=[\"'\s/>])")
_SCRIPT: Final = re.compile(rb"<(script|template|style)\b.*?</\1>", re.DOTALL | re.IGNORECASE)
# What tells one of these from another in the list it stands in, by the words within (Maven).
_NAMED: Final = {
    "dependency": ("groupId", "artifactId", "classifier", "type"),
    "plugin": ("groupId", "artifactId"),
    "exclusion": ("groupId", "artifactId"),
    "execution": ("id",),
    "profile": ("id",),
    "repository": ("id",),
}
# Known by its whole text, in a list of such (Maven).
_LISTED: Final = frozenset({"module", "include", "exclude"})
# Lists of values by their tags (Maven, MSBuild).
_VALUES: Final = frozenset({"properties", "PropertyGroup"})
# Several of these are one list (MSBuild), if they have no condition.
_GROUPS: Final = frozenset({"ItemGroup"})
# By one of these a thing is known among others of its sort (Android, Spring, resources of .NET, schemas, SVG).
_NAMES: Final = ("id", "Id", "name", "Name", "key", "Include", "{http://schemas.android.com/apk/res/android}name")
# With one of these it is meant for some case only, and may stand again for another one.
_CASES: Final = frozenset({
    "Condition", "Exclude", "condition", "if", "unless", "product", "quantity", "locale", "lang", "mode", "match",
    "type", "scope", "platform", "test", "os",
})  # fmt: skip


def find_doubled_ids(path: str, text: bytes) -> tuple[str, ...]:
    """Name the ids that a page gives twice."""
    bare = _SCRIPT.sub(b"", _COMMENT.sub(b"", text))
    counts = Counter(found.decode() for found in _ID.findall(bare))
    return tuple(f'the id "{name}" is there twice' for name, many in counts.items() if many > 1)


def find_faults(path: str, text: bytes) -> tuple[str, ...]:
    """Name what is wrong with an XML text: it is not well-formed, or an entry of a list in it is there twice."""
    from xml.etree import ElementTree

    # What a text defines for itself may be made to grow without end.
    if b"<!ENTITY" in text:
        return ()
    try:
        top = ElementTree.fromstring(text)
    except (ElementTree.ParseError, ValueError, LookupError):
        return ("the file is not well-formed",)
    counts = Counter[tuple[str, ...]]()
    for number, parent in enumerate(top.iter()):
        keys = Counter(_keys(parent))
        # Of groups beside each other all entries are of one list, and each of them is there once in the sum.
        place = _tag(parent) if _tag(parent) in _GROUPS and not parent.attrib else str(number)
        counts.update({(place, *key): many for key, many in keys.items()})
    found = (" ".join(filter(None, key[1:])) for key, many in counts.items() if many > 1)
    return tuple(f'the entry "{name}" is there twice' for name in dict.fromkeys(found))


def _keys(parent: Element) -> Iterator[tuple[str, ...]]:
    """Yield what tells the children of an element from one another, as far as each is one of its sort."""
    for child in parent:
        # Comments and instructions have no tag.
        key = _key(child, _tag(parent)) if isinstance(child.tag, str) else ()
        if any(key):
            yield (_tag(child), *key)


def _key(child: Element, above: str) -> tuple[str, ...]:
    tag, text = _tag(child), (child.text or "").strip()
    if not _CASES.isdisjoint(child.attrib):
        return ()
    if tag in _NAMED and not child.attrib:
        within = {_tag(each): (each.text or "").strip() for each in child if isinstance(each.tag, str)}
        return tuple(within.get(name, "") for name in _NAMED[tag])
    if above in _VALUES:
        return (f"of {above}",)
    # In a property list of Apple's a key stands in front of what it means.
    if (tag in _LISTED or (tag == "key" and above == "dict")) and not len(child) and not child.attrib:
        return (text,)
    return (next((child.attrib[name] for name in _NAMES if name in child.attrib), ""),)


def _tag(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


PAGES: Final = Kind("html-ids", ("*.html", "*.htm"), (), find_doubled_ids)
KIND: Final = Kind(
    "xml-entries",
    ("*.xml", "*.xsd", "*.xsl", "*.xslt", "*.svg", "*.csproj", "*.vbproj", "*.fsproj", "*.props", "*.targets",
     "*.resx", "*.plist", "*.xaml", "*.wsdl", "*.pom"),
    (),
    find_faults,
)  # fmt: skip

"""HTML and XML: what may be in a page, or in a build file, only once; no grammar has to be installed for that."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

from gitprun.resolvers.base import Kind

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_COMMENT: Final = re.compile(rb"<!--.*?-->", re.DOTALL)
# An id that a template makes is not known before; one in a script stands in a text of it.
_ID: Final = re.compile(rb"<[a-zA-Z][^<>]{0,2000}?\sid\s*=\s*[\"']?([\w:.-]+)(?=[\"'\s/>])")
_SCRIPT: Final = re.compile(rb"<(script|template|style)\b.*?</\1>", re.DOTALL | re.IGNORECASE)
# What tells one of these from another in the list it stands in: of Maven the words within, of MSBuild the attribute.
_NAMED: Final = {
    "dependency": ("groupId", "artifactId", "classifier", "type"),
    "plugin": ("groupId", "artifactId"),
    "exclusion": ("groupId", "artifactId"),
}
_INCLUDED: Final = "Include"


def find_doubled_ids(path: str, text: bytes) -> tuple[str, ...]:
    """Name the ids that a page gives twice."""
    bare = _SCRIPT.sub(b"", _COMMENT.sub(b"", text))
    counts = Counter(found.decode() for found in _ID.findall(bare))
    return tuple(f'the id "{name}" is there twice' for name, many in counts.items() if many > 1)


def find_faults(path: str, text: bytes) -> tuple[str, ...]:
    """Name what is wrong with an XML text: it is not well-formed, or an entry of a build file is there twice."""
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
        for child in parent:
            key = _key(child)
            if key is not None:
                counts[str(number), *key] += 1
    found = (" ".join(filter(None, key[1:])) for key, many in counts.items() if many > 1)
    return tuple(f'the entry "{name}" is there twice' for name in dict.fromkeys(found))


def _key(child: Element) -> tuple[str, ...] | None:
    if not isinstance(child.tag, str):
        return None
    tag = child.tag.rpartition("}")[2]
    if tag in _NAMED:
        words = {each.tag.rpartition("}")[2]: (each.text or "").strip() for each in child if isinstance(each.tag, str)}
        return (tag, *(words.get(name, "") for name in _NAMED[tag]))
    # With a condition, or an attribute more, it says another thing.
    return (tag, child.attrib[_INCLUDED]) if [*child.attrib] == [_INCLUDED] else None


PAGES: Final = Kind("html-ids", ("*.html", "*.htm"), (), find_doubled_ids)
KIND: Final = Kind(
    "xml-entries", ("*.xml", "*.csproj", "*.vbproj", "*.fsproj", "*.props", "*.targets"), (), find_faults
)

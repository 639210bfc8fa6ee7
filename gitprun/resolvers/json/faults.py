"""What is wrong with one JSON file."""

from __future__ import annotations

from gitprun.resolvers.entries import show_key
from gitprun.resolvers.json.reader import Document, JsonNode, JsonUnreadable, read
from gitprun.resolvers.text import BOM


def read_bytes(text: bytes) -> Document | JsonUnreadable | None:
    """Read a file; None when it is empty or not UTF-8, and nothing can be told about it."""
    try:
        decoded = text.removeprefix(BOM).decode()
    except UnicodeDecodeError:
        return None
    # An empty file is no JSON, yet a placeholder that people do commit.
    return read(decoded) if decoded.strip() else None


def json_faults(path: str, text: bytes) -> tuple[str, ...]:
    """Name what is wrong with a JSON file: unreadable, comments, a comma too many, a key twice."""
    return document_faults(read_bytes(text))


def document_faults(document: Document | JsonUnreadable | None) -> tuple[str, ...]:
    """Name what is wrong with a JSON file that was read."""
    if not isinstance(document, Document):
        return _unreadable(document)
    strict = (
        ("the file is no JSON: it has comments", document.comments),
        ("the file is no JSON: a comma stands before a closing bracket", document.trailing),
    )
    return (*(fault for fault, there in strict if there), *repeated_keys(document.root))


def lenient_faults(path: str, text: bytes) -> tuple[str, ...]:
    """Name what is wrong with a file whose reader allows comments and trailing commas."""
    document = read_bytes(text)
    return repeated_keys(document.root) if isinstance(document, Document) else _unreadable(document)


def repeated_keys(root: JsonNode) -> tuple[str, ...]:
    """Name the keys that stand twice in one object."""
    found: list[str] = []
    # By a list, not by recursion: the reader's levels are bounded, and this need not add frames to them.
    open_nodes: list[tuple[tuple[str, ...], JsonNode]] = [((), root)]
    while open_nodes:
        path, node = open_nodes.pop()
        known: set[str] = set()
        for item in node.items:
            if node.kind == "{" and item.key in known:
                # Parsers take the last of two, without a word: the entry of one side is dead.
                found.append(f"the key {show_key((*path, item.key))} is there twice")
            known.add(item.key)
            if item.value.items:
                open_nodes.append(((*path, item.key or "[]"), item.value))
    return tuple(dict.fromkeys(reversed(found)))


def _unreadable(document: JsonUnreadable | None) -> tuple[str, ...]:
    # What is nested too deep may be valid all the same; to call it broken would hold a landing for nothing.
    return (document.reason,) if document and document.judged else ()

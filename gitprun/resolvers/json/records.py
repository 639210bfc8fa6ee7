"""JSON Lines: one record a line, merged by ``id``, ``key`` or ``name`` where every record has one."""

from __future__ import annotations

from collections.abc import Sequence

from gitprun.resolvers.base import FileConflict, Refused, Resolved, brought_lines, take_plain
from gitprun.resolvers.entries import EntryClash, show_key
from gitprun.resolvers.json.faults import repeated_keys
from gitprun.resolvers.json.identity import field_value, identify, label
from gitprun.resolvers.json.merge import merge_values
from gitprun.resolvers.json.proof import prove_values
from gitprun.resolvers.json.reader import Document, JsonItem, JsonNode, JsonUnreadable, meaning, read
from gitprun.resolvers.json.resolve import decode_versions
from gitprun.resolvers.json.rows import Rows, merge_rows, merge_whole_rows, repeated
from gitprun.resolvers.text import BOM, split_versions

FILES = ("*.jsonl", "*.ndjson")
NAME = "jsonl"


def merge_records(conflict: FileConflict) -> Resolved | Refused:
    """Merge JSON Lines record by record."""
    triple = split_versions(conflict.base, conflict.main, conflict.unit)
    plain = take_plain(conflict, triple, NAME)
    if plain is not None:
        return plain
    decoded = decode_versions(conflict, triple)
    if isinstance(decoded, Refused):
        return decoded
    texts = [text.split("\n") if text else [] for text in (decoded[0] or "", *decoded[1:])]
    # The three versions share most lines: each text is read once.
    known: dict[str, Document | JsonUnreadable] = {}
    nodes = [_read_all(lines, known) for lines in texts]
    for side, node in zip(("base", "main", "unit"), nodes, strict=True):
        if isinstance(node, JsonUnreadable):
            return Refused(f"{side}'s version cannot be read: {node.reason}")
    merged = _merge(texts, [node for node in nodes if isinstance(node, JsonNode)], known)
    if isinstance(merged, EntryClash):
        return Refused(merged.reason)
    text = triple.render(tuple(line.encode() for line in merged))
    return Resolved(text, NAME, brought_lines(triple, triple.split(text)))


def record_faults(path: str, text: bytes) -> tuple[str, ...]:
    """Name what is wrong with JSON Lines: a line that is no JSON, a key twice in a record, an id twice."""
    try:
        lines = text.removeprefix(BOM).decode().split("\n")
    except UnicodeDecodeError:
        return ()
    found: list[str] = []
    ids = []
    for line in lines:
        document = read(line) if line.strip() else None
        # Without the line: two such lines are one fault, so that a side that has one may have it elsewhere.
        if isinstance(document, JsonUnreadable) and document.judged:
            found.append("a line is no JSON")
        if isinstance(document, Document):
            found += repeated_keys(document.root)
            ids.append(field_value(document.root, "id"))
    if None not in ids:
        found += (f"the id {show_key(label(key))} is there twice" for key in repeated(ids))
    return tuple(dict.fromkeys(found))


def _merge(
    texts: Sequence[Sequence[str]], nodes: Sequence[JsonNode], known: dict[str, Document | JsonUnreadable]
) -> list[str] | EntryClash:
    base, main, unit = texts
    identity = identify(nodes)
    # Blank lines are no items, so ids would not fall on their lines.
    if identity.by != "field" or any(len(node.items) != len(lines) for node, lines in zip(nodes, texts, strict=True)):
        return merge_whole_rows(base, main, unit)
    old, mine, other = (Rows(lines, identity.of(node)) for lines, node in zip(texts, nodes, strict=True))
    merged = merge_rows(old, mine, other, _join)
    if isinstance(merged, EntryClash):
        return merged
    # Read again from its text: the proof is of what is written, not of what was meant.
    result = _read_all(merged, known)
    fault = result.reason if isinstance(result, JsonUnreadable) else prove_values(nodes[0], nodes[1], nodes[2], result)
    return EntryClash(fault) if fault else merged


def _join(base: str | None, main: str, unit: str) -> str | EntryClash:
    """Merge two edits of one record, field by field."""
    old, mine, other = (None if text is None else read(text) for text in (base, main, unit))
    if not isinstance(mine, Document) or not isinstance(other, Document) or isinstance(old, JsonUnreadable):
        return EntryClash("cannot be read")
    if old is None:
        same = meaning(mine.root) == meaning(other.root)
        return main if same else EntryClash("is added on both sides, differently")
    value = merge_values((), old.root, mine.root, other.root)
    return EntryClash(f"is changed on both sides: {value.reason}") if isinstance(value, EntryClash) else value


def _read_all(lines: Sequence[str], known: dict[str, Document | JsonUnreadable]) -> JsonNode | JsonUnreadable:
    """Read records as the items of one array, each text once; blank lines are none."""
    items: list[JsonItem] = []
    for line in lines:
        if not line.strip():
            continue
        document = known.get(line) or _read_record(line)
        known[line] = document
        if isinstance(document, JsonUnreadable):
            return document
        items.append(JsonItem("", "", "", document.root))
    return JsonNode("[", "\n".join(lines), items=tuple(items))


def _read_record(line: str) -> Document | JsonUnreadable:
    document = read(line)
    if isinstance(document, JsonUnreadable):
        return JsonUnreadable("a line is no JSON") if document.judged else document
    strict = not (document.comments or document.trailing or repeated_keys(document.root))
    return document if strict else JsonUnreadable("a record has comments, a comma too many or a key twice")

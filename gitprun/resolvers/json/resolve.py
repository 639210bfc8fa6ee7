"""JSON files: from three versions in bytes to a proved text."""

from __future__ import annotations

import re
from collections.abc import Callable

from gitprun.resolvers.base import FileConflict, Refused, Resolved, brought_lines, take_plain
from gitprun.resolvers.entries import ABSENT, EntryClash, settle_value
from gitprun.resolvers.json.merge import merge_documents
from gitprun.resolvers.json.proof import prove_comments, prove_values
from gitprun.resolvers.json.reader import Document, JsonUnreadable, read
from gitprun.resolvers.text import Triple, split_versions

# What a kind proves beyond the entries: says what is wrong with the merge of base, main and unit, the last one.
Check = Callable[[Document | None, Document, Document, Document], str | None]

# A line of white space only says nothing about the step.
_INDENT = re.compile(r"^([ \t]+)\S", re.MULTILINE)
_LEADING = re.compile(r"^[ \t]+", re.MULTILINE)


def resolve_json(conflict: FileConflict, name: str, check: Check | None = None) -> Resolved | Refused:
    """Merge JSON by key at every depth; ``name`` is the resolver's name in the answer."""
    triple = split_versions(conflict.base, conflict.main, conflict.unit)
    plain = take_plain(conflict, triple, name)
    if plain is not None:
        return plain
    # Asked after the plain answers: a file that is not UTF-8 still merges where only one side changed it.
    texts = decode_versions(conflict, triple)
    if isinstance(texts, Refused):
        return texts
    # A formatter's new indentation touches every line; undone first, only true edits are left to meet.
    base_text, main_text, unit_text = same_indent(*texts)
    base, main, unit = (None if text is None else read(text) for text in (base_text, main_text, unit_text))
    for side, version in (("base", base), ("main", main), ("unit", unit)):
        if isinstance(version, JsonUnreadable):
            return Refused(f"{side}'s version cannot be read: {version.reason}")
    # The loop above has answered for these; here the types are narrowed for what follows.
    if isinstance(base, JsonUnreadable) or not isinstance(main, Document) or not isinstance(unit, Document):
        return Refused("the file cannot be read")
    merged = merge_documents(base, main, unit)
    if isinstance(merged, EntryClash):
        return Refused(merged.reason)
    fault = _prove((base_text, base), (main_text or "", main), (unit_text or "", unit), merged, check)
    if fault:
        return Refused(fault)
    text = triple.render(tuple(merged.encode().split(b"\n")))
    return Resolved(text, name, brought_lines(triple, triple.split(text)))


def decode_versions(conflict: FileConflict, triple: Triple) -> tuple[str | None, str, str] | Refused:
    """Decode the three versions, without byte order mark, with line feeds where line ends are uniform."""
    try:
        base, main, unit = (b"\n".join(lines).decode() for lines in (triple.base, triple.main, triple.unit))
    except UnicodeDecodeError:
        return Refused("the file is not UTF-8")
    return None if conflict.base is None else base, main, unit


def same_indent(base: str | None, main: str, unit: str) -> tuple[str | None, str, str]:
    """Indent all versions as the side does that changed the indentation."""
    old, mine, other = (_indent(text or "") for text in (base, main, unit))
    # A version on one line has no step, and one cannot be made up for it.
    if not mine or not other or not (old or base is None):
        return base, main, unit
    due = settle_value(old if base is not None else ABSENT, mine, other)
    if not isinstance(due, str):
        return base, main, unit
    texts = [_reindent(text, step, due) for text, step in ((base or "", old), (main, mine), (unit, other))]
    return None if base is None else texts[0], texts[1], texts[2]


def _prove(
    base: tuple[str | None, Document | None],
    main: tuple[str, Document],
    unit: tuple[str, Document],
    merged: str,
    check: Check | None,
) -> str | None:
    result = read(merged)
    # Read again from its text, for the text is what lands.
    if isinstance(result, JsonUnreadable):
        return "the merge would be no JSON"
    if result.trailing and not (main[1].trailing or unit[1].trailing):
        return "the merge would have a comma too many"
    return (
        prove_values(base[1].root if base[1] else None, main[1].root, unit[1].root, result.root)
        or prove_comments(base[0], main[0], unit[0], merged)
        or (check and check(base[1], main[1], unit[1], result))
        or None
    )


def _indent(text: str) -> str:
    """Return one step of indentation: that of the first indented line."""
    match = _INDENT.search(text)
    return match[1] if match else ""


def _reindent(text: str, old: str, new: str) -> str:
    if old == new or not old:
        return text

    def renew(match: re.Match[str]) -> str:
        steps, rest = divmod(len(match[0]), len(old))
        # Continuation lines of a block comment are aligned, not indented by steps: those stay.
        return match[0] if rest or match[0] != old * steps else new * steps

    return _LEADING.sub(renew, text)

"""Mends of what ended on one side and is used on the other: an import that is kept, a new name put for an old one.

A mend is made by the letter, from what the two sides wrote, and is no proof: in a conflicted file an import is kept
under the proof of the resolvers; whatever else is mended lands only where the checks ask for it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace

from gitprun.resolvers.base import FileConflict, Side, quote
from gitprun.resolvers.liveness import Ended, find_ended
from gitprun.resolvers.naming import Wording, wording_of


@dataclass(frozen=True, slots=True)
class Mend:
    """A mended text, and in words what was done to it."""

    text: bytes
    words: str


def find_mend(conflict: FileConflict, merged: bytes) -> Mend | None:
    """Return the mend of all that ended in a merged text; None where there is none for part of it, or nothing ended."""
    found = find_ended(conflict, merged)
    wording = wording_of(conflict.path)
    if not found or wording is None:
        return None
    text, words = merged, []
    for one in found:
        mend = _mend(conflict, wording, one, text)
        if mend is None:
            return None
        text = mend.text
        words += [mend.words] if mend.words else []
    # What is mended may rely on something else that ended.
    return None if find_ended(conflict, text) else Mend(text, "; ".join(words))


def _mend(conflict: FileConflict, wording: Wording, ended: Ended, text: bytes) -> Mend | None:
    own, other = _texts(conflict, ended.side)
    base = conflict.base or b""
    if ended.package:
        moved = _moved_prefix(wording, base, own, ended.package)
        return rename_lines(text, *moved, wording, imports=True) if moved else None
    new = find_rename(base, own, ended.name, wording)
    if new:
        # Where the other side knows the new name for something else, nobody can tell which is meant.
        return rename_lines(text, ended.name, new, wording) if not _word_of(new).search(other) else None
    kept = _import_to_keep(wording, ended, own, (other, base))
    made = kept.put_into(text) if kept is not None else None
    return Mend(made, f"keep {quote(kept.statement.strip())}") if made is not None and kept is not None else None


def _import_to_keep(wording: Wording, ended: Ended, own: bytes, sources: tuple[bytes, ...]) -> _KeptImport | None:
    # A side that binds the name in another way meant something by it.
    if ended.name in wording.declared(own):
        return None
    return next((kept for text in sources if (kept := _find_import(wording, text, ended.name)) is not None), None)


def keep_imports(conflict: FileConflict, merged: bytes) -> FileConflict | None:
    """Return a conflict as though the sides had kept the imports whose names the merged text needs.

    None where anything else ended too, or nothing did.
    """
    found = find_ended(conflict, merged)
    wording = wording_of(conflict.path)
    if not found or wording is None:
        return None
    for one in found:
        own, other = _texts(conflict, one.side)
        if one.package or find_rename(conflict.base or b"", own, one.name, wording):
            return None
        kept = _import_to_keep(wording, one, own, (other,))
        mended = kept.put_into(own) if kept is not None else None
        if mended is None:
            return None
        own = mended
        conflict = replace(conflict, main=own) if one.side == "main" else replace(conflict, unit=own)
    return conflict


def find_rename(base: bytes, own: bytes, name: bytes, wording: Wording) -> bytes:
    """Return the name that a side put for another one wherever that stood; empty where its lines do not say so."""
    kept = {*own.split(b"\n")}
    word = _word_of(name)
    removed = [line for line in wording.code(base).split(b"\n") if word.search(line) and line not in kept]
    if not removed or word.search(wording.code(own)):
        return b""
    parts = word.split(removed[0], 1)
    pattern = re.compile(re.escape(parts[0]) + rb"([\w$]+)" + rb"[^\n]*")
    known = {*base.split(b"\n")}
    added = Counter(line for line in wording.code(own).split(b"\n") if line not in known)
    for line in added:
        match = pattern.fullmatch(line)
        if match is None or _word_of(match[1]).search(base):
            continue
        # Each of them, and nothing else with that name: else it was more than a new name.
        if Counter(word.sub(match[1], each) for each in removed) == Counter(
            {each: many for each, many in added.items() if _word_of(match[1]).search(each)}
        ):
            return match[1]
    return b""


def rename_lines(text: bytes, old: bytes, new: bytes, wording: Wording, *, imports: bool = False) -> Mend | None:
    """Return a text with one name for another in its code; with ``imports`` only where something is imported."""
    word = _word_of(old)
    lines, code = text.split(b"\n"), wording.code(text).split(b"\n")
    changed = []
    for number, line in enumerate(lines):
        # Texts and comments on the line are left: where the name stands in one of them too, nobody knows what is meant.
        if number >= len(code) or not word.search(line) or (imports and not wording.paths.search(line)):
            continue
        if not imports and len(word.findall(line)) != len(word.findall(code[number])):
            if word.search(code[number]):
                return None
            continue
        lines[number] = word.sub(new.replace(b"\\", rb"\\"), line)
        changed.append(number + 1)
    if not changed:
        return None
    where = f"line {changed[0]}" if len(changed) == 1 else f"lines {', '.join(map(str, changed))}"
    return Mend(b"\n".join(lines), f"{_plain(old)} -> {_plain(new)} in {where}")


def _plain(name: bytes) -> str:
    return quote(name).strip('"')


def _texts(conflict: FileConflict, side: Side) -> tuple[bytes, bytes]:
    return (conflict.main, conflict.unit) if side == "main" else (conflict.unit, conflict.main)


def _moved_prefix(wording: Wording, base: bytes, own: bytes, package: tuple[bytes, ...]) -> tuple[bytes, bytes] | None:
    """Return how a package was spelt and how a side spells it now, where that is one answer."""
    found = set()
    old, new = ({*wording.paths.findall(text)} for text in (base, own))
    for gone in old - new:
        parts = wording.split(gone)
        if parts[: len(package)] != package:
            continue
        same = [each for each in new - old if wording.split(each)[-1:] == parts[-1:]]
        if len(same) != 1:
            return None
        # What both end in is left as it is: a package moved, and not what is in it.
        end = len(gone)
        cut = 0
        while cut < min(end, len(same[0])) and gone[-cut - 1] == same[0][-cut - 1]:
            cut += 1
        tail = gone[len(gone) - cut :]
        step = re.search(rb"[^\w$]", tail)
        cut = len(tail) - (step.start() if step else len(tail))
        found.add((gone[: len(gone) - cut], same[0][: len(same[0]) - cut]))
    return found.pop() if len(found) == 1 and all(map(all, found)) else None


@dataclass(frozen=True, slots=True)
class _KeptImport:
    """An import that is to be kept: the statement, and the text and line (from 0) it is taken from."""

    statement: bytes
    source: bytes
    line: int

    def put_into(self, text: bytes) -> bytes | None:
        """Return a text with the import where its source has it, by the imports around; None where that is not told."""
        lines, around = text.split(b"\n"), self.source.split(b"\n")
        for near, after in _outwards(self.line, len(around)):
            # Of an import over several lines the others are no place.
            if _IMPORT_LINE.match(around[near]) and _is_closed(around[near]) and lines.count(around[near]) == 1:
                place = lines.index(around[near]) + after
                return b"\n".join((*lines[:place], self.statement, *lines[place:]))
        for near in range(self.line - 1, -1, -1):
            if _HEAD_LINE.match(around[near]) and lines.count(around[near]) == 1:
                place = lines.index(around[near]) + 1
                blank = b"\r" if around[near].endswith(b"\r") else b""
                return b"\n".join((*lines[:place], blank, self.statement, *lines[place:]))
        if self.line or (text and lines[0].endswith(b"\r") != self.statement.endswith(b"\r")):
            return None
        return b"\n".join((self.statement, *lines))


_IMPORT_LINE = re.compile(rb"\s*(?:(?:pub\s+)?(?:import|from|use|using|require)\b|(?:const|let|var)\b.*\brequire\()")
_HEAD_LINE = re.compile(rb"\s*(?:package|namespace|<\?php|#!|['\"]use strict)")


def _outwards(line: int, end: int) -> Iterator[tuple[int, int]]:
    """Yield the other lines, the nearest first: each with 1 where what is put goes after it, else 0."""
    for step in range(1, end):
        yield from ((line - step, 1),) if line >= step else ()
        yield from ((line + step, 0),) if line + step < end else ()


def _is_closed(line: bytes) -> bool:
    return all(line.count(one) == line.count(other) for one, other in (b"()", b"{}", b"[]"))


def _find_import(wording: Wording, text: bytes, name: bytes) -> _KeptImport | None:
    """Return the import that binds a name, and nothing else; None where it cannot be told from the others."""
    if wording.imports is None:
        return None
    for found in wording.imports.finditer(text):
        start = text.rfind(b"\n", 0, found.start() + 1) + 1
        end = text.find(b"\n", found.end())
        statement = text[start : end if end >= 0 else len(text)]
        bound = wording.imported(statement)
        if name in bound:
            alone = bound == {name} and b"\n" not in statement
            kept = statement if alone else _narrow(wording, statement, name)
            return _KeptImport(kept, text, text.count(b"\n", 0, start)) if kept else None
    return None


def _narrow(wording: Wording, statement: bytes, name: bytes) -> bytes:
    """Return an import of one name out of one that has several; empty where that is not plain."""
    if re.search(rb"\bas\s+" + re.escape(name), statement):
        return b""
    end = b"\r" if b"\r" in statement else b""
    python = _PYTHON_FROM.match(statement)
    if python is not None and "py" in wording.endings:
        return python[1] + b" " + name + end
    script = _SCRIPT_FROM.match(statement)
    if script is not None and wording.colon and _word_of(name).search(script[2]):
        return script[1] + b"{ " + name + b" }" + script[3] + end
    return b""


_PYTHON_FROM = re.compile(rb"(\s*from\s+[\w.]+\s+import)\b")
_SCRIPT_FROM = re.compile(
    rb"(import\s+(?:type\s+)?)(?:[\w$]+\s*,\s*)?\{([^{}]*)\}(\s*from\s*(?:'[^'\n]+'|\"[^\"\n]+\");?)"
)


def _word_of(name: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"(?<![\w$])" + re.escape(name) + rb"(?![\w$])")

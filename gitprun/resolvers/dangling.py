"""Names that one side ends while another file of the other side begins to use them: facts about one changed file each.

``judging.dangling`` brings the two sides and the merged tree together.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from gitprun.resolvers.naming import Names, wording_of
from gitprun.resolvers.references import spelt_in
from gitprun.resolvers.signatures import lines_only_in, redeclared

# A shorter name, or one in small letters only, is a word of many libraries ("size", "put").
_SHORTEST = 5
_TELLING: Final = re.compile(rb"[a-z0-9][A-Z]|[A-Za-z0-9]_[A-Za-z0-9]|^[A-Z][a-z0-9]+$")
_WORD: Final = re.compile(rb"[\w$]+")
# What re-exports everything, in scripts and in Rust; what makes names in Python.
_GIVING: Final = (b"export *", b"__getattr__", b"globals()", b"module.exports =")
_PART: Final = re.compile(rb"\w+")


@dataclass(frozen=True, slots=True)
class ChangedText:
    """One file of a language known here as a side found it and as it left it; a text is empty where there was none."""

    path: str
    before: bytes
    after: bytes


def ended_names(change: ChangedText) -> Names:
    """Return the names that a file declared and does not mention any more."""
    wording = wording_of(change.path)
    if wording is None or not change.before:
        return frozenset()
    lost = lines_only_in(change.before, change.after)
    names = wording.declared(lost) if lost else frozenset[bytes]()
    return names - frozenset(_WORD.findall(change.after)) if names else names


def redeclared_names(change: ChangedText) -> Names:
    """Return the names whose declaration a side wrote in another way, where arguments can be counted."""
    return redeclared(change.path, change.before, change.after)


def added_words(change: ChangedText) -> Names:
    """Return the words of the lines that a side added to a file."""
    return frozenset(_WORD.findall(lines_only_in(change.after, change.before))) if change.after else frozenset()


def is_telling(name: bytes) -> bool:
    """Check whether a name is one that somebody made up for a thing of the project."""
    return len(name) >= _SHORTEST and _TELLING.search(name) is not None


def mentions(text: bytes, name: bytes) -> bool:
    """Check whether a text holds a name as a word."""
    return name in text and _word_of(name).search(text) is not None


def begins_to_use(change: ChangedText, name: bytes, source: str) -> bool:
    """Check whether a file uses a name more often than before, and may mean the one that ``source`` declared.

    ``source`` is a path. It does not mean that one where it declares the name itself or imports it from elsewhere.
    """
    wording = wording_of(change.path)
    if wording is None or name in wording.declared(change.after):
        return False
    word = _word_of(name)
    if len(word.findall(wording.code(change.after))) <= len(word.findall(wording.code(change.before))):
        return False
    if wording.imports is None or name not in wording.imported(change.after):
        return True
    # Of what is imported a part of the path has to be one of the path of the file: a package is another's.
    own = {*_PART.findall(source.rpartition(".")[0].encode("utf-8", "surrogateescape"))} - {name}
    paths = [path for path in wording.paths.finditer(change.after) if _binds(change.after, path.start(), name)]
    return not paths or any(not own.isdisjoint(_PART.findall(path[0])) for path in paths)


def imports_from(change: ChangedText, name: bytes, source: str) -> bool:
    """Check whether a file says that it takes a name from the file at the path ``source``."""
    wording = wording_of(change.path)
    if wording is None or wording.imports is None:
        return False
    for found in wording.imports.finditer(change.after):
        start, end = change.after.rfind(b"\n", 0, found.start() + 1) + 1, change.after.find(b"\n", found.end())
        statement = change.after[start : end if end >= 0 else len(change.after)]
        if name in statement and name in wording.imported(statement):
            line = b" ".join(statement.split()).decode("utf-8", "replace")
            if any(spelt.means(source) for spelt in spelt_in(change.path, line)):
                return True
    return False


def gives_more(change: ChangedText) -> bool:
    """Check whether a file may give names that it does not mention: those of another one, or made when asked for."""
    wording = wording_of(change.path)
    return any(sign in change.after for sign in _GIVING) or (wording is not None and wording.may_bind(change.after, ()))


def _binds(text: bytes, at: int, name: bytes) -> bool:
    """Check whether the import whose path is found at a place has a name in it, as far as its lines tell."""
    start = text.rfind(b"\n", 0, at) + 1
    # The path stands at the end of an import of several lines in some languages, and before the names in others.
    opened = text.rfind(b"import", 0, at + 1)
    end = text.find(b"\n", at)
    closing = text.find(b")", end) if text[at:end].rstrip().endswith(b"(") else end
    return mentions(text[min(start, opened if opened >= 0 else start) : closing if closing >= 0 else end], name)


def find_use(path: str, text: bytes, name: bytes) -> int:
    """Return the first line whose code has a name, counted from 1; 0 where none has."""
    wording = wording_of(path)
    code = text if wording is None else wording.code(text)
    found = _word_of(name).search(code)
    return code.count(b"\n", 0, found.start()) + 1 if found else 0


@lru_cache(maxsize=256)
def _word_of(name: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"(?<![\w$])" + re.escape(name) + rb"(?![\w$])")

"""Names that may stand once between a pair of brackets, found without a grammar: a reader, and what a row may say."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from gitprun.resolvers.text import BOM

_PAIRS: Final = {")": "(", "]": "[", "}": "{"}
# What stands in a text in quotes must not read as the code around it.
_CODE: Final = re.compile(r"[^\w./@$ -]")
_STATEMENT: Final = re.compile(r"[;{}\n]")
_BETWEEN: Final = re.compile(r"[\s,|]+")
# A head is told by its last line, and no row looks further back.
_HEAD_LENGTH: Final = 300
ANYWHERE: Final = re.compile("")
# Levels by what opens them; the file itself has neither head nor bracket.
FILE: Final = re.compile(r"\A\Z")
BRACES: Final = re.compile(r"\{\Z")
PARENTHESES: Final = re.compile(r"\(\Z")
# The name of these is empty, so that they are one level when it is ``shared``.
WHOLE_FILE: Final = re.compile("(?P<of>)")


@dataclass(frozen=True, slots=True)
class Once:
    """Names that may stand once at a level.

    ``named`` finds them in the level's own text, where whatever is in brackets is left out: one as its group ``name``,
    several as ``names`` (of what the group ``of`` names, if there is one). Looked at are levels whose head, the
    bracket at its end, ``within`` finds something in; its group ``of`` names the level, else the last line does. Of
    ``shared`` ones all of one name are one level.
    """

    what: str
    named: re.Pattern[str]
    within: re.Pattern[str] = ANYWHERE
    shared: bool = False


@dataclass(frozen=True)
class Bracketed:
    """One language: its files, what in it is a comment, what is a text in quotes, and what may stand once."""

    name: str
    files: tuple[str, ...]
    comments: str
    texts: str
    once: tuple[Once, ...]

    @cached_property
    def token(self) -> re.Pattern[str]:
        """Return what finds all that is no plain text."""
        parts = rf"(?P<silent>{self.comments})|(?P<text>{self.texts})|(?P<mark>[(){{}}\[\]])"
        return re.compile(parts, re.DOTALL | re.MULTILINE)


@dataclass(slots=True)
class _Level:
    """What stands between two brackets: what is in front of them with the bracket, and the pieces of its own text."""

    head: str = ""
    pieces: list[str] = field(default_factory=list)


def find_doubles(row: Bracketed, path: str, text: bytes) -> tuple[str, ...]:
    """Name what stands twice at one level of brackets, or that the brackets do not pair up."""
    levels = _levels(row, text.removeprefix(BOM).decode("utf-8", "replace"))
    if levels is None:
        return ("the brackets do not pair up",)
    found: list[str] = []
    shared: Counter[tuple[str, str, str]] = Counter()
    for level in levels:
        own = "".join(level.pieces)
        names: Counter[tuple[str, str, str]] = Counter()
        for rule in row.once:
            within = rule.within.search(level.head)
            if within is None:
                continue
            of = within["of"] if "of" in rule.within.groupindex else _title(level.head)
            (shared if rule.shared else names).update((rule.what, name, of) for name in _names(rule, own))
        found += _told(names)
    return tuple(dict.fromkeys((*found, *_told(shared))))


def _told(names: Counter[tuple[str, str, str]]) -> Iterator[str]:
    for (what, name, of), many in names.items():
        if many > 1:
            yield f'{what} "{name}"' + (f' of "{of}"' if of else "") + " is there twice"


def _names(rule: Once, own: str) -> Iterator[str]:
    for found in rule.named.finditer(own):
        if "name" in rule.named.groupindex:
            # In quotes or without them it is one name.
            word = " ".join(found["name"].split())
            yield word[1:-1] if word.count('"') == 2 and word[0] == word[-1] else word
            continue
        of = f"{found['of']}." if "of" in rule.named.groupindex else ""
        yield from (of + word for word in _BETWEEN.split(found["names"]))


def _title(head: str) -> str:
    return " ".join(_STATEMENT.split(head[:-1].rstrip())[-1].split())


def _levels(row: Bracketed, text: str) -> list[_Level] | None:
    """Split a text by its brackets, the file first; None when they do not pair up."""
    levels = [_Level()]
    opened = [levels[0]]
    at = 0
    for token in row.token.finditer(text):
        pieces = opened[-1].pieces
        pieces.append(text[at : token.start()])
        at = token.end()
        word = token[0]
        if token.lastgroup == "silent":
            pieces.append("\n" if "\n" in word else " ")
        elif token.lastgroup == "text":
            pieces.append(f'"{_CODE.sub("_", word[1:-1])}"')
        elif word in "([{":
            # The last pieces hold more than the last line: each comment, text and bracket is one.
            opened.append(_Level("".join(pieces[-20:])[-_HEAD_LENGTH:] + word))
            levels.append(opened[-1])
            pieces.append(word)
        else:
            head = opened.pop().head
            if not opened or head[-1] != _PAIRS[word]:
                return None
            opened[-1].pieces.append(word)
    if len(opened) > 1:
        return None
    levels[0].pieces.append(text[at:])
    return levels

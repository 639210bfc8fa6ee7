"""GraphQL schemas: a type or a field that two sides added each; no grammar has to be installed for that."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

from gitprun.resolvers.base import Kind

_SILENT: Final = re.compile(r'"""(?:[^"]|"(?!""))*"""|"(?:\\.|[^"\\\n])*"|#[^\n]*')
# Of the arguments of a field, and of a directive, the names are their own.
_ARGUMENTS: Final = re.compile(r"\([^()]*\)")
_PART: Final = re.compile(
    r"(?P<extended>\bextend\s+)?\b(?P<word>type|interface|input|enum|union|scalar|directive|fragment|query|mutation"
    r"|subscription)\s+(?P<name>@?\w+)|(?P<brace>[{}])"
)
_FIELD: Final = re.compile(r"(\w+)\s*:")
_WORD: Final = re.compile(r"(?<![@\w])\w+")
# All of these are types, and share their names; each of the others has names of its own.
_TYPES: Final = ("type", "interface", "input", "enum", "union", "scalar")


def find_faults(path: str, text: bytes) -> tuple[str, ...]:
    """Name the types, and the fields and values of one type, that are defined twice."""
    bare = _ARGUMENTS.sub("", _SILENT.sub(" ", text.decode("utf-8", "replace")))
    defined, found = Counter[tuple[str, str]](), list[str]()
    for word, name, extended, body in _definitions(bare):
        if not extended:
            defined["type" if word in _TYPES else word, name] += 1
        if word in _TYPES:
            members = Counter((_WORD if word == "enum" else _FIELD).findall(body))
            found += (f"{name}.{member} is there twice" for member, many in members.items() if many > 1)
    return (*(f"the {what} {name} is there twice" for (what, name), many in defined.items() if many > 1), *found)


def _definitions(text: str) -> Iterator[tuple[str, str, bool, str]]:
    """Yield what stands outside of all braces: its word, its name, whether it extends, and what is in its braces."""
    depth, start = 0, 0
    last: re.Match[str] | None = None
    for part in _PART.finditer(text):
        if part["brace"] == "{":
            depth, start = depth + 1, start if depth else part.end()
        elif part["brace"]:
            depth -= 1
            if depth == 0 and last is not None:
                yield last["word"], last["name"], bool(last["extended"]), text[start : part.start()]
                last = None
        elif not depth:
            if last is not None:
                yield last["word"], last["name"], bool(last["extended"]), ""
            last = part
    if last is not None:
        yield last["word"], last["name"], bool(last["extended"]), ""


KIND: Final = Kind("graphql", ("*.graphql", "*.graphqls", "*.gql"), (), find_faults)

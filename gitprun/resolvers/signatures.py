"""How many arguments a thing takes where it is declared, and how many it is given where it is called; by its text only.

Read without a grammar, in files whose language has a row here. What cannot be counted (arguments that are spread, a
list that does not end) is left out.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from gitprun.resolvers.base import FileConflict, quote
from gitprun.resolvers.naming import Names, wording_of

_WORD: Final = re.compile(rb"[\w$]+")
_IS_WORD: Final = re.compile(rb"[\w$]")
_OPENED: Final = re.compile(rb"\s{0,9}(?:<[\w<>, .?\[\]]{0,99}>\s?)?\(")
# A call by the bare name, or of the own object: another object's is another's.
_OWN: Final = re.compile(rb"(?:(?:^|[^\w$.>:])(?:this|self|Self|super\(\))(?:\.|->|::)|^|[^\w$.>:])$")
_CLOSURE: Final = re.compile(rb"\|[^|\n]{0,99}\|")
# A list of parameters longer than this is generated.
_LONGEST = 4000
_OPENING: Final = {b"("[0]: b")"[0], b"["[0]: b"]"[0], b"{"[0]: b"}"[0]}
_CLOSING: Final = frozenset(_OPENING.values())


@dataclass(frozen=True, slots=True)
class Arity:
    """How many arguments a declaration takes; ``most`` None means any number."""

    least: int
    most: int | None

    def takes(self, count: int) -> bool:
        """Check whether it can be called with so many arguments."""
        return self.least <= count and (self.most is None or count <= self.most)


@dataclass(frozen=True, slots=True)
class _Form:
    """What stands around a declared name: before it on its line, between it and its list, and behind that."""

    before: bytes
    between: bytes = rb"\s{0,9}(?:<[^(\n]{0,199}>)?"
    after: bytes = rb""


@dataclass(frozen=True, slots=True)
class _Row:
    """How one language declares.

    ``optional`` finds a parameter that may be left out, ``many`` one that takes any number, ``own`` the object itself.
    """

    forms: tuple[_Form, ...]
    optional: bytes = rb"="
    many: bytes = rb"^\*|\.\.\."
    own: bytes = rb"(?!)"


_TYPED: Final = _Row(
    (
        _Form(
            rb"(?<![\w$])(?!(?:new|return|throw|else|case|await|yield)[ \t])\w+[>\]?]*[ \t]+$",
            after=rb"\s*(?:\{|throws\b|=>|where\b|;)",
        ),
        _Form(rb"^[ \t]*$", after=rb"\s*(?:\{|throws\b|:)"),
    ),
    many=rb"\.\.\.|^params\s",
)
_SCRIPT: Final = _Row(
    (
        _Form(rb"\bfunction\s*\*?\s*$"),
        _Form(
            rb"\b(?:const|let|var)\s+$",
            rb"\s*(?::[^=\n]{0,99})?=\s*(?:async\s*)?",
            rb"\s*(?::[^;\n{]{0,199}?)?=>",
        ),
        _Form(
            rb"^[ \t]+(?:(?:public|private|protected|static|async|override|abstract)\s+)*$",
            after=rb"\s*(?:\{|:[^;\n]{0,199}(?:\{|;))",
        ),
    ),
    optional=rb"=|^\w+\?",
    own=rb"^this\s*:",
)
_ROWS: Final[dict[str, _Row]] = {
    **dict.fromkeys(
        ("py", "pyi"),
        _Row((_Form(rb"\bdef\s+$"),), optional=rb"=", many=rb"^\*", own=rb"^(?:self|cls)$"),
    ),
    **dict.fromkeys(("ts", "tsx", "mts", "cts", "js", "jsx", "mjs", "cjs", "vue", "svelte"), _SCRIPT),
    **dict.fromkeys(("java", "cs"), _TYPED),
    # At the margin: what stands further in is a call, or a member whose class nobody reads here.
    **dict.fromkeys(
        ("c", "h"),
        _Row(
            (_Form(rb"^(?!return\b|else\b)[A-Za-z_][\w \t*]{0,199}[ \t*]$", after=rb"[^;{}()]{0,60}[;{]"),),
            optional=rb"(?!)",
            own=rb"^void$",
        ),
    ),
    "go": _Row(
        (_Form(rb"^func\s+(?:\([^)\n]{0,99}\)\s*)?$", rb"\s*(?:\[[^\]\n]{0,99}\])?"),),
        optional=rb"(?!)",
    ),
    "rs": _Row((_Form(rb"\bfn\s+$"),), optional=rb"(?!)", own=rb"^&?(?:'\w+\s+)?(?:mut\s+)?self\b"),
    **dict.fromkeys(
        ("kt", "kts"),
        _Row((_Form(rb"\b(?:fun\s+(?:<[^>\n]{0,99}>\s*)?(?:[\w.<>]+\.)?|class\s+)$"),), many=rb"^vararg\s"),
    ),
    "php": _Row((_Form(rb"\bfunction\s+&?$"),)),
    "rb": _Row((_Form(rb"\bdef\s+(?:self\.)?$"),), optional=rb"=|^&|^\w+:", many=rb"^\*"),
}


def is_counted(path: str) -> bool:
    """Check whether arguments can be counted in files of a path's language."""
    return _ending(path) in _ROWS


def lines_only_in(text: bytes, other: bytes) -> bytes:
    """Return the lines of a text that another one does not have."""
    known = {*other.split(b"\n")}
    return b"\n".join(line for line in text.split(b"\n") if line not in known)


def redeclared(path: str, before: bytes, after: bytes) -> Names:
    """Return the names whose declaration is written in another way in ``after``, where arguments can be counted."""
    wording = wording_of(path)
    if wording is None or not before or not after or not is_counted(path):
        return frozenset()
    lost, gained = lines_only_in(before, after), lines_only_in(after, before)
    return wording.declared(lost) & wording.declared(gained) if lost and gained else frozenset()


def find_recounted(conflict: FileConflict, merged: bytes) -> tuple[str, ...]:
    """Name the calls of a merged text with as many arguments as one side's declaration took away.

    Asked of calls that can only mean what the file declares: those by the bare name, or of the own object.
    """
    base, path, found = conflict.base, conflict.path, []
    if not base or not is_counted(path):
        return ()
    for side, own, other in (("main", conflict.main, conflict.unit), ("unit", conflict.unit, conflict.main)):
        written = redeclared(path, base, own)
        # What the other side does not write anew it cannot call in another way.
        for name in sorted(written & {*_WORD.findall(lines_only_in(other, base))} if written else ()):
            old, new = lost_counts(path, base, own, name)
            new += declared_arities(path, merged, name)
            texts = (base, own, other, merged)
            before, kept, there, have = (called_arities(path, text, name, bare=True) for text in texts)
            for count in sorted(there - before):
                # The side itself went on calling it so, and so it can be.
                if kept[count] or not have[count] or any(one.takes(count) for one in new):
                    continue
                if any(one.takes(count) for one in old):
                    line = line_of_call(path, merged, name, count)
                    given = f"{count} argument{'' if count == 1 else 's'}"
                    found.append(f"{side} changed what {quote(name)} takes, and line {line} gives it {given}")
    return tuple(found)


def declared_arities(path: str, text: bytes, name: bytes) -> list[Arity]:
    """Return how many arguments each declaration of a name takes."""
    row, code = _ROWS[_ending(path)], _code(path, text)
    return [_arity(row, parameters) for parameters in _declarations(path, code, name).values()]


def _declarations(path: str, code: bytes, name: bytes) -> dict[int, list[bytes]]:
    """Return the parameters of each declaration of a name, by where its list opens."""
    declared: dict[int, list[bytes]] = {}
    forms = _forms(_ending(path))
    for at in _places(code, name):
        before = code[code.rfind(b"\n", 0, at) + 1 : at]
        for lead, between, after in forms:
            if lead.search(before) is None or (opened := between.match(code, at + len(name))) is None:
                continue
            listed = _read_list(code, opened.end() - 1)
            if listed is not None and after.match(code, listed[1]):
                declared[opened.end() - 1] = listed[0]
                break
    return declared


def _places(code: bytes, name: bytes) -> Iterator[int]:
    """Yield where a name stands as a word."""
    # Looked for as bytes: a pattern that begins with what may stand before it takes a hundred times as long.
    at = code.find(name)
    while at >= 0:
        end = at + len(name)
        if not _IS_WORD.match(code, end) and not (at and _IS_WORD.match(code, at - 1)):
            yield at
        at = code.find(name, end)


def called_arities(path: str, text: bytes, name: bytes, *, bare: bool = False) -> Counter[int]:
    """Count the calls of a name by how many arguments they have; spread ones are left out.

    With ``bare`` those of other objects are left out, too.
    """
    return Counter(count for _, count in _calls(path, text, name, bare=bare))


def _calls(path: str, text: bytes, name: bytes, *, bare: bool = False) -> Iterator[tuple[int, int]]:
    code = _code(path, text)
    declared = _declarations(path, code, name)
    for at in _places(code, name):
        opened = _OPENED.match(code, at + len(name))
        if opened is None or opened.end() - 1 in declared:
            continue
        if bare and _OWN.search(code[code.rfind(b"\n", 0, at) + 1 : at]) is None:
            continue
        listed = _read_list(code, opened.end() - 1)
        if listed is not None and not any(one.startswith((b"*", b"...", b"&")) for one in listed[0]):
            yield at, len(listed[0])


def lost_counts(path: str, before: bytes, after: bytes, name: bytes) -> tuple[list[Arity], list[Arity]]:
    """Return how many arguments a name took and takes since, where that changed; two empty lists where it did not."""
    old, new = declared_arities(path, before, name), declared_arities(path, after, name)
    return (old, new) if old and new and {*old} != {*new} else ([], [])


def line_of_call(path: str, text: bytes, name: bytes, count: int) -> int:
    """Return the first line that calls a name with so many arguments, counted from 1; 0 where none does."""
    found = next((at for at, many in _calls(path, text, name) if many == count), None)
    return 0 if found is None else _code(path, text).count(b"\n", 0, found) + 1


def _arity(row: _Row, parameters: list[bytes]) -> Arity:
    own = [one for one in parameters if not re.search(row.own, one)]
    many = [one for one in own if re.search(row.many, one) and one not in (b"*", b"/")]
    signs = [one for one in own if one in (b"*", b"/")]
    free = [one for one in own if one not in many and one not in signs and re.search(row.optional, one)]
    needed = len(own) - len(many) - len(signs) - len(free)
    return Arity(needed, None if many else needed + len(free))


def _read_list(code: bytes, at: int) -> tuple[list[bytes], int] | None:
    """Return the parts of a list in parentheses that opens at a place, and where it ends; None where it does not."""
    parts, start, waiting = [], at + 1, []
    for place in range(at, min(len(code), at + _LONGEST)):
        sign = code[place]
        if sign in _OPENING:
            waiting.append(_OPENING[sign])
        elif sign in _CLOSING:
            if not waiting or waiting.pop() != sign:
                return None
            if not waiting:
                parts.append(code[start:place])
                return _joined(parts), place + 1
        elif sign == 44 and len(waiting) == 1:
            parts.append(code[start:place])
            start = place + 1
    return None


def _joined(parts: list[bytes]) -> list[bytes]:
    """Return arguments: parts of one type with parameters are one, and an empty last part is none."""
    found: list[bytes] = []
    for part in parts:
        # A comma between angle brackets parts types: "Map<A, B> map" is one.
        if found and _depth(found[-1]) > 0 and b">" in part:
            found[-1] += b"," + part
        else:
            found.append(part)
    stripped = [part.strip() for part in found]
    return stripped[:-1] if stripped and not stripped[-1] else stripped


def _depth(part: bytes) -> int:
    plain = part.replace(b"->", b"").replace(b"=>", b"")
    # With blanks around it the sign compares.
    return len(re.findall(rb"\w<|<(?=[<\w?])", plain)) - plain.count(b">")


@lru_cache(maxsize=64)
def _code(path: str, text: bytes) -> bytes:
    wording = wording_of(path)
    # A text leaves something in its place, for it is an argument.
    code = text if wording is None else wording.silent.sub(_blank, text)
    # The parameters of a closure are part of one argument.
    return _CLOSURE.sub(b"0", code) if _ending(path) in ("rs", "rb") else code


def _blank(found: re.Match[bytes]) -> bytes:
    lines = b"\n" * found[0].count(b"\n")
    return lines or (b" " if found[0][:1] in (b"/", b"#") else b"0")


@lru_cache(maxsize=64)
def _forms(ending: str) -> tuple[tuple[re.Pattern[bytes], re.Pattern[bytes], re.Pattern[bytes]], ...]:
    return tuple(
        (re.compile(one.before), re.compile(one.between + rb"\("), re.compile(one.after, re.MULTILINE))
        for one in _ROWS[ending].forms
    )


def _ending(path: str) -> str:
    return path.rpartition("/")[2].rpartition(".")[2].lower()

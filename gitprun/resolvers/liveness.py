"""Names that end on one side while the other side goes on using them, and values that one side changed throughout.

No line is lost in such a merge, and git sees no conflict: one side removed or renamed what the other side's lines rely
on. What is found is wrong with the merged text and with neither side.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Final

from gitprun.resolvers.base import FileConflict, Side, quote
from gitprun.resolvers.naming import ImportPath, Names, Wording, wording_of

# As often at least one side changed a value, and always, before the other side's new one is told as left behind: two
# lines alike are many, two texts alike are no custom yet.
_SWEPT_LINES, _SWEPT_VALUES = 2, 3
# Shorter names are the letters of a formula.
_SHORTEST = 2
# A line with fewer words stands in many places by chance.
_TELLING = 3
_WORD: Final = re.compile(rb"\w+")
_TEXT: Final = re.compile(rb"\"([^\"\n]{3,80})\"|'([^'\n]{3,80})'")
_PATH: Final = re.compile(rb"(?<![\w$.:/])[A-Za-z_]\w+::[A-Za-z_]\w+")
_NUMBER: Final = re.compile(rb"[:=\[,]\s*-?\d+(?:\.\d+)?\s*(?=[,\]}\n])")
_DATA: Final = (".json", ".yml", ".yaml", ".toml")


@dataclass(frozen=True)
class _Version:
    """One version of a file, read as far as it is asked."""

    wording: Wording
    text: bytes

    @cached_property
    def imported(self) -> Names:
        """Return the names its imports bind."""
        return self.wording.imported(self.text)

    @cached_property
    def bound(self) -> Names:
        """Return the names it imports or declares."""
        return self.imported | self.wording.declared(self.text)

    @cached_property
    def paths(self) -> Counter[ImportPath]:
        """Count what it imports, by its parts."""
        return self.wording.paths_of(self.text)

    @cached_property
    def code(self) -> bytes:
        """Return it without comments and texts."""
        return self.wording.code(self.text)

    def uses(self, name: bytes) -> list[int]:
        """Return the lines that use a name by itself or as one of their own object's, counted from 1."""
        if name not in self.text:
            return []
        return [self.code.count(b"\n", 0, found.start()) + 1 for found in _use_of(name).finditer(self.code)]

    def below(self, package: ImportPath) -> int:
        """Count what is imported from a package and from what lies in it."""
        return sum(many for path, many in self.paths.items() if path[: len(package)] == package)


@dataclass(frozen=True, slots=True)
class Ended:
    """What ``side`` took away and the other one goes on using: a ``name``, or what lies in a ``package``."""

    side: Side
    reason: str
    name: bytes = b""
    package: ImportPath = ()


@dataclass(frozen=True, slots=True)
class _Meeting:
    """The three versions of a file whose language is known."""

    base: _Version
    main: _Version
    unit: _Version

    def pairs(self) -> Iterator[tuple[Side, _Version, _Version]]:
        """Yield each side with its version and the other one."""
        yield "main", self.main, self.unit
        yield "unit", self.unit, self.main


# The proof of each resolver and the audit ask about the same three texts.
@lru_cache(maxsize=4)
def _meet(conflict: FileConflict) -> _Meeting | None:
    wording = wording_of(conflict.path)
    if wording is None:
        return None
    return _Meeting(*(_Version(wording, text) for text in (conflict.base or b"", conflict.main, conflict.unit)))


def find_ended(conflict: FileConflict, merged: bytes) -> tuple[Ended, ...]:
    """Return what a merged text uses although a side took it away: names it no longer binds, packages that moved."""
    met = _meet(conflict)
    if met is None:
        return ()
    text = _Version(met.base.wording, merged)
    return (*_unbound(met, text), *_moved(met, text), *_narrowed(met, text))


def _unbound(met: _Meeting, merged: _Version) -> Iterator[Ended]:
    """Find names that were bound, are bound no more and are used; a side without the binding does without the name."""
    wording = merged.wording
    versions = (met.base, met.main, met.unit)
    before = frozenset[bytes]().union(*(each.imported for each in versions))
    # Elsewhere another file of the package may declare it. What stands in the merge is declared there, too.
    if wording.closed:
        have = {*merged.text.split(b"\n")}
        lost = {line for each in versions for line in each.text.split(b"\n") if line not in have}
        before |= wording.declared(b"\n".join(lost))
    for name in sorted(before - merged.imported - wording.given):
        if len(name) < _SHORTEST or name not in merged.text or name in merged.bound:
            continue
        if not (lines := merged.uses(name)) or wording.rebinds(merged.code, name):
            continue
        lacking = [(side, own) for side, own, _ in met.pairs() if name not in own.bound]
        if not lacking or any(own.uses(name) for _, own in lacking):
            continue
        # What was imported may come from an import of everything now.
        packages = {path[:-1] for each in versions for path in each.paths if path[-1:] == (name,)}
        if wording.may_bind(merged.text, packages):
            continue
        side = lacking[0][0]
        yield Ended(side, f"{side} took {quote(name)} away, and line {lines[0]} uses it", name)


def _moved(met: _Meeting, merged: _Version) -> Iterator[Ended]:
    """Find packages from which a side imports nothing any more, the same being elsewhere, and the other side more."""
    told: set[ImportPath] = set()
    for side, own, other in met.pairs():
        gone, new = met.base.paths.keys() - own.paths.keys(), own.paths.keys() - met.base.paths.keys()
        for path in sorted(gone):
            package = path[:-1]
            if not package or package in told or not any(each[-1:] == path[-1:] for each in new):
                continue
            if own.below(package) or other.below(package) <= met.base.below(package) or not merged.below(package):
                continue
            told.add(package)
            reason = f"{side} imports from {quote(b'/'.join(package))} no more, and the other side does anew"
            yield Ended(side, reason, package=package)


def _narrowed(met: _Meeting, merged: _Version) -> Iterator[Ended]:
    """Find names whose import a side took away and binds in some places since, while the other side uses them anew."""
    if not merged.wording.closed:
        return
    for side, own, other in met.pairs():
        for name in sorted(
            (met.base.imported & other.imported) - own.imported - merged.imported - merged.wording.given
        ):
            if _at_margin(name).search(merged.text) or len(other.uses(name)) <= len(met.base.uses(name)):
                continue
            if merged.wording.may_bind(merged.text, ()):
                continue
            if merged.uses(name) and (name in own.bound or own.wording.rebinds(own.code, name)):
                yield Ended(side, f"{side} imports {quote(name)} no more, and the other side uses it anew", name)


@lru_cache(maxsize=256)
def _use_of(name: bytes) -> re.Pattern[bytes]:
    # Of another's object it is another name; as a key or a keyword it is none.
    return re.compile(
        rb"(?<![\w$.>:-])(?:(?:this|self)(?:\.|->))?" + re.escape(name) + rb"(?![\w$])(?!\s{0,9}(?::(?!:)|=(?![=>])))"
    )


@lru_cache(maxsize=256)
def _at_margin(name: bytes) -> re.Pattern[bytes]:
    return re.compile(rb"^[^\s#/*][^\n=(]{0,199}(?<![\w$])" + re.escape(name) + rb"(?![\w$])", re.MULTILINE)


def find_swept(conflict: FileConflict, merged: bytes) -> str | None:
    """Name what one side changed wherever it stood while the other side wrote it once more; None if nothing was.

    Of what a resolver settles this is refused. Of git's own merges it would call 4 in 1,000 that people kept.
    """
    if conflict.base is None:
        return None
    texts = (conflict.base, conflict.main, conflict.unit, merged)
    for find, least in _SWEPT:
        base, main, unit, have = (find(conflict.path, text) for text in texts)
        for value, many in base.items():
            for side, own, other in (("main", main, unit), ("unit", unit, main)):
                if many >= least and not own[value] and other[value] > many and have[value]:
                    what = "number" if find is _numbers else quote(value)
                    return f"{side} changed each {what}, and the other side wrote one more"
    return None


def _lines(_path: str, text: bytes) -> Counter[bytes]:
    bare = (line.strip() for line in text.split(b"\n"))
    return Counter(line for line in bare if len(_WORD.findall(line)) >= _TELLING)


def _values(_path: str, text: bytes) -> Counter[bytes]:
    return Counter(one or other for one, other in _TEXT.findall(text))


def _paths(path: str, text: bytes) -> Counter[bytes]:
    """Count what code names by a path of several parts, in comments too: the first two of them."""
    return Counter(_PATH.findall(text)) if wording_of(path) is not None else Counter()


def _numbers(path: str, text: bytes) -> Counter[bytes]:
    """Count the values of data that are numbers, all as one."""
    if not path.endswith(_DATA):
        return Counter()
    return Counter({b"number": sum(1 for _ in _NUMBER.finditer(text))})


_SWEPT: Final = (
    (_lines, _SWEPT_LINES),
    (_values, _SWEPT_VALUES),
    (_paths, _SWEPT_LINES),
    (_numbers, _SWEPT_LINES),
)

"""A file as a tree of entries that have a kind and a name; joined, their texts are the file again."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

Key = tuple[str, ...]
Path = tuple[tuple[Key, int], ...]

_STRING_OR_SPACE = re.compile(r"""("(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|\s+""")
COMMENT = "comment"


@dataclass(frozen=True, slots=True)
class Rule:
    """How a list of entries is merged.

    ``separator`` stands after each entry but the last. A ``united`` list that both sides add is a set: it gets the
    entries of both. Entries of a kind in ``sorts`` that are sorted in all versions stay so; of each kind in ``needs``
    one must be left where both sides have one. ``joint`` makes order matter: given what either side added or removed
    at one place it says why the two cannot stand together, or None.
    """

    separator: str = ""
    united: bool = False
    sorts: tuple[str, ...] = ()
    needs: tuple[str, ...] = ()
    joint: Callable[[Sequence[BlockEntry], Sequence[BlockEntry]], str | None] | None = None


FREE = Rule()


@dataclass(frozen=True, slots=True)
class BlockEntry:
    """One entry: ``lead`` (blank lines and comments above), ``text``, ``sep``, ``tail`` (to the line's end), ``inner``
    entries when it is a block, and ``foot``, what closes the block."""

    key: Key
    text: str = ""
    lead: str = ""
    sep: str = ""
    tail: str = ""
    inner: tuple[BlockEntry, ...] = ()
    foot: str = ""
    rule: Rule = FREE

    @property
    def named(self) -> str:
        """Return kind and name in words."""
        return " ".join(self.key)


@dataclass(frozen=True, slots=True)
class BlocksUnreadable:
    """A text is not what its kind of file must be; ``reason`` says why in words that do not depend on the place."""

    reason: str


# What a kind of file asks of a whole merge: (base, main, unit, merged) -> what is wrong.
Check = Callable[[BlockEntry, BlockEntry, BlockEntry, BlockEntry], str | None]
Reader = Callable[[str], BlockEntry | BlocksUnreadable]


def render(entry: BlockEntry) -> str:
    """Join an entry's texts."""
    inside = "".join(map(render, entry.inner))
    return f"{entry.lead}{entry.text}{entry.sep}{entry.tail}{inside}{entry.foot}"


def squeeze(text: str) -> str:
    """Write every run of white space outside of quotes as one space."""
    # Most texts have no quotes, and for those this is the quicker way.
    if '"' not in text and "'" not in text:
        return " ".join(text.split())
    return _STRING_OR_SPACE.sub(lambda found: found.group(1) or " ", text).strip()


def same(one: BlockEntry, other: BlockEntry) -> bool:
    """Check whether two entries differ in white space and separators at most."""
    return substance(one) == substance(other) and (
        len(one.inner) == len(other.inner)
        and all(a.key == b.key and same(a, b) for a, b in zip(one.inner, other.inner, strict=True))
    )


def substance(entry: BlockEntry) -> tuple[str, ...]:
    """Return what an entry says itself: text, comments and closing, without white space that means nothing.

    Text of several lines is taken as it is: it may be a program in which indentation counts.
    """
    text = entry.text.strip()
    return text if "\n" in text else squeeze(text), *(squeeze(part) for part in (entry.lead, entry.tail, entry.foot))


def number(entries: Sequence[BlockEntry]) -> list[tuple[Key, int]]:
    """Return each entry's key with its number among equal ones."""
    seen: Counter[Key] = Counter()
    numbered = []
    for entry in entries:
        numbered.append((entry.key, seen[entry.key]))
        seen[entry.key] += 1
    return numbered


def flatten(entry: BlockEntry, path: Path = ()) -> Iterator[tuple[Path, tuple[str, ...]]]:
    """List every entry of a tree with its path and its substance."""
    for key, child in zip(number(entry.inner), entry.inner, strict=True):
        yield (*path, key), substance(child)
        yield from flatten(child, (*path, key))


def twins(entries: Sequence[BlockEntry], *kinds: str) -> list[str]:
    """Name the entries of the given kinds that stand more than once."""
    counts = Counter(entry.key for entry in entries if entry.key[0] in kinds)
    return [" ".join(key) for key, count in counts.items() if count > 1]


def split_above(lines: Sequence[str], *, attach: bool = True) -> tuple[list[BlockEntry], str]:
    """Split blank and comment lines into comments that stand alone and what belongs to the entry below.

    A comment belongs to the entry right below it; one followed by a blank line, or by nothing, stands alone.
    """
    alone: list[BlockEntry] = []
    blank: list[str] = []
    run: list[str] = []
    for line in lines:
        if line.strip():
            run.append(line)
            continue
        if run:
            alone.append(_comment(blank, run))
            blank, run = [], []
        blank.append(line)
    if run and not attach:
        alone.append(_comment(blank, run))
        blank, run = [], []
    return alone, "".join(f"{line}\n" for line in (*blank, *run))


def is_comment(entry: BlockEntry) -> bool:
    """Check whether an entry is a comment that stands alone."""
    return entry.key[0] == COMMENT


def separate(entries: Sequence[BlockEntry], separator: str) -> tuple[BlockEntry, ...]:
    """Put the separator of the list behind every entry but the last, as it is written elsewhere in it."""
    if not separator or not entries:
        return tuple(entries)
    # The most common way of the list; one that was empty gets the plain separator.
    usual = Counter((entry.sep, entry.tail if not entry.tail.strip() else "\n") for entry in entries if entry.sep)
    sep, tail = usual.most_common(1)[0][0] if usual else (separator, "")
    ended = [entry if entry.sep else replace(entry, sep=sep, tail=entry.tail or tail) for entry in entries[:-1]]
    # The last one may have come from the midst of a side's list, with its separator.
    return (*ended, replace(entries[-1], sep=""))


def _comment(blank: Sequence[str], run: Sequence[str]) -> BlockEntry:
    text = "\n".join(run)
    return BlockEntry((COMMENT, squeeze(text)), text, lead="".join(f"{line}\n" for line in blank), tail="\n")

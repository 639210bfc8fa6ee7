"""Pair the entries of two versions: by their words, by their keys, then by place and likeness."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from gitprun.resolvers.changes import pair_lines
from gitprun.resolvers.syntax.entries import ChildEntry
from gitprun.resolvers.syntax.keys import Key
from gitprun.resolvers.syntax.tree import TreeLimit, squash

_WORD = re.compile(rb"\w+")
_TOKEN = re.compile(rb"\w+|[^\w\s]")
# Parts of a construct, of which it has one each: a body under another form is the same body.
_PART = re.compile("(?:list|body|block|clause|arguments|parameters|specifiers|fields|heritage|set|formals|object)$")
# Kinds that hold one expression after another: at a place in there an expression of another kind is a changed one.
OPERANDS = re.compile(
    "argument|parameter|array|tuple|operator|expression_list|initializer_list|concatenated|conditional|^list$"
)
# Beyond this many possible pairs the likeness of what is left over is not asked for: twenty by twenty, of which each
# costs a count of all its words.
PAIR_LIMIT = 400
# Share of words in common: with no other candidate a third is enough, among several half; under another name it
# takes nearly all, for what is like it may well be another thing.
LIKE, ALIKE, RENAMED = 0.3, 0.5, 0.85
# A definition keeps its identity under another name; a value under another key is another value.
_DEFINITION = re.compile("func|method|class|definition|declaration|_item|module|struct|template|modport")


@dataclass(frozen=True, slots=True)
class Pairs:
    """For each entry of the one version its partner in the other; those in ``moved`` stand at another place."""

    partner: tuple[int | None, ...]
    moved: frozenset[int]


def align(base: Sequence[ChildEntry], side: Sequence[ChildEntry]) -> Pairs:
    """Pair entries; only what is unordered may have moved."""
    # A key counts only where it names one entry; what stands twice goes by its text.
    unique = _unique_keys(base) & _unique_keys(side)
    pairs = pair_lines([_mark(entry, unique) for entry in base], [_mark(entry, unique) for entry in side])
    if pairs is None:
        raise TreeLimit("the versions differ too much to be compared")
    partner: list[int | None] = [None] * len(base)
    for i, j in pairs:
        partner[i] = j
    _pair_moved(base, side, partner, unique)
    # Of what is paired the longest run in order stands in place, so that as little as possible counts as moved.
    chain = _longest_chain([(i, j) for i, j in enumerate(partner) if j is not None])
    anchors = [(-1, -1), *chain, (len(base), len(side))]
    taken = {j for j in partner if j is not None}
    for (i, j), (k, m) in pairwise(anchors):
        old = [x for x in range(i + 1, k) if partner[x] is None]
        new = [y for y in range(j + 1, m) if y not in taken]
        for x, y in _pair_like(base, side, old, new):
            partner[x] = y
            chain.append((x, y))
    in_place = {i for i, _ in chain}
    moved = frozenset(i for i, j in enumerate(partner) if j is not None and i not in in_place)
    return Pairs(tuple(partner), moved)


def _unique_keys(entries: Sequence[ChildEntry]) -> set[Key]:
    counted = Counter(entry.key for entry in entries if entry.key is not None)
    return {key for key, count in counted.items() if count == 1}


def _mark(entry: ChildEntry, unique: set[Key]) -> Hashable:
    if entry.key is not None and entry.key in unique:
        return entry.key
    return (entry.kind, squash(entry.core.text))


def _pair_moved(
    base: Sequence[ChildEntry], side: Sequence[ChildEntry], partner: list[int | None], unique: set[Key]
) -> None:
    taken = {j for j in partner if j is not None}
    free: dict[Hashable, list[int]] = {}
    for j, entry in enumerate(side):
        if j not in taken and entry.group is not None:
            free.setdefault(_mark(entry, unique), []).append(j)
    # What has a fixed place and stands elsewhere was removed there and written here.
    left = [i for i, entry in enumerate(base) if partner[i] is None and entry.group is not None]
    counted = Counter(_mark(base[i], unique) for i in left)
    for i in left:
        mark = _mark(base[i], unique)
        places = free.get(mark, [])
        # Of several alike nothing tells which one went where.
        if counted[mark] == 1 and len(places) == 1:
            partner[i] = places[0]


def _longest_chain(pairs: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Find the most pairs that are in the same order in both versions."""
    tails: list[int] = []
    ends: list[int] = []
    back: list[int] = []
    for at, (_, j) in enumerate(pairs):
        k = bisect_left(tails, j)
        if k == len(tails):
            tails.append(j)
            ends.append(at)
        else:
            tails[k], ends[k] = j, at
        back.append(ends[k - 1] if k else -1)
    chain: list[tuple[int, int]] = []
    at = ends[-1] if ends else -1
    while at >= 0:
        chain.append(pairs[at])
        at = back[at]
    return chain[::-1]


def _pair_like(
    base: Sequence[ChildEntry], side: Sequence[ChildEntry], old: Sequence[int], new: Sequence[int]
) -> list[tuple[int, int]]:
    """Pair what is left between two anchors, in order, so that the likeness is greatest."""
    if not old or not new or len(old) * len(new) > PAIR_LIMIT:
        return []
    single = len(old) == len(new) == 1
    like = [[likeness(base[i], side[j], single=single) for j in new] for i in old]
    best = [[0.0] * (len(new) + 1) for _ in range(len(old) + 1)]
    for i in range(len(old) - 1, -1, -1):
        for j in range(len(new) - 1, -1, -1):
            paired = best[i + 1][j + 1] + like[i][j] if like[i][j] else 0.0
            best[i][j] = max(paired, best[i + 1][j], best[i][j + 1])
    found: list[tuple[int, int]] = []
    i = j = 0
    while i < len(old) and j < len(new):
        if like[i][j] and best[i][j] == best[i + 1][j + 1] + like[i][j]:
            found.append((old[i], new[j]))
            i, j = i + 1, j + 1
        elif best[i][j] == best[i + 1][j]:
            i += 1
        else:
            j += 1
    return found


def likeness(old: ChildEntry, new: ChildEntry, *, single: bool) -> float:
    """Rate from 0 (not the same thing) to 1 how alike two entries are; ``single``: nothing else is left to pair."""
    if old.core.named != new.core.named:
        return 0.0
    in_role = old.core.field is not None and old.core.field == new.core.field
    if old.kind != new.kind:
        # Less than any likeness that is rated: such a pair is made only when nothing better is there.
        return 0.1 if single and (in_role or _is_operand(old, new)) else 0.0
    # A member under another key is another one, unless little but the key is new.
    grouped = old.group is not None or new.group is not None or _DEFINITION.search(old.kind)
    if grouped and old.key is not None and new.key is not None and old.key != new.key:
        return _renamed(old, new)
    # A keyword or an operator has no words to compare; its role in the construct is all there is.
    if not old.core.named:
        return 0.2 if in_role else 0.0
    rated = _common(old.core.text, new.core.text, _WORD)
    if in_role or (single and _PART.search(old.kind)) or (not old.core.children and single and old.group is None):
        return max(rated, 0.2)
    return rated if rated >= (LIKE if single else ALIKE) else 0.0


def _is_operand(old: ChildEntry, new: ChildEntry) -> bool:
    """Check whether two entries are expressions in one list, where another kind is still the same place."""
    parent = old.core.parent
    return (
        old.core.named
        and not (old.core.is_comment or new.core.is_comment)
        and (
            parent is not None and OPERANDS.search(parent.kind) is not None and old.group is None and new.group is None
        )
    )


def _renamed(old: ChildEntry, new: ChildEntry) -> float:
    """Rate two entries of different keys: one is the other renamed when little but the key differs."""
    if old.key is None or new.key is None:
        return 0.0
    if old.key[:2] == new.key[:2]:
        # One name with two signatures.
        return max(_common(old.core.text, new.core.text, _WORD), LIKE)
    first, second = (Counter(_TOKEN.findall(entry.core.text)) for entry in (old, new))
    # The words of the key itself differ by what a renaming is.
    for words, key in ((first, old.key), (second, new.key)):
        for word in _TOKEN.findall(" ".join(key[1:]).encode()):
            words[word] -= 1
    if not _DEFINITION.search(old.kind):
        return 0.0
    # All but the key is the same, and there is something beside it.
    if first == second and len(old.core.tokens) > len(_TOKEN.findall(" ".join(old.key[1:]).encode())) + 1:
        return 1.0
    rated = _common(old.core.text, new.core.text, _TOKEN)
    return rated if rated >= RENAMED else 0.0


def _common(old: bytes, new: bytes, word: re.Pattern[bytes]) -> float:
    # The beginning is enough to rate by: a class may be as long as its file, and it is compared with each candidate.
    first, second = word.findall(old[:20_000]), word.findall(new[:20_000])
    # Nothing but marks on one of them: those are compared then.
    if not first or not second:
        first, second = _TOKEN.findall(old[:20_000]), _TOKEN.findall(new[:20_000])
    total = len(first) + len(second)
    return 2 * (Counter(first) & Counter(second)).total() / total if total else 0.0

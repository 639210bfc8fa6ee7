"""A second look at what git merged alone: does each line stand where a resolver that knows the file would put it."""

from __future__ import annotations

import re
from collections import Counter

from gitprun.resolvers.base import FileConflict, Resolved, quote
from gitprun.resolvers.kinds import kinds_for
from gitprun.resolvers.near import merge_near
from gitprun.resolvers.proof import audit, prove

# The lines above a line that it belongs to, by indentation, and the line itself.
Place = tuple[bytes, ...]

# INI and TOML: headers stand at the margin, and so do the lines below them.
_SECTION = re.compile(rb"\[[^\]]+\]+$")
_WORD = re.compile(rb"\w")
# Prose has no places.
_PROSE = frozenset({"markdown"})


def find_doubts(conflict: FileConflict, merged: bytes) -> tuple[str, ...]:
    """Name what is wrong with a merge that is wrong with neither side; else what stands where it should not."""
    audited = audit(conflict.path, conflict.base, conflict.main, conflict.unit, merged)
    return audited or find_misplaced(conflict, merged)


def find_misplaced(conflict: FileConflict, merged: bytes) -> tuple[str, ...]:
    """Compare a merge that git made with the one that the file's own kind proves; order aside.

    Where repeated lines look alike git may put what a side added to one block into another one, without a conflict.
    Nothing is found where no resolver proves a text, or where the lines leave no choice.
    """
    # Without a base no lines were paired, and so none paired wrongly.
    if conflict.base is None:
        return ()
    # A text both pairings agree on needs no second opinion, and most merges are such.
    plain = merge_near(conflict)
    if isinstance(plain, Resolved) and plain.text == merged:
        # The same whichever way repeated lines are paired: cheaper to tell than what a file means.
        return ()
    for kind in kinds_for(conflict.path):
        # A paragraph that moved is no fault, and its lines stand under nothing.
        if kind.name in _PROSE:
            continue
        for resolver in kind.resolvers:
            answer = resolver(conflict)
            if isinstance(answer, Resolved) and prove(conflict, answer.text, kind) is None:
                return _compare(answer.text, merged)
    return ()


def _compare(proved: bytes, merged: bytes) -> tuple[str, ...]:
    if proved == merged:
        return ()
    due, have = _outline(proved), _outline(merged)
    # Order aside: both may put two additions at one place either way round.
    if due == have:
        return ()
    # Told is what moved; a line that only one of the two has is what other checks are there for.
    lost = due - have
    there = Counter(place[-1] for place in (have - due).elements())
    moved = next((place for place in lost if there[place[-1]]), None)
    if moved is None:
        return ()
    above = f" under {quote(moved[-2])}" if len(moved) > 1 else ""
    return (f"{quote(moved[-1])} should stand{above or ' elsewhere'}",)


def _outline(text: bytes) -> Counter[Place]:
    """Count the lines of a text by what they stand under; white space, separators and lone brackets aside."""
    # Indentation tells what belongs to what in all these formats, without reading any of them.
    found: Counter[Place] = Counter()
    above: list[tuple[int, bytes]] = []
    section: Place = ()
    for line in text.splitlines():
        bare = b" ".join(line.split()).rstrip(b",; ")
        # A lone bracket stands under everything that opens one, and would be "moved" with each of them.
        if not _WORD.search(bare):
            continue
        indent = len(line.expandtabs(4)) - len(line.expandtabs(4).lstrip())
        if not indent and _SECTION.match(bare):
            above, section = [], (bare,)
            found[section] += 1
            continue
        while above and above[-1][0] >= indent:
            above.pop()
        found[(*section, *(words for _, words in above), bare)] += 1
        above.append((indent, bare))
    return found

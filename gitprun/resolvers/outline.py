"""A second look at what git merged alone: does each line stand where a resolver that knows the file would put it."""

from __future__ import annotations

import re
from collections import Counter

from gitprun.resolvers.base import Divided, FileConflict, Resolved, quote
from gitprun.resolvers.kinds import kinds_for
from gitprun.resolvers.near import merge_near
from gitprun.resolvers.proof import audit, prove

# The lines above a line that it belongs to, by indentation, and the line itself.
Place = tuple[bytes, ...]

# INI and TOML: headers stand at the margin, and so do the lines below them.
_SECTION = re.compile(rb"\[[^\]]+\]+$")
_WORD = re.compile(rb"\w")
_NAME = re.compile(rb"[\w$-]*\w")
# Before a name these say what it is.
_LEADING = frozenset(
    b"name key id export default declare public private protected internal readonly static final abstract async const"
    b" let var val type class interface enum def func fun fn function struct pub mut return import from use".split()
)
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
    # The same whichever way repeated lines are paired: cheaper to tell than what a file means.
    same = isinstance(plain, Resolved) and plain.text == merged
    if same and not _add_alike(conflict, merged):
        return ()
    for kind in kinds_for(conflict.path):
        # A paragraph that moved is no fault, and its lines stand under nothing; of a private kind no words are shown.
        if kind.name in _PROSE or kind.private:
            continue
        for resolver in kind.resolvers:
            answer = resolver(conflict)
            if isinstance(answer, Divided):
                return (answer.reason,)
            if isinstance(answer, Resolved) and prove(conflict, answer.text, kind) is None:
                return () if same else _compare(answer.text, merged)
    return ()


def _add_alike(conflict: FileConflict, merged: bytes) -> bool:
    """Check whether both sides may have added one thing: each a line of its own about a name that was not there."""
    texts = (conflict.base or b"", conflict.main, conflict.unit, merged)
    base, main, unit, have = (Counter(line.strip() for line in text.splitlines()) for text in texts)
    by_main, by_unit = main - base, unit - base
    # The first line of a record may be the same on both sides; then the merge has it twice.
    twice = {line for line in by_main & by_unit if have[line] > max(main[line], unit[line])}
    names = [
        {name for line in own if have[line] and (name := _name_of(line)) and name not in texts[0]}
        for own in ({*(by_main - by_unit), *twice}, {*(by_unit - by_main), *twice})
    ]
    return not names[0].isdisjoint(names[1])


def _name_of(line: bytes) -> bytes:
    """Return the word that a line may be known by: the first one that is no word of the language."""
    return next((word for word in _NAME.findall(line) if word not in _LEADING), b"")


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

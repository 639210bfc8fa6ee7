"""Members of enumerations whose values are written out: the unit's get the next free ones where main took theirs."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final

from gitprun.model.globs import matches
from gitprun.resolvers.base import FileConflict, Refused
from gitprun.resolvers.entries import show_key
from gitprun.resolvers.syntax.enumerations import ENUM_ROWS, Enumeration, Key, read_enumerations
from gitprun.resolvers.syntax.grammars import why_no_grammar
from gitprun.resolvers.text import BOM

ENUM_FILES: Final[tuple[str, ...]] = tuple(pattern for row in ENUM_ROWS for pattern in row.files)

# Values that are bits: the number after 1 and 2 would be both of them at once.
_FLAGS = re.compile(rb"flag|mask|bit|option", re.IGNORECASE)


def align_members(conflict: FileConflict) -> FileConflict | Refused:
    """Move the unit's new members to the next free numbers where main's new ones took theirs."""
    if conflict.base is None:
        return Refused("both sides added the file, so no number is the later one")
    name = conflict.path.rpartition("/")[2]
    row = next(row for row in ENUM_ROWS if any(matches(pattern, name) for pattern in row.files))
    if why_not := why_no_grammar(row):
        return Refused(why_not)
    # The parser counts places from the first letter; the mark is put back in front at the end.
    texts = [text.removeprefix(BOM) for text in (conflict.base, conflict.main, conflict.unit)]
    base, main, unit = (read_enumerations(row, text) for text in texts)
    edits: list[tuple[int, int, bytes]] = []
    for key in base.keys() & main.keys() & unit.keys():
        numbers = _renumber(key, base[key], main[key], unit[key])
        if isinstance(numbers, Refused):
            return numbers
        edits += [(*unit[key].places[member], b"%d" % number) for member, number in numbers.items()]
    if not edits:
        return conflict
    text = texts[2]
    # From the end, so that the places of the edits still to come stay right.
    for start, stop, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[stop:]
    return replace(conflict, unit=(BOM if conflict.unit.startswith(BOM) else b"") + text)


def _renumber(key: Key, base: Enumeration, main: Enumeration, unit: Enumeration) -> dict[bytes, int] | Refused:
    """Return the new numbers of the unit's members of one enumeration."""
    old, by_main, by_unit = base.numbers, main.numbers, unit.numbers
    new_main = {member: number for member, number in by_main.items() if member not in old}
    new_unit = {member: number for member, number in by_unit.items() if member not in old}
    # A member that both sides added under one number is the same one, and takes no number from the unit.
    taken = {number for member, number in new_main.items() if new_unit.get(member) != number}
    clashing = [member for member, number in new_unit.items() if number in taken and member not in by_main]
    if not clashing:
        return {}
    where = show_key(tuple(filter(None, key)) or (b"the enumeration",))
    if not (base.plain and main.plain and unit.plain):
        return Refused(f"not all values of {where} are plain numbers that are written out")
    # Gaps and numbers out of order say something (codes of a protocol, ranges for a module): the next one may not fit.
    top = max(old.values(), default=None)
    for numbers in (new_main, new_unit):
        if top is None or sorted(numbers.values()) != list(range(top + 1, top + 1 + len(numbers))):
            return Refused(f"the new numbers of {where} do not follow the last one")
    if any(_FLAGS.search(name) for name in key):
        return Refused(f"the numbers of {where} may be flags")
    # The base counts too: the number of a member that a side removed is not given to another one.
    used = (*old.values(), *by_main.values(), *by_unit.values())
    free = iter(range(max(used) + 1, max(used) + 1 + len(clashing)))
    return {member: next(free) for member in clashing}

"""Lines that both sides added at one place: which are the same, which go first, where blank lines stand between."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from gitprun.resolvers.changes import pair_lines

Lines = Sequence[bytes]

# Only at the start of a line: elsewhere it closes what the same line opened.
_CLOSING = (b")", b"]", b"}")
# An item, or an indented line that belongs to one.
_LIST_PART = re.compile(rb"(?:[-*+]|\d+[.)])(?:\s|$)|\s+\S")


def join_added(before: Lines, main: Lines, unit: Lines) -> list[bytes] | None:
    """Join what both sides added after ``before``: main's lines, then the unit's, lines of both once.

    Lines that both added stay in both sides' order, and what either side put between them stays there; None when
    the two orders contradict each other. A line that goes on with the section above stands before one that opens
    a section of its own (``#``, or a block after a blank line), whichever side it is from.
    """
    pairs = _same_lines(main, unit)
    if pairs is None:
        return None
    joined: list[bytes] = []
    i = j = 0
    for x, y in [*pairs, (len(main), len(unit))]:
        if x > i or y > j:
            joined += _join_distinct([*before, *joined], main[i:x], unit[j:y])
        joined += main[x : x + 1]
        i, j = x + 1, y + 1
    return joined


def _same_lines(main: Lines, unit: Lines) -> list[tuple[int, int]] | None:
    """Pair the lines that both sides added; None when they stand in another order on either side."""
    known: dict[tuple[int, bytes], int] = {}
    keys_main, keys_unit = _identities(main, known), _identities(unit, known)
    shared = (Counter(key for _, key in keys_main) & Counter(key for _, key in keys_unit)).total()
    pairs = pair_lines([key for _, key in keys_main], [key for _, key in keys_unit])
    # Fewer pairs than shared lines: two of them cross, and any order would break one side's.
    if pairs is None or len(pairs) < shared:
        return None
    return [(keys_main[x][0], keys_unit[y][0]) for x, y in pairs]


def _identities(lines: Lines, known: dict[tuple[int, bytes], int]) -> list[tuple[int, int]]:
    """Number the lines that are not blank so that equal numbers mean: the same line under the same heading or item."""
    identities: list[tuple[int, int]] = []
    parents: list[tuple[int, int]] = []
    for index, line in enumerate(lines):
        if not line.strip():
            continue
        depth = _depth(line)
        # A closing bracket belongs to the line that opened it, which stands as deep.
        floor = depth + 1 if line.lstrip().startswith(_CLOSING) else depth
        while parents and parents[-1][0] >= floor:
            parents.pop()
        identity = known.setdefault((parents[-1][1] if parents else -1, line), len(known))
        parents.append((depth, identity))
        identities.append((index, identity))
    return identities


def _depth(line: bytes) -> int:
    """Return how deep a line stands: headings (negative) over all else, then by indentation."""
    marks = len(line) - len(line.lstrip(b"#"))
    # Markdown has six levels of headings: "#" stands at -6, "######" at -1, and all of them above any text.
    return min(marks, 6) - 7 if marks else len(line) - len(line.lstrip())


def _join_distinct(before: Lines, main: Lines, unit: Lines) -> list[bytes]:
    if not main or not unit:
        return [*main, *unit]
    heads: list[bytes] = []
    # Without a blank line above, the first lines of either side belong to the block that stands there.
    if before and before[-1].strip():
        # Both go on with the block above up to their first blank line or heading.
        cut_main, cut_unit = _first_opener(main), _first_opener(unit)
        heads = [*main[:cut_main], *unit[:cut_unit]]
        main, unit = main[cut_main:], unit[cut_unit:]
    main_before, main_sections = _split_sections(main)
    unit_before, unit_sections = _split_sections(unit)
    joined = _join_blocks([*before, *heads], main_before, unit_before)
    for section in (main_sections, unit_sections):
        joined = _append(joined, section)
    return heads + joined


def _first_opener(lines: Lines) -> int:
    return next((i for i, line in enumerate(lines) if not line.strip() or line.startswith(b"#")), len(lines))


def _split_sections(lines: Lines) -> tuple[Lines, Lines]:
    """Split before the first heading; blank lines go with what follows them if the first line is blank too."""
    cut = next((i for i, line in enumerate(lines) if line.startswith(b"#")), len(lines))
    if cut < len(lines) and not lines[0].strip():
        while cut and not lines[cut - 1].strip():
            cut -= 1
    return lines[:cut], lines[cut:]


def _join_blocks(before: Lines, main: Lines, unit: Lines) -> list[bytes]:
    """Join two runs of blocks; items of one tight list get no blank line between them."""
    above = next((line for line in reversed(before) if line.strip()), b"")
    lead_main, core_main, trail_main = _strip_blank(main)
    lead_unit, core_unit, trail_unit = _strip_blank(unit)
    # A blank line inside a list makes every item of it a paragraph in Markdown.
    tight = all(_LIST_PART.match(line) for line in (*core_main, *core_unit)) and not _LIST_PART.match(above)
    if not core_main or not core_unit or not tight:
        return _append(main, unit)
    return [*max(lead_main, lead_unit, key=len), *core_main, *core_unit, *max(trail_main, trail_unit, key=len)]


def _strip_blank(lines: Lines) -> tuple[Lines, Lines, Lines]:
    filled = [i for i, line in enumerate(lines) if line.strip()]
    if not filled:
        return lines, (), ()
    return lines[: filled[0]], lines[filled[0] : filled[-1] + 1], lines[filled[-1] + 1 :]


def _append(lines: Lines, more: Lines) -> list[bytes]:
    """Append; blank lines that end the one and start the other separate them once."""
    blank = next((i for i, line in enumerate(more) if line.strip()), len(more))
    while blank and list(lines[-blank:]) != list(more[:blank]):
        blank -= 1
    return [*lines, *more[blank:]]

"""Lines that go on with a backslash: one instruction as a list of its lines, the backslash between them."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from gitprun.resolvers.blocks.tree import BlockEntry, Key

BACKSLASH = " \\"

# The backslash with its blanks is the separator of a list, so that it can be given to what was last.
_CONTINUED = re.compile(r"(.*?)([ \t]*\\[ \t]*)", re.DOTALL)
# Nothing that a shell expands or runs: no "$", quote, bracket or "&". "@" starts the name of an npm scope.
_WORD = r"[\w@][\w@.+:/=~^*%-]*"
_WORDS = re.compile(rf"\s*{_WORD}(?:\s+{_WORD})*\s*")


def is_continued(line: str) -> bool:
    """Check whether a line goes on with the next one."""
    return line.rstrip().endswith("\\")


def continued_end(lines: Sequence[str], start: int) -> int | None:
    """Find where a line and what continues it end; comments and blank lines do not end it. None: it never does."""
    for at in range(start, len(lines)):
        # Docker skips comments and blank lines within an instruction that goes on over lines.
        between = at > start and (not lines[at].strip() or lines[at].lstrip().startswith("#"))
        if not between and not is_continued(lines[at]):
            return at + 1
    return None


def split_lines(lines: Sequence[str], name_line: Callable[[int, str], Key]) -> tuple[BlockEntry, ...]:
    """Split an instruction into its lines, each with its backslash and the comments above it."""
    entries: list[BlockEntry] = []
    lead = ""
    for line in lines:
        if entries and (not line.strip() or line.lstrip().startswith("#")):
            lead += f"{line}\n"
            continue
        cut = _CONTINUED.fullmatch(line) if is_continued(line) else None
        text, sep = (cut.group(1), cut.group(2)) if cut else (line, "")
        entries.append(BlockEntry(name_line(len(entries), text), text, lead, sep, "\n"))
        lead = ""
    return tuple(entries)


def is_words(text: str) -> bool:
    """Check whether a line is nothing but plain words: no option, operator, quote or substitution."""
    return _WORDS.fullmatch(text) is not None

"""What both sides changed in one construct, each a part of it, that together says what neither of them meant."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from gitprun.resolvers.syntax.tree import Node, TreeClash, same, show, squash
from gitprun.resolvers.syntax.weave import Slot

# A choice between branches, by the names that grammars have for it.
_CHOICE: Final = re.compile(
    "if|unless|elsif|elif_clause|conditional|(?:if|unless)_(?:statement|expression|modifier)"
    "|(?:ternary|conditional)_expression"
)
_WORD: Final = re.compile(rb"\w+")
_NOT: Final = frozenset((b"not", b"is"))


def refuse_blend(base: Node, slots: Sequence[Slot]) -> None:
    """Raise TreeClash where one side turned the condition of a choice round and the other side changed a branch.

    A condition that asks for more, or for another thing, leaves what follows from it as it was: in public histories
    people keep both then.
    """
    if not _CHOICE.fullmatch(base.kind):
        return
    for asked in slots:
        old, main, unit = asked.base, asked.main, asked.unit
        if old is None or main is None or unit is None or old.core.field != "condition":
            continue
        for mine, theirs, other in ((main, unit, "unit"), (unit, main, "main")):
            if not same(old.core, theirs.core) or not _is_turned(old.core, mine.core):
                continue
            if any(_is_changed(slot, other) for slot in slots if slot is not asked):
                raise TreeClash(f"one side turned a condition round, the other changed what follows: {show(old.core)}")


def _is_changed(slot: Slot, side: str) -> bool:
    entry = slot.of(side)
    return slot.base is not None and entry is not None and not same(slot.base.core, entry.core)


def _is_turned(old: Node, new: Node) -> bool:
    """Check whether a condition asks the same of the same things the other way round."""
    # Quotes of another kind ask the same.
    texts = [squash(each.text).replace(b"'", b'"') for each in (old, new)]
    before, after = (Counter(word for word in _WORD.findall(each.text) if word not in _NOT) for each in (old, new))
    return before == after and texts[0] != texts[1]

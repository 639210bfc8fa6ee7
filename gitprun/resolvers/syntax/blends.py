"""What both sides changed in one construct, each a part of it, that together says what neither of them meant."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from typing import Final

from gitprun.resolvers.syntax.tree import Node, TreeClash, same, show, squash
from gitprun.resolvers.syntax.weave import Slot

# A choice between branches, or whether to go on, by the names that grammars have for it.
_CHOICE: Final = re.compile(
    "if|unless|while|until|elsif|elif_clause|conditional|match_arm|when_entry"
    "|(?:if|unless|while|until|for|do|do_while|guard)_(?:statement|expression|modifier)"
    "|(?:ternary|conditional)_expression"
)
# Where a grammar has no name for what is asked it stands behind this word (a conditional of Python, a loop of Go).
_ASKING: Final = frozenset((b"if", b"for"))
_OPERATION: Final = re.compile("(?:binary|boolean|logical)_(?:expression|operator)")
_WORD: Final = re.compile(rb"\w+")
# Of a test in a shell these ask the opposite of each other.
_TEST: Final = re.compile(rb"(?<=[\s\[])-[zn]\b")
_NOT: Final = frozenset((b"not", b"is"))


def refuse_blend(base: Node, slots: Sequence[Slot]) -> None:
    """Raise TreeClash where one side turned the condition of a choice round and the other side changed a branch.

    A condition that asks for more, or for another thing, leaves what follows from it as it was: in public histories
    people keep both then.
    """
    if _OPERATION.fullmatch(base.kind):
        _refuse_operands(base, slots)
    if not _CHOICE.fullmatch(base.kind):
        return
    for number, asked in enumerate(slots):
        old, main, unit = asked.base, asked.main, asked.unit
        if old is None or main is None or unit is None or not _is_asked(base, slots, number):
            continue
        for mine, theirs, other in ((main, unit, "unit"), (unit, main, "main")):
            if not same(old.core, theirs.core) or not _is_turned(old.core, mine.core):
                continue
            if any(_is_changed(slot, other) for slot in slots if slot is not asked):
                raise TreeClash(f"one side turned a condition round, the other changed what follows: {show(old.core)}")


def _refuse_operands(base: Node, slots: Sequence[Slot]) -> None:
    """Raise TreeClash where one side put another name in the place of an operand and the other inserted one beside it.

    Operations are nested to the left, so that one operand has become two there.
    """
    grown, last = slots[0], slots[-1]
    if grown.base is None or last.base is None or "identifier" not in last.base.core.kind:
        return
    for mine, other in (("main", "unit"), ("unit", "main")):
        first, replaced = grown.of(other), last.of(mine)
        if first is None or replaced is None or same(last.base.core, replaced.core):
            continue
        if grown.base.core.kind != base.kind == first.core.kind:
            raise TreeClash(f"one side replaced what stands beside an insertion: {show(last.base.core)}")


def _is_asked(base: Node, slots: Sequence[Slot], number: int) -> bool:
    """Check whether an entry of a choice is what decides it."""
    core = slots[number].any.core
    if core.field == "condition" or (core.field == "pattern" and base.kind == "match_arm"):
        return True
    if core.field is not None:
        return False
    before = slots[number - 1].any.core if number else None
    # Of HCL what is asked stands first, without a name.
    return before.text in _ASKING and not before.named if before is not None else base.kind == "conditional"


def _is_changed(slot: Slot, side: str) -> bool:
    entry = slot.of(side)
    return slot.base is not None and entry is not None and not same(slot.base.core, entry.core)


def _is_turned(old: Node, new: Node) -> bool:
    """Check whether a condition asks the same of the same things the other way round."""
    # Quotes of another kind ask the same.
    texts = [squash(each.text).replace(b"'", b'"') for each in (old, new)]
    before, after = (
        Counter(word for word in _WORD.findall(_TEST.sub(b"", each.text)) if word not in _NOT) for each in (old, new)
    )
    return before == after and texts[0] != texts[1]

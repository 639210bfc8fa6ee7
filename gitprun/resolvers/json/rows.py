"""Rows of a table: merged by what identifies them, or as whole lines."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from gitprun.resolvers.entries import ABSENT, EntryClash, prove_entries, settle_value, show_key
from gitprun.resolvers.json.identity import label
from gitprun.resolvers.json.sequence import align_by_key, align_items

# Merges one row that both sides changed, from base, main and unit; base is None when both added it.
Join = Callable[[str | None, str, str], str | EntryClash]


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of one version: their texts, and the key of each; the texts are the keys where there are no others."""

    texts: Sequence[str]
    keys: Sequence[Hashable]


def merge_rows(base: Rows, main: Rows, unit: Rows, join: Join) -> list[str] | EntryClash:
    """Merge rows by their keys: each added on either side once, each removed on either side gone."""
    rows = align_by_key(base.keys, main.keys, unit.keys)
    if isinstance(rows, EntryClash):
        return EntryClash(f"the file {rows.reason}")
    olds, mines, others = (dict(zip(rows.keys, rows.texts, strict=True)) for rows in (base, main, unit))
    for key, old in olds.items():
        due = settle_value(old, mines.get(key, ABSENT), others.get(key, ABSENT))
        # Rows removed here and changed there: align_by_key goes by keys only and drops them without a word.
        if isinstance(due, EntryClash) and not (key in mines and key in others):
            return EntryClash(f"{show_key(label(key))} {due.reason}")
    merged: list[str] = []
    for b, m, u in rows:
        old_text = None if b is None else base.texts[b]
        if m is None or u is None:
            merged.append(unit.texts[u or 0] if m is None else main.texts[m])
            continue
        due = settle_value(ABSENT if old_text is None else old_text, main.texts[m], unit.texts[u])
        text = join(old_text, main.texts[m], unit.texts[u]) if isinstance(due, EntryClash) else due
        if not isinstance(text, str):
            reason = text.reason if isinstance(text, EntryClash) else "is removed"
            return EntryClash(f"{show_key(label(main.keys[m]))} {reason}")
        merged.append(text)
    return merged


def merge_whole_rows(base: Sequence[str], main: Sequence[str], unit: Sequence[str]) -> list[str] | EntryClash:
    """Merge rows that only their whole text identifies, and prove it."""
    rows = align_items(base, main, unit)
    if isinstance(rows, EntryClash):
        return EntryClash(f"the file {rows.reason}")
    merged = [
        base[b] if b is not None else main[m] if m is not None else unit[u] if u is not None else "" for b, m, u in rows
    ]
    old, mine, other = (dict(_count(texts)) for texts in (base, main, unit))
    # The n-th of equal rows counts as an entry of its own, so that a lost repeat is found.
    fault = prove_entries(old, mine, other, _count(merged))
    return EntryClash(fault) if fault else merged


def _count(texts: Sequence[str]) -> list[tuple[Hashable, Hashable]]:
    """Make every row an entry of its own, repeated ones too."""
    seen: Counter[str] = Counter()
    entries: list[tuple[Hashable, Hashable]] = []
    for text in texts:
        entries.append(((text, seen[text]) if seen[text] else (text,), True))
        seen[text] += 1
    return entries


def repeated(keys: Sequence[Hashable]) -> list[Hashable]:
    """List the keys that stand twice, unless most do: then they identify nothing."""
    # Half is where a column stops naming rows: a foreign key, say, under the header "id".
    counts = Counter(keys)
    return [key for key, count in counts.items() if count > 1] if 2 * len(counts) >= len(keys) else []

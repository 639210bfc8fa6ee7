"""The columns of a Prisma schema: told from the lines, and set right where a merge has broken them."""

from __future__ import annotations

import re
from dataclasses import replace

from gitprun.resolvers.blocks.tree import BlockEntry, same

_FIELD = re.compile(r"(\s*)(\w+)\s+([\w.]+(?:\(\"[^\"]*\"\))?(?:\[\]|\?)?)(?:[ \t]+(\S.*))?", re.DOTALL)
_SETTING = re.compile(r"(\s*)(\w+)\s*=\s*(\S.*)", re.DOTALL)


def realign(merged: BlockEntry, base: BlockEntry, main: BlockEntry, unit: BlockEntry) -> BlockEntry:
    """Align the columns of blocks that both sides changed and that stood aligned in all three versions."""
    versions = [{entry.key: entry for entry in tree.inner} for tree in (base, main, unit)]
    blocks = []
    for block in merged.inner:
        old, by_main, by_unit = (version.get(block.key) for version in versions)
        # A block that a side left alone stays as the other has it. Alignment that a version does not have is no custom.
        if old and by_main and by_unit and not same(old, by_main) and not same(old, by_unit):
            aligned = all(align(each) == each for each in (old, by_main, by_unit))
            block = align(block) if aligned else block
        blocks.append(block)
    return replace(merged, inner=tuple(blocks))


def align(block: BlockEntry) -> BlockEntry:
    """Align the columns of a block as ``prisma format`` does: line groups end at blank lines."""
    inner: list[BlockEntry] = []
    group: list[BlockEntry] = []
    for entry in block.inner:
        if entry.key[0] not in ("field", "setting") or _has_blank(entry.lead):
            inner += _align_group(group)
            group = []
        if entry.key[0] in ("field", "setting"):
            group.append(entry)
        else:
            inner.append(entry)
    return replace(block, inner=(*inner, *_align_group(group)))


def _has_blank(lead: str) -> bool:
    return any(not line.strip() for line in lead.split("\n")[:-1])


def _align_group(group: list[BlockEntry]) -> list[BlockEntry]:
    settings = [_SETTING.fullmatch(entry.text) for entry in group]
    if group and all(settings):
        found = [match.groups() for match in settings if match]
        width = max(len(name) for _, name, _ in found)
        texts = [f"{indent}{name.ljust(width)} = {value}" for indent, name, value in found]
    else:
        fields = [_FIELD.fullmatch(entry.text) for entry in group]
        # A line of another form (an attribute that goes on over lines) would be torn apart by columns.
        if not all(fields):
            return group
        parts = [match.groups() for match in fields if match]
        names = max((len(name) for _, name, _, _ in parts), default=0)
        types = max((len(kind) for _, _, kind, _ in parts), default=0)
        texts = [
            f"{indent}{name.ljust(names)} {kind.ljust(types) + ' ' + rest if rest else kind}"
            for indent, name, kind, rest in parts
        ]
    return [replace(entry, text=text) for entry, text in zip(group, texts, strict=True)]
